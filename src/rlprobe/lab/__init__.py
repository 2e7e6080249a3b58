"""The lab: a real policy-gradient trainer small enough for a laptop, with faults injected at their mechanism."""

from rlprobe.lab.catalog import Fault, Variant
from rlprobe.lab.recording import UnknownName, faults, run_in_memory, run_steps, train, variants

__all__ = ["Fault", "UnknownName", "Variant", "faults", "run_in_memory", "run_steps", "train", "variants"]
