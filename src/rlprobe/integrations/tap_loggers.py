"""How each logger hands its numbers to the tap: one function a logger, called with the module that holds its method.

Methods of classes are wrapped, so that every way to reach them is. Read from wandb 0.31, torch 2.13, tensorboardX 2.6,
trackio 0.43, mlflow 3.17, swanlab 0.10 and transformers 5.24. A package of the user's own can have a module of the same
name: a hook takes whatever arguments come, and says nothing of those that no logger hands over.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from rlprobe.integrations.tap_rows import LoggersRun, Row, RowCount, as_dict, take_of
from rlprobe.integrations.tap_wandb import wandb
from rlprobe.integrations.wrapping import Wraps

if TYPE_CHECKING:
    from rlprobe.integrations.tap import Tap

Install = Callable[["Tap", Wraps, object], None]


class _Entry(Protocol):
    """A metric of MLflow; a parameter has no step."""

    key: str
    value: object
    step: int


def trackio(tap: "Tap", wraps: Wraps, module: object) -> None:
    """Trackio: Run.log, which trackio.log calls."""

    def log(run: LoggersRun, metrics: object = None, step: object = None, *_: object, **__: object) -> None:
        take_of(tap, "trackio", run, metrics, step, getattr(run, "_next_step", None))

    _wrap_run(tap, wraps, vars(module)["Run"], "trackio", {"log": log})


def swanlab(tap: "Tap", wraps: Wraps, module: object) -> None:
    """SwanLab: where the run's log and async_log meet; a row that SwanLab refuses for its step is left out.

    It counts as wandb does, but the row of a step that was named is closed.
    """
    counts: WeakKeyDictionary[object, RowCount] = WeakKeyDictionary()

    def log(run: LoggersRun, data: object = None, step: object = None, *_: object, **__: object) -> None:
        if step is None or (isinstance(step, int) and step >= 0):
            count = counts.setdefault(run, RowCount(0)).take(step, commit=True)
            take_of(tap, "swanlab", run, data, step, count)

    owner = vars(module).get("Run") or vars(module)["SwanLabRun"]
    _wrap_run(tap, wraps, owner, "swanlab", {"_log_impl" if hasattr(owner, "_log_impl") else "log": log})


def _wrap_run(tap: "Tap", wraps: Wraps, owner: object, source: str, hooks: Mapping[str, Callable[..., None]]) -> None:
    """Wrap the methods of a logger's run, and its end."""

    def finish(run: object, *_: object, **__: object) -> None:
        tap.finished(source, str(getattr(run, "id", "")))

    for name, hook in {**hooks, "finish": finish}.items():
        wraps.around(owner, name, before=hook)


def summary_writer(tap: "Tap", wraps: Wraps, module: object) -> None:
    """TensorBoard: the SummaryWriter of torch and of tensorboardX. A tag of two folders is two curves, here too."""

    def take(writer: object, row: Row, step: object) -> None:
        tap.writers.add(writer)
        folder = getattr(writer, "log_dir", None) or getattr(writer, "logdir", None)
        tap.take("tensorboard", row, step=step, folder=str(folder or ""))

    def add_scalar(
        writer: object,
        tag: object = "",
        scalar_value: object = None,
        global_step: object = None,
        *_: object,
        **__: object,
    ) -> None:
        take(writer, {str(tag): scalar_value}, global_step)

    def add_scalars(
        writer: object,
        main_tag: object = "",
        scalars: object = None,
        global_step: object = None,
        *_: object,
        **named: object,
    ) -> None:
        row = named.get("tag_scalar_dict", scalars)
        if isinstance(row, Mapping):
            take(writer, {f"{main_tag}/{tag}": value for tag, value in row.items()}, global_step)

    def add_hparams(writer: object, hparam_dict: object = None, *_: object, **__: object) -> None:
        tap.describe("tensorboard", as_dict(hparam_dict))

    def close(writer: object) -> None:
        if writer in tap.writers:
            tap.finished("tensorboard")

    owner = vars(module)["SummaryWriter"]
    for method in (add_scalar, add_scalars, add_hparams, close):
        wraps.around(owner, method.__name__, before=method)


def mlflow(tap: "Tap", wraps: Wraps, module: object) -> None:
    """MLflow: the client, which mlflow.log_metrics and its like call. Its measurements of the machine are left out."""

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
        metrics: Sequence[_Entry] = (),
        params: Sequence[_Entry] = (),
        *_: object,
        **__: object,
    ) -> None:
        for each in metrics if isinstance(metrics, Sequence) else ():  # an iterator is the client's to use up
            one(each.key, each.value, each.step, run_id)
        if told := {each.key: each.value for each in (params if isinstance(params, Sequence) else ())}:
            tap.describe("mlflow", told, run_id)

    def log_param(client: object, run_id: str, key: str, value: object, **_: object) -> None:
        tap.describe("mlflow", {key: value}, run_id)

    def set_terminated(client: object, run_id: str, *_: object, **__: object) -> None:
        tap.finished("mlflow", run_id)

    owner = vars(module)["MlflowClient"]
    for method in (log_metric, log_batch, log_param, set_terminated):
        wraps.around(owner, method.__name__, before=method)


def hf_trainer(tap: "Tap", wraps: Wraps, module: object) -> None:
    """transformers.Trainer and its subclasses: what they log, whatever `report_to` is; a halt stops them in order."""

    class State(Protocol):
        global_step: int
        is_world_process_zero: bool

    class Control(Protocol):
        should_training_stop: bool
        should_save: bool

    def on_log(handler: object, args: object, state: State, control: object, logs: Row, **_: object) -> None:
        if state.is_world_process_zero:
            tap.take("transformers", logs, step=state.global_step, config=lambda: as_dict(args))

    def on_step_end(
        _: None, asked: Control | None, handler: object, args: object, state: State, control: Control
    ) -> None:
        if tap.stops_after(state.global_step):
            for each in (control, asked or control):
                each.should_training_stop = each.should_save = True

    wraps.around(vars(module)["CallbackHandler"], "on_log", before=on_log)
    wraps.around(vars(module)["CallbackHandler"], "on_step_end", after=on_step_end)


def ray(tap: "Tap", wraps: Wraps, module: object) -> None:
    """Ray: workers of a cluster that was started before do not inherit this process's variables; its job hands them on.

    A set-up hook of the user's own stays; rlprobe is then not started in workers of such a cluster.
    """
    import functools
    import os

    from rlprobe.integrations.tap_places import HALT, RUN, TELL

    original = vars(module)["init"]

    @functools.wraps(original)
    def init(*args: object, **kwargs: object) -> object:
        given = kwargs.get("runtime_env")
        if given is None or isinstance(given, Mapping):
            wanted = {RUN: str(tap.run_dir.absolute())}
            wanted |= {name: os.environ[name] for name in (TELL, HALT) if name in os.environ}
            before = dict(given or {})
            variables = before.get("env_vars")
            before["env_vars"] = wanted | (dict(variables) if isinstance(variables, Mapping) else {})
            before.setdefault("worker_process_setup_hook", _IN_WORKERS)
            kwargs["runtime_env"] = before
        return original(*args, **kwargs)

    wraps.replace(module, "init", init)


_IN_WORKERS = "rlprobe.integrations.tap_process.start"

LOGGERS: tuple[tuple[str, str, Install], ...] = (  # module, what it must have, between blanks
    ("wandb.sdk.wandb_run", "Run", wandb),
    ("torch.utils.tensorboard.writer", "SummaryWriter", summary_writer),
    ("tensorboardX.writer", "SummaryWriter", summary_writer),
    ("trackio.run", "Run", trackio),
    ("mlflow.tracking.client", "MlflowClient", mlflow),
    ("swanlab.sdk.internal.run", "Run", swanlab),
    ("swanlab.data.run.main", "SwanLabRun", swanlab),
    ("transformers.trainer_callback", "CallbackHandler", hf_trainer),
    ("ray", "init remote", ray),
)
