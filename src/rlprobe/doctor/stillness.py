"""Whether the policy stood still while its reward moved: then the task or its scoring changed, and not the answers.

A reward falls for two reasons. Where the policy is damaged, its text changes with the reward: entropy, length, the
distance from the reference, format or gradients leave their course. Where only the prompts or the scoring change,
they stay, or step once in the very row in which the reward does, and the distance from the reference does not.
"""

from dataclasses import dataclass

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.silence import spread
from rlprobe.recording.run import BoolArray, FloatArray

LEVEL = 5  # observations that a level is the median of
LAG = 30  # observations between the two levels that are compared
LATCH = 60  # rows for which a movement is remembered
SIDE = 5  # rows on either side of a step of the reward, each of which lies on its own side
GAP = 0.25  # of the step's height: least distance of the two sides, which noise alone does not leave
DRIFT = 0.35  # of the step's height, by which the reward may go astray in the rows before it: a ramp is no step
ALIVE = 0.03  # of the widest spread of rewards: with less of it the reward is dead and not another one
MOST = 1000  # steps of the reward that are added up
KEPT = 0.3  # of the level after a step, by which the reward may lie below it
NOISE = 3.0  # standard deviations of one row by which it may do so as well


@dataclass(frozen=True, slots=True)
class _Course:
    """How far a positive metric goes by itself, as factors: in LAG rows, over the whole run, with other prompts."""

    metric: str
    rises: float
    falls: float
    high: float
    low: float
    steps: float


# Healthy public runs, 5th to 95th percentile of last level over first: entropy 0.26 to 1.6, length 0.27 to 1.19.
_COURSES = (
    _Course("entropy_mean", 1.3, 0.6, 1.4, 0.15, 3.0),
    _Course("completion_tokens_mean", 1.4, 0.7, 1.5, 0.5, 1.5),
    _Course("grad_norm", 2.5, 0.0, 4.0, 0.0, 2.5),
    _Course("tool_calls_mean", 10.0, 0.7, 10.0, 0.6, 1.5),
)
_WORSE = (  # fractions, and the sign of the change that damage brings
    ("truncated_fraction", 1.0), ("format_fraction", -1.0), ("clip_fraction", 1.0), ("repetition_fraction", 1.0),
    ("empty_fraction", 1.0),
)  # fmt: skip
_SHIFT = 0.15  # by which a fraction has moved
_KL = _Course("kl_mean", 2.0, 0.0, np.inf, 0.0, 2.0)
_KL_POWER = 1.5  # a distance from the reference grows by itself, at most like this power of the rows
_KL_ROOM = 0.005  # nats/token: nearer to the reference it is near, whatever its course
_UNGAUGED = 1.25  # factor that entropy keeps at a step where no distance from the reference vouches for the policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Steps of the reward, from one row to the next, that the policy had no part in.

    Attributes:
        here: (n,) rows at which such a step was told, SIDE - 1 rows after it.
        before, after: (n,) level of the reward on either side of the newest of them, NaN before there is one.
        total: (n,) how far the reward went down at all of them together; what went up counts negative.
        holds: (n,) whether the reward still is, and not by another fall, where the newest of them left it, or above.
    """

    here: BoolArray
    before: FloatArray
    after: FloatArray
    total: FloatArray
    holds: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """(n,) whether no metric of the policy left its course while rewards go on differing; steps of the reward."""

    still: BoolArray
    steps: Steps


def reward_alone(rows: Rows) -> Alone:
    """What the policy had no part in. Carries state: ask once a signature."""
    alive = _alive(rows)
    return Alone(still=_stands_still(rows) & alive, steps=_steps(rows, alive))


def _stands_still(rows: Rows) -> BoolArray:
    """(n,) whether the policy is seen, by its length and by entropy or KL, and no metric of it has left its course."""
    moved = _away(rows)
    for course in _COURSES:
        moved |= _left(rows, course)
    for name, worse in _WORSE:
        level = rows.smooth(name, LEVEL)
        moved |= worse * (level - _then(rows, name, level)) > _SHIFT
    return _seen(rows) & ~rows.latch("alone: policy moved", moved, width=LATCH)


def _steps(rows: Rows, alive: BoolArray) -> Steps:
    """Where the reward went from one level to another between two rows, and stayed, and the policy did not."""
    reward = rows.series("reward_mean")
    past = [rows.earlier(f"alone: reward {k} ago", reward.values, reward.fresh, lag=k) for k in range(2 * SIDE)]
    new, old = np.array(past[:SIDE]), np.array(past[SIDE:])
    after, before = new.mean(axis=0), old.mean(axis=0)
    down, up = old.min(axis=0) - new.max(axis=0), new.min(axis=0) - old.max(axis=0)
    apart = np.maximum(down, up) >= np.maximum(GAP * np.abs(before - after), 1e-12)
    drift = np.abs(rows.earlier("alone: older", before, reward.fresh, lag=SIDE) - before)
    here = reward.fresh & apart & (drift <= DRIFT * np.abs(before - after)) & alive & _unmoved(rows)
    at, since = rows.earlier("alone: after", after, here, lag=0), rows.count("alone: steps", here)
    mean = rows.recent("alone: heights", before - after, here, width=MOST)
    # What has fallen further since has fallen by something else.
    noise = np.sqrt(rows.recent("alone: noise", (past[0] - past[1]) ** 2 / 2.0, reward.fresh, width=LAG))
    room = np.maximum(KEPT * np.abs(at), NOISE * noise)
    return Steps(
        here=here,
        before=rows.earlier("alone: before", before, here, lag=0),
        after=at,
        total=np.where(since > 0, since * mean, 0.0),
        holds=(since > 0) & (rows.smooth("reward_mean") >= at - room),
    )


def _seen(rows: Rows) -> BoolArray:
    """(n,) whether length, and entropy or KL, are logged by that row and no placeholder."""
    inner = rows.measured("entropy_mean") | rows.measured("kl_mean")
    return rows.measured("completion_tokens_mean") & inner


def _left(rows: Rows, course: _Course) -> BoolArray:
    """(n,) whether a metric went further than by itself, lately or since the start."""
    level, change = rows.smooth(course.metric, LEVEL), rows.change(course.metric)
    then = _then(rows, course.metric, level)
    lately = (level > course.rises * then) | (level < course.falls * then)
    since = (change.late > course.high * change.early) | (change.late < course.low * change.early)
    return (then > 0) & lately | (change.early > 0) & since


def _away(rows: Rows) -> BoolArray:
    """(n,) whether the distance from the reference has grown faster than training makes it grow."""
    level, count = np.abs(rows.smooth("kl_mean", LEVEL)), rows.observations("kl_mean")
    then = np.abs(_then(rows, "kl_mean", level))
    usual = (count / np.maximum(count - LAG, 1.0)) ** _KL_POWER
    return (level > _KL_ROOM) & (level > _KL.rises * usual * then)


def _then(rows: Rows, name: str, level: FloatArray) -> FloatArray:
    return rows.earlier(f"alone: then {name}", level, rows.series(name).fresh, lag=LAG)


def _alive(rows: Rows) -> BoolArray:
    """(n,) whether rewards still differ: by their spread, or from row to row where no spread is logged."""
    width, reward = spread(rows), rows.series("reward_mean")
    now = rows.recent("alone: spread", width.values, width.fresh, width=SIDE)
    mean = rows.recent("alone: level", reward.values, reward.fresh, width=SIDE)
    varies = reward.values != mean
    return np.where(np.isnan(now), varies, now > ALIVE * rows.carried_max("alone: widest", now))


def _unmoved(rows: Rows) -> BoolArray:
    """(n,) whether the policy is seen, and is within the same rows what it was before them, as far as prompts allow."""
    still, gauged = _seen(rows), rows.measured("kl_mean")
    for course in (*_COURSES, _KL):
        series = rows.series(course.metric)
        after, before = _sides(rows, course.metric, np.abs(series.values), series.fresh)
        most = np.where(gauged | (course.metric != "entropy_mean"), course.steps, _UNGAUGED)
        near = (course is _KL) & (np.fmax(after, before) < _KL_ROOM)
        still &= near | ~((after > most * before) | (before > most * after))
    for name, worse in _WORSE:
        series = rows.series(name)
        after, before = _sides(rows, name, series.values, series.fresh)
        still &= ~(worse * (after - before) > _SHIFT)
    return still


def _sides(rows: Rows, key: str, x: FloatArray, fresh: BoolArray) -> tuple[FloatArray, FloatArray]:
    """(n,) means of the newest SIDE rows and of those before them."""
    after = rows.recent(f"alone: side {key}", x, fresh, width=SIDE)
    return after, rows.earlier(f"alone: other side {key}", after, fresh, lag=SIDE)
