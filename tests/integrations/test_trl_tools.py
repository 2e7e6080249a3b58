"""Tool calls in a real tool loop of TRL, and images: what of them is kept."""

import asyncio
import string
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("trl")
import torch
from datasets import Dataset
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

import trl
from rlprobe.integrations.trl import attach
from rlprobe.integrations.trl_texts import as_json, shown, sizes
from tests.integrations.memory_recorder import MemoryRecorder
from trl import GRPOConfig, GRPOTrainer

pytestmark = [pytest.mark.trl, pytest.mark.slow, pytest.mark.filterwarnings("default")]

CALL = '<tool_call>\n{"name": "multiply", "arguments": {"a": 3, "b": 4}}\n</tool_call><|im_end|>'
ANSWER = "12<|im_end|>"


def multiply(a: int, b: int) -> int:
    """Multiplies two integers.

    Args:
        a: the first.
        b: the second.

    Returns:
        the product.
    """
    return a * b


async def later(a: int, b: int) -> int:
    """Multiplies two integers, in its own time.

    Args:
        a: the first.
        b: the second.

    Returns:
        the product.
    """
    await asyncio.sleep(0)
    return a * b


def broken(a: int, b: int) -> int:
    """Multiplies two integers, if it could.

    Args:
        a: the first.
        b: the second.

    Returns:
        nothing, ever.
    """
    raise RuntimeError("out of order")


def counted(completions: list[list[dict[str, str]]], **_: object) -> list[float]:
    """The messages of a completion."""
    return [float(len(messages)) for messages in completions]


def printable() -> PreTrainedTokenizerFast:
    """One token a printable character, with the chat template of Qwen 2.5 that comes with TRL."""
    special = ["<|im_end|>", "<|im_start|>", "<pad>", "<unk>"]
    core = Tokenizer(models.WordLevel({t: i for i, t in enumerate([*special, *string.printable])}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
    core.decoder = decoders.Fuse()
    template = Path(trl.__file__).parent / "chat_templates" / "qwen2_5.jinja"
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        padding_side="left",
        eos_token="<|im_end|>",
        pad_token="<pad>",
        unk_token="<unk>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=template.read_text(encoding="utf-8"),
    )


@pytest.mark.parametrize(("tool", "said"), [(multiply, "12"), (later, "12"), (broken, "out of order")])
def test_what_tools_answer_is_kept_apart_from_what_the_model_wrote(
    tool: Callable[[int, int], object],
    said: str,
    tmp_path: Path,
    memory: type[MemoryRecorder],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call = CALL.replace("multiply", tool.__name__)
    monkeypatch.setenv("RLPROBE_STRICT_HOOKS", "1")
    tokens = printable()
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokens),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=2048,
        eos_token_id=0,
        pad_token_id=2,
    )
    sizes_of = {"per_device_train_batch_size": 4, "num_generations": 2, "max_completion_length": 200, "max_steps": 1}
    quiet = {"use_cpu": True, "bf16": False, "report_to": [], "save_strategy": "no", "disable_tqdm": True}
    trainer = GRPOTrainer(
        model=Qwen2ForCausalLM(config),
        args=GRPOConfig(output_dir=str(tmp_path), **sizes_of, **quiet, logging_steps=1),
        reward_funcs=[counted],
        processing_class=tokens,
        tools=[tool],
        train_dataset=Dataset.from_dict({"prompt": [[{"role": "user", "content": "what is 3 times 4?"}]] * 8}),
    )
    turns = iter((call, ANSWER))

    def written(prompt_ids: list[list[int]], *_: object, **__: object) -> tuple[list[list[int]], None]:
        """What the model would write: a call, then the answer; the weights of the test know neither."""
        text = next(turns)
        return [tokens(text).input_ids for _ in prompt_ids], None

    monkeypatch.setattr(trainer, "_generate_single_turn", written)
    with attach(trainer, tmp_path / "run", capture="all") as probe:
        recorder = probe.recorder
        trainer.train()

    assert recorder.steps[1]["tool_calls_mean"] == 1
    assert recorder.steps[1]["tool_failure_fraction"] == (tool is broken)
    assert recorder.steps[1]["reward_text_mismatch_fraction"] == 0
    for row in recorder.rows():
        assert row["reward"] == 3
        assert row["completion_tokens"] == len(tokens(call + ANSWER).input_ids) == len(row["token_logprobs"])
        assert row["tool_tokens"] == len(row["token_ids"]) - row["completion_tokens"] > 0
        assert '"tool_calls"' in str(row["completion_messages"])
        assert said in str(row["completion"])
        assert row["stop_reason"] == "eos"
    logged = trainer.state.log_history[0]["completions/mean_length"]
    assert recorder.steps[1]["completion_tokens_mean"] == logged == recorder.rows()[0]["completion_tokens"]


class Picture:
    """As an image of PIL: it knows its size."""

    size = (640, 480)


def test_of_an_image_its_size_is_kept_and_nothing_else() -> None:
    chat = [{"role": "user", "content": [{"type": "image", "image": Picture()}, {"type": "text", "text": "what?"}]}]

    assert sizes(chat) == "640x480"
    assert sizes("plain") == sizes([{"role": "user", "content": "plain"}]) == ""
    assert shown(chat) == "<image>what?"
    assert '"image": "<Picture 640x480>"' in str(as_json(chat))
