"""A completion earns nothing by what stands in its prompt, and loses nothing by it."""

from rlprobe.verifier.measure.gold import UNFORMATTED, Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.rewarding import Sample
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V107",
    title="a right answer in the prompt is not a right completion",
    formula="score(prompt with the answer, wrong) = score(prompt, wrong)",
    stage="reward",
    category="reward and decoding mismatch",
    needs=("reward",),
    fix="Score the completion alone; cut the prompt off by its length before matching.",
    causes=("REWARD_CONSTANT", "REWARD_TEXT_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """A wrong completion whose prompt holds the rewarded text, and a right one whose prompt holds a wrong text."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    if gold.kind not in ("answer", "format"):
        return not_applicable("it does not score an answer or a form")
    shown = f"An example:\n{gold.gold.completion}\nNow solve it."
    leaking = _with_prompt(gold.gold.saying(UNFORMATTED), shown)
    if gold.rewarded(leaking) and not gold.rewarded(gold.gold.saying(UNFORMATTED)):
        return failed(
            gold.reward.slot,
            f"{gold.reward.name} rewards a completion without an answer ({gold.score(leaking):.4g}) "
            "because the prompt holds one.",
            expected=f"{gold.wrong_score:.4g}",
            got=f"{gold.score(leaking):.4g}",
            example={**gold.reward.example([leaking]), "prompts": [shown]},
            fingerprint="scores the prompt",
        )
    for text in ("Short.", shown, "Solve it. " * 40):
        sample = _with_prompt(gold.gold, text)
        if gold.column is not None and not gold.rewarded(sample):
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} scores a right completion {gold.score(sample):.4g} under another prompt, "
                f"{gold.gold_score:.4g} under its own.",
                expected=f"{gold.gold_score:.4g}",
                got=f"{gold.score(sample):.4g}",
                example={**gold.reward.example([sample]), "prompts": [text]},
            )
    return passed()


def _with_prompt(sample: Sample, text: str) -> Sample:
    prompt: object = [{"role": "user", "content": text}] if isinstance(sample.prompt, list) else text
    return Sample(completion=sample.completion, prompt=prompt, columns=sample.columns)
