"""Which samples stand behind a finding: those in which its metric shows most, from before the onset and after it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rlprobe.doctor.finding import Finding
from rlprobe.recording.run import BoolArray, FloatArray, IntArray, Run, Samples
from rlprobe.reports.html.dossier import Exhibit, Sample, SamplesFound
from rlprobe.reports.html.sampling import sample_of

MOST_EXHIBITS = 8
EACH = 2  # samples on either side of an exhibit
PROMPTS_WITHOUT_ID = 50_000  # sample rows up to which prompts are compared as texts where no id is recorded
EARLY = 0.2  # fraction of the sampled steps that is early where a finding holds from the start
_COLUMNS = (  # a metric that begins so -> the sample column that shows it
    ("completion_tokens", "completion_tokens"),
    ("length_reward", "completion_tokens"),
    ("terminated_tokens", "completion_tokens"),
    ("truncated", "completion_tokens"),
    ("empty_fraction", "completion_tokens"),
    ("repetition", "repetition"),
    ("entropy", "entropy"),
    ("kl_", "kl"),
    ("advantage", "advantage"),
    ("ratio", "ratio_mean"),
    ("clip", "clip_fraction"),
    ("logprob", "logprob"),
    ("reward", "reward"),
    ("accuracy", "reward"),
    ("evaluation", "reward"),
    ("format", "reward"),
)
_NAMES = tuple(dict.fromkeys(column for _, column in _COLUMNS))
NO_PLACE = -1


@dataclass(slots=True)
class _Index:
    """Every sample row by what is needed to choose: step, place in its step, prompt, and the numbers.

    Attributes:
        steps: (n,) step of each row, ascending.
        places: (n,) place of the row among the rows of its step.
        prompts: (n,) an equal number for an equal prompt, NO_PLACE where it is not known.
        numbers: column -> (n,) values.
        read: step -> its whole rows, once they were asked for.
    """

    steps: IntArray
    places: IntArray
    prompts: IntArray
    numbers: Mapping[str, FloatArray]
    read: dict[int, Samples] = field(default_factory=dict)


def samples_found(run: Run, findings: Sequence[Finding]) -> SamplesFound:
    """The exhibits of the findings in reading order, equal ones once; one over the whole run where none has any."""
    index = _index(run)
    if index is None:
        return SamplesFound()
    exhibits: dict[tuple[object, ...], Exhibit] = {}
    asking = [(place, one) for place, one in enumerate(findings) if one.severity != "info"]
    for place, finding in asking:
        found = _exhibit(run, index, finding, place)
        key = tuple((one.step, one.sample) for one in (*found.early, *found.late))
        earlier = exhibits.get(key)
        together = (*(earlier.findings if earlier else ()), place)
        if earlier is not None or len(exhibits) < MOST_EXHIBITS:
            exhibits[key] = _with_findings(earlier or found, together)
    if not asking:
        exhibits[()] = _over_the_run(run, index)
    steps = len(np.unique(index.steps))
    return SamplesFound(rows=len(index.steps), steps=steps, exhibits=tuple(exhibits.values()))


def _with_findings(exhibit: Exhibit, findings: tuple[int, ...]) -> Exhibit:
    return Exhibit(
        findings=findings,
        column=exhibit.column,
        same_prompt=exhibit.same_prompt,
        early=exhibit.early,
        late=exhibit.late,
    )


def _index(run: Run) -> _Index | None:
    found = run.samples(columns=("step", "prompt_id", *_NAMES))
    if not len(found) or "step" not in found.columns:
        return None
    steps = np.asarray(found.columns["step"], dtype=np.int64)
    order = np.argsort(steps, kind="stable")
    steps = steps[order]
    starts = np.searchsorted(steps, steps)
    prompts = _prompts(run, found)
    numbers = {name: numbers_of(found.columns[name])[order] for name in _NAMES if name in found.columns}
    return _Index(steps=steps, places=np.arange(len(steps)) - starts, prompts=prompts[order], numbers=numbers)


def _prompts(run: Run, found: Samples) -> IntArray:
    texts = found.columns.get("prompt_id")
    if texts is None and len(found) <= PROMPTS_WITHOUT_ID:
        texts = run.samples(columns=("prompt",)).columns.get("prompt")
    if not isinstance(texts, list) or len(texts) != len(found):
        return np.full(len(found), NO_PLACE)
    known: dict[object, int] = {}
    return np.array([NO_PLACE if text is None else known.setdefault(text, len(known)) for text in texts])


def numbers_of(column: object) -> FloatArray:
    """A sample column as floats, NaN where it holds no number."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        return column.astype(np.float64)
    values = column if isinstance(column, Iterable) else ()
    return np.array([float(one) if isinstance(one, int | float) else np.nan for one in values])


def _exhibit(run: Run, index: _Index, finding: Finding, place: int) -> Exhibit:
    column, up = _column(index, finding)
    late = _late(index, finding)
    early = index.steps < finding.onset_interval[0]
    if not early.any():
        distinct = np.unique(index.steps)
        early = index.steps <= distinct[int(EARLY * (len(distinct) - 1))]
    early = early & ~late
    rows = _same_prompt(index, early, late, column, up=up) or _different(index, early, late, column, up=up)
    return Exhibit(
        findings=(place,),
        column=column,
        same_prompt=rows.same_prompt,
        early=_samples(run, index, rows.early),
        late=_samples(run, index, rows.late),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    early: list[int]
    late: list[int]
    same_prompt: bool


def _column(index: _Index, finding: Finding) -> tuple[str, bool]:
    """The sample column that shows the finding's first metric that has one, and whether it rose there."""
    for entry in finding.evidence:
        for prefix, column in _COLUMNS:
            if entry.metric.startswith(prefix) and np.isfinite(index.numbers.get(column, np.empty(0))).any():
                rose = entry.before is None or entry.after is None or entry.after >= entry.before
                return column, rose and not entry.metric.startswith("empty")
    return "", True


def _late(index: _Index, finding: Finding) -> BoolArray:
    """Rows from the detection to the recovery; where there are none, from the onset on; then the last step's."""
    stop = np.inf if finding.recovered_step is None else finding.recovered_step
    for start in (finding.detected_step, finding.onset_step):
        late: BoolArray = (index.steps >= start) & (index.steps <= stop)
        if late.any():
            return late
    last: BoolArray = index.steps == index.steps[-1]
    return last


def _same_prompt(index: _Index, early: BoolArray, late: BoolArray, column: str, *, up: bool) -> _Rows | None:
    """The prompt, seen early and late, in whose samples the column moved most; None where none was seen twice."""
    known = index.prompts != NO_PLACE
    shared = np.intersect1d(index.prompts[early & known], index.prompts[late & known])
    if not len(shared):
        return None
    size = int(index.prompts.max()) + 1
    values = index.numbers.get(column)
    chosen = int(shared[0])
    if values is not None:
        moved = _means(index.prompts, values, late & known, size) - _means(index.prompts, values, early & known, size)
        moved = np.where(np.isfinite(moved[shared]), moved[shared] if up else -moved[shared], -np.inf)
        chosen = int(shared[int(np.argmax(moved))])
    mine = index.prompts == chosen
    return _Rows(
        early=np.flatnonzero(early & mine)[:EACH].tolist(),
        late=np.flatnonzero(late & mine)[-EACH:].tolist(),
        same_prompt=True,
    )


def _means(prompts: IntArray, values: FloatArray, rows: BoolArray, size: int) -> FloatArray:
    """(size,) mean value of each prompt over the rows, NaN where it has none."""
    rows = rows & np.isfinite(values)
    counts = np.bincount(prompts[rows], minlength=size)
    sums = np.bincount(prompts[rows], weights=values[rows], minlength=size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _different(index: _Index, early: BoolArray, late: BoolArray, column: str, *, up: bool) -> _Rows:
    """Typical early samples against the late ones in which the column stands out most."""
    values = index.numbers.get(column)
    first, last = np.flatnonzero(early), np.flatnonzero(late)
    if values is not None:
        last = last[np.argsort(-values[last] if up else values[last], kind="stable")]
        if len(first):
            middle = np.nanmedian(values[first]) if np.isfinite(values[first]).any() else 0.0
            first = first[np.argsort(np.abs(values[first] - middle), kind="stable")]
    else:
        last = last[::-1]
    return _Rows(early=sorted(first[:EACH].tolist()), late=sorted(last[:EACH].tolist()), same_prompt=False)


def _over_the_run(run: Run, index: _Index) -> Exhibit:
    """The run's beginning against its end, for a run without a finding that asks for samples."""
    distinct = np.unique(index.steps)
    cut = int(EARLY * (len(distinct) - 1))
    early, late = index.steps <= distinct[cut], index.steps >= distinct[len(distinct) - 1 - cut]
    if len(distinct) == 1:
        early = np.zeros_like(early)
    column = "reward" if "reward" in index.numbers else ""
    rows = _same_prompt(index, early, late, column, up=True) or _different(index, early, late, "", up=True)
    return Exhibit(
        findings=(),
        column=column if rows.same_prompt else "",
        same_prompt=rows.same_prompt,
        early=_samples(run, index, rows.early),
        late=_samples(run, index, rows.late),
    )


def _samples(run: Run, index: _Index, rows: list[int]) -> tuple[Sample, ...]:
    out = []
    for row in rows:
        step, place = int(index.steps[row]), int(index.places[row])
        if step not in index.read:
            index.read[step] = run.samples(step=step)
        if place < len(index.read[step]):  # a live run's step may have been replaced since
            out.append(sample_of(index.read[step], step, place))
    return tuple(out)
