"""The rows of a run, written as each trainer writes its log: what the real writers do, with every digit kept."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from rlprobe.importers.rows.decode import row_of
from rlprobe.importers.rows.steps import STEP_KEYS, step_of

Row = Mapping[str, object]
Writer = Callable[[Path, list[Row]], Path]


def stepped(rows: Iterable[Row]) -> list[tuple[int, dict[str, object]]]:
    """(step, row without it): a row without one belongs to the step before it; where none has one, rows are counted."""
    out: list[tuple[int, dict[str, object]]] = []
    last, own = -1, False
    for row in rows:
        flat = dict(row_of(dict(row)) or {})
        step = step_of(flat, tuple(key for key in STEP_KEYS if key in flat))
        own = own or step is not None
        last = step if step is not None else max(last, 0) if own else last + 1
        out.append((last, {key: value for key, value in flat.items() if key != "step"}))
    return out


def only_numbers(rows: Iterable[Row]) -> bool:
    """Whether every value is a number, as a console of key:value pairs needs it."""
    return all(isinstance(value, int | float) and type(value) is not bool for row in rows for value in row.values())


def plain_keys(rows: Iterable[Row]) -> bool:
    """Whether no key has what separates keys and values in a line."""
    return not any(" - " in key or "'" in key for row in rows for key in row)


def finite(rows: Iterable[Row]) -> bool:
    """Whether no value is an infinity or NaN, which a logger that writes null for them loses."""
    return all(value - value == 0 for row in rows for value in row.values() if isinstance(value, float))


def trainer_state(path: Path, rows: list[Row]) -> Path:
    """transformers' trainer_state.json in a checkpoint of an output folder."""
    steps = [step for step, _ in stepped(rows)]
    state = {
        "best_model_checkpoint": None,
        "global_step": steps[-1],
        "is_world_process_zero": True,
        "log_history": list(rows),
        "max_steps": steps[-1],
    }
    folder = path / f"checkpoint-{steps[-1]}"
    folder.mkdir(parents=True)
    (folder / "trainer_state.json").write_text(json.dumps(state, indent=2))
    return path


def trl_console(path: Path, rows: list[Row]) -> Path:
    """The console of a transformers 4 trainer: a dict's repr, the bar erased before it and drawn again after it."""
    total = max(step for step, _ in stepped(rows))
    parts = [_bar(0, total)]
    for step, row in stepped(rows):
        parts.append(f"\r{'':80}\r{row!r}\n\r{_bar(step, total)}")
    path.write_text("".join(parts) + "\n", encoding="utf-8")
    return path


def _bar(step: int, total: int) -> str:
    return f"{100 * step // max(total, 1):3d}%|###   | {step}/{total} [00:05<00:45,  2.00it/s]"


def verl_console(path: Path, rows: list[Row]) -> Path:
    """verl's console, behind Ray's coloured prefix, every second number as numpy prints it."""
    lines = []
    for step, row in stepped(rows):
        pairs = [f"{key}:{_number(value, place)}" for place, (key, value) in enumerate(row.items())]
        lines.append("\x1b[36m(TaskRunner pid=4242)\x1b[0m " + " - ".join([f"step:{step}", *pairs]) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _number(value: object, place: int) -> str:
    return f"np.float64({value!r})" if place % 2 and isinstance(value, float) else repr(value)


def verl_file(path: Path, rows: list[Row]) -> Path:
    """verl's file logger, which has null for what is no finite number."""
    text = "".join(json.dumps({"step": step, "data": _nulled(row)}) + "\n" for step, row in stepped(rows))
    path.write_text(text, encoding="utf-8")
    return path


def _nulled(row: Row) -> dict[str, object]:
    return {key: None if isinstance(value, float) and value - value != 0 else value for key, value in row.items()}


def ms_swift(path: Path, rows: list[Row]) -> Path:
    """ms-swift's logging.jsonl, with the summary that holds every row again."""
    placed = stepped(rows)
    total = max(step for step, _ in placed)
    lines = [{**row, "global_step/max_steps": f"{step}/{total}", "percentage": "1.5%"} for step, row in placed]
    summary = {"train_runtime": 12.0, "log_history": list(rows), "global_step": total}
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, summary]), encoding="utf-8")
    return path
