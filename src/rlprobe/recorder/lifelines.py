"""What happens to a recorder when its process ends, however it ends.

| end of the process | what is done |
|---|---|
| close(), leaving the `with` block, interpreter exit | everything written, snapshot, state closed |
| an exception that nobody caught | crash event, flush; state crashed when it ends the interpreter |
| SIGTERM, SIGINT | signal event, flush, then what would have happened without rlprobe |
| SIGTERM, SIGINT in a process of multiprocessing | as SIGKILL: a pool ends its workers so, and waits for them |
| fork | the child's copy is inert, its signals are what they were, from its first moment on; the parent's goes on |
| os._exit, SIGKILL, SIGSEGV | nothing runs; the journal holds what is older than a poll, readers see the free lock |
"""

import atexit
import contextlib
import os
import signal
import sys
import threading
import traceback
import weakref
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlprobe.recorder.recorder import Recorder

_FLUSH_SECONDS = 2.0  # how long a dying process waits for the writer
_CLOSE_SECONDS = 60.0  # how long the interpreter's exit waits for the last snapshot
_SIGNAL_SECONDS = 10.0  # how long a process that was told to end waits for it: schedulers kill after half a minute
_TRACEBACK_LINES = 60
_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_live: "weakref.WeakSet[Recorder]" = weakref.WeakSet()
_before: dict[int, object] = {}  # signal -> the handler that was there before ours
_state = {"installed": False}
_masks = threading.local()  # of the thread that forks: its signals before the fork


def attach(recorder: "Recorder") -> None:
    """Watch over a recorder until `detach`."""
    if not _state["installed"]:
        _state["installed"] = True
        atexit.register(_at_exit)
        _chain_excepthooks()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=_hold_signals, after_in_parent=_let_signals_go, after_in_child=_in_child)
    _live.add(recorder)
    _install_signals()


def live() -> "list[Recorder]":
    """The recorders of this process that are open."""
    return list(_live)


def detach(recorder: "Recorder") -> None:
    """Let go of a recorder that was closed; the last one gives the signals back."""
    _live.discard(recorder)
    if not _live and threading.current_thread() is threading.main_thread():
        _give_signals_back()


def _give_signals_back() -> None:
    for number, before in list(_before.items()):
        if signal.getsignal(number) is _on_signal:
            with contextlib.suppress(ValueError, TypeError):
                signal.signal(number, before)  # type: ignore[arg-type]  # what getsignal returned
    _before.clear()


def _install_signals() -> None:
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may; the journal survives these signals anyway
    if _in_a_worker():
        return
    for number in _SIGNALS:
        before = signal.getsignal(number)
        if before is _on_signal or before is None or before is signal.SIG_IGN:
            continue
        with contextlib.suppress(ValueError):
            signal.signal(number, _on_signal)
            _before[number] = before


def _in_a_worker() -> bool:
    """Whether multiprocessing started this process.

    A handler in Python runs between two bytecodes: a worker that is just about to wait for a lock would not end by
    the SIGTERM with which its pool ends it, and the pool would wait for ever.
    """
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _on_signal(number: int, frame: FrameType | None) -> None:
    for recorder in list(_live):
        recorder.log_event("signal", None, signal=signal.Signals(number).name)
        recorder.flush(_FLUSH_SECONDS)
    before = _before.get(number, signal.SIG_DFL)
    if callable(before):
        before(number, frame)
        return
    for recorder in list(_live):
        recorder.mark_crashed()
        recorder.close(_SIGNAL_SECONDS)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _chain_excepthooks() -> None:
    before, before_thread = sys.excepthook, threading.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        tell_crash(error, "main")
        for recorder in list(_live):
            recorder.mark_crashed()
        before(kind, error, trace)

    def thread_hook(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None and not isinstance(arguments.exc_value, SystemExit):
            tell_crash(arguments.exc_value, arguments.thread.name if arguments.thread else "unknown")
        before_thread(arguments)

    sys.excepthook = hook
    threading.excepthook = thread_hook


def tell_crash(error: BaseException, thread: str) -> None:
    """Have every live recorder keep the exception."""
    fields = crash_fields(error, thread)
    for recorder in list(_live):
        recorder.log_event("crash", None, **fields)
        recorder.flush(_FLUSH_SECONDS)


def crash_fields(error: BaseException, thread: str) -> dict[str, object]:
    """What a crash event says."""
    try:
        lines = "".join(traceback.format_exception(error)).splitlines()[-_TRACEBACK_LINES:]
        message = str(error)
    except Exception as own:  # an exception whose own text fails
        lines, message = [], f"{type(own).__name__} while it was formatted"
    return {"error": type(error).__name__, "message": message, "traceback": "\n".join(lines), "thread": thread}


def _at_exit() -> None:
    for recorder in list(_live):
        recorder.close(_CLOSE_SECONDS)


def _hold_signals() -> None:
    """Before a fork: Python forgets a signal that reaches the child while our handler is still in it. Held back, it
    comes once the child has its own again, as it would without us.
    """
    with contextlib.suppress(ValueError, OSError):
        _masks.before = signal.pthread_sigmask(signal.SIG_BLOCK, tuple(_before)) if _before else None


def _let_signals_go() -> None:
    before, _masks.before = getattr(_masks, "before", None), None
    if before is not None:
        with contextlib.suppress(ValueError, OSError):
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_child() -> None:
    try:
        for recorder in list(_live):
            recorder.become_inert()
        _live.clear()
        _give_signals_back()
    finally:
        _let_signals_go()
