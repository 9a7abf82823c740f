"""Whether a launcher of MPI started this process, and the library of MPI that it has."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from ..errors import CollectiveError

__all__ = ["INSTALL", "launched", "start_mpi"]

INSTALL = 'pip install "autodiff-compiler[mpi]"'

#: The number of processes as launchers pass it on: Open MPI's, MPICH's Hydra, one of PMI, and Slurm's `srun`.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS")


def launched() -> int:
    """How many processes a launcher says it started, 1 where there was none; read off the environment."""
    for name in _SIZES:
        text = os.environ.get(name, "")
        if text.isdecimal():
            return int(text)
    return 2 if "PMIX_RANK" in os.environ else 1  # PMIx tells the number to the library only


def start_mpi() -> Any:
    """The module `mpi4py.MPI` with MPI running.  CollectiveError where it is missing or alone among many."""
    started = launched()
    if importlib.util.find_spec("mpi4py") is None:
        raise CollectiveError(
            "this process was started as one of many, but there is no mpi4py through which they could talk",
            code="AC3006",
            hint=INSTALL,
        )
    import mpi4py

    mpi4py.rc.finalize = False  # a child by fork must not end MPI: `exits` ends it, in the process that began it
    mpi4py.rc.initialize = False
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError, OSError) as error:
        raise CollectiveError(f"mpi4py finds no MPI: {error}", code="AC3006", hint=INSTALL) from None
    if not MPI.Is_initialized():
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
    if MPI.COMM_WORLD.size == 1 and started > 1:
        vendor = MPI.get_vendor()[0]
        raise CollectiveError(
            f"{started} processes were started, but each is alone: mpi4py uses {vendor}, the launcher another MPI",
            code="AC3006",
            hint="`python -m autodiff_compiler launch` takes the mpiexec that belongs to mpi4py's MPI",
        )
    return MPI
