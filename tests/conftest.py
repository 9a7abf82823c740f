"""Options and fixtures of the whole suite."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import selection

_FOLDER, _FILE = pytest.StashKey[str](), pytest.StashKey[Path]()
#: Tests of what programs mean: machine code is made for them at LLVM's level 0, as for very large programs, which takes
#: a quarter of the time.  All others, which are of the machine code (every op in tests/backends, random programs in
#: tests/property), of examples or of times, run what users run.
_PLAIN_CODE = frozenset(
    "amp api autodiff compiler dataset eager frontend inspection ir nn numpy optim passes primitives programs "
    "train".split()
)


def pytest_configure(config: pytest.Config) -> None:
    """What tests leave goes to a folder of the run, which its workers and processes share: objects that are compiled
    (not to the user's cache), and reports of compilations that fail.

    A shell starts what it runs in the background without Ctrl-C, which tests send to themselves."""
    selection.configure(config)
    for plugin in (selection.Parts(), selection.Examples()):  # not hooks of this file: for files of the package, too
        config.pluginmanager.register(plugin)
    gc.disable()  # until the tests start: what collecting makes stays
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    selection.select(config, items)


def pytest_collection_finish() -> None:
    """What is there when tests start stays: collections of garbage, which tests ask for, need not look at it."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True, specname="pytest_runtest_protocol")
def pytest_leave_out(item: pytest.Item) -> bool | None:
    """A test that there is no time for is neither passed nor skipped; the summary tells their number."""
    return True if selection.out_of_time(item.config) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Chooses the level of machine code, see `_PLAIN_CODE`; each test draws its random numbers from the start."""
    from autodiff_compiler.backends.native.jit import engine
    from autodiff_compiler.runtime.random import generator

    generator.restore(None, 0, {})
    np.random.seed(0)
    if item.path != item.config.stash.get(_FILE, None):
        item.config.stash[_FILE] = item.path
        gc.collect()
        gc.freeze()  # what files of tests leave stays, too: thousands of programs, that each collection would visit
    usual, here = engine.LARGE, Path(__file__).parent
    if item.path.is_relative_to(here) and item.path.relative_to(here).parts[0] in _PLAIN_CODE:
        engine.LARGE = 0
    try:
        return (yield)
    finally:
        engine.LARGE = usual


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = selection.left_out


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    selection.left_out += getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if selection.left_out:
        terminalreporter.write_line(f"{selection.left_out} more were not started: the time of --quick is over")


def pytest_addoption(parser: pytest.Parser) -> None:
    selection.add_options(parser)
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
