"""Running primitives on Tensors, one at a time: kernel, result, record.

`run` is the slow path, which is installed under `F`.  The type rule refuses first what NumPy would silently accept; its
answers are cached by dtypes and attributes, and by shapes for ops that are not elementwise (those check shapes when
they broadcast).
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import from_numpy
from ..errors import ShapeError, UnsupportedCallError
from ..ir.core import Attrs
from ..ir.primitive import Context, F, Needs, Primitive, kernel_of, set_eager, trace
from ..ir.types import TensorType, tensor
from ..no_memory import is_refusal, made, no_memory_for
from ..primitives.family import broadcast_shapes
from ..runtime.storage import SHARED, holders
from ..runtime.tensor import Array, Tensor, wrap
from ..source import calling_expression, calling_place
from .tape import Applied, place, quietly, reentered, thread

__all__ = ["CONVERSIONS", "FAST_KERNELS", "Plan", "check_types", "fill_numbers", "plan_of", "run"]


class Plan:
    """The prepared call of one primitive: its kernel, rule and cache of type checks."""

    __slots__ = ("accepted", "context", "defn", "elementwise", "kernel", "special", "ufunc", "vjp")

    def __init__(self, defn: type[Primitive]) -> None:
        self.defn, self.vjp = defn, defn.vjp
        self.special: Callable[..., Any] | None = _SPECIAL.get(defn.name)
        self.kernel: Any = None
        if self.special is None:
            try:
                self.kernel = kernel_of(defn)
            except NotImplementedError:
                self.special = functools.partial(_compiled_only, defn)
        if defn.collective:
            self.kernel = functools.partial(_at_place, self.kernel)
        self.ufunc: Any = defn.ufunc  # called directly instead of the formula
        if self.ufunc is not None and not defn.widen:
            self.kernel = self.ufunc
        self.elementwise = defn.scalar is not None
        #: Calls the type rule has accepted: dtypes, attributes, and shapes unless the op is elementwise.
        self.accepted: set[Any] = set()
        self.context = _context_of(defn)


_plans: dict[type[Primitive], Plan] = {}
#: Kernels that fast paths call directly, without a plan, and their primitives.
FAST_KERNELS: dict[Any, type[Primitive]] = {}


def plan_of(defn: type[Primitive]) -> Plan:
    plan = _plans.get(defn)
    if plan is None:
        plan = _plans[defn] = Plan(defn)
    return plan


def run(defn: type[Primitive], operands: tuple[Any, ...], attrs: Attrs) -> Any:
    """Applies a primitive to Tensors (and Python numbers) now."""
    plan = _plans.get(defn) or plan_of(defn)
    if plan.special is not None:
        return plan.special(*operands, **dict(zip(defn.schema, attrs, strict=True)))
    state = thread.state
    arrays: list[Any] = []
    numbers = False
    for x in operands:
        if isinstance(x, Tensor):
            arrays.append(x._data)
        else:
            arrays.append(None)
            numbers = True
    if numbers:
        fill_numbers(defn, operands, arrays)
    key: Any
    if plan.elementwise:
        key = arrays[0].dtype if len(arrays) == 1 else tuple([a.dtype for a in arrays])
        key = (attrs, key) if attrs else key
    else:
        key = (attrs, *[(a.dtype, a.shape) for a in arrays])
    if key not in plan.accepted:
        check_types(plan, arrays, attrs, key)
    try:
        if attrs:
            out = state.quiet(plan.kernel, *arrays, **dict(zip(defn.schema, attrs, strict=True)))
        else:
            out = state.quiet(plan.kernel, *arrays)
    except Exception as error:
        out = _retried(plan, arrays, attrs, error)
    results = [_result(r, operands, arrays) for r in out] if defn.multiple else (_result(out, operands, arrays),)
    if state.active:
        place(plan, attrs, operands, tuple(arrays), results, state.active)
    return tuple(results) if defn.multiple else results[0]


def _result(out: Any, operands: tuple[Any, ...], arrays: list[Any]) -> Tensor:
    """A Tensor over what a kernel returned; if that aliases an operand, both are copied on write."""
    if out.__class__ is not np.ndarray:
        return wrap(np.asarray(out))  # NumPy makes scalars of 0-d results
    tensor = wrap(out)
    if out.base is None:
        for a in arrays:
            if a is out:
                break
        else:
            return tensor
    for x, a in zip(operands, arrays, strict=True):
        if isinstance(x, Tensor) and np.may_share_memory(out, a):
            x._held |= SHARED
            tensor._held = SHARED
    return tensor


def fill_numbers(defn: type[Primitive], operands: tuple[Any, ...], arrays: list[Any]) -> None:
    """Python numbers as arrays of the last Tensor's dtype, as the builder makes constants of them."""
    like = next((a for a in reversed(arrays) if a is not None), None)
    for i, x in enumerate(operands):
        if arrays[i] is None:
            if like is None or not isinstance(x, bool | int | float):
                raise TypeError(f"{defn.name}: cannot use a {type(x).__name__} as an operand")
            arrays[i] = quietly(_number, x, like.dtype)


def _number(x: Any, dtype: Any) -> Array:
    return np.asarray(x).astype(dtype)


def _at_place(kernel: Callable[..., Any], *arrays: Array, **attrs: Any) -> Any:
    """A collective, which is told the user's line: messages about processes that wait name it."""
    place = calling_place()
    thread.state.begun += 1
    return kernel(*arrays, **attrs, at="" if place is None else place.short)


# ------------------------------------------------------------------------------------------------ errors
def _type_of(array: Array) -> TensorType:
    return tensor(from_numpy(array.dtype), array.shape)


#: The most type checks that a plan remembers, before it starts anew.
_REMEMBERED = 4096


def check_types(plan: Plan, arrays: list[Array], attrs: Attrs, key: Any) -> None:
    """Refuses operands and attributes that the type rule does not accept, whatever NumPy would make of them."""
    if arrays or plan.defn.collective:
        if plan.elementwise:  # shapes broadcast in the kernel: only the dtypes count
            dtypes = [from_numpy(a.dtype) for a in arrays]
            try:
                plan.defn.infer_types(tuple([tensor(d, ()) for d in dtypes]), attrs)
            except Exception:
                with contextlib.suppress(ShapeError):  # with shapes the message is better, unless it is about them
                    plan.defn.infer_types(tuple([_type_of(a) for a in arrays]), attrs)
                raise
        else:
            plan.defn.infer_types(tuple([_type_of(a) for a in arrays]), attrs)
    if len(plan.accepted) >= _REMEMBERED:
        plan.accepted.clear()
    plan.accepted.add(key)


def _retried(plan: Plan, arrays: list[Array], attrs: Attrs, error: Exception) -> Any:
    """After a kernel raised: its result in a second try, or our own error."""
    defn = plan.defn
    if is_refusal(error):
        raise _too_large(plan, arrays, attrs, error) from None
    if reentered(error):
        with np.errstate(all="ignore"):
            return plan.kernel(*arrays, **dict(zip(defn.schema, attrs, strict=True)))
    if defn.scalar is not None:
        broadcast_shapes([a.shape for a in arrays])
    else:
        defn.infer_types(tuple([_type_of(a) for a in arrays]), attrs)
    raise error


def _too_large(plan: Plan, arrays: list[Array], attrs: Attrs, error: Exception) -> Exception:
    """The error for lack of memory: for a result, or for a temporary of NumPy's."""
    types = [_type_of(a) for a in arrays]
    if plan.defn.scalar is not None:
        whole = broadcast_shapes([a.shape for a in arrays])
        types = [tensor(t.dtype, whole) for t in types]
    asked = getattr(error, "shape", None)
    loc = calling_expression() if trace.builder is None else None
    for t in plan.defn.infer_types(tuple(types), attrs):
        if isinstance(t, TensorType) and (asked is None or math.prod(asked) == math.prod(t.shape)):
            return no_memory_for(t.dtype.numpy, t.shape, loc)
    return error if asked is None else no_memory_for(getattr(error, "dtype", None), asked, loc)


# ------------------------------------------------------------------------------------------------ without a kernel
def _const(*, value: Any, type: TensorType) -> Tensor:
    if isinstance(value, str):
        raise UnsupportedCallError(f"the constant {value} belongs to a compiled module")
    if isinstance(value, np.ndarray):
        return wrap(value.astype(type.dtype.numpy))
    return wrap(quietly(_full, type, value))


def _full(type: TensorType, value: Any) -> Array:
    number = np.asarray(value).astype(type.dtype.numpy)
    return made(type.shape, lambda: np.full(type.shape, number), number.dtype)  # type: ignore[arg-type]


def _stop_gradient(x: Any) -> Tensor:
    if x._node is not None:
        holders.lost |= x._node.mask
    stopped = wrap(x._data)
    stopped._held = SHARED
    x._held |= SHARED
    return stopped


def _from_seq(xs: list[Tensor], *, length: int) -> Tensor:
    if len(xs) != length:
        raise ValueError(f"a sequence of {len(xs)} tensors does not make {length} slices")
    return F.stack(*xs, axis=-xs[0].ndim - 1)


#: Functions that convert numbers -> (number, dtype) of their arguments.
CONVERSIONS: dict[Any, Callable[..., tuple[Any, Any]]] = {
    np.asarray: lambda x, dtype: (x, dtype),
    _number: lambda x, dtype: (x, dtype),
    _full: lambda type, value: (value, type.dtype.numpy),
}


#: Ops without a kernel: the IR's tuples are tuples of Tensors here, its sequences lists.
_SPECIAL: dict[str, Callable[..., Any]] = {
    "const": _const,
    "stop_gradient": _stop_gradient,
    "tuple_make": lambda *elems: elems,
    "tuple_get": lambda x, *, index: x[index],
    "seq_len": lambda xs: wrap(np.asarray(len(xs), np.int64)),
    "seq_add": lambda xs, ys: [x + y for x, y in zip(xs, ys, strict=True)],
    "to_seq": lambda x: list(x),
    "from_seq": _from_seq,
}


def _compiled_only(defn: type[Primitive], *operands: Any, **attrs: Any) -> Any:
    raise UnsupportedCallError(f"{defn.name} exists in compiled code only: eager code uses Python's own statement")


# ------------------------------------------------------------------------------------------------ plans
def _context_of(defn: type[Primitive]) -> type[Context]:
    """The `Context` class of one primitive over a node, with lazy attributes."""
    names = defn.operand_names
    by_flags: dict[tuple[bool, ...], Any] = {}

    def __init__(self: Any, node: Applied, flags: tuple[bool, ...]) -> None:
        self._node, self.flags = node, flags

    def needs(self: Any) -> Any:
        found = by_flags.get(self.flags)
        if found is None:
            found = Needs(defn, self.flags) if defn.variadic else _Flags(names, self.flags)
            by_flags[self.flags] = found
        return found

    members: dict[str, Any] = {
        "__slots__": ("_node",),
        "__init__": __init__,
        "defn": defn,
        "needs": property(needs),
        "attrs": property(lambda c: c._node.attrs),
        "outs": property(lambda c: c._node.results()),
    }
    for i, name in enumerate(defn.schema):
        members[name] = property(functools.partial(_attribute, i))
    return type("Context", (Context,), members)


def _attribute(i: int, context: Any) -> Any:
    return context._node.attrs[i]


class _Flags:
    """`Needs` with plain attributes."""

    def __init__(self, names: tuple[str, ...], flags: tuple[bool, ...]) -> None:
        self._flags = flags
        self.__dict__.update(zip(names, flags, strict=True))

    def __getitem__(self, i: int) -> bool:
        return self._flags[i]

    def __len__(self) -> int:
        return len(self._flags)


def alias(x: Any) -> Any:
    """A new Tensor over the same bytes; both are copied on write."""
    if not isinstance(x, Tensor):
        return x
    x._held |= SHARED
    tensor = wrap(x._data, x._node)
    tensor._held = SHARED
    return tensor


set_eager(run, alias)
