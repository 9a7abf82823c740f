"""Eager mode beside HIPS autograd and bare NumPy: microseconds per call, measured in turns in one process.

    python benchmarks/eager.py

`ratio` is ours divided by the other: below 1 we are faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd
import autograd.numpy as anp
import numpy as np
from _measure import interleaved, machine

import autodiff_compiler.primitives  # noqa: F401
from autodiff_compiler.eager import differentiate
from autodiff_compiler.runtime import Tensor


def mlp_arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = [(16, 8), (16, 1), (8, 16), (16,), (16, 1), (1,)]
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


def mlp_of(matmul: Any, tanh: Any, total: Any) -> Callable[..., Any]:
    def loss(x: Any, target: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        error = matmul(tanh(matmul(x, w1) + b1), w2) + b2 - target
        return total(error * error)

    return loss


def chain_of(tanh: Any, total: Any) -> Callable[[Any], Any]:
    def chain(x: Any) -> Any:
        for _ in range(3):
            x = tanh(x * x + x)
        return total(x)

    return chain


def gradient_rows() -> list[tuple[str, float, float]]:
    arrays = mlp_arrays()
    x, target, *weights = map(Tensor, arrays)
    ours = mlp_of(lambda a, b: a @ b, lambda a: a.tanh(), lambda a: a.sum())
    theirs = mlp_of(anp.dot, anp.tanh, anp.sum)
    peer = autograd.value_and_grad(theirs, argnum=(2, 3, 4, 5))
    rows = [
        (
            "value_and_grad of MLP 8-16-1, batch 16",
            *interleaved([lambda: differentiate(lambda *w: ours(x, target, *w), weights), lambda: peer(*arrays)]),
        )
    ]
    vector = np.linspace(-1, 1, 16, dtype=np.float32)
    tensor, chain = Tensor(vector), chain_of(lambda a: a.tanh(), lambda a: a.sum())
    peer_chain = autograd.value_and_grad(chain_of(anp.tanh, anp.sum))
    rows.append(
        (
            "value_and_grad of a chain of 10 ops",
            *interleaved([lambda: differentiate(chain, [tensor]), lambda: peer_chain(vector)]),
        )
    )
    peer_second = autograd.grad(lambda v: anp.sum(autograd.grad(chain_of(anp.tanh, anp.sum))(v)))

    def second() -> Any:
        return differentiate(lambda v: differentiate(chain, [v])[1][0], [tensor])

    rows.append(("second derivative of that chain", *interleaved([second, lambda: peer_second(vector)])))
    return rows


def forward_rows() -> list[tuple[str, float, float]]:
    a, b = np.ones((16, 8), np.float32), np.ones((16, 8), np.float32)
    w = np.ones((8, 4), np.float32)
    x, y, m = Tensor(a), Tensor(b), Tensor(w)
    cases: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
        ("x + y", lambda: x + y, lambda: a + b),
        ("x * 2.0", lambda: x * 2.0, lambda: a * 2.0),
        ("x.tanh()", lambda: x.tanh(), lambda: np.tanh(a)),
        ("x @ m", lambda: x @ m, lambda: a @ w),
        ("x.sum(0)", lambda: x.sum(0), lambda: a.sum(0)),
        ("x[3]", lambda: x[3], lambda: a[3]),
        ("x.reshape(8, 16)", lambda: x.reshape(8, 16), lambda: a.reshape(8, 16)),
        ("x.astype('float64')", lambda: x.astype("float64"), lambda: a.astype("float64")),
    ]
    return [(name, *interleaved([ours, bare])) for name, ours, bare in cases]


def main() -> None:
    print(machine())
    print(f"{'':44}{'ours us':>10}{'autograd us':>13}{'ratio':>8}")
    for name, ours, theirs in gradient_rows():
        print(f"{name:44}{ours:10.1f}{theirs:13.1f}{ours / theirs:8.2f}")
    print(f"\n{'forward op on small arrays':44}{'ours us':>10}{'NumPy us':>13}{'above':>8}")
    for name, ours, bare in forward_rows():
        print(f"{name:44}{ours:10.2f}{bare:13.2f}{ours - bare:8.2f}")


if __name__ == "__main__":
    main()
