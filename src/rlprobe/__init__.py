"""rlprobe: flight recorder, doctor and verifier for reinforcement-learning fine-tuning of language models.

Every public name is loaded on first use, so that `import rlprobe` costs a training process nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlprobe.doctor.engine import Doctor as Doctor
    from rlprobe.doctor.engine import diagnose as diagnose
    from rlprobe.integrations.tap import tap as tap
    from rlprobe.integrations.trl import RlprobeCallback as RlprobeCallback
    from rlprobe.integrations.trl import attach as attach
    from rlprobe.opening import open_run as open_run
    from rlprobe.recorder.recorder import Recorder as Recorder
    from rlprobe.recording.run import Run as Run
    from rlprobe.verifier.engine import verify as verify
    from rlprobe.verifier.pipeline import Pipeline as Pipeline

__version__ = "1.0.0.dev0"

_HOMES = {
    "Doctor": "rlprobe.doctor.engine",
    "Pipeline": "rlprobe.verifier.pipeline",
    "Recorder": "rlprobe.recorder.recorder",
    "RlprobeCallback": "rlprobe.integrations.trl",
    "Run": "rlprobe.recording.run",
    "attach": "rlprobe.integrations.trl",
    "diagnose": "rlprobe.doctor.engine",
    "open_run": "rlprobe.opening",
    "tap": "rlprobe.integrations.tap",
    "verify": "rlprobe.verifier.engine",
}

__all__ = [
    "Doctor",
    "Pipeline",
    "Recorder",
    "RlprobeCallback",
    "Run",
    "__version__",
    "attach",
    "diagnose",
    "open_run",
    "tap",
    "verify",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'rlprobe' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
