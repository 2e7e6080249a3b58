"""An empty completion does not earn what a right one earns."""

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.gold import UNFORMATTED, Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

EMPTY = ("", " ", "\n", "<answer></answer>", "<think></think><answer></answer>", "\\boxed{}", "####", "``````")
CHECK = Check(
    id="V109",
    title="an empty completion does not tie with a right one",
    formula='score("") < score(right)',
    stage="reward",
    category="reward and decoding mismatch",
    needs=("reward",),
    fix="Score what nothing was extracted from before comparing; an empty text is contained in every other.",
    causes=("EMPTY_COMPLETIONS", "LENGTH_COLLAPSE", "FORMAT_GAMING"),
)


def run(subject: Subject) -> Outcome:
    """Texts without an answer against the rewarded one."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    if gold.kind not in ("answer", "given", "format") or gold.inverted:
        return not_applicable("no rewarded text is known")
    texts = (*EMPTY, UNFORMATTED) if gold.kind == "answer" else (*EMPTY[:3], UNFORMATTED)
    for text in texts:
        sample = gold.gold.saying(text)
        try:
            score = gold.score(sample)
        except RaisedError:
            continue
        if score >= gold.gold_score > gold.wrong_score:
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} gives {text!r} {score:.4g}, as much as to a right completion.",
                expected=f"less than {gold.gold_score:.4g}",
                got=f"{score:.4g}",
                example=gold.reward.example([sample]),
                fingerprint="what is not found counts as right",
            )
    return passed()
