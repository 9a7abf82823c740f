"""MindSpore's operator classes that write Parameters and are no function of `ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.primitive import call
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from .operation import operation
from .state import assign, compiled_from_source

__all__: list[str] = []

_Function = Callable[..., Any]


def _scatter_sub(use_locking: bool = False) -> _Function:
    """Subtracts `updates` from the rows of a Parameter at the given positions, repeatedly if repeated."""

    @compiled_from_source
    def run(input_x: Parameter, indices: Any, updates: Any) -> Tensor:
        return assign(input_x, call.scatter_add(input_x, indices, call.neg(updates)))

    return run


def _index_add(axis: int) -> _Function:
    """Adds the slices of `updates` to a Parameter at the given positions along an axis."""

    @compiled_from_source
    def run(var: Parameter, indices: Any, updates: Any) -> Tensor:
        return assign(var, call.index_add(var, indices, updates, axis))

    return run


_MAKERS: dict[str, Callable[..., _Function]] = {"InplaceIndexAdd": _index_add, "ScatterSub": _scatter_sub}
for _name, _make in _MAKERS.items():
    globals()[_name] = operation(_name, _make, __name__)
__all__ += _MAKERS
