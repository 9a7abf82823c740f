"""One row of the language's tables: the same program in eager mode, compiled with and without optimisation, and
inside derivatives gives the same value, dtypes, gradients, exceptions, printed text and final state.

A program is defined anew for every run, so that what one run leaves behind is not seen by the next.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import sys
import types
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler.errors import AutodiffWarning
from tests.selection import one_in

from .compare import OTHERS, assert_close, assert_same, define, directional, is_float, leaves, wrt_of

# Where `dataclasses` and `enum` look for the module of the programs' classes.
sys.modules.setdefault("programs", types.ModuleType("programs"))

#: Arguments of most programs: two vectors, a matrix, an int and a float known only at run time when compiled.
X = np.array([0.4, 1.3, 2.1])
Y = np.array([1.5, 0.7, 0.9])
M = np.array([[0.5, 1.2, 0.3], [1.1, 0.2, 0.8]])
N = np.array(3)
S = np.array(2.75)
POINT = (X, Y, M, N, S)
HEAD = "x, y, m, n, s"


def body(text: str, head: str = HEAD) -> str:
    """A function `f` with this body."""
    return f"def f({head}):\n" + "".join(f"    {line}\n" for line in text.strip().splitlines())


@dataclass
class Outcome:
    """What a call gave, printed and left behind."""

    value: Any
    error: Any
    printed: str
    state: Any


def _run(source: str, names: dict[str, Any], args: tuple[Any, ...], wrap: Any, level: int) -> Outcome:
    """Runs `f` of the source, wrapped by `wrap`; a function `state` of it tells the final state."""
    before = ms.get_context("optimize")
    ms.set_context(optimize=level)
    fresh = {k: v() if getattr(v, "fresh", False) else v for k, v in names.items()}
    f = define(source, **fresh)
    given = [ms.Tensor(a.copy()) if isinstance(a, np.ndarray) else a for a in args]
    printed, value, error = io.StringIO(), None, None
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore", AutodiffWarning)
            try:
                value = _opened(wrap(f)(*given))
            except ms.CompileError as caught:
                error = caught.code, str(caught).split("\n= more")[0]
            except Exception as caught:
                error = type(caught), caught.args
    finally:
        ms.set_context(optimize=before)
    state = f.__globals__["state"]() if "state" in f.__globals__ else None
    return Outcome(value, error, printed.getvalue(), [state, [g for g in given if isinstance(g, ms.Tensor)]])


def _opened(x: Any) -> Any:
    """A result with dataclasses as dicts under the names of their classes."""
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return {type(x).__name__: _opened({f.name: getattr(x, f.name) for f in dataclasses.fields(x)})}
    if isinstance(x, dict):
        return {k: _opened(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        items = [_opened(v) for v in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return x


def fresh(make: Any) -> Any:
    """Marks a name of a program that is made anew for every run."""
    make.fresh = True
    return make


def agree(source: str, *args: Any, order: int = 2, **names: Any) -> Any:
    """Compares the runs of a program; gives the eager value.

    Optimised code and its gradient are compared for every program; the others, for one in `OTHERS` and with ``--long``.
    """
    args = args or POINT
    eager = _run(source, names, args, lambda f: f, 2)
    for level in (0, 2) if one_in(OTHERS, source) else (2,):
        found = _run(source, names, args, ms.jit, level)
        _assert_equal(found, eager, f"compiled, O{level}", exact=level == 0)
    if eager.error is None:
        _agree_in_derivatives(source, names, args, eager, order)
    return eager.value


def _agree_in_derivatives(
    source: str, names: dict[str, Any], args: tuple[Any, ...], eager: Outcome, order: int
) -> None:
    wrt = wrt_of(args)
    if order < 1 or not wrt or not any(is_float(x) for x in leaves(eager.value)):
        return
    expected = _run(source, names, args, lambda f: ms.grad(f, wrt), 2)
    for level in (0, 2) if one_in(OTHERS, source) else (2,):
        found = _run(source, names, args, lambda f: ms.jit(ms.grad(f, wrt)), level)
        _assert_equal(found, expected, f"gradient, O{level}", exact=False)
    if not one_in(OTHERS, source):
        return
    found = _run(source, names, args, lambda f: ms.grad(ms.jit(f), wrt), 2)
    _assert_equal(found, expected, "gradient through a compiled call", exact=False)
    if order > 1:
        expected = _run(source, names, args, lambda f: ms.grad(directional(f, args), wrt), 2)
        found = _run(source, names, args, lambda f: ms.jit(ms.grad(directional(f, args), wrt)), 2)
        _assert_equal(found, expected, "second derivative", exact=False)


def _assert_equal(found: Outcome, expected: Outcome, what: str, *, exact: bool) -> None:
    refused = expected.error is not None and isinstance(expected.error[0], str)  # by a code, at another place
    same = found.error is not None and found.error[0] == expected.error[0] if refused else found.error == expected.error
    assert same, f"{what}: {found.error} and not {expected.error}"
    if exact:
        assert_same(found.value, expected.value, what)
    else:
        assert_close(found.value, expected.value, what, 1e-11)
    assert [getattr(v, "dtype", type(v)) for v in leaves(found.value)] == [
        getattr(v, "dtype", type(v)) for v in leaves(expected.value)
    ], what
    assert found.printed == expected.printed, what
    assert_same(found.state, expected.state, f"{what}: final state")
