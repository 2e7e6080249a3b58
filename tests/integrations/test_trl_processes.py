"""Two real processes: FSDP's shards, and a rank 0 that records alone; `python -m bench.trl.processes` has the rest."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")
import torch
from accelerate.optimizer import AcceleratedOptimizer
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard

from rlprobe import open_run
from rlprobe.integrations.trl_weights import bad_gradients, whole
from tests.integrations.memory_recorder import MemoryRecorder, recorded
from tests.integrations.trl_lab import build

pytestmark = [pytest.mark.trl, pytest.mark.slow, pytest.mark.filterwarnings("default")]

PATIENCE = 120  # seconds; processes that wait for each other never end


def test_a_rank_that_records_alone_waits_for_nobody_though_weights_are_sharded(sorter: Path, tmp_path: Path) -> None:
    words = [str(sorter), str(tmp_path / "run"), str(tmp_path / "out"), "grpo+fsdp", "2", "alone"]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone"]
    done = subprocess.run(
        [*launcher, "-m", "tests.integrations.two_processes", *words],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-3000:]

    run = open_run(tmp_path / "run")
    logs = json.loads((tmp_path / "out" / "told-0.json").read_bytes())["logs"]
    assert not [event.fields for event in run.events if event.kind == "bad_hook"]
    assert run.column("grad_norm").tolist() == pytest.approx([row["grad_norm"] for row in logs if "grad_norm" in row])
    assert "grad_nonfinite_count" not in run.metrics  # a shard's would pass for all of it
    assert (run.column("weight_update_ratio") > 0).all()
    assert run.column("reference_drift").tolist() == [0, 0]


def test_an_engine_that_updates_in_the_backward_pass_is_measured_over_the_step(
    sorter: Path, tmp_path: Path, memory: type[MemoryRecorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rlprobe.integrations.trl_session.parallelism", lambda _: "DEEPSPEED")
    monkeypatch.setattr(AcceleratedOptimizer, "step", lambda *_: None)  # as accelerate's wrapper of DeepSpeed's
    trainer = build(sorter, tmp_path, max_steps=3, lr_scheduler_type="linear", learning_rate=3e-4)
    backward = trainer.accelerator.backward

    def engine(loss: torch.Tensor, **options: object) -> None:
        backward(loss, **options)
        trainer.optimizer.optimizer.step()

    trainer.accelerator.backward = engine
    recorder = recorded(trainer, tmp_path)

    assert all(row["weight_update_ratio"] > 0 for row in recorder.steps.values())
    assert [row["learning_rate"] for row in recorder.steps.values()] == pytest.approx([3e-4, 2e-4, 1e-4])
    assert not any("optimizer_seconds" in row for row in recorder.steps.values())


def test_of_a_shard_nothing_is_told_and_no_other_process_is_asked(tmp_path: Path) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        parameters = [torch.nn.Parameter(torch.ones(4)) for _ in range(2)]
        for each, placement in zip(parameters, (Replicate(), Shard(0)), strict=True):
            each.grad = None
            each.data = DTensor.from_local(torch.ones(4), mesh, [placement])
            each.grad = DTensor.from_local(torch.tensor([1.0, float("nan"), 1.0, 1.0]), mesh, [placement])
        replicated, sharded = parameters

        assert bad_gradients([replicated]) == 1
        assert bad_gradients([replicated, sharded]) is None
        assert bad_gradients([]) is None
        assert whole(sharded.grad) is None
        assert type(whole(replicated.grad)) is torch.Tensor
    finally:
        torch.distributed.destroy_process_group()
