"""Compiled code on the NumPy backend beside our own eager mode: microseconds per call, in turns in one process.

    python benchmarks/runtime.py

`ratio` is eager divided by compiled: above 1 compiled code is faster.  Targets: 2 for the function of ten ops on small
Tensors, 1 for every other.  Eager mode beside HIPS autograd is `benchmarks/eager.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from _measure import interleaved, machine, np, table

import autodiff_compiler as ms
from autodiff_compiler import nn


def ten_ops(x: Any, y: Any) -> Any:
    a = x * y + x
    b = a - y
    c = (a * b).tanh()
    d = c * x + b
    e = d.sigmoid() * y
    return (e * a).sum()


def elementwise(x: Any) -> Any:
    return ((x * 2.0 + 1.0).tanh() * x - 0.5).sum()


def matmuls(x: Any, w: Any) -> Any:
    for _ in range(4):
        x = (x @ w).tanh()
    return x.sum()


def branches(x: Any) -> Any:
    if x.sum() > 0:
        x = x * 2.0
    else:
        x = x + 1.0
    return x if x[0] > 1.0 else -x


def kept_loop(x: Any) -> Any:
    for i in range(100):
        x = x * 0.99 + i
    return x


def while_loop(x: Any) -> Any:
    k = 0
    while x.sum() < 100.0 and k < 1000:
        x = x * 1.05
        k = k + 1
    return x


class Network(nn.Cell):
    """A small network with Python control flow."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Dense(8, 16), nn.Dense(16, 1)

    def construct(self, x: Any, target: Any) -> Any:
        h = self.first(x).tanh()
        if h.sum() > 100.0:
            h = h * 0.5
        error = self.second(h) - target
        return (error * error).mean()


def tensors(*shapes: tuple[int, ...]) -> list[ms.Tensor]:
    rng = np.random.default_rng(0)
    return [ms.Tensor(rng.uniform(0.1, 0.9, s).astype(np.float32)) for s in shapes]


def cases() -> list[tuple[str, float, Callable[..., Any], list[ms.Tensor]]]:
    """Name, target, function and arguments."""
    net = Network()
    weights = net.trainable_params()
    second = ms.grad(lambda x, y: ms.grad(ten_ops)(x, y).sum())
    return [
        ("ten ops on 4 elements", 2.0, ten_ops, tensors((4,), (4,))),
        ("their gradient", 2.0, ms.grad(ten_ops, (0, 1)), tensors((4,), (4,))),
        ("their second derivative", 1.0, second, tensors((4,), (4,))),
        ("one op on 4 elements", 1.0, lambda x: x + x, tensors((4,))),
        ("elementwise on 100,000", 1.0, elementwise, tensors((100_000,))),
        ("its gradient", 1.0, ms.grad(elementwise), tensors((100_000,))),
        ("4 matmuls of 128 x 128", 1.0, matmuls, tensors((128, 128), (128, 128))),
        ("their gradient", 1.0, ms.grad(matmuls, (0, 1)), tensors((128, 128), (128, 128))),
        ("two branches", 1.0, branches, tensors((4,))),
        ("loop of 100 trips", 1.0, kept_loop, tensors((4,))),
        ("its gradient", 1.0, ms.grad(kept_loop), tensors((4,))),
        ("while on data", 1.0, while_loop, tensors((4,))),
        ("its gradient", 1.0, ms.grad(while_loop), tensors((4,))),
        ("MLP 8-16-1, batch 16", 1.0, net, tensors((16, 8), (16, 1))),
        ("value_and_grad of it", 1.0, ms.value_and_grad(net, None, weights), tensors((16, 8), (16, 1))),
    ]


def main() -> None:
    print(machine())
    rows = []
    for name, target, fn, args in cases():
        compiled = ms.jit(fn)
        eager, graph = interleaved([lambda fn=fn, args=args: fn(*args), lambda f=compiled, args=args: f(*args)])
        rows.append([name, eager, graph, eager / graph, target, "" if eager / graph >= target else "below"])
    table("Microseconds per call", ["", "eager", "compiled", "ratio", "target", ""], rows)


if __name__ == "__main__":
    main()
