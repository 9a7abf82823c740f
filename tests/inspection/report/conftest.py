"""The browser that shows reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.inspection.report.in_browser import CHROMIUM


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed", exc_type=ImportError)
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()
