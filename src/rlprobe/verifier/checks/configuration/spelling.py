"""Names of settings are spelt as the code reads them."""

from rlprobe.verifier.declared import NAMES
from rlprobe.verifier.measure.settings import FURTHER, settings
from rlprobe.verifier.outcome import Check, Outcome, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V721",
    title="names of settings are spelt as known ones",
    formula="names of settings ⊆ names that the code reads",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Spell the setting as the trainer does; what it does not know it leaves at its default.",
    causes=("CONFIG_MISUSE",),
)


def run(subject: Subject) -> Outcome:
    """Names a slip away from a known one that is not set."""
    given = settings(subject)
    if not given.raw:
        return not_checkable("no configuration was handed over", missing=("config",))
    known = {*NAMES, *FURTHER, *(other for others in (*NAMES.values(), *FURTHER.values()) for other in others)}
    for path in given.raw:
        name = path.rpartition(".")[2]
        if name in known:
            continue
        meant = next((one for one in sorted(known) if _slip(name, one)), "")
        if meant and meant not in given.raw:
            return warned(
                "config",
                f"{path} resembles {meant}, which is not set.",
                expected=meant,
                got=path,
                example={path: given.raw[path]},
                fingerprint="misspelt setting",
            )
    return passed()


def _slip(name: str, meant: str) -> bool:
    """Whether the name is meant with two letters exchanged, or one left out or doubled."""
    if name == meant or len(meant) < 6 or abs(len(name) - len(meant)) > 1:
        return False
    if len(name) == len(meant):
        off = [index for index in range(len(name)) if name[index] != meant[index]]
        return len(off) == 2 and off[1] == off[0] + 1 and sorted(name) == sorted(meant)
    longer, shorter = (name, meant) if len(name) > len(meant) else (meant, name)
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer))) and longer.rstrip("s") != shorter
