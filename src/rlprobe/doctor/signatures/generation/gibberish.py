"""Text turns to noise: letters of scripts that the prompts do not use fill the completions."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

SIGNATURE = Signature(
    id="GIBBERISH",
    stage="generation",
    severity="warning",
    arm="level",
    requires=("foreign_script_fraction",),
    helps=("entropy_mean", "reward_mean"),
    shows=("foreign_script_fraction", "entropy_mean", "reward_mean"),
    thresholds=(
        Threshold(
            "foreign", 0.15, "fraction of letters",
            "in scripts that the prompts do not use; healthy lab runs stay below 0.05 over five rows", 0, 1,
        ),
        Threshold("times", 3.0, "times the start level", "a task whose answers are in another script has a high start", 1),
        Threshold("loss", 3.0, "standard errors", "reward below its start by more than this makes it critical"),
    ),
    title="Text drifts into foreign scripts",
    explanation="Of the letters {foreign} % belong to scripts that the prompts do not use; at the start it was {start} %.",
    record="Log the fraction of letters in scripts that the prompts do not use as foreign_script_fraction.",
    remedies=(
        Advice(text="Compare sampler and trainer log-probs of the same tokens: broken text from the first steps is an engine fault."),
        Advice(text="Read the highest-scored completions: if another language is paid, mend the reward or add a language reward."),
        Advice(text="Lower the entropy bonus.", setting="entropy_coefficient", suggested="0", only_above=0.0),
        Advice(text="Roll back to before the onset and raise the KL coefficient.", setting="kl_coefficient", scale=3.0),
    ),
    aliases=("GENERATION_CORRUPT", "LANGUAGE_MIX"),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when foreign letters have settled far above their start; from the start when they outnumber the others."""
    foreign, level = rows.series("foreign_script_fraction"), rows.smooth("foreign_script_fraction")
    start = rows.baseline("foreign_script_fraction", 10).level
    bar = np.maximum(rows.limit("foreign"), np.minimum(rows.limit("times") * start, (1 + start) / 2))
    evidence = rows.level("foreign", foreign.values > bar, foreign.fresh)
    return Judgement(
        fires=(evidence >= rows.alarm) & (level > bar),
        holds=level > 0.6 * bar,
        critical=(level > bar) & (rows.change("reward_mean").z < -rows.limit("loss")),
        log_evidence=evidence,
        facts={"foreign": 100 * level, "start": 100 * start},
    )
