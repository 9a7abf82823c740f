"""Modules made of samples of primitives, for tests of several backends: adjoints, and operands that are views."""

from __future__ import annotations

from typing import Any

from autodiff_compiler.dtypes import from_numpy
from autodiff_compiler.inspection.samples import forward, module_of
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.primitive import Context, F, Primitive
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives.samples import Draw

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
