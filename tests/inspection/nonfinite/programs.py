"""Programs with one weak line each: they are healthy with some arguments, and make a NaN or an infinity with others.

The weak line is marked with a comment: ``# forward`` if its own result is bad, ``# adjoint`` if its gradient is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops

__all__ = ["PROGRAMS", "Planted"]


def f32(*values: Any) -> Tensor:
    return Tensor(np.array(values, np.float32))


@dataclass
class Planted:
    """`make` gives the function, and what it is called with when it is healthy and when it is not."""

    name: str
    make: Callable[[], tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]]
    #: parts of the message that must be there
    says: tuple[str, ...] = ()
    #: whether it is compiled as a whole; else it compiles by itself what it wants
    compiled: bool = True

    @property
    def backward(self) -> bool:
        return self.mark == "adjoint"

    @property
    def mark(self) -> str:
        return "adjoint" if "# adjoint" in inspect.getsource(self.make) else "forward"

    @property
    def line(self) -> int:
        lines, first = inspect.getsourcelines(self.make)
        (at,) = [i for i, line in enumerate(lines) if f"# {self.mark}" in line]
        return first + at

    @property
    def text(self) -> str:
        return inspect.getsourcelines(self.make)[0][self.line - inspect.getsourcelines(self.make)[1]].strip()


def log_in_a_helper() -> Any:
    def entropy(p: Any) -> Any:
        return -(p * ops.log(p)).sum()  # forward

    def f(x: Any) -> Any:
        p = ops.relu(x)
        return entropy(p / p.sum())

    return f, (f32(1, 2, 3),), (f32(1, -2, 3),)


def root_at_zero() -> Any:
    def distance(x: Any, y: Any) -> Any:
        d = x - y
        squares = (d * d).sum(-1)
        return ops.sqrt(squares).sum()  # adjoint

    return ms.grad(distance), (f32([1, 2], [3, 4]), f32([0, 2], [3, 3])), (f32([1, 2], [3, 4]), f32([0, 2], [3, 4]))


def zero_times_inf_behind_where() -> Any:
    def f(x: Any) -> Any:
        inverse = ops.where(x > 0, x**-0.5, 0.0 * x)  # forward
        return inverse.sum()

    return f, (f32(1, 4, 9),), (f32(1, 0, 9),)


def growing_in_a_loop() -> Any:
    def f(x: Any) -> Any:
        for _ in range(30):
            x = ops.exp(x) * 0.3  # forward
        return x

    return f, (f32(0.1, -1),), (f32(0.1, 2),)


def halving_until_zero() -> Any:
    def f(x: Any) -> Any:
        steps = 0
        while x.sum() > -1 and steps < 12:
            x = ops.floor(x / 2)
            total = (1 / (x + 0.0)).sum()  # forward
            x = ops.where(total < 1e9, x, x - 100.0)
            steps = steps + 1
        return x

    return f, (f32(1e6, 2e6),), (f32(40, 90),)


def one_arm_of_a_branch() -> Any:
    def f(x: Any, y: Any) -> Any:
        if y.sum() > 0:
            z = x / y
        else:
            z = x / (y - y)  # forward
        return z.sum()

    return f, (f32(1, 2), f32(1, 2)), (f32(1, 2), f32(-1, -2))


def training_step() -> Any:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(np.full((3, 2), 0.5, np.float32), name="w")

        def construct(self, x: Any) -> Any:
            h = ops.matmul(x, self.w)
            centred = h - h.mean(0)
            return centred / ops.sqrt((centred * centred).mean(0))  # forward

    net = Net()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    value_and_grad = ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).sum(), None, optimizer.parameters)

    def step(x: Any, y: Any) -> Any:
        loss, grads = value_and_grad(x, y)
        optimizer(grads)
        return loss

    y = f32([0, 1], [1, 0])
    return step, (f32([1, 2, 3], [3, 1, 0]), y), (f32([1, 2, 3], [1, 2, 3]), y)


def own_bprop() -> Any:
    class Norm(nn.Cell):
        def construct(self, x: Any) -> Any:
            return ops.sqrt((x * x).sum())

        def bprop(self, x: Any, out: Any, dout: Any) -> Any:
            unit = x / out  # forward
            return (dout * unit,)

    norm = Norm()
    return ms.grad(lambda x: norm(x) * 2), (f32(3, 4),), (f32(0, 0),)


def hook_of_a_gradient() -> Any:
    def normalise(g: Any) -> Any:
        return g / g.sum()  # forward

    edit = ops.InsertGradientOf(normalise)

    def f(x: Any, w: Any) -> Any:
        return (edit(x * x) * w).sum()

    return ms.grad(f), (f32(1, 2), f32(1, 1)), (f32(1, 2), f32(1, -1))


def second_derivative() -> Any:
    def f(x: Any) -> Any:
        return (x**1.5).sum()  # adjoint

    def slope(x: Any) -> Any:
        return ms.grad(f)(x).sum()

    return ms.grad(slope), (f32(1, 4),), (f32(1, 0),)


def mapped() -> Any:
    def row(x: Any) -> Any:
        return ops.log(x).sum()  # forward

    return ms.vmap(row), (f32([1, 2], [3, 4]),), (f32([1, 2], [3, 0]),)


def compiled_on_a_tape() -> Any:
    @ms.jit
    def part(x: Any) -> Any:
        y = x * 2
        return ops.sqrt(y)  # adjoint

    def f(x: Any) -> Any:
        return part(x).sum()

    return ms.grad(f), (f32(1, 4),), (f32(1, 0),)


def half_precision() -> Any:
    def f(x: Any, w: Any) -> Any:
        h = ops.matmul(x, w)
        return h.astype(ms.float16).sum()  # forward

    return f, (f32([1, 2]), f32([3], [4])), (f32([300, 200]), f32([300], [400]))


def backward_in_a_loop() -> Any:
    def f(x: Any) -> Any:
        total = x.sum()
        for _ in range(12):
            x = x - 1
            total = total + (ops.abs(x) ** 0.5).sum()  # adjoint
        return total

    return ms.grad(f), (f32(0.25, 20.5),), (f32(0.25, 7),)


def pullback() -> Any:
    def f(x: Any) -> Any:
        return ops.asin(x)  # adjoint

    def g(x: Any, n: Any) -> Any:
        y, pull = ms.vjp(f, x)
        if n.sum() > 0:
            y = pull(y)[0] if isinstance(pull(y), tuple) else pull(y)
        return y

    return g, (f32(0.5, 0.25), f32(1)), (f32(0.5, 1), f32(1))


PROGRAMS = [
    Planted("log_in_a_helper", log_in_a_helper, ("`log`", "-inf", "1 of 3 elements", "[1]")),
    Planted("root_at_zero", root_at_zero, ("`sqrt`", "derivative", "[1]")),
    Planted("zero_times_inf_behind_where", zero_times_inf_behind_where, ("inf", "[1]")),
    Planted("growing_in_a_loop", growing_in_a_loop, ("inf", "[1]")),
    Planted("halving_until_zero", halving_until_zero, ("inf",)),
    Planted("one_arm_of_a_branch", one_arm_of_a_branch, ("inf", "`div`")),
    Planted("training_step", training_step, ("NaN", "`div`", "0 .. 0")),
    Planted("own_bprop", own_bprop, ("NaN", "`div`")),
    Planted("hook_of_a_gradient", hook_of_a_gradient, ("inf", "`div`")),
    Planted("second_derivative", second_derivative, ("inf", "derivative")),
    Planted("mapped", mapped, ("-inf", "`log`")),
    Planted("compiled_on_a_tape", compiled_on_a_tape, ("inf", "derivative", "`sqrt`"), compiled=False),
    Planted("half_precision", half_precision, ("inf", "f16", "`cast`", "170000")),
    Planted("backward_in_a_loop", backward_in_a_loop, ("inf", "derivative")),
    Planted("pullback", pullback, ("inf", "derivative", "`asin`")),
]
