"""Peak memory of processes that do one piece of work, and what compiled functions leave behind."""

from __future__ import annotations

import functools
import gc
import itertools
import json
import os
import pathlib
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..case import Case, Maker
from ..frameworks import available, enter, put
from ..networks import Mlp
from . import compilation, mlp, ode, rnn

CALLS = 20
ROUNDS = 1_000
COLUMNS = ("native", "numpy", "eager", "jax", "torch", "autograd")
#: Each layer leaves 4 MiB behind for the way back.
DEEP, BATCH = Mlp((512,) * 33, classify=False), 2048


def _work() -> dict[str, Case]:
    return {
        "training step of MLP 784-512-256-10, batch 128": next(c for c in mlp.cases() if "784" in c.name),
        "RNN of 100 steps": next(rnn.cases()),
        "while with adjoint": next(ode.cases()),
    }


def _mebibytes() -> float:
    """The most that this process ever had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _now() -> float:
    """What it has; where that cannot be read, the most it ever had."""
    try:
        pages = int(pathlib.Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return _mebibytes()
    return pages * resource.getpagesize() / 2**20


def peak_of(work: str, column: str) -> None:
    """In a process of its own: prints the peak, and what of it came after a first small computation."""
    enter(column)
    compilation.prepared(column, compilation.text_of(10))()
    before = _mebibytes()
    call = _work()[work].makers[column]()
    for _ in range(CALLS):
        call()
    print(json.dumps([_mebibytes(), _mebibytes() - before]))


def above_inputs(column: str) -> None:
    """In a process of its own: prints by how much a value with its gradients raises the peak, inputs being there."""
    enter(column)
    small = Mlp((8, 8, 8), classify=False)
    _gradients(small, column, 4)()
    call = _gradients(DEEP, column, BATCH)
    before = _mebibytes()
    for _ in range(3):
        call()
    print(json.dumps([_mebibytes() - before]))


def _gradients(mlp: Mlp, column: str, batch: int) -> Callable[[], Any]:
    derivative = mlp.by_hand if column == "hand" else mlp.value_and_gradients(column)
    arrays = [*mlp.data(batch), *mlp.parameters()]
    given = arrays if column == "hand" else put(column, arrays)
    return lambda: derivative(*given)


def dropped(column: str) -> None:
    """In a process of its own: prints by how much it grew over the last rounds of compiling and dropping."""
    enter(column)
    settled = 0.0
    for i in range(ROUNDS + ROUNDS // 5):
        if i == ROUNDS // 5:
            gc.collect()
            settled = _now()
        compilation.prepared(column, compilation.text_of(10, i))()
        if column == "jax" and i % 50 == 49:
            import jax

            jax.clear_caches()
    gc.collect()
    print(json.dumps([_now() - settled]))


def _in_process(call: str) -> list[float]:
    """Without the cache of objects, which would serve some computations of a process and not others: all compile."""
    code = f"from benchmarks.peers.workloads import memory; memory.{call}"
    environment = {**os.environ, "AC_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    numbers: list[float] = json.loads(done.stdout)
    return numbers


@functools.cache
def _peaks(work: str, column: str, number: int) -> list[float]:
    """What the process of that number found: both rows tell of the same ones."""
    return _in_process(f"peak_of({work!r}, {column!r})")


def figure(work: str, column: str, which: int) -> Maker:
    numbers = itertools.count()
    return lambda: lambda: _peaks(work, column, next(numbers))[which]


def cases() -> Iterator[Case]:
    for work, case in _work().items():
        columns = [column for column in COLUMNS if column in case.makers]
        for which, what in enumerate(("peak of the process", "above a first small computation")):
            yield Case(
                f"{work}, {what}", {c: figure(work, c, which) for c in columns}, targets={"jax": 1.0}, kind="figure",
                unit="MiB", threads=(1,), rounds=3,
            )  # fmt: skip
    shown = ("native", "numpy", "jax", "hand")
    yield Case(
        f"value_and_grad of MLP with 32 layers of 512, batch {BATCH:,}, peak above inputs",
        {c: lambda c=c: lambda: _in_process(f"above_inputs({c!r})")[0] for c in shown},
        targets={"jax": 1.0}, kind="figure", unit="MiB", threads=(1,), rounds=3,
    )  # fmt: skip
    columns = ["native", "numpy"] if available("native") else ["numpy"]
    yield Case(
        f"growth over {ROUNDS:,} rounds of compile, call and drop",
        {c: lambda c=c: lambda: _in_process(f"dropped({c!r})")[0] for c in columns},
        at_most=8.0, kind="figure", unit="MiB", threads=(1,), rounds=1,
    )  # fmt: skip
