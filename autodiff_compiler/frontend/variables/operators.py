"""Operators, attributes and subscripts on static and dynamic values."""

from __future__ import annotations

import collections
import dataclasses
import enum
import operator
import sys
import types
from typing import Any

import numpy as np

from ...errors import (
    MissingAttributeError,
    SideEffectError,
    StaticValueError,
    UnsupportedCallError,
    UnsupportedSyntaxError,
    did_you_mean,
    shown_as,
)
from ...ir.build import current
from ...ir.primitive import METHODS, PROPERTIES, F, trace
from ...ir.types import TensorType
from ...primitives.in_place import IN_PLACE
from ...runtime.parameter import Parameter
from ...runtime.precision import is_view
from ...runtime.records import is_named_tuple
from ...runtime.tensor import Tensor
from ..guards.guards import is_changeable
from ..guards.outside import class_attribute, type_of
from ..interpreter.interpreter import Lowering
from ..interpreter.joins import kind_of_number, lifted_number
from . import precision
from .arithmetic import BINARY, SLOT, SYMBOL, number_binary
from .lookup import NATIVE, attribute_now, is_ours, missing
from .naming import instead_of_changing, name_of
from .values import (
    OUTSIDE,
    ArrayVar,
    LocalDict,
    LocalList,
    LocalObject,
    LocalSet,
    LocalSuper,
    NewException,
    StateVar,
    TensorVar,
    Text,
    Weak,
    class_of,
    describe,
    flatten,
    is_dynamic,
    is_static,
    map_leaves,
    usable,
)

__all__ = [
    "as_index",
    "attribute",
    "binary",
    "check_local",
    "check_seen",
    "is_generated",
    "is_ours",
    "python_method",
    "refuse_data",
    "refuse_environment",
    "refuse_text",
    "require_static",
    "settled_index",
    "special",
    "subscript",
    "unary",
]


def is_tensor_var(x: Any) -> bool:
    return type(x) is TensorVar or type(x) is StateVar


def python_method(lw: Lowering, x: Any, name: str) -> Any:
    """The special method `name` of a user's object, to be compiled; None if its class has none written in Python."""
    cls = class_of(x)
    if is_dynamic(x) or cls.__module__.partition(".")[0] in NATIVE or isinstance(x, enum.Enum) or is_ours(cls):
        return None
    method = lw.outside.class_attribute(cls, name)
    return method if isinstance(method, types.FunctionType) else None


def special(lw: Lowering, x: Any, *names: str) -> Any:
    """The result of the first of these methods (without arguments) that a user's class has; else NotImplemented."""
    for name in names:
        method = python_method(lw, x, name)
        if method is not None:
            return lw.call_python(method, [x], {})
    return NotImplemented


def is_seen(x: Any) -> bool:
    """Whether code that runs natively reads nothing of x that no guard watches."""
    cls = type(x)
    if isinstance(x, enum.Enum | type) or is_ours(cls) or is_dynamic(x):
        return True
    return cls.__module__.partition(".")[0] in sys.stdlib_module_names | NATIVE


def check_seen(x: Any, what: str) -> None:
    """Refuses to hand a user's object to code that runs once, while compiling: a change would not be noticed."""
    for leaf in flatten(x):
        if isinstance(leaf, slice):
            check_seen([leaf.start, leaf.stop, leaf.step], what)
        if not is_seen(leaf):
            raise UnsupportedCallError(
                f"{what} would read a {type(leaf).__name__} object unseen", hint="give it the numbers or texts it needs"
            )


def check_key(x: Any) -> None:
    """Refuses keys whose `__hash__` and `__eq__` would run natively; those made by `dataclasses` read what is fixed."""
    for leaf in flatten(x):
        method = class_attribute(type(leaf), "__hash__")
        if isinstance(method, types.FunctionType) and not is_generated(leaf, method):
            check_seen(leaf, "a look-up by key")


def is_generated(x: Any, method: types.FunctionType) -> bool:
    """Whether a method was made by `dataclasses` and has no source."""
    file = getattr(method, "__wrapped__", method).__code__.co_filename
    return dataclasses.is_dataclass(class_of(x)) and file == "<string>"


def as_index(lw: Lowering, x: Any) -> Any:
    """x, or the integer that a user's object stands for."""
    if is_tensor_var(x) and not x.type.dtype.is_int:
        raise TypeError(f"only an integer tensor can be an index, not one of {x.type.dtype.name}")
    result = special(lw, x, "__index__")
    return x if result is NotImplemented else result


def settled_index(lw: Lowering, index: Any) -> Any:
    """An index into a Tensor, list or tuple with integers in the place of all objects that stand for them.

    Indexing runs natively, where nobody would notice that such an object, or a bound of a slice, changes later.
    """
    if isinstance(index, tuple):
        parts = [settled_index(lw, part) for part in index]
        return index if all(a is b for a, b in zip(parts, index, strict=True)) else tuple(parts)
    if isinstance(index, slice):
        bounds = [_bound(lw, index, name) for name in ("start", "stop", "step")]
        return index if all(isinstance(b, int | None) for b in bounds) else slice(*bounds)
    return index if isinstance(index, int) or is_dynamic(index) else as_index(lw, index)


def element_index(lw: Lowering, index: Any) -> Any:
    """An index into a list or tuple: a Tensor whose element is known while compiling is that number."""
    index = settled_index(lw, as_index(lw, index))
    known = trace.builder.known(index.value) if type(index) is TensorVar else None
    return index if known is None or known.size != 1 else int(known.item())


def _bound(lw: Lowering, index: slice, name: str) -> Any:
    bound = getattr(index, name)
    if isinstance(bound, Tensor | np.ndarray):  # found outside: those of compiled code are known by their types
        return lw.outside.property(index, name, f"`{name}` of a slice", lambda: operator.index(getattr(index, name)))
    return bound if isinstance(bound, int | None) or is_dynamic(bound) else as_index(lw, bound)


def require_static(x: Any, what: str, code: str | None = None) -> Any:
    """x itself, which must be known at compile time."""
    if not is_static(x):
        raise StaticValueError(
            f"{what} must be known at compile time, it is a {describe(x)}",
            code=code,
            hint="make it of Python numbers, shapes or texts: what is read from a Tensor is known at run time only",
        ).about(x)
    return x


#: Methods that make Python values of the elements.
LEAVING = ("tolist", "asnumpy", "numpy")


def check_local(lw: Lowering, owner: Any) -> None:
    """Refuses changes of containers that compiled code has not made, and does not stand for one from outside."""
    if type(owner) is ArrayVar:
        raise UnsupportedCallError(
            "an array cannot be written to in compiled code", code="AC1801", hint="assign to elements of a Tensor"
        )
    if not isinstance(owner, LocalList | LocalDict | LocalSet):
        if isinstance(owner, list | dict | set | np.ndarray):
            if lw.in_backward:
                raise _changed_backward(owner)
            lw.outside.changed.open_for_change(owner)
            name, kind = name_of(lw, owner), type(owner).__name__
            made = lw.outside.made_inside(owner)
            origin = "was made while compiling" if made else OUTSIDE
            what = f"the {kind} `{name}`, which {origin}," if name else f"a {describe(owner)} that {origin}"
            raise SideEffectError(
                f"{what} cannot be changed in compiled code", code="AC1602", hint=instead_of_changing(lw, owner, name)
            )
        raise TypeError(f"'{type(owner).__name__}' object does not support item assignment")
    if lw.in_backward and lw.outside.changed.of_outside(owner) is not None:
        raise _changed_backward(owner)
    if owner.locked:
        raise SideEffectError(
            f"a {describe(owner)} that {owner.locked} cannot be changed in compiled code",
            code="AC1602",
            hint="copy it first",
        )


def _changed_backward(owner: Any) -> SideEffectError:
    return SideEffectError(
        f"a {describe(owner)} that {OUTSIDE} cannot be changed by code of the backward pass",
        code="AC1602",
        hint="record gradients with a hook (`ops.HookBackward`, `Tensor.register_hook`)",
    )


# ---------------------------------------------------------------------------------------------------- operators
def binary(lw: Lowering, op: str, a: Any, b: Any) -> Any:
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
        return numpy_rules().array_binary(lw, SLOT[op], a, b)
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


def _text_binary(lw: Lowering, op: str, a: Any, b: Any) -> Any:
    from . import text

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


def refuse_text(x: Any, what: str) -> None:
    """Refuses to look into text that is made at run time."""
    if type(x) is NewException:
        raise StaticValueError(f"{what} of an exception made by compiled code", hint="raise it")
    if type(x) is Text:
        raise StaticValueError(
            f"{what} of a str that is known only at run time",
            hint="it can be printed, raised, be the message of an assert, or be joined to other text",
        )


def refuse_environment(x: Any) -> None:
    """Refuses to look into `os.environ`, which is another one in the next run."""
    if type(x).__module__ == "os":
        raise SideEffectError(
            "the environment would be read once, while compiling, and frozen",
            code="AC1604",
            hint="pass the value as an argument",
        )


def refuse_data(name: str) -> None:
    """Refuses the methods by which a Tensor is given other data."""
    if name in ("set_data", "init_data"):
        raise SideEffectError(
            f"'{name}' cannot be used in compiled code", code="AC1605", hint="use `ops.assign(parameter, value)`"
        )


def needs_numpy(a: Any, b: Any) -> bool:
    """Whether one of two operands is a NumPy array and one is known only at run time."""
    arrays = [type(x) is ArrayVar or isinstance(x, np.ndarray | np.generic) for x in (a, b)]
    return any(arrays) and (is_dynamic(a) or is_dynamic(b))


def numpy_rules() -> Any:
    """The rules for arrays, which are written in terms of this module."""
    from . import numpy_calls

    return numpy_calls


def _user_binary(lw: Lowering, op: str, a: Any, b: Any) -> Any:
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


def _goes_first(lw: Lowering, a: Any, b: Any, reflected: str) -> bool:
    """Whether the right operand is asked first: one of a subclass with a reflected method of its own."""
    first, second = class_of(a), class_of(b)
    if first is second or not issubclass(second, first) or is_dynamic(a) or is_dynamic(b):
        return False
    return python_method(lw, b, reflected) is not None and python_method(lw, a, reflected) is not class_attribute(
        second, reflected
    )


def _plain(x: Any) -> Any:
    return list(x) if isinstance(x, LocalList) else x


def _tensor_binary(lw: Lowering, slot: str, a: Any, b: Any) -> Any:
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


def operand(lw: Lowering, x: Any) -> Any:
    """An operand of a Tensor operator: NumPy's scalars are Python numbers, its arrays constant Tensors."""
    from .calls import to_number

    if type(x) is ArrayVar:
        return TensorVar(x.value) if x.kind is np.ndarray else to_number(lw, x, None)
    return constant(x)


def constant(x: Any) -> Any:
    """The same for what is known at compile time."""
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, enum.IntEnum):
        return int(x)
    if not isinstance(x, np.ndarray):
        return x
    made = Tensor(x)
    return TensorVar(current().array(made.asnumpy(), type_of(made), "array"))


def unary(lw: Lowering, op: str, x: Any) -> Any:
    """``-x``, ``+x``, ``~x`` (``not`` is a matter of truth)."""
    x = lw.outside.met(x)
    if type(x) is ArrayVar:
        return numpy_rules().array_unary(lw, op, x)
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


def attribute(lw: Lowering, owner: Any, name: str) -> Any:
    """``owner.name``."""
    owner = lw.outside.met(owner)
    if type(owner) in (LocalObject, LocalSuper):
        from .classes import get

        return get(lw, owner, name)
    if is_tensor_var(owner):
        return _tensor_attribute(lw, owner, name)
    if type(owner) is ArrayVar:
        return numpy_rules().array_attribute(lw, owner, name)
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
    if lw.in_backward and hasattr(type(owner), "__graph_state__"):
        return lw.attribute_after_forward(owner, name)
    return attribute_now(lw, owner, name)


def _property_above(lw: Lowering, view: Any, name: str) -> tuple[type, property] | None:
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


def _tensor_attribute(lw: Lowering, owner: Any, name: str) -> Any:
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


def operator_product(shape: Any) -> int:
    n = 1
    for d in shape:
        n *= d
    return n


# ---------------------------------------------------------------------------------------------------- subscripts
def subscript(lw: Lowering, owner: Any, index: Any) -> Any:
    """``owner[index]``."""
    owner = lw.outside.met(owner)
    if is_tensor_var(owner) or type(owner) is ArrayVar:
        index = settled_index(lw, index)
    if is_tensor_var(owner):
        index = map_leaves(lambda x: operand(lw, x) if type(x) is ArrayVar else x, index)
        return lw.native(METHODS["__getitem__"], [owner, index])
    if type(owner) is ArrayVar:
        return numpy_rules().array_subscript(lw, owner, index)
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
        from .queries import part

        return part(lw, owner, index)
    value = owner[index]
    if type(owner) is np.ndarray and not owner.dtype.hasobject:
        return lw.outside.item(owner, index, value)
    fetch = lw.outside.part(owner, value, lambda now: now[index])
    return lw.outside.read(value, ("index", id(owner), repr(index)), f"element {index!r}", fetch)


def _dynamic_element(lw: Lowering, owner: Any, index: Any) -> Any:
    kind = type(owner).__name__
    raise StaticValueError(
        f"an index into a Python {kind} must be known at compile time, it is a {describe(index)}",
        code="AC1305",
        hint="stack the elements with `ops.stack`, then index the Tensor",
    ).about(index)
