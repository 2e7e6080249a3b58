"""Which process of a distributed run this is."""

import os
import sys

_RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
_WORLD_VARIABLES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")


def current_rank() -> int:
    """The global rank of this process; 0 for a process on its own."""
    torch_rank = _of_torch("get_rank")
    if torch_rank is not None:
        return torch_rank
    rank = _first_number(_RANK_VARIABLES)
    if rank is None and (_number("SLURM_NTASKS") or 1) > 1:
        rank = _number("SLURM_PROCID")
    return rank or 0


def world_size() -> int:
    """The number of processes of the run; 1 for a process on its own."""
    size = _of_torch("get_world_size")
    return size or _first_number(_WORLD_VARIABLES) or _number("SLURM_NTASKS") or 1


def _of_torch(question: str) -> int | None:
    """What torch.distributed says, where a trainer has set it up; it is never imported here."""
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return int(getattr(distributed, question)())
    except Exception:  # a half-imported or foreign torch answers nothing; the environment does
        return None
    return None


def _first_number(names: tuple[str, ...]) -> int | None:
    return next((number for number in map(_number, names) if number is not None), None)


def _number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else None
