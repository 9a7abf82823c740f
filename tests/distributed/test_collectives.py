"""Collectives as ops under `mpiexec`: values, derivatives of every order, control flow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed.launched import Checks, needs_mpi, run

pytestmark = needs_mpi
_PROGRAMS = Path(__file__).parent / "programs"
FLOW = {processes: Checks(_PROGRAMS / "flow.py", processes, 120) for processes in (2, 3)}


@pytest.mark.parametrize("processes", [2, 4])
def test_derivatives(processes: int) -> None:
    done = run(_PROGRAMS / "derivatives.py", processes, limit=200)
    assert done.status == 0, "\n".join(done.err)
    assert "done" in done.out[0]


@pytest.mark.parametrize("name", FLOW[2].names)
@pytest.mark.parametrize("processes", list(FLOW))
def test_flow(processes: int, name: str) -> None:
    FLOW[processes].verify(name)
