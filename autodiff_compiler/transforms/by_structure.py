"""Objects as arguments of compiled functions: the second one of a form runs the program of their structure.

Compiled code reads and writes an object that it is given, so its program is that object's own.  A function that only
reads the objects it is given has the same results for their parts (`parts`): it is compiled for these, once for all
objects of a form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..frontend.variables.structure import elements
from ..frontend.variables.values import LocalObject, usable
from ..runtime.tensor import Tensor
from .parts import OfParts, caller, contents, eagerly, made_again, node_of, taken_apart

#: Stands for the result where a call has to be that of the objects themselves.
NOT_TAKEN = object()
_LEAVES = frozenset((Tensor, bool, int, float, str, type(None)))
#: How many forms of arguments are remembered as seen once.
_MOST = 64


class ByStructure:
    """The compiled form of a function for the parts of objects; `compiled` makes one."""

    def __init__(self, fn: Any, compiled: Callable[[Any], Any]) -> None:
        self._fn, self._make = fn, compiled
        self._made: Any = None
        self._seen: set[Any] = set()
        self._refused = False

    def result(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives that found no program; NOT_TAKEN without objects, for the first of a form, or where it
        changes them or returns one.
        """
        given = args, kwargs
        if self._refused or all(type(x) in _LEAVES for x in (*args, *kwargs.values())):
            return NOT_TAKEN
        try:
            apart = taken_apart(given)
        except TypeError:  # one has something that cannot be told apart
            return NOT_TAKEN
        form = () if apart is given else _classes_in(given)
        if form not in self._seen:
            if form and len(self._seen) < _MOST:
                self._seen.add(form)
            return NOT_TAKEN
        positional, named = apart
        if self._made is None:
            self._made = self._make(_OfRead(self._fn))
        try:
            self._made.compile(*positional, **named)
        except Exception:  # the objects themselves are given, and what does not compile then says so
            self._refused = True
            return NOT_TAKEN
        return made_again(self._made(*positional, **named))


class _OfRead(OfParts):
    """A function of objects that it only reads, as one of their parts."""

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        call = caller(ctx)
        given = [made_again(x, call) for x in args]
        named = {name: made_again(x, call) for name, x in kwargs.items()}
        before = [(x, dict(x.slots)) for x in _objects_in([*given, *named.values()])]
        for x, _ in before:
            x.stands_in = True
        result = ctx.call(self.fn, given, named)
        returned = {id(x) for x in _objects_in(result)}
        for x, slots in before:
            same = slots.keys() == x.slots.keys() and all(slots[name] is x.slots[name] for name in slots)
            if not same or id(x) in returned:
                raise TypeError(f"the {x.describe()} itself is asked for")
        if any(node_of(slot.owner, eagerly) for slot in ctx.effects.attributes.final()):
            raise TypeError("an object that is written may be an argument")
        return taken_apart(result, call, ctx.is_tensor)


def _classes_in(x: Any) -> tuple[type, ...]:
    """The classes of the objects among arguments, and of those in them.

    None if one stands twice, as `is` can be asked, or if an array of NumPy's is among them: as an argument it would be
    a Tensor.
    """
    classes, met, stack = list[type](), set[int](), [x]
    while stack:
        item = stack.pop()
        if isinstance(item, np.ndarray | np.generic):
            return ()
        node = node_of(item, eagerly)
        if node is not None:
            if id(item) in met:
                return ()
            met.add(id(item))
            classes.append(type(item))
        stack += contents(item, eagerly) or () if node is None else node.items
    return tuple(classes)


def _objects_in(x: Any) -> Iterator[LocalObject]:
    found = usable(x)
    if type(found) is LocalObject:
        yield found
    for item in elements(found) or ():
        yield from _objects_in(item)
