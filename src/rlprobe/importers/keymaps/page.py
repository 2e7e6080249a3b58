"""The page docs/importing.md, made of the key maps: `python -m rlprobe.importers.keymaps.page > docs/importing.md`."""

import sys

from rlprobe.importers import importers
from rlprobe.importers.keymaps import maps
from rlprobe.importers.keymaps.key import Key, KeyMap

_INTRODUCTION = """# Reading logs that rlprobe did not write

`rlprobe doctor LOG` and `open_run("LOG")` take a log as it is. The format is recognised by its content, the framework by
its keys. This page is made from the key maps; a test holds it to them.

## Formats

{formats}

Text is plain or gzip, UTF-8 or UTF-16. A log may grow while it is read. Unreadable lines and records are counted in
`run.reading`. Databases are opened read only; pickles are never opened.

## Folders

A folder is read as the recording or the run that it is. Otherwise it is searched, the nearest first, and what is found is
taken in this order: recordings, wandb, any other format, TensorBoard, notebooks, consoles, plain JSON and CSV, samples
alone, what a loop of one's own printed. Of several runs of that format the newest is read; `--run N`, or
`open_run(path, run=N)`, reads another, counted from the oldest. The notes of the reading say what was taken and what
else is there. Hidden folders are left out, and no link is followed.

## Rules

- A key that has no canonical metric stays under its own name and is listed in `run.reading.unknown_keys`.
  `open_run(path, keys={{"theirs": "reward_mean"}})` names it.
- A key that already is a canonical name keeps its meaning.
- In a loop of one's own, `mean_`, `avg_`, `average_` and `batch_` before or behind a name make no other metric.
- Where two keys of a row name one metric, the earlier line of the table wins; the other stays under its own name.
- NaN counts as logged however it is spelled. `null` counts as NaN after three rows in which the metric was a number;
  otherwise, and for evaluation scores, it counts as not logged.
- Numbers are kept as logged, zeros of a placeholder included; the notes say where a zero means nothing.
- `12%` becomes 0.12.
- Evaluation scores are columns of their own (`evaluation_score/NAME`); the summary row after the last step is left out.
- Rows of one step become one row; a metric that is logged twice in a step is averaged.
- A step that goes back a little opens a new segment (training resumed); a step that goes back to the start is another
  run in the same file. The last run is read; `open_run(path, run=1)` reads the first.
- A log without steps counts its rows from 0. Rows that a transformers trainer prints take their step from the progress
  bar behind them; where no bar stands beside them they are counted, each worth `logging_steps` steps.
- A row that several processes print counts once. Colours, Ray's prefixes and progress bars are passed over.
- A cut last line is left out and counted in `run.reading.unreadable`; so is the last pair of a line that wandb cut.
- What a loop of one's own prints is read when a line counts a step and then tells at least two metrics, one of them of
  reinforcement learning: `[Step 3/500] loss=0.1 | reward=0.4 (std=0.2)`, `Epoch 1, iter 3: mean_reward: 0.4, KL: 0.01`. A
  count that begins again with the next epoch goes on; a line that tells a step again in other words is left out; what
  follows `eval` or `validation` is an evaluation score.
- A chart that wandb exports as CSV (`RUN - KEY`, `RUN - KEY__MIN`, `RUN - KEY__MAX`) is read by its keys when it holds one
  run; of several, `open_run(path, keys={{"RUN - KEY": "reward_mean"}})` takes one.
- `rlprobe doctor -` reads standard input.

## Samples

TRL's `completions/completions_STEP.parquet` beside checkpoints, ms-swift's `completions.jsonl` beside its log, and verl's
`rollout_data_dir` (alone, or as a folder beside verl's log) are read as samples of the run.

## Settings

A first row without a step that holds a configuration is read as one; so are the configurations that verl, TRL and
slime print before they start, a call such as `GRPOConfig(...)` in a notebook's cell, and the files `args.json` (ms-swift)
and `experiment_config.json` (EasyR1) beside a log. They are parsed and never run; secrets are left out. Three settings are inferred from the rows up to
the present and listed in `run.manifest.inferred_settings`: `kl_coefficient` (TRL: loss / KL, where it stays the same),
`max_completion_tokens` (a largest length that is hit again and again while completions are truncated) and
`logging_steps` (TRL: the distance of the steps).
"""


def page() -> str:
    """The whole page as Markdown."""
    formats = "\n".join(f"- `{each.NAME}`: {each.EXPECTS}" for each in importers())
    return _INTRODUCTION.format(formats=formats) + "".join(_section(each) for each in maps())


def _section(each: KeyMap) -> str:
    title = each.framework or "Any other loop (tried after the framework's own keys)"
    rows = "".join(map(_row, each.keys))
    return f"\n## {title}\n\n| key | metric | measure | note |\n|---|---|---|---|\n{rows}"


def _row(key: Key) -> str:
    measure = ", ".join(
        filter(None, [key.measure.estimator, key.measure.pair, key.measure.per and f"per {key.measure.per}"])
    )
    notes = [key.note]
    if key.scale != 1 or key.offset != 0:
        notes.append(f"converted: {key.scale:g} x + {key.offset:g}" if key.offset else f"converted: {key.scale:g} x")
    if key.when:
        notes.append(f"once `{key.when}` is logged")
    if key.unless:
        notes.append("unless " + " or ".join(f"`{name}`" for name in key.unless) + " is logged")
    metric = f"`{key.metric}`" if key.metric else "kept as it is"
    return f"| `{key.key}` | {metric} | {measure} | {'; '.join(filter(None, notes))} |\n".replace(
        "|  |", "| |"
    ).replace("|  |", "| |")


if __name__ == "__main__":
    sys.stdout.write(page())
