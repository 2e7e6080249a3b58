"""Which process of a distributed run this is, and how all of them stop after the same step."""

import json
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from rlprobe.recording.files import replace_bytes
from rlprobe.recording.layout import STOP

_RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
_WORLD_VARIABLES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
_MARGIN = 2  # steps ahead that are named: ranks may be a step apart
_FOREIGN_SECONDS = 60.0  # how old NFS lets another host's view of a folder be, by default
_MAX_BYTES = 1 << 16


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


@dataclass(slots=True)
class CommonStop:
    """Has all processes of a run stop after the same step, without a collective.

    Rank 0 alone decides: once it is asked to halt it names a step that lies far enough ahead for every other rank to
    read of it in time, in a file of its own that is put in place by rename. The trainer's own collectives keep ranks
    within a step of one another.

    Args:
        root: the run's directory.
        processes: how many there are; a single one stops at once.
        first: whether this is rank 0.
        visible: seconds until a file that one host renamed is seen by every other.
    """

    root: Path
    processes: int
    first: bool
    visible: float
    _after: int | None = None
    _decided: bool = False

    @classmethod
    def of(cls, root: Path, *, processes: int, first: bool) -> "CommonStop":
        """The stop of this run, by what the environment says of its hosts."""
        here = _number("LOCAL_WORLD_SIZE") or processes
        return cls(root, processes, first, _FOREIGN_SECONDS if here < processes else 0.0)

    def due(self, step: int, seconds: float, *, asked: bool, wished: object = None) -> bool:
        """Whether training stops now, after `step`.

        Args:
            step: the step that just ended.
            seconds: how long a step takes.
            asked: whether this process knows that a guardian asks for a halt; only rank 0's answer counts.
            wished: the step after which the request wants the halt; None for as soon as can be.
        """
        if self.processes <= 1:
            return asked
        if self.first and asked and not self._decided:
            self._decided = True
            soon = step + _MARGIN + math.ceil(self.visible / max(seconds, 1e-3))
            self._after = max(soon, wished) if isinstance(wished, int) else soon
            replace_bytes(self.root / STOP, json.dumps({"after_step": self._after}).encode())
        elif not self.first and self._after is None:
            self._after = self._read(step)
        return self._after is not None and step >= self._after

    def _read(self, step: int) -> int | None:
        """The step that rank 0 named; one that has passed was meant for an earlier session."""
        try:
            told = json.loads((self.root / STOP).read_bytes()[:_MAX_BYTES])
        except (OSError, ValueError, RecursionError):
            return None
        after = told.get("after_step") if isinstance(told, dict) else None
        return after if isinstance(after, int) and after >= step else None
