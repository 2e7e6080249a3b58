"""Every column that a reward function asks for is a column of the data set."""

import difflib

from rlprobe.verifier.binding import COLUMN
from rlprobe.verifier.measure.reading import keyword_access
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.rewarding import ALWAYS, NOT_COLUMNS, Reward, rewards
from rlprobe.verifier.subject import Subject

PROVIDED = frozenset((*ALWAYS, "trainer_state", "log_extra", "log_metric", "environments", "step", "model"))
CHECK = Check(
    id="V110",
    title="the columns that rewards ask for exist",
    formula="columns asked for ⊆ columns of the data set",
    stage="reward",
    category="configuration",
    needs=("reward",),
    fix="Name the parameter as the column of the data set is named.",
    causes=("REWARD_CONSTANT", "REWARD_COMPONENT_DEAD"),
)


def run(subject: Subject) -> Outcome:
    """Required parameters and keys read off `**kwargs` against the columns of the first rows."""
    if not subject.pipeline.dataset:
        return not_checkable("no rows of the data set were handed over", missing=("dataset",))
    present = {str(name) for row in subject.pipeline.dataset[:16] for name in row}
    for reward in rewards(subject):
        outcome = _judged(reward, present)
        if outcome is not None:
            return outcome
    return passed()


def _judged(reward: Reward, present: set[str]) -> Outcome | None:
    required = [one.role.removeprefix(COLUMN) for one in reward.binding.bound if one.role.startswith(COLUMN)]
    required += [name for name, needed in keyword_access(reward.target) if needed]
    asked = [name for name, needed in keyword_access(reward.target) if not needed]
    known = present | PROVIDED
    columns = sorted(present - NOT_COLUMNS)
    for name in (*required, *asked):
        if name in known:
            continue
        close = difflib.get_close_matches(name, columns, n=1, cutoff=0.75)
        told = failed if name in required or close else warned
        return told(
            reward.slot,
            f"{reward.name} asks for {name!r}; the data set has {', '.join(columns) or 'no further column'}.",
            expected=close[0] if close else f"one of {', '.join(columns)}",
            got=name,
            example={"column": name},
            fingerprint=f"misspelt {close[0]}" if close else "",
            where=reward.where,
        )
    return None
