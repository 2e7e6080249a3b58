"""verl's GRPO with a reward of one's own, recorded by one word of its configuration.

    pip install verl vllm rlprobe
    python examples/verl_grpo.py data/sums            # writes train.parquet and test.parquet
    sh examples/verl_grpo.sh data/sums                # needs a GPU; records into runs/sums/first
    sh examples/verl_grpo.sh data/sums --fault        # records into runs/sums/unread

    rlprobe watch runs/sums/first                     # beside it, or `rlprobe doctor` afterwards

With --fault the reward looks for a tag that the prompt does not ask for, so that nothing is ever right.
"""

import random
import re
import sys
from pathlib import Path

ASKED = "What is {a} times {b}? Put the answer between <answer> and </answer>."


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: object = None, tag: str = "answer"
) -> dict[str, float]:
    """verl's custom_reward_function: 1 for the right number between the tags; what it saw is recorded beside."""
    found = re.findall(rf"<{tag}>\s*(-?\d+)\s*</{tag}>", solution_str)
    return {"score": float(bool(found) and found[-1] == ground_truth), "tagged": float(bool(found))}


def compute_wrong_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: object = None
) -> dict[str, float]:
    """The same for a tag that no completion has."""
    return compute_score(data_source, solution_str, ground_truth, extra_info, tag="result")


def rows(count: int, seed: int) -> list[dict[str, object]]:
    """Prompts in the form that verl's data sets have."""
    dice = random.Random(seed)
    pairs = [(dice.randint(10, 99), dice.randint(2, 9)) for _ in range(count)]
    return [
        {
            "data_source": "sums",
            "prompt": [{"role": "user", "content": ASKED.format(a=a, b=b)}],
            "reward_model": {"style": "rule", "ground_truth": str(a * b)},
        }
        for a, b in pairs
    ]


def write(folder: Path) -> None:
    """Write both data sets."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train", 4096, 0), ("test", 128, 1)):
        pq.write_table(pa.Table.from_pylist(rows(count, seed)), folder / f"{name}.parquet")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "data/sums"))
