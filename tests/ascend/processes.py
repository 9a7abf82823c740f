"""Several processes with a simulated device each, which run one program and meet over files: no MPI is needed."""

from __future__ import annotations

import json
import os
import textwrap
from dataclasses import dataclass
from pathlib import Path

import autodiff_compiler as ms
from tests import forked

#: What each process begins with: its rank, how many there are, and their root info by name.  The first process forks
#: them, and kills those that are late.
BEGIN = """
import json, os, signal, sys, time
from pathlib import Path
import numpy as np
import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.ascend import hccl
from autodiff_compiler.backends.ascend.device import current, device, shutdown

SIZE, HERE = int(os.environ["TEST_SIZE"]), Path(os.environ["ACLSIM_HCCL"])
children = []
for RANK in range(SIZE):
    children.append(os.fork())
    if not children[-1]:
        for name, descriptor in (("out", 1), ("err", 2)):
            os.dup2(os.open(HERE / f"{name}.{RANK}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        break
else:
    signal.signal(signal.SIGALRM, lambda *_: [os.kill(child, signal.SIGKILL) for child in children])
    signal.alarm(int(os.environ["TEST_SECONDS"]))
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]))
    raise SystemExit
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


def together(text: str, folder: Path, count: int = 2, seconds: int = 60, **environment: str) -> list[Ended]:
    """Runs a program in `count` processes; all are killed when the time is up."""
    file = folder / "program.py"
    file.write_text(BEGIN + textwrap.dedent(text), "utf-8")
    common = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "HCCL_"))}
    common |= {"ACLSIM_MODE": "threads", "ACLSIM_DEVICES": str(count)} | environment
    common |= {"ACLSIM_HCCL": str(folder), "TEST_SIZE": str(count), "TEST_SECONDS": str(seconds)}
    common["PYTHONPATH"] = str(Path(ms.__file__).parent.parent)
    done = forked.run("-W", "error", file, env=common, timeout=2 * seconds)
    assert done.returncode == 0, done.stderr
    return [
        Ended(status, (folder / f"out.{rank}").read_text("utf-8"), (folder / f"err.{rank}").read_text("utf-8"))
        for rank, status in enumerate(json.loads(done.stdout))
    ]


def well(ended: list[Ended]) -> list[str]:
    """What the processes printed, all of which ended well."""
    assert all(e.status == 0 and not e.err for e in ended), "\n".join(f"{e.status} {e.err}" for e in ended)
    return [e.out for e in ended]
