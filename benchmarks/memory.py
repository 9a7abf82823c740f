"""Memory of reverse mode through loops: peak bytes per trip beside what mathematics needs.

    python benchmarks/memory.py

Needed is what the derivative of the body must know of each trip: the values of its non-linear ops.  The target is 1.25
times that, plus a constant; the constant falls out by comparing two numbers of trips.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from _measure import machine, table

import autodiff_compiler as ms

SIZE = 256
TRIPS = 10_000
BYTES = 4 * SIZE  # one f32 vector


def sine(x: Any, n: Any) -> Any:
    for _ in range(int(n)):
        x = x.sin() * 1.01
    return x.sum()


def sine_static(x: Any, n: Any) -> Any:
    for _ in range(TRIPS if n else TRIPS // 2):
        x = x.sin() * 1.01
    return x.sum()


def linear(x: Any, n: Any) -> Any:
    for _ in range(int(n)):
        x = x * 0.999 + 0.1
    return x.sum()


def tanh_of_product(x: Any, n: Any) -> Any:
    for i in range(int(n)):
        x = (x * 1.01 + i * 0.001).tanh()
    return x.sum()


def two_values(x: Any, n: Any) -> Any:
    y = x
    for _ in range(int(n)):
        x, y = (x * y).sin(), (x + y).cos()
    return (x * y).sum()


def while_data(x: Any, n: Any) -> Any:
    k = 0
    while k < n and x.sum() > -1e9:
        x = x.sin() * 1.01
        k = k + 1
    return x.sum()


def branch_in_loop(x: Any, n: Any) -> Any:
    for _ in range(int(n)):
        if x[0] > 0.5:
            x = x.sin()
        else:
            x = x * 1.2
    return x.sum()


#: Name, function, bytes that mathematics needs per trip.
CASES: list[tuple[str, Callable[..., Any], float]] = [
    ("x = sin(x) * 1.01", sine, BYTES),
    ("the same, number of trips static", sine_static, BYTES),
    ("x = x * 0.999 + 0.1", linear, 0),
    ("x = tanh(x * 1.01 + i)", tanh_of_product, BYTES),
    ("x, y = sin(x * y), cos(x + y)", two_values, 2 * BYTES),
    ("while: x = sin(x) * 1.01", while_data, BYTES),
    ("if: x = sin(x) else x * 1.2", branch_in_loop, BYTES + 1),
]


def peak(fn: Callable[[], Any]) -> int:
    gc.collect()
    tracemalloc.start()
    fn()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def per_trip(fn: Callable[..., Any]) -> float:
    """Peak bytes per trip of the compiled gradient, without what does not depend on the number of trips."""
    gradient = ms.jit(ms.grad(fn))
    x = ms.Tensor(np.linspace(0.1, 0.9, SIZE, dtype=np.float32))
    if fn is sine_static:
        few, many = False, True
    else:
        few, many = ms.Tensor(TRIPS // 2), ms.Tensor(TRIPS)
    for n in (few, many):
        gradient(x, n)
    return (peak(lambda: gradient(x, many)) - peak(lambda: gradient(x, few))) / (TRIPS - TRIPS // 2)


def main() -> None:
    print(machine())
    rows = []
    for name, fn, needed in CASES:
        found = per_trip(fn)
        rows.append(
            [name, needed, found, found / needed if needed else "", "" if found <= 1.25 * needed + 2 else "above 1.25"]
        )
    table(f"Bytes per trip of the gradient, {TRIPS:,} trips of f32[{SIZE}]", ["", "needed", "peak", "ratio", ""], rows)


if __name__ == "__main__":
    main()
