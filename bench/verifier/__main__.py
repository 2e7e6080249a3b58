"""python -m bench.verifier: what is said of correct pipelines and of one-line bugs of them, and what it costs."""

import platform
import time
import warnings
from collections import Counter

from rlprobe.verifier.engine import verify
from rlprobe.verifier.selftest import measure
from rlprobe.verifier.selftest.mutant import load, source_of


def main() -> None:
    """Print the tables."""
    warnings.filterwarnings("ignore")
    bases = measure.bases()
    verify(load(source_of(bases[0]), bases[0]))  # imports are paid once, and not counted
    print(f"{platform.machine()}, Python {platform.python_version()}\n")
    spent, alarms = [], []
    for name in bases:
        started = time.process_time()
        score = measure.correct_score(name)
        spent.append(time.process_time() - started)
        if score.failing:
            alarms.append(f"{name}: {', '.join(score.failing)}")
    print(f"correct pipelines blamed: {len(alarms)} of {len(bases)} {'; '.join(alarms)}")
    print(f"CPU seconds a pipeline: median {sorted(spent)[len(spent) // 2]:.2f}, largest {max(spent):.2f}\n")
    scores = [measure.mutant_score(mutant) for mutant in measure.all_mutants()]
    print("| stage | bugs | found | its stage first |")
    print("|---|---|---|---|")
    for stage, count in Counter(score.stage for score in scores).items():
        own = [score for score in scores if score.stage == stage]
        print(f"| {stage} | {count} | {sum(s.killed for s in own)} | {sum(s.right_first for s in own)} |")
    killed, first = sum(s.killed for s in scores), sum(s.right_first for s in scores)
    print(f"| all | {len(scores)} | {killed} | {first} |")
    print(f"\ndifferent sets of failing checks: {measure.distinct(scores)}")
    for score in scores:
        if not score.right_first:
            print(f"{'another stage first' if score.killed else 'not found'}: {score.name} {', '.join(score.failing)}")


if __name__ == "__main__":
    main()
