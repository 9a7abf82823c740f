"""Modules made of the samples of primitives, forward and adjoint, and how the device's results are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff_compiler.backends.ascend.backend import AscendBackend
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import DType, bfloat16, float16, float32, float64, from_numpy
from autodiff_compiler.inspection.samples import forward, module_of, samples_of
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.primitive import Context, F, Primitive
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import REGISTRY
from autodiff_compiler.primitives.samples import Draw
from tests.backends.reference import interpret
from tools.ascend_page import DTYPES

#: Primitives that run as kernels of their own; what backends and passes treat themselves has none.
WITH_SAMPLES = sorted(name for name, d in REGISTRY.items() if d.samples and (d.numpy or d.scalar))
#: Relative and absolute differences that another order of summation or another formula may make.
TOLERANCES = {float32: (1e-4, 1e-5), float64: (1e-6, 1e-8), float16: (1e-2, 4e-3), bfloat16: (6e-2, 3e-2)}

Arrays = list[Any]


def adjoint(defn: type[Primitive], xs: Arrays, attrs: dict[str, Any]) -> tuple[Module, Arrays] | None:
    """The primitive's derivative: operands and cotangents to cotangents; None if it has none."""
    made = forward(defn, xs, attrs)
    if made is None or defn.vjp is None:
        return None
    results = [v.type for v in made[0].entry.outs]
    gs = [Draw(5)(*t.shape).astype(t.dtype.numpy) for t in results if t.dtype.is_float]
    flags = tuple([x.dtype.kind not in "iub" for x in xs])
    if not gs or not any(flags):
        return None

    def build(*vs: Any) -> Any:
        inputs, given = vs[: len(xs)], iter(vs[len(xs) :])
        outs = getattr(F, defn.name)(*inputs, **attrs)
        outs = outs if isinstance(outs, tuple) else (outs,)
        ct = tuple([next(given) if t.dtype.is_float else None for t in results])
        rule = Context(defn, defn.attrs_of(attrs), outs, flags)
        found = defn.vjp(rule, ct if defn.multiple else ct[0], *inputs)  # type: ignore[misc]
        found = found if isinstance(found, tuple | list) else (found,)
        return [v for v, flag in zip(found, flags, strict=True) if flag and v is not None]

    arrays = [*xs, *gs]
    module = module_of([tensor(from_numpy(x.dtype), x.shape) for x in arrays], build)
    return (module, arrays) if module.entry.outs else None


def of_views(defn: type[Primitive], xs: Arrays, attrs: dict[str, Any]) -> tuple[Module, Arrays] | None:
    """The primitive on operands that lie in memory with gaps, or with their dimensions the other way round."""
    if forward(defn, xs, attrs) is None:
        return None
    turned = [tuple(range(-1, -x.ndim - 1, -1)) for x in xs]
    arrays = [x.repeat(2) if x.ndim == 1 else x.T.copy() for x in xs]

    def build(*vs: Any) -> Any:
        views = [
            F.slice(v, axes=(-1,), starts=(0,), stops=(v.shape[0],), steps=(2,)) if v.ndim == 1
            else F.transpose(v, axes=axes) if v.ndim else v
            for v, axes in zip(vs, turned, strict=True)
        ]  # fmt: skip
        out = getattr(F, defn.name)(*views, **attrs)
        return out if isinstance(out, tuple) else (out,)

    return module_of([tensor(from_numpy(x.dtype), x.shape) for x in arrays], build), arrays


def modules_of(name: str, dtypes: tuple[DType, ...] = DTYPES) -> Iterator[tuple[str, DType, Module, Arrays]]:
    """All modules of a primitive: what it is, the dtype of its operands, the module and its arguments."""
    defn = REGISTRY[name]
    with np.errstate(all="ignore"):
        for dtype in dtypes:
            for xs, attrs in samples_of(defn, dtype):
                if dtype is not float32 and not any(x.dtype == dtype.numpy for x in xs):
                    continue  # the same as before
                for what, make in (("forward", forward), ("adjoint", adjoint)):
                    made = make(defn, xs, attrs)
                    if made is not None:
                        yield what, dtype, *made


def compiled(module: Module) -> Any:
    return AscendBackend(NumpyBackend().compile).compile(module)


def refused(module: Module) -> dict[str, str]:
    """The ops of a module that the device cannot run, and why."""
    return AscendBackend(NumpyBackend().compile).coverage(module).missing


def assert_like_numpy(program: Any, module: Module, arrays: Arrays, dtype: DType, where: str) -> None:
    """The program gives what the NumPy kernels give, up to rounding; its arguments stay as they are."""
    kept = [x.copy() for x in arrays]
    got = [np.asarray(x) for x in program(*arrays)]
    expected = interpret(module, *arrays)
    rtol, atol = TOLERANCES.get(dtype, TOLERANCES[float32])
    for g, e in zip(got, expected, strict=True):
        e = np.asarray(e)
        assert (g.dtype, g.shape) == (e.dtype, e.shape), where
        if e.dtype.kind in "iub":
            np.testing.assert_array_equal(g, e, err_msg=where)
        else:
            np.testing.assert_allclose(g.astype(float), e.astype(float), rtol=rtol, atol=atol, err_msg=where)
    for x, old in zip(arrays, kept, strict=True):
        assert x.tobytes() == old.tobytes(), f"{where} wrote to an argument"
