"""Any text gets one finite score: empty, blank, tags alone, never closed, very long, foreign letters."""

import math

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.batches import mixed
from rlprobe.verifier.measure.gold import UNFORMATTED, Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.measure.shapes import awkward
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.rewarding import Sample, shown_scores
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V105",
    title="any text gets one finite score",
    formula="score(x) is one finite number, for every text x",
    stage="reward",
    category="string processing",
    needs=("reward",),
    fix="Give the text that nothing was found in the lowest score; leave the matching as it is.",
    causes=("REWARD_NOT_FINITE", "NUMERIC_NAN"),
)


def run(subject: Subject) -> Outcome:
    """Awkward texts one by one, then all of them in one batch."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    texts = [*awkward(gold.gold.completion), ("without an answer", UNFORMATTED)]
    texts += [("ordinary", one.completion) for one in mixed(gold)]
    abstained = 0
    for name, text in texts:
        sample = gold.gold.saying(text)
        try:
            score = gold.reward.score(sample)
        except RaisedError as error:
            return _raised(gold, sample, name, error)
        abstained += score is None
        if score is not None and not math.isfinite(score):
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} scores {score} for a completion that is {name}.",
                expected="a finite number (None abstains)",
                got=str(score),
                example=gold.reward.example([sample]),
            )
    samples = [gold.gold.saying(text) for _, text in texts]
    try:
        together = gold.reward(samples)
    except RaisedError as error:
        return _raised(gold, samples[0], "in one batch with others", error)
    odd = [one for one in together if one is not None and not math.isfinite(one)]
    if odd:
        return failed(
            gold.reward.slot,
            f"{gold.reward.name} scores {odd[0]} in a batch of awkward completions.",
            expected="finite numbers",
            got=shown_scores(together),
            example=gold.reward.example(samples[:3]),
        )
    if abstained:
        return passed(f"{gold.reward.name} abstains (None) on {abstained} of {len(texts)} awkward texts")
    return passed()


def _raised(gold: Gold, sample: Sample, name: str, error: RaisedError) -> Outcome:
    return failed(
        gold.reward.slot,
        f"{gold.reward.name} raises {error.told} for a completion that is {name}.",
        expected="one finite number for each completion",
        got=error.told,
        example=gold.reward.example([sample]),
    )
