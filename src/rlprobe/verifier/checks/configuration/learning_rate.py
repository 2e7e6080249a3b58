"""The learning rate is one at which reinforcement learning of a language model is done."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

HIGHEST = 1e-5  # all weights; defaults of TRL, verl and OpenRLHF are 1e-6
HIGHEST_ADAPTER = 2e-4  # low-rank adapters
CHECK = Check(
    id="V701",
    title="the learning rate is in the range of post-training",
    formula="0 < learning rate <= 1e-5 (all weights) or 2e-4 (adapter)",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Set 1e-6 for all weights, 1e-5 to 1e-4 for an adapter: ten to a hundred times less than for fine-tuning.",
    causes=("LR_ANOMALY", "KL_BLOWUP", "ENTROPY_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """The rate against what is usual for all weights or for an adapter."""
    given = settings(subject)
    rate = given.number("learning_rate")
    if rate is None:
        return not_checkable("no learning rate is set", missing=("config.learning_rate",))
    name = given.named("learning_rate")
    adapter = bool(given.get("adapter")) or given.raw.get("use_peft") is True or "lora_r" in given.raw
    highest = HIGHEST_ADAPTER if adapter else HIGHEST
    if not 0 < rate < 1:
        return failed(
            "config",
            f"{name} is {rate:g}: no step of such a size trains.",
            expected="between 0 and 1",
            got=f"{rate:g}",
            example=given.example("learning_rate"),
        )
    if rate > highest:
        return warned(
            "config",
            f"{name} is {rate:g}, above {highest:g}, the usual limit for {'an adapter' if adapter else 'all weights'}.",
            expected=f"at most {highest:g}",
            got=f"{rate:g}",
            example=given.example("learning_rate"),
            fingerprint="a rate of supervised fine-tuning" if 1e-5 < rate <= 5e-4 and not adapter else "",
        )
    return passed(f"{name} {rate:g}")
