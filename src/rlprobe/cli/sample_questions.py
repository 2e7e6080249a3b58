"""What the arguments of rlprobe samples ask."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlprobe.forensics.question import Question


def asked(args: argparse.Namespace, limit: int | None = None) -> "Question":
    """The question of a command line."""
    from rlprobe.forensics.question import Question

    return Question(
        where=args.where,
        sort=args.sort,
        ascending=args.ascending,
        around=args.around,
        within=args.within,
        contains=tuple(args.contains),
        function=args.function,
        samples=tuple(args.sample),
        spot_check=args.spot_check,
        seed=args.seed,
        limit=limit,
    )
