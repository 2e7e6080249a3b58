"""Trainers on real images: sizes are recorded and no pixel is, and training is the same with and without."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("trl")
from datasets import Dataset

from rlprobe import open_run
from rlprobe.integrations.trl import attach
from tests.integrations import tiny_vision
from tests.integrations.agreement import outcome, same
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer

pytestmark = [pytest.mark.trl, pytest.mark.slow, pytest.mark.filterwarnings("default")]

QUIET = {"use_cpu": True, "bf16": False, "report_to": [], "save_strategy": "no", "disable_tqdm": True}
QUIET |= {"per_device_train_batch_size": 4, "max_steps": 2, "logging_steps": 1, "learning_rate": 1e-3}
SIX = {"per_device_train_batch_size": 6}
SIZES = {f"{width}x{height}" for width, height in tiny_vision.SIZES}


def letters(completions: list[list[dict[str, str]]], **_: object) -> list[float]:
    return [float(sum(each.isalpha() for each in messages[0]["content"])) for messages in completions]


def grpo(out: Path) -> GRPOTrainer:
    """Groups of two on prompts with one image each."""
    config = GRPOConfig(output_dir=str(out), num_generations=2, max_completion_length=8, beta=0.1, **QUIET)
    processor, data = tiny_vision.processor(), tiny_vision.questions()
    return GRPOTrainer(
        model=tiny_vision.saved(out / "model"),
        processing_class=processor,
        reward_funcs=[letters],
        train_dataset=data,
        args=config,
    )


def dpo(out: Path) -> DPOTrainer:
    """Pairs of answers about images."""
    rows = {"prompt": [], "chosen": [], "rejected": [], "images": []}
    for picture in tiny_vision.pictures():
        rows["prompt"].append([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What?"}]}])
        for name, text in (("chosen", "red"), ("rejected", "a cat")):
            rows[name].append([{"role": "assistant", "content": [{"type": "text", "text": text}]}])
        rows["images"].append([picture])
    return DPOTrainer(
        model=tiny_vision.saved(out / "model"),
        processing_class=tiny_vision.processor(),
        train_dataset=Dataset.from_dict(rows),
        args=DPOConfig(output_dir=str(out), max_length=None, **QUIET),
    )


def test_prompts_of_one_text_are_told_apart_by_their_images(tmp_path: Path) -> None:
    asked = [[{"role": "user", "content": "What is it?"}] for _ in range(3)]
    trainer = GRPOTrainer(
        model=tiny_vision.saved(tmp_path / "model"),
        processing_class=tiny_vision.processor(),
        reward_funcs=[letters],
        train_dataset=Dataset.from_dict({"prompt": asked, "image": tiny_vision.pages()}),
        args=GRPOConfig(
            output_dir=str(tmp_path), num_generations=2, max_completion_length=8, **{**QUIET, **SIX, "max_steps": 1}
        ),
    )
    with attach(trainer, tmp_path / "run", capture="all"):
        trainer.train()

    columns = open_run(tmp_path / "run").samples().columns
    groups = {group: set() for group in columns["group"]}
    for group, prompt in zip(columns["group"], columns["prompt_id"], strict=True):
        groups[group].add(prompt)
    assert len(groups) == 3
    assert all(len(prompts) == 1 for prompts in groups.values())
    assert len(set().union(*groups.values())) == 2
    assert set(columns["prompt"]) == {"<image>What is it?"}
    assert open_run(tmp_path / "run").column("mixed_prompt_group_fraction").tolist() == [0.0]


@pytest.mark.parametrize("make", [grpo, dpo])
def test_of_images_sizes_are_recorded_and_no_pixel(
    make: Callable[[Path], GRPOTrainer | DPOTrainer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLPROBE_STRICT_HOOKS", "1")
    bare = outcome(make(tmp_path / "bare"))
    watched = make(tmp_path / "watched")
    with attach(watched, tmp_path / "run", capture="all"):
        assert same(outcome(watched), bare)

    run = open_run(tmp_path / "run")
    columns = run.samples().columns
    assert run.rows == 2
    assert len(columns["sample"]) == 8 if make is grpo else 16
    if make is grpo:
        assert set(columns["images"]) == SIZES
        assert all(
            f"PngImageFile {size}>" in text
            for size, text in zip(columns["images"], columns["prompt_messages"], strict=True)
        )
        assert set(columns["prompt"]) == {"<image>What is it?"}
        assert max(columns["completion_tokens"]) <= 8
    kept = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    told = repr({name: list(column) for name, column in columns.items()})
    assert bytes(tiny_vision.COLOUR) * 3 not in kept
    assert b"IHDR" not in kept
    assert "IHDR" not in told
    assert repr(bytes(tiny_vision.COLOUR))[2:-1] not in told
