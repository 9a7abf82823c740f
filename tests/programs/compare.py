"""What a program must give in every mode: the oracle is the same source run by Python on NumPy arrays.

Values of eager and compiled code are compared with it, gradients with central differences of it, and compiled code
with eager code bit by bit.  `check` does all of that for one function and one set of arguments.
"""

from __future__ import annotations

import itertools
import linecache
import textwrap

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler.ir.text import parse_module, print_module
from tests import agreement
from tests.selection import is_one_in

_numbers = itertools.count()

#: One in so many tests compares second derivatives, tapes through compiled calls and printed stages, too.
OTHERS = 6
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
    space = {"__name__": "programs", "ms": ms, "np": np, **names}
    exec(compile(source, file, "exec"), space)
    return space[name]


def texts(block):
    """The expressions in a block of text, divided by semicolons and ends of lines."""
    return [text.strip() for line in block.splitlines() for text in line.split(";") if text.strip()]


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
    """Two results are equal in structure, dtypes and every bit (or nearly: see `agreement`)."""
    assert structure(a) == structure(b), what
    for x, y in zip(leaves(a), leaves(b), strict=True):
        if x is None or isinstance(x, str):
            assert x == y, what
        else:
            agreement.assert_same(plain(x), plain(y), what)


def assert_close(a, b, what, rtol, atol=None):
    """Two results have the same leaves within a tolerance; their containers and dtypes do not matter."""
    xs, ys = leaves(a), leaves(b)
    assert len(xs) == len(ys), what
    for x, y in zip(xs, ys, strict=True):
        if x is None or isinstance(x, str):
            assert x == y, what
            continue
        scale = float(np.max(np.abs(plain(y)), initial=1.0))
        np.testing.assert_allclose(
            plain(x), plain(y), rtol=rtol, atol=(rtol if atol is None else atol) * scale, err_msg=what
        )


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


def run_oracle(oracle, args):
    """The oracle on copies, as it may write to its arguments where a Tensor operator makes a new Tensor."""
    return oracle(*[a.copy() if isinstance(a, np.ndarray) else a for a in args])


def differences(oracle, args, order):
    """The `order`-th directional derivative of the oracle by central differences; checked with half the step."""
    ways = directions_of(args)

    def at(t):
        moved = [a + t * ways[i] if i in ways else a for i, a in enumerate(args)]
        return sum(float(np.sum(x)) for x in leaves(run_oracle(oracle, moved)) if is_float(x))

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
        body = "\n".join(line.partition("  // ")[0] for line in text.splitlines() if not line.startswith("//"))
        if stage != "plan":  # its comments show the memory plan, which is no part of the program
            assert again.strip() == body.strip(), f"stage {stage} does not survive printing and parsing"


def check(fn, *args, order=None, oracle=None, exact=True):
    """`check_at` for one set of arguments; returns the eager value."""
    return check_at(fn, [args], order=order, oracle=oracle, exact=exact)[0]


def check_at(fn, points, order=None, oracle=None, exact=True):
    """Eager, compiled and NumPy agree on values, and on derivatives up to `order`; returns the eager values.

    Without an `order` values and gradients, compiled and eager, are compared in every test; second derivatives, the
    gradient through a compiled call and the printed stages in one of `OTHERS`, and with ``--long``.

    `points` are sets of arguments of the same shapes: ndarrays (given to `fn` as Tensors) and static values.  `oracle`
    replaces `fn` where NumPy cannot run it.  With `exact` compiled values are those of eager mode bit by bit.
    """
    everything = order is not None or is_one_in(OTHERS)
    order = order if order is not None else 2 if everything else 1
    oracle = fn if oracle is None else oracle
    first = tensors(points[0])
    compiled = ms.jit(fn)
    values = []
    for args in points:
        value = fn(*tensors(args))
        assert_close(value, run_oracle(oracle, args), "eager and NumPy", 1e-12)
        result = compiled(*tensors(args))
        assert_same(result, value, "compiled and eager") if exact else assert_close(result, value, "compiled", 1e-13)
        values.append(value)
    if order >= 1:  # the first stage of the gradient holds all of the program
        _check_gradients(fn, compiled, points, everything)
    else:
        roundtrip(compiled.lower(*first))
    derivative = fn
    for n in range(1, order + 1):
        derivative = directional(derivative, points[0])
        modes = {"eager": derivative}
        if n > 1:  # the first gradient compiled was compared with the eager one, element by element
            modes["compiled"] = ms.jit(derivative)
        for args in points:
            expected = differences(oracle, args, n)
            for mode, found in modes.items():
                got = found(*tensors(args)).item()
                told = f"{mode} derivative of order {n}: {got}, differences: {expected}"
                assert abs(got - expected) < 2e-5 * max(1.0, abs(expected)), told
    return values


def _check_gradients(fn, compiled, points, everything):
    wrt = wrt_of(points[0])
    eager, graph, through = ms.grad(fn, wrt), ms.jit(ms.grad(fn, wrt)), ms.grad(compiled, wrt)
    for args in points:
        expected = eager(*tensors(args))
        found = graph(*tensors(args))
        assert structure(found) == structure(expected)
        assert_close(found, expected, "compiled and eager gradient", 1e-12)
        if everything:
            assert_close(through(*tensors(args)), expected, "gradient through a compiled call", 1e-12)
    if everything:
        roundtrip(graph.lower(*tensors(points[0])))
