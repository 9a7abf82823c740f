"""Runs cases: each checked, then timed; each group in a process of its own per number of threads."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .case import Case, sample
from .frameworks import OURS, available, enter
from .report import Row

ROOT = pathlib.Path(__file__).parents[2]
#: The modules of `workloads`, in the order of the table.
GROUPS = (
    "calls", "rosenbrock", "mlp", "elementwise", "rows", "logistic", "ode", "implicit", "rnn", "hvp", "gmm",
    "compilation", "batches", "lstm", "streaming", "imports", "memory",
)  # fmt: skip
THREADS = (1, 2)


def cases_of(group: str, only: str = "") -> Iterator[Case]:
    """The cases of a module of `workloads` whose name, or that of the module, contains a text."""
    for case in importlib.import_module(f"{__package__}.workloads.{group}").cases():
        if only.lower() in f"{group}: {case.name}".lower():
            yield case


class Timed:
    """The seconds that calls of a function take."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def of(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """The function, timed."""

        def call() -> Any:
            begun = time.perf_counter()
            found = function()
            self.taken.append(time.perf_counter() - begun)
            return found

        return call


def run_case(group: str, case: Case, rounds: int, threads: int) -> Row:
    """Checks the columns of a case and times those that are right."""
    row = Row(group, case.name, threads, case.unit, dict(case.targets), case.at_most, dict(case.absent))
    expected = case.reference() if case.reference is not None else None
    ready: dict[str, Callable[[], Any]] = {}
    for column, make in {**case.makers, **case.beside}.items():
        if not available(column):
            row.absent.setdefault(column, "not installed")
            continue
        enter(column)
        begun, timed = time.perf_counter(), Timed()
        try:
            if expected is None and case.kind != "call":
                made, wrong = make, ""  # each round makes its own
            else:
                made = make()
                wrong = "" if expected is None or column in case.beside else case.wrong(timed.of(made), expected)
        except Exception as error:
            wrong = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
        if wrong:
            row.failed[column] = wrong
        elif case.kind == "first" and column in case.once and timed.taken:
            row.figures[column] = [1e3 * timed.taken[0]]
        else:
            ready[column] = made if case.kind == "call" else make
        print(f"  {column}: {wrong or 'ready'} after {time.perf_counter() - begun:.1f} s", file=sys.stderr, flush=True)
    if ready:
        row.figures |= sample(case, ready, rounds, 0.0 if threads == 1 else 0.005)
    return row


def run_group(group: str, only: str = "", rounds: int = 9, threads: int = 1) -> list[Row]:
    """The rows of a group, in this process and with the threads it has."""
    return list(rows_of(group, only, rounds, threads))


def rows_of(group: str, only: str, rounds: int, threads: int) -> Iterator[Row]:
    """The same rows, as they come."""
    import autodiff_compiler as ms

    before = {name: ms.get_context(name) for name in ("mode", "backend")}
    try:
        for case in cases_of(group, only):
            if threads in case.threads:
                print(f"{group}: {case.name}, {threads} thread{'s' * (threads > 1)}", file=sys.stderr, flush=True)
                yield run_case(group, case, rounds, threads)
    finally:
        ms.set_context(**before)


# ------------------------------------------------------------------------------------------------ processes
def bind(threads: int) -> None:
    """Binds this process to as many processors as it has threads, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def environment(threads: int, folder: str) -> dict[str, str]:
    """What libraries read when they are loaded.  Caches of this package lie in the folder: nothing is known before."""
    counts = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads)
    )
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    # Calls are waited for: JAX is faster if it need not hand them to another thread.
    jax = {"JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu", "JAX_CPU_ENABLE_ASYNC_DISPATCH": "0"}
    return {**os.environ, **counts, **jax, "XDG_CACHE_HOME": folder, "PYTHONPATH": path}


def run_groups(
    groups: Iterable[str] = GROUPS, only: str = "", rounds: int = 9, threads: Iterable[int] = THREADS
) -> Iterator[Row]:
    """The rows of several groups; where a process ends badly, a row that says so."""
    for count in threads:
        for group in groups:
            if not any(count in case.threads for case in cases_of(group, only)):
                continue
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "rows.json")
                command = [sys.executable, "-m", "benchmarks.peers", "--here", group, "--json", str(file)]
                command += ["--only", only, "--rounds", str(rounds), "--threads", str(count)]
                done = subprocess.run(command, env=environment(count, folder), cwd=ROOT, check=False)
                if file.exists():  # as far as it came
                    yield from (Row(**row) for row in json.loads(file.read_text("utf-8"))["rows"])
                if done.returncode:
                    yield Row(group, "the whole group", count, "", failed={OURS[0]: f"ended with {done.returncode}"})
