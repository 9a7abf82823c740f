"""First calls of functions of many mixed operations, with their gradients: cold, and from a cache on disk."""

from __future__ import annotations

import itertools
import linecache
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..case import Arrays, Case, Maker
from ..frameworks import blocking, compiled_torch, put, uncached, vocabulary

_files = itertools.count()


def text_of(n: int, seed: int = 0, end: str = ".sum()") -> str:
    """Source of a function of n operations, a fifth of them tanh, sin and exp; nothing of it folds or overflows."""
    rng = random.Random(seed)
    lines, names = ["def mixed(x, y):"], ["x", "y"]
    for i in range(n - 1):
        a, b = rng.choice(names[-8:]), rng.choice(names[-8:])
        if i % 10 == 4:
            value = f"{rng.choice(('tanh', 'sin'))}({names[-1]})"
        elif i % 10 == 5:
            value = f"exp({names[-1]})"
        else:
            value = rng.choice((f"{a} * x", f"{a} * y", f"{a} - {b}", f"{a} + {b}", f"{names[-1]} * 0.5"))
        names.append(f"v{i}")
        lines.append(f"    v{i} = {value}")
    return "\n".join([*lines, f"    return ({' + '.join(names[-8:])}){end}", ""])


def function(space: dict[str, Any], text: str) -> Callable[..., Any]:
    """A new function of a text; its source can be found."""
    name = f"<mixed {next(_files)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), space)
    found = space["mixed"]
    assert callable(found)
    return found


def given() -> Arrays:
    rng = np.random.default_rng(0)
    return [rng.uniform(-0.9, 0.9, 1024) for _ in range(2)]


def reference(n: int) -> Arrays:
    """The value, and the gradients by complex steps, which lose no digits."""
    x, y = given()
    f = function({"tanh": np.tanh, "sin": np.sin, "exp": np.exp}, text_of(n, end=""))
    step = 1e-30j
    return [f(x, y).sum(), f(x + step, y).imag / 1e-30, f(x, y + step).imag / 1e-30]


def prepared(column: str, text: str) -> Callable[[], Any]:
    """The value and gradients of a new function: its first call compiles it."""
    m = vocabulary(column)
    f = function({"tanh": m.tanh, "sin": m.sin, "exp": m.exp}, text)
    args = put(column, given(), gradients=True)
    if column == "jax":
        import jax

        derivative = blocking(jax.value_and_grad(f, (0, 1)))
    elif column.startswith("torch"):
        import torch

        torch._inductor.config.force_disable_caches = True
        g = f if column == "torch" else compiled_torch(f)

        def derivative(*args: Any) -> Any:
            value = g(*args)
            return value, torch.autograd.grad(value, args)

    elif column == "autograd":
        import autograd

        derivative = autograd.value_and_grad(f, (0, 1))
    else:
        import autodiff_compiler as ms

        derivative = ms.value_and_grad(f, (0, 1))
        derivative = derivative if column == "eager" else ms.jit(derivative)
    return lambda: derivative(*args)


def cold(column: str, n: int) -> Maker:
    """Each function has a text of its own: no cache of this process knows it."""
    seeds = itertools.count()
    return lambda: uncached(prepared(column, text_of(n, next(seeds))))


# ------------------------------------------------------------------------------------------------ in new processes
_SCRIPT = """
import sys, time
from benchmarks.peers.frameworks import enter
from benchmarks.peers.workloads.compilation import prepared, text_of
column, n, comment = sys.argv[1], int(sys.argv[2]), sys.argv[3]
enter(column)
prepared(column, text_of(10, 99))()  # what a process does once
call = prepared(column, text_of(n).replace(":", ":" + comment, 1))
start = time.perf_counter()
call()
print(1e3 * (time.perf_counter() - start))
"""


def cached(column: str, n: int, edited: bool) -> Maker:
    """The milliseconds of a first call in a new process, after another one has compiled the same.

    `edited`: a comment in the source is another one each time, so that only what comes of it is the same.
    """
    made: list[tempfile.TemporaryDirectory[str]] = []
    comments = itertools.count()

    def figure() -> float:
        folder = made[0].name
        places = {"XDG_CACHE_HOME": folder, "JAX_COMPILATION_CACHE_DIR": str(pathlib.Path(folder, "jax"))}
        limits = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
        command = [sys.executable, "-c", _SCRIPT, column, str(n), f"  # {next(comments)}" if edited else ""]
        environment = {**os.environ, **places, **limits}
        return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)

    def make() -> Callable[[], float]:
        if not made:
            made.append(tempfile.TemporaryDirectory())
            figure()
        return figure

    return make


def cases() -> Iterator[Case]:
    columns = ("native", "numpy", "eager", "jax", "torch", "torch.compile", "autograd")
    too_long = {100: {}, 1_000: {"torch.compile": "takes minutes"}}
    too_long[5_000] = {**too_long[1_000], "jax": "took more than 9 minutes"}
    yield Case(
        "first call of 10 ops with gradient, warm process", {c: cold(c, 10) for c in columns},
        lambda: reference(10), {"jax": 1.0}, at_most=150.0, kind="first", threads=(1,), rounds=15,
    )  # fmt: skip
    for n in too_long:
        yield Case(
            f"first call of {n:,} ops with gradient", {c: cold(c, n) for c in columns if c not in too_long[n]},
            lambda n=n: reference(n), {"jax": 3.0} if n == 1_000 else {}, kind="first", threads=(1,), tolerance=1e-6,
            rounds=2 if n > 1_000 else 5, absent=too_long[n],
        )  # fmt: skip
    for edited, most in ((False, 30.0), (True, 150.0)):
        yield Case(
            f"first call of 1,000 ops with gradient, from the cache on disk{', comment edited' if edited else ''}",
            {c: cached(c, 1_000, edited) for c in ("native", "jax")}, at_most=most, kind="figure", unit="ms",
            threads=(1,), rounds=5,
        )  # fmt: skip
