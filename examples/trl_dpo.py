"""Train a model with TRL's DPO to prefer digits in order, recorded by one line, and diagnose the run.

    pip install 'rlprobe[trl]'
    python examples/trl_dpo.py --run runs/preferring        # a tiny model that is made on the spot, on the CPU
    python examples/trl_dpo.py --run runs/astray --fault
    python examples/trl_dpo.py --run runs/qwen --model Qwen/Qwen2.5-0.5B-Instruct     # on a GPU

With --fault the learning rate is 0.01, as if the model were trained from scratch.
"""

import argparse
import random
from pathlib import Path

import tiny_model
from datasets import Dataset

from rlprobe import attach, diagnose, open_run
from trl import DPOConfig, DPOTrainer

RATE, FAULT_RATE = 2e-5, 1e-2


def pairs(count: int, seed: int = 0) -> Dataset:
    """Prompts with the digits in order as the chosen answer, and in another order as the rejected one."""
    dice = random.Random(seed)
    rows = []
    while len(rows) < count:
        digits = dice.choices("0123456789", k=4)
        if digits != sorted(digits):
            prompt = f"sort:{''.join(digits)}="
            rows.append(
                {"prompt": prompt, "chosen": f"<{''.join(sorted(digits))}>", "rejected": f"<{''.join(digits)}>"}
            )
    return Dataset.from_list(rows)


def main() -> None:
    """Train, then say what the doctor makes of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="tiny", help="a name or folder of transformers")
    parser.add_argument("--run", default="runs/preferring")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--cpu", action="store_true", help="train on the CPU; the tiny model does")
    parser.add_argument("--fault", action="store_true", help=f"a learning rate of {FAULT_RATE}")
    arguments = parser.parse_args()

    tiny = arguments.model == "tiny"
    model = tiny_model.made(Path(f"{arguments.run}.model")) if tiny else arguments.model
    on_cpu = arguments.cpu or tiny
    trainer = DPOTrainer(
        model=model,
        train_dataset=pairs(2048),
        args=DPOConfig(
            output_dir=f"{arguments.run}.checkpoints",
            max_steps=arguments.steps,
            per_device_train_batch_size=16,
            learning_rate=FAULT_RATE if arguments.fault else RATE,
            logging_steps=1,
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
