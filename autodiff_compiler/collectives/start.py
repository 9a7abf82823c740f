"""Whether a launcher of MPI started this process, and the MPI that it has."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import importlib.util
import os
import shutil
import sys
from typing import Any

from ..errors import CollectiveError
from .waiting import timeout_now

__all__ = ["INSTALL", "launched", "start_mpi"]

INSTALL = 'pip install "autodiff-compiler[mpi]"'

_OPEN_MPI = "libmpi.so.40"
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

    _prefer_the_launchers()
    os.environ.setdefault("OMPI_MCA_osc", "^ucx")  # it complains, and the others do as well
    mpi4py.rc.finalize = False  # a child by fork must not end MPI: `exits` ends it, in the process that began it
    mpi4py.rc.initialize = False
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError, OSError) as error:
        raise CollectiveError(f"mpi4py finds no MPI: {error}", code="AC3006", hint=INSTALL) from None
    if not MPI.Is_initialized():
        _until_all_processes_call_init(MPI)
    if MPI.COMM_WORLD.size == 1 and started > 1:
        vendor = MPI.get_vendor()[0]
        raise CollectiveError(
            f"{started} processes were started, but each is alone: mpi4py uses {vendor}, the launcher another MPI",
            code="AC3006",
            hint="`python -m autodiff_compiler launch` takes the mpiexec that belongs to mpi4py's MPI",
        )
    return MPI


def _prefer_the_launchers() -> None:
    """Lets mpi4py take a system's Open MPI where that started this process, and not another MPI beside Python."""
    beside = os.path.join(sys.prefix, "lib", _OPEN_MPI)
    if "OMPI_COMM_WORLD_SIZE" not in os.environ or "MPI4PY_LIBMPI" in os.environ or os.path.exists(beside):
        return
    found = shutil.which("mpiexec") or shutil.which("mpirun")
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(found))), "lib") if found else ""
    for path in (os.path.join(folder, _OPEN_MPI), _OPEN_MPI):
        with contextlib.suppress(OSError):
            ctypes.CDLL(path)
            os.environ["MPI4PY_LIBMPI"] = path
            return


def _until_all_processes_call_init(mpi: Any) -> None:
    """Starts MPI.  It waits for all processes, and can be ended from outside only: after AC_TIMEOUT the process ends.

    Its traceback is then printed, where the name of this function says why.
    """
    timeout = timeout_now()
    if timeout and sys.__stderr__ is not None:
        faulthandler.dump_traceback_later(timeout, exit=True, file=sys.__stderr__)
    try:
        mpi.Init_thread(mpi.THREAD_MULTIPLE)
    finally:
        if timeout:
            faulthandler.cancel_dump_traceback_later()
