"""What a program must give in every mode: the oracle is the same source run by Python on NumPy arrays.

Values of eager and compiled code are compared with it, gradients with central differences of it, and eager with compiled
code bit by bit.  `check` does all of that for one function and one set of arguments.
"""

from __future__ import annotations

import itertools
import linecache
import textwrap

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler.ir.text import parse_module, print_module

_numbers = itertools.count()

# Central differences of fourth order: step, and pairs of (multiple of the step, weight).
_STENCILS = {
    1: (1e-3, ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))),
    2: (2e-3, ((-2, -1 / 12), (-1, 4 / 3), (0, -5 / 2), (1, 4 / 3), (2, -1 / 12))),
    3: (5e-3, ((-3, 1 / 8), (-2, -1), (-1, 13 / 8), (1, -13 / 8), (2, 1), (3, -1 / 8))),
}


def define(source, name="f", **names):
    """The function `name` of a program given as text; the text is registered so that it has a source."""
    source = textwrap.dedent(source)
    file = f"<program {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {"ms": ms, "np": np, **names}
    exec(compile(source, file, "exec"), space)
    return space[name]


# ------------------------------------------------------------------------------------------------ leaves
def leaves(x):
    """The leaves of nested tuples, lists and dicts, left to right."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, tuple | list):
        return [leaf for item in x for leaf in leaves(item)]
    return [x]


def structure(x):
    """Containers, and the types of leaves that are no arrays."""
    if isinstance(x, dict):
        return {k: structure(v) for k, v in x.items()}
    if isinstance(x, tuple | list):
        return (type(x).__name__, [structure(v) for v in x])
    if isinstance(x, ms.Tensor):
        return ("Tensor", x.dtype, x.shape)
    return type(x).__name__


def plain(x):
    """A leaf as an ndarray."""
    return x.asnumpy() if isinstance(x, ms.Tensor) else np.asarray(x)


def is_float(x):
    return isinstance(x, ms.Tensor | np.ndarray | np.floating) and np.asarray(plain(x)).dtype.kind == "f"


def assert_same(a, b, what):
    """Two results are equal in structure, dtypes and every bit."""
    assert structure(a) == structure(b), what
    for x, y in zip(leaves(a), leaves(b), strict=True):
        if x is None or isinstance(x, str):
            assert x == y, what
        else:
            np.testing.assert_array_equal(plain(x), plain(y), err_msg=what, strict=True)


def assert_close(a, b, what, rtol, atol=None):
    """Two results have the same leaves within a tolerance; their containers and dtypes do not matter."""
    xs, ys = leaves(a), leaves(b)
    assert len(xs) == len(ys), what
    for x, y in zip(xs, ys, strict=True):
        if x is None or isinstance(x, str):
            assert x == y, what
            continue
        scale = float(np.max(np.abs(plain(y)), initial=1.0))
        np.testing.assert_allclose(plain(x), plain(y), rtol=rtol, atol=(rtol if atol is None else atol) * scale, err_msg=what)


# ------------------------------------------------------------------------------------------------ derivatives
def wrt_of(args):
    """The numbers of the arguments that are differentiated: the float arrays."""
    return tuple(i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype.kind == "f")


def directions_of(args):
    rng = np.random.default_rng(11)
    return {i: rng.uniform(0.5, 1.0, args[i].shape) for i in wrt_of(args)}


def tensors(args):
    return [ms.Tensor(a) if isinstance(a, np.ndarray) else a for a in args]


def directional(fn, args):
    """The function of the same arguments that computes ``d/dt sum(fn(x + t * v))`` at t = 0 for fixed directions v."""
    ways = directions_of(args)
    positions = tuple(ways)
    vs = [ms.Tensor(v) for v in ways.values()]

    def derivative(*args):
        found = ms.grad(fn, positions)(*args)
        total = 0.0
        for g, v in zip(found if isinstance(found, tuple) else (found,), vs):
            total = total + (g * v).sum()
        return total

    return derivative


def differences(oracle, args, order):
    """The `order`-th directional derivative of the oracle by central differences; checked with half the step."""
    ways = directions_of(args)

    def at(t):
        moved = [a + t * ways[i] if i in ways else a for i, a in enumerate(args)]
        return sum(float(np.sum(x)) for x in leaves(oracle(*moved)) if is_float(x))

    h, stencil = _STENCILS[order]
    whole, half = (sum(w * at(m * s) for m, w in stencil) / s**order for s in (h, h / 2))
    scale = max(1.0, abs(whole))
    assert abs(whole - half) < 1e-4 * scale, f"order {order}: the arguments lie too close to a kink ({whole} {half})"
    return half


# ------------------------------------------------------------------------------------------------ the check
def roundtrip(artifact):
    """Every stage of a compiled function prints, is read back, and prints the same."""
    for stage in ("front", "adjoint", "opt", "plan"):
        text = artifact.ir(stage)
        again = print_module(parse_module(text))
        body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("//"))
        if stage != "plan":  # its comments show the memory plan, which is no part of the program
            assert again.strip() == body.strip(), f"stage {stage} does not survive printing and parsing"


def check(fn, *args, order=2, oracle=None, exact=True):
    """Eager, compiled and NumPy agree on values, and on derivatives up to `order`; returns the eager value.

    `args` are ndarrays (given to `fn` as Tensors) and static values.  `oracle` replaces `fn` where NumPy cannot run it.
    """
    oracle = fn if oracle is None else oracle
    compiled = ms.jit(fn)
    value = fn(*tensors(args))
    assert_close(value, oracle(*args), "eager and NumPy", 1e-12)
    result = compiled(*tensors(args))
    assert_same(result, value, "compiled and eager") if exact else assert_close(result, value, "compiled and eager", 1e-13)
    roundtrip(compiled.lower(*tensors(args)))
    wrt = wrt_of(args)
    if order >= 1:
        eager = ms.grad(fn, wrt)(*tensors(args))
        graph = ms.jit(ms.grad(fn, wrt))
        assert_close(graph(*tensors(args)), eager, "compiled and eager gradient", 1e-12)
        assert structure(graph(*tensors(args))) == structure(eager)
        roundtrip(graph.lower(*tensors(args)))
        assert_close(ms.grad(compiled, wrt)(*tensors(args)), eager, "gradient through a compiled call", 1e-12)
    derivative = fn
    for n in range(1, order + 1):
        derivative = directional(derivative, args)
        expected = differences(oracle, args, n)
        scale = max(1.0, abs(expected))
        for mode, found in (("eager", derivative), ("compiled", ms.jit(derivative))):
            got = found(*tensors(args)).item()
            assert abs(got - expected) < 2e-5 * scale, f"{mode} derivative of order {n}: {got}, differences: {expected}"
    return value
