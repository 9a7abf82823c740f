"""Several processes with a simulated device each, which run one program and meet over files: no MPI is needed."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import autodiff_compiler as ms

#: What each process begins with: its rank, how many there are, and their root info by name.
BEGIN = """
import os, sys, time
from pathlib import Path
import numpy as np
import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.ascend import hccl
from autodiff_compiler.backends.ascend.device import current, device, shutdown

RANK, SIZE = int(os.environ["TEST_RANK"]), int(os.environ["TEST_SIZE"])
HERE = Path(os.environ["ACLSIM_HCCL"])
ms.set_device("Ascend", RANK)


def met(name, make):
    "What the first rank made under a name."
    path = HERE / name
    if RANK == 0:
        (HERE / f"{name}.new").write_bytes(make())
        (HERE / f"{name}.new").rename(path)
    end = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < end, f"rank 0 does not come: {name}"
        time.sleep(0.001)
    return path.read_bytes()


def joined(name="world"):
    "The communicator of all processes."
    return hccl.Communicator.by_root_info(current(), RANK, SIZE, met(name, lambda: hccl.root_info(current())))
"""


@dataclass
class Ended:
    """What a process left: its exit code (negative: the signal), and what it printed."""

    status: int
    out: str
    err: str


def together(text: str, folder: Path, count: int = 2, seconds: float = 60, **environment: str) -> list[Ended]:
    """Runs a program in `count` processes; all are killed when the time is up, which is a failure."""
    file = folder / "program.py"
    file.write_text(BEGIN + textwrap.dedent(text), "utf-8")
    common = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "HCCL_"))}
    common |= {"ACLSIM_MODE": "threads", "ACLSIM_DEVICES": str(count), "OPENBLAS_NUM_THREADS": "1"} | environment
    common |= {"ACLSIM_HCCL": str(folder), "TEST_SIZE": str(count)}
    common["PYTHONPATH"] = str(Path(ms.__file__).parent.parent)
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "error", str(file)],
            env={**common, "TEST_RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(count)
    ]  # fmt: skip
    try:
        return [Ended(p.wait(seconds), *p.communicate(timeout=seconds)) for p in running]
    finally:
        for p in running:
            p.kill()
            p.communicate()


def well(ended: list[Ended]) -> list[str]:
    """What the processes printed, all of which ended well."""
    assert all(e.status == 0 and not e.err for e in ended), "\n".join(e.err for e in ended)
    return [e.out for e in ended]
