"""What the doctor says of every labelled real run: `python -m bench.doctor.runs [--only ID,ID] [--verdict healthy]`."""

import argparse

from bench.doctor.corpus import Read, read
from rlprobe.doctor.finding import Finding


def main() -> None:
    """Print one line a run, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="show these ids alone, comma-separated")
    parser.add_argument("--verdict", default="", help="healthy, failing or ambiguous")
    arguments = parser.parse_args()
    only = frozenset(filter(None, arguments.only.split(",")))
    runs = list(read(frozenset({arguments.verdict}) if arguments.verdict else None))
    for one in runs:
        print(_line(one, only))
    healthy = [one for one in runs if one.label.verdict == "healthy"]
    failing = [one for one in runs if one.label.verdict == "failing"]
    false = [one.label.id for one in healthy if one.alarms]
    print(f"\nfalse alarms {len(false)}/{len(healthy)}: {' '.join(false)}")
    named, first = sum(one.hit for one in failing), sum(one.first for one in failing)
    print(f"named {named}/{len(failing)}, first {first}/{len(failing)}")
    print(
        "missed:",
        " ".join(f"{one.label.id}:{';'.join(one.label.findings)}" for one in failing if not one.hit) or "none",
    )


def _line(one: Read, only: frozenset[str]) -> str:
    told = " ".join(_told(f) for f in one.diagnosis.findings if not only or f.id in only)
    label = ";".join(one.label.findings) or "-"
    mark = {"healthy": " " if not one.alarms else "F", "failing": "+" if one.hit else "-"}.get(one.label.verdict, "?")
    return (
        f"{mark} {one.label.id:11} {one.label.verdict:9} {label:60.60} onset {one.label.onset_step or '-':>5} | {told}"
    )


def _told(finding: Finding) -> str:
    sign = {"critical": "!!", "warning": "!", "info": ""}[finding.severity]
    back = "~" if finding.status == "recovered" else ""
    return f"{back}{sign}{finding.id}@{finding.onset_step}({finding.detected_step})"


if __name__ == "__main__":
    main()
