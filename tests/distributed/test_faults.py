"""Faults: who dies, hangs, raises or leaves early, and calls that differ.  All processes end, and it is told why."""

from __future__ import annotations

from pathlib import Path

from tests.distributed.launched import Checks, Done, needs_mpi, run

pytestmark = needs_mpi
CAUGHT = Checks(Path(__file__).parent / "programs" / "faults.py", 3)

_HEAD = """
import os, signal, sys, time
import numpy as np
import autodiff_compiler as ms
from autodiff_compiler import communication
from autodiff_compiler.collectives import group, transfer as T
communication.init()
w = group("hccl_world_group")
x = np.ones(3, "f4")
T.barrier(w)
"""


def test_what_a_program_can_catch() -> None:
    CAUGHT.verify()


def ended(program: str, *, processes: int = 3, head: str = _HEAD, timeout: str = "20") -> Done:
    """What is left of a program that fails."""
    done = run(head + program, processes, limit=40, env={"AC_TIMEOUT": timeout})
    assert done.seconds < 30
    return done


def test_an_exception_is_printed_with_its_process_and_ends_all() -> None:
    done = ended("if w.rank == 1:\n    raise ValueError('bad data')\nT.all_reduce(x, 'sum', w)\nprint('on')")
    assert done.status == 1
    assert "[process 1] ValueError: bad data" in done.err[1]
    assert "[process 1]     raise ValueError('bad data')" in done.err[1]
    assert done.out == ["", "", ""]
    assert "Traceback" not in done.err[0] + done.err[2]


def test_who_is_out_of_data_early_is_named() -> None:
    done = ended("for step in range(2 if w.rank == 1 else 5):\n    T.all_reduce(x, 'sum', w)")
    assert done.status != 0
    words = [
        "AC3003",
        "program.py:12 waits for process 1, which will not come",
        "process 1 left: its program has ended",
    ]
    assert all(word in done.err[0] for word in words), done.err
    assert sum("AC3003" in text for text in done.err) == 1  # one says it for all


def test_who_is_killed_ends_all() -> None:
    done = ended("if w.rank == 1:\n    os.kill(os.getpid(), signal.SIGKILL)\nT.all_reduce(x, 'sum', w)\nprint('on')")
    assert done.status != 0
    assert "on\n" not in done.out


def test_who_ends_without_a_word_ends_all() -> None:
    done = ended("if w.rank == 1:\n    os._exit(5)\nT.all_reduce(x, 'sum', w)\nprint('on')")
    assert done.status != 0
    assert "on\n" not in done.out


def test_who_hangs_is_named_with_its_line() -> None:
    done = ended("if w.rank == 1:\n    time.sleep(100)\nT.all_reduce(x, 'sum', w)", timeout="2")
    assert done.status != 0
    words = ["AC3001", "has waited 2 s for process 1", "was barrier at program.py:10; it runs program.py:12"]
    assert all(word in done.err[0] for word in words), done.err
    assert "process 2 waits since" in done.err[0] or "process 2 has given up" in done.err[0]


def test_the_status_of_one_is_the_status_of_all() -> None:
    done = ended("if w.rank == 1:\n    sys.exit(3)")
    assert done.status == 3


def test_who_does_not_come_to_the_start_ends_all() -> None:
    head = "import os, sys\nif '1' in (os.environ.get('PMI_RANK'), os.environ.get('OMPI_COMM_WORLD_RANK')):\n"
    head += "    raise RuntimeError('no weights')\n"
    done = ended(
        "from autodiff_compiler import communication\ncommunication.init()\nprint('on')", head=head, timeout="3"
    )
    assert done.status != 0
    assert "RuntimeError: no weights" in done.err[1]
    assert "_until_all_processes_call_init" in done.err[0] + done.err[2]
    assert "on\n" not in done.out


def test_other_versions_are_told_at_the_start() -> None:
    head = "import numpy as np, os\nif '1' in (os.environ.get('PMI_RANK'), os.environ.get('OMPI_COMM_WORLD_RANK')):\n"
    head += "    np.__version__ = '1.0'\n"
    done = ended("from autodiff_compiler import communication\ncommunication.init()\nprint('on')", head=head)
    assert done.status != 0
    words = ["AC3004", "the versions of the processes differ", "line 3", "process 1: NumPy 1.0"]
    assert all(word in done.err[0] for word in words), done.err


def test_the_end_waits_for_who_is_late_and_for_what_has_begun() -> None:
    program = "handle = T.start_all_reduce(x, 'sum', w)\nif w.rank == 1:\n    time.sleep(1.5)\n    print(handle.wait())"
    done = ended(program)
    assert (done.status, done.out[1]) == (0, "[3. 3. 3.]\n"), done


def test_a_child_by_fork_ends_as_others_do() -> None:
    program = (
        "child = os.fork()\nif not child:\n    sys.exit(0)\nos.waitpid(child, 0)\nprint(T.all_reduce(x, 'sum', w))"
    )
    done = ended(program)
    assert (done.status, done.out) == (0, ["[3. 3. 3.]\n"] * 3), done


def test_processes_that_were_started_look_for_each_other() -> None:
    done = ended("from autodiff_compiler import communication\ncommunication.get_rank()", head="", processes=2)
    assert done.status != 0
    assert "AC3005" in "".join(done.err)
    assert "call `communication.init()` first" in "".join(done.err)
