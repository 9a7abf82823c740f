"""A network's value and gradients for batch sizes that are new each: what a loader with ragged batches does.

The column "native" is this package as it comes: machine code for the first size, and one program of machine code for
all others; with `dynamic=False` each size would be compiled.
"""

from __future__ import annotations

import gc
import json
import os
import pathlib
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..case import Arrays, Case
from ..frameworks import OURS, arrays_of, available, enter, put, uncached, vocabulary
from ..networks import Mlp
from .mlp import LARGE

BATCHES = range(8, 200, 8)
#: Sizes that come after these, each new.
NEW = range(11, 203, 8)
#: Columns that compile for long: of both they are given the first few sizes, where that is enough.
SLOW, FEW = ("jax", "torch.compile"), 4
#: Another network, so that many sizes take no time.
NARROW, MANY = Mlp((16, 32, 8), classify=True), 1_000
BACKENDS = {"native": "auto", "numpy": "numpy"}


def derivative(column: str, mlp: Mlp = LARGE) -> Callable[..., Any]:
    """The loss and its gradients by all parameters, as a function of inputs, targets and parameters."""
    loss, wanted = mlp.loss(vocabulary(column)), tuple(range(2, 2 * len(mlp.sizes)))
    if column in OURS:
        import autodiff_compiler as ms

        found = ms.value_and_grad(loss, wanted)
        return found if column == "eager" else ms.jit(found, backend=BACKENDS[column])
    if column == "jax":
        return mlp.value_and_gradients("jax")
    return mlp.by_hand if column == "hand" else of_torch(loss, column)


def of_torch(loss: Callable[..., Any], column: str) -> Callable[..., Any]:
    import torch

    if column != "torch":
        torch._dynamo.reset()
        torch._inductor.config.force_disable_caches = True
        loss = torch.compile(loss)  # it finds out by itself that the sizes change

    def derivative(x: Any, t: Any, *parameters: Any) -> Any:
        value = loss(x, t, *parameters)
        return value, torch.autograd.grad(value, parameters)

    return derivative


def all_of(column: str, sizes: Sequence[int] = BATCHES) -> tuple[Callable[..., Any], list[list[Any]]]:
    """The derivative, and the arguments of its calls with batches of these sizes."""
    parameters = put(column, LARGE.parameters(), gradients=True)
    return derivative(column), [[*put(column, LARGE.data(batch)), *parameters] for batch in sizes]


def first_calls(column: str) -> Callable[[], Any]:
    f, calls = all_of(column)
    return lambda: [f(*args) for args in calls]


def reference() -> Arrays:
    parameters = [p.astype(np.float64) for p in LARGE.parameters()]
    results = [LARGE.by_hand(*(a.astype(np.float64) for a in LARGE.data(batch)), *parameters) for batch in BATCHES]
    return arrays_of(results)


def compilations(column: str) -> Callable[[], float]:
    f, calls = all_of(column)
    for args in calls:
        f(*args)
    info: Any = f
    return lambda: float(info.cache_info()["compiles"])


def new_against_known(column: str) -> Callable[[], float]:
    """How many times as long the first call of a size takes as the second one, once `BATCHES` have been called."""
    known, new = (sizes[:FEW] if column in SLOW else sizes for sizes in (BATCHES, NEW))
    f, calls = all_of(column, known)
    for args in calls:
        f(*args)

    def ratio() -> float:
        first, second = 0.0, 0.0
        for args in all_of(column, new)[1]:
            begun = time.perf_counter()
            f(*args)
            between = time.perf_counter()
            f(*args)
            first, second = first + between - begun, second + time.perf_counter() - between
        return first / second

    return ratio


# ------------------------------------------------------------------------------------------------ memory
def grown(column: str) -> None:
    """In a process of its own: prints by how many MiB it grew over many sizes, once it has had a few."""
    enter(column)
    f, parameters = derivative(column, NARROW), put(column, NARROW.parameters())
    settled = 0.0
    for batch in range(1, MANY + 11):
        f(*put(column, NARROW.data(batch)), *parameters)
        if batch == 10:
            gc.collect()
            settled = _now()
    gc.collect()
    print(json.dumps(_now() - settled))


def _now() -> float:
    try:
        pages = int(pathlib.Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return pages * resource.getpagesize() / 2**20


def _in_process(column: str) -> float:
    code = f"from benchmarks.peers.workloads import batches; batches.grown({column!r})"
    environment = {**os.environ, "AC_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return float(json.loads(done.stdout))


def cases() -> Iterator[Case]:
    columns = ("native", "numpy", "eager", "jax", "torch", "torch.compile", "hand")
    ours = [c for c in ("native", "numpy") if available(c)]
    yield Case(
        f"value_and_grad of MLP 784-512-256-10, {len(BATCHES)} batch sizes, first calls included",
        {c: lambda c=c: uncached(first_calls(c)) for c in columns}, reference,
        {"jax": 3.0}, at_most=350.0, kind="first", threads=(1,), rounds=5, once=SLOW,
    )  # fmt: skip
    yield Case(
        f"the same, compilations of {len(BATCHES)} batch sizes",
        {c: lambda c=c: uncached(compilations(c)) for c in ours},
        at_most=2.0, kind="figure", unit="compilations", threads=(1,), rounds=1,
    )  # fmt: skip
    yield Case(
        "the same, a call of a new batch size by one of a known size",
        {c: lambda c=c: uncached(new_against_known(c)) for c in columns[:-1]},
        at_most=1.2, kind="figure", unit="times", threads=(1,), rounds=5, once=SLOW,
    )  # fmt: skip
    yield Case(
        f"growth over {MANY:,} batch sizes of MLP 16-32-8", {c: lambda c=c: lambda: _in_process(c) for c in ours},
        at_most=8.0, kind="figure", unit="MiB", threads=(1,), rounds=1,
    )  # fmt: skip
