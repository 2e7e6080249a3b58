"""Findings written back to where the user looks: wandb's summary and alerts, TensorBoard's texts, Trackio's alerts.

`rlprobe watch` beside training finds; this process only passes on, from the thread that trains, while it logs. A logger
that refuses is told of once and left alone.
"""

import json
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol

from rlprobe.integrations.beside import Guardian
from rlprobe.integrations.guard import HookGuard
from rlprobe.recorder.recorder import Recorder

_WAITING = 256  # messages that wait for the next call of a logger; older ones fall out
_TITLE = 63  # characters of a wandb alert's title
_FRESH = frozenset({"new", "worse"})  # told as alerts
_GONE = frozenset({"recovered", "withdrawn", "passed"})
_LOUD = frozenset({"critical", "warning"})
_LEVELS = {"critical": "ERROR", "warning": "WARN", "info": "INFO"}  # the names are those of wandb and of Trackio
VERDICT, FINDINGS = "rlprobe/verdict", "rlprobe/findings"

Document = dict[str, object]
Writers = Callable[[], Iterable[object]]


class _WandbRun(Protocol):
    summary: dict[str, object]

    def alert(self, *, title: str, text: str, level: str) -> None: ...


def checked(tell: Sequence[str]) -> tuple[str, ...]:
    """The names of the loggers.

    Raises:
        ValueError: one of them is none that findings can be written to.
    """
    names = (tell,) if isinstance(tell, str) else tuple(tell)
    wrong = next((name for name in names if name not in _SPEAKERS), None)
    if wrong is not None:
        raise ValueError(
            f"tell: expected names among {', '.join(_SPEAKERS)}, got {str(wrong)[:80]!r}. Choose of those."
        )
    return names


class Telling:
    """A watch beside this process, and what it finds on its way into the loggers.

    Args:
        run_dir: the recording, open already.
        tell: names of loggers.
        writers: gives the TensorBoard writers of this process.
        halt, config: as in `attach`.
    """

    def __init__(
        self,
        run_dir: Path,
        tell: Sequence[str],
        *,
        writers: Writers = tuple,
        halt: bool = False,
        config: Path | None = None,
    ) -> None:
        self._names = checked(tell)
        self._writers = writers
        self._heard: deque[Document] = deque(maxlen=_WAITING)
        self._active: dict[str, str] = {}  # name of a finding -> the line that tells it
        self._guard = HookGuard(lambda *_: None)
        self._guardian = Guardian(run_dir, config, halt=halt, listener=self._hear)

    def start(self) -> None:
        """Start the watch. Raises nothing."""
        self._guardian.start()

    def wait(self) -> bool:
        """As `tell_the_end`; whether the watch has ended."""
        self.tell_the_end()
        return self._guardian.wait(0.0)

    def act_at_once(self, recorder: Recorder) -> None:
        """As the guardian's own."""
        self._guardian.act_at_once(recorder)

    def speaks_to(self, logger: str) -> bool:
        """Whether findings are written into this logger."""
        return logger in self._names

    def tell(self) -> None:
        """Pass on what was found since the last call. Raises nothing; waits for nothing."""
        while self._heard:
            document = self._heard.popleft()
            self._remember(document)
            for name in self._names:
                with self._guard(f"telling {name}"):
                    _SPEAKERS[name](self, document)

    def tell_the_end(self) -> None:
        """Once the recording is closed: wait for the final diagnosis and pass it on."""
        self._guardian.wait()
        self.tell()
        for writer in self._writers() if "tensorboard" in self._names else ():
            with self._guard("flushing tensorboard"):
                writer.flush()  # type: ignore[attr-defined]  # a SummaryWriter

    def _hear(self, line: bytes) -> None:
        """Runs in the guardian's thread."""
        document = json.loads(line)
        if isinstance(document, dict):
            self._heard.append(document)

    def _remember(self, document: Document) -> None:
        name, kind = str(document.get("name")), document.get("kind")
        if kind in _GONE:
            self._active.pop(name, None)
        elif "finding" in document:
            self._active[name] = str(document.get("text"))

    # the loggers

    def _to_wandb(self, document: Document) -> None:
        run: _WandbRun | None = getattr(sys.modules.get("wandb"), "run", None)
        if run is None:
            return
        verdict = _verdict(document)
        if verdict:
            run.summary[VERDICT] = verdict
        run.summary[FINDINGS] = sorted(self._active)
        if _alarming(document):
            run.alert(title=_title(document), text=str(document["text"]), level=_level(document))

    def _to_trackio(self, document: Document) -> None:
        holder: ContextVar[object] | None = getattr(sys.modules.get("trackio.context_vars"), "current_run", None)
        run = None if holder is None else holder.get()
        if run is not None and _alarming(document):
            levels = vars(sys.modules["trackio.alerts"])["AlertLevel"]
            run.alert(title=_title(document), text=str(document["text"]), level=levels[_level(document)])  # type: ignore[attr-defined]  # a run of Trackio

    def _to_tensorboard(self, document: Document) -> None:
        verdict = _verdict(document)
        text = f"verdict: {verdict}" if verdict else str(document.get("text")) if "finding" in document else ""
        for writer in self._writers() if text else ():
            tag = VERDICT if verdict else FINDINGS
            writer.add_text(tag, text.replace("<", "&lt;"), document.get("step"))  # type: ignore[attr-defined]  # a SummaryWriter


_SPEAKERS: dict[str, Callable[[Telling, Document], None]] = {
    "wandb": Telling._to_wandb,
    "tensorboard": Telling._to_tensorboard,
    "trackio": Telling._to_trackio,
}


def _verdict(document: Document) -> str:
    """The verdict of a final diagnosis; "" of any other document."""
    diagnosis = document.get("diagnosis")
    return str(diagnosis.get("verdict")) if isinstance(diagnosis, dict) else ""


def _alarming(document: Document) -> bool:
    return document.get("kind") in _FRESH and document.get("severity") in _LOUD


def _title(document: Document) -> str:
    return f"rlprobe: {document.get('name')}"[:_TITLE]


def _level(document: Document) -> str:
    return _LEVELS.get(str(document.get("severity")), "INFO")
