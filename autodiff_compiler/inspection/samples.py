"""The samples of primitives as modules of one operation: for tables and tests of backends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..dtypes import DType, from_numpy
from ..errors import CompileError
from ..ir.build import Builder
from ..ir.core import Block, Function, Module
from ..ir.primitive import F, Primitive
from ..ir.types import tensor
from ..primitives.samples import Draw


def samples_of(defn: type[Primitive], dtype: DType) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Operands and attributes: the float64 operands at `dtype`, or integers where there are no floats."""
    assert defn.samples is not None
    for drawn in defn.samples(Draw(3)):
        *xs, attrs = drawn if drawn and isinstance(drawn[-1], dict) else (*drawn, {})
        arrays = [np.asarray(x) for x in xs]
        floats = [x.dtype == np.float64 for x in arrays]
        if dtype.is_float:
            yield [x.astype(dtype.numpy) if f else x for x, f in zip(arrays, floats, strict=True)], attrs
        elif any(floats):
            yield [np.ceil(abs(x)).astype(dtype.numpy) if f else x for x, f in zip(arrays, floats, strict=True)], attrs
        else:
            yield [x.astype(dtype.numpy) if x.dtype == np.int64 else x for x in arrays], attrs


def module_of(types: list[Any], build: Any) -> Module:
    """A module with one function; `build` makes its results of its arguments."""
    with Builder(Block(types, [f"x{i}" for i in range(len(types))])) as b:
        b.ret(*build(*b.block.args))
    return Module({"f": Function("f", b.block)}, b.module.constants, {}, b.module.callables)


def forward(defn: type[Primitive], xs: list[Any], attrs: dict[str, Any]) -> tuple[Module, list[Any]] | None:
    """The primitive alone, and its operands; None where it is not defined at these dtypes."""

    def build(*vs: Any) -> Any:
        out = getattr(F, defn.name)(*vs, **attrs)
        return out if isinstance(out, tuple) else (out,)

    try:
        return module_of([tensor(from_numpy(x.dtype), x.shape) for x in xs], build), xs
    except CompileError:
        return None
