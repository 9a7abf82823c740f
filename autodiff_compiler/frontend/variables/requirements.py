"""Checks of values: known while compiling, guarded, not held by others where they are changed."""

from __future__ import annotations

import dataclasses
import enum
import operator
import sys
import types
from typing import Any

import numpy as np

from ...dtypes import int64
from ...errors import SideEffectError, StaticValueError, UnsupportedCallError
from ...ir.primitive import F, trace
from ...runtime.tensor import NO_ELEMENTS, NO_LENGTH, Tensor
from ..guards.objects import NATIVE, class_attribute, is_ours
from .arithmetic import kind_of_number
from .interpreter import ValueContext
from .naming import instead_of_changing, made_inside, name_of
from .structure import flatten, is_static
from .values import OUTSIDE, SymScalar, class_of, describe, is_box, is_dynamic, is_size, is_tensor


def python_method(ctx: ValueContext, x: Any, name: str) -> Any:
    """The special method `name` of a user's object, to be compiled; None if its class has none written in Python."""
    cls = class_of(x)
    if is_dynamic(x) or cls.__module__.partition(".")[0] in NATIVE or isinstance(x, enum.Enum) or is_ours(cls):
        return None
    method = ctx.outside.class_attribute(cls, name)
    return method if isinstance(method, types.FunctionType) else None


def special(ctx: ValueContext, x: Any, *names: str) -> Any:
    """The result of the first of these methods (without arguments) that a user's class has; else NotImplemented."""
    for name in names:
        method = python_method(ctx, x, name)
        if method is not None:
            return ctx.call_python(method, [x], {})
    return NotImplemented


def is_seen(x: Any) -> bool:
    """Whether every read of x by code that runs natively while compiling is guarded."""
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


def is_jit_class(cls: type) -> bool:
    """Whether a class, or one it inherits from, was marked by `jit_class`."""
    return bool(getattr(cls, "__jit_class__", False))


def as_index(ctx: ValueContext, x: Any) -> Any:
    """x, or the integer that a user's object stands for."""
    if is_tensor(x) and not x.type.dtype.is_int:
        raise TypeError(f"only an integer tensor can be an index, not one of {x.type.dtype.name}")
    result = special(ctx, x, "__index__")
    return x if result is NotImplemented else result


def settled_index(ctx: ValueContext, index: Any) -> Any:
    """An index into a Tensor, list or tuple with integers in the place of all objects that stand for them.

    Indexing runs natively, where nobody would notice that such an object, or a bound of a slice, changes later.
    """
    if isinstance(index, tuple):
        parts = [settled_index(ctx, part) for part in index]
        return index if all(a is b for a, b in zip(parts, index, strict=True)) else tuple(parts)
    if isinstance(index, slice):
        bounds = [_bound(ctx, index, name) for name in ("start", "stop", "step")]
        return index if all(isinstance(b, int | None) for b in bounds) else slice(*bounds)
    return index if isinstance(index, int) or is_dynamic(index) else as_index(ctx, index)


def check_bounds(owner: Any, index: Any) -> None:
    """Refuses a slice whose bounds only run time knows, unless it is of a Tensor, where they may be ints."""
    for part in index if isinstance(index, tuple) else (index,):
        for b in (part.start, part.stop, part.step) if isinstance(part, slice) else ():
            if not is_dynamic(b) or (is_tensor(owner) and kind_of_number(b) is int):
                continue
            if not (is_tensor(owner) and is_tensor(b) and b.type.dtype.is_int and b.type.shape == ()):
                raise StaticValueError(
                    f"the bounds of a slice must be known at compile time, this one is a {describe(b)}",
                    code="AC1306",
                    hint="of a Tensor they may be ints known at run time: make one of a list with `ops.stack`",
                ).about(b)


def element_index(ctx: ValueContext, index: Any) -> Any:
    """An index into a list or tuple: a Tensor whose element is known while compiling is that number."""
    index = settled_index(ctx, as_index(ctx, index))
    known = trace.builder.known(index.value) if is_box(index) else None
    return index if known is None or known.size != 1 else int(known.item())


def _bound(ctx: ValueContext, index: slice, name: str) -> Any:
    bound = getattr(index, name)
    if isinstance(bound, Tensor | np.ndarray):  # found outside: those of compiled code are known by their types
        return ctx.outside.property(index, name, f"`{name}` of a slice", lambda: operator.index(getattr(index, name)))
    if is_tensor(bound):
        return SymScalar(F.cast(ctx.unwrap(bound), dtype=int64), int)
    return bound if isinstance(bound, int | None) or is_dynamic(bound) else as_index(ctx, bound)


def with_known_sizes(x: Any) -> Any:
    """x itself, unless there are sizes in it that only a call knows: the compilation begins again with numbers."""
    for leaf in flatten(x):
        if is_size(leaf):
            operator.index(leaf)
    return x


def known_key(x: Any) -> Any:
    """x itself, a key of a dict or an element of a set, which must be known at compile time."""
    check_key(x)
    return require_static(x, "a dictionary key")


def require_static(x: Any, what: str, code: str | None = None) -> Any:
    """x itself, which must be known at compile time; sizes in it that only a call knows become known."""
    if not is_static(with_known_sizes(x)):
        raise StaticValueError(
            f"{what} must be known at compile time, it is a {describe(x)}",
            code=code,
            hint="make it of Python numbers, shapes or texts: what is read from a Tensor is known at run time only",
        ).about(x)
    return x


#: Methods that make Python values of the elements.
LEAVING = ("tolist", "asnumpy", "numpy")


def refuse_outside(ctx: ValueContext, owner: Any) -> None:
    """Refuses to change a container or array from outside, unless the call is compiled anew to do so."""
    if ctx.effects.in_backward:
        raise _changed_backward(owner)
    ctx.effects.containers.open_for_change(owner)
    name, kind = name_of(ctx, owner), type(owner).__name__
    origin = "was made while compiling" if made_inside(ctx, owner) else OUTSIDE
    what = f"the {kind} `{name}`, which {origin}," if name else f"a {describe(owner)} that {origin}"
    raise SideEffectError(
        f"{what} cannot be changed in compiled code", code="AC1602", hint=instead_of_changing(ctx, owner, name)
    )


def refuse_locked(ctx: ValueContext, owner: Any) -> None:
    """Refuses to change a container of compiled code that somebody else may hold."""
    if ctx.effects.in_backward and ctx.effects.containers.of_outside(owner) is not None:
        raise _changed_backward(owner)
    ctx.effects.refuse_collected(owner)
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


def length_of(x: Any, otherwise: str = NO_ELEMENTS) -> Any:
    """The length of a Tensor or array; `otherwise` is said where it has none."""
    shape = x.type.shape
    if not shape:
        raise TypeError(otherwise)
    if otherwise is NO_LENGTH:
        return shape[0]
    return with_known_sizes(shape[0])
