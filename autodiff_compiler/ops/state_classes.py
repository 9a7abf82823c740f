"""MindSpore's operator classes that write Parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.primitive import call
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from . import state
from .operation import constant, operation
from .state import assign, compiled_from_source

__all__: list[str] = []

_Function = Callable[..., Any]


@compiled_from_source
def _scatter_sub(input_x: Parameter, indices: Any, updates: Any) -> Tensor:
    """Subtracts `updates` from the rows of a Parameter at the given positions, repeatedly if repeated."""
    return assign(input_x, call.scatter_add(input_x, indices, call.neg(updates)))


def _locking(function: _Function, default: bool) -> Callable[..., _Function]:
    """The maker of a class whose only constant, `use_locking`, has no effect."""

    def make(use_locking: bool = default) -> _Function:
        return function

    make.__doc__ = function.__doc__
    return make


def _index_add(axis: int) -> _Function:
    """Adds the slices of `updates` to a Parameter at the given positions along an axis."""

    @compiled_from_source
    def run(var: Parameter, indices: Any, updates: Any) -> Tensor:
        return assign(var, call.index_add(var, indices, updates, axis))

    return run


#: Class, its function, and the default of `use_locking`, which is accepted and changes nothing.
_SCATTERING = {
    "ScatterAdd": (state.scatter_add, False),
    "ScatterDiv": (state.scatter_div, False),
    "ScatterMax": (state.scatter_max, False),
    "ScatterMin": (state.scatter_min, False),
    "ScatterMul": (state.scatter_mul, False),
    "ScatterNdAdd": (state.scatter_nd_add, False),
    "ScatterNdDiv": (state.scatter_nd_div, False),
    "ScatterNdMax": (state.scatter_nd_max, False),
    "ScatterNdMin": (state.scatter_nd_min, False),
    "ScatterNdMul": (state.scatter_nd_mul, False),
    "ScatterNdSub": (state.scatter_nd_sub, False),
    "ScatterNdUpdate": (state.scatter_nd_update, True),
    "ScatterSub": (_scatter_sub, False),
    "ScatterUpdate": (state.scatter_update, True),
}
_MAKERS: dict[str, Callable[..., _Function]] = {
    "Assign": constant(state.assign),
    "AssignAdd": constant(state.assign_add),
    "AssignSub": constant(state.assign_sub),
    "InplaceIndexAdd": _index_add,
    "ScatterNonAliasingAdd": constant(state.scatter_nd_add),
}

_MAKERS |= {name: _locking(*row) for name, row in _SCATTERING.items()}
for _name, _make in _MAKERS.items():
    globals()[_name] = operation(_name, _make, __name__)
__all__ += _MAKERS
