"""Power losses, simulated: what was synced is read back, whatever became of the rest.

    python -m bench.recorder.power [--n 400] [--seed 0]

A writer logs, syncs and makes snapshots in a random order, and the power fails in between: what was not synced stays
whole, in part, as zeros, or not at all, a rename or removal in a directory that was not synced happened or did not.
Then the recording is read, taken up by a new session, and read again (tests/support/power.py).
"""

import argparse
import tempfile
from pathlib import Path

from tests.support.power import play

_LOSSES = 8  # of one writer


def main() -> None:
    """Print how many losses kept the promise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=400, help="how often the power fails")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    looked = broken = 0
    for writer in range(-(-arguments.n // _LOSSES)):
        with tempfile.TemporaryDirectory(prefix="rlprobe-power-") as folder:
            try:
                looked += play(arguments.seed + writer, Path(folder), _LOSSES)
            except AssertionError as error:
                looked, broken = looked + 1, broken + 1
                print(f"writer {arguments.seed + writer}: {error}")
    print(f"{looked - broken} of {looked} power losses: what was synced before was read once, in order")
    raise SystemExit(1 if broken else 0)


if __name__ == "__main__":
    main()
