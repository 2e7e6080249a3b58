"""Where messages go: any URL of the apprise library, each with a thread of its own, so that none can disturb a watch.

A URL holds secrets: it is kept in memory only, and a channel is named by its place and its scheme.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from queue import Full, Queue
from typing import Protocol

from rlprobe.guardian.messages import Message

INSTALL = "pip install 'rlprobe[alerts]'"
_WAITING = 32  # messages that a channel holds; what is more is dropped
_RETRIES = (2.0, 10.0)  # seconds before a message is tried again
_MOST_BODY = 20_000  # characters


class ChannelError(ValueError):
    """A channel cannot be set up; the message is one line that holds no secret."""


class _Service(Protocol):
    def notify(self, *, title: str, body: str, notify_type: str, body_format: str) -> object: ...


class Channel:
    """One place that messages go to. The sending thread is started with the first message and ends with the process.

    Args:
        name: how it is called in public.
        service: sends a message; whatever it does, the watch goes on.

    Attributes:
        trouble: called once when a message could not be delivered.
    """

    def __init__(self, name: str, service: _Service) -> None:
        self.name = name
        self.trouble: Callable[[str], None] = _nobody
        self._service = service
        self._queue: Queue[Message] = Queue(_WAITING)
        self._thread: threading.Thread | None = None
        self._failed = False
        self._closing = threading.Event()

    def send(self, message: Message) -> None:
        """Hand a message over; it is sent in the background."""
        try:
            self._queue.put_nowait(message)
        except Full:
            self._tell("more messages wait for it than are kept; the newest are left out")
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"rlprobe-{self.name}", daemon=True)
            self._thread.start()

    def close(self, timeout: float) -> bool:
        """Wait until what was handed over is sent, without further retries; False when that took too long."""
        self._closing.set()
        queue = self._queue
        with queue.all_tasks_done:
            return queue.all_tasks_done.wait_for(lambda: queue.unfinished_tasks == 0, timeout)

    def _work(self) -> None:
        while True:
            message = self._queue.get()
            if not self._delivered(message):
                self._tell("a message could not be delivered; the watch goes on, and this is told once")
            self._queue.task_done()

    def _delivered(self, message: Message) -> bool:
        for pause in (*_RETRIES, None):
            try:
                sent = self._service.notify(
                    title=message.title, body=message.body[:_MOST_BODY], notify_type=message.urgency, body_format="text"
                )
            except Exception:  # a plugin of apprise, or of the user, ran; its text may hold the URL
                sent = False
            if sent:
                return True
            if pause is None or self._closing.wait(pause):
                return False
        return False

    def _tell(self, what: str) -> None:
        if not self._failed:
            self._failed = True
            self.trouble(f"{self.name}: {what}.")


def _nobody(text: str) -> None:
    """Until somebody listens."""


def open_channels(urls: Sequence[str]) -> list[Channel]:
    """A channel for each URL.

    Raises:
        ChannelError: apprise is not installed, or does not know a URL.
    """
    if not urls:
        return []
    try:
        import apprise
    except ImportError:
        raise ChannelError(f"--alert: expected the apprise library, got none. Run {INSTALL}.") from None
    _hush()
    channels = []
    for place, url in enumerate(urls, start=1):
        service = apprise.Apprise()
        if not service.add(url):
            raise ChannelError(
                f"--alert: expected a notification URL of the apprise library, got one in place {place} that it does "
                "not know. `apprise --details` lists the forms."
            )
        channels.append(Channel(f"alert {place} ({_scheme(url)})", service))
    return channels


def _scheme(url: str) -> str:
    scheme = url.partition("://")[0].strip().lower()
    return scheme if scheme.isalnum() and len(scheme) <= 20 else "url"


def _hush() -> None:
    """Keep the libraries' own log, which names hosts and paths, from every handler."""
    for name in ("apprise", "urllib3", "requests_oauthlib", "oauthlib", "smtplib"):
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False
