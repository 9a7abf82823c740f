"""One program of the NumPy backend for all sizes: every op and its derivative, at 0, 1, 2, 7 and 64."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.compiler.pipeline import named_backend, optimise
from autodiff_compiler.dtypes import float64, from_numpy
from autodiff_compiler.errors import CompileError
from autodiff_compiler.inspection.samples import samples_of
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.primitive import REGISTRY
from autodiff_compiler.ir.types import tensor
from tests.primitives.test_symbolic_sizes import (
    OPS,
    VALUES,
    WITHOUT,
    WITHOUT_DERIVATIVE,
    attributes,
    batched,
    derivative,
    exchanged,
    forward,
    has_sizes,
    symbolic,
)  # fmt: skip

#: Formulas of the derivative are written otherwise where sizes are known to be equal.
ROUNDED = ("det", "expm_frechet", "svd")
#: What 64 random rows are conditioned like makes rounding so much larger.
ILL_CONDITIONED = ("solve",)


def compiled(module: Module) -> Any:
    return named_backend("numpy").compile(optimise(module).opt)


def resized(x: Any, size: int, n: int) -> Any:
    """An operand with n elements along the dimensions of a size: positive floats, integers that are any position."""
    shape = tuple(n if d == size else d for d in x.shape)
    if shape == x.shape:
        return x
    drawn = np.random.default_rng(0).uniform(0.3, 0.9, shape)
    return drawn.astype(x.dtype) if x.dtype.kind == "f" else np.zeros(shape, x.dtype)


def with_directions(xs: list[Any]) -> list[Any]:
    """What the program of a forward derivative takes: the operands, and a direction for each of floats."""
    return [*xs, *[x / 2 for x in xs if x.dtype.kind == "f"]]


def examples(xs: list[Any]) -> list[Any]:
    """Three examples of each operand."""
    return [np.stack([x, x[::-1] if x.ndim else x, x]) for x in xs]


def checked(name: str, make: Any, compiled: Any = compiled, rtol: float = 0, given: Any = list) -> int:
    """How many calls of programs for all sizes gave what the program for one size gives; `rtol`: up to rounding.

    `given`: what a program takes for operands of the op.
    """
    defn, count = REGISTRY[name], 0
    for xs, attrs in samples_of(defn, float64):
        for size in sorted({d for x in xs for d in x.shape if d > 1}):
            for module, which in symbolic(make, defn, xs, attrs, size):
                program = compiled(module)
                for n in VALUES:
                    args = [resized(x, size, n) for x in xs]
                    known = attributes(defn, attrs, exchanged(size, n), which)
                    try:
                        of_one = compiled(make(known, [tensor(from_numpy(x.dtype), x.shape) for x in args]))
                        expected = of_one(*given(args))
                    except (CompileError, ValueError, IndexError, np.linalg.LinAlgError):
                        continue  # not of this size, or not of these numbers
                    found = program(*given(args))
                    count += 1
                    for got, wanted in zip(found, expected, strict=True):
                        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
                        if rtol or name in ROUNDED:
                            atol = 1e-8 if name in ILL_CONDITIONED else 1e-11
                            np.testing.assert_allclose(got, wanted, rtol=rtol or 1e-9, atol=atol)
                        else:
                            np.testing.assert_array_equal(got, wanted)
    return count


@pytest.mark.some(8)
@pytest.mark.parametrize("name", [name for name in OPS if name not in WITHOUT and has_sizes(REGISTRY[name])])
def test_ops(name: str) -> None:
    with np.errstate(all="ignore"):
        assert checked(name, functools.partial(forward, name))


@pytest.mark.some(8)
@pytest.mark.parametrize("tangents", [False, True], ids=["reverse", "forward"])
@pytest.mark.parametrize("name", [n for n in OPS if REGISTRY[n].vjp is not None and n not in WITHOUT_DERIVATIVE])
def test_derivatives(name: str, tangents: bool) -> None:
    with np.errstate(all="ignore"):
        given = with_directions if tangents else list
        assert checked(name, functools.partial(derivative, name, tangents=tangents), given=given)


@pytest.mark.some(8)
@pytest.mark.parametrize("name", [name for name in OPS if name not in WITHOUT and has_sizes(REGISTRY[name])])
def test_examples(name: str) -> None:
    with np.errstate(all="ignore"):
        assert checked(name, functools.partial(batched, name, count=3), given=examples)


def test_the_printed_program_computes_sizes_at_its_begin() -> None:
    """A formula of several products, quotients and maxima is Python's."""
    from autodiff_compiler import parse_ir

    program = parse_ir(
        "size @n {low=1, high=64} size @m {low=1}"
        " func @f(%x: f64[m], %y: f64[n,2]) -> (f64[2*n+max(1,m-2)]) {"
        " %c: f64[2*n+max(1,m-2)] = const {value=1.0}"
        " return %c }"
    )
    assert program.run(np.ones(5), np.ones((4, 2)))[0].shape == (11,)
