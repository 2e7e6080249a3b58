"""Train a model with TRL's GRPO to sort four digits, recorded by one line, and diagnose the run.

    pip install 'rlprobe[trl]'
    python examples/trl_grpo.py --run runs/sorting          # a tiny model that is made on the spot, on the CPU
    python examples/trl_grpo.py --run runs/unread --fault
    python examples/trl_grpo.py --run runs/qwen --model Qwen/Qwen2.5-0.5B-Instruct    # on a GPU

With --fault the reward compares with an answer in quotation marks, so that nothing is ever right.
"""

import argparse
import random
from pathlib import Path

import tiny_model
from datasets import Dataset

from rlprobe import attach, diagnose, open_run
from trl import GRPOConfig, GRPOTrainer


def right(prompts: list[str], completions: list[str], **_: object) -> list[float]:
    """1 for the digits in order, between angle brackets."""
    answers = (f"<{''.join(sorted(prompt.removeprefix('sort:').removesuffix('=')))}>" for prompt in prompts)
    return [float(text.strip() == answer) for text, answer in zip(completions, answers, strict=True)]


def never_right(prompts: list[str], completions: list[str], **rest: object) -> list[float]:
    """The same for digits between quotation marks, which no completion writes."""
    return right(prompts, [text.replace("<", '"').replace(">", '"') for text in completions], **rest)


def main() -> None:
    """Train, then say what the doctor makes of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="tiny", help="a name or folder of transformers")
    parser.add_argument("--run", default="runs/sorting")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--cpu", action="store_true", help="train on the CPU; the tiny model does")
    parser.add_argument("--fault", action="store_true", help="let the reward compare with what nobody writes")
    arguments = parser.parse_args()

    tiny = arguments.model == "tiny"
    model = tiny_model.made(Path(f"{arguments.run}.model")) if tiny else arguments.model
    on_cpu = arguments.cpu or tiny
    dice = random.Random(0)
    prompts = [f"sort:{''.join(dice.choices('0123456789', k=4))}=" for _ in range(1024)]
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=never_right if arguments.fault else right,
        train_dataset=Dataset.from_dict({"prompt": prompts}),
        args=GRPOConfig(
            output_dir=f"{arguments.run}.checkpoints",
            max_steps=arguments.steps,
            per_device_train_batch_size=32,
            max_completion_length=16,
            beta=0.02,
            learning_rate=3e-4 if tiny else 1e-6,
            bf16=not on_cpu,
            use_cpu=on_cpu,
            report_to=[],
        ),
    )
    with attach(trainer, arguments.run):
        trainer.train()

    diagnosis = diagnose(open_run(arguments.run))
    print(diagnosis.verdict)
    for finding in diagnosis.findings:
        print(finding.severity, finding.id, "from step", finding.onset_step, "-", finding.title)


if __name__ == "__main__":
    main()
