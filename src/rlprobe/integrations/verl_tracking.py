"""verl's Tracking with one backend more: "rlprobe". Read from `verl/utils/tracking.py` of verl 0.5.0 to 0.9.1.

Where the recording lies: $RLPROBE_RUN, else runs/PROJECT/EXPERIMENT of verl's own configuration.
"""

import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.naming import Naming, flat, settings_in
from rlprobe.integrations.wrapping import Wraps
from rlprobe.recorder.recorder import Recorder

log = logging.getLogger("rlprobe")

BACKEND = "rlprobe"
RUN = "RLPROBE_RUN"  # the recording's directory
_ODD = re.compile(r"[^\w.@+=-]+")  # what a name of a project or experiment may hold and a folder's should not

_KL_IN_LOSS = "actor_rollout_ref/actor/use_kl_loss"

_open: "list[Backend]" = []


class Backend:
    """One of Tracking's loggers. What fails in it is told once; training goes on.

    Args:
        run_dir: the recording's directory.
        configuration: verl's own, resolved.
    """

    def __init__(self, run_dir: Path, configuration: Mapping[str, object]) -> None:
        self.guard = HookGuard(report)
        self._naming = Naming("verl")
        self._algorithm = _algorithm(flat(configuration))
        self.recorder: Recorder | None = None
        with self.guard("opening the recording"):
            model = flat(configuration).get("actor_rollout_ref/model/path")
            self.recorder = Recorder(
                run_dir,
                algorithm=self._algorithm,
                framework="verl",
                model=str(model or ""),
                config=configuration,
                settings=settings_of(configuration),
            )
            log.warning("rlprobe: recording into %s", self.recorder.run_dir)

    def log(self, data: Mapping[str, object], step: int) -> None:
        """Record a row of metrics."""
        with self.guard("log"):
            if self.recorder is None:
                return
            metrics = self._naming.canonical(flat(data))
            if self._naming.news():
                told = self._algorithm or self._naming.algorithm  # the configuration knows better than the keys
                self.recorder.describe(algorithm=told or None, metadata=self._naming.metadata)
            self.recorder.log_step(step, metrics)

    def finish(self, *_: object, **__: object) -> None:
        """Close the recording."""
        with self.guard("finish"):
            if self in _open:
                _open.remove(self)
            if self.recorder is not None:
                self.recorder.close()


def current() -> Backend | None:
    """The backend that this process's Tracking opened last; None where the user has not asked for it."""
    return _open[-1] if _open else None


def report(hook: str, kind: str, message: str, frames: str) -> None:
    """Keep the failure of a hook in the recording that is open."""
    backend = current()
    if backend is not None and backend.recorder is not None:
        backend.recorder.log_event("bad_hook", hook=hook, error=kind, message=message, traceback=frames)


def run_dir_of(project: object, experiment: object) -> Path:
    """Where a run of this project and experiment is recorded."""
    chosen = os.environ.get(RUN)
    parts = [_ODD.sub("-", str(name or "verl")).strip(".-") or "verl" for name in (project, experiment)]
    return Path(chosen) if chosen else Path("runs").joinpath(*parts)


def settings_of(configuration: Mapping[str, object]) -> dict[str, object]:
    """The canonical settings; a coefficient whose KL term is off is 0, one in the reward is that of the reward."""
    settings, plain = settings_in(configuration), flat(configuration)
    in_reward, in_loss = (plain.get(key) for key in ("algorithm/use_kl_in_reward", _KL_IN_LOSS))
    if in_reward and not in_loss:
        settings["kl_coefficient"] = plain.get("algorithm/kl_ctrl/kl_coef")
    elif in_loss is False:
        settings["kl_coefficient"] = 0.0
    return settings


def _algorithm(configuration: Mapping[str, object]) -> str:
    """The algorithm that the configuration names; generalised advantage estimation is PPO's."""
    estimator = str(configuration.get("algorithm/adv_estimator") or "").rpartition(".")[2].lower()
    return "ppo" if estimator == "gae" else estimator


def install(module: object) -> None:
    """Add the backend to the module's Tracking, and look on at its validation generations."""
    tracking = vars(module)["Tracking"]
    if BACKEND in tracking.supported_backend:
        return
    tracking.supported_backend.append(BACKEND)
    wraps = Wraps(HookGuard(report))
    wraps.around(tracking, "__init__", after=_opened)
    for end in ("finish", "__del__"):  # verl 0.8 and older have the second alone
        wraps.around(tracking, end, before=_finished)
    wraps.around(vars(module)["ValidationGenerationsLogger"], "log", before=_validated)


def _opened(
    _: object,
    __: object,
    tracking: object,
    project_name: object = "",
    experiment_name: object = "",
    default_backend: "str | Sequence[str]" = "console",
    config: object = None,
) -> None:
    backends = [default_backend] if isinstance(default_backend, str) else list(default_backend)
    if BACKEND in backends:
        configuration = config if isinstance(config, Mapping) else {}
        backend = Backend(run_dir_of(project_name, experiment_name), configuration)
        _open.append(backend)
        vars(tracking)["logger"][BACKEND] = backend


def _finished(tracking: object, *_: object, **__: object) -> None:
    """Runs before verl's own finish, also when an object that was never set up is collected."""
    backend = vars(tracking).get("logger", {}).get(BACKEND)
    if backend is not None:
        backend.finish()


def _validated(_: object, loggers: object, samples: Sequence[Sequence[object]], step: int) -> None:
    """(input, output, score) of some validation prompts: as many as trainer.log_val_generations."""
    backend = current()
    if backend is None or backend.recorder is None:
        return
    rows = [
        {"split": "evaluation", "prompt": str(row[0]), "completion": str(row[1]), "reward": row[2]}
        for row in samples
        if len(row) >= 3
    ]
    backend.recorder.log_samples(step, rows, owned=True)
