"""Rows come out as many and in the order in which they went in, each as it does alone."""

from rlprobe.verifier.decoding import decoder
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

TEXTS = ("Bb is longer than a.", "A", "", "Cc is 3.", "A", "Dd\n4")
CHECK = Check(
    id="V506",
    title="texts come out in the order of their rows",
    formula="decode(rows)[i] = decode([row i])[0]",
    stage="decode",
    category="grouping and order",
    needs=("decode",),
    fix="Keep one text a row, in order; drop and sort nothing before the scores are back.",
    causes=("GROUPING_BUG", "REWARD_TEXT_MISMATCH", "DECODE_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Rows of different lengths, an empty one and two equal ones, together and one by one, padded and as lists."""
    used = decoder(subject)
    if not used.batch:
        return not_applicable("it decodes one completion at a time")
    alone = [used.texts([text])[0] for text in TEXTS]
    together = used.texts(TEXTS)
    if together == alone and used.form == "list" and not used.takes_text:
        bare = [text for text in TEXTS if text]  # no completion is without any token: it has its end at least
        alone, together = [used.texts([text])[0] for text in bare], used.bare(bare)
    if together != alone:
        return failed(
            "decode",
            f"{list(TEXTS)} decode to {together!r:.120} together and to {alone!r:.120} one by one.",
            expected=repr(alone)[:120],
            got=repr(together)[:120],
            example={"texts": list(TEXTS)},
            fingerprint="the rows are reordered" if sorted(together) == sorted(alone) else "",
            where=used.where,
        )
    return passed()
