"""Which calls may take the fast path, and which compiled entries may have one; needs no machine code itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ...backends.base import SilentExecutable
from ...frontend.guards.outer_names import called_in_guards
from ...frontend.lower import name_of_argument
from ...runtime.tensor import Tensor
from ..call_key import Identity, Key, signature
from ..entry import CompiledEntry

F = TypeVar("F", bound=Callable[..., Any])
#: What the fast path gives for a call that must go the slow one.
REFUSED: Any = object()
#: The classes of arguments that the fast path takes: each is one dynamic input and nothing more.
TAKEN = (Tensor, np.ndarray)
#: The functions marked by `takes_fast_path` whose first step is not in machine code yet.
callers: list[Any] = []


def takes_fast_path(call: F) -> F:
    """Marks a `__call__` that begins with `_fast` of its object, where that is not None.

    When the first fast path of the process is opened, that step of all marked functions becomes machine code.
    """
    callers.append(call)
    return call


def obstacle(entry: CompiledEntry) -> str:
    """Why there can be no fast path into an entry, as far as that is known at once; empty if there may be."""
    lowered = entry.lowered
    if not isinstance(entry.program.executable, SilentExecutable):
        return "NumPy runs the program"
    if lowered.writes:
        return "the program writes to Tensors that it is given"
    if lowered.pattern is not None:
        return "the program depends on which of its arguments are one object"
    if lowered.hooks:
        return "the Tensors that it is given have hooks"
    attributes = [(owner, name) for owner, name, _ in lowered.attributes]
    if attributes or not all(isinstance(state, Tensor) for state in entry.states_written):
        named = dict.fromkeys(called_in_guards(owner, name) for owner, name in attributes)
        return f"the program sets attributes{': ' * bool(named)}{', '.join(named)}"
    if lowered.standing:
        return "the program changes lists, dicts or sets from outside"
    if entry.program.commits:
        return "the program writes states and runs Python in between, which may see them, or raise an exception"
    return ""


def is_of_method(key: Key, args: Sequence[Any], leaves: Sequence[Tensor]) -> bool:
    """Whether the first argument is an object that counts by identity, and the others are Tensors."""
    if len(args) < 1 or len(leaves) != len(args) - 1 or type(key[0]) is not Identity or key[0].obj is not args[0]:
        return False
    return all(type(x) is Tensor for x in args[1:]) and type(args[0]).__weakrefoffset__ != 0


def unusual_arguments(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The arguments of a call that the fast path does not take, as texts."""
    key, leaves = signature(args, kwargs)
    if not kwargs and is_of_method(key, args, leaves):
        return []
    kinds = [(name_of_argument(fn, i), type(x).__name__) for i, x in enumerate(args) if type(x) not in TAKEN]
    found = [f"argument `{name}` is of type {kind}" for name, kind in kinds]
    return [*found, *[f"argument `{name}` is given by its name" for name in kwargs]]
