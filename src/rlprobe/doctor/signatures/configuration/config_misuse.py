"""Settings that cannot work together, or that another setting makes inert."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray

GROUPED = ("grpo", "rloo", "gspo", "dapo", "dr_grpo")  # algorithms whose baseline is the rest of the group
MASKED = 10  # rows over which nearly everything must have been cut before the mask is said to leave nothing

SIGNATURE = Signature(
    id="CONFIG_MISUSE",
    stage="configuration",
    severity="warning",
    arm="exact",
    requires=(),
    helps=("truncated_fraction",),
    shows=("truncated_fraction", "learning_rate", "reward_mean"),
    minimum_rows=1,
    thresholds=(
        Threshold("greedy", 0.05, "temperature", "at or below it every sample of a group is the most likely one"),
        Threshold("cut", 0.95, "fraction of completions", "cut and left out of the loss: nothing is trained on", 0, 1),
    ),
    title="Settings cannot work together",
    explanation="The configuration of this run has {subject}.",
    record="Hand the trainer's configuration to the recorder, so that it stands in the manifest.",
    remedies=(
        Advice(text="Change the setting that the finding names, and start again: what was trained with it taught little."),
        Advice(text="Sample several completions a prompt.", setting="group_size", suggested="8", only_below=2),
        Advice(text="Set a learning rate.", setting="learning_rate", suggested="1e-6", only_below=1e-12),
        Advice(text="Sample at a temperature near one.", setting="temperature", suggested="1.0", only_below=0.06),
        Advice(text="Make the entropy coefficient zero or positive.", setting="entropy_coefficient", suggested="0", only_below=0),
        Advice(text="Take at least one optimizer pass over a rollout.", setting="updates_per_rollout", suggested="1", only_below=1),
        Advice(text="Sample from the whole distribution while log-probs are compared with the sampler's.", setting="top_p", suggested="1.0", only_below=1),
    ),
    aliases=("CONFIG_LINT",),
    lasting=True,
)  # fmt: skip


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """Fires on every settled setting that defeats another one or training itself; inferred settings are left alone."""
    given = _Given(rows)
    masked = (given.on("mask_truncated")) & _all_cut(rows)
    return (
        _told(rows, "groups of one sample, whose advantage is always zero", lethal=given.algorithm_in(GROUPED) & given.below("group_size", 2)),
        _told(rows, "a learning rate of zero", lethal=given.below("learning_rate", 0, equal=True)),
        _told(rows, "no optimizer pass over a rollout", lethal=given.below("updates_per_rollout", 1)),
        _told(rows, "a warm-up as long as the run", harmful=given.reaches("warmup_steps", "max_steps", least=1.0)),
        _told(rows, "an upper clip range below the lower one", harmful=given.under("clip_high", "clip_low")),
        _told(rows, "sampling without chance, which makes the samples of a group copies", harmful=given.below("temperature", rows.limit("greedy"), equal=True) | given.equals("top_k", 1)),
        _told(rows, "an entropy bonus below zero, which pays for collapse", harmful=given.below("entropy_coefficient", 0)),
        _told(rows, "an importance correction against a sampler that cuts its distribution (top-p or top-k)", harmful=given.on("sampler_correction") & given.cuts_distribution()),
        _told(rows, "a reference that follows the policy without a KL term that would use it", harmful=given.on("sync_reference") & given.equals("kl_coefficient", 0)),
        _told(rows, "a KL term whose reference is the policy itself", harmful=given.above("kl_coefficient", 0) & given.shares_reference()),
        _told(rows, "truncated completions left out of the loss while nearly all are truncated", harmful=masked),
    )  # fmt: skip


class _Given:
    """What is known of the configuration, as one mask a question: all rows or none."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def algorithm_in(self, names: tuple[str, ...]) -> BoolArray:
        return self._mask(holds=self._rows.manifest.algorithm.lower() in names)

    def on(self, name: str) -> BoolArray:
        value = self._rows.setting(name)
        return self._mask(
            holds=value is True or (isinstance(value, str) and value.lower() not in ("", "none", "false"))
        )

    def below(self, name: str, bound: float, *, equal: bool = False) -> BoolArray:
        value = self._number(name)
        return self._mask(holds=value < bound or (equal and value == bound))

    def above(self, name: str, bound: float) -> BoolArray:
        return self._mask(holds=self._number(name) > bound)

    def equals(self, name: str, value: float) -> BoolArray:
        return self._mask(holds=self._number(name) == value)

    def under(self, name: str, other: str) -> BoolArray:
        return self._mask(holds=self._number(name) < self._number(other))

    def reaches(self, name: str, other: str, *, least: float) -> BoolArray:
        whole, part = self._number(other), self._number(name)
        return self._mask(holds=part >= whole > 0 and part >= least)

    def cuts_distribution(self) -> BoolArray:
        return self._mask(holds=0 < self._number("top_p") < 1 or self._number("top_k") > 0)

    def shares_reference(self) -> BoolArray:
        return self._mask(holds=self._rows.manifest.configuration.get("reference") == "policy")

    def _number(self, name: str) -> float:
        if name in self._rows.manifest.inferred_settings:
            return np.nan
        return self._rows.number(name, np.nan)

    def _mask(self, *, holds: bool) -> BoolArray:
        return np.full(len(self._rows), holds)


def _all_cut(rows: Rows) -> BoolArray:
    cut = rows.mean("truncated_fraction", MASKED) >= rows.limit("cut")
    return cut & (rows.observations("truncated_fraction") >= MASKED)


def _told(rows: Rows, subject: str, *, lethal: BoolArray | None = None, harmful: BoolArray | None = None) -> Judgement:
    """One judgement of a setting; `lethal` where no gradient means anything, `harmful` where it can still train."""
    never = np.zeros(len(rows), dtype=bool)
    fires = (never if lethal is None else lethal) | (never if harmful is None else harmful)
    return Judgement(
        subject=subject,
        fires=fires,
        log_evidence=rows.exact(fires),
        critical=lethal,
        since=np.where(fires, 0, -1),
    )
