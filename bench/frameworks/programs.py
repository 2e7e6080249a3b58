"""Drives each framework's own logging code for some steps, as its trainer does: `python programs.py NAME FOLDER`.

Run under `rlprobe run`, with the framework's folder in PYTHONPATH. What a framework's package imports beyond its
logging code and is not installed is stood in for by an empty module; the modules under test are never.
"""

import argparse
import importlib
import os
import sys
import types
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

STEPS = 3


class _Nothing(type):
    """A class that does nothing, and whose attributes are such classes too."""

    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing(name)


def _nothing(name: str) -> type:
    members = {"__init__": lambda self, *_, **__: None, "__class_getitem__": classmethod(lambda cls, _: cls)}
    return _Nothing(name, (), members)


class _Absent(types.ModuleType):
    """A module that is not installed: any name in it is a class that does nothing."""

    __path__: list[str] = []  # noqa: RUF012 - a package as the import system knows one

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing(name)


class _Absents:
    """Finds a stand-in for what is not installed, below the packages that are named."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """A spec for a stand-in."""
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self._names else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """The stand-in."""
        return _Absent(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def without(*names: str) -> None:
    """Stand in for packages that are not installed."""
    sys.meta_path.append(_Absents(*names))


def alone(package: str, *modules: str) -> None:
    """Make packages importable without running their __init__, which pulls in what needs a GPU."""
    for name in (package, *modules):
        for folder in (Path(entry) / name.replace(".", "/") for entry in sys.path):
            if folder.is_dir():
                module = types.ModuleType(name)
                module.__path__ = [str(folder)]
                sys.modules[name] = module
                break


def openrlhf(folder: Path) -> None:
    """OpenRLHF's TensorboardLogger, through its BasePPOTrainer's save_logs_and_checkpoints."""
    without(
        "aiohttp",
        "ray",
        "deepspeed",
        "vllm",
        "flash_attn",
        "torchdata",
        "bitsandbytes",
        "loralib",
        "optree",
        "ring_flash_attn",
        "pylatexenc",
    )
    alone("openrlhf", "openrlhf.utils", "openrlhf.trainer", "openrlhf.trainer.ppo_utils", "openrlhf.trainer.ray")
    import ray

    ray.remote = lambda *given, **_: given[0] if given and callable(given[0]) else lambda cls: cls
    logging_utils = importlib.import_module("openrlhf.utils.logging_utils")
    without("openrlhf")
    trainer_module = importlib.import_module("openrlhf.trainer.ppo_trainer")
    names = {"tensorboard_dir": str(folder), "logging_steps": 2, "wandb": argparse.Namespace(run_name="run")}
    arguments = argparse.Namespace(logger=argparse.Namespace(**names), ckpt=argparse.Namespace(save_steps=99), seed=7)
    trainer = trainer_module.BasePPOTrainer.__new__(trainer_module.BasePPOTrainer)
    trainer.args, trainer.wandb_logger = arguments, None
    trainer.tensorboard_logger = logging_utils.TensorboardLogger(arguments)
    for step in range(1, STEPS + 1):
        row = {
            "rollout/reward_mean": step / 10,
            "kl": 0.1,
            "policy_loss": 0.2,
            "actor_lr": 1e-6,
            "actor_grad_norm": 1.0,
        }
        trainer.save_logs_and_checkpoints(step, row, {})
    trainer.tensorboard_logger.close()


def skyrl(folder: Path) -> None:
    """SkyRL's Tracking with the console as its backend."""
    alone("skyrl", "skyrl.train", "skyrl.train.utils")
    stub = types.ModuleType("skyrl.train.config")
    vars(stub).update(SkyRLTrainConfig=dict, get_config_as_dict=dict)
    sys.modules["skyrl.train.config"] = stub
    module = importlib.import_module("skyrl.train.utils.tracking")
    tracking = module.Tracking("project", "run", backend="console", config={"trainer": {"seed": 7}})
    for step in range(1, STEPS + 1):
        row = {"reward/avg_raw_reward": step / 10, "policy/policy_kl": 0.1, "policy/final_loss": 0.2}
        tracking.log(row | {"policy/policy_entropy": 0.9, "policy/grad_norm": 1.0}, step=step, commit=True)
    tracking.finish()


def areal(folder: Path) -> None:
    """AReaL's StatsLogger with every tracker off but TensorBoard."""
    without("swanlab")
    alone("areal", "areal.api", "areal.utils")
    for name, members in {
        "areal.api": ("FinetuneSpec",), "areal.api.cli_args": ("BaseExperimentConfig", "StatsLoggerConfig"),
        "areal.utils.logging": (), "areal.utils.printing": (), "areal.version": (),
    }.items():  # fmt: skip
        module = sys.modules.get(name) or types.ModuleType(name)
        vars(module).update({member: type(member, (), {}) for member in members})
        sys.modules[name] = module
    quiet = types.SimpleNamespace(info=lambda *_: None)
    vars(sys.modules["areal.utils.logging"]).update(getLogger=lambda *_: quiet)
    vars(sys.modules["areal.utils"]).update(logging=sys.modules["areal.utils.logging"])
    vars(sys.modules["areal.utils.printing"]).update(tabulate_stats=str)
    vars(sys.modules["areal.version"]).update(version_info=None)
    module = importlib.import_module("areal.utils.stats_logger")
    from tensorboardX import SummaryWriter

    logger = module.StatsLogger.__new__(module.StatsLogger)
    logger.ft_spec = types.SimpleNamespace(total_train_epochs=1, steps_per_epoch=STEPS, total_train_steps=STEPS)
    logger.exp_config, logger._last_commit_step, logger.summary_writer = _config(), -1, SummaryWriter(str(folder))
    module.wandb.log = module.swanlab.log = lambda *_, **__: None  # as their disabled modes do
    for step in range(1, STEPS + 1):
        row = {
            "task_reward/avg": step / 10,
            "approx_kl/avg": 0.1,
            "entropy/avg": 0.9,
            "actor_loss/avg": 0.2,
            "x__count": 1,
        }
        logger.commit(0, step, step, row | {"ppo_actor/update/grad_norm": 1.0})


def _config() -> object:
    from dataclasses import make_dataclass

    return make_dataclass("Experiment", [("seed", int)])(7)


def tinker(folder: Path) -> None:
    """tinker-cookbook's setup_logging, which writes metrics.jsonl."""
    alone("tinker_cookbook", "tinker_cookbook.stores", "tinker_cookbook.utils")
    without("tinker", "neptune_scale", "blobfile", "cloudpickle", "jinja2", "tml_renderers", "git")
    module = importlib.import_module("tinker_cookbook.utils.ml_log")
    logger = module.setup_logging(str(folder), config={"seed": 7, "api_key": "k-1"})
    for step in range(STEPS):
        row = {
            "env/all/reward/total": step / 10,
            "optim/kl_sample_train_v1": 0.1,
            "optim/entropy": 0.9,
            "optim/lr": 1e-4,
        }
        logger.log_metrics(row, step=step)
    logger.close()


def swift(folder: Path) -> None:
    """ms-swift's PrinterCallbackNew, which rewrites the logs and writes logging.jsonl, in transformers' handler."""
    import json
    import logging

    from transformers import TrainingArguments
    from transformers.trainer_callback import CallbackHandler, TrainerControl, TrainerState

    alone("swift", "swift.trainers")
    stub, arguments_stub = types.ModuleType("swift.utils"), types.ModuleType("swift.trainers.arguments")

    def append(path: str, row: dict[str, object]) -> None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    vars(stub).update(append_to_jsonl=append, format_time=str, get_logger=logging.getLogger)
    vars(stub).update(get_max_reserved_memory=lambda: 0.0, is_pai_training_job=lambda: False)
    vars(arguments_stub).update(TrainingArguments=TrainingArguments)
    sys.modules |= {"swift.utils": stub, "swift.trainers.arguments": arguments_stub}
    module = importlib.import_module("swift.trainers.patcher")
    folder.mkdir(parents=True)
    handler = CallbackHandler([module.PrinterCallbackNew()], None, None, None, None)
    state, control = TrainerState(is_world_process_zero=True, max_steps=STEPS), TrainerControl()
    arguments = TrainingArguments(output_dir=str(folder), use_cpu=True, report_to=[])
    handler.on_train_begin(arguments, state, control)
    for step in range(1, STEPS + 1):
        state.global_step = step
        row = {"reward": step / 10, "reward_std": 0.3, "kl": 0.1, "entropy/mean": 0.9, "completions/mean_length": 12.0}
        handler.on_log(arguments, state, control, row | {"frac_reward_zero_std": 0.0, "loss": 0.2})
    assert len((folder / "logging.jsonl").read_text().splitlines()) == STEPS


def nemo_rl(folder: Path) -> None:
    """NeMo-RL's Logger with TensorBoard."""
    without("ray", "swanlab", "matplotlib", "prometheus_client")
    alone("nemo_rl", "nemo_rl.utils", "nemo_rl.data", "nemo_rl.distributed")
    for name in ("nemo_rl.data.interfaces", "nemo_rl.distributed.batched_data_dict"):
        sys.modules[name] = _Absent(name)
    module = importlib.import_module("nemo_rl.utils.logger")
    off = dict.fromkeys(("wandb_enabled", "swanlab_enabled", "mlflow_enabled", "monitor_gpus"), False)
    logger = module.Logger({**off, "tensorboard_enabled": True, "tensorboard": {}, "log_dir": str(folder)})
    logger.log_hyperparams({"grpo": {"num_generations_per_prompt": 8, "seed": 7}})
    for step in range(1, STEPS + 1):
        row = {"reward": step / 10, "kl_penalty": 0.1, "loss": 0.2, "grad_norm": 1.0, "approx_entropy": 0.9}
        logger.log_metrics(
            row | {"token_mult_prob_error": 1.01, "mean_gen_tokens_per_sample": 9.0}, step, prefix="train"
        )


def slime(folder: Path) -> None:
    """slime's log function with TensorBoard."""
    alone("slime", "slime.observability")
    os.environ["TENSORBOARD_DIR"] = str(folder)
    module = importlib.import_module("slime.observability.logging_utils")
    names = {"use_wandb": False, "use_tensorboard": True, "tb_project_name": "p", "tb_experiment_name": "e", "seed": 7}
    arguments = argparse.Namespace(**names)
    for step in range(STEPS):
        row = {"rollout/raw_reward": step / 10, "rollout/response_len/mean": 9.0, "rollout/truncated_ratio": 0.0}
        module.log(arguments, row | {"rollout/step": step}, step_key="rollout/step")
        update = {"train/loss": 0.2, "train/grad_norm": 1.0, "train/kl_loss": 0.1, "train/step": 2 * step}
        module.log(arguments, update, step_key="train/step")


def prime_rl(folder: Path) -> None:
    """prime-rl's monitors: their log function with its FileMonitor."""
    import asyncio

    without("verifiers", "wandb_workspaces", "prime_sandboxes", "loguru")
    alone("prime_rl", "prime_rl.configs", "prime_rl.utils")
    for name in (
        "prime_rl.configs.monitors",
        "prime_rl.utils.config",
        "prime_rl.utils.logger",
        "prime_rl.monitors.prime",
        "prime_rl.monitors.wandb",
    ):
        sys.modules[name] = _Absent(name)
    quiet = types.SimpleNamespace(info=lambda *_: None, warning=print)
    vars(sys.modules["prime_rl.utils.logger"]).update(get_logger=lambda: quiet)
    utils = _Absent("prime_rl.utils.utils")
    vars(utils).update(sanitize=lambda metrics: (metrics, []))
    sys.modules["prime_rl.utils.utils"] = utils
    module = importlib.import_module("prime_rl.monitors")

    async def train() -> None:
        await module.setup(file=types.SimpleNamespace(path="metrics.jsonl"), output_dir=folder)
        for step in range(STEPS):
            await module.log({"train/agg/effective/all/reward/mean": step / 10, "optim/grad_norm": 1.0}, step)
            await module.log({"entropy/all/mean": 0.9, "loss/mean": 0.2, "mismatch_kl/all/mean": 0.01}, step)
        await module.finalize()

    asyncio.run(train())


def swanlab(folder: Path) -> None:
    """SwanLab itself, offline: counted and named steps, nested keys, a text beside numbers, a row made in a thread."""
    import swanlab as library

    run = library.init(project="tap", mode="offline", logdir=str(folder), config={"temperature": 0.7})
    library.log({"reward": 0.1, "deep": {"seconds": 1.5}, "sample": library.Text("text")})
    library.log({"reward": 0.2, "entropy": 0.9}, step=10)
    run.async_log(lambda: {"kl": 0.3}, step=10).result()
    library.log({"reward": 0.3, "entropy": 0.8})
    library.finish()


PROGRAMS: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (openrlhf, skyrl, areal, tinker, swift, nemo_rl, slime, prime_rl, swanlab)
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](Path(sys.argv[2]))
