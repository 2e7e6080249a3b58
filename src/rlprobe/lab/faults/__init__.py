"""Every fault, one file a pipeline stage."""

from rlprobe.lab.catalog import Fault
from rlprobe.lab.faults import advantages, generation, infrastructure, optimization, policy, reward

FAULTS: tuple[Fault, ...] = (
    *reward.FAULTS,
    *advantages.FAULTS,
    *policy.FAULTS,
    *optimization.FAULTS,
    *generation.FAULTS,
    *infrastructure.FAULTS,
)
