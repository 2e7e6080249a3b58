"""The text that the reward function saw is not the text that was generated."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

SIGNATURE = Signature(
    id="REWARD_TEXT_MISMATCH",
    stage="reward",
    severity="warning",
    arm="exact",
    requires=("reward_text_mismatch_fraction",),
    helps=("empty_fraction", "reward_mean"),
    shows=("reward_text_mismatch_fraction", "empty_fraction", "reward_mean"),
    minimum_rows=3,
    thresholds=(
        Threshold(
            "some",
            0.02,
            "fraction of samples",
            "fewer are texts that do not survive decoding, such as a cut character",
            high=1.0,
        ),
        Threshold(
            "most",
            0.5,
            "fraction of samples",
            "above it the reward is about other texts than the policy wrote",
            high=1.0,
        ),
        Threshold("rows", 3, "rows", "so that one odd batch is not a wiring fault", low=1),
    ),
    aliases=("DECODE_BLANKS",),
    title="The reward sees other text than was generated",
    explanation="For {mismatch} % of the samples the reward function received another text than the decoded completion: it scores "
    "what the policy did not write.",
    record="Compare the text handed to the reward function with the decoded completion, and log reward_text_mismatch_fraction.",
    remedies=(
        Advice(text="Print five pairs of generated and scored text with visible white space."),
        Advice(
            text="Check special tokens, stripping, a chat template applied twice, and an index that shifts samples."
        ),
        Advice(text="Decode once, and hand the same string to the reward function and to the log."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when the two texts differ for more samples than decoding explains, in several rows."""
    mismatch = rows.series("reward_text_mismatch_fraction")
    differ = mismatch.fresh & (mismatch.values > rows.limit("some"))
    wrong = differ & (rows.count("differ", differ) >= rows.limit("rows"))
    return Judgement(
        fires=wrong,
        log_evidence=rows.exact(wrong),
        critical=wrong & (mismatch.values > rows.limit("most")),
        since=rows.streak("since", differ, mismatch.fresh),
        facts={"mismatch": 100 * np.nan_to_num(mismatch.values)},
    )
