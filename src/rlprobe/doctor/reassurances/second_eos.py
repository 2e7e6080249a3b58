"""Nearly every completion counts as cut, yet none reaches the cap: the model ends with a token the trainer ignores."""

from rlprobe.doctor.derived import truncation
from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows

WINDOW = 15  # rows that "now" is
ROWS = 5  # rows before anything is said
CUT = 0.6  # fraction that counts as cut
FAR = 0.7  # of the cap: a mean length below it cannot be that of completions that are cut at the cap

NORMAL = Normal(
    id="SECOND_EOS",
    title="Completions end; the trainer misses their end token",
    worry="The fraction of truncated completions is close to one.",
    asks="The length cap is known, the mean length is far below it, and lengths differ from each other.",
    explanation=(
        "{cut} % count as cut at {cap} tokens, but the mean length is {length}: completions of many lengths end by "
        "themselves with another end token than the one the trainer looks for. Where truncated completions are left out "
        "of the loss, name every end token to the trainer."
    ),
    requires=("truncated_fraction", "completion_tokens_mean"),
    shows=("truncated_fraction", "completion_tokens_mean", "completion_tokens_min", "completion_tokens_max"),
    unless=("NO_EOS", "TRUNCATION_STARVE", "LENGTH_EXPLOSION", "REPETITION_SPIRAL"),
    weight=9,
)


def judge(rows: Rows) -> Normality:
    """Holds while far more completions count as cut than their lengths allow."""
    cut = truncation(rows)
    share, length = rows.mean("truncated_fraction", WINDOW), rows.mean("completion_tokens_mean", WINDOW)
    shortest, longest = rows.mean("completion_tokens_min", WINDOW), rows.mean("completion_tokens_max", WINDOW)
    differ = (shortest < longest) | (rows.change("completion_tokens_mean", minimum=ROWS).noise > 0)
    impossible = length < FAR * share * cut.cap  # the cut ones alone would make a longer mean
    return Normality(
        holds=(share >= CUT) & impossible & differ & (rows.observations("truncated_fraction") >= ROWS),
        facts={"cut": 100 * share, "cap": cut.cap, "length": length},
    )
