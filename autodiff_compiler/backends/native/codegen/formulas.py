"""Elementwise ops over lanes: the primitive's formula (`scalar`), or a rule of this backend."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ....dtypes import DType
from ....errors import InternalCompilerError
from ....ir.core import Op
from ....ir.primitive import REGISTRY
from ....ir.types import TensorType
from .arithmetic import Kernels
from .emit import Reg, Text
from .lanes import Lane, NotNativeError

#: Rules for ops whose class has no formula, or one less accurate than `maths`.
RULES: dict[str, Callable[..., Any]] = {
    "cast": lambda k, x, dtype, linear: k.cast(x, dtype),
    "erf": lambda k, x: k.erf(x),
    "erfc": lambda k, x: k.erfc(x),
    "stop_gradient": lambda k, x: x,
    "sigmoid": lambda k, x: k.sigmoid(x),
    "kept": lambda k, mask, x: k.where(mask, x, 0),
    "if_converged": lambda k, converged, x: k.where(converged, x, math.nan),
    "population_count": lambda k, x: k.bitwise_count(x),
}


def has_formula(op: Op) -> bool:
    """Whether an op has a formula that compiles for the dtypes of its operands."""
    rule = RULES.get(op.defn.name) or op.defn.scalar
    if rule is None or not all(isinstance(x.type, TensorType) for x in op.operands):
        return False
    return _compiles(op.defn.name, tuple(x.dtype for x in op.operands), op.attrs)


@functools.lru_cache(4096)
def _compiles(name: str, dtypes: tuple[DType, ...], attrs: tuple[Any, ...]) -> bool:
    k = Kernels(Text("probe", []), 2)
    lanes = [k.lane(Reg(f"%x{i}", k.type_of(d)), d) for i, d in enumerate(dtypes)]
    try:
        _formula(k, REGISTRY[name], lanes, attrs)
    except NotNativeError:
        return False
    return True


def _formula(k: Kernels, defn: Any, lanes: Sequence[Lane], attrs: tuple[Any, ...]) -> Any:
    rule = RULES.get(defn.name) or defn.scalar
    return rule(k, *lanes, **dict(zip(defn.schema, attrs, strict=True)))


def apply_formula(k: Kernels, op: Op, lanes: Sequence[Lane]) -> Lane:
    """The result of an op on these lanes."""
    result = _formula(k, op.defn, lanes, op.attrs)
    type = op.results[0].type
    assert isinstance(type, TensorType)
    if not isinstance(result, Lane):
        return k.number(result, type.dtype)
    if result.dtype is not type.dtype:
        raise InternalCompilerError(f"the formula of {op.defn.name} makes {result.dtype.name}, not {type}", loc=op.loc)
    return result
