"""Does the doctor keep its word when the log is poorer? `python -m bench.doctor.robustness`.

Each labelled real run is read again with half of its rows, with rows averaged in fives, with a third of its metrics
missing, with every number rounded to three digits, and as a prefix. Healthy runs should stay without an alarm, failing
ones with a hit.
"""

from collections.abc import Callable, Mapping

import numpy as np
from tests.support.corpus import Label, labels, opened

from bench.doctor.corpus import answers
from rlprobe.doctor.engine import diagnose
from rlprobe.recording.run import Batch, BoolArray, FloatArray, MemoryFeed, Run

Columns = Mapping[str, tuple[FloatArray, BoolArray]]


def main() -> None:
    """Print, for each way of making a log poorer, alarms on healthy runs and hits on failing ones."""
    runs = [(label, opened(label)) for label in labels() if label.verdict != "ambiguous"]
    for name, poorer in WAYS.items():
        alarmed, named, failing, healthy = [], 0, 0, 0
        for label, run in runs:
            ids = {one.id for one in diagnose(poorer(run, _draw(label))).findings if one.severity != "info"}
            if label.verdict == "healthy":
                healthy += 1
                alarmed.extend([f"{label.id}:{'+'.join(sorted(ids))}"] if ids else [])
            else:
                failing += 1
                named += bool(ids & frozenset().union(*(answers(one) for one in label.findings)))
        print(f"{name:18} healthy with an alarm {len(alarmed)}/{healthy}, failing named {named}/{failing}", *alarmed)


def half_of_the_rows(run: Run, draw: np.random.Generator) -> Run:
    """Every row is kept with a chance of one half."""
    return _taken(run, np.flatnonzero(draw.random(run.rows) < 0.5))


def averaged_in_fives(run: Run, draw: np.random.Generator) -> Run:
    """What a trainer with logging_steps=5 would have written of a long run; short runs are averaged in pairs."""
    width = 5 if run.rows >= 100 else 2
    count = run.rows // width
    columns = {}
    for name in run.metrics:
        values = run.column(name)[: count * width].reshape(count, width)
        known = np.isfinite(values)
        sums = np.where(known, values, 0.0).sum(axis=1)
        mean = np.where(known.any(axis=1), sums / np.maximum(1, known.sum(axis=1)), np.nan)
        columns[name] = (mean, run.logged(name)[: count * width].reshape(count, width).any(axis=1))
    return _built(run, run.steps[width - 1 : count * width : width], columns)


def a_third_of_the_metrics_missing(run: Run, draw: np.random.Generator) -> Run:
    """Metrics are dropped at random; the reward stays."""
    kept = [name for name in run.metrics if name == "reward_mean" or draw.random() < 2 / 3]
    return _built(run, run.steps, {name: (run.column(name), run.logged(name)) for name in kept})


def rounded(run: Run, draw: np.random.Generator) -> Run:
    """Three significant digits, as consoles print them."""
    columns = {}
    for name in run.metrics:
        values = run.column(name).copy()
        sized = np.isfinite(values) & (values != 0)
        unit = 10.0 ** (np.floor(np.log10(np.abs(values[sized]))) - 2)
        values[sized] = np.round(values[sized] / unit) * unit
        columns[name] = (values, run.logged(name))
    return _built(run, run.steps, columns)


def a_prefix(run: Run, draw: np.random.Generator) -> Run:
    """The first part of the run, between a third and all of it (a failure may lie beyond it)."""
    return _taken(run, np.arange(int(run.rows * draw.uniform(0.33, 1.0))))


def noisier(run: Run, draw: np.random.Generator) -> Run:
    """Every value blurred by half of its own step-to-step noise."""
    columns = {}
    for name in run.metrics:
        values = run.column(name).copy()
        known = np.flatnonzero(np.isfinite(values))
        steps = np.diff(values[known])
        if len(steps) and np.ptp(steps) > 0:
            size = 0.5 * float(np.median(np.abs(steps)))
            blurred = values[known] + size * draw.normal(size=len(known))
            values[known] = np.where(
                values[known] == 0, 0.0, np.where(np.sign(blurred) == np.sign(values[known]), blurred, values[known])
            )
        columns[name] = (values, run.logged(name))
    return _built(run, run.steps, columns)


WAYS: dict[str, Callable[[Run, np.random.Generator], Run]] = {
    "as it is": lambda run, draw: _taken(run, np.arange(run.rows)),
    "half of the rows": half_of_the_rows,
    "averaged": averaged_in_fives,
    "metrics missing": a_third_of_the_metrics_missing,
    "rounded": rounded,
    "noisier": noisier,
    "a prefix": a_prefix,
}


def _draw(label: Label) -> np.random.Generator:
    return np.random.default_rng(list(label.id.encode()))


def _taken(run: Run, rows: np.ndarray) -> Run:
    return _built(
        run, run.steps[rows], {name: (run.column(name)[rows], run.logged(name)[rows]) for name in run.metrics}
    )


def _built(run: Run, steps: np.ndarray, columns: Columns) -> Run:
    metadata = {name: run.metadata(name) for name in columns}
    return Run(MemoryFeed(run.source, [Batch(steps=steps, columns=columns, manifest=run.manifest, metadata=metadata)]))


if __name__ == "__main__":
    main()
