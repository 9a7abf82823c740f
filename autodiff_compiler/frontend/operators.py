"""Operators, attributes and subscripts on static and dynamic values."""

from __future__ import annotations

import dataclasses
import enum
import operator
import sys
import types
from typing import Any

import numpy as np

from ..errors import (
    AmbiguousTruthError,
    MissingAttributeError,
    SideEffectError,
    StaticValueError,
    UnsupportedCallError,
    UnsupportedSyntaxError,
    did_you_mean,
)
from ..ir.build import current
from ..ir.core import Value
from ..ir.primitive import METHODS, F
from ..ir.types import TensorType
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from .arithmetic import BINARY, SLOT, number_binary
from .joins import joined_number, kind_of_number, lifted_number
from .lowering import PACKAGE, Lowering
from .outside import class_attribute, type_of
from .values import (
    LocalDict,
    LocalList,
    StateVar,
    TensorVar,
    Weak,
    describe,
    elements,
    flatten,
    is_dynamic,
    is_static,
    usable,
)

__all__ = [
    "as_index",
    "attribute",
    "binary",
    "check_local",
    "check_seen",
    "compare",
    "is_generated",
    "is_ours",
    "python_method",
    "require_static",
    "special",
    "subscript",
    "truth",
    "unary",
]

_COMPARE = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}
_MIRRORED = {"Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE"}
_COMPARE_SLOT = {"Eq": "__eq__", "NotEq": "__ne__", "Lt": "__lt__", "LtE": "__le__", "Gt": "__gt__", "GtE": "__ge__"}
_WEAK_COMPARE = {
    "Eq": "equal",
    "NotEq": "not_equal",
    "Lt": "less",
    "LtE": "less_equal",
    "Gt": "greater",
    "GtE": "greater_equal",
}


def is_tensor_var(x: Any) -> bool:
    return type(x) is TensorVar or type(x) is StateVar


def is_ours(obj: Any) -> bool:
    """Whether a class, function or module belongs to this package (and so may run natively on Values)."""
    if isinstance(obj, types.FunctionType):  # the file decides: an example in a docstring has its module's name
        return obj.__code__.co_filename.startswith(PACKAGE)
    module = obj.__name__ if isinstance(obj, types.ModuleType) else getattr(obj, "__module__", None)
    root = __name__.partition(".")[0]
    return isinstance(module, str) and (module == root or module.startswith(root + "."))


def python_method(lw: Lowering, x: Any, name: str) -> Any:
    """The special method `name` of a user's object, to be compiled; None if its class has none written in Python."""
    cls = type(x)
    if is_dynamic(x) or cls.__module__.partition(".")[0] in _NATIVE or isinstance(x, enum.Enum) or is_ours(cls):
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


#: Modules whose classes run natively: their objects do not change, or are watched by content.
_NATIVE = {"builtins", "numpy", "fractions", "decimal", "datetime", "pathlib", "types", "typing", "re"}


def is_seen(x: Any) -> bool:
    """Whether code that runs natively reads nothing of x that no guard watches."""
    cls = type(x)
    if isinstance(x, enum.Enum | type) or is_ours(cls) or is_dynamic(x):
        return True
    return cls.__module__.partition(".")[0] in sys.stdlib_module_names | _NATIVE


def check_seen(x: Any, what: str) -> None:
    """Refuses to hand a user's object to code that runs once, while compiling: a change would not be noticed."""
    for leaf in flatten(x):
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


def as_index(lw: Lowering, x: Any) -> Any:
    """x, or the integer that a user's object stands for."""
    result = special(lw, x, "__index__")
    return x if result is NotImplemented else result


def require_static(x: Any, what: str) -> Any:
    """x itself, which must be known at compile time."""
    if not is_static(x):
        raise StaticValueError(f"{what} must be known at compile time, it is a {describe(x)}")
    return x


def check_local(lw: Lowering, owner: Any) -> None:
    """Refuses changes of containers that came from outside."""
    if not isinstance(owner, LocalList | LocalDict):
        if isinstance(owner, list | dict | set | np.ndarray):
            raise SideEffectError(
                f"a {describe(owner)} that came from outside cannot be changed in compiled code",
                code="AC1602",
                hint="copy it first, or return the new value",
            )
        raise TypeError(f"'{type(owner).__name__}' object does not support item assignment")
    if owner.locked:
        raise SideEffectError(
            f"a {describe(owner)} that {owner.locked} cannot be changed in compiled code",
            code="AC1602",
            hint="copy it first",
        )


# ---------------------------------------------------------------------------------------------------- operators
def binary(lw: Lowering, op: str, a: Any, b: Any) -> Any:
    """``a op b``; `op` is the syntax tree's name of the operator."""
    result = _user_binary(lw, op, a, b)
    if result is not NotImplemented:
        return result
    if is_tensor_var(a) or is_tensor_var(b):
        return _tensor_binary(lw, SLOT[op], a, b)
    if kind_of_number(a) and kind_of_number(b) and (type(a) is Weak or type(b) is Weak):
        return number_binary(lw, op, a, b)
    if isinstance(a, str | bytes):
        check_seen(b, "formatting")
    if isinstance(a, list | tuple) or isinstance(b, list | tuple):
        result = BINARY[op](_plain(a), _plain(b))
        return LocalList(result) if isinstance(result, list) else result
    if is_dynamic(a) or is_dynamic(b):
        raise UnsupportedSyntaxError(f"{SLOT[op]} of {describe(a)} and {describe(b)} is not supported", code="AC1103")
    return BINARY[op](a, b)


def _user_binary(lw: Lowering, op: str, a: Any, b: Any) -> Any:
    """``a op b`` by the methods of a user's class; NotImplemented if there are none."""
    for method, operands in ((f"__{SLOT[op]}__", (a, b)), (f"__r{SLOT[op]}__", (b, a))):
        function = python_method(lw, operands[0], method)
        if function is not None:
            result = lw.call_python(function, list(operands), {})
            if result is not NotImplemented:
                return result
    return NotImplemented


def _plain(x: Any) -> Any:
    return list(x) if isinstance(x, LocalList) else x


def _tensor_binary(lw: Lowering, slot: str, a: Any, b: Any) -> Any:
    a, b = (operand(x) for x in (a, b))
    for x in (a, b):
        if not (is_dynamic(x) or type(x) in (bool, int, float)) and not isinstance(x, Tensor):
            raise TypeError(f"unsupported operand types for {slot}: {describe(a)} and {describe(b)}")
    first, name = (a, f"__{slot}__") if is_tensor_var(a) else (b, f"__r{slot}__")
    second = b if first is a else a
    method = METHODS.get(name)
    if method is None:
        raise UnsupportedCallError(f"Tensors do not support the operator '{slot}' in compiled code yet")
    return lw.native(method, [first, second])


def operand(x: Any) -> Any:
    """An operand of a Tensor operator: NumPy's scalars are Python numbers, its arrays constant Tensors."""
    if isinstance(x, np.generic):
        return x.item()
    if not isinstance(x, np.ndarray):
        return x
    made = Tensor(x)
    return TensorVar(current().array(made.asnumpy(), type_of(made), "array"))


def unary(lw: Lowering, op: str, x: Any) -> Any:
    """``-x``, ``+x``, ``~x`` (``not`` is a matter of truth)."""
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


def compare(lw: Lowering, op: str, a: Any, b: Any) -> Any:
    """One comparison of a chain."""
    if op in ("Is", "IsNot"):
        return _identity(op == "Is", a, b)
    if op in ("In", "NotIn"):
        return _membership(lw, op == "In", a, b)
    result = _user_compare(lw, op, a, b)
    if result is not NotImplemented:
        return result
    if is_tensor_var(a) or is_tensor_var(b):
        a, b = operand(a), operand(b)
        if a is None or b is None or isinstance(a, str) or isinstance(b, str):
            return op == "NotEq"
        if is_tensor_var(a):
            return lw.native(METHODS[_COMPARE_SLOT[op]], [a, b])
        return lw.native(METHODS[_COMPARE_SLOT[_MIRRORED.get(op, op)]], [b, a])
    if kind_of_number(a) and kind_of_number(b) and (type(a) is Weak or type(b) is Weak):
        ka, kb = kind_of_number(a), kind_of_number(b)
        kind: Any = joined_number(ka, kb) or max((ka, kb), key=(bool, int, float).index)  # type: ignore[arg-type]
        builder = current()
        x, y = (lifted_number(v, kind, builder) for v in (a, b))
        return Weak(getattr(F, _WEAK_COMPARE[op])(x, y), bool)
    if not is_static(a) or not is_static(b):
        return _compare_containers(lw, op, a, b)
    if elements(a) is not None and elements(b) is not None and not all(map(is_seen, flatten((a, b)))):
        return _compare_containers(lw, op, a, b)
    return _COMPARE[op](a, b)


def _user_compare(lw: Lowering, op: str, a: Any, b: Any) -> Any:
    """``a op b`` by the methods of a user's class; NotImplemented if there are none."""
    sides = [(a, op, b), (b, _MIRRORED.get(op, op), a)]
    if type(a) is not type(b) and issubclass(type(b), type(a)):
        sides.reverse()
    for x, asked, y in sides:
        result = _ask(lw, x, asked, y)
        if result is not NotImplemented:
            return result
    return NotImplemented


def _ask(lw: Lowering, x: Any, op: str, y: Any) -> Any:
    method = python_method(lw, x, _COMPARE_SLOT[op])
    if method is None:
        equal = _ask(lw, x, "Eq", y) if op == "NotEq" else NotImplemented
        return equal if equal is NotImplemented else negate(truth(lw, equal))
    if not is_generated(x, method):
        return lw.call_python(method, [x, y], {})
    if type(x) is not type(y):
        return NotImplemented
    parts = (tuple(attribute(lw, v, f.name) for f in dataclasses.fields(x) if f.compare) for v in (x, y))
    return compare(lw, op, *parts)


def is_generated(x: Any, method: types.FunctionType) -> bool:
    """Whether a method was made by `dataclasses` and has no source."""
    return dataclasses.is_dataclass(x) and getattr(method, "__wrapped__", method).__code__.co_filename == "<string>"


def _compare_containers(lw: Lowering, op: str, a: Any, b: Any) -> Any:
    xs, ys = elements(a), elements(b)
    if op not in ("Eq", "NotEq"):
        raise UnsupportedSyntaxError(
            f"{describe(a)} and {describe(b)} cannot be ordered in compiled code", code="AC1103"
        )
    same = xs is not None and ys is not None and len(xs) == len(ys)
    same = same and all(isinstance(a, c) == isinstance(b, c) for c in (tuple, dict))
    if same and isinstance(a, dict):
        same = a.keys() == b.keys()
        ys = [b[k] for k in a] if same else ys
    result: Any = same
    if same:
        for x, y in zip(xs, ys, strict=True):
            result = both(lw, result, truth(lw, compare(lw, "Eq", x, y)))
    return result if op == "Eq" else negate(result)


def _identity(positive: bool, a: Any, b: Any) -> bool:
    if is_tensor_var(a) and is_tensor_var(b):
        raise StaticValueError(
            "'is' between Tensors cannot be decided in compiled code", code="AC1304", hint="use `(a == b).all()`"
        )
    a, b = (x.source if type(x) is StateVar else x for x in (a, b))
    return (a is b) == positive


def _membership(lw: Lowering, positive: bool, a: Any, b: Any) -> Any:
    method = python_method(lw, b, "__contains__")
    if method is not None:
        found: Any = truth(lw, lw.call_python(method, [b, a], {}))
    elif isinstance(b, dict | set | frozenset):
        check_key(a)
        found = require_static(a, "a dictionary key") in b
    elif is_static(a) and is_static(b) and (elements(b) is None or all(map(is_seen, flatten((a, b))))):
        found = a in b
    else:
        found = False
        for item in elements(b) if elements(b) is not None else [b]:
            found = either(lw, found, truth(lw, compare(lw, "Eq", a, item)))
    return found if positive else negate(found)


# ---------------------------------------------------------------------------------------------------- truth
def truth(lw: Lowering, x: Any) -> Any:
    """The truth value of x: a Python bool, or a bool[] Value if it is known only at run time."""
    if type(x) is TensorVar or type(x) is StateVar:
        value = lw.unwrap(x)
        count = 1
        for d in value.shape:
            count = count * d if isinstance(d, int) else 0
        if count != 1:
            raise AmbiguousTruthError(
                f"the truth value of a Tensor of shape {list(value.shape)} is not defined",
                hint="use `.any()` or `.all()`; to select elements, `ops.where`",
            )
        value = value if value.shape == () else F.reshape(value, shape=())
        return value if value.dtype.is_bool else F.not_equal(value, 0)
    if type(x) is Weak:
        return x.value if x.kind is bool else F.not_equal(x.value, 0)
    if isinstance(x, Tensor):
        return bool(x)
    result = special(lw, x, "__bool__", "__len__")
    if result is not NotImplemented:
        return truth(lw, result)
    if getattr(type(x), "__graph_state__", None) is not None:
        return lw.outside.property(x, "truth", f"the truth of a {type(x).__name__}", lambda: bool(x))
    return bool(x)


def negate(x: Any) -> Any:
    """``not`` of a truth value."""
    if isinstance(x, Value):
        return Weak(F.logical_not(x), bool)
    return Weak(F.logical_not(x.value), bool) if type(x) is Weak else not x


def _value(x: Any) -> Any:
    return x.value if type(x) is Weak else x


def both(lw: Lowering, a: Any, b: Any) -> Any:
    """``a and b`` of truth values that are both evaluated."""
    a, b = _value(a), _value(b)
    if isinstance(a, Value) and isinstance(b, Value):
        return Weak(F.logical_and(a, b), bool)
    dynamic, static = (a, b) if isinstance(a, Value) else (b, a)
    if isinstance(dynamic, Value):
        return Weak(dynamic, bool) if static else False
    return a and b


def either(lw: Lowering, a: Any, b: Any) -> Any:
    """``a or b`` of truth values that are both evaluated."""
    a, b = _value(a), _value(b)
    if isinstance(a, Value) and isinstance(b, Value):
        return Weak(F.logical_or(a, b), bool)
    dynamic, static = (a, b) if isinstance(a, Value) else (b, a)
    if isinstance(dynamic, Value):
        return True if static else Weak(dynamic, bool)
    return a or b


# ---------------------------------------------------------------------------------------------------- attributes
class TensorMethod:
    """A method of a Tensor, bound: called natively."""

    __slots__ = ("function", "name", "owner")

    def __init__(self, name: str, owner: Any, function: Any) -> None:
        self.name, self.owner, self.function = name, owner, function


def attribute(lw: Lowering, owner: Any, name: str) -> Any:
    """``owner.name``."""
    if is_tensor_var(owner):
        return _tensor_attribute(lw, owner, name)
    if type(owner) is Weak:
        if owner.kind is float and name in ("real",):
            return owner
        raise MissingAttributeError(f"'{name}' of a {describe(owner)} is not available in compiled code")
    if isinstance(owner, LocalList | LocalDict) or (elements(owner) is not None and not hasattr(owner, "_fields")):
        return BoundContainer(owner, name) if hasattr(owner, name) else _missing(owner, name)
    static, cls = class_attribute(type(owner), name), type(owner)
    watched = getattr(cls, "__graph_state__", None) is not None
    getter = static.fget if isinstance(static, property) and not is_ours(cls) else None
    if (watched or getter) and static is not None and (getter or name not in owner.__dict__):
        lw.outside.class_attribute(cls, name)  # the guards on a Cell's own attributes do not look at its class
    if isinstance(getter, types.FunctionType) and not is_ours(getter):
        return lw.call_python(getter, [owner], {})
    try:
        value = getattr(owner, name)
    except AttributeError:
        return _missing(owner, name)
    if (isinstance(owner, types.ModuleType) and is_ours(owner)) or is_dynamic(value):
        return value
    what = f"{getattr(owner, '__name__', cls.__name__)}.{name}"
    if isinstance(value, types.MethodType) and not is_ours(value.__func__):
        key = ("method", id(owner), name)
        lw.outside.guard(key, what, lambda: getattr(owner, name).__func__, value.__func__, watched)
    if isinstance(value, types.MethodType | types.BuiltinMethodType | types.MethodWrapperType):
        return value
    return lw.outside.read(value, ("attribute", id(owner), name), what, lambda: getattr(owner, name), watched=watched)


def _missing(owner: Any, name: str) -> Any:
    raise MissingAttributeError(
        f"{describe(owner)} has no attribute '{name}'",
        hint=did_you_mean(name, [n for n in dir(owner) if not n.startswith("__")]),
    )


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
    if name in ("T", "mT"):
        return lw.native(METHODS[name], [owner])
    if name in METHODS:
        return TensorMethod(name, owner, METHODS[name])
    if type(owner) is StateVar and name in ("name", "requires_grad"):
        source = owner.source
        return lw.outside.property(source, name, f"{name} of a Parameter", lambda: getattr(source, name))
    if name in ("item", "__len__", "copy"):
        return TensorMethod(name, owner, None)
    known = [*METHODS, "shape", "dtype", "ndim", "size"]
    kind = Parameter if type(owner) is StateVar else Tensor
    if name in ("set_data", "init_data"):
        raise SideEffectError(
            f"'{name}' cannot be used in compiled code", code="AC1605", hint="use `ops.assign(parameter, value)`"
        )
    if hasattr(kind, name):
        raise UnsupportedCallError(
            f"'{name}' of a Tensor cannot be used in compiled code",
            code="AC1801" if name in ("tolist", "asnumpy", "numpy") else None,
            hint="use an op, or move it out of the function",
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
    if is_tensor_var(owner):
        return lw.native(METHODS["__getitem__"], [owner, index])
    if isinstance(usable(owner), tuple | list | dict):
        if isinstance(owner, dict):
            check_key(index)
        else:
            index = as_index(lw, index)
        if not is_static(index):
            if isinstance(owner, dict):
                require_static(index, "a dictionary key")
            return _dynamic_element(lw, owner, index)
        value = owner[index]
        if isinstance(owner, LocalList) and isinstance(index, slice):
            return LocalList(value)
        return lw.outside.item(owner, index, value) if not isinstance(owner, LocalList | LocalDict) else value
    method = python_method(lw, owner, "__getitem__")
    if method is not None:
        return lw.call_python(method, [owner, index], {})
    require_static(index, f"an index into a {describe(owner)}")
    value = owner[index]
    return lw.outside.read(value, ("index", id(owner), repr(index)), f"element {index!r}", lambda: owner[index])


def _dynamic_element(lw: Lowering, owner: Any, index: Any) -> Any:
    kind = type(owner).__name__.removeprefix("Local").lower()
    raise StaticValueError(
        f"an index into a Python {kind} must be known at compile time, it is a {describe(index)}",
        code="AC1305",
        hint="stack the elements with `ops.stack`, then index the Tensor",
    )
