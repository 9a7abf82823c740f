"""Every primitive with samples runs in generated code as its kernel says, at each dtype its type rule takes."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import bfloat16, float16, float32, float64, from_numpy
from autodiff_compiler.errors import CompileError
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function, Module
from autodiff_compiler.ir.primitive import kernel_of
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import REGISTRY, F
from autodiff_compiler.primitives.samples import Draw
from tests.backends.reference import assert_same

WITH_SAMPLES = sorted(name for name, defn in REGISTRY.items() if defn.samples and (defn.numpy or defn.scalar))


def samples_of(defn, dtype):
    """Operands and attributes; float64 operands at `dtype`."""
    for drawn in defn.samples(Draw(3)):
        *xs, last = drawn if drawn and isinstance(drawn[-1], dict) else (*drawn, {})
        yield (
            [np.asarray(x).astype(dtype.numpy if x.dtype == np.float64 else x.dtype) for x in map(np.asarray, xs)],
            last,
        )


def module_of(build, arrays):
    types = [tensor(from_numpy(a.dtype), a.shape) for a in arrays]
    with Builder(Block(types, [f"x{i}" for i in range(len(types))])) as b:
        outs = build(*b.block.args)
        b.ret(*(outs if isinstance(outs, tuple) else (outs,)))
    return Module({"f": Function("f", b.block)}, b.module.constants, {}, b.module.callables)


@pytest.mark.some(2)
@pytest.mark.parametrize("dtype", [float32, float64, float16, bfloat16], ids=lambda d: d.short)
@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_a_primitive_alone(name, dtype):
    defn = REGISTRY[name]
    for xs, attrs in samples_of(defn, dtype):
        try:
            module = module_of(lambda *vs, attrs=attrs: getattr(F, name)(*vs, **attrs), xs)
        except CompileError:
            continue  # not defined at this dtype
        full = dict(zip(defn.schema, defn.attrs_of(attrs), strict=True))
        with np.errstate(all="ignore"):
            expected = kernel_of(defn)(*[x.copy() for x in xs], **full)
        program = NumpyBackend().compile(module)
        printed = "\n".join(program.source.split('"""')[2:])
        if not defn.collective and name != "at_root":  # processes are the package's to know
            assert "autodiff_compiler" not in printed
        originals = [x.copy() for x in xs]
        expected = expected if defn.multiple else [expected]
        assert_same(list(program(*xs)), [np.asarray(e) for e in expected], name)
        for x, original in zip(xs, originals, strict=True):
            np.testing.assert_array_equal(x, original)


@pytest.mark.parametrize("name", [n for n in WITH_SAMPLES if REGISTRY[n].inplace])
def test_overwriting_gives_what_copying_gives(name):
    """A dead operand that may be overwritten is: with the same result, and without a copy in the printed kernel."""
    defn = REGISTRY[name]
    at = defn.operand_names.index(defn.inplace)
    for xs, attrs in samples_of(defn, float64):
        if xs[at].ndim == 0 or xs[at].size == 0 or xs[at].dtype != np.float64:
            continue

        def build(*vs, attrs=attrs):
            return getattr(F, name)(*[F.sin(v) if i == at else v for i, v in enumerate(vs)], **attrs)

        module = module_of(build, xs)
        full = dict(zip(defn.schema, defn.attrs_of(attrs), strict=True))
        expected = kernel_of(defn)(*[np.sin(x) if i == at else x for i, x in enumerate(xs)], **full)
        program = NumpyBackend(reuse_bytes=1).compile(module)
        assert f"_{name}_into(" in program.source
        assert re.search(r"\.copy\(\)", program.source) is None
        assert_same(list(program(*xs)), [expected], name)


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_only_declared_views_share_bytes(name):
    """The plan believes `view`: a result that shared bytes without saying so would be overwritten."""
    defn = REGISTRY[name]
    for xs, attrs in samples_of(defn, float32):
        full = dict(zip(defn.schema, defn.attrs_of(attrs), strict=True))
        with np.errstate(all="ignore"):
            try:
                result = kernel_of(defn)(*xs, **full)
            except TypeError:
                continue  # not defined at float32
        results = result if defn.multiple else [result]
        for i, x in enumerate(xs):
            declared = defn.view is not None and i == defn.operand_names.index(defn.view)
            assert declared or not any(np.shares_memory(x, r) for r in results)
        if defn.multiple:
            assert not any(np.shares_memory(a, b) for i, a in enumerate(results) for b in results[:i])


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_printed_kernels_are_plain_python(name):
    """Every generated module parses as the oldest supported Python, so newer ones take it too."""
    defn = REGISTRY[name]
    for xs, attrs in samples_of(defn, float64):
        module = module_of(lambda *vs, attrs=attrs: getattr(F, name)(*vs, **attrs), xs)
        ast.parse(NumpyBackend().compile(module).source, feature_version=(3, 11))
