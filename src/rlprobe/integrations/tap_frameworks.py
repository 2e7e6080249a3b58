"""How frameworks hand their metrics to a log of their own, so that they are recorded even where no tracker is set.

Read from verl 0.9, OpenRLHF 0.11, SkyRL 0.3, AReaL 1.0, tinker-cookbook 0.6, and from the sources of NeMo-RL (7ea279a),
slime (624b824) and prime-rl (559b447).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from rlprobe.integrations.tap_loggers import Install
from rlprobe.integrations.tap_rows import Row, as_dict
from rlprobe.integrations.wrapping import Wraps

if TYPE_CHECKING:
    from rlprobe.integrations.tap import Tap


class _Holder(Protocol):
    """Whatever holds the configuration of its run."""

    args: object
    exp_config: object


def verl(tap: "Tap", wraps: Wraps, module: object) -> None:
    """verl without its backend "rlprobe" (verl.py, which records more): every row, its console's too."""

    def init(
        tracking: object, project: object = "", experiment: object = "", backend: object = "", config: object = None
    ) -> None:
        tap.describe("verl", as_dict(config))

    def log(tracking: object, data: Row, step: int, *_: object, **__: object) -> None:
        tap.take("verl", data, step=step)

    def named(tracking: object, *positional: object, **keywords: object) -> None:
        init(tracking, config=keywords["config"]) if "config" in keywords else init(tracking, *positional)

    wraps.around(vars(module)["Tracking"], "__init__", before=named)
    wraps.around(vars(module)["Tracking"], "log", before=log)


def openrlhf(tap: "Tap", wraps: Wraps, module: object) -> None:
    """OpenRLHF: where its PPO trainer logs, at every step whatever `--logger.logging_steps` is."""

    def save_logs(trainer: _Holder, global_step: int, logs_dict: Row | None = None, *_: object, **__: object) -> None:
        tap.take("openrlhf", logs_dict or {}, step=global_step, config=lambda: _namespace(trainer.args))

    wraps.around(vars(module)["BasePPOTrainer"], "save_logs_and_checkpoints", before=save_logs)


def skyrl(tap: "Tap", wraps: Wraps, module: object) -> None:
    """SkyRL: its Tracking, the console's too."""

    def log(tracking: object, data: Row, step: int, *_: object, **__: object) -> None:
        tap.take("skyrl", data, step=step)

    def init(
        tracking: object,
        project_name: object,
        experiment_name: object,
        backend: object = "",
        config: object = None,
        *_: object,
        **__: object,
    ) -> None:
        if config is not None:
            tap.describe("skyrl", as_dict(vars(module)["get_config_as_dict"](config)))

    wraps.around(vars(module)["Tracking"], "log", before=log)
    wraps.around(vars(module)["Tracking"], "__init__", before=init)


def areal(tap: "Tap", wraps: Wraps, module: object) -> None:
    """AReaL: what StatsLogger commits, its counters left out as it leaves them out."""

    def configuration(logger: _Holder) -> dict[str, object]:
        from dataclasses import asdict  # costs every process that starts what it costs here once

        return asdict(logger.exp_config)  # type: ignore[call-overload, no-any-return]  # it is a dataclass

    def commit(logger: _Holder, epoch: int, step: int, global_step: int, data: Row | Sequence[Row]) -> None:
        for place, row in enumerate([data] if isinstance(data, Mapping) else data):
            kept = {key: value for key, value in row.items() if not key.endswith("__count")}
            tap.take("areal", kept, step=global_step + place, config=lambda: configuration(logger))

    wraps.around(vars(module)["StatsLogger"], "commit", before=commit)


def tinker_cookbook(tap: "Tap", wraps: Wraps, module: object) -> None:
    """tinker-cookbook: its log of metrics, which it always writes."""

    def log_metrics(logger: object, metrics: Row, step: int | None = None) -> None:
        tap.take("tinker-cookbook", metrics, step=step)

    def log_hparams(logger: object, config: object) -> None:
        tap.describe("tinker-cookbook", as_dict(vars(module)["dump_config"](config)))

    wraps.around(vars(module)["MultiplexLogger"], "log_metrics", before=log_metrics)
    wraps.around(vars(module)["MultiplexLogger"], "log_hparams", before=log_hparams)


def nemo_rl(tap: "Tap", wraps: Wraps, module: object) -> None:
    """NeMo-RL: its Logger, whichever backends are on. What Ray measures of the machines is left out."""

    def log_metrics(logger: object, metrics: Row, step: int, prefix: str | None = "", *_: object, **__: object) -> None:
        if prefix != "ray":
            tap.take(
                "nemo-rl", {f"{prefix}/{key}" if prefix else key: value for key, value in metrics.items()}, step=step
            )

    def log_hyperparams(logger: object, params: Row) -> None:
        tap.describe("nemo-rl", params)

    wraps.around(vars(module)["Logger"], "log_metrics", before=log_metrics)
    wraps.around(vars(module)["Logger"], "log_hyperparams", before=log_hyperparams)


def slime(tap: "Tap", wraps: Wraps, module: object) -> None:
    """slime: its log function. A rollout is the step; the updates on it, which have a count of their own, join it."""

    def log(args: object, metrics: Row, step_key: str) -> None:
        step = metrics.get(step_key) if step_key != "train/step" else None
        row = {key: value for key, value in metrics.items() if key != step_key}
        tap.take("slime", row, step=step if isinstance(step, int) else None, config=lambda: _namespace(args))

    wraps.around(module, "log", before=log)


def prime_rl(tap: "Tap", wraps: Wraps, module: object) -> None:
    """prime-rl: the function that hands rows to its monitors; episodes stay with its own files."""

    def log(data: object, step: int, *_: object, **__: object) -> None:
        if isinstance(data, Mapping):
            tap.take("prime-rl", data, step=step)

    wraps.around(module, "log", before=log)


FRAMEWORKS: tuple[tuple[str, str, Install], ...] = (  # module, what it must have, between blanks
    ("verl.utils.tracking", "Tracking", verl),
    ("openrlhf.trainer.ppo_trainer", "BasePPOTrainer", openrlhf),
    ("skyrl.train.utils.tracking", "Tracking get_config_as_dict", skyrl),
    ("areal.utils.stats_logger", "StatsLogger", areal),
    ("tinker_cookbook.utils.ml_log", "MultiplexLogger dump_config", tinker_cookbook),
    ("nemo_rl.utils.logger", "Logger", nemo_rl),
    ("slime.observability.logging_utils", "log", slime),
    ("prime_rl.monitors", "log", prime_rl),
)


def _namespace(arguments: object) -> dict[str, object]:
    """An argparse namespace, nested ones too, as a dict."""
    if isinstance(arguments, Mapping):
        return as_dict(arguments)
    return {
        name: _namespace(value) if hasattr(value, "__dict__") and not callable(value) else value
        for name, value in vars(arguments).items()
        if not name.startswith("_")
    }
