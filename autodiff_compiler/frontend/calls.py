"""Calls: who is called decides how it is compiled."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import DType, dtype_of
from ..errors import SideEffectError, StaticValueError, UnsupportedCallError
from ..ir.build import current
from ..ir.core import Value
from ..ir.primitive import METHODS, F
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from .joins import NUMBER_DTYPE, kind_of_number
from .lowering import Lowering
from .operators import (
    BoundContainer,
    TensorMethod,
    attribute,
    check_local,
    check_seen,
    is_ours,
    require_static,
    subscript,
)
from .outside import class_attribute, type_of
from .scope import Closure
from .values import (
    DictView,
    LocalDict,
    LocalList,
    TensorVar,
    Weak,
    describe,
    flatten,
    is_dynamic,
    is_static,
    map_leaves,
)

__all__ = ["INTRINSICS", "call", "intrinsic"]

Intrinsic = Callable[..., Any]
#: How compiled code runs certain functions, by the function itself or by its `__graph_name__`.
INTRINSICS: dict[Any, Intrinsic] = {}

_PURE_MODULES = {
    "math",
    "operator",
    "itertools",
    "functools",
    "numpy",
    "builtins",
    "_operator",
    "collections",
    "string",
    "re",
    "copy",
}
_IMPURE_MODULES = {
    "time",
    "random",
    "os",
    "posix",
    "uuid",
    "socket",
    "subprocess",
    "numpy.random",
    "secrets",
    "_random",
    "io",
    "datetime",
}


def intrinsic(*functions: Any) -> Callable[[Intrinsic], Intrinsic]:
    """Registers how compiled code runs these functions: ``rule(lw, *args, **kwargs)`` on abstract values."""

    def register(rule: Intrinsic) -> Intrinsic:
        INTRINSICS.update(dict.fromkeys(functions, rule))
        return rule

    return register


def call(lw: Lowering, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``fn(*args, **kwargs)`` on abstract values."""
    if type(fn) is Closure:
        return lw.call_closure(fn, args, kwargs)
    if type(fn) is TensorMethod:
        return _tensor_method(lw, fn, args, kwargs)
    if type(fn) is BoundContainer:
        return _container_method(lw, fn, args, kwargs)
    if is_dynamic(fn):
        raise TypeError(f"a {describe(fn)} is not callable")
    rule = _intrinsic_of(fn)
    if rule is not None:
        return rule(lw, *args, **kwargs)
    graph_call = getattr(fn, "__graph_call__", None)
    if graph_call is not None and not isinstance(fn, type):
        return graph_call(lw, args, kwargs)
    if isinstance(fn, types.MethodType):
        return _method(lw, fn, args, kwargs)
    if isinstance(fn, types.FunctionType):
        if is_ours(fn):
            return lw.native(fn, args, kwargs)
        return lw.call_python(fn, args, kwargs)
    if isinstance(fn, functools.partial):
        bound, named = fn.args, fn.keywords
        if not any(map(is_dynamic, flatten((bound, named)))):
            lw.outside.read(fn, ("partial", id(fn)), "a partial function", lambda: fn)
        given = [lw.outside.item(bound, i, v) for i, v in enumerate(bound)]
        return call(lw, fn.func, [*given, *args], {k: lw.outside.item(named, k, v) for k, v in named.items()} | kwargs)
    if isinstance(fn, type):
        return _construct(lw, fn, args, kwargs)
    if getattr(type(fn), "__graph_state__", None) is not None:
        return _cell(lw, fn, args, kwargs)
    if type(fn) in (operator.attrgetter, operator.itemgetter, operator.methodcaller):
        return _operator_object(lw, fn, *args)
    if isinstance(class_attribute(type(fn), "__call__"), types.FunctionType):
        if is_ours(type(fn)):
            return lw.native(fn, args, kwargs)
        return lw.call_python(lw.outside.class_attribute(type(fn), "__call__"), [fn, *args], kwargs)
    return _static_call(lw, fn, args, kwargs)


def _operator_object(lw: Lowering, fn: Any, x: Any) -> Any:
    """``attrgetter("a.b")(x)``, ``itemgetter(0)(x)``, ``methodcaller("m", 1)(x)``."""
    made, given = fn.__reduce__()
    if isinstance(fn, operator.methodcaller):
        if isinstance(made, functools.partial):  # with keywords: partial(methodcaller, name, **keywords)
            return call(lw, attribute(lw, x, made.args[0]), list(given), made.keywords)
        return call(lw, attribute(lw, x, given[0]), list(given[1:]), {})
    if isinstance(fn, operator.itemgetter):
        found = tuple(subscript(lw, x, i) for i in given)
    else:
        found = tuple(functools.reduce(lambda owner, name: attribute(lw, owner, name), g.split("."), x) for g in given)
    return found[0] if len(found) == 1 else found


def _intrinsic_of(fn: Any) -> Intrinsic | None:
    name = getattr(fn, "__graph_name__", None)
    if isinstance(name, str):
        return INTRINSICS[name]
    try:
        return INTRINSICS.get(fn)
    except TypeError:  # unhashable
        return None


# ---------------------------------------------------------------------------------------------------- methods
def _tensor_method(lw: Lowering, method: TensorMethod, args: list[Any], kwargs: dict[str, Any]) -> Any:
    owner, name = method.owner, method.name
    if name == "item":
        return to_number(lw, owner, None)
    if name == "__len__":
        return owner.type.shape[0]
    if name == "copy":
        return TensorVar(lw.unwrap(owner))
    return lw.native(method.function, [owner, *args], kwargs)


def to_number(lw: Lowering, x: Any, kind: type | None) -> Weak:
    """A one-element Tensor as a Python number known at run time; it carries no derivative."""
    value = lw.unwrap(x)
    own = bool if value.dtype.is_bool else (int if value.dtype.is_int else float)
    kind = kind or own
    if value.shape != ():
        value = F.reshape(value, shape=())
    value = F.stop_gradient(value)
    if kind is bool and not value.dtype.is_bool:
        return Weak(F.not_equal(value, 0), bool)
    dtype = NUMBER_DTYPE[kind]
    return Weak(value if value.dtype is dtype else F.cast(value, dtype=dtype), kind)


_MUTATING = {
    "append",
    "extend",
    "insert",
    "pop",
    "remove",
    "clear",
    "sort",
    "reverse",
    "update",
    "setdefault",
    "popitem",
}


def _container_method(lw: Lowering, method: BoundContainer, args: list[Any], kwargs: dict[str, Any]) -> Any:
    from .control import iterate_static

    owner, name = method.owner, method.name
    if name in _MUTATING:
        check_local(lw, owner)
        lw.touch(owner)
        if name == "extend":
            args = [list(iterate_static(lw, args[0]))]
    if name in ("index", "count", "remove", "sort") and not is_static(owner):
        raise StaticValueError(f"'{name}' compares elements that are known only at run time")
    if name in ("index", "count", "remove", "sort"):
        check_seen((owner, args), f"'{name}'")
    result = getattr(owner, name)(*args, **kwargs)
    if name == "copy":
        return LocalList(result) if isinstance(result, list) else LocalDict(result)
    if name in ("keys", "values", "items"):
        view = DictView(result)
        view.source = owner
        return view
    return result


def _method(lw: Lowering, fn: types.MethodType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    function, owner = fn.__func__, fn.__self__
    if not isinstance(function, types.FunctionType):
        return call(lw, function, [owner, *args], kwargs)
    if is_ours(function) and getattr(type(owner), "__graph_state__", None) is None:
        return lw.native(fn, args, kwargs)
    defining = next(
        (c for c in (owner if isinstance(owner, type) else type(owner)).__mro__ if _defines(c, function)), type(owner)
    )
    return lw.call_python(function, [owner, *args], kwargs, (defining, owner))


def _defines(cls: type, function: Any) -> bool:
    found = cls.__dict__.get(function.__name__)
    return found is function or getattr(found, "__func__", None) is function


def _cell(lw: Lowering, cell: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A Cell's call: its `construct`."""
    if not is_ours(lw.outside.class_attribute(type(cell), "__call__")):
        raise UnsupportedCallError(
            f"{type(cell).__name__} overrides __call__", code="AC1802", hint="override `construct` instead"
        )
    return call(lw, attribute(lw, cell, "construct"), args, kwargs)


# ---------------------------------------------------------------------------------------------------- classes
def _construct(lw: Lowering, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if issubclass(cls, Tensor):
        return _make_tensor(lw, cls, args, kwargs)
    if getattr(cls, "__graph_state__", None) is not None:
        raise UnsupportedCallError(
            f"a {cls.__name__} is created in compiled code, which would make new weights at each call",
            code="AC1803",
            hint="create it in __init__",
        )
    if (issubclass(cls, tuple) and hasattr(cls, "_fields")) or cls in (functools.partial, contextlib.nullcontext):
        return cls(*args, **kwargs)
    if dataclasses.is_dataclass(cls) and getattr(cls, "__dataclass_params__").frozen:  # noqa: B009  (not in typeshed)
        made: Any = cls
        return made(*args, **kwargs)
    if issubclass(cls, BaseException) or is_ours(cls) or cls.__module__ in _PURE_MODULES or cls is type:
        for x in flatten((args, tuple(kwargs.values()))):
            require_static(x, f"an argument of {cls.__name__}")
        return cls(*args, **kwargs)
    raise UnsupportedCallError(
        f"an instance of the class {cls.__name__} is created in compiled code",
        code="AC1804",
        hint="use a NamedTuple or a frozen dataclass, or create it outside",
    )


def _make_tensor(lw: Lowering, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``Tensor(...)`` in compiled code: a constant, or a new Tensor made of run-time values."""
    if issubclass(cls, Parameter):
        raise UnsupportedCallError(
            "a Parameter is created in compiled code, which would make a new weight at each call",
            code="AC1803",
            hint="create it in __init__",
        )
    if is_static(args) and is_static(tuple(kwargs.values())):
        made = cls(*map_leaves(lambda x: x, args), **kwargs)
        return TensorVar(current().array(made.asnumpy(), type_of(made), "tensor"))
    data = args[0]
    dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
    return TensorVar(_as_value(lw, data, _dtype_of_numbers(data) if dtype is None else dtype_of(dtype)))


def _dtype_of_numbers(data: Any) -> DType | None:
    """The dtype of a Tensor made of Python numbers; None if there is something else among them."""
    kinds = {kind_of_number(x) for x in flatten(data)}
    if not kinds or None in kinds:
        return None
    return dtype_of("float32") if float in kinds else NUMBER_DTYPE[int if int in kinds else bool]


def _as_value(lw: Lowering, data: Any, dtype: DType | None) -> Value:
    """Nested lists of Tensors and numbers as one Tensor."""
    if isinstance(data, list | tuple):
        parts = [_as_value(lw, d, dtype) for d in data]
        return _stacked(parts)
    if type(data) is Weak:
        value = data.value
        dtype = dtype or dtype_of("float32" if data.kind is float else NUMBER_DTYPE[data.kind])
    elif is_dynamic(data):
        value = lw.unwrap(data)
    else:
        made = Tensor(data, dtype)
        value = current().array(made.asnumpy(), type_of(made), "tensor")
    return value if dtype is None or value.dtype is dtype else F.cast(value, dtype=dtype)


def _stacked(parts: list[Value]) -> Value:
    return F.stack(*parts, axis=-1 - parts[0].ndim)


# ---------------------------------------------------------------------------------------------------- static calls
def _static_call(lw: Lowering, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function without Python source: evaluated while compiling if it is pure and its arguments are static."""
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", type(fn).__name__)
    module = getattr(fn, "__module__", None) or getattr(getattr(fn, "__self__", None), "__name__", None) or ""
    owner = getattr(fn, "__self__", None)
    method_of_value = owner is not None and not isinstance(owner, types.ModuleType)
    if method_of_value and not module:
        module = (owner if isinstance(owner, type) else type(owner)).__module__
    if module.startswith("numpy.random") or module in _IMPURE_MODULES:
        raise SideEffectError(
            f"{module}.{name} would be called once, while compiling, and its result frozen",
            code="AC1604",
            hint="pass the value as an argument",
        )
    root = module.partition(".")[0]
    pure = (root in _PURE_MODULES or isinstance(fn, np.ufunc)) and is_static(owner)
    if not pure or fn in _FORBIDDEN:
        code = "AC1806" if fn in _FORBIDDEN else "AC1807"
        raise UnsupportedCallError(
            f"{name}() cannot be called in compiled code", code=code, hint="call it outside of the compiled function"
        )
    if not is_static((args, tuple(kwargs.values()))):
        if root == "numpy":
            raise UnsupportedCallError(
                f"the NumPy function {name} cannot take a Tensor in compiled code",
                code="AC1805",
                hint=f"use ops.{name}",
            )
        if root == "math" and name in METHODS and len(args) == 1 and is_dynamic(args[0]):
            args = [to_number(lw, args[0], float) if type(args[0]) is not Weak else args[0]]
            value = getattr(F, name)(F.cast(args[0].value, dtype=NUMBER_DTYPE[float]))
            kind = _MATH_KIND.get(name, float)
            return Weak(value if value.dtype is NUMBER_DTYPE[kind] else F.cast(value, dtype=NUMBER_DTYPE[kind]), kind)
        dynamic = next(x for x in flatten((args, tuple(kwargs.values()))) if not is_static(x))
        raise StaticValueError(
            f"an argument of {name}() must be known at compile time, this one is a {describe(dynamic)}"
        )
    if root not in ("itertools", "collections"):  # which hand elements on without looking at them
        check_seen((args, tuple(kwargs.values())), f"{name}()")
    return fn(*args, **kwargs)


#: What functions of `math` return that return no float.
_MATH_KIND: dict[str, type] = {
    "ceil": int, "floor": int, "trunc": int, "isfinite": bool, "isinf": bool, "isnan": bool,
}  # fmt: skip

_FORBIDDEN: set[Any] = {
    eval,
    exec,
    compile,
    globals,
    locals,
    vars,
    dir,
    id,
    hash,
    input,
    open,
    breakpoint,
    __import__,
    memoryview,
}
