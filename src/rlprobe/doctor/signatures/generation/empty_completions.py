"""Tokens were generated and the text is empty: the decoder, or what stands between it and the reward, drops it."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

ALWAYS = 3  # rows in which every text is empty, after which no chance is left

SIGNATURE = Signature(
    id="EMPTY_COMPLETIONS",
    stage="generation",
    severity="critical",
    arm="level",
    requires=("empty_fraction",),
    helps=("completion_tokens_mean",),
    shows=("empty_fraction", "completion_tokens_mean", "reward_mean"),
    minimum_rows=ALWAYS,
    thresholds=(
        Threshold("empty", 0.2, "fraction of completions", "blank over five rows; healthy runs have practically none", 0, 1),
        Threshold(
            "tokens", 2.0, "tokens a blank completion",
            "generated for a text that is blank; fewer means that the policy ends at once, which is a collapse of length",
        ),
    ),
    title="Completions have tokens and no text",
    explanation="Of the texts {blank} % are blank although {tokens} tokens a completion were generated.",
    record="Log the fraction of completions whose text is blank as empty_fraction.",
    remedies=(
        Advice(text="Decode one completion's token ids by hand and compare it with the text that the reward function gets."),
        Advice(text="Check skip_special_tokens, the parser of the answer and the slice that cuts the prompt off."),
        Advice(text="Check that the sampler's vocabulary is the tokenizer's: ids outside it decode to nothing."),
    ),
    aliases=("DECODE_BLANKS",),
    lasting=True,
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires at once when every text is blank, and on evidence when a settled part of them is."""
    empty, level = rows.series("empty_fraction"), rows.smooth("empty_fraction")
    tokens = rows.smooth("completion_tokens_mean")
    wordy = ~(tokens < rows.limit("tokens"))
    blank = (empty.values > rows.limit("empty")) & wordy
    began = rows.streak("blank", blank, empty.fresh, gap=1)
    lasted = np.where(began >= 0, rows.index - began + 1, 0)
    always = (lasted >= ALWAYS) & (level >= 0.999) & wordy
    evidence = np.where(always, np.inf, rows.level("blank rows", blank, empty.fresh))
    settled = (level > rows.limit("empty")) & wordy
    return Judgement(
        fires=(evidence >= rows.alarm) & settled,
        holds=settled,
        log_evidence=evidence,
        since=began,
        facts={"blank": 100 * level, "tokens": tokens},
    )
