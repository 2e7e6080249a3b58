"""An easy reward function is saturated while the hard one does not move or is traded away: the task is not learned."""

import re

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import spread
from rlprobe.recording.run import BoolArray

FAMILY = "reward_component_mean"
START = 15  # rows that the starting spread is the mean of, and the newest
TRADED_ROWS = 30  # rows at its ceiling that the easy function needs where the answers get worse meanwhile
ANSWERS = re.compile(r"correct|accura|answer|equation|number|solv|solution|success|verif|outcome", re.IGNORECASE)
MANNERS = re.compile(r"form|xml|tag|think|brev|style|length|strict|soft", re.IGNORECASE)
NEARLY = 0.9  # fraction of those rows; a dip is no end of it

SIGNATURE = Signature(
    id="FORMAT_GAMING",
    stage="reward",
    severity="warning",
    arm="trend",
    requires=("reward_component_mean/", "reward_std_batch|reward_std_group_mean|reward_max"),
    helps=("accuracy_fraction", "format_fraction", "reward_component_std/"),
    shows=("reward_component_mean/{subject}", "accuracy_fraction", "reward_mean"),
    minimum_rows=100,
    thresholds=(
        Threshold(
            "full",
            0.8,
            "of the easy function's range so far",
            "it has nothing left to give; a half-learned format of a public run that went on stood at 0.4",
        ),
        Threshold(
            "rows",
            100,
            "rows",
            "saturated for so long; one public run stood like this for 60 rows and then solved its task",
        ),
        Threshold("gain", 2.0, "standard errors", "a hard function that rose by less since the start has not moved"),
        Threshold("spread", 0.55, "fraction of the starting spread", "as above, for logs without groups", high=1.0),
        Threshold(
            "lost",
            0.4,
            "of the starting level",
            "a function that scores the answers and lost this much, while the reward did not fall, was traded away",
            high=1.0,
        ),
        Threshold("fall", 6.0, "standard errors", "between the best block of rows of such a function and the newest"),
        Threshold(
            "solved",
            0.5,
            "of the hard function's range so far",
            "above it the hard function is good, not stalled",
            high=1.0,
        ),
    ),
    title="Only the easy reward function is learned",
    explanation="The reward function {subject} has been at its ceiling for {rows} rows, and a harder one has not gained since the start "
    "({change} standard errors): the policy collects what is easy, and not what the task asks for.",
    record="Log every reward function's mean as reward_component_mean/NAME, and accuracy_fraction.",
    remedies=(
        Advice(text="Pay the easy part only together with the hard one: multiply instead of adding."),
        Advice(text="Lower the easy function's weight once it is learned."),
        Advice(text="Give partial credit on the hard part, or begin with easier prompts, so that groups differ in it."),
        Advice(text="Sample larger groups.", setting="group_size", scale=2.0),
    ),
)


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """One judgement a reward function that can be the easy one."""
    members = [f"{FAMILY}/{name}" for name in rows.members(FAMILY)]
    spent = _spent(rows)
    return tuple(_one(rows, name, members, spent) for name in members)


def _one(rows: Rows, easy: str, members: list[str], spent: BoolArray) -> Judgement:
    series, count = rows.series(easy), rows.observations(easy)
    low, high = rows.lowest(easy), rows.highest(easy)
    risen = rows.change(easy).z >= 2 * rows.limit("gain")
    ceiling = (high > low) & (rows.mean(easy, 20) >= low + rows.limit("full") * (high - low))
    width = int(rows.limit("rows"))
    full = rows.recent(f"full {easy}", ceiling, series.fresh, width=width) >= NEARLY
    hard = [name for name in (*members, "accuracy_fraction") if name != easy]
    stalled, unmoved, traded = (np.zeros(len(rows), dtype=bool) for _ in range(3))
    worst = np.full(len(rows), np.nan)
    for name in hard:
        stalled |= _stalled(rows, name)
        unmoved |= rows.change(name).z < 2 * rows.limit("gain")
        traded |= _traded(rows, easy, name)
        worst = np.fmin(worst, rows.change(name).z)
    gamed = full & (count >= width) & stalled & spent
    gamed |= (rows.recent(f"there {easy}", ceiling, series.fresh, width=TRADED_ROWS) >= NEARLY) & traded
    evidence = rows.level(f"gamed {easy}", ceiling & (stalled | traded), series.fresh)
    since = rows.streak(f"since {easy}", ceiling, series.fresh, gap=5)
    return Judgement(
        fires=gamed & risen & ~_learning(rows) & (evidence >= rows.alarm),
        holds=ceiling & unmoved & ~_learning(rows),
        log_evidence=evidence,
        since=since,
        subject=easy.split("/", 1)[1],
        facts={"rows": np.maximum(rows.index - since, 0).astype(np.float64), "change": worst},
    )


def _traded(rows: Rows, easy: str, hard: str) -> BoolArray:
    """(n,) whether a function that scores the answers has fallen, and the reward has not: the easy one paid for it."""
    if _scores_answers(easy) or not _scores_answers(hard):
        return np.zeros(len(rows), dtype=bool)
    answers, gained = rows.change(hard), rows.change(easy)
    paid = ~(rows.change("reward_mean").z < 0) & (gained.late > gained.early)
    lost = (rows.fall(hard).z >= rows.limit("fall")) & (
        answers.early - answers.late >= rows.limit("lost") * np.abs(answers.early)
    )
    return rows.recent(f"lost {easy} {hard}", lost & paid, rows.series(hard).fresh, width=TRADED_ROWS) >= NEARLY


def _scores_answers(name: str) -> bool:
    """Whether a reward function's name says that it looks at the answer and not at its form."""
    return ANSWERS.search(name) is not None and MANNERS.search(name.split("/")[-1]) is None


def _stalled(rows: Rows, name: str) -> BoolArray:
    """(n,) whether a reward function varies, stands where it began, and is far from its best.

    One that has fallen, from its start or from what it had gained, was lost and not passed over.
    """
    change, low, high = rows.change(name), rows.lowest(name), rows.highest(name)
    good = change.late >= low + rows.limit("solved") * (high - low)
    lost = (change.z < -2 * rows.limit("gain")) | (rows.fall(name).z > 3 * rows.limit("gain"))
    return (high > low) & (change.z < rows.limit("gain")) & ~good & ~lost


def _learning(rows: Rows) -> BoolArray:
    """(n,) whether the fraction of right answers, where it is logged, has risen."""
    return rows.change("accuracy_fraction").z >= rows.limit("gain")


def _spent(rows: Rows) -> BoolArray:
    """(n,) whether little spread is left: with a hard function that still tells answers apart there would be more."""
    within = spread(rows)
    early = within.fresh & (rows.count("early", within.fresh) <= START)
    start = rows.recent("start", within.values, early, width=START)
    return rows.recent("late", within.values, within.fresh, width=2 * START) <= rows.limit("spread") * start
