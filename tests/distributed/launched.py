"""Programs run by several processes under `mpiexec`: with a time limit, and what each of them wrote.

Starting takes a second or two, so a file of checks is run at once: `Checks` starts its functions `check_...` in their
order, each on all processes, and has for each what went wrong on which of them.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from autodiff_compiler.collectives.launcher import find_launcher

__all__ = ["Checks", "Done", "run"]

ROOT = Path(__file__).parents[2]
#: A wait of a test's program for another process ends after so many seconds.
TIMEOUT = "20"
needs_mpi = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")


class Done(NamedTuple):
    """How a run ended: the exit status of `mpiexec`, what each process wrote, what `mpiexec` said, the seconds."""

    status: int
    out: list[str]
    err: list[str]
    said: str
    seconds: float


def run(
    program: str | Path, processes: int, *words: str, limit: float = 60, env: Mapping[str, str] | None = None
) -> Done:
    """Runs a file, or the text of a program, in so many processes; TimeoutError if they do not end within `limit`."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(program, str):
            path = Path(folder, "program.py")
            path.write_text(program)
        else:
            path = program
        command = find_launcher().command(processes, [sys.executable, __file__, folder, str(path), *words])
        variables = {**os.environ, "AC_TIMEOUT": TIMEOUT, "OPENBLAS_NUM_THREADS": "1", **(env or {})}
        variables["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [variables.get("PYTHONPATH")])])
        began = time.monotonic()
        with tempfile.TemporaryFile("w+") as said:
            started = subprocess.Popen(
                command, env=variables, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
            )
            try:
                status = started.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
                os.killpg(started.pid, signal.SIGTERM)  # the launcher ends what it started
                try:
                    started.wait(5)
                except subprocess.TimeoutExpired:
                    os.killpg(started.pid, signal.SIGKILL)
            said.seek(0)
            words_of_launcher = said.read()
        out, err = ([Path(folder, f"{name}.{rank}") for rank in range(processes)] for name in ("out", "err"))
        texts = [[p.read_text(errors="replace") if p.exists() else "" for p in paths] for paths in (out, err)]
        if status is None:
            raise TimeoutError(f"{processes} processes did not end within {limit} s:\n{texts}\n{words_of_launcher}")
    return Done(status, texts[0], texts[1], words_of_launcher, time.monotonic() - began)


class Checks:
    """The functions `check_...` of a file, run once by so many processes."""

    def __init__(self, file: str | Path, processes: int, limit: float = 60) -> None:
        self.file, self.processes, self.limit = Path(file), processes, limit

    @property
    def names(self) -> list[str]:
        """The checks, in the order of the file."""
        lines = self.file.read_text().splitlines()
        return [line[4:].partition("(")[0] for line in lines if line.startswith("def check_")]

    @functools.cached_property
    def _found(self) -> dict[str, str]:
        done = run(self.file, self.processes, "--checks", limit=self.limit)
        rows = [json.loads(line) for line in done.out[0].splitlines() if line.startswith('{"check"')]
        found = {row["check"]: row["failed"] for row in rows}
        rest = f"was not run; status {done.status}\n{done.said}\n" + "\n".join(done.err)
        return {name: found.get(name, rest) for name in self.names}

    def verify(self) -> None:
        """Fails if a check did on one of the processes; one test for all, so that one worker runs them."""
        failed = {name: text for name, text in self._found.items() if text}
        if failed or not self.names:
            pytest.fail("\n".join(f"{name}: {text}" for name, text in failed.items()), pytrace=False)


# ------------------------------------------------------------------------------------------------ in each process
def _begin(folder: str) -> None:
    """From now on this process writes to files of its own."""
    rank = next(os.environ[n] for n in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK") if n in os.environ)
    for descriptor, name in ((1, "out"), (2, "err")):
        file = os.open(os.path.join(folder, f"{name}.{rank}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, descriptor)
        os.close(file)


def _check_all(module: dict[str, object]) -> None:
    """Runs the checks of a module; after each the processes tell each other how it went, and a failure is the last."""
    import traceback

    from mpi4py import MPI

    from autodiff_compiler import communication

    communication.init()
    told = MPI.COMM_WORLD.Dup()
    for name, check in module.items():
        if not name.startswith("check_") or not callable(check):
            continue
        try:
            check()
            failed = ""
        except Exception:
            failed = traceback.format_exc()
        everywhere = told.allgather(failed)
        text = "\n".join(f"process {rank}: {one}" for rank, one in enumerate(everywhere) if one)
        if told.rank == 0:
            print(json.dumps({"check": name, "failed": text}), flush=True)
        if text:
            break


if __name__ == "__main__":
    import runpy

    _, _folder, _file, *_words = sys.argv
    _begin(_folder)
    sys.argv = [_file, *_words]
    sys.path[0] = os.path.dirname(os.path.abspath(_file))
    if _words == ["--checks"]:
        _check_all(runpy.run_path(_file))
    else:
        runpy.run_path(_file, run_name="__main__")
