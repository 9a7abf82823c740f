"""The launcher that belongs to the MPI of mpi4py, which starts many processes."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import CollectiveError
from .start import INSTALL

__all__ = ["Launcher", "find_launcher", "vendor"]


class Launcher(NamedTuple):
    """A program that starts many processes: its path, and whose MPI it belongs to."""

    path: str
    vendor: str

    def command(self, processes: int, words: Sequence[str], here: int = 0, hosts: str = "") -> list[str]:
        """The command line that starts `words` so many times: `here` on each machine, on these machines."""
        if self.vendor == "Open MPI":
            options = ["--oversubscribe", *(["--allow-run-as-root"] if _is_root() else [])]
            options += ["--map-by", f"ppr:{here}:node"] if here else []
            options += ["--host", hosts] if hosts else []
            options += ["--output", "tag"]
        else:  # Hydra, of MPICH and its relatives
            options = ["-prepend-rank", *(["-ppn", str(here)] if here else []), *(["-hosts", hosts] if hosts else [])]
        return [self.path, "-n", str(processes), *options, *words]


def find_launcher() -> Launcher:
    """The `mpiexec` that belongs to mpi4py's MPI: beside this Python, or on the path.

    CollectiveError: there is no mpi4py, or no launcher of its MPI.
    """
    if importlib.util.find_spec("mpi4py") is None:
        raise CollectiveError("there is no mpi4py to start many processes with", code="AC3006", hint=INSTALL)
    wanted, seen = vendor(), []
    for name in ("mpiexec", "mpirun", "mpiexec.hydra", "mpiexec.openmpi", "mpiexec.mpich"):
        for path in (os.path.join(os.path.dirname(sys.executable), name), shutil.which(name)):
            if path is None or not os.access(path, os.X_OK) or path in seen:
                continue
            seen.append(path)
            if (_vendor_of(path) == "Open MPI") == (wanted == "Open MPI"):
                return Launcher(path, wanted)
    found = f"; {', '.join(seen)} belong to another one" if seen else ""
    raise CollectiveError(f"there is no mpiexec of {wanted}, which mpi4py uses{found}", code="AC3006", hint=INSTALL)


def vendor() -> str:
    """Whose MPI mpi4py uses: "Open MPI", "MPICH", ..."""
    import mpi4py

    mpi4py.rc.initialize = False
    from mpi4py import MPI

    return str(MPI.get_vendor()[0])


def _vendor_of(path: str) -> str:
    """Whose launcher this is, as it says itself."""
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return "Open MPI" if re.search(r"Open ?MPI|OpenRTE|PRRTE|prte", done.stdout + done.stderr) else "MPICH"


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
