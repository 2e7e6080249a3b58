"""CPU time of questions about a million samples: `python -m bench.forensics [--rows N] [--folder FOLDER]`."""

import argparse
import tempfile
import time
from pathlib import Path

from bench.forensics.million import million
from rlprobe.forensics.expression import parse
from rlprobe.forensics.query import Query, fetch, holding, near, select, vocabulary
from rlprobe.opening import open_run

ROWS = 1_000_000
QUESTIONS: tuple[tuple[str, str, str], ...] = (  # what it stands for on the command line, conditions, order
    ("--sort reward", "", "reward"),
    ("--sort ratio", "", "ratio"),
    ("--sort length --where 'reward > 0.9'", "reward > 0.9", "length"),
    (
        "--where 'reward > 0.9 and completion_tokens > 500 and kl < 0.01' --sort advantage",
        "reward > 0.9 and completion_tokens > 500 and kl < 0.01",
        "advantage",
    ),
    ("--where 'truncated and step >= 1900' --sort kl", "truncated and step >= 1900", "kl"),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--folder", type=Path, default=None, help="where the recording is kept between two runs")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = million(args.folder or Path(temporary), args.rows)
        print(f"{args.rows:,} samples, the 10 first with their texts\n")
        print("| question | CPU seconds | matched |\n|---|---|---|")
        for shown, where, order in QUESTIONS:
            seconds, matched = ask(root, where, order)
            print(f"| `{shown}` | {seconds:.2f} | {matched:,} |")
        for shown, condition in (
            ("--around 1000", near(1000, 5)),
            ("--contains 'carry ten'", holding("carry ten", "completion")),
        ):
            seconds, matched = ask(root, "", "reward", (condition,))
            print(f"| `{shown}` | {seconds:.2f} | {matched:,} |")


def ask(root: Path, where: str, order: str, conditions: tuple[object, ...] = ()) -> tuple[float, int]:
    """CPU seconds of one question, from the opened run to the last text, and how many samples matched."""
    run = open_run(root)
    begun = time.process_time()
    blocks = run.sample_blocks()
    words = vocabulary(blocks)
    asked = (*((parse(where, words.kinds),) if where else ()), *conditions)
    query = Query(where=asked, sort=parse(order, words.kinds), limit=10)  # type: ignore[arg-type]  # conditions are expressions
    found = select(blocks, query, words)
    rows = list(fetch(blocks, found))
    assert len(rows) == min(10, found.matched)
    return time.process_time() - begun, found.matched


if __name__ == "__main__":
    main()
