"""Collectives on devices, with several processes: simulated devices, real MPI."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ascend.conftest import WHERE
from tests.ascend.test_hccl import table
from tests.distributed.launched import needs_mpi, run

pytestmark = [pytest.mark.skipif(WHERE != "sim", reason="processes with a device each are simulated"), needs_mpi]
PROGRAM = Path(__file__).with_name("collectives_program.py")


def done(folder: Path, *words: str, count: int = 2, **environment: str) -> list[str]:
    """What each of the processes that check these words prints; all end well, and in time."""
    variables = {"ACLSIM_MODE": "threads", "ACLSIM_DEVICES": str(count), "ACLSIM_HCCL": str(folder)} | environment
    found = run(PROGRAM, count, *words, limit=100, env=variables)
    assert found.status == 0, "\n".join([*found.err, found.said])
    return found.out


@pytest.mark.parametrize("count", [2, 3])
def test_values_of_every_collective_and_dtype(libraries: Path, tmp_path: Path, count: int) -> None:
    assert done(tmp_path, "values", count=count) == ["values done\n"] * count


def test_derivatives_and_programs(libraries: Path, tmp_path: Path) -> None:
    assert done(tmp_path, "derivatives", "programs") == ["derivatives done\nprograms done\n"] * 2


def test_what_is_refused(libraries: Path, tmp_path: Path) -> None:
    assert done(tmp_path, "refused") == ["refused done\n"] * 2
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_table_of_ranks(libraries: Path, tmp_path: Path) -> None:
    path = table(tmp_path)
    assert done(tmp_path, "tables", RANK_TABLE_FILE=str(path)) == ["tables done\n"] * 2


def test_shapes_that_differ_are_told_with_the_line(libraries: Path, tmp_path: Path) -> None:
    assert done(tmp_path, "differing") == ["differing was told\ndiffering done\n"] * 2
