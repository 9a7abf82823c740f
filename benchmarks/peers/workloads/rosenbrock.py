"""Rosenbrock's function: value and gradient of a few operations on small vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..case import Call, Case, Given, derivative


def formula(_: Any) -> Callable[..., Any]:
    def rosenbrock(x: Any) -> Any:
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    return rosenbrock


def by_hand(x: np.ndarray) -> tuple[Any, np.ndarray]:
    a, b = x[:-1], x[1:]
    d, e = b - a * a, 1.0 - a
    gradient = np.zeros_like(x)
    gradient[:-1] = -400.0 * a * d - 2.0 * e
    gradient[1:] += 200.0 * d
    return (100.0 * d * d + e * e).sum(), gradient


def loops(x: Any) -> Any:
    """What numba compiles."""
    value, gradient = 0.0, np.zeros_like(x)
    for i in range(x.size - 1):
        d, e = x[i + 1] - x[i] * x[i], 1.0 - x[i]
        value += 100.0 * d * d + e * e
        gradient[i] -= 400.0 * x[i] * d + 2.0 * e
        gradient[i + 1] += 200.0 * d
    return value, gradient


def cases() -> Iterator[Case]:
    for n in (2, 100):

        def given(n: int = n) -> list[np.ndarray]:
            return [np.random.default_rng(0).uniform(-1.5, 1.5, n)]

        def numba(given: Given = given) -> Call:
            import numba

            return Call(numba.njit(loops), *given())

        also = {"numba": numba}
        yield derivative(f"Rosenbrock n={n}", formula, given, (0,), by_hand, also=also, threads=(1,))
