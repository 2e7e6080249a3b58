"""FSDP and DeepSpeed on a CPU for tests and benches: accelerate has both for accelerators only.

FSDP, its second version, is torch's own on gloo, as accelerate sets it up; DeepSpeed is its own engine for CPUs. What
is changed is the answer to "on which devices", nothing of how they shard, gather or step.
"""

import os
from collections.abc import Mapping

import accelerate.state as state
from accelerate.utils import DistributedType

FSDP: Mapping[str, object] = {
    "fsdp": True,
    "fsdp_config": {
        "version": 2,
        "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "transformer_layer_cls_to_wrap": ["Qwen2DecoderLayer"],
    },
}


def fsdp() -> Mapping[str, object]:
    """Have processes on CPUs shard as those on GPUs do; settings for the trainer."""
    original = state.AcceleratorState.__init__

    def initialise(self: state.AcceleratorState, *args: object, **kwargs: object) -> None:
        original(self, *args, **kwargs)
        plugin = kwargs.get("fsdp_plugin") or vars(self).get("fsdp_plugin")
        if plugin is not None:
            self.distributed_type, self.fsdp_plugin = DistributedType.FSDP, plugin

    state.AcceleratorState.__init__ = initialise
    os.environ["ACCELERATE_USE_FSDP"] = "true"
    return FSDP


def deepspeed(stage: int) -> Mapping[str, object]:
    """Have accelerate take gloo for DeepSpeed's processes; settings for the trainer."""
    os.environ["DS_ACCELERATOR"] = "cpu"
    state.PartialState._prepare_backend = lambda *_, **__: ("gloo", DistributedType.MULTI_CPU)
    automatic = ("train_micro_batch_size_per_gpu", "train_batch_size", "gradient_accumulation_steps")
    config = {"zero_optimization": {"stage": stage}, **dict.fromkeys((*automatic, "gradient_clipping"), "auto")}
    return {"deepspeed": config, "use_cpu": False}


def settings_of(kind: str) -> tuple[str, Mapping[str, object]]:
    """The trainer's kind and settings that "grpo+fsdp" or "grpo+zero2" stand for."""
    name, _, way = kind.partition("+")
    if way == "fsdp":
        return name, fsdp()
    return name, deepspeed(int(way.removeprefix("zero"))) if way else {}
