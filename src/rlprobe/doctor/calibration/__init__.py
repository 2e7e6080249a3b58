"""Confidence: how often findings of this kind were right on the labelled corpus and the lab."""

from rlprobe.doctor.finding import Confidence
from rlprobe.doctor.signature import Signature


def confidence(signature: Signature, log_evidence: float) -> Confidence:
    """The measured frequency for a finding of this signature and evidence.

    Args:
        signature: what fired.
        log_evidence: its largest natural-log evidence; +inf for an exact violation.
    """
    return Confidence(value=None, interval=None, examples=0, pooled=False)
