"""The engine under `mpiexec`: collectives of arrays against NumPy, groups, memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed.launched import Checks, needs_mpi, run

pytestmark = needs_mpi
_FILE = Path(__file__).parent / "programs" / "engine.py"
RUNS = {processes: Checks(_FILE, processes) for processes in (2, 4)}


@pytest.mark.parametrize("processes", list(RUNS))
def test_checks(processes: int) -> None:
    RUNS[processes].verify()


@pytest.mark.long
def test_nothing_is_kept_over_ten_thousand_steps() -> None:
    program = f"import sys\nsys.path.insert(0, {str(_FILE.parent)!r})\nimport engine\nengine.check_nothing_is_kept()\n"
    done = run(program + "print('ok')", 2, limit=200, env={"STEPS": "10000"})
    assert (done.status, done.out) == (0, ["ok\n"] * 2), done
