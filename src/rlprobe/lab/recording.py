"""Runs of the lab, into a recorder or into memory."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from rlprobe.lab.catalog import Fault, Variant
from rlprobe.lab.faults import FAULTS
from rlprobe.lab.preference import preference
from rlprobe.lab.recipe import Recipe
from rlprobe.lab.trainer import Logged, policy_gradient
from rlprobe.lab.variants import VARIANTS
from rlprobe.recording.run import Batch, Event, Manifest, MemoryFeed, Metadata, Run


class Recording(Protocol):
    """What the lab needs of a recorder; `rlprobe.Recorder` has it."""

    def log_step(self, step: int, metrics: Mapping[str, object], /) -> None:
        """Record numbers of a step."""

    def log_samples(self, step: int, rows: Sequence[Mapping[str, object]], /) -> None:
        """Record samples of a step."""

    def log_event(self, kind: str, step: int | None = None, **fields: object) -> None:
        """Record something that happened."""

    def close(self) -> object:
        """End the recording."""


class UnknownName(ValueError):
    """There is no fault or variant of that name; the message lists those that there are."""


def faults() -> tuple[Fault, ...]:
    """Every fault."""
    return FAULTS


def variants() -> tuple[Variant, ...]:
    """Every healthy variant."""
    return VARIANTS


def find(name: str) -> Fault | Variant:
    """The fault or variant of a name.

    Raises:
        UnknownName: there is none.
    """
    known: dict[str, Fault | Variant] = {fault.name: fault for fault in FAULTS}
    known |= {variant.name: variant for variant in VARIANTS}
    if name not in known:
        raise UnknownName(
            f"lab: expected the name of a fault or variant, got {name!r}. Use one of: {', '.join(known)}."
        )
    return known[name]


def run_steps(name: str, *, steps: int = 300, seed: int = 0) -> Iterator[Logged]:
    """Train and yield each step as it is logged; the same arguments give the same bits.

    Raises:
        UnknownName: there is no such fault or variant.
        ValueError: steps is below 1.
    """
    entry = find(name)
    if steps < 1:
        raise ValueError(f"lab: expected steps >= 1, got {steps}. Ask for at least one step.")
    if entry.recipe.algorithm == "dpo":
        return preference(entry.recipe, steps=steps, seed=seed)
    return policy_gradient(entry.recipe, steps=steps, seed=seed)


def train(name: str, recorder: "Recording | str | Path", *, steps: int = 300, seed: int = 0) -> None:
    """Train a fault or variant and record it.

    Args:
        name: of `faults()` or `variants()`.
        recorder: a run directory, recorded with `rlprobe.Recorder`, or any object with its methods (not closed).
        steps: training steps.
        seed: decides everything that is random.

    Raises:
        UnknownName: there is no such fault or variant.
    """
    entry = find(name)
    logged = run_steps(name, steps=steps, seed=seed)
    if not isinstance(recorder, (str, Path)):
        for record in logged:
            _write(recorder, record)
        return
    sessions = _sessions(Path(recorder), entry.recipe, entry.recipe.settings(steps=steps, seed=seed))
    current = next(sessions)
    for record in logged:
        if any(occurrence.kind == "resume" for occurrence in record.occurrences):
            current.close()
            current = next(sessions)
        _write(current, record)
    current.close()


def _sessions(directory: Path, recipe: Recipe, settings: Mapping[str, object]) -> Iterator[Recording]:
    """One recorder after the other in the same directory, as a process that is started again opens them."""
    from rlprobe.recorder.recorder import Recorder

    while True:
        yield Recorder(
            directory,
            algorithm=recipe.algorithm,
            framework="rlprobe.lab",
            config=settings,
            settings=settings,
            metadata=_metadata(recipe),
        )


def _metadata(recipe: Recipe) -> dict[str, Metadata]:
    """What the registry leaves open: the KL's estimator."""
    estimated = Metadata(estimator=recipe.kl_estimator, pair="policy/reference", per="token")
    return {} if recipe.algorithm == "dpo" else {"kl_mean": estimated, "kl_max": estimated}


def _write(recorder: Recording, record: Logged) -> None:
    for occurrence in record.occurrences:
        recorder.log_event(occurrence.kind, step=record.step, **occurrence.fields)
    if record.metrics:
        recorder.log_step(record.step, record.metrics)
    recorder.log_samples(record.step, record.samples)


def run_in_memory(name: str, steps: int = 300, seed: int = 0) -> Run:
    """Train a fault or variant and return its run, with the rows that a recording of it would hold.

    Raises:
        UnknownName: there is no such fault or variant.
    """
    recipe = find(name).recipe
    records = list(run_steps(name, steps=steps, seed=seed))
    manifest = Manifest(
        format="recording",
        algorithm=recipe.algorithm,
        framework="rlprobe.lab",
        run_id=f"{name}-{seed}",
        settings=recipe.settings(steps=steps, seed=seed),
        state="closed",
    )
    columns, rows = _sample_columns(records)
    batch = _batch(records, manifest, _metadata(recipe))
    return Run(MemoryFeed(source=f"lab:{name}", batches=[batch], sample_columns=columns, sample_rows=rows))


def _batch(records: Sequence[Logged], manifest: Manifest, metadata: Mapping[str, Metadata]) -> Batch:
    """All steps of a run as one batch."""
    told = [record for record in records if record.metrics]
    resumes = np.cumsum([any(o.kind == "resume" for o in record.occurrences) for record in records], dtype=np.int64)
    segments = [segment for record, segment in zip(records, resumes.tolist(), strict=True) if record.metrics]
    names = dict.fromkeys(name for record in told for name in record.metrics)
    return Batch(
        steps=np.array([record.step for record in told], dtype=np.int64),
        columns={
            name: (
                np.array([record.metrics.get(name, np.nan) for record in told]),
                np.array([name in record.metrics for record in told]),
            )
            for name in names
        },
        segments=np.array(segments, dtype=np.int64),
        events=tuple(
            Event(kind=occurrence.kind, step=record.step, fields=occurrence.fields)
            for record in records
            for occurrence in record.occurrences
        ),
        manifest=manifest,
        metadata=metadata,
    )


def _sample_columns(records: Sequence[Logged]) -> tuple[dict[str, object], int]:
    """Sample rows as columns: numbers as arrays with NaN for what is absent, everything else as lists."""
    rows = [{"step": record.step, **row} for record in records for row in record.samples]
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, object] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        if all(isinstance(value, bool) for value in values):
            columns[name] = np.array(values, dtype=bool)
        elif all(isinstance(value, int) for value in values):
            columns[name] = np.array(values, dtype=np.int64)
        elif all(value is None or isinstance(value, (int, float)) for value in values):
            columns[name] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        else:
            columns[name] = values
    return columns, len(rows)
