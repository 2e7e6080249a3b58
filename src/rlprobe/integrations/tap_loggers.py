"""How each logger hands its numbers to the tap: one function a logger, called with the module that holds its method.

Methods of classes are wrapped, so that every way to reach them is. Read from wandb 0.31, torch 2.13, tensorboardX 2.6,
trackio 0.43, mlflow 3.17, swanlab 0.10 and transformers 5.24.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from rlprobe.integrations.wrapping import Wraps

if TYPE_CHECKING:
    from rlprobe.integrations.tap import Tap

Row = Mapping[str, object]
Install = Callable[["Tap", Wraps, object], None]


class _Run(Protocol):
    """A run of wandb, Trackio or SwanLab."""

    id: str
    config: object


class _RowCount:
    """wandb's count of rows: a call without `commit` or with a step of its own adds to the row that is open."""

    def __init__(self, first: int) -> None:
        self._row = first

    def take(self, step: int | None, commit: bool | None) -> int:  # noqa: FBT001 - as wandb's log() has it
        if step is not None:
            self._row = max(self._row, step)
        row = self._row
        if commit or (commit is None and step is None):
            self._row += 1
        return row


def wandb(tap: "Tap", wraps: Wraps, module: object) -> None:
    """wandb: Run.log, which wandb.log is."""
    counts: WeakKeyDictionary[object, _RowCount] = WeakKeyDictionary()

    def log(run: _Run, data: Row, step: int | None = None, commit: bool | None = None, **_: object) -> None:  # noqa: FBT001 - as wandb has it
        if run not in counts:
            counts[run] = _RowCount(int(getattr(run, "starting_step", 0) or 0))
        count = counts[run].take(step, commit)
        tap.take("wandb", data, step=step, count=count, run=str(run.id), config=lambda: as_dict(run.config))
        for table in data.values():
            if rows := _table_rows(table):
                tap.take_samples("wandb", step, rows, count=count)

    def finish(run: _Run, *_: object, **__: object) -> None:
        tap.describe("wandb", as_dict(run.config))
        tap.finished("wandb", str(run.id))

    owner = vars(module)["Run"]
    wraps.around(owner, "log", before=log)
    wraps.around(owner, "finish", before=finish)
    library = sys.modules.get("wandb")
    running = getattr(library, "run", None)
    if running is not None:  # wandb.log was bound when the run began
        wraps.replace(library, "log", running.log)


def summary_writer(tap: "Tap", wraps: Wraps, module: object) -> None:
    """TensorBoard: the SummaryWriter of torch and of tensorboardX."""

    def add_scalar(
        writer: object, tag: str, scalar_value: object, global_step: int | None = None, *_: object, **__: object
    ) -> None:
        tap.writers.add(writer)
        tap.take("tensorboard", {tag: scalar_value}, step=global_step)

    def add_scalars(
        writer: object, main_tag: str, tag_scalar_dict: Row, global_step: int | None = None, *_: object, **__: object
    ) -> None:
        tap.writers.add(writer)
        row = {f"{main_tag}/{tag}": value for tag, value in tag_scalar_dict.items()}
        tap.take("tensorboard", row, step=global_step)

    def add_hparams(writer: object, hparam_dict: Row, *_: object, **__: object) -> None:
        tap.describe("tensorboard", hparam_dict)

    def close(writer: object) -> None:
        if writer in tap.writers:
            tap.finished("tensorboard")

    owner = vars(module)["SummaryWriter"]
    for method in (add_scalar, add_scalars, add_hparams, close):
        wraps.around(owner, method.__name__, before=method)


def trackio(tap: "Tap", wraps: Wraps, module: object) -> None:
    """Trackio: Run.log, which trackio.log calls."""

    def log(run: _Run, metrics: Row, step: int | None = None, **_: object) -> None:
        count = getattr(run, "_next_step", None)
        tap.take("trackio", metrics, step=step, count=count, run=str(run.id), config=lambda: as_dict(run.config))

    def finish(run: _Run, *_: object, **__: object) -> None:
        tap.finished("trackio", str(run.id))

    owner = vars(module)["Run"]
    wraps.around(owner, "log", before=log)
    wraps.around(owner, "finish", before=finish)


def mlflow(tap: "Tap", wraps: Wraps, module: object) -> None:
    """MLflow: the client, which mlflow.log_metrics and its like call. Its measurements of the machine are left out."""

    class Metric(Protocol):
        key: str
        value: object
        step: int

    class Parameter(Protocol):
        key: str
        value: object

    def one(tag: str, value: object, step: int | None, run_id: str) -> None:
        if not tag.startswith("system/"):
            tap.take("mlflow", {tag: value}, step=step, run=run_id)

    def log_metric(
        client: object,
        run_id: str,
        key: str,
        value: object,
        timestamp: object = None,
        step: int | None = None,
        **_: object,
    ) -> None:
        one(key, value, step or 0, run_id)

    def log_batch(
        client: object,
        run_id: str,
        metrics: Iterable[Metric] = (),
        params: Iterable[Parameter] = (),
        *_: object,
        **__: object,
    ) -> None:
        for each in metrics:
            one(each.key, each.value, each.step, run_id)
        if told := {each.key: each.value for each in params}:
            tap.describe("mlflow", told)

    def log_param(client: object, run_id: str, key: str, value: object, **_: object) -> None:
        tap.describe("mlflow", {key: value})

    def set_terminated(client: object, run_id: str, *_: object, **__: object) -> None:
        tap.finished("mlflow", run_id)

    owner = vars(module)["MlflowClient"]
    for method in (log_metric, log_batch, log_param, set_terminated):
        wraps.around(owner, method.__name__, before=method)


def swanlab(tap: "Tap", wraps: Wraps, module: object) -> None:
    """SwanLab: the run's log, which swanlab.log calls."""
    calls: WeakKeyDictionary[object, _RowCount] = WeakKeyDictionary()

    def log(run: _Run, data: Row, step: int | None = None, **_: object) -> None:
        count = calls.setdefault(run, _RowCount(0)).take(step, commit=True)
        tap.take("swanlab", data, step=step, count=count, run=str(run.id), config=lambda: as_dict(run.config))

    def finish(run: _Run, *_: object, **__: object) -> None:
        tap.finished("swanlab", str(run.id))

    owner = vars(module).get("Run") or vars(module)["SwanLabRun"]
    wraps.around(owner, "log", before=log)
    wraps.around(owner, "finish", before=finish)


def hf_trainer(tap: "Tap", wraps: Wraps, module: object) -> None:
    """transformers.Trainer and its subclasses: what they log, whatever `report_to` is."""

    class State(Protocol):
        global_step: int
        is_world_process_zero: bool

    def on_log(handler: object, args: object, state: State, control: object, logs: Row, **_: object) -> None:
        if state.is_world_process_zero:
            tap.take("transformers", logs, step=state.global_step, config=lambda: as_dict(args))

    wraps.around(vars(module)["CallbackHandler"], "on_log", before=on_log)


def ray(tap: "Tap", wraps: Wraps, module: object) -> None:
    """Ray: workers of a cluster that was started before do not inherit this process's variables; its job hands them on.

    A set-up hook of the user's own stays; rlprobe is then not started in workers of such a cluster.
    """
    import functools
    import os

    from rlprobe.integrations.tap_places import RUN, TELL

    original = vars(module).get("init")
    if original is None:
        return

    @functools.wraps(original)
    def init(*args: object, **kwargs: object) -> object:
        given = kwargs.get("runtime_env")
        if given is None or isinstance(given, Mapping):
            wanted = {RUN: str(tap.run_dir.absolute())} | ({TELL: os.environ[TELL]} if TELL in os.environ else {})
            before = dict(given or {})
            variables = before.get("env_vars")
            before["env_vars"] = wanted | (dict(variables) if isinstance(variables, Mapping) else {})
            before.setdefault("worker_process_setup_hook", _IN_WORKERS)
            kwargs["runtime_env"] = before
        return original(*args, **kwargs)

    wraps.replace(module, "init", init)


_IN_WORKERS = "rlprobe.integrations.tap_process.start"

LOGGERS: tuple[tuple[str, Install], ...] = (
    ("wandb.sdk.wandb_run", wandb),
    ("torch.utils.tensorboard.writer", summary_writer),
    ("tensorboardX.writer", summary_writer),
    ("trackio.run", trackio),
    ("mlflow.tracking.client", mlflow),
    ("swanlab.sdk.internal.run", swanlab),
    ("swanlab.data.run.main", swanlab),
    ("transformers.trainer_callback", hf_trainer),
    ("ray", ray),
)


def as_dict(config: object) -> dict[str, object]:
    """A configuration as a dict, whatever object holds it; a logger's own entries begin with an underscore."""
    if isinstance(config, Mapping):
        return {str(key): value for key, value in config.items() if not str(key).startswith("_")}
    for name in ("as_dict", "to_dict"):
        if callable(method := getattr(config, name, None)):
            return as_dict(method())
    if hasattr(config, "keys") and hasattr(config, "__getitem__"):
        return as_dict({key: config[key] for key in config.keys()})  # noqa: SIM118 - it is no dict
    return {}


def _table_rows(table: object) -> list[dict[str, object]]:
    """The rows of a table that holds prompts with completions; empty for anything else."""
    columns, data = getattr(table, "columns", None), getattr(table, "data", None)
    if not isinstance(columns, list) or not isinstance(data, list) or not {"prompt", "completion"} <= set(columns):
        return []
    return [dict(zip(columns, row, strict=False)) for row in data]
