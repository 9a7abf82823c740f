"""A graph evaluated the plain way: ops in order, one kernel each, and a straight-line adjoint of the rules alone.

Neither `autodiff` nor a backend takes part, so what fails here is a primitive.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import autodiff_compiler as ac
from autodiff_compiler.dtypes import from_numpy
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block
from autodiff_compiler.ir.primitive import Context, kernel_of
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.runtime.tensor import Tensor
from tests.selection import is_one_in

#: One in so many tests compares compiled derivatives of order 2, too.
OTHERS = 3


def _type_of(array):
    return tensor(from_numpy(array.dtype), array.shape)


def run(fn, *arrays):
    """Builds the graph of `fn` on operands of the arrays' types and evaluates it; returns a list of arrays."""
    builder = Builder(Block([_type_of(np.asarray(a)) for a in arrays]))
    with builder as b:
        outs = fn(*b.block.args)
        outs = list(outs) if isinstance(outs, tuple | list) else [outs]
    known = dict(zip(builder.block.args, map(np.asarray, arrays), strict=True))
    for op in builder.block.ops:
        if op.defn.name == "const":
            value, type_ = op.attrs
            if isinstance(value, str):
                value = builder.module.constants[value.removeprefix("@")]
            results = [np.broadcast_to(np.asarray(value, type_.dtype.numpy), type_.shape)]
        else:
            attrs = dict(zip(op.defn.schema, op.attrs, strict=True))
            with np.errstate(all="ignore"):
                results = kernel_of(op.defn)(*[known[x] for x in op.operands], **attrs)
            results = results if op.defn.multiple else [results]
        for value, array in zip(op.results, results, strict=True):
            assert _type_of(array) is value.type, f"{op}: the kernel made {_type_of(array)}"
            known[value] = np.asarray(array)
    return [known[v] for v in outs]


def pull(builder, outs, cotangents, wrt):
    """Cotangents of `wrt` for those of `outs`, by the rules of the ops emitted so far; None where there is none."""
    found = {}

    def add(value, g):
        if g is not None:
            found[value] = found[value] + g if value in found else g

    for value, g in zip(outs, cotangents, strict=True):
        add(value, g)
    active = set(wrt)
    ops = list(builder.block.ops)
    for op in ops:
        if any(x in active for x in op.operands):
            active.update(op.results)
    for op in reversed(ops):
        gs = [found.get(r) for r in op.results]
        if all(g is None for g in gs) or op.results[0] not in active:
            continue
        needs = tuple([x in active for x in op.operands])
        context = Context(op.defn, op.attrs, op.results, needs)
        pulled = op.defn.vjp(context, gs if op.defn.multiple else gs[0], *op.operands)
        for x, h, need in zip(op.operands, pulled if isinstance(pulled, tuple) else (pulled,), needs, strict=True):
            if need:
                assert h is None or h.type is x.type, f"{op}: cotangent of type {h.type} for {x.type}"
                add(x, h)
    return [found.get(x) for x in wrt]


@pytest.fixture
def graph():
    return SimpleNamespace(run=run, pull=pull)


@pytest.fixture
def modes():
    """The results of a function of arrays (a list) in eager mode, after checking that compiled code gives the same."""

    def compute(fn, *arrays):
        xs = [Tensor(np.asarray(a)) for a in arrays]
        found, compiled = fn(*xs), ac.jit(lambda *xs: fn(*xs))(*xs)
        found, compiled = ([y.asnumpy() for y in (r if isinstance(r, tuple) else (r,))] for r in (found, compiled))
        for a, b in zip(found, compiled, strict=True):
            assert a.dtype == b.dtype
            eps = 1e-6 if a.dtype.itemsize < 8 else 1e-13
            np.testing.assert_allclose(np.asarray(b, np.float64), np.asarray(a, np.float64), rtol=eps, atol=eps)
        return found

    return compute


@pytest.fixture
def derivatives():
    """Checks derivatives of order 1 and 2 by central differences along random directions, eager and compiled.

    The compiled ones of order 2 in one test of `OTHERS`, and with ``--long``.
    """

    def check(fn, *arrays):
        draw, n = np.random.default_rng(3).normal, len(arrays)
        xs, at = [Tensor(np.asarray(a, np.float64)) for a in arrays], tuple(range(n))
        v = Tensor(np.asarray(draw(size=fn(*xs).shape)))
        us, ws = ([Tensor(np.asarray(draw(size=x.shape))) for x in xs] for _ in range(2))

        def total(*xs):
            return (fn(*xs) * v).sum()

        def along(gradients, directions):
            gradients = gradients if n > 1 else (gradients,)
            s = (gradients[0] * directions[0]).sum()
            for i in range(1, n):
                s = s + (gradients[i] * directions[i]).sum()
            return s

        def first(*xs):
            return along(ac.grad(total, at)(*xs), us)

        def second(*xs):
            return along(ac.grad(first, at)(*xs), ws)

        def difference(f, directions, h=1e-5):
            high, low = (f(*[x + s * h * u for x, u in zip(xs, directions, strict=True)]) for s in (1, -1))
            return (high.item() - low.item()) / (2 * h)

        for run in (lambda f: f, ac.jit):
            assert run(first)(*xs).item() == pytest.approx(difference(total, us), rel=1e-6, abs=1e-7)
            if run is ac.jit and not is_one_in(OTHERS):
                continue
            assert run(second)(*xs).item() == pytest.approx(difference(first, ws), rel=1e-6, abs=1e-7)

    return check


@pytest.fixture
def both(graph):
    """The results of a function (a list) in eager mode, after checking that the traced one gives the same bits."""

    def compute(fn, *arrays):
        found = fn(*map(Tensor, arrays))
        found = [t.asnumpy() for t in (found if isinstance(found, tuple) else (found,))]
        for traced, eagerly in zip(graph.run(fn, *arrays), found, strict=True):
            assert traced.dtype == eagerly.dtype
            np.testing.assert_array_equal(traced, eagerly)
        return found

    return compute
