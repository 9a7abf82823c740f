"""Numbers of the user's that overflow when they are converted, and NaN: alike in eager and compiled code."""

from __future__ import annotations

from typing import Any

import pytest

import autodiff_compiler as ms
from autodiff_compiler import NonFiniteError, ops

from .test_rules import INF, NAN, f32, message, way

__all__ = ["way"]


def written(x: Any) -> Any:
    half = x.astype(ms.float16)
    half[0] = 1e6
    return half


OVERFLOW = {
    "a factor": lambda x: x * 1e39,
    "on the left": lambda x: 1e39 - x,
    "an int": lambda x: x + 10**39,
    "half precision": lambda x: x.astype(ms.float16) + 1e6,
    "filled": lambda x: x + ops.full((2,), 1e39, dtype=ms.float32),
    "chosen": lambda x: ops.where(x > 1, x, 1e39),
    "compared": lambda x: x < 1e39,
    "a mask": lambda x: x.astype(ms.float16).masked_fill(x > 1, 1e9),
    "cast": lambda x: ops.full((2,), 1e6, dtype=ms.float32).astype(ms.float16) + x.astype(ms.float16),
    "written": written,
    "differentiated": ms.grad(lambda x: (x * 1e39).sum()),
}


@pytest.mark.parametrize("name", OVERFLOW)
def test_a_finite_number_that_its_dtype_cannot_hold(way: Any, name: str) -> None:
    assert "`cast` makes inf of finite numbers" in message(way(OVERFLOW[name]), f32(1, 2))


def test_the_number_is_in_the_message(way: Any) -> None:
    text = message(way(lambda x: x * 1e39), f32(1, 2))
    assert "1e+39" in text
    assert "f64" in text


@pytest.mark.parametrize("name", OVERFLOW)
def test_only_nan_counts_if_infinities_are_meant(way: Any, name: str) -> None:
    with ms.check_nonfinite(inf=False):
        checked = way(OVERFLOW[name])(f32(1, 2)).tolist()
    assert checked == way(OVERFLOW[name])(f32(1, 2)).tolist()


def test_the_largest_number_is_no_overflow(way: Any) -> None:
    with ms.check_nonfinite():
        assert way(lambda x: x.astype(ms.float16) * 65504.0)(f32(1, -1)).tolist() == [65504, -65504]
        assert way(lambda x: x * 3.4028234e38)(f32(1)).item() == pytest.approx(3.4028234e38)


def test_infinities_that_are_written_down_are_meant(way: Any) -> None:
    def f(x: Any) -> Any:
        x = ops.where(x > 1, -INF, x * INF)
        x[0] = INF
        return x

    with ms.check_nonfinite():
        assert way(f)(f32(1, 2)).tolist() == [INF, -INF]
        assert way(ms.grad(lambda x: (x * INF).sum()))(f32(1, 2)).tolist() == [INF, INF]


def test_where_it_never_runs_it_is_no_mistake(way: Any) -> None:
    def f(x: Any) -> Any:
        if x.sum() > 100:
            x = x * 1e39
        return x

    with ms.check_nonfinite():
        assert way(f)(f32(1, 2)).tolist() == [1, 2]
    with ms.check_nonfinite(), pytest.raises(NonFiniteError):
        way(f)(f32(100, 2))


@pytest.mark.parametrize("level", [0, 2])
def test_a_nan_of_the_users_in_a_derivative(level: int) -> None:
    gradient = ms.grad(lambda x: (x * NAN).sum())
    for fn in (gradient, ms.jit(gradient, optimize=level), ms.jit(gradient, optimize=level, backend="numpy")):
        assert "a constant is NaN already, and `mul`" in message(fn, f32(1, 2))


def test_a_nan_of_the_users_may_be_chosen_and_tested(way: Any) -> None:
    with ms.check_nonfinite():
        assert way(lambda x: ops.isnan(ops.where(x > 1, NAN, x)))(f32(1, 2)).tolist() == [False, True]


def test_constants_may_not_be_folded_to_nan(way: Any) -> None:
    zero = lambda x: x + (ops.full((2,), INF, dtype=ms.float32) * 0.0)
    assert "`mul` gives NaN" in message(way(zero), f32(1, 2))
    assert "`sub` gives NaN" in message(way(lambda x: x + (ops.full((), INF) - ops.full((), INF))), f32(1, 2))
