"""Hooks of Cells and Tensors: who is registered, and in which order they run; the same in eager and compiled code."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import HookError
from . import epoch
from .host import name_of

__all__ = ["CellHooks", "HookHandle", "Registered", "after_backward", "hooked", "kept_or_replaced"]

_number = itertools.count()


class Registered(NamedTuple):
    """A hook and how it wants to be called."""

    fn: Callable[..., Any]
    with_kwargs: bool = False
    always: bool = False

    @property
    def what(self) -> str:
        """What error messages call it."""
        return f"the hook {name_of(self.fn)}"


class HookHandle:
    """What a registration returns: `remove()` takes the hook off again, from the next call on.

    >>> from autodiff_compiler import nn
    >>> handle = nn.ReLU().register_forward_hook(lambda cell, inputs, output: output * 2)
    >>> handle.remove()
    """

    __slots__ = ("_group", "_hooks", "handle_id")

    def __init__(self, hooks: Any, group: str, handle_id: int) -> None:
        self._hooks, self._group, self.handle_id = hooks, group, handle_id

    def remove(self) -> None:
        """Takes the hook off; a second time does nothing."""
        hooks = self._hooks
        if hooks is not None:
            self._hooks = None
            hooks.take(self._group, self.handle_id)


#: The groups of a Cell's hooks.
GROUPS = ("forward_pre", "forward", "backward_pre", "backward")


class CellHooks:
    """The hooks of one Cell by group; `groups` is replaced as a whole at each change, so that it can be guarded."""

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


def hooked(
    cell: Any,
    hooks: dict[str, tuple[Registered, ...]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    call: Callable[..., Any],
    watched: Callable[[tuple[Any, ...], dict[str, Any]], Any],
) -> Any:
    """A Cell's call with its hooks: ``call(hook, *arguments, **keywords)`` calls one, `watched` runs the Cell.

    `watched` puts the backward hooks around the Cell, so they see its own gradients, not those of what forward hooks
    compute.
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
    result = watched(args, kwargs)
    for hook in hooks["forward"]:
        found = call(hook, cell, args, kwargs, result) if hook.with_kwargs else call(hook, cell, args, result)
        if found is not None:
            result = found
    return result


def after_backward(
    cell: Any, hooks: Sequence[Registered], grads: tuple[Any, ...], call: Callable[..., Any], *given: Any
) -> tuple[Any, ...]:
    """The gradients after the hooks, each called with ``(cell, *given, gradients)``."""
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
    return grads


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


def _shown(found: Any) -> str:
    size = f" of {len(found)}" if isinstance(found, tuple | list | dict) else ""
    return f"a {type(found).__name__.removeprefix('Local').lower()}{size}"
