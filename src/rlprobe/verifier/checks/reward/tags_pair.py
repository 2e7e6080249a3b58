"""Every tag that a reward names closes under the name under which it opens, and is spelt as the others."""

import re

from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject

_OPEN, _CLOSE = re.compile(r"<([A-Za-z_][\w-]*)>"), re.compile(r"</([A-Za-z_][\w-]*)>")
USUAL = ("answer", "think", "reasoning", "solution", "thinking", "final_answer", "thought")
CHECK = Check(
    id="V119",
    title="tags close under the name under which they open",
    formula="name of the opening tag = name of the closing tag",
    stage="reward",
    category="string processing",
    needs=("reward",),
    fix="Spell the opening and the closing tag alike, as the prompt asks for them.",
    causes=("FORMAT_LOSS", "REWARD_COMPONENT_DEAD"),
)


def run(subject: Subject) -> Outcome:
    """Names of opening and closing tags in each string of the function."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    opened = {name for text in gold.reading.strings for name in _OPEN.findall(text)}
    closed = {name for text in gold.reading.strings for name in _CLOSE.findall(text)}
    for name in sorted(opened | closed):
        meant = next((one for one in USUAL if _slip(name, one)), "")
        other = next((one for one in sorted(closed ^ opened) if one != name and _slip(one, name)), "")
        if meant or other:
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} names the tag <{name}>, where <{meant or other}> is meant or stands elsewhere.",
                expected=f"<{meant or other}>",
                got=f"<{name}>",
                example={"tag": name},
                fingerprint="misspelt tag",
            )
    return passed()


def _slip(name: str, meant: str) -> bool:
    """Whether name is meant with two letters exchanged or one left out."""
    if name == meant or len(meant) < 4:
        return False
    exchanged = sorted(name) == sorted(meant)
    left_out = len(name) == len(meant) - 1 and any(meant[:at] + meant[at + 1 :] == name for at in range(len(meant)))
    return exchanged or left_out
