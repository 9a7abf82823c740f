"""Cells that compiled code makes, and questions about the parts of Cells: ``self.trainable_params()``.

A Cell made by compiled code is an object of compile time, whose attributes are set while the code is compiled.
At run time nothing of it is left: each call computes with what it holds at that place of the program, which may be
known at run time only.  Its `__init__` is compiled like other functions where it is the user's, and runs where it
belongs to this package.  It has no Parameters of its own, as those would be new ones at each call.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...errors import CompileError, SideEffectError, UnsupportedCallError
from ...ir.build import current
from ...runtime.parameter import Parameter
from ...runtime.precision import viewed
from ...runtime.tensor import Tensor, wrap
from ..guards.objects import class_attribute, definer, is_ours, is_watched
from .base import variable_of
from .interpreter import ValueContext
from .requirements import require_static
from .structure import elements, is_static, plain_copy, with_parameters
from .values import LocalDict, LocalList, describe, is_tensor

#: Where the methods are that change a Cell, and what in these modules does not: it is compiled.
_MODULES = ("cell", "cell_hooks", "cell_state", "containers", "one_device")
_COMPILED = ("construct", "__call__", "__getattr__", "compile", "compile_and_run")


def created(name: str) -> CompileError:
    """The error for a Cell or Parameter that would be a new one at each call."""
    text = f"a {name} is created in compiled code, which would make new weights at each call"
    return UnsupportedCallError(text, code="AC1803", hint="create it in `__init__`")


def made(ctx: ValueContext, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``cls(*args, **kwargs)`` of a class of Cells."""
    maker = class_attribute(cls, "__new__")
    maker = getattr(maker, "__func__", maker)  # the function of a static method
    if type(cls) is not type or not (maker is object.__new__ or is_ours(maker)):
        raise UnsupportedCallError(
            f"a {cls.__name__} is created in compiled code, whose class says itself how objects are made",
            code="AC1803",
            hint="create it in `__init__`",
        )
    cell: Any = object.__new__(cls)
    ctx.outside.cells[id(cell)] = (cell, current().block)
    init = ctx.outside.class_attribute(cls, "__init__")
    if is_ours(init):
        change(ctx, types.MethodType(init, cell), args, kwargs)
    else:
        ctx.call_python(init, [cell, *args], kwargs, (definer(cls, "__init__"), cell))
    return cell


def is_made(ctx: ValueContext, x: Any) -> bool:
    """Whether an object is a Cell that compiled code has made."""
    return id(viewed(x)) in ctx.outside.cells


def which_changes(ctx: ValueContext, fn: types.MethodType) -> bool:
    """Whether a method of this package runs on a Cell made by compiled code while that is compiled."""
    function = fn.__func__
    if not is_made(ctx, fn.__self__) or not isinstance(function, types.FunctionType) or not is_ours(function):
        return False
    if function.__name__ == "__init__":
        return True
    if hasattr(function, "__graph_query__") or function.__name__ in _COMPILED:
        return False
    return function.__module__.rpartition(".")[2] in _MODULES


def change(ctx: ValueContext, fn: types.MethodType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Calls a method that changes a Cell made here, or says something about it."""
    cell = viewed(fn.__self__)
    _check_place(ctx, cell, f"{fn.__name__}() of a {describe(cell)}")
    args, kwargs = with_parameters(args), with_parameters(kwargs)
    name = type(cell).__name__
    if not all(_is_known(x) for x in (*args, *kwargs.values())):
        raise UnsupportedCallError(
            f"{fn.__name__}() of a {name} made in compiled code is given a value known only at run time",
            code="AC1803",
            hint="create it in `__init__`",
        )
    before = {id(p) for p in _parameters([cell, args, kwargs])}
    result = fn.__func__(cell, *[_plain(x) for x in args], **{k: _plain(v) for k, v in kwargs.items()})
    if any(id(p) not in before for p in _parameters([cell])):
        raise created(name)
    return result


def _is_known(x: Any) -> bool:
    if is_tensor(x):
        return x.snapshot is None and current().known(x.value) is not None
    parts = elements(x)
    return isinstance(x, Parameter) or (is_static(x) if parts is None else all(map(_is_known, parts)))


def _plain(x: Any) -> Any:
    """An argument as Python has it; a Tensor stays what it is."""
    if is_tensor(x):
        x.locked = x.locked or "a Cell made in compiled code holds"
        return wrap(np.array(current().known(x.value)))
    if isinstance(x, dict):
        return {k: _plain(v) for k, v in x.items()}
    if isinstance(x, list) or type(x) is tuple:
        return (list if isinstance(x, list) else tuple)(map(_plain, x))
    return plain_copy(x)


def _parameters(x: Any) -> Iterator[Parameter]:
    if isinstance(x, Parameter):
        yield x
    elif is_watched(type(x)):
        if "_auto_prefix" in x.__dict__:  # else its `__init__` has not begun
            yield from x.__graph_state__().values()
    else:
        for part in elements(x) or ():
            yield from _parameters(part)


def put(ctx: ValueContext, cell: Any, name: str, value: Any) -> None:
    """``cell.name = value``."""
    what = f"attribute '{name}' of a {describe(cell)}"
    _check_place(ctx, cell, what)
    setter = class_attribute(type(cell), "__setattr__")
    if not is_ours(setter):
        raise SideEffectError(
            f"{what} cannot be written in compiled code: {type(cell).__name__} has a `__setattr__` of its own",
            code="AC1606",
            hint="create the Cell in `__init__`",
        )
    value = variable_of(value).identity()
    if isinstance(value, Parameter) or is_static(value):
        setattr(cell, name, value)
    else:
        object.__setattr__(cell, name, value)


def set_item(ctx: ValueContext, owner: Any, *args: Any) -> None:
    """``owner[index] = value`` of a container of Cells, or without a value ``del owner[index]``."""
    name = "__setitem__" if len(args) == 2 else "__delitem__"
    method = class_attribute(type(viewed(owner)), name)
    if not is_ours(method):
        raise TypeError(f"{describe(owner)} does not support item {'assignment' if len(args) == 2 else 'deletion'}")
    change(ctx, types.MethodType(method, owner), list(args), {})


def leaving(ctx: ValueContext, cell: Any) -> Any:
    """A Cell as a result: one that was made here must be the same at each call."""
    parts = [*vars(cell).values()] if is_made(ctx, cell) else []
    for part in parts:
        if is_watched(type(part)):
            leaving(ctx, part)
        elif not (isinstance(part, Tensor) or is_static(part)):
            raise UnsupportedCallError(
                f"a {type(cell).__name__} made in compiled code cannot leave it: it holds a {describe(part)}",
                code="AC1803",
                hint="return the values, or create it in `__init__`",
            )
    return cell


def _check_place(ctx: ValueContext, cell: Any, what: str) -> None:
    if current().block is not ctx.outside.cells[id(cell)][1]:
        raise SideEffectError(
            f"{what} made in compiled code is changed under a condition or in a loop that is known at run time only",
            code="AC1606",
            hint="set it where the Cell is made, or create the Cell in `__init__`",
        )


# ---------------------------------------------------------------------------------------------------- queries
def answer(ctx: ValueContext, method: types.MethodType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a `static_query` answers while compiling; the answer is guarded."""
    owner, name = viewed(method.__self__), method.__name__
    require_static((args, tuple(kwargs.values())), f"an argument of {name}()")

    def ask() -> Any:
        found = method.__func__(owner, *args, **kwargs)
        return found if isinstance(found, Mapping) else list(found)

    found = ask()
    what = f"{name}() of {type(owner).__name__}"

    def fetch(kept: Any = found) -> Any:  # while it is kept, no other object gets an id that stands in it
        return _identities(ask())

    ctx.outside.guard(("query", id(owner), name, repr((args, kwargs))), what, fetch, _identities(found), watched=True)
    return _abstract(ctx, found)


def part(ctx: ValueContext, owner: Any, index: slice) -> Any:
    """A slice of a container of Cells: a new container each time, but of the same Cells."""
    owner = viewed(owner)

    def fetch() -> Any:
        return _identities(tuple(owner)[index])

    bounds = ["" if x is None else str(x) for x in (index.start, index.stop, index.step)]
    what = f"the part [{':'.join(bounds if bounds[2] else bounds[:2])}] of a {type(owner).__name__}"
    ctx.outside.guard(("query", id(owner), repr(index)), what, fetch, fetch(), watched=True)
    return owner[index]


def _identities(x: Any) -> Any:
    """An answer as a tuple that compares names by content and objects by identity."""
    if isinstance(x, Mapping):
        x = list(x.items())
    if isinstance(x, list | tuple):
        return tuple([_identities(v) for v in x])
    return x if isinstance(x, str) else _Identity(id(x))


class _Identity(int):
    """Which object it is; as text it is the same in each process."""

    def __repr__(self) -> str:
        return "an object"


def _abstract(ctx: ValueContext, x: Any) -> Any:
    if isinstance(x, Mapping):
        return LocalDict({k: _abstract(ctx, v) for k, v in x.items()})
    if isinstance(x, list):
        return LocalList([_abstract(ctx, v) for v in x])
    if isinstance(x, tuple):
        return tuple([_abstract(ctx, v) for v in x])
    if isinstance(x, Parameter):
        return ctx.outside.state(x)
    if isinstance(x, Tensor):
        raise TypeError("an answer about the parts of a Cell holds no Tensors")
    return x
