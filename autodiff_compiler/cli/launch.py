"""`launch`: a program in several processes, by the `mpiexec` of the MPI that mpi4py uses."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from .. import command_line
from ..collectives.launcher import find_launcher
from ..errors import CollectiveError
from .command import Argument, Command, Result, Usage

_ARGUMENTS = [
    Argument("-n", "--worker_num", type=int, metavar="N", help="how many processes (as many as there are cores)"),
    Argument("--local_worker_num", type=int, metavar="N", help="how many of them on each machine"),
    Argument("--hosts", metavar="A,B", help="the machines, which must reach each other by ssh"),
    Argument("--log_dir", metavar="PATH", help="write what process 0 prints to PATH/worker_0.log, and so on"),
    Argument("--dry-run", action="store_true", help="print the command, and start nothing"),
    Argument("program", help="a script, or -m and a module"),
    Argument("words", nargs="*", metavar="argument", help="the program's own"),
]
#: Options of MindSpore's `msrun` that say how processes find each other or wait, which is MPI's business.
_OF_MPI = ("--master_addr", "--master_port", "--node_rank", "--join", "--cluster_time_out")
#: What begins a line of a process: Open MPI's way and Hydra's.
_LABEL = re.compile(r"(?:\[\d+,(\d+)\]<std(?:out|err)>: ?|\[(\d+)\] )")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Usage(f"{message}; `launch --help` says what there is")


def _launch(words: Sequence[str]) -> int | None:
    """Starts the processes; returns the exit status of `mpiexec`, which is that of the first that failed."""
    if not words or words[0] in ("-h", "--help"):
        return None
    options = _options(words)
    command_line.begin()
    try:
        launcher = find_launcher()
    except CollectiveError as error:
        raise Usage(f"{error.message}: {error.hint}") from None
    number = options.worker_num or options.local_worker_num or os.cpu_count() or 1
    if number < 1:
        raise Usage(f"-n is a number of processes, not {number}")
    program = [sys.executable, *options.program]
    command = launcher.command(number, program, options.local_worker_num or 0, options.hosts or "")
    if options.dry_run:
        print(shlex.join(command))
        return 0
    print(f"launch: {number} processes by {launcher.path} of {launcher.vendor}", file=sys.stderr, flush=True)
    return _forward(command, options.log_dir)


def _options(words: Sequence[str]) -> argparse.Namespace:
    """The options before the program, and the program with its own."""
    parser = _Parser(prog="launch", add_help=False, allow_abbrev=False)
    for argument in _ARGUMENTS[:-2]:
        parser.add_argument(*argument.names, **argument.options)
    for name in _OF_MPI:
        parser.add_argument(name)
    own = _program_at(words)
    options = parser.parse_args(words[:own])
    options.program = list(words[own:])
    if not options.program or options.program == ["-m"]:
        raise Usage("launch takes a script, or -m and a module")
    if options.program[0] != "-m" and not os.path.exists(options.program[0]):
        raise Usage(f"there is no file {options.program[0]}")
    for name in _OF_MPI:
        if getattr(options, name[2:]) is not None:
            print(f"launch: {name} is left to MPI", file=sys.stderr)
    return options


def _program_at(words: Sequence[str]) -> int:
    """Where the program begins: behind the last option of ours and its value."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        at += 1 if "=" in words[at] or words[at] == "--dry-run" or re.fullmatch(r"-n\d+", words[at]) else 2
    return at


def _forward(command: Sequence[str], folder: str | None) -> int:
    """Runs a command and prints its lines with the process that they are of, in a file for each where asked."""
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, **pipes, text=True, errors="replace") as started:
        try:
            assert started.stdout is not None
            for line in started.stdout:
                _print(line, folder)
        except KeyboardInterrupt:
            started.send_signal(signal.SIGINT)
            started.wait()
            return command_line.INTERRUPTED_STATUS
    return _status(started.returncode)


#: The files of processes that have been begun.
_begun: set[str] = set()


def _print(line: str, folder: str | None) -> None:
    label = _LABEL.match(line)
    rank = next(filter(None, label.groups()), "") if label is not None else ""
    text = line[label.end() :] if label is not None else line
    if rank:
        text = text.removeprefix(f"[process {rank}] ")  # a traceback says it, too
    if rank and folder is not None:
        with open(os.path.join(folder, f"worker_{rank}.log"), "a" if rank in _begun else "w", encoding="utf-8") as file:
            file.write(text)
        _begun.add(rank)
    sys.stdout.write(f"[{rank}] {text}" if rank else text)
    sys.stdout.flush()


def _status(status: int) -> int:
    """An exit status as shells have it: 128 and more for what a signal ended."""
    return status if status >= 0 else 128 - status


def _unreached(options: argparse.Namespace) -> Result:
    raise Usage("launch takes its options before the program: launch -n 4 train.py")


COMMAND = Command(
    "launch",
    "run a program in several processes by MPI",
    _unreached,
    _ARGUMENTS,
    "Calls the mpiexec of the MPI that mpi4py uses and says which; `mpiexec -n 4 python train.py` does the same. Each "
    "line begins with the number of its process. Where one fails all end, with its exit status. The options of "
    "MindSpore's msrun are understood.",
    ["launch -n 4 train.py --epochs 3", "launch -n 2 -m autodiff_compiler run train.py"],
    usage="launch [-n N] [--local_worker_num N] [--hosts A,B] [--log_dir PATH] [--dry-run] (script.py | -m module) ...",
    direct=_launch,
)
