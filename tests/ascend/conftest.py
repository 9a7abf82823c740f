"""The device these tests run on: the simulator (AUTODIFF_COMPILER_ASCEND=sim), a real one (real), or none (off)."""

from __future__ import annotations

import ctypes
import fcntl
import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autodiff_compiler.backends.ascend.device import shutdown
from autodiff_compiler.backends.ascend.library import LIBRARY_VARIABLE
from autodiff_compiler.config import get_context, set_context

WHERE = os.environ.get("AUTODIFF_COMPILER_ASCEND", "sim")
SOURCES = Path(__file__).parent.parent / "ascend_sim"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = os.path.join(Path(__file__).parent, "")
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.ascend)


def builder() -> Any:
    """The module `build.py` of the simulator, which is no package."""
    spec = importlib.util.spec_from_file_location("ascend_sim_build", SOURCES / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the simulator's compiled sources, which all processes of a run have in common."""
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("the simulator of the Ascend device needs a C compiler")
    root = tmp_path_factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "ascend_objects"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        builder().compile_sources(folder)
    return folder


@pytest.fixture(scope="session")
def libraries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The folder of the simulator's libraries; None for the toolkit's own."""
    if WHERE == "off":
        pytest.skip("AUTODIFF_COMPILER_ASCEND=off")
    if WHERE == "real":
        return None
    folder: Path = builder().build(tmp_path_factory.mktemp("ascend"), objects=request.getfixturevalue("objects"))
    os.environ[LIBRARY_VARIABLE] = str(folder)
    return folder


class Simulator:
    """What the simulator knows of the tests' behaviour; of a real device nothing is known."""

    def __init__(self, folder: Path | None) -> None:
        self.core = ctypes.CDLL(str(folder / "libaclsim.so")) if folder else None
        if self.core:
            self.core.aclsim_violations.restype = self.core.aclsim_leaks.restype = ctypes.c_char_p

    def violations(self) -> str:
        return self.core.aclsim_violations().decode() if self.core else ""

    def leaks(self) -> str:
        return self.core.aclsim_leaks().decode() if self.core else ""

    def reset(self) -> None:
        if self.core:
            self.core.aclsim_clear_violations()
            self.core.aclsim_reset()


@pytest.fixture
def device(libraries: Path | None) -> Iterator[Simulator]:
    """A device in the default settings, which must be left without a breach of the contract or anything still alive."""
    simulator = Simulator(libraries)
    simulator.reset()
    kept = {name: get_context(name) for name in ("ascend_mode", "ascend_fallback")}
    try:
        yield simulator
    finally:
        set_context(**kept)
        shutdown()
    assert simulator.violations() == ""
    assert simulator.leaks() == ""
