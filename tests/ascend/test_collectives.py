"""Collectives on devices, with several processes: simulated devices, real MPI."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from autodiff_compiler.backends.ascend.library import LIBRARY_VARIABLE
from tests.ascend.conftest import WHERE, builder
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


def test_without_hccl_the_line_that_needs_it_is_told(objects: Path, tmp_path: Path) -> None:
    lib = builder().build(tmp_path / "none", (), objects)
    (lib / "libhccl.so").unlink()
    assert done(tmp_path, "lacking", **{LIBRARY_VARIABLE: str(lib)}) == ["lacking done\n"] * 2


def test_a_table_of_ranks(libraries: Path, tmp_path: Path) -> None:
    path = table(tmp_path)
    assert done(tmp_path, "tables", RANK_TABLE_FILE=str(path)) == ["tables done\n"] * 2


def test_shapes_that_differ_are_told_with_the_line(libraries: Path, tmp_path: Path) -> None:
    assert done(tmp_path, "differing") == ["differing was told\ndiffering done\n"] * 2


def selftest(folder: Path, libraries: Path, count: int, **environment: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit code of the self-test between so many processes, and what each reports."""
    program = """
    import sys
    from autodiff_compiler.cli import main
    code = main(["ascend-selftest", "--collectives", "--json"])
    sys.stdout.flush()
    print(f"ended with {code}", file=sys.stderr)
    """
    variables = {"ACLSIM_MODE": "threads", "ACLSIM_DEVICES": str(count), "ACLSIM_HCCL": str(folder)} | environment
    found = run(textwrap.dedent(program), count, limit=100, env=variables | {LIBRARY_VARIABLE: str(libraries)})
    assert found.status == 0, "\n".join([*found.err, found.said])
    codes = {line for err in found.err for line in err.splitlines() if line.startswith("ended with")}
    assert len(codes) == 1, found.err
    return int(codes.pop().removeprefix("ended with ")), [json.loads(out) for out in found.out]


def test_the_selftest_passes_between_two_processes(libraries: Path, tmp_path: Path) -> None:
    code, reports = selftest(tmp_path, libraries, 2)
    for rank, report in enumerate(reports):
        stages = {stage["stage"]: stage for stage in report["stages"]}
        assert {stage["status"] for stage in stages.values()} == {"passed"}, report
        assert (stages["processes"]["rank"], stages["processes"]["size"]) == (rank, 2)
        assert stages["processes"]["places"][1].endswith(", device 1")
        assert stages["communicator"]["way"] == "root info"
        assert stages["values"]["wrong"] == []
        assert stages["gradients"]["all_gather"] < 1e-4
        assert stages["speed"]["1048576"] > 0
        assert "libhccl.so" in report["environment"]["cann"]["libraries"]["hccl"][0]
    assert code == 0


def test_the_selftest_of_a_release_that_lacks_a_function(objects: Path, tmp_path: Path) -> None:
    lib = builder().build(tmp_path / "older", ("HcclAlltoAllV",), objects)
    code, reports = selftest(tmp_path, lib, 1)
    stages = {stage["stage"]: stage for stage in reports[0]["stages"]}
    assert stages["functions of HCCL"]["functions_missing"] == ["HcclAlltoAllV"]
    assert "mpirun -n 2" in stages["processes"]["text"][0]
    outcomes = [stage["status"] for stage in stages.values()]
    assert outcomes == ["failed", "failed", "not run", "not run", "not run", "not run"]
    assert code == 1
