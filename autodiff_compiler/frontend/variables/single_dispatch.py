"""Functions and methods of `functools.singledispatch`: the class of the first argument decides what is called."""

from __future__ import annotations

import functools
import types
from typing import Any

from .interpreter import ValueContext
from .structure import OwnedForm, form

__all__ = ["DispatchedMethod", "call_dispatched", "is_dispatching"]


_DISPATCHING = functools.singledispatch(lambda x: None).__code__  # type: ignore[attr-defined]


def is_dispatching(fn: Any) -> bool:
    """Whether a function was made by `functools.singledispatch`."""
    return type(fn) is types.FunctionType and fn.__code__ is _DISPATCHING


def call_dispatched(ctx: ValueContext, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The call of a function made by `functools.singledispatch`."""
    return ctx.call(_chosen(ctx, fn, fn, args, fn.__name__), args, kwargs)


class DispatchedMethod:
    """A `singledispatchmethod`, bound: the class of the first argument decides what is called."""

    def __init__(self, static: functools.singledispatchmethod[Any], owner: Any, cls: type) -> None:
        self.static, self.owner, self.cls = static, owner, cls

    def __graph_call__(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        static: Any = self.static
        chosen = _chosen(ctx, static, static.dispatcher, args, static.func.__name__)
        return ctx.call(chosen.__get__(self.owner, self.cls), args, kwargs)


form(DispatchedMethod)(OwnedForm)


def _chosen(ctx: ValueContext, of: Any, dispatcher: Any, args: list[Any], name: str) -> Any:
    """What is called for the class of the first argument."""
    if not args:
        raise TypeError(f"{name} requires at least 1 positional argument")
    cls, dispatch = ctx.call(type, [args[0]], {}), dispatcher.dispatch
    chosen = dispatch(cls)
    what = f"what {name}() calls for a {cls.__name__}"
    ctx.outside.guard(("dispatch", id(of), cls, of), what, lambda: dispatch(cls), chosen)
    return chosen
