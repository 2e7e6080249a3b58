"""Groups are whole: the batch holds a whole number of them."""

from rlprobe.verifier.measure.settings import Settings, settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V705",
    title="a batch holds whole groups",
    formula="samples a generation mod group size = 0",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Make the number of samples a generation a multiple of the group size.",
    causes=("GROUPING_BUG", "CONFIG_MISUSE"),
)


def run(subject: Subject) -> Outcome:
    """Samples a generation against the group size; the mini-batch against the batch."""
    given = settings(subject)
    size, batch = given.number("group_size"), given.number("batch_size")
    mini, prompts = given.number("mini_batch"), given.number("batch_prompts")
    if mini is not None and prompts is not None and mini > prompts:
        return failed(
            "config",
            f"{given.named('mini_batch')} {mini:g} is more than {given.named('batch_prompts')} {prompts:g}.",
            expected=f"at most {prompts:g}",
            got=f"{mini:g}",
            example=given.example("mini_batch", "batch_prompts"),
        )
    if not size or batch is None:
        return _by_device(given, size)
    if batch % size:
        return failed(
            "config",
            f"{given.named('batch_size')} {batch:g} is no multiple of {given.named('group_size')} {size:g}: "
            "groups are torn at its end.",
            expected=f"a multiple of {size:g}",
            got=f"{batch:g}",
            example=given.example("batch_size", "group_size"),
        )
    return passed()


def _by_device(given: Settings, size: float | None) -> Outcome:
    device = given.number("device_batch")
    if not size or device is None:
        return not_checkable("no batch size is set", missing=("config.batch_size",))
    steps = given.number("steps_per_generation") or given.number("accumulation") or 1
    processes = given.number("processes")
    samples = device * steps * (processes or 1)
    if samples % size == 0 or (processes is None and size % samples == 0):
        return passed()
    told = warned if processes is None else failed
    return told(
        "config",
        f"{device:g} samples a device and {steps:g} steps a generation are no multiple of {given.named('group_size')} "
        f"{size:g} on {f'{processes:g} processes' if processes else 'one process'}.",
        expected=f"a multiple of {size:g}",
        got=f"{samples:g}",
        example=given.example("device_batch", "steps_per_generation", "accumulation", "processes", "group_size"),
    )
