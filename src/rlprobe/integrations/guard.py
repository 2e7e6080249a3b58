"""The guard around every hook: whatever fails inside it is recorded once, and training goes on.

A hook must never raise into somebody's training loop. Under pytest, and only with RLPROBE_STRICT_HOOKS=1, it raises,
so that our own tests see what users must not.
"""

import logging
import os
import traceback
from collections.abc import Callable
from types import TracebackType

log = logging.getLogger("rlprobe")

STRICT = "RLPROBE_STRICT_HOOKS"
TRACEBACK_FRAMES = 3  # innermost frames kept in the event; enough to find the line, too few to leak data


class HookGuard:
    """Counts and reports the failures of hooks.

    Args:
        report: called once per hook and kind of failure with (hook, error type, message, innermost frames); it may
            itself fail, which is ignored.
    """

    def __init__(self, report: Callable[[str, str, str, str], None]) -> None:
        self._report = report
        self._seen: set[tuple[str, str]] = set()
        self.failures = 0

    def __call__(self, hook: str) -> "_Guarded":
        """A context manager that swallows what the hook raises."""
        return _Guarded(self, hook)

    def caught(self, hook: str, error: BaseException) -> None:
        """Count one failure and report it if this hook has not failed in this way before."""
        self.failures += 1
        key = (hook, type(error).__name__)
        if key in self._seen:
            return
        self._seen.add(key)
        frames = "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)[-TRACEBACK_FRAMES:]))
        log.warning("rlprobe: %s failed (%s: %s); training goes on", hook, type(error).__name__, error)
        try:
            self._report(hook, type(error).__name__, str(error)[:500], frames)
        except Exception as second:
            log.warning("rlprobe: the failure of %s could not be recorded: %s", hook, second)


class _Guarded:
    __slots__ = ("_guard", "_hook")

    def __init__(self, guard: HookGuard, hook: str) -> None:
        self._guard = guard
        self._hook = hook

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):  # KeyboardInterrupt and SystemExit are the user's
            return False
        self._guard.caught(self._hook, error)
        return not (os.environ.get(STRICT) == "1" and "PYTEST_CURRENT_TEST" in os.environ)
