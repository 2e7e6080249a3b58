"""Messages that really leave: a local HTTP server, a local mail server, and channels that fail or hang."""

import json
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from email import message_from_bytes
from email.header import decode_header, make_header
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from rlprobe.guardian.channels import Channel, ChannelError, open_channels
from rlprobe.guardian.messages import Message
from tests.guardian.stories import append, rows

SECRET = "s3cr3t-t0ken"
PATIENCE = 20  # seconds for something that takes milliseconds
NIGHT = Message(
    occasion="new",
    title="CRITICAL: KL_BLOWUP in runs/night since step 212",
    body="It runs.\n- kl 0.1 → 3",
    urgency="failure",
)

# apprise imports modules that Python 3.13 drops
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Inbox:
    """An HTTP server that keeps what is posted and answers as it is told."""

    def __init__(self, *, status: int = 200, gate: threading.Event | None = None) -> None:
        inbox: Queue[tuple[str, bytes]] = Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                inbox.put((self.path, body))
                if gate is not None:
                    gate.wait(PATIENCE)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self.posts = inbox
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """As apprise wants it, secrets in every place that has room for one."""
        return f"json://user:{SECRET}@127.0.0.1:{self._server.server_port}/{SECRET}/?-token={SECRET}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    made = Inbox()
    yield made
    made.close()


class Mailbox:
    """What a mail server hands its letters to."""

    def __init__(self) -> None:
        self.letters: Queue[Envelope] = Queue()

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.letters.put(envelope)
        return "250 OK"


def heard(channel: Channel) -> list[str]:
    troubles: list[str] = []
    channel.trouble = troubles.append
    return troubles


def test_a_message_arrives_at_an_http_server(inbox: Inbox) -> None:
    (channel,) = open_channels([inbox.url])
    troubles = heard(channel)
    channel.send(NIGHT)

    assert channel.close(PATIENCE)
    _, body = inbox.posts.get(timeout=PATIENCE)
    told = json.loads(body)
    assert (told["title"], told["type"]) == (NIGHT.title, "failure")
    assert told["message"] == NIGHT.body
    assert troubles == []


def test_a_message_arrives_at_a_mail_server() -> None:
    mailbox = Mailbox()
    server = Controller(mailbox, hostname="127.0.0.1", port=_free_port())
    server.start()
    try:
        url = f"mailto://127.0.0.1:{server.port}?from=guardian@example.org&to=night@example.org&mode=insecure"
        (channel,) = open_channels([url])
        channel.send(NIGHT)
        assert channel.close(PATIENCE)
        letter = mailbox.letters.get(timeout=PATIENCE)
    finally:
        server.stop()

    assert letter.rcpt_tos == ["night@example.org"]
    read = message_from_bytes(letter.content or b"")
    assert str(make_header(decode_header(read["Subject"]))) == NIGHT.title
    parts = [part.get_payload(decode=True) for part in read.walk() if not part.is_multipart()]
    assert any(isinstance(part, bytes) and "kl 0.1 → 3" in part.decode() for part in parts)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_failing_channel_is_told_once_without_its_secrets(caplog: pytest.LogCaptureFixture) -> None:
    broken = Inbox(status=500)
    try:
        (channel,) = open_channels([broken.url])
        troubles = heard(channel)
        with caplog.at_level(logging.DEBUG):
            for _ in range(3):
                channel.send(NIGHT)
            assert channel.close(PATIENCE)
    finally:
        broken.close()

    assert troubles == ["alert 1 (json): a message could not be delivered; the watch goes on, and this is told once."]
    assert SECRET not in caplog.text


def test_nobody_listening_is_a_failure_like_any_other() -> None:
    (channel,) = open_channels([f"json://127.0.0.1:{_free_port()}/{SECRET}"])
    troubles = heard(channel)
    channel.send(NIGHT)

    assert channel.close(PATIENCE)
    assert len(troubles) == 1


def test_a_hanging_channel_holds_nobody_up_and_its_queue_is_bounded() -> None:
    gate = threading.Event()
    hanging = Inbox(gate=gate)
    try:
        (channel,) = open_channels([hanging.url])
        troubles = heard(channel)
        channel.send(NIGHT)
        hanging.posts.get(timeout=PATIENCE)  # it is being sent, and the answer does not come
        for _ in range(40):
            channel.send(NIGHT)
        assert troubles == ["alert 1 (json): more messages wait for it than are kept; the newest are left out."]
        assert not channel.close(0.01)
    finally:
        gate.set()
        hanging.close()


class Exploding:
    """A service whose own code fails."""

    def notify(self, **_: object) -> bool:
        raise RuntimeError(SECRET)


def test_a_plugin_that_raises_is_a_failure_like_any_other() -> None:
    channel = Channel("alert 1 (own)", Exploding())
    troubles = heard(channel)
    channel.close(0.0)
    channel.send(NIGHT)

    assert channel.close(PATIENCE)
    assert len(troubles) == 1
    assert SECRET not in troubles[0]


@pytest.mark.parametrize("url", ["nonsense", f"no-such-scheme://{SECRET}", "", "json://"])
def test_a_url_that_apprise_does_not_know_is_refused_without_showing_it(url: str, inbox: Inbox) -> None:
    with pytest.raises(ChannelError) as refused:
        open_channels([inbox.url, url])

    assert "in place 2" in str(refused.value)
    assert SECRET not in str(refused.value)


def test_without_apprise_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)

    with pytest.raises(ChannelError, match=r"pip install 'rlprobe\[alerts\]'"):
        open_channels(["json://127.0.0.1"])
    assert open_channels([]) == []


@pytest.mark.slow
def test_the_command_sends_and_neither_prints_nor_keeps_a_secret(tmp_path: Path, inbox: Inbox) -> None:
    log = tmp_path / "train.jsonl"
    append(log, [*rows(30), *rows(12, first=31, broken_from=33)])
    command = [sys.executable, "-m", "rlprobe", "watch", str(log), "--once", "--alert", inbox.url]
    first = subprocess.run(command, capture_output=True, text=True, check=False)
    second = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (first.returncode, second.returncode) == (1, 1)
    assert "NEW critical NUMERIC_NAN loss" in first.stdout
    assert second.stdout == ""
    _, body = inbox.posts.get(timeout=PATIENCE)
    assert json.loads(body)["title"].startswith("CRITICAL: NUMERIC_NAN")
    assert inbox.posts.empty()
    kept = "".join(path.read_text() for path in tmp_path.iterdir() if path != log)
    assert SECRET not in first.stdout + first.stderr + second.stderr + kept
