"""The engine under `mpiexec`: collectives of arrays against NumPy, groups, memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed.launched import Checks, needs_mpi

pytestmark = needs_mpi
_FILE = Path(__file__).parent / "programs" / "engine.py"
RUNS = {processes: Checks(_FILE, processes) for processes in (2, 4)}


@pytest.mark.parametrize("name", RUNS[2].names)
@pytest.mark.parametrize("processes", list(RUNS))
def test_check(processes: int, name: str) -> None:
    RUNS[processes].verify(name)
