"""A headless Chromium for pictures and measurements of the report; it is the system's, playwright brings none."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright


class NoBrowser(RuntimeError):
    """No chromium is installed; the message says how to install one."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, closed at the end.

    Raises:
        NoBrowser: there is none.
    """
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise NoBrowser("expected a chromium, found none. Install it: apt-get install chromium.")
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()
