"""Cases that people reported with numbers: too few points for a course, enough for what is exact."""

import json
import tempfile
from pathlib import Path

from tests.support.corpus import runs_directory

from bench.doctor.corpus import answers
from rlprobe.doctor.engine import diagnose
from rlprobe.opening import open_run

FALSE_ALARM = "HEALTHY_FALSE_ALARM"
POINTS = 3  # logged points of one metric from which a case can be read as a log


def main() -> dict[str, object]:
    """Diagnose every case that has a series, and print hits and false alarms."""
    print("\n## Field cases with numbers")
    root = runs_directory()
    if root is None:
        print("the field cases are not here; set RLPROBE_SHARED_DATA")
        return {}
    lines = (root.parent / "field-cases.jsonl").read_text(encoding="utf-8").splitlines()
    named = failing = alarmed = healthy = 0
    for case in map(json.loads, lines):
        rows = _rows(case.get("series") or {})
        if len(rows) < POINTS:
            continue
        ids = _ids(rows)
        wanted = answers(case["expected_diagnosis"])
        calm = case["expected_diagnosis"] in (FALSE_ALARM, "METRIC_ARTIFACT")
        healthy, failing = healthy + calm, failing + (not calm)
        alarmed, named = alarmed + (calm and bool(ids)), named + (not calm and bool(wanted & set(ids)))
        print(f"  {case['id']:32} {case['expected_diagnosis']:24} {len(rows):4} rows: {', '.join(ids) or '-'}")
    print(f"named {named}/{failing}; alarms on what is normal {alarmed}/{healthy}")
    return {"field_named": named, "field_failing": failing, "field_false": alarmed, "field_normal": healthy}


def _rows(series: dict[str, object]) -> list[dict[str, object]]:
    """Rows by index of the posted point: [index, value] pairs, or plain lists."""
    rows: dict[float, dict[str, object]] = {}
    for name, points in series.items():
        if not isinstance(points, list):
            continue
        for index, point in enumerate(points):
            step, value = point if isinstance(point, list) and len(point) == 2 else (index, point)
            if isinstance(step, int | float) and isinstance(value, int | float | None):
                rows.setdefault(float(step), {})[name] = float("nan") if value is None else value
    return [{"step": int(step), **rows[step]} for step in sorted(rows)]


def _ids(rows: list[dict[str, object]]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return [finding.id for finding in diagnose(open_run(path)).findings if finding.severity != "info"]


if __name__ == "__main__":
    main()
