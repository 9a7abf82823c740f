"""Options and fixtures of the whole suite."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator

import pytest

_FOLDER = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """What tests leave goes to a folder of the run, which its workers and processes share: objects that are compiled
    (not to the user's cache), and reports of compilations that fail.

    A shell starts what it runs in the background without Ctrl-C, which tests send to themselves."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # tmp_path stays where it was
        config.stash[_FOLDER] = folder = tempfile.mkdtemp(prefix="autodiff_compiler_tests_")
        os.environ["AC_CACHE_DIR"] = tempfile.mkdtemp("objects", "", folder)
        os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp("temporary", "", folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    if _FOLDER in config.stash:
        shutil.rmtree(config.stash[_FOLDER], ignore_errors=True)


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
