"""Options and fixtures of the whole suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the expected parts of text-in/text-out tests")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected texts are to be written instead of compared."""
    return bool(request.config.getoption("--update-golden"))
