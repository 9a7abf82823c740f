"""Tensors and Parameters: what can be done with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...errors import MissingAttributeError, SideEffectError, UnsupportedCallError, did_you_mean, shown_as
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import METHODS, PROPERTIES, F
from ...ir.primitive import call as public
from ...ir.types import TensorType
from ...primitives.in_place import IN_PLACE, fitting
from ...runtime.parameter import Parameter
from ...runtime.tensor import NO_LENGTH, Tensor
from . import numpy_calls, precision
from .arithmetic import SLOT, SYMBOL, UNARY_SLOT, to_number
from .assignment import assign_state, set_item
from .base import Results, Variable, kind
from .comparison import COMPARE_SLOT, MIRRORED, compare_objects
from .interpreter import ValueContext
from .leaves import Leaf, TensorLeaf
from .objects import ObjectVariable
from .requirements import LEAVING, is_tensor_var, length_of, operand, operator_product, refuse_data, settled_index
from .rules import TENSOR_METHODS
from .structure import map_leaves
from .truth_values import truth_of_one
from .values import ArrayVar, StateVar, TensorVar, Weak, is_dynamic

__all__ = ["TensorMethod"]


def _binary(lw: ValueContext, slot: str, a: Any, b: Any) -> Any:
    a, b = (operand(lw, x) for x in (a, b))
    for x in (a, b):
        if not (is_dynamic(x) or type(x) in (bool, int, float)) and not isinstance(x, Tensor):
            kinds = [f"'{(v.kind if type(v) is Weak else type(v)).__name__}'" for v in (a, b)]
            raise TypeError(f"unsupported operand type(s) for {SYMBOL[slot]}: {kinds[0]} and {kinds[1]}")
    first, name = (a, f"__{slot}__") if is_tensor_var(a) else (b, f"__r{slot}__")
    second = b if first is a else a
    method = METHODS.get(name)
    if method is None:
        raise UnsupportedCallError(f"Tensors do not support the operator '{slot}' in compiled code yet")
    return lw.native(method, [first, second])


@shown_as("method")
class TensorMethod:
    """A method of a Tensor, bound: called natively."""

    __slots__ = ("function", "name", "owner")

    def __init__(self, name: str, owner: Any, function: Any) -> None:
        self.name, self.owner, self.function = name, owner, function


def _attribute(lw: ValueContext, owner: Any, name: str) -> Any:
    type_: TensorType = owner.type
    if name in ("shape", "dtype", "ndim"):
        return getattr(type_, name)
    if name == "size":
        return operator_product(type_.shape)
    if name == "itemsize":
        return type_.dtype.itemsize
    if name == "nbytes":
        return type_.dtype.itemsize * operator_product(type_.shape)
    if name in PROPERTIES:
        return lw.native(METHODS[name], [owner])
    if name in METHODS:
        return TensorMethod(name, owner, METHODS[name])
    if name in ("name", "requires_grad") and type(precision.whole(owner)) is StateVar:
        source = precision.whole(owner).source
        return lw.outside.property(source, name, f"{name} of a Parameter", lambda: getattr(source, name))
    if name in IN_PLACE:
        return TensorMethod(name, owner, IN_PLACE[name])
    if name in ("item", "__len__", "copy", "assign_value", "asnumpy", "numpy", "register_hook"):
        return TensorMethod(name, owner, None)
    known = [*METHODS, "shape", "dtype", "ndim", "size"]
    kind = Parameter if type(owner) is StateVar else Tensor
    refuse_data(name)
    if hasattr(kind, name):
        raise UnsupportedCallError(
            f"'{name}' of a Tensor cannot be used in compiled code"
            + (": it would leave the graph, and cut the gradient" if name in LEAVING else ""),
            code="AC1801" if name in LEAVING else None,
            hint="use an op, or `ms.py_call` (with a `bprop` for the gradient), or move it out of the function",
        )
    raise MissingAttributeError(f"Tensor has no attribute '{name}'", hint=did_you_mean(name, known))


def _tensor_method(lw: ValueContext, method: TensorMethod, args: list[Any], kwargs: dict[str, Any]) -> Any:
    owner, name = method.owner, method.name
    if name == "item":
        return to_number(lw, owner, None)
    if name in ("asnumpy", "numpy"):
        return numpy_calls.detached(lw, owner)
    if name == "__len__":
        return owner.type.shape[0]
    if name == "copy":
        return TensorVar(lw.unwrap(owner))
    if name in TENSOR_METHODS:
        return TENSOR_METHODS[name](lw, precision.whole(owner), *args, **kwargs)
    if name == "__setitem__":
        set_item(lw, owner, *args, **kwargs)
        return None
    if name in IN_PLACE or name == "assign_value":
        return _change_tensor(lw, method, args, kwargs)
    if hasattr(method.function, "__graph_call__"):  # it draws
        return lw.call(method.function, [owner, *args], kwargs)
    return lw.native(method.function, [owner, *args], kwargs)


def _change_tensor(lw: ValueContext, method: TensorMethod, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``t.add_(x)``: the Tensor itself, with another value."""
    owner = precision.whole(method.owner)
    if type(owner) is TensorVar:
        lw.effects.check_writable(owner)
    if method.function is None:
        assign_state(lw, owner, *args, **kwargs)
        return owner
    found = lw.call(method.function, [owner, *args], kwargs)
    new = fitting(method.name, owner.type, lw.unwrap(found))
    if type(owner) is StateVar:
        assign_state(lw, owner, TensorVar(new))
    else:
        lw.effects.write(owner, new)
    return owner


@kind(TensorVar)
class TensorVariable(Variable):
    """A Tensor known by its type."""

    __slots__ = ()
    precedence = 4

    def unary(self, lw: ValueContext, op: str) -> Any:
        return TensorVar(lw.unwrap(self.value)) if op == "UAdd" else lw.native(METHODS[UNARY_SLOT[op]], [self.value])

    def binary(self, lw: ValueContext, op: str, other: Any) -> Any:
        return _binary(lw, SLOT[op], self.value, other)

    def reflected(self, lw: ValueContext, op: str, other: Any) -> Any:
        return _binary(lw, SLOT[op], other, self.value)

    def compare(self, lw: ValueContext, op: str, other: Any) -> Any:
        return _compare(lw, op, self.value, other)

    def compared(self, lw: ValueContext, op: str, other: Any) -> Any:
        return _compare(lw, op, other, self.value)

    def truth(self, lw: ValueContext) -> Any:
        return truth_of_one(lw.unwrap(self.value))

    def getattr(self, lw: ValueContext, name: str) -> Any:
        return _attribute(lw, self.value, name)

    def getitem(self, lw: ValueContext, index: Any) -> Any:
        index = settled_index(lw, index)
        index = map_leaves(lambda x: operand(lw, x) if type(x) is ArrayVar else x, index)
        return lw.native(METHODS["__getitem__"], [self.value, index])

    def setitem(self, lw: ValueContext, index: Any, value: Any) -> None:
        box, index = self.value, settled_index(lw, index)
        lw.effects.check_writable(box)
        lw.effects.write(box, METHODS["__setitem__"](box.value, lw.unwrap(index), lw.unwrap(value)))

    def length(self, lw: ValueContext) -> Any:
        return length_of(self.value, NO_LENGTH)

    def absolute(self, lw: ValueContext) -> Any:
        return lw.native(public.abs, [self.value])

    def number(self, lw: ValueContext, kind: type, *more: Any) -> Any:
        return Weak(self.truth(lw), bool) if kind is bool else to_number(lw, self.value, kind)

    def python_class(self) -> type:
        return Tensor

    def iterate(self, lw: ValueContext) -> Iterable[Any]:
        return [self._row(lw, i) for i in range(length_of(self.value))]

    def live(self, lw: ValueContext) -> Iterator[Any]:
        return (self._row(lw, i) for i in range(length_of(self.value)))

    def _row(self, lw: ValueContext, i: int) -> Any:
        return lw.native(METHODS["__getitem__"], [self.value, i])

    def result(self, out: Results) -> Any:
        return out.tensor(self.value)

    def leaf(self) -> Leaf | None:
        box = self.value
        return TensorLeaf(box.type, locked=box.locked, snapshot=box.snapshot)

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        value: Value = self.value.value
        return value

    def name_value(self, name: str) -> None:
        self.value.value.name = self.value.value.name or name


@kind(StateVar)
class ParameterVariable(TensorVariable):
    """A Parameter, read at the moment of use."""

    __slots__ = ()

    def python_class(self) -> type:
        return Parameter

    def setattr(self, lw: ValueContext, name: str, value: Any) -> None:
        raise SideEffectError(
            f"attribute '{name}' of a Parameter cannot be written in compiled code",
            code="AC1606",
            hint="set it outside of compiled code",
        )

    def setitem(self, lw: ValueContext, index: Any, value: Any) -> None:
        state, index = self.value, settled_index(lw, index)
        held = lw.unwrap(state)
        lw.effects.snapshots.note_write(state.name)
        new = METHODS["__setitem__"](held, lw.unwrap(index), lw.unwrap(value))
        F.state_write(new, state=state.name, type=state.type)

    def result(self, out: Results) -> Any:
        return out.parameter(self.value)

    def leaf(self) -> Leaf | None:
        state = self.value
        return TensorLeaf(state.type, fixed=True, snapshot=state.snapshot, source=state.source)

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        with builder:
            value: Value = F.state_read(state=self.value.name, type=self.value.type)
        return value

    def name_value(self, name: str) -> None:
        """A Parameter has its own name."""


def _compare(lw: ValueContext, op: str, a: Any, b: Any) -> Any:
    a, b = operand(lw, a), operand(lw, b)
    if not (_is_numeric(a) and _is_numeric(b)):  # as `==` of a Tensor knows nothing else, Python compares identities
        return compare_objects(op, a, b)
    if is_tensor_var(a):
        return lw.native(METHODS[COMPARE_SLOT[op]], [a, b])
    return lw.native(METHODS[COMPARE_SLOT[MIRRORED.get(op, op)]], [b, a])


def _is_numeric(x: Any) -> bool:
    return is_tensor_var(x) or isinstance(x, Weak | int | float | Tensor | ArrayVar | np.ndarray | np.generic)


@kind(Tensor)
class MetTensor(ObjectVariable):
    """A Tensor that was made while compiling, as itself."""

    __slots__ = ()

    def truth(self, lw: ValueContext) -> Any:
        return bool(self.value)


@kind(TensorMethod)
class TensorMethodVariable(ObjectVariable):
    """A method of a Tensor, bound."""

    __slots__ = ()
    made_here = True

    def call(self, lw: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return _tensor_method(lw, self.value, args, kwargs)
