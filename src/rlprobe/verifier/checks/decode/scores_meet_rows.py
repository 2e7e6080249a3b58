"""Each row's score is that of its own text when a batch is decoded and scored as in training."""

from rlprobe.verifier.decoding import decoder
from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.batches import mixed
from rlprobe.verifier.measure.gold import golds
from rlprobe.verifier.measure.reasoning import usable
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.rewarding import same, shown_scores
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V512",
    title="each row is scored by its own text",
    formula="scores[i] = score(decode(ids_i))",
    stage="decode",
    category="grouping and order",
    needs=("decode", "reward"),
    fix="Decode and score rows in one order; pair texts with columns by index.",
    causes=("GROUPING_BUG", "REWARD_TEXT_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """What the rewards receive from a batch against what they receive row by row."""
    used = decoder(subject)
    for gold in golds(subject):
        samples = [one for one in mixed(gold) if usable(used, one.completion)]
        if not samples:
            continue
        received = used.texts([one.completion for one in samples])
        own = [used.texts([one.completion])[0] for one in samples]
        try:
            together = gold.reward([one.saying(text) for one, text in zip(samples, received, strict=True)])
            alone = [gold.reward.score(one.saying(text)) for one, text in zip(samples, own, strict=True)]
        except RaisedError:
            continue  # a reward that fails on a text is told in its own stage
        if not all(same(one, other) for one, other in zip(together, alone, strict=True)):
            return failed(
                "decode",
                f"{gold.reward.name} gives a decoded batch {shown_scores(together)}, its rows alone "
                f"{shown_scores(alone)}.",
                expected=shown_scores(alone),
                got=shown_scores(together),
                example={"texts": [one.completion for one in samples], "received": received},
                fingerprint="texts of other rows",
                where=used.where,
            )
    return passed()
