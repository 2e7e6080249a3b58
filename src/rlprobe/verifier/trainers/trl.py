"""A live TRL trainer (GRPO, RLOO, DPO) as a Pipeline."""

from rlprobe.verifier.pipeline import Pipeline


def pipeline_of(trainer: object) -> Pipeline:
    """The trainer's own functions by slot.

    Raises:
        TypeError: the trainer is of a kind that is not known.
    """
    raise TypeError(f"verify: expected a GRPO, RLOO or DPO trainer of TRL, got {type(trainer).__name__}.")
