"""`_Function`, `_no_grad` and `Generator`: MindSpore's objects of eager code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import UnsupportedCallError, UnsupportedSyntaxError

X = np.array([2.0, 3.0])


class Cube(ms._Function):
    """x**3, whose derivative is written as 3 x**2; `seen` is what `backward` was told."""

    seen: tuple[Any, ...] = ()

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float, bias: Any = None) -> Any:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * x * factor, x + 1

    @staticmethod
    def backward(ctx: Any, dcube: Any, dnext: Any) -> Any:
        (x,) = ctx.saved_tensors
        Cube.seen = (ctx.needs_input_grad, dnext.tolist())
        return dcube * 3 * x * x * ctx.factor + dnext, None, None


def test_the_derivative_is_what_backward_says() -> None:
    f = lambda x: Cube.apply(x, 2.0)[0].sum()
    assert f(Tensor(X)).item() == 2 * (8 + 27)
    assert ms.grad(f)(Tensor(X)).tolist() == (6 * X**2).tolist()
    assert Cube.seen == ((True, False, False), [0.0, 0.0])
    second = ms.grad(lambda x: ms.grad(f)(x).sum())(Tensor(X))
    assert second.tolist() == (12 * X).tolist()
    both = ms.grad(lambda x: (Cube.apply(x, factor=0.5)[0] + Cube.apply(x, 1.0)[1]).sum())
    assert both(Tensor(X)).tolist() == (1.5 * X**2 + 1).tolist()


class Scaled(ms._Function):
    """x * k, with the context set up apart from the computation."""

    @staticmethod
    def forward(x: Any, k: float = 2.0) -> Any:  # type: ignore[override]
        return x * k

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.k, ctx.output = inputs[1], output

    @staticmethod
    def backward(ctx: Any, dout: Any) -> Any:
        return dout * ctx.k + ctx.output * 0, None


def test_the_context_may_be_set_up_apart() -> None:
    assert ms.grad(lambda x: Scaled.apply(x).sum())(Tensor(X)).tolist() == [2.0, 2.0]
    assert ms.grad(lambda x: Scaled.apply(x, k=5.0).sum())(Tensor(X)).tolist() == [5.0, 5.0]


class Exponential(ms._Function):
    """exp(x) with its value kept, and x as a result without a derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.kept, copy = ops.exp(x), x * 1
        ctx.mark_non_differentiable(copy)
        return ctx.kept * 1, copy

    @staticmethod
    def backward(ctx: Any, dout: Any, _: Any) -> Any:
        return dout * ctx.kept


def test_results_may_have_no_derivative() -> None:
    found = ms.grad(lambda x: sum(y.sum() for y in Exponential.apply(x)))(Tensor(X))
    np.testing.assert_allclose(found.asnumpy(), np.exp(X))


def test_a_second_derivative_that_would_be_wrong_is_refused() -> None:
    inner = ms.grad(lambda x: Exponential.apply(x)[0].sum())
    with pytest.raises(UnsupportedCallError, match="no argument and no result"):
        ms.grad(lambda x: inner(x).sum())(Tensor(X))


def test_what_is_missing_or_compiled_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="`forward`"):
        ms._Function.apply(Tensor(1.0))
    with pytest.raises(UnsupportedCallError, match=r"Cube\.apply\(\) cannot be called in compiled code"):
        ms.jit(lambda x: Cube.apply(x, 1.0)[0])(Tensor(X))


def test_no_gradient_passes_through_a_block() -> None:
    def f(x: Any) -> Any:
        with ms._no_grad():
            scale = x * x
            with ms._no_grad():
                scale = scale + 1
            scale = scale * 1
        return (scale * x).sum()

    assert ms.grad(f)(Tensor(X)).tolist() == (X**2 + 1).tolist()
    tripled = ms._no_grad()(lambda x: x * 3)
    assert ms.grad(lambda x: (tripled(x) * x).sum())(Tensor(X)).tolist() == (3 * X).tolist()
    with ms._no_grad():  # a derivative that is taken inside is one
        assert ms.grad(lambda x: (x * x).sum())(Tensor(X)).tolist() == (2 * X).tolist()
    with pytest.raises(ValueError, match="left"), ms._no_grad():
        raise ValueError("left")
    assert ms.grad(lambda x: (x * x).sum())(Tensor(X)).tolist() == (2 * X).tolist()
    with pytest.raises(UnsupportedSyntaxError, match="stop_gradient"):
        ms.jit(f)(Tensor(X))


def test_generators_are_independent_and_repeat_in_both_modes() -> None:
    g = ms.Generator()
    assert g.initial_seed() == 0
    assert g.manual_seed(5) is g
    state = g.get_state()
    assert (state.shape, state.dtype) == ((16,), ms.uint8)
    first = [ops.zeros(2).normal_(generator=g).tolist() for _ in range(2)]
    assert first[0] != first[1]
    ms.set_seed(3)
    ops.zeros(2).normal_()
    compiled = ms.jit(lambda x: x.normal_(generator=g))
    g.set_state(state)
    assert [compiled(ops.zeros(2)).tolist() for _ in range(2)] == first
    assert ms.Generator().manual_seed(5).get_state().tolist() == state.tolist()
    assert g.seed() == g.initial_seed()
    for wrong in (3, None):
        with pytest.raises(TypeError):
            g.set_state(wrong)
    with pytest.raises(ValueError, match="16 bytes"):
        g.set_state(Tensor([1], ms.uint8))
    with pytest.raises(TypeError, match="Generator or None"):
        ops.zeros(2).uniform_(generator=3)


def test_the_generator_of_the_process() -> None:
    assert ms.manual_seed(7) is ms.default_generator
    assert ms.initial_seed() == 7
    state = ms.default_generator.get_state()
    first = ops.zeros(2).uniform_().tolist()
    ms.default_generator.set_state(state)
    assert ops.zeros(2).uniform_(generator=ms.default_generator).tolist() == first
    ms.set_seed(7)
    assert ops.zeros(2).uniform_().tolist() == first
    assert ms.seed() == ms.initial_seed()
    with pytest.raises(TypeError):
        ms.manual_seed("x")  # type: ignore[arg-type]
