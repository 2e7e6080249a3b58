"""A Diagnosis as JSON, schema rlprobe.diagnosis/1: valid whatever the numbers, the same bytes for the same diagnosis.

Numbers keep six significant digits; a number that is not finite is the string "nan", "inf" or "-inf". Everything beyond
ASCII is escaped, so that the bytes are safe on any terminal.
"""

import json
import math
from collections.abc import Mapping
from numbers import Integral, Real

from rlprobe.doctor.finding import Diagnosis, Evidence, Finding, NotChecked, Reassurance, Remedy
from rlprobe.reports import next_steps, phrases

SCHEMA = "rlprobe.diagnosis/1"
DIGITS = 6  # significant digits of every number that is not whole


def render(diagnosis: Diagnosis) -> str:
    """The diagnosis as a JSON document that ends in a line break."""
    return document(
        {
            "schema": SCHEMA,
            "run": {
                "source": diagnosis.source,
                "format": diagnosis.format,
                "algorithm": diagnosis.algorithm,
                "steps": diagnosis.steps,
                "rows": diagnosis.rows,
                "segments": diagnosis.segments,
                "state": diagnosis.state,
            },
            "verdict": diagnosis.verdict,
            "sentence": diagnosis.sentence,
            "incidents": [
                {"root": incident.root, "members": incident.members, "first_mover": incident.first_mover}
                for incident in diagnosis.incidents
            ],
            "findings": [_finding(finding) for finding in diagnosis.findings],
            "next": next_steps.of_diagnosis(diagnosis),
            "checked": diagnosis.checked,
            "not_checked": [_not_checked(entry) for entry in diagnosis.not_checked],
            "reassurances": [_reassurance(entry) for entry in diagnosis.reassurances],
            "recording": {
                "dropped": diagnosis.dropped,
                "bad_values": diagnosis.bad_values,
                "unreadable": diagnosis.unreadable,
                "notes": diagnosis.notes,
            },
        }
    )


def document(value: object) -> str:
    """Any tree of mappings, sequences and plain values as JSON text, by the rules of the module's first lines."""
    return json.dumps(_portable(value), indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "key": finding.key,
        "id": finding.id,
        "subject": finding.subject,
        "stage": finding.stage,
        "severity": finding.severity,
        "confidence": finding.confidence.value,
        "confidence_interval": finding.confidence.interval,
        "confidence_examples": finding.confidence.examples,
        "confidence_pooled": finding.confidence.pooled,
        "onset_step": finding.onset_step,
        "onset_interval": finding.onset_interval,
        "detected_step": finding.detected_step,
        "status": finding.status,
        "recovered_step": finding.recovered_step,
        "root": finding.root,
        "consequence_of": finding.consequence_of,
        "relation": finding.relation,
        "title": finding.title,
        "explanation": finding.explanation,
        "evidence": [_evidence(entry) for entry in finding.evidence],
        "remedies": [_remedy(entry) for entry in finding.remedies],
        "samples": finding.samples,
        "rollback_step": finding.rollback_step,
        "confirm": phrases.confirm_command(finding),
        "page": finding.page,
    }


def _evidence(evidence: Evidence) -> dict[str, object]:
    return {
        "metric": evidence.metric,
        "unit": evidence.unit,
        "before": evidence.before,
        "after": evidence.after,
        "statistic": evidence.statistic,
        "log_evidence": evidence.log_evidence,
        "steps": evidence.steps,
    }


def _remedy(remedy: Remedy) -> dict[str, object]:
    return {
        "text": remedy.text,
        "setting": remedy.setting or None,
        "current": remedy.current,
        "suggested": remedy.suggested or None,
    }


def _not_checked(entry: NotChecked) -> dict[str, object]:
    return {"id": entry.id, "reason": entry.reason, "missing": entry.missing, "how": entry.how}


def _reassurance(entry: Reassurance) -> dict[str, object]:
    return {
        "id": entry.id,
        "title": entry.title,
        "explanation": entry.explanation,
        "evidence": [_evidence(evidence) for evidence in entry.evidence],
    }


def _portable(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(f"{float(value):.{DIGITS}g}") if math.isfinite(value) else _not_finite(float(value))
    if isinstance(value, Mapping):
        return {str(key): _portable(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_portable(entry) for entry in value]
    return str(value)


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"
