"""The Recorder: what a training process holds in its hands.

Nothing here raises into training once a Recorder is constructed, waits for a disk, or looks at more of a value than its
type: calls copy what could change and hand it over; everything else is the writer thread's.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from time import time
from types import TracebackType
from typing import Self

from rlprobe.recorder import lifelines
from rlprobe.recorder.environment import learn_environment
from rlprobe.recorder.facts import entered, new_document
from rlprobe.recorder.halting import ExactStop, HaltRequest, set_aside
from rlprobe.recorder.items import LEAST, MOST, EventItem, ManifestItem, Row, SamplesItem, whole_step
from rlprobe.recorder.opening import RecorderError, RunInUse, open_directory
from rlprobe.recorder.ownership import MetricsHolder, owned_rows, size_of_rows
from rlprobe.recorder.ranks import CommonStop, current_rank, world_size
from rlprobe.recorder.sample_rows import CaptureText, capture_text_of
from rlprobe.recorder.sampling import CAPTURES, Capture, SamplePolicy
from rlprobe.recorder.session import Session
from rlprobe.recorder.worker import Bounds, Worker
from rlprobe.recording.layout import rank_directory
from rlprobe.recording.run import Metadata, State

__all__ = ["Recorder", "RecorderError", "RunInUse"]

log = logging.getLogger("rlprobe")


class Recorder:
    """Records one training run.

    Args:
        run_dir: the run's directory; made when it is not there, continued in a new segment when it is.
        algorithm: "grpo", "rloo", "ppo", "dpo" ...
        model: name of the model that is trained.
        framework: "trl", "verl" ...
        config: the trainer's configuration: a mapping, or an object with `to_dict()` or attributes; redacted.
        settings: canonical setting (recording/settings.py) -> value.
        metadata: metric -> what is known of it (unit, estimator, pair ...).
        capture: which sample rows are kept: "default", "scalars", "samples", "tokens", "all" (recorder/sampling.py).
        capture_text: whether the texts of samples are kept (True), hashed ("hash") or left out (False), in whatever
            column, and token ids; events stay as they are. None: RLPROBE_CAPTURE_TEXT (yes, hash, no) says it.
        record_all_ranks: whether ranks other than 0 record too, each into a directory of its own.
        max_bytes: bytes of sample rows, after which ever fewer steps keep rows, but for those around an event.
        bounds: items and bytes that may wait for the writer thread; what does not fit is dropped and counted.

    Raises:
        RunInUse: another recorder is writing to the run.
        RecorderError: the directory cannot be made or written, or an argument is wrong.
        UnreadableRecording: the directory is of a newer format version, or its manifest.json is somebody else's.
    """

    def __init__(
        self,
        run_dir: str | Path,
        *,
        algorithm: str = "",
        model: str = "",
        framework: str = "",
        config: object = None,
        settings: Mapping[str, object] | None = None,
        metadata: Mapping[str, Metadata] | None = None,
        capture: Capture = "default",
        capture_text: CaptureText | None = None,
        record_all_ranks: bool = False,
        max_bytes: int = 2 << 30,
        bounds: Bounds | None = None,
    ) -> None:
        if capture not in CAPTURES:
            raise RecorderError(f"capture: expected one of {', '.join(CAPTURES)}, got {capture!r}. Choose one of them.")
        texts = capture_text_of(capture_text)
        self.run_dir = Path(run_dir)
        self.rank = current_rank()
        self.errors = 0
        self._halt = HaltRequest(self.run_dir)
        self._stop = CommonStop.of(self.run_dir, processes=world_size(), first=self.rank == 0)
        self._end: State = "closed"
        self._inert = self.rank != 0 and not record_all_ranks
        self._worker: Worker | None = None
        self._hold = MetricsHolder().hold
        if self._inert:
            return
        self._opened = open_directory(rank_directory(self.run_dir, self.rank))
        facts = {"algorithm": algorithm, "model": model, "framework": framework, "configuration": config}
        facts |= {"settings": settings, "metrics": metadata}
        options: dict[str, object] = {"capture": capture, "capture_text": texts, "max_bytes": max_bytes}
        options |= {"ranks": world_size(), "all_ranks": record_all_ranks, "rank": self.rank}
        try:
            self._worker = self._start(facts, options, SamplePolicy(capture=capture, max_bytes=max_bytes), bounds)
        except OSError as error:
            self._opened.lock.release()
            raise RecorderError(
                f"{self._opened.root}: expected a directory to record into, got {type(error).__name__}: "
                f"{error.strerror}. Name a directory that can be written and has space."
            ) from None
        lifelines.attach(self)

    def _start(
        self, facts: Mapping[str, object], options: dict[str, object], policy: SamplePolicy, bounds: Bounds | None
    ) -> Worker:
        opened = self._opened
        if opened.segment > 0 and self.rank == 0:
            set_aside(self.run_dir, opened.segment)
        document = entered(new_document(opened, options), facts)
        capture_text: CaptureText = options["capture_text"]  # type: ignore[assignment]  # checked by the constructor
        session = Session(
            opened.root, opened.segment, document, policy=policy, capture_text=capture_text, lock=opened.lock
        )
        self._halt.read()
        first = partial(learn_environment, session.learn)
        worker = Worker(session, bounds or Bounds(), first=first, each=self._halt.read)
        worker.start()
        return worker

    # logging: never raises, never waits

    def log_step(self, step: int, metrics: Mapping[str, object] | None = None, /, **named: object) -> None:
        """Record metrics of a step. Calls for the same step are merged; of two values for a metric the later stays.

        Args:
            step: the trainer's step.
            metrics: name -> number; known names are those of recording/metrics.py, any other is kept too. The mapping
                is copied, tensors and arrays in it as well.
            named: more metrics.
        """
        worker = self._worker
        if self._inert or worker is None:
            return
        try:
            if named:
                metrics = {**metrics, **named} if metrics else named
            number = step if type(step) is int and LEAST <= step <= MOST else whole_step(step)
            worker.submit(self._hold(number, time(), metrics or {}, worker.crowded))
            if self._halt.exact is not None:
                self._halt.see(number, metrics or {})
        except Exception as error:
            self._failed("log_step", error)

    def log_samples(
        self, step: int, rows: Sequence[Row] | Mapping[str, Sequence[object]], *, owned: bool = False
    ) -> None:
        """Record samples of a step; several calls for a step count as one batch.

        Args:
            step: the trainer's step.
            rows: a dict a sample, or a dict of columns of equal length. Known columns are in recording/layout.py
                (SAMPLE_COLUMNS); `rewards` and `reward_texts` may be dicts by reward function. Others are kept.
            owned: the caller promises not to change rows, nor arrays in them, after the call: nothing is copied.
        """
        worker = self._worker
        if self._inert or worker is None:
            return
        try:
            if not owned:
                rows = owned_rows(rows)
            size, count = size_of_rows(rows)
            worker.submit(SamplesItem(whole_step(step), time(), rows, size), count)
        except Exception as error:
            self._failed("log_samples", error)

    def log_event(self, kind: str, step: int | None = None, **fields: object) -> None:
        """Record an event: a checkpoint, an evaluation, anything (docs/recording-format.md lists the known kinds)."""
        worker = self._worker
        if self._inert or worker is None:
            return
        try:
            if kind == "checkpoint" and self._halt.exact is not None:
                self._halt.exact.saved(step, fields.get("path"))
            worker.submit(EventItem(str(kind), None if step is None else whole_step(step), time(), fields), 0)
            worker.wake()
        except Exception as error:
            self._failed("log_event", error)

    def describe(
        self,
        *,
        algorithm: str | None = None,
        model: str | None = None,
        framework: str | None = None,
        config: object = None,
        settings: Mapping[str, object] | None = None,
        metadata: Mapping[str, Metadata] | None = None,
    ) -> None:
        """Add facts about the run that were not known when the Recorder was made; None leaves a fact as it is."""
        worker = self._worker
        if self._inert or worker is None:
            return
        try:
            facts = {"algorithm": algorithm, "model": model, "framework": framework, "configuration": config}
            changes = entered({}, {**facts, "settings": settings, "metrics": metadata})
            worker.submit(ManifestItem(changes), 0)
        except Exception as error:
            self._failed("describe", error)

    def _failed(self, where: str, error: Exception) -> None:
        self.errors += 1
        if self._worker is not None:
            self._worker.session.fail(where, error)

    # the run as a whole

    @property
    def should_stop(self) -> bool:
        """Whether a guardian asks training to stop. Cheap: the recorder's own thread looks, twice a second."""
        halt = self._halt
        asked = halt.look() if self._inert or self._worker is None else halt.asked
        if asked and not halt.told and not self._inert:
            halt.told = True
            self.log_event("halt", None, **{**halt.fields, "reason": halt.reason})
            log.warning("rlprobe: training is asked to halt: %s", halt.line)
        return asked

    def should_stop_after(self, step: int, seconds: float = 1.0) -> bool:
        """Whether training stops after this step: in every process of the run after the same one.

        Ask it on every rank at the end of each step, also on those that do not record.

        Args:
            step: the step that just ended.
            seconds: how long a step takes, so that a halt is named far enough ahead for other hosts to see it.
        """
        try:
            asked = self.rank == 0 and self.should_stop
            return self._stop.due(step, seconds, asked=asked, wished=self._halt.fields.get("after_step"))
        except Exception as error:
            self._failed("should_stop_after", error)
            return False

    def stop_on_nonfinite(self, first_step: int = 0) -> None:
        """Have training asked to stop at once where its loss or gradient norm stays NaN or infinite.

        Args:
            first_step: below this step nothing halts.
        """
        self._halt.exact = ExactStop(first_step=first_step)

    @property
    def stop_reason(self) -> str:
        """Why the guardian asks training to stop; "" while it does not."""
        return self._halt.reason

    @property
    def dropped(self) -> int:
        """Rows that were not recorded so far."""
        return 0 if self._worker is None else self._worker.dropped

    @property
    def segment(self) -> int:
        """Index of this session in the run; -1 on a rank that does not record."""
        return -1 if self._worker is None else self._opened.segment

    def flush(self, timeout: float = 10.0) -> bool:
        """Have everything logged so far in the journal, where it survives the process.

        Returns:
            False when that took longer than `timeout` seconds, or the disk refuses it; it then happens later.
        """
        return True if self._inert or self._worker is None else self._worker.flush(timeout)

    def close(self, timeout: float = 60.0) -> bool:
        """Write everything, make the last snapshot, release the run. Later calls do nothing.

        Returns:
            False when that took longer than `timeout` seconds; it then goes on while the process lives.
        """
        if self._inert or self._worker is None:
            return True
        self._inert = True
        lifelines.detach(self)
        return self._worker.close(self._end, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, (SystemExit, GeneratorExit)):
            self.log_event("crash", None, **lifelines.crash_fields(error, "main"))
            self.mark_crashed()
        self.close()

    def mark_crashed(self) -> None:
        """The process ends by an error: the run is closed as crashed."""
        self._end = "crashed"

    def become_inert(self) -> None:
        """In a forked child: let go of every file without a write; the parent's recorder goes on."""
        if self._inert or self._worker is None:
            return
        self._inert = True
        self._worker.session.abandon()

    def __getstate__(self) -> dict[str, object]:
        """A copy, also one that is sent to another process, records nothing: a run has one recorder."""
        return {**self.__dict__, "_inert": True, "_worker": None, "_opened": None}
