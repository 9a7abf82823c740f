"""`vmap` ops: every primitive for many examples at once gives what it gives for each, whichever operands differ."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autodiff_compiler.autodiff import expand_grads
from autodiff_compiler.dtypes import from_numpy
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function, Module
from autodiff_compiler.ir.primitive import REGISTRY, F, kernel_of
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import ops_of
from autodiff_compiler.primitives.samples import Draw
from tests.autodiff.derivatives import parsed
from tests.autodiff.interpreter import Interpreter

N = 3

#: Run example by example where all operands differ: their kernels know no further leading dimension.
LOOPED = set()


def _samples():
    for name, defn in sorted(REGISTRY.items()):
        if defn.samples is None:
            continue
        draws = [list(defn.samples(Draw(seed))) for seed in range(N)]
        for i, sample in enumerate(zip(*draws, strict=True)):
            split = [(*s[:-1], s[-1]) if isinstance(s[-1], dict) else (*s, {}) for s in sample]
            examples = [[np.asarray(x) for x in s[:-1]] for s in split]
            if examples[0]:
                yield pytest.param(defn, examples, split[0][-1], id=f"{name}-{i}")


def _type(x):
    return tensor(from_numpy(x.dtype), x.shape)


def _vmapped(defn, attrs, examples, which):
    """A module that applies a primitive under `vmap`, the operands flagged in `which` differing by example."""
    module = Module()
    first = examples[0]
    types = [tensor(_type(x).dtype, (N, *x.shape)) if flag else _type(x) for x, flag in zip(first, which, strict=True)]
    builder = Builder(Block(types), module=module)
    inner = builder.nested([_type(x) for x, flag in zip(first, which, strict=True) if flag])
    slices = iter(inner.block.args)
    with inner:
        xs = [next(slices) if flag else x for x, flag in zip(builder.block.args, which, strict=True)]
        out = getattr(F, defn.name)(*xs, **attrs)
    inner.ret(*(out if isinstance(out, tuple) else (out,)))
    mapped = [x for x, flag in zip(builder.block.args, which, strict=True) if flag]
    builder.ret(*builder.emit_op(REGISTRY["vmap"], mapped, (N,), (inner.block,)).results)
    module.add(Function("main", builder.block))
    verify(module)
    return module


@pytest.mark.parametrize(("defn", "examples", "attrs"), list(_samples()))
def test_a_primitive_for_many_examples_is_that_for_each(defn, examples, attrs):
    canonical = dict(zip(defn.schema, defn.attrs_of(attrs), strict=True))
    count = len(examples[0])
    choices = [w for w in itertools.product((True, False), repeat=count) if any(w)]
    for which in choices if count <= 3 else choices[:1] + choices[-1:]:
        rows = [[x if flag else y for x, y, flag in zip(e, examples[0], which, strict=True)] for e in examples]
        try:
            with np.errstate(all="ignore"):
                found = [kernel_of(defn)(*row, **canonical) for row in rows]
        except Exception:
            continue  # the operands of two draws do not go together (a factorisation checked against its matrix)
        expected = [np.stack(x) for x in zip(*(r if defn.multiple else [r] for r in found), strict=True)]
        given = [np.stack([r[k] for r in rows]) if flag else rows[0][k] for k, flag in enumerate(which)]
        result = expand_grads(_vmapped(defn, attrs, examples, which))
        verify(result, "PURE")
        assert not any(op.defn.name == "vmap" for op in ops_of(result.entry.body))
        for got, e in zip(Interpreter(result).run(None, *given), expected, strict=True):
            np.testing.assert_allclose(got, e, rtol=1e-9, atol=1e-10, err_msg=f"{which}")
        if all(which):
            assert any(op.defn.name == "scan" for op in ops_of(result.entry.body)) is (defn.name in LOOPED)
