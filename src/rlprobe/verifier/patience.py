"""Bounded time for each call of the user's code: an endless loop is told as a finding, and the walk goes on.

In the main thread of a POSIX system a timer's signal ends the call, else another thread asks the interpreter to. Python
code is ended, and what waits for a child or a socket; a loop inside C code is not. What a check does besides these
calls (a tokenizer, a data set, a backward pass of the user's) is bounded as a whole, in the main thread alone.
"""

import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")
SHARE = 3  # of the whole budget, so many calls may hang before it is used up
SLOW_SLOTS = frozenset(("score", "train_step", "engine_logprobs"))  # they run a model: the whole budget is theirs
AGAIN = 0.1  # of the time for a function that has hung before
MOST = 3  # hangs of one function, after which it is not called any more
REPEATED_SECONDS = 1.0  # after the first signal: code that swallows every exception gets another one


class OverdueError(BaseException):
    """A call ran longer than it may; no Exception, so that the user's own handlers let it through."""


class StuckError(BaseException):
    """A check stood still outside the calls that are bounded one by one."""


class LateError(TimeoutError):
    """A call that was ended, with the traceback of where it stood."""


class _Patience:
    def __init__(self) -> None:
        self.seconds = 0.0  # 0: no limit
        self.hung: dict[int, int] = {}


_patience = _Patience()


@contextmanager
def patient(budget_seconds: float) -> Iterator[None]:
    """While it is open, calls under `limited` may take a share of the budget each; without a budget, any time."""
    before = _patience.seconds, _patience.hung
    _patience.seconds, _patience.hung = budget_seconds, {}
    try:
        yield
    finally:
        _patience.seconds, _patience.hung = before


def limited(call: Callable[[], T], *, slot: str, target: object) -> T:
    """The result of the call.

    Args:
        call: what is to be done, without arguments.
        slot: the function's place, which says how long it may take.
        target: the user's function; one that hung is given less time, and in the end none.
    Raises:
        LateError: it did not come back in time; the message says in how many seconds.
    """
    if not _patience.seconds:
        return call()
    hung = _patience.hung.get(id(target), 0)
    whole = _patience.seconds if slot.partition(":")[0] in SLOW_SLOTS else _patience.seconds / SHARE
    seconds = whole * AGAIN if hung else whole
    late = f"no exception, but no answer in {whole:.3g} s of a --budget of {_patience.seconds:.3g} s"
    if hung >= MOST:
        raise LateError(late)
    try:
        with _interrupted(seconds):
            return call()
    except OverdueError as overdue:
        _patience.hung[id(target)] = hung + 1
        raise LateError(late).with_traceback(overdue.__traceback__) from None


def bounded(check: Callable[[], T]) -> T:
    """The result of a whole check, whose clock stands still during calls under `limited`.

    Raises:
        StuckError: it did not end in a share of the budget; its traceback tells where it stood.
    """
    if not _patience.seconds or not _has_signals():
        return check()
    with _by_signal(_patience.seconds / SHARE, StuckError):
        return check()


def _has_signals() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def _interrupted(seconds: float) -> Iterator[None]:
    """OverdueError is raised inside the block when the time is over."""
    with _by_signal(seconds, OverdueError) if _has_signals() else _by_thread(seconds):
        yield


@contextmanager
def _by_signal(seconds: float, overdue_error: type[BaseException]) -> Iterator[None]:
    running = True

    def overdue(_number: int, frame: FrameType | None) -> None:
        if running and not (overdue_error is StuckError and _imports(frame)):
            raise overdue_error

    handler = signal.signal(signal.SIGALRM, overdue)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds, REPEATED_SECONDS)
    try:
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, remaining, interval)
        signal.signal(signal.SIGALRM, handler if handler is not None else signal.SIG_DFL)


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported inside the check: torch, say, would be left in halves."""
    while frame is not None and frame.f_code is not bounded.__code__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def _by_thread(seconds: float) -> Iterator[None]:
    caller = ctypes.c_ulong(threading.get_ident())
    done = threading.Event()
    lock = threading.Lock()

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            with lock:
                if not done.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(caller, ctypes.py_object(OverdueError))
            wait = REPEATED_SECONDS

    watcher = threading.Thread(target=watch, name="rlprobe-patience", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        with lock:
            done.set()
