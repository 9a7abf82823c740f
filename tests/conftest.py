"""Options and fixtures of the whole suite."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest

_OBJECTS = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Objects that tests compile go to a folder of their own, not to the user's cache."""
    config.stash[_OBJECTS] = folder = tempfile.mkdtemp(prefix="objects")
    os.environ["AC_CACHE_DIR"] = folder


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash.get(_OBJECTS, ""), ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the expected parts of text-in/text-out tests")


@pytest.fixture
def numpy_backend() -> Iterator[None]:
    """For tests of the NumPy backend itself: its code as text, its memory, its kernels."""
    from autodiff_compiler.config import context

    before = context.backend
    context.set(backend="numpy")
    yield
    context.set(backend=before)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected texts are to be written instead of compared."""
    return bool(request.config.getoption("--update-golden"))
