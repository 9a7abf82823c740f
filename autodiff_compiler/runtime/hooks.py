"""Hooks of Cells and Tensors: their registration and the order of their calls, in eager and compiled code alike."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any, NamedTuple

from ..errors import HookError
from ..source import shown_line
from . import epoch
from .host import name_of
from .tensor import Tensor

__all__ = [
    "CellHooks",
    "HookHandle",
    "OutsideHooks",
    "Registered",
    "after_backward",
    "any_outside",
    "backward_what",
    "hooked",
    "kept_or_replaced",
    "known_as",
    "not_here",
    "outside_only",
    "registered_on",
    "same_hooks",
    "through",
]

_number = itertools.count()


class Registered(NamedTuple):
    """A hook and the options of its registration."""

    fn: Callable[..., Any]
    with_kwargs: bool = False
    always: bool = False

    @property
    def what(self) -> str:
        """Its name in error messages."""
        return f"the hook {known_as(self.fn)}"


def known_as(fn: Any) -> str:
    """A hook's name and the place of its definition."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    code = getattr(fn, "__code__", None)
    if code is None and "defined" not in vars(type(fn)):  # functions of compiled code have `defined`
        code = getattr(vars(type(fn)).get("__call__"), "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code is not None else getattr(fn, "defined", ("", 0))
    return f"{name_of(fn)} ({shown_line(file, line)})" if file else name_of(fn)


def backward_what(cell: Any, hooks: Sequence[Registered]) -> str:
    """The name of these hooks of a Cell in error messages."""
    return f"{hooks[0].what if len(hooks) == 1 else 'a backward hook'} of {type(cell).__name__}"


def not_here(what: str) -> HookError:
    """The error for compiled code that changes hooks of objects that outlive the call."""
    return HookError(
        f"{what} in compiled code",
        code="AC1708",
        hint="do it before the call: a call sees all hooks that were added and removed before it",
    )


def outside_only(what: str) -> Callable[[Any], Any]:
    """Marks a method that compiled code must not call; `what` says what it does."""

    def refuse(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        raise not_here(what)

    def mark(method: Any) -> Any:
        method.__graph_call__ = refuse
        return method

    return mark


class HookHandle:
    """What a registration returns: `remove()` takes the hook off again, from the next call on.

    >>> from autodiff_compiler import nn
    >>> handle = nn.ReLU().register_forward_hook(lambda cell, inputs, output: output * 2)
    >>> handle.remove()
    """

    __slots__ = ("_group", "_hooks", "handle_id")

    def __init__(self, hooks: Any, group: str, handle_id: int) -> None:
        self._hooks, self._group, self.handle_id = hooks, group, handle_id

    @outside_only("a hook that was registered outside cannot be removed")
    def remove(self) -> None:
        """Takes the hook off; a second time does nothing."""
        hooks = self._hooks
        if hooks is not None:
            self._hooks = None
            hooks.take(self._group, self.handle_id)


#: The groups of a Cell's hooks.
GROUPS = ("forward_pre", "forward", "backward_pre", "backward")


class CellHooks:
    """The hooks of one Cell by group; `groups` is replaced at each change, so that a guard can compare its identity."""

    __slots__ = ("_numbers", "groups")

    def __init__(self) -> None:
        self.groups: dict[str, tuple[Registered, ...]] = dict.fromkeys(GROUPS, ())
        self._numbers: dict[str, tuple[int, ...]] = dict.fromkeys(GROUPS, ())

    def add(
        self, group: str, fn: Any, prepend: bool = False, with_kwargs: bool = False, always: bool = False
    ) -> HookHandle:
        """Registers a hook and returns its handle; TypeError if it cannot be called."""
        if not callable(fn):
            raise TypeError(f"a hook must be callable, not a {type(fn).__name__}")
        number, hook = next(_number), Registered(fn, bool(with_kwargs), bool(always))
        held, numbers = self.groups[group], self._numbers[group]
        self._set(group, *(((hook, *held), (number, *numbers)) if prepend else ((*held, hook), (*numbers, number))))
        return HookHandle(self, group, number)

    def take(self, group: str, number: int) -> None:
        """Removes a hook."""
        kept = [(h, n) for h, n in zip(self.groups[group], self._numbers[group], strict=True) if n != number]
        self._set(group, tuple([h for h, _ in kept]), tuple([n for _, n in kept]))

    def _set(self, group: str, hooks: tuple[Registered, ...], numbers: tuple[int, ...]) -> None:
        self.groups, self._numbers = {**self.groups, group: hooks}, {**self._numbers, group: numbers}
        epoch.bump()

    def __bool__(self) -> bool:
        return any(self.groups.values())


#: How many Tensors (without Parameters) have hooks for which compiled code must look at its arguments.
_outside = 0


def any_outside() -> bool:
    """Whether a Tensor has hooks that were registered outside of every derivative."""
    return _outside != 0


class OutsideHooks:
    """The hooks of one Tensor; `registered` is replaced at each change, so that a guard can compare its identity."""

    __slots__ = ("_counted", "_numbers", "registered")

    def __init__(self) -> None:
        self.registered: tuple[Registered, ...] = ()
        self._numbers: tuple[int, ...] = ()
        self._counted = False

    def add(self, fn: Any) -> HookHandle:
        """Registers a hook and returns its handle; TypeError if it cannot be called."""
        if not callable(fn):
            raise TypeError(f"a hook must be callable, not a {type(fn).__name__}")
        number = next(_number)
        self.registered, self._numbers = (*self.registered, Registered(fn)), (*self._numbers, number)
        self.changed()
        return HookHandle(self, "", number)

    def take(self, group: str, number: int) -> None:
        """Removes a hook."""
        kept = [(h, n) for h, n in zip(self.registered, self._numbers, strict=True) if n != number]
        self.registered, self._numbers = tuple([h for h, _ in kept]), tuple([n for _, n in kept])
        self.changed()

    def changed(self) -> None:
        """Called after each change; for subclasses."""

    def announce(self, counted: bool) -> None:
        """Tells compiled code of a change; `counted`: the Tensor may be an argument of it."""
        global _outside
        counted = counted and bool(self.registered)
        _outside += counted - self._counted
        self._counted = counted
        epoch.bump()

    def __del__(self) -> None:
        if self._counted:
            self.registered = ()
            self.announce(counted=False)


def registered_on(x: Any) -> tuple[Registered, ...]:
    """The hooks that were registered on a Tensor or Parameter outside of compiled code."""
    hooks = getattr(x, "_hooks", None)
    return () if hooks is None else hooks.registered


def same_hooks(a: Sequence[Registered], b: Sequence[Registered]) -> bool:
    """Whether these are the same hooks in the same order."""
    return len(a) == len(b) and all(x.fn is y.fn or _one_method(x.fn, y.fn) for x, y in zip(a, b, strict=True))


def _one_method(f: Any, g: Any) -> bool:
    both = type(f) is type(g) is MethodType
    return both and f.__self__ is g.__self__ and f.__func__ is g.__func__


def through(
    hooks: Sequence[Registered], g: Any, call: Callable[[Registered, Any], Any], as_tensor: Callable[[Any, str], Any]
) -> Any:
    """A gradient after a Tensor's hooks, in order; ``as_tensor(found, what)`` checks and converts what one returned."""
    before = ""
    for hook in hooks:
        given = as_tensor(g, before) if before else g
        g = kept_or_replaced(hook.what, given, call(hook, given))
        before = hook.what
    return g


def hooked(
    cell: Any,
    hooks: dict[str, tuple[Registered, ...]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    call: Callable[..., Any],
    watched: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    always: bool = False,
) -> Any:
    """A Cell's call with its hooks: ``call(hook, *arguments, **keywords)`` calls one, `watched` runs the Cell.

    `watched` puts the backward hooks around the Cell, so they see its own gradients, not those of what forward hooks
    compute.  `always`: hooks registered with `always_call` run after an exception too, with None for the result.
    """
    for hook in hooks["forward_pre"]:
        found = call(hook, cell, args, kwargs) if hook.with_kwargs else call(hook, cell, args)
        if found is None:
            continue
        if not hook.with_kwargs:
            args = tuple(found) if isinstance(found, tuple) else (found,)
        elif isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict):
            args, kwargs = tuple(found[0]) if isinstance(found[0], tuple) else (found[0],), dict(found[1])
        else:
            raise HookError(
                f"{hook.what} of {type(cell).__name__}, registered with_kwargs, returns no pair of inputs and keywords",
                hint="return None, or `(inputs, kwargs)`: a tuple and a dict",
            )
    todo = list(hooks["forward"])

    def after(hook: Registered, result: Any) -> Any:
        return call(hook, cell, args, kwargs, result) if hook.with_kwargs else call(hook, cell, args, result)

    try:
        result = watched(args, kwargs)
        while todo:
            found = after(todo.pop(0), result)
            result = result if found is None else found
        return result
    except Exception:
        for hook in todo:
            if always and hook.always:
                with contextlib.suppress(Exception):  # the first exception is the one that is raised
                    after(hook, None)
        raise


def after_backward(
    cell: Any, hooks: Sequence[Registered], grads: tuple[Any, ...], call: Callable[..., Any], *given: Any
) -> tuple[Any, ...]:
    """The gradients after the hooks, each called with ``(cell, *given, gradients)``."""
    wanted = [_shape(g) for g in grads]
    for hook in hooks:
        found = call(hook, cell, *given, grads)
        if found is None:
            continue
        new = tuple(found) if isinstance(found, tuple) else (found,)
        if len(new) != len(grads) or isinstance(found, list | dict | str):
            raise HookError(
                f"{hook.what} of {type(cell).__name__} returns {_shown(found)}, where {len(grads)} gradient"
                f"{'s are' if len(grads) != 1 else ' is'} needed",
                hint="return None to keep the gradients, or a tuple with one for each",
            )
        grads = tuple([g if n is None else n for g, n in zip(grads, new, strict=True)])
    if given:
        _refuse_arrived(backward_what(cell, hooks), given[0], wanted, [_shape(g) for g in grads])
    return grads


def _shape(g: Any) -> tuple[Any, ...] | None:
    of = g if isinstance(g, Tensor) else getattr(g, "type", None)
    shape = getattr(of, "shape", None)
    return None if shape is None else tuple(shape)


def _refuse_arrived(what: str, arrived: Sequence[Any], wanted: Sequence[Any], found: Sequence[Any]) -> None:
    """HookError (AC1707) for a gradient that does not fit, but has the shape of one that arrived at the outputs."""
    for g, shape, new in zip(arrived, wanted, found, strict=False):
        if new not in (None, shape) and new == _shape(g):
            raise HookError(
                f"{what} returns a gradient of shape {list(new)}, where the shape {list(shape)} is needed: that of the"
                " gradient that leaves the Cell, not of the one that arrives",
                hint="return what becomes of `grad_output`, the third argument, which leaves; `grad_input`, the second,"
                " arrives from the next operation, as MindSpore's documents say (2.10 gives them the other way round)",
            )


def kept_or_replaced(what: str, g: Any, found: Any) -> Any:
    """The gradient after a hook that returned `found`; HookError (AC1707) for something else than one value."""
    if found is None:
        return g
    if isinstance(found, tuple) and len(found) == 1:
        (found,) = found
        return g if found is None else found
    if isinstance(found, tuple | list | dict | str):
        raise HookError(
            f"{what} returns {_shown(found)}, where one gradient is needed",
            hint="return None to keep the gradient, a Tensor, or a tuple of one Tensor",
        )
    return found


def all_kept_or_replaced(what: str, grads: tuple[Any, ...], found: Any) -> tuple[Any, ...]:
    """Several gradients after a hook of all of them; HookError (AC1707) unless it gave one value for each, or None."""
    if found is None:
        return grads
    if not isinstance(found, tuple) or len(found) != len(grads):
        raise HookError(
            f"{what} returns {_shown(found)}, where {len(grads)} gradients are needed",
            hint="return None to keep the gradients, or a tuple with one for each",
        )
    return tuple([g if n is None else n for g, n in zip(grads, found, strict=True)])


def _shown(found: Any) -> str:
    size = f" of {len(found)}" if isinstance(found, tuple | list | dict) else ""
    return f"a {type(found).__name__.removeprefix('Local').lower()}{size}"
