"""Operators, attributes and subscripts on static and dynamic values."""

from __future__ import annotations

import collections
import operator
import types
from typing import Any

import numpy as np

from ...errors import (
    MissingAttributeError,
    StaticValueError,
    UnsupportedCallError,
    UnsupportedSyntaxError,
    did_you_mean,
    shown_as,
)
from ...ir.build import current
from ...ir.primitive import METHODS, PROPERTIES, F
from ...ir.types import TensorType
from ...primitives.in_place import IN_PLACE
from ...runtime.parameter import Parameter
from ...runtime.precision import is_view
from ...runtime.records import is_named_tuple
from ...runtime.tensor import Tensor
from ..guards.objects import class_attribute, is_changeable, is_ours
from . import numpy_calls, precision, text
from .arithmetic import BINARY, SLOT, SYMBOL, kind_of_number, lifted_number, number_binary
from .classes import get
from .interpreter import ValueContext
from .lookup import attribute_now, missing
from .queries import part
from .requirements import (
    LEAVING,
    check_key,
    check_seen,
    element_index,
    is_tensor_var,
    operand,
    operator_product,
    python_method,
    refuse_data,
    refuse_environment,
    refuse_text,
    require_static,
    settled_index,
    special,
)
from .values import (
    ArrayVar,
    LocalDict,
    LocalList,
    LocalObject,
    LocalSet,
    LocalSuper,
    StateVar,
    TensorVar,
    Text,
    Weak,
    class_of,
    describe,
    is_dynamic,
    is_static,
    map_leaves,
    usable,
)

__all__ = ["attribute", "binary", "is_ours", "subscript", "unary"]


# ---------------------------------------------------------------------------------------------------- operators
def binary(lw: ValueContext, op: str, a: Any, b: Any) -> Any:
    """``a op b``; `op` is the syntax tree's name of the operator."""
    a, b = lw.outside.met(a), lw.outside.met(b)
    result = _user_binary(lw, op, a, b)
    if result is not NotImplemented:
        return result
    if isinstance(a, str | Text):
        return _text_binary(lw, op, a, b)
    if is_tensor_var(a) or is_tensor_var(b):
        return _tensor_binary(lw, SLOT[op], a, b)
    if needs_numpy(a, b):
        return numpy_calls.array_binary(lw, SLOT[op], a, b)
    if kind_of_number(a) and kind_of_number(b) and (type(a) is Weak or type(b) is Weak):
        return number_binary(lw, op, a, b)
    if isinstance(a, bytes):
        check_seen(b, "formatting")
    if isinstance(a, list | tuple) or isinstance(b, list | tuple):
        result = BINARY[op](_plain(a), _plain(b))
        return LocalList(result) if isinstance(result, list) else result
    if is_dynamic(a) or is_dynamic(b):
        raise UnsupportedSyntaxError(f"{SLOT[op]} of {describe(a)} and {describe(b)} is not supported", code="AC1103")
    result = BINARY[op](a, b)
    return LocalSet(result) if isinstance(result, set) else LocalDict(result) if isinstance(result, dict) else result


def _text_binary(lw: ValueContext, op: str, a: Any, b: Any) -> Any:
    if op == "Mod" and isinstance(a, str):
        return text.percent(lw, a, b)
    if op == "Add" and isinstance(b, str | Text):
        return text.concatenated(a, b)
    refuse_text(a, f"operator {SLOT[op]}")
    refuse_text(b, f"operator {SLOT[op]}")
    if is_tensor_var(b) and op == "Add":
        raise TypeError(f'can only concatenate str (not "{type(b).__name__}") to str')
    require_static(b, f"the operand of {SLOT[op]}")
    return BINARY[op](a, b)


def needs_numpy(a: Any, b: Any) -> bool:
    """Whether one of two operands is a NumPy array and one is known only at run time."""
    arrays = [type(x) is ArrayVar or isinstance(x, np.ndarray | np.generic) for x in (a, b)]
    return any(arrays) and (is_dynamic(a) or is_dynamic(b))


def _user_binary(lw: ValueContext, op: str, a: Any, b: Any) -> Any:
    """``a op b`` by the methods of a user's class; NotImplemented if there are none."""
    ways = [(f"__{SLOT[op]}__", (a, b)), (f"__r{SLOT[op]}__", (b, a))]
    if _goes_first(lw, a, b, ways[1][0]):
        ways.reverse()
    for method, operands in ways:
        function = python_method(lw, operands[0], method)
        if function is not None:
            result = lw.call_python(function, list(operands), {})
            if result is not NotImplemented:
                return result
    return NotImplemented


def _goes_first(lw: ValueContext, a: Any, b: Any, reflected: str) -> bool:
    """Whether the right operand is asked first: one of a subclass with a reflected method of its own."""
    first, second = class_of(a), class_of(b)
    if first is second or not issubclass(second, first) or is_dynamic(a) or is_dynamic(b):
        return False
    return python_method(lw, b, reflected) is not None and python_method(lw, a, reflected) is not class_attribute(
        second, reflected
    )


def _plain(x: Any) -> Any:
    return list(x) if isinstance(x, LocalList) else x


def _tensor_binary(lw: ValueContext, slot: str, a: Any, b: Any) -> Any:
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


def unary(lw: ValueContext, op: str, x: Any) -> Any:
    """``-x``, ``+x``, ``~x`` (``not`` is a matter of truth)."""
    x = lw.outside.met(x)
    if type(x) is ArrayVar:
        return numpy_calls.array_unary(lw, op, x)
    slot = {"USub": "__neg__", "UAdd": "__pos__", "Invert": "__invert__"}[op]
    if is_tensor_var(x):
        if op == "UAdd":
            return TensorVar(lw.unwrap(x))
        return lw.native(METHODS[slot], [x])
    if type(x) is Weak:
        kind = int if x.kind is bool else x.kind
        value = lifted_number(x, kind, current())
        if op == "Invert":
            return Weak(F.sub(F.neg(value), 1), int)
        return Weak(F.neg(value), kind) if op == "USub" else Weak(value, kind)
    result = special(lw, x, slot)
    if result is not NotImplemented:
        return result
    plain: dict[str, Any] = {"USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert}
    return plain[op](x)


# ---------------------------------------------------------------------------------------------------- attributes
#: What a class has as a method that objects are bound to.
_BUILT_IN = types.MethodDescriptorType | types.WrapperDescriptorType | types.ClassMethodDescriptorType
_METHODS = types.FunctionType | _BUILT_IN


@shown_as("method")
class TensorMethod:
    """A method of a Tensor, bound: called natively."""

    __slots__ = ("function", "name", "owner")

    def __init__(self, name: str, owner: Any, function: Any) -> None:
        self.name, self.owner, self.function = name, owner, function


def attribute(lw: ValueContext, owner: Any, name: str) -> Any:
    """``owner.name``."""
    owner = lw.outside.met(owner)
    if type(owner) in (LocalObject, LocalSuper):
        return get(lw, owner, name)
    if is_tensor_var(owner):
        return _tensor_attribute(lw, owner, name)
    if type(owner) is ArrayVar:
        return numpy_calls.array_attribute(lw, owner, name)
    if type(owner) is Weak:
        if owner.kind is float and name in ("real",):
            return owner
        raise MissingAttributeError(f"'{name}' of a {describe(owner)} is not available in compiled code")
    refuse_text(owner, f"'.{name}'")
    if isinstance(owner, list | dict | tuple | set | frozenset) and not is_named_tuple(owner):
        if is_ours(type(owner)) or not is_changeable(type(owner)):
            return BoundContainer(owner, name) if hasattr(owner, name) else missing(owner, name)
        if isinstance(lw.outside.class_attribute(type(owner), name), _METHODS):
            return BoundContainer(owner, name)
    if type(owner) is super:
        above: Any = _property_above(lw, owner, name)
        if above is not None:
            view: Any = owner
            return lw.call_python(above[1].fget, [view.__self__], {}, (above[0], view.__self__))
    if is_view(owner):
        return precision.read(lw, owner, name)
    if lw.effects.in_backward and hasattr(type(owner), "__graph_state__"):
        return lw.attribute_after_forward(owner, name)
    return attribute_now(lw, owner, name)


def _property_above(lw: ValueContext, view: Any, name: str) -> tuple[type, property] | None:
    """The property that ``super().name`` finds, with its class; None if it finds something else."""
    mro = view.__self_class__.__mro__
    for cls in mro[mro.index(view.__thisclass__) + 1 :]:
        if name in cls.__dict__:
            found = lw.outside.class_attribute(cls, name)
            written = isinstance(found, property) and isinstance(found.fget, types.FunctionType)
            return (cls, found) if written and not is_ours(found.fget) else None
    return None


@shown_as("method")
class BoundContainer:
    """A method of a list, tuple or dict inside compiled code."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name


def _tensor_attribute(lw: ValueContext, owner: Any, name: str) -> Any:
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


# ---------------------------------------------------------------------------------------------------- subscripts
def subscript(lw: ValueContext, owner: Any, index: Any) -> Any:
    """``owner[index]``."""
    owner = lw.outside.met(owner)
    if is_tensor_var(owner) or type(owner) is ArrayVar:
        index = settled_index(lw, index)
    if is_tensor_var(owner):
        index = map_leaves(lambda x: operand(lw, x) if type(x) is ArrayVar else x, index)
        return lw.native(METHODS["__getitem__"], [owner, index])
    if type(owner) is ArrayVar:
        return numpy_calls.array_subscript(lw, owner, index)
    if isinstance(usable(owner), tuple | list | dict):
        method = python_method(lw, owner, "__getitem__")
        if method is not None:
            return lw.call_python(method, [owner, index], {})
        if isinstance(owner, dict):
            check_key(index)
            method = python_method(lw, owner, "__missing__") if is_static(index) and index not in owner else None
            if method is not None:
                return lw.call_python(method, [owner, index], {})
        else:
            index = element_index(lw, index)
        if not is_static(index):
            if isinstance(owner, dict):
                require_static(index, "a dictionary key")
            return _dynamic_element(lw, owner, index)
        value = owner[index]
        if isinstance(owner, LocalList) and isinstance(index, slice):
            return LocalList(value)
        return lw.outside.item(owner, index, value) if not isinstance(owner, LocalList | LocalDict) else value
    refuse_text(owner, "an element")
    refuse_environment(owner)
    if type(owner) is collections.ChainMap:  # its own method catches exceptions
        maps = [lw.outside.item(owner.maps, i, m) for i, m in enumerate(attribute(lw, owner, "maps"))]
        return subscript(lw, next((m for m in maps if isinstance(m, dict) and index in m), {}), index)
    method = python_method(lw, owner, "__getitem__")
    if method is not None:
        return lw.call_python(method, [owner, index], {})
    if getattr(type(owner), "__graph_natively__", False):
        return lw.native(type(owner).__getitem__, [owner, index])
    require_static(index, f"an index into a {describe(owner)}")
    if isinstance(index, slice) and hasattr(type(owner), "__graph_state__"):
        return part(lw, owner, index)
    value = owner[index]
    if type(owner) is np.ndarray and not owner.dtype.hasobject:
        return lw.outside.item(owner, index, value)
    fetch = lw.outside.part(owner, value, lambda now: now[index])
    return lw.outside.read(value, ("index", id(owner), repr(index)), f"element {index!r}", fetch)


def _dynamic_element(lw: ValueContext, owner: Any, index: Any) -> Any:
    kind = type(owner).__name__
    raise StaticValueError(
        f"an index into a Python {kind} must be known at compile time, it is a {describe(index)}",
        code="AC1305",
        hint="stack the elements with `ops.stack`, then index the Tensor",
    ).about(index)
