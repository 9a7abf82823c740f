"""Every function of `numpy` by the table of calls: values are NumPy's, dtypes, shapes and containers MindSpore's own.

The dtypes were recorded from MindSpore 2.10 by record_facts.py.  Compiled code gives what eager code gives, and
gradients are compared with central differences.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler import numpy as mnp
from autodiff_compiler.dtypes import DType

from .calls import CALLS, OTHERS, Call, D
from .reference import answer

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "facts.json").read_text())


def given(x: Any) -> Any:
    """An argument of the table as users of the package give it."""
    if isinstance(x, np.ndarray):
        return Tensor(x)
    if isinstance(x, D):
        return getattr(ms, x.name)
    if isinstance(x, tuple | list):
        return type(x)(map(given, x))
    return x


def arguments(call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return given(call.args), {k: given(v) for k, v in call.kwargs.items()}


def seen(x: Any) -> Any:
    """A result as `record_facts.py` writes it."""
    if isinstance(x, Tensor):
        return [str(x.dtype).lower(), list(x.shape)]
    if isinstance(x, tuple | list):
        return {type(x).__name__: [seen(y) for y in x]}
    return str(x) if isinstance(x, DType) else type(x).__name__


def leaves(x: Any) -> list[Any]:
    return [leaf for item in x for leaf in leaves(item)] if isinstance(x, tuple | list) else [x]


def number(x: Any) -> Any:
    """What is compared of a leaf."""
    return x.asnumpy() if isinstance(x, Tensor) else np.dtype(x.numpy) if isinstance(x, DType) else x


def assert_equal(found: Any, expected: Any, tolerance: float) -> None:
    if isinstance(expected, str | np.dtype):
        assert found == expected
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(found, expected.astype(found.dtype))


# ------------------------------------------------------------------------------------------------ the table
def test_every_function_is_in_the_table() -> None:
    functions = {n for n in mnp.__all__ if callable(getattr(mnp, n)) and not isinstance(getattr(mnp, n), DType)}
    assert functions == {c.name for c in CALLS} | OTHERS


@pytest.mark.parametrize(
    "call", [c for c in CALLS if c.name not in ("promote_types", "result_type")], ids=lambda c: c.key
)
def test_values_are_those_of_numpy(call: Call) -> None:
    args, kwargs = arguments(call)
    found, expected = leaves(getattr(mnp, call.name)(*args, **kwargs)), answer(call)
    if len(found) == 1:
        expected = [expected]
    else:
        expected = leaves(list(expected))
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        half = isinstance(x, Tensor) and x.dtype is ms.float16
        assert_equal(number(x), y, 2e-3 if half else 2e-5)


#: Calls whose `dtype` decides here, while MindSpore lets a single number take the dtype of the other operand.
OWN_DTYPE = {"clip-4"}


@pytest.mark.parametrize("call", [c for c in CALLS if c.key not in OWN_DTYPE], ids=lambda c: c.key)
def test_dtypes_and_shapes_are_those_of_mindspore(call: Call) -> None:
    args, kwargs = arguments(call)
    fact = FACTS["calls"][call.key]
    if isinstance(fact, str) and fact.startswith("!"):
        assert fact in ("! TypeError", "! RuntimeError", "! ZeroDivisionError")  # mixed dtypes, numbers, one point
        return
    assert seen(getattr(mnp, call.name)(*args, **kwargs)) == fact


#: What compiled code does not return: a text that is known at run time only.
PRINTED = {"array_str"}


@pytest.mark.some(4)
@pytest.mark.parametrize("call", [c for c in CALLS if c.name not in PRINTED], ids=lambda c: c.key)
def test_compiled_code_gives_what_eager_code_gives(call: Call) -> None:
    function = getattr(mnp, call.name)
    args, kwargs = arguments(call)
    kwargs = {"length": 4} | kwargs if call.name == "bincount" else kwargs  # compiled code must know it
    eager, compiled = function(*args, **kwargs), ms.jit(lambda a, k: function(*a, **k))(args, kwargs)
    assert seen(compiled) == seen(eager)
    for x, y in zip(leaves(compiled), leaves(eager), strict=True):
        x, y = number(x), number(y)
        if isinstance(y, np.ndarray) and y.dtype.kind == "f":
            np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-7)
        else:
            assert np.array_equal(x, y)


# ------------------------------------------------------------------------------------------------ derivatives
def moved(x: Any, step: float, draw: Any) -> Any:
    """The arrays of float32 as float64, away from kinks, with a step in a random direction."""
    if isinstance(x, np.ndarray):
        if x.dtype != np.float32:
            return x
        away = x.astype(np.float64) + 0.0137 * (1 + np.arange(x.size).reshape(x.shape))
        return np.asarray(away + step * draw(size=x.shape))
    if isinstance(x, tuple | list):
        return type(x)([moved(y, step, draw) for y in x])
    return x


def arrays(x: Any) -> list[np.ndarray]:
    return [y for y in leaves(x) if isinstance(y, np.ndarray)]


def filled(x: Any, values: Any) -> Any:
    """The arguments with the arrays replaced, one after the other."""
    if isinstance(x, np.ndarray):
        return next(values)
    if isinstance(x, tuple | list):
        return type(x)([filled(y, values) for y in x])
    return given(x)


def total(call: Call, options: dict[str, Any], *tensors: Any) -> Any:
    """A weighted sum of all results that are floats; None if none is."""
    values = iter(tensors)
    args = filled(call.args, values)
    kwargs = {k: filled(v, values) for k, v in call.kwargs.items() if k not in options} | options
    found = [y for y in leaves(getattr(mnp, call.name)(*args, **kwargs)) if isinstance(y, Tensor) and y.dtype.is_float]
    parts = [(y * ms.Tensor(np.cos(np.arange(float(y.size)).reshape(y.shape)))).sum() for y in found if y.size]
    return sum(parts[1:], parts[0]) if parts else None


#: Calls whose results do not depend on their floats, or only by steps.
STEPS = {"isfinite-1", "isinf-1", "isnan-1", "norm-4", "histogram-1", "histogram-2", "histogramdd-1"}


def takes_floats(call: Call) -> bool:
    return any(x.dtype == np.float32 for x in arrays((call.args, tuple(call.kwargs.values()))))


DIFFERENTIABLE = [c for c in CALLS if c.key not in STEPS and takes_floats(c)]


@pytest.mark.some(6)
@pytest.mark.filterwarnings("ignore:.*AC2003")  # ones_like, to the power of 0
@pytest.mark.parametrize("call", DIFFERENTIABLE, ids=lambda c: c.key)
def test_gradients_are_central_differences(call: Call) -> None:
    everything = (call.args, list(call.kwargs.values()))
    # A dtype of lower precision would hide what is compared.
    options: dict[str, Any] = {"dtype": ms.float64} if isinstance(call.kwargs.get("dtype"), D) else {}
    options |= {"length": 4} if call.name == "bincount" else {}  # compiled code must know it

    def at(step: float) -> list[Any]:
        return [Tensor(x) for x in arrays(moved(everything, step, np.random.default_rng(5).normal))]

    here = at(0.0)
    value = total(call, options, *here)
    if value is None:
        return  # nothing has a derivative
    assert value.dtype is ms.float64  # nothing was rounded on the way
    places = tuple(i for i, x in enumerate(here) if x.dtype.is_float)
    high, low = (total(call, options, *at(s)).item() for s in (1e-6, -1e-6))
    directions = [a.asnumpy().astype(float) - b.asnumpy() for a, b in zip(at(1.0), here, strict=True)]
    for run in (lambda f: f, ms.jit):
        gradients = run(lambda *xs: ms.grad(lambda *ys: total(call, options, *ys), places)(*xs))(*here)
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        slope = sum(
            np.nansum(np.where(np.isnan(directions[i]), 0, g.asnumpy()) * np.nan_to_num(directions[i]))
            for i, g in zip(places, gradients, strict=True)
        )
        assert slope == pytest.approx((high - low) / 2e-6, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("call", [c for c in CALLS if c.key in STEPS], ids=lambda c: c.key)
@pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.GradientWarning")  # once for a place
def test_steps_have_no_derivative(call: Call) -> None:
    tensors = [Tensor(x) for x in arrays((call.args, list(call.kwargs.values())))]
    gradient = ms.grad(lambda x: total(call, {}, x, *tensors[1:]))(tensors[0])
    assert not gradient.asnumpy().any()
