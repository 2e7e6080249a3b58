"""How wandb hands its numbers to the tap. Read from wandb 0.31."""

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from rlprobe.integrations.tap_rows import LoggersRun, RowCount, as_dict, take_of
from rlprobe.integrations.wrapping import Wraps

if TYPE_CHECKING:
    from rlprobe.integrations.tap import Tap

_NO_STEPS = re.compile("epoch|token|sample|example|time|second|hour|flop")  # axes that count something else


def wandb(tap: "Tap", wraps: Wraps, module: object) -> None:
    """wandb: Run.log, which wandb.log is. The axis that the user defined for training's curves is the step."""
    counts: WeakKeyDictionary[object, RowCount] = WeakKeyDictionary()
    axes: WeakKeyDictionary[object, str] = WeakKeyDictionary()  # the metric that tells the training's steps

    def define_metric(run: LoggersRun, name: object = "", step_metric: object = None, *_: object, **__: object) -> None:
        axis = getattr(step_metric, "name", step_metric)
        if isinstance(axis, str) and axis and _of_training(name) and not _NO_STEPS.search(axis.lower()):
            axes.setdefault(run, axis.replace(r"\.", "."))

    def log(
        run: LoggersRun, data: object = None, step: object = None, commit: object = None, *_: object, **__: object
    ) -> None:
        if run not in counts:
            counts[run] = RowCount(int(getattr(run, "starting_step", 0) or 0))
        count = counts[run].take(step, commit)
        if not isinstance(data, Mapping) or not take_of(tap, "wandb", run, data, step, count, axes.get(run, "")):
            return
        for table in data.values():
            if rows := _table_rows(table):
                tap.take_samples("wandb", step, rows, count=count)

    def finish(run: LoggersRun, *_: object, **__: object) -> None:
        tap.finished("wandb", str(getattr(run, "id", "")), lambda: as_dict(getattr(run, "config", None)))

    owner = vars(module)["Run"]
    wraps.around(owner, "log", before=log)
    wraps.around(owner, "define_metric", before=define_metric)
    wraps.around(owner, "finish", before=finish)
    library = sys.modules.get("wandb")
    running = getattr(library, "run", None)
    if isinstance(running, owner):  # wandb.log was bound when the run began
        for name in ("log", "define_metric"):
            wraps.replace(library, name, getattr(running, name))


def _of_training(pattern: object) -> bool:
    """Whether metrics of that name are training's, or all; an evaluation may count on an axis of its own."""
    return isinstance(pattern, str) and (pattern == "*" or pattern.startswith("train"))


def _table_rows(table: object) -> list[dict[str, object]]:
    """The rows of a table that holds prompts with completions; empty for anything else."""
    columns, data = getattr(table, "columns", None), getattr(table, "data", None)
    if not isinstance(columns, list) or not isinstance(data, list) or not {"prompt", "completion"} <= set(columns):
        return []
    return [dict(zip(columns, row, strict=False)) for row in data]
