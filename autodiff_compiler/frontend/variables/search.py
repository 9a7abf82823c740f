"""`any`, `all` and `in`: items are looked at one after the other, up to the first that settles the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .elements import iterate_live
from .interpreter import ValueContext
from .iteration import Iteration
from .requirements import python_method
from .structure import elements
from .truth_values import both, either
from .values import usable

__all__ = ["first_that", "is_data"]

_ASKING = ("__bool__", "__len__", "__eq__", "__iter__", "__getitem__")


def first_that(ctx: ValueContext, x: Any, test: Callable[[Any], Any], *, ends: bool, sought: Any = None) -> Any:
    """Whether the test of an item is `ends`, which no later item is asked for then; `not ends` if there is none.

    Where the outcome of a test is known only at run time, asking for the items after it becomes a branch; without such
    a branch if no code of the user's can run in it.  `sought`: what the test compares items with.
    """
    result = _search(ctx, iterate_live(ctx, x), test, ends, flat=is_data(ctx, x) and is_data(ctx, sought))
    if isinstance(x, Iteration) and not isinstance(result, bool):
        x.end(ctx, certain=False)
    return result


def _search(ctx: ValueContext, items: Iterator[Any], test: Callable[[Any], Any], ends: bool, flat: bool) -> Any:
    result: Any = not ends
    for item in items:
        found = test(item)
        if found is ends:
            return ends
        if flat:
            result = (either if ends else both)(result, found)
        elif not isinstance(found, bool):

            def rest() -> Any:
                return _search(ctx, items, test, ends, flat)

            arms = (lambda: True, rest) if ends else (rest, lambda: False)
            return ctx.branch(found, *arms, name="the result")
    return result


def is_data(ctx: ValueContext, x: Any) -> bool:
    """Whether x is a value or container, whose items, and their truth and equality, are had without the user's code."""
    if isinstance(x, Iteration):
        return False
    own = any(python_method(ctx, x, slot) is not None for slot in _ASKING)
    return not own and all(is_data(ctx, i) for i in (list(x) if isinstance(x, dict) else elements(usable(x))) or ())
