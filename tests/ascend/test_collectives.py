"""Collectives on devices, with several processes: simulated devices, real MPI."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import autodiff_compiler as ms
from tests.ascend.conftest import WHERE
from tests.ascend.test_hccl import table

MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
pytestmark = [
    pytest.mark.skipif(WHERE != "sim", reason="processes with a device each are simulated"),
    pytest.mark.skipif(MPIEXEC is None or importlib.util.find_spec("mpi4py") is None, reason="it needs the extra mpi"),
]


def run(folder: Path, *words: str, count: int = 2, seconds: int = 100, **environment: str) -> list[str]:
    """The lines that a program of several processes prints, with those of errors; it ends well, or in time."""
    variables = os.environ | {"ACLSIM_MODE": "threads", "ACLSIM_DEVICES": str(count), "ACLSIM_HCCL": str(folder)}
    variables |= {"PYTHONPATH": str(Path(ms.__file__).parent.parent), "OPENBLAS_NUM_THREADS": "1"} | environment
    program = Path(__file__).with_name("collectives_program.py")
    done = subprocess.run(
        [str(MPIEXEC), "-n", str(count), sys.executable, str(program), *words],
        env=variables, timeout=seconds, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(done.stdout.splitlines())


@pytest.mark.parametrize("count", [2, 3])
def test_values_of_every_collective_and_dtype(libraries: Path, tmp_path: Path, count: int) -> None:
    assert run(tmp_path, "values", count=count) == ["values done"] * count


def test_derivatives_and_programs(libraries: Path, tmp_path: Path) -> None:
    assert run(tmp_path, "derivatives", "programs") == sorted(["derivatives done", "programs done"] * 2)


def test_what_is_refused(libraries: Path, tmp_path: Path) -> None:
    assert run(tmp_path, "refused") == ["refused done"] * 2
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_table_of_ranks(libraries: Path, tmp_path: Path) -> None:
    path = table(tmp_path)
    assert run(tmp_path, "tables", RANK_TABLE_FILE=str(path)) == ["tables done"] * 2


def test_shapes_that_differ_are_told_with_the_line(libraries: Path, tmp_path: Path) -> None:
    assert run(tmp_path, "differing") == sorted(["differing was told", "differing done"] * 2)
