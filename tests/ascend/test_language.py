"""Programs with all that surrounds computing, on the device: each behaves as it does on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.backends.ascend.device import current
from autodiff_compiler.backends.ascend.emit import Buffer, Ref
from autodiff_compiler.backends.ascend.steps import Run
from autodiff_compiler.errors import InternalCompilerError
from autodiff_compiler.primitives import flops
from tests.ascend.on_device import MODES, array, ascend


def kept_loop(x: Any) -> Any:
    n = 0
    while (x * x).sum() < 100.0:
        x = x * 1.5 + ops.tanh(x)
        n = n + 1
    return x.sum() * n


def branches(x: Any) -> Any:
    y = x * 2 if x.sum() > 0 else ops.exp(x)
    return (y * y).sum()


def scanned(x: Any) -> Any:
    h = x[0] * 0
    for row in x:
        h = ops.tanh(h + row)
    return (h * h).sum()


def nested(x: Any) -> Any:
    total = x.sum() * 0
    for i in range(12):
        if x[i % 4] > 0:
            total = total + x[i % 4] * i
        else:
            j = 0
            while j < i:
                total = total - ops.sin(x[j % 4])
                j = j + 2
    return total * total


class Square(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x * x

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        return (dout * 2 * x * 3,)


square = Square()


def own_rule(x: Any) -> Any:
    return square(x).sum()


def nothing(x: Any) -> Any:
    y = x[1:1] if x.sum() > 0 else x[0:0]
    n = 0
    while n < 3:
        y = y * 2 if n > 1 else x[2:2]
        n = n + 1
    return (ops.concat((y, x[3:3], x * x))).sum() + y.sum()


def turned(x: Any) -> Any:
    y = x.reshape((2,) * 10)
    y = y.transpose(*range(9, -1, -1)) if x.sum() > 0 else ops.broadcast_to(y[:, :1], (2,) * 10)
    return (y.reshape(-1) * x).sum()


halved = ops.InsertGradientOf(lambda g: g * 0.5)


def edited(x: Any) -> Any:
    return (halved(x) * x).sum()


def from_host(x: Any) -> Any:
    doubled = ms.py_call(lambda a: a * 2, x, out=x, bprop=lambda x, out, dout: (dout * 2,))
    return (doubled + x * x).sum()


def stopped(x: Any) -> Any:
    return (ops.stop_gradient(x) * x * x).sum()


def drawn(x: Any) -> Any:
    return (x * ops.uniform((4,), Tensor(0.0), Tensor(1.0), seed=5)).sum()


FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "while": (kept_loop, array(4)),
    "if": (branches, array(4)),
    "if, other arm": (branches, -np.abs(array(4))),
    "scan": (scanned, array(12, 4)),
    "nested": (nested, array(4)),
    "bprop": (own_rule, array(4)),
    "InsertGradientOf": (edited, array(4)),
    "py_call": (from_host, array(4)),
    "stop_gradient": (stopped, array(4)),
    "values without elements": (nothing, array(4)),
    "many dimensions": (turned, np.abs(array(1024))),
    "many dimensions, repeated": (turned, -np.abs(array(1024))),
}


@pytest.mark.some(4)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mode", [*MODES, "eager"])
def test_values_and_gradients(name: str, mode: str, device: Any) -> None:
    f, x = FUNCTIONS[name]
    value, gradient = f(Tensor(x)).asnumpy(), ms.grad(f)(Tensor(x)).asnumpy()
    compiled = mode != "eager"
    with ascend(ascend_mode=mode if compiled else "per_call", ascend_fallback="host"):
        run, slope = (ms.jit(f), ms.jit(ms.grad(f))) if compiled else (f, ms.grad(f))
        ways = [slope, ms.grad(run)]  # the gradient in the program, and that of a program
        for _ in range(3):
            np.testing.assert_allclose(run(Tensor(x)).asnumpy(), value, rtol=1e-5)
            for way in ways:
                np.testing.assert_allclose(way(Tensor(x)).asnumpy(), gradient, rtol=1e-4, atol=1e-5)


def in_place(x: Any, y: Any, n: Any) -> Any:
    while True:
        x.copy_(x * 2)
        if n <= 0:
            pass
        else:
            return y
        n = n + 1


@pytest.mark.parametrize("mode", MODES)
def test_a_value_that_the_first_trip_has_not_made_yet(mode: str, device: Any) -> None:
    """Whether `x` and `y` are one Tensor only the call knows, so the loop chooses from what is not there at first."""
    run = ms.jit(in_place)
    with ascend(ascend_mode=mode):
        for _ in range(3):
            z, other = Tensor([1.0, 2.0]), Tensor([5.0, 6.0])
            assert run(z, z, Tensor(-1)).tolist() == [8, 16]
            assert z.tolist() == [8, 16]
            assert run(z, other, Tensor(-1)).tolist() == [5, 6]
            assert z.tolist() == [64, 128]


def test_only_what_a_path_may_leave_out_is_zeros(device: Any) -> None:
    with ascend():
        run, x = Run(current(), {}), Buffer(8, "x")
        with pytest.raises(InternalCompilerError, match="nothing made: x"):
            run.block(x)
        x.optional = True
        assert run.fetch(Ref(x, ms.float32, (2,), (1,))).tolist() == [0, 0]


def test_hooks_see_the_gradients(device: Any) -> None:
    seen: list[Any] = []

    def hooked(x: Any) -> Any:
        y = x * 3
        y.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
        return (y * y).sum()

    wanted = ms.grad(hooked)(Tensor([1.0, 2.0])).tolist()
    on_cpu = list(seen)
    seen.clear()
    with ascend():
        assert ms.grad(hooked)(Tensor([1.0, 2.0])).tolist() == wanted
    assert seen == on_cpu


def test_output_is_in_order(device: Any, capsys: Any) -> None:
    def speaks(x: Any) -> Any:
        print("begin", x.shape)
        y = x * 2
        print("y", y)
        for i in range(3):
            if y.sum() > i:
                print("more", i, y.sum())
        return y

    ms.jit(speaks)(Tensor([1.0, 0.5]))
    wanted = capsys.readouterr().out
    with ascend(ascend_fallback="host"):
        for run in (speaks, ms.jit(speaks)):
            run(Tensor([1.0, 0.5]))
            assert capsys.readouterr().out == wanted


def test_an_exception_leaves_what_was_written(device: Any) -> None:
    p = Parameter(np.array([0.0], np.float32), name="p")

    @ms.jit
    def f(x: Any) -> Any:
        p.assign_value(p + 1)
        if x.sum() < 0:
            raise ValueError("negative")
        p.assign_value(p * 10)
        return x * p

    with ascend():
        assert f(Tensor([1.0])).tolist() == [10]
        with pytest.raises(ValueError, match="negative") as raised:
            f(Tensor([-1.0]))
        assert p.tolist() == [11]
        assert any("test_language.py:" in note for note in getattr(raised.value, "__notes__", ()))
        assert f(Tensor([1.0])).tolist() == [120]


def test_random_numbers_are_those_of_the_cpu(device: Any) -> None:
    ms.set_seed(1)
    wanted = [drawn(Tensor(array(4))).item(), ops.rand(3).tolist()]
    with ascend(ascend_fallback="host"):
        for run in (drawn, ms.jit(drawn)):
            ms.set_seed(1)
            np.testing.assert_allclose(
                [run(Tensor(array(4))).item(), *ops.rand(3).tolist()], [wanted[0], *wanted[1]], rtol=1e-6
            )


def test_what_a_program_costs_is_counted_and_not_timed(device: Any) -> None:
    @ms.jit
    def f(a: Any, b: Any) -> Any:
        return ops.tanh(ops.matmul(a, b)) * 2

    with ascend():
        artifact = f.lower(Tensor(np.ones((4, 8), np.float32)), Tensor(np.ones((8, 16), np.float32)))
        cost, memory = artifact.cost(), artifact.memory()
        assert cost.flops == 2 * 4 * 8 * 16 + (flops.flops_of_functions()["tanh"] + 1) * 4 * 16
        assert cost.read == 4 * (4 * 8 + 8 * 16 + 2 * 4 * 16)
        assert cost.written == 4 * (3 * 4 * 16)
        assert cost.seconds is None
        assert "the limits of ascend are not known here" in str(cost)
        assert (memory.arguments, memory.results, memory.code) == (4 * (4 * 8 + 8 * 16), 4 * 4 * 16, None)
        assert memory.arena >= 4 * 4 * 16


def test_a_program_shows_its_operators_and_lines(device: Any) -> None:
    @ms.jit
    def f(x: Any) -> Any:
        return ops.tanh(x) + ops.lgamma(x)

    with ascend(ascend_fallback="host"):
        artifact = f.lower(Tensor([1.0]))
        code = artifact.code()
        assert "aclnnTanh(x:f32[1]" in code
        assert "test_language.py:" in code
        assert artifact.coverage().ways["tanh"] == "operators"
        assert artifact.coverage().ways["lgamma"].startswith("host kernel")
        assert "\nOn Ascend\n" in artifact.explain()
    with ascend():
        artifact = f.lower(Tensor([1.0]))
        assert artifact.coverage().ways["tanh"] == "operators"
        assert "no operator computes lgamma at test_language.py:" in artifact.coverage().missing["lgamma"]
        assert "host lgamma (refused: no operator computes lgamma)" in artifact.code()
        assert "lgamma: NOT COVERED" in artifact.explain()
    for run, line in ((f, "return ops.tanh(x) + ops.lgamma(x)"), (lambda x: ops.lgamma(x), "run(Tensor([1.0]))")):
        with ascend(), pytest.raises(ms.UnsupportedCallError, match="cannot run lgamma") as refused:
            run(Tensor([1.0]))
        assert refused.value.code == "AC1902"
        assert line in str(refused.value) or "lambda x: ops.lgamma(x)" in str(refused.value)
        assert refused.value.notes == ("lgamma: no operator computes lgamma",)
        assert refused.value.hint == 'let the host do it: set_context(ascend_fallback="host")'
    with ascend(), pytest.raises(ms.UnsupportedCallError, match="cannot run matmul, sigmoid") as refused:
        ms.jit(lambda x: ops.sigmoid(x @ x))(Tensor(np.eye(2)))
    assert refused.value.hint == 'use float32, or let the host do it: set_context(ascend_fallback="host")'
    assert f(Tensor([1.0])).shape == (1,)


def test_errors_of_types_are_those_of_the_cpu(device: Any) -> None:
    with ascend():
        for wrong in (
            lambda: Tensor([1.0, 2.0]) + Tensor([1.0, 2.0, 3.0]),
            lambda: ops.matmul(Tensor([[1.0]]), Tensor([[1.0], [2.0]])),
        ):
            with pytest.raises(ms.ShapeError):
                wrong()
        with pytest.raises(IndexError):
            Tensor([1.0])[3]
        open_sizes = Tensor(shape=[None, 3], dtype=ms.float32)
        for index in (0, slice(0, 1), Ellipsis):
            with pytest.raises(ValueError, match="has no elements"):
                open_sizes[index]
