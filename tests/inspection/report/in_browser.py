"""A report in a browser, for the tests of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (Debian: apt-get install chromium)")

#: Milliseconds after which a page that does not answer never will.
PATIENCE = 60_000


def opened(browser: Any, file: Path, wait: str = "#ir .row", **options: Any) -> Iterator[Any]:
    """The report in a window that shows all of its lines; it must say nothing to the console and ask for nothing."""
    page = browser.new_page(**{"viewport": {"width": 1500, "height": 1300}} | options)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: None if request.url == file.as_uri() else complaints.append(request.url))
    page.set_default_timeout(PATIENCE)
    page.goto(file.as_uri())
    page.wait_for_selector(wait)
    yield page
    assert complaints == []
    page.close()


def row(page: Any, pane: str, number: int) -> Any:
    return page.locator(f"#{pane} .row").filter(has=page.locator(f".no:text-is('{number}')"))


def marked(page: Any, pane: str, kind: str) -> list[int]:
    """The numbers of the lines of a pane that are marked so."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return [int(text) for text in page.locator(f"#{pane} .row.{kind} .no").all_text_contents()]
