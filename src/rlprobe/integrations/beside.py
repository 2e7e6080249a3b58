"""The guardian beside training: `rlprobe watch RUN --halt` as a process of its own, spawned, never forked.

Training shares nothing with it but the run's directory. It ends by itself when the run ends or when this process does;
whatever happens to it, training goes on.
"""

import logging
import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path

from rlprobe.recorder.recorder import Recorder

log = logging.getLogger("rlprobe")

LOG = "guardian.log"  # in the run's directory: what the watch prints
_LAST_SECONDS = 30.0  # how long a run that is closed waits for the watch's last messages
_EXACT = "NUMERIC_NAN"
_NO_FAULT = frozenset((0, 1, 3))  # exit codes of a watch that did its job, whatever it found


class Guardian:
    """A watch beside this process.

    Args:
        run_dir: the recording, open already.
        config: a doctor.toml with a section [guardian]; None for the defaults.
        halt: whether the watch asks training to halt where its policy allows it.
        listener: called with each line of JSON that the watch prints, in a thread of its own; None keeps plain lines
            in the log.
    """

    def __init__(
        self,
        run_dir: Path,
        config: Path | None = None,
        *,
        halt: bool = True,
        listener: Callable[[bytes], None] | None = None,
    ) -> None:
        self._run_dir, self._config = run_dir, config
        self._halt, self._listener = halt, listener
        self._reaper: threading.Thread | None = None
        self._again = False  # a new segment began while the watch of the last one was at work

    def start(self) -> None:
        """Start the watch; where one is at work, another follows it. Raises nothing."""
        self._again = self._reaper is not None and self._reaper.is_alive()
        if not self._again:
            self._reaper = threading.Thread(target=self._attend, name="rlprobe-guardian", daemon=True)
            self._reaper.start()

    def act_at_once(self, recorder: Recorder) -> None:
        """Where the policy allows it, have training halt by itself on numbers that are not finite. Raises nothing."""
        first_step = _first_step(self._config)
        if self._halt and first_step is not None:
            recorder.stop_on_nonfinite(first_step)

    def wait(self, timeout: float = _LAST_SECONDS) -> bool:
        """Wait until the watch has told the end of a closed run; False when that took too long."""
        if self._reaper is not None:
            self._reaper.join(timeout)
        return self._reaper is None or not self._reaper.is_alive()

    def _attend(self) -> None:
        """Spawn the watch and wait for its end, so that no zombie stays; training without a guardian goes on."""
        while True:
            self._again = False
            try:
                code = self._heard(self._spawn())
            except Exception as error:  # no interpreter, no memory, no rights: said, and left at that
                log.warning("rlprobe: the guardian could not be started (%s: %s)", type(error).__name__, error)
                return
            if code not in _NO_FAULT:
                log.warning("rlprobe: the guardian ended with code %d (%s in the run says why)", code, LOG)
            if not self._again:
                return

    def _heard(self, watch: "subprocess.Popen[bytes]") -> int:
        """Pass on what the watch prints until it ends; its exit code."""
        with watch:
            for line in watch.stdout or ():
                try:
                    if self._listener is not None:
                        self._listener(line)
                except Exception as error:  # a line that was cut; the watch must not wait for a reader that died
                    log.debug("rlprobe: a line of the guardian could not be read: %s", error)
            return watch.wait()

    def _spawn(self) -> "subprocess.Popen[bytes]":
        config = [] if self._config is None else ["--config", str(self._config)]
        form = ["--json" if self._listener else "--plain", *(["--halt"] if self._halt else [])]
        words = ["watch", str(self._run_dir), *form, "--beside", str(os.getpid()), *config]
        descriptor = os.open(self._run_dir / LOG, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "rlprobe", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if self._listener else descriptor,
                stderr=descriptor,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is training's: the watch stays to tell the end
            )
        finally:
            os.close(descriptor)


def _first_step(config: Path | None) -> int | None:
    """First step at which the policy lets NUMERIC_NAN halt; None where it does not, or the file cannot be meant."""
    try:
        table = {} if config is None else tomllib.loads(config.read_text(encoding="utf-8"))
        policy = table.get("guardian", {}).get("halt", {})
        signature = table.get("signatures", {}).get(_EXACT, {})
        only, never = policy.get("only", []), policy.get("never", [])
        critical = signature.get("enabled", True) and signature.get("severity") != "info"
        allowed = policy.get("exact", True) and policy.get("at_once", True)
        named = _EXACT not in never and (not only or _EXACT in only)
        return int(policy.get("first_step", 0)) if critical and allowed and named else None
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _environment() -> dict[str, str]:
    """This process's variables; a checkout that is not installed is named, since -P leaves out the current folder."""
    home = Path(__file__).resolve().parents[2]
    variables = dict(os.environ)
    if home.name not in ("site-packages", "dist-packages"):
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, (str(home), variables.get("PYTHONPATH"))))
    return variables
