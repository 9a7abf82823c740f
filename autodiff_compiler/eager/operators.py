"""Operators and methods of eager Tensors: attached from what the primitives publish, with fast paths around promotion.

Most operands are two Tensors of one dtype, or a Tensor and a Python number of no higher kind.  They need no promotion,
so the fast path calls the kernel directly.  All others take the slow path, the public function of the primitive.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..blas import SINGLE, SINGLE_OF_MATRICES, products
from ..dtypes import promote, promote_scalar
from ..errors import DTypeError, ShapeError
from ..ir.core import Value
from ..ir.primitive import METHODS, OPERATORS, PROPERTIES, REGISTRY, call
from ..primitives.family import cast, floating_of
from ..primitives.in_place import IN_PLACE, fitting
from ..primitives.subscript import assigned, setitem
from ..runtime.device_array import is_of_device, nobody_else_sees
from ..runtime.parameter import Parameter
from ..runtime.precision import Cast, in_dtype
from ..runtime.storage import SHARED
from ..runtime.tensor import Tensor, wrap
from .execute import CONVERSIONS, FAST_KERNELS, Plan, alias, plan_of
from .tape import place, quietly, thread, tracked

__all__ = ["add_in_place", "add_method", "assign", "assignable", "use_fast_paths"]

_FLOATS = frozenset(map(np.dtype, ("float16", "float32", "float64")))
_NUMBERS = _FLOATS | frozenset(np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64))
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_BINARY_SLOTS = frozenset(f"__{name}__" for name in (*OPERATORS, *_COMPARISONS))
_REFLECTED_SLOTS = frozenset(f"__r{name}__" for name in OPERATORS)


def _promoting(slots: frozenset[str]) -> dict[str, tuple[str, frozenset[Any]]]:
    """The operators that only promote and call one ufunc: the primitive, and the dtypes it takes without promotion."""
    return {
        slot: (defn.name, _FLOATS if floating_of(defn) else _NUMBERS)
        for defn in REGISTRY.values()
        for slot in slots.intersection(defn.methods)
        if defn.ufunc is not None and not defn.widen and floating_of(defn) is not None
    }


#: Fast paths of operators: for operands of one dtype, and for a number on the left.
_FAST, _FAST_REFLECTED = _promoting(_BINARY_SLOTS), _promoting(_REFLECTED_SLOTS)
#: Fast paths of methods: those that apply a formula to one operand of a float dtype.
_FAST_UNARY = {
    name: defn.name
    for defn in REGISTRY.values()
    if defn.scalar is not None and len(defn.operand_names) == 1 and floating_of(defn) is not None
    for name in defn.methods
    if METHODS.get(name) is getattr(call, defn.name)
}
_OPERANDS = (Tensor, bool, int, float, np.ndarray, np.generic, Value)


def _general(public: Callable[..., Any]) -> Callable[..., Any]:
    """An operator by the public function; NotImplemented for operands of other classes, which Python asks then."""

    def operator(x: Tensor, y: Any) -> Any:
        return public(x, y) if isinstance(y, _OPERANDS) else NotImplemented

    return operator


def _new_result(plan: Plan, out: Any, operands: tuple[Any, ...], arrays: tuple[Any, ...], active: int) -> Tensor:
    tensor = wrap(out if out.__class__ is np.ndarray else np.asarray(out))
    if active:
        place(plan, (), operands, arrays, (tensor,), active)
    return tensor


def _fast_binary(name: str, dtypes: frozenset[Any], general: Callable[..., Any]) -> Callable[..., Any]:
    plan = plan_of(REGISTRY[name])
    kernel = plan.ufunc
    ndarray, asarray = np.ndarray, np.asarray

    def operator(x: Tensor, y: Any) -> Any:
        b: Any
        kept: Any
        a, state = x._data, thread.state
        dtype = a.dtype
        if isinstance(y, Tensor):
            b = kept = y._data
            if b.dtype is not dtype or dtype not in dtypes:
                return general(x, y)
        elif (y.__class__ is float and dtype in _FLOATS) or (y.__class__ is int and dtype in dtypes):
            kept = y
            try:
                b = state.quiet(asarray, y, dtype)
            except Exception:  # an int that does not fit
                return general(x, y)
        else:
            return general(x, y)
        try:
            out = state.quiet(kernel, a, b)
        except Exception:
            return general(x, y)
        tensor = wrap(out if out.__class__ is ndarray else asarray(out))
        if state.active:
            place(plan, (), (x, y), (a, kept), (tensor,), state.active)
        return tensor

    return operator


def _fast_reflected(name: str, dtypes: frozenset[Any], general: Callable[..., Any]) -> Callable[..., Any]:
    plan = plan_of(REGISTRY[name])
    kernel = plan.ufunc

    def operator(x: Tensor, y: Any) -> Any:
        a, state = x._data, thread.state
        dtype = a.dtype
        if not ((y.__class__ is float and dtype in _FLOATS) or (y.__class__ is int and dtype in dtypes)):
            return general(x, y)
        try:
            out = state.quiet(kernel, state.quiet(np.asarray, y, dtype), a)
        except Exception:
            return general(x, y)
        return _new_result(plan, out, (y, x), (y, a), state.active)

    return operator


def _fast_unary(name: str, general: Callable[..., Any]) -> Callable[..., Any]:
    plan = plan_of(REGISTRY[name])
    kernel = plan.kernel

    def method(x: Tensor) -> Tensor:
        a, state = x._data, thread.state
        if a.dtype not in _FLOATS:
            return general(x)
        try:
            out = state.quiet(kernel, a)
        except Exception:
            return general(x)
        return _new_result(plan, out, (x,), (a,), state.active)

    return functools.update_wrapper(method, general)


def _fast_matmul(general: Callable[..., Any]) -> Callable[..., Any]:
    plan = plan_of(REGISTRY["matmul"])
    FAST_KERNELS[np.matmul] = plan.defn
    dtypes = _FLOATS - {np.dtype("float16")}  # those are widened

    def operator(x: Tensor, y: Any) -> Any:
        if not isinstance(y, Tensor):
            return general(x, y)
        a, b, state = x._data, y._data, thread.state
        if a.dtype is not b.dtype or a.dtype not in dtypes or a.ndim != 2 or b.ndim != 2:
            return general(x, y)
        work = 2 * a.size * b.shape[1]
        try:
            if work <= SINGLE or (work <= SINGLE_OF_MATRICES and a.shape[0] > 1 and b.shape[1] > 1):
                out = state.quiet(np.matmul, a, b)
            else:
                with products(work):
                    out = state.quiet(np.matmul, a, b)
        except Exception:
            return general(x, y)
        return _new_result(plan, out, (x, y), (a, b), state.active)

    return operator


_PLAIN_INDICES = (int, slice, type(None), type(Ellipsis))
#: The integer dtypes that NumPy takes as they are; of uint64 it takes 2**64 - 1 for -1.
_TAKEN = "bBhHiIlq"


def _fast_getitem(general: Callable[..., Any]) -> Callable[..., Any]:
    """The fast path of indexing off the tapes: basic indexing gives a NumPy view, which is copied on write.

    Indexing by one Tensor of integers copies by `take`, which reads each position once.
    """

    def get_item(x: Tensor, index: Any) -> Tensor:
        if index.__class__ is Tensor and x._node is None and index._data.ndim and index._data.dtype.char in _TAKEN:
            try:
                return wrap(x._data.take(index._data, axis=0)) if x._data.ndim else general(x, index)
            except (IndexError, MemoryError, ValueError):
                return general(x, index)  # raises our own error
        for item in index if index.__class__ is tuple else (index,):
            if item.__class__ not in _PLAIN_INDICES:
                return general(x, index)
        if x._node is not None:
            return general(x, index)
        try:
            out = x._data[index]
        except (IndexError, OverflowError):
            return general(x, index)
        if out.__class__ is not np.ndarray:
            return wrap(np.asarray(out))
        part = wrap(out)
        x._held |= SHARED
        part._held = SHARED
        return part

    return get_item


# ------------------------------------------------------------------------------------------------ writing
def assign(target: Tensor, value: Any) -> Tensor:
    """Gives a Tensor or Parameter a new value of its shape and dtype, and returns it.

    On a tape the derivative of what follows reaches the value.  Numbers fill; lower dtypes are cast.
    ShapeError, DTypeError: a value of another shape, or of a higher dtype.

    >>> p = Parameter([1.0, 2.0]); assign(p, p * 2).tolist()
    [2.0, 4.0]
    """
    if target.__class__ is Cast:
        return _assign_cast(target, value)
    value = assignable(target, value)
    if value is not target:
        source = value._data
        if np.may_share_memory(source, target._data):
            source = source.copy()
        if is_of_device(source) and nobody_else_sees(target):  # so that the host need not wait
            target._data, target._held = source.copy(), 0
        else:
            target._own()[...] = source
        target._node = value._node if tracked(value) else None
    return target


def assignable(target: Tensor, value: Any) -> Tensor:
    """The value as a Tensor of the target's dtype and shape."""
    dtype = target.dtype
    if not isinstance(value, Tensor):
        kind: Any = type(value)
        number = kind in (bool, int, float)
        value = call.full(target.shape, value, promote_scalar(dtype, kind)) if number else Tensor(value)
    if promote(dtype, value.dtype) is not dtype:
        raise DTypeError(f"a tensor of {dtype.name} cannot be assigned {value.dtype.name}", hint="cast the value first")
    if value.shape != target.shape:
        raise ShapeError(f"a tensor of shape {list(target.shape)} cannot be assigned shape {list(value.shape)}")
    return cast(value, dtype)


def _assign_cast(target: Any, value: Any) -> Tensor:
    """Assigns what a Tensor was cast from, which has the greater precision."""
    assign(target.source, value)
    fresh = in_dtype(target.source, target.dtype)
    target._data, target._held, target._node = fresh._data, fresh._held, fresh._node
    return target


def _set_item(x: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``: in place, or in a copy if a tape or another Tensor holds the buffer."""
    if x.__class__ is Cast:
        _set_item(x.source, index, value)
        _assign_cast(x, x.source)
        return
    if isinstance(value, list | tuple):
        value = assigned(value, x.dtype)
    if tracked(x) or (isinstance(value, Tensor) and tracked(value)):
        new = setitem(x, index, value)
        x._data, x._held, x._node = new._data, new._held, new._node
        return
    place_of, array = _raw_index(index), _raw_value(value)
    if place_of is None or array is None or is_of_device(x._data):
        x._own()[...] = setitem(x, index, value)._data
    else:
        target = x._own()
        try:
            quietly(_write, target, place_of, array)
        except Exception:
            setitem(x, index, value)  # raises our own error
            raise
    x._node = None


def _write(target: Any, index: Any, array: Any) -> None:
    target[index] = array.astype(target.dtype)


CONVERSIONS[_write] = lambda target, index, array: (array, target.dtype)


def _raw_index(index: Any) -> tuple[Any, ...] | None:
    """An index as NumPy takes it; None if it needs the slow path."""
    items = []
    for item in index if isinstance(index, tuple) else (index,):
        if isinstance(item, Tensor):
            item = item._data
        if isinstance(item, np.ndarray):
            if item.dtype.kind not in "biu" or item.dtype == np.uint64:  # NumPy takes 2**64 - 1 for -1
                return None
            item = item.copy()  # NumPy checks it before it reads it again
        if isinstance(item, bool):
            return None
        if not isinstance(item, int | slice | np.ndarray) and item is not None and item is not Ellipsis:
            return None
        items.append(item)
    return tuple(items)


def _raw_value(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value._data
    return np.asarray(value) if isinstance(value, bool | int | float) else None


def _changing(name: str, pure: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place method of a pure function: assigns its result to the Tensor, and returns the Tensor."""

    def method(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return assign(x, fitting(name, x, pure(x, *args, **kwargs)))

    method.__wrapped__ = pure  # type: ignore[attr-defined]  # whose signature it has
    said = (pure.__doc__ or f"see `ops.{name}`.").partition(">>>")[0].rstrip()
    method.__doc__ = f"Gives the Tensor a new value, and returns it: {said if said[1].isupper() else _lower(said)}"
    return method


def _lower(said: str) -> str:
    return said[:1].lower() + said[1:]


def _set(owner: type, name: str, function: Callable[..., Any]) -> None:
    """Gives a class a method; one that was made here has the method's name."""
    if "<locals>" in function.__qualname__:
        function.__name__, function.__qualname__ = name, f"{owner.__name__}.{name}"
    setattr(owner, name, function)


def add_method(name: str, public: Callable[..., Any]) -> None:
    """Adds a method to those of all Tensors, in eager and compiled code."""
    METHODS[name] = public
    setattr(Tensor, name, public)


def add_in_place(name: str, pure: Callable[..., Any]) -> None:
    """Adds a method to those that change a Tensor, in eager and compiled code."""
    IN_PLACE[name] = pure
    _set(Tensor, name, _changing(name, pure))


def _in_place(operator: Callable[..., Any]) -> Callable[..., Any]:
    """``p += v`` assigns a Parameter; a plain Tensor has no such operator, so Python binds the name anew."""

    def update(p: Parameter, value: Any) -> Any:
        result = operator(p, value)
        return result if result is NotImplemented else assign(p, result)

    return update


def _power(operator: Callable[..., Any]) -> Callable[..., Any]:
    """``x ** y``; `pow` with a modulus is not for Tensors."""
    return lambda x, y, modulus=None: operator(x, y) if modulus is None else NotImplemented


# ------------------------------------------------------------------------------------------------ attaching
def _attach() -> None:
    for name, public in METHODS.items():
        if name in Tensor.__dict__:
            raise TypeError(f"Tensor has a method {name!r} of its own")
        if name in PROPERTIES:
            setattr(Tensor, name, property(public))
        else:
            _set(Tensor, name, _method(name, public))
    _set(Tensor, "__pow__", _power(Tensor.__dict__["__pow__"]))
    for name, pure in IN_PLACE.items():
        add_in_place(name, pure)
    _attach_in_place()
    own: dict[str, Callable[..., Any]] = {
        "__setitem__": _set_item,
        "assign_value": assign,
        "__pos__": alias,
        "__divmod__": lambda x, y: (x // y, x % y),
        "__rdivmod__": lambda x, y: (y // x, y % x),
    }
    for name, function in own.items():
        _set(Tensor, name, function)


def _attach_in_place() -> None:
    for name in OPERATORS:
        _set(Parameter, f"__i{name}__", _in_place(getattr(Tensor, f"__{name}__")))


def use_fast_paths(fast: bool) -> None:
    """Gives Tensors the fast paths (which call NumPy), or only operators that go through `F`."""
    for name, public in METHODS.items():
        if name in _FAST or name in _FAST_REFLECTED or name == "__matmul__":
            _set(Tensor, name, _method(name, public) if fast else _general(public))
        elif name in _FAST_UNARY or name == "__getitem__":
            _set(Tensor, name, _method(name, public) if fast else public)
    _attach_in_place()


def _method(name: str, public: Callable[..., Any]) -> Callable[..., Any]:
    if name == "__getitem__":
        return _fast_getitem(public)
    if name not in _BINARY_SLOTS | _REFLECTED_SLOTS:
        return _fast_unary(_FAST_UNARY[name], public) if name in _FAST_UNARY else public
    general = _general(public)
    if name in _FAST:
        return _fast_binary(*_FAST[name], general)
    if name in _FAST_REFLECTED:
        return _fast_reflected(*_FAST_REFLECTED[name], general)
    return _fast_matmul(general) if name == "__matmul__" else general


_attach()
