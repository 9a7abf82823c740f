"""A `while` that depends on data, with its adjoint: an equation integrated until its solution is small."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..case import Arrays, Call, Case, derivative

STEP, END = 0.0031, 0.05
START = [np.array(3.0), np.array(1.0)]


def formula(m: Any) -> Callable[..., Any]:
    """The integral of x squared along x' = -k tanh(x), until x is below the end: by the start and k."""

    def energy(x: Any, k: Any) -> Any:
        total = x * 0.0
        while x > END:
            total = total + STEP * x * x
            x = x - STEP * k * m.tanh(x)
        return total

    return energy


def trips() -> int:
    x, n = float(START[0]), 0
    while x > END:
        x, n = x - STEP * math.tanh(x), n + 1
    return n


def scanned(m: Any) -> Callable[..., Any]:
    """JAX has no derivative of a `while_loop` in reverse: a `scan` over a number of steps that is told before."""
    import jax

    n = trips()

    def energy(x: Any, k: Any) -> Any:
        def one(carry: Any, _: Any) -> Any:
            x, total = carry
            return (x - STEP * k * m.tanh(x), total + STEP * x * x), None

        (_, total), _ = jax.lax.scan(one, (x, x * 0.0), None, length=n)
        return total

    return energy


def adjoint(x: Any, k: Any) -> Any:
    """Forward with all tanh kept, and backward: for NumPy's users, and for numba."""
    kept = np.empty((64, 2))
    n, total = 0, 0.0
    while x > END:
        if n == len(kept):
            longer = np.empty((2 * n, 2))
            longer[:n] = kept
            kept = longer
        t = math.tanh(x)
        kept[n, 0], kept[n, 1] = x, t
        n += 1
        total += STEP * x * x
        x -= STEP * k * t
    dx, dk = 0.0, 0.0
    for i in range(n - 1, -1, -1):
        x, t = kept[i, 0], kept[i, 1]
        dk -= dx * STEP * t
        dx = dx * (1.0 - STEP * k * (1.0 - t * t)) + 2.0 * STEP * x
    return total, dx, dk


def by_hand(x: Any, k: Any) -> tuple[Any, ...]:
    value, dx, dk = adjoint(float(x), float(k))
    return np.array(value), np.array(dx), np.array(dk)


def numba() -> Call:
    import numba

    return Call(numba.njit(adjoint), *map(float, START))


def cases() -> Iterator[Case]:
    def given() -> Arrays:
        return list(START)

    yield derivative(
        f"while of {trips():,} trips with adjoint", formula, given, (0, 1), by_hand,
        formulas={"jax": scanned}, also={"numba": numba}, targets={"jax": 1.5, "torch": 1000.0, "numba": 1.0},
        absent={"torch.compile": "leaves the loop to Python"}, threads=(1,),
    )  # fmt: skip
