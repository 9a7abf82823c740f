"""The command `launch`, and what starts a process where MPI is missing or another one."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autodiff_compiler.collectives.launcher import Launcher, find_launcher
from autodiff_compiler.collectives.start import launched, start_mpi
from autodiff_compiler.errors import CollectiveError
from tests.distributed.launched import ROOT, needs_mpi

PROGRAM = """import sys
from autodiff_compiler import communication
communication.init()
for i in range(20):
    print("line", i, "of", communication.get_rank(), sys.argv[1:])
if communication.get_rank() == 1 and "fail" in sys.argv:
    raise ValueError("bad data")
"""


def launch(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(PROGRAM)
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "AC_TIMEOUT": "20"}
    command = [sys.executable, "-m", "autodiff_compiler", "launch", *words]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=60, check=False)


@needs_mpi
def test_lines_have_the_number_of_their_process_and_files_are_written(tmp_path: Path) -> None:
    words = ("--worker_num=2", "--local_worker_num=2", "--master_port=8118", "--join=True", "--log_dir=logs")
    done = launch(tmp_path, *words, "train.py", "-n", "7")
    assert done.returncode == 0, done
    wanted = [f"line {i} of {rank} ['-n', '7']" for rank in (0, 1) for i in range(20)]
    assert sorted(done.stdout.splitlines()) == sorted(f"[{line.split()[3]}] {line}" for line in wanted)
    assert [(tmp_path / "logs" / f"worker_{r}.log").read_text().splitlines() for r in (0, 1)] == [
        wanted[:20],
        wanted[20:],
    ]
    assert "launch: 2 processes by " in done.stderr
    assert "launch: --master_port is left to MPI" in done.stderr


@needs_mpi
def test_one_that_fails_ends_all_with_its_status(tmp_path: Path) -> None:
    done = launch(tmp_path, "-n", "2", "train.py", "fail")
    assert done.returncode == 1
    assert "[1] ValueError: bad data" in done.stdout.splitlines()


@needs_mpi
def test_the_command_can_be_seen(tmp_path: Path) -> None:
    done = launch(tmp_path, "-n3", "--dry-run", "train.py", "a b")
    assert done.returncode == 0
    assert "mpiexec" in done.stdout
    assert " -n 3 " in done.stdout
    assert done.stdout.endswith(f"{sys.executable} train.py 'a b'\n")


@needs_mpi
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-n", "2"), "launch takes a script, or -m and a module"),
        (("-n", "2", "nothing.py"), "there is no file nothing.py"),
        (("-n", "x", "train.py"), "invalid int value: 'x'"),
        (("--worker_num", "-1", "train.py"), "-n is a number of processes, not -1"),
        (("--fast", "1", "train.py"), "unrecognized arguments"),
    ],
)
def test_wrong_usage(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = launch(tmp_path, *words)
    assert done.returncode == 2
    assert says in done.stderr


def test_commands_of_either_family() -> None:
    words = ["python", "train.py"]
    open_mpi, hydra = Launcher("/mpi/mpiexec", "Open MPI"), Launcher("/mpi/mpiexec", "MPICH")
    found = open_mpi.command(4, words, here=2, hosts="a,b")
    assert found[:3] == ["/mpi/mpiexec", "-n", "4"]
    assert found[-2:] == words
    assert {"--oversubscribe", "ppr:2:node", "a,b"} <= set(found)
    assert hydra.command(4, words, here=2, hosts="a,b") == [
        *("/mpi/mpiexec", "-n", "4", "-prepend-rank", "-ppn", "2", "-hosts", "a,b"),
        *words,
    ]


@pytest.mark.parametrize(
    ("variables", "number"),
    [
        ({}, 1),
        ({"OMPI_COMM_WORLD_SIZE": "3"}, 3),
        ({"PMI_SIZE": "4"}, 4),
        ({"SLURM_STEP_NUM_TASKS": "1"}, 1),
        ({"SLURM_STEP_NUM_TASKS": "8"}, 8),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, 1),  # a script of sbatch, not a task of srun
        ({"PMIX_RANK": "0"}, 2),
    ],
)
def test_a_launcher_is_told_by_its_variables(
    variables: dict[str, str], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS", "PMIX_RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    assert launched() == number


def test_many_without_mpi4py_are_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for call in (start_mpi, find_launcher):
        with pytest.raises(CollectiveError, match="mpi4py") as raised:
            call()
        assert raised.value.code == "AC3006"
        assert raised.value.hint == 'pip install "autodiff-compiler[mpi]"'
