"""The reward jumps while the policy is quiet: the scale, the judge or the data changed, not the answers."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Calm, Judgement, Signature, Threshold
from rlprobe.doctor.silence import spread, standardised
from rlprobe.recording.run import BoolArray, FloatArray

NEW, OLD = 5, 10  # rows after the jump and as many just before it; rows that show how calm it was until then
FIRST = 30  # rows before anything is said
SAME_RANGE = 0.05  # of the range of rewards, by which its ends may move
LIKE_RIGHT_AND_WRONG = 1.5  # factor between the spread and that of rewards at either end of the range, same mean
SAME_FACTOR = 1.2  # factor between the changes of mean and spread, when both come from one change of unit
KL_ROOM = 2.5  # of the room of entropy and length; KL is noisier

SIGNATURE = Signature(
    id="REWARD_SCALE_SHIFT",
    stage="reward",
    severity="warning",
    arm="jump",
    requires=(
        "reward_mean",
        "reward_std_batch|reward_std_group_mean|reward_max",
        "entropy_mean|completion_tokens_mean",
    ),
    helps=("kl_mean",),
    shows=("reward_mean", "reward_std_batch", "reward_std_group_mean", "entropy_mean", "completion_tokens_mean"),
    minimum_rows=FIRST,
    lasting=True,
    thresholds=(
        Threshold("jump", 6.0, "standard errors", "between the last 5 rows and the 5 before them"),
        Threshold(
            "spread",
            1.6,
            "ratio of spreads",
            "a change of scale moves the spread with the mean, a change of policy seldom this fast",
            low=1.0,
        ),
        Threshold("quiet", 0.2, "fraction", "by which entropy and length may have moved meanwhile"),
        Threshold(
            "drift", 0.25, "fraction of the jump", "that the rows before may drift; a ramp is learning", high=1.0
        ),
        Threshold("rows", 3, "rows in a row", "that must agree", low=1),
    ),
    aliases=("SCALE_DRIFT",),
    title="The reward changed its scale",
    explanation="Reward went from {old} to {new} within five rows and its spread by a factor of {factor}, while entropy and length stayed where they were: "
    "what changed is how answers are scored.",
    calm=Calm(
        "The prompts or the unit of the reward changed",
        "Reward went from {old} to {new} within five rows and its spread by a factor of {factor}, as it does when prompts "
        "become harder or easier or when every reward is multiplied by one number; entropy and length stayed where they were.",
    ),
    record="Log reward_std_batch and entropy_mean beside reward_mean.",
    remedies=(
        Advice(text="Compare versions and settings of the judge or reward model before and after the onset."),
        Advice(text="Score the same saved completions with both, and put them on one scale."),
        Advice(text="Do not compare rewards across the onset; compare a held-out score."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when mean and spread of the reward step together, from a calm course, and nothing of the policy does."""
    reward, width = rows.series("reward_mean"), spread(rows)
    noise = rows.change("reward_mean").noise
    new, mid, old = _around(rows, "reward", reward.values, reward.fresh)
    z = np.abs(new - mid) / np.maximum(noise * np.sqrt(2 / NEW), 1e-12)
    abrupt = np.abs(mid - old) <= rows.limit("drift") * np.abs(new - mid)
    after, before, _ = _around(rows, "spread", width.values, width.fresh)
    factor = after / np.maximum(before, 1e-12)
    scaled = np.fmax(factor, 1 / np.maximum(factor, 1e-12)) >= rows.limit("spread")
    stepped = (z >= rows.limit("jump")) & abrupt & scaled & (after > 0) & (before > 0) & _quiet(rows)
    stepped &= rows.observations("reward_mean") >= FIRST
    agreed = rows.recent("agreed", stepped, reward.fresh, width=int(rows.limit("rows"))) >= 1.0
    return Judgement(
        fires=agreed,
        log_evidence=np.where(stepped, z * z / 2, -np.inf),
        explained=_other_task(rows, new, mid, factor) | _other_unit(rows, new, mid, factor),
        facts={"old": mid, "new": new, "factor": factor},
    )


def _around(rows: Rows, key: str, x: FloatArray, fresh: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n,) mean of the newest rows, of the rows before them, and of the longer stretch before those."""
    new = rows.recent(f"new {key}", x, fresh, width=NEW)
    mid = rows.earlier(f"mid {key}", new, fresh, lag=NEW)
    return new, mid, rows.earlier(f"old {key}", rows.recent(f"all {key}", x, fresh, width=OLD), fresh, lag=2 * NEW)


def _other_task(rows: Rows, new: FloatArray, old: FloatArray, factor: FloatArray) -> BoolArray:
    """(n,) whether rewards keep their range and their spread follows the mean, as right and wrong answers do."""
    fresh = rows.series("reward_mean").fresh
    low, high = rows.lowest("reward_min"), rows.highest("reward_max")
    bounds = np.where(np.isnan(low + high), 0.0, low), np.where(np.isnan(low + high), 1.0, high)
    then = [rows.earlier(f"bound {i}", bound, fresh, lag=NEW) for i, bound in enumerate(bounds)]
    room = SAME_RANGE * (then[1] - then[0])
    kept = (bounds[0] >= then[0] - room) & (bounds[1] <= then[1] + room)
    kept &= (np.fmin(new, old) >= bounds[0]) & (np.fmax(new, old) <= bounds[1])
    there, before = ((level - bounds[0]) * (bounds[1] - level) for level in (new, old))
    expected = np.sqrt(np.maximum(there, 0.0) / np.maximum(before, 1e-12))
    return kept & (factor <= LIKE_RIGHT_AND_WRONG * expected) & (expected <= LIKE_RIGHT_AND_WRONG * factor)


def _other_unit(rows: Rows, new: FloatArray, old: FloatArray, factor: FloatArray) -> BoolArray:
    """(n,) whether every reward was multiplied by one number, which advantages in units of their group do not notice."""
    ratio = new / np.where(old == 0, np.nan, old)
    same = (factor <= SAME_FACTOR * ratio) & (ratio <= SAME_FACTOR * factor)
    return same & standardised(rows)


def _quiet(rows: Rows) -> BoolArray:
    """(n,) whether entropy, length, format and KL are where they were, and entropy or length is known."""
    known, still = np.zeros(len(rows), dtype=bool), np.ones(len(rows), dtype=bool)
    for name, room in (
        ("entropy_mean", 1.0),
        ("completion_tokens_mean", 1.0),
        ("format_fraction", 1.0),
        ("kl_mean", KL_ROOM),
    ):
        series = rows.series(name)
        new, mid, _ = _around(rows, name, series.values, series.fresh)
        known |= np.isfinite(mid) & rows.measured(name) & (name in ("entropy_mean", "completion_tokens_mean"))
        still &= ~(np.abs(new - mid) > room * rows.limit("quiet") * np.abs(mid))
    return known & still
