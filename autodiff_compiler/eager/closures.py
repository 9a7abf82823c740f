"""Functions whose captured Tensors are arguments, and values that a rule gives a derivative, in eager code."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import GradientError
from ..runtime.random import generator
from ..runtime.storage import SHARED
from ..runtime.tensor import Tensor
from ..runtime.trees import leaves, replaced
from ..source import calling_place
from .captured import reached
from .custom import alias_of, constant_of, custom
from .tape import Element, Node, next_order, thread, tracked


class ClosedFunction:
    """A function of Tensors, and of those that it captures: ``closed(captured, *args)``.

    The captured Tensors are objects that the function finds by itself; for a call they stand on other values.  A rule
    calls it later, in a backward pass.  What its variables hold is kept, so that a loop may use the same names for
    other Tensors meanwhile; where attributes or containers have changed, the call is refused.
    """

    def __init__(self, fn: Callable[..., Any], captured: Sequence[Tensor], what: str) -> None:
        self._fn, self._captured, self._what = _with_own_variables(fn, {}), captured, what
        self._state = _state_of(self._fn)

    def __call__(self, captured: Sequence[Tensor], *args: Any) -> Any:
        if thread.state.pulled and _state_of(self._fn)[0] != self._state[0]:
            raise GradientError(
                f"what the function of `{self._what}` captures has changed before its derivative was taken",
                code="AC1711",
                loc=calling_place(),
                hint="give it as an argument, or take the derivative before the change",
            )
        own = self._captured
        before = [(t._data, t._node, t._held) for t in own]
        for t, given in zip(own, captured, strict=True):
            t._data, t._node, t._held = given._data, given._node, given._held | SHARED
        ids = set(map(id, own))
        try:
            return replaced(self._fn(*args), lambda t: alias_of(t) if id(t) in ids else t)
        finally:
            for t, (data, node, held) in zip(own, before, strict=True):
                t._data, t._node, t._held = data, node, held


def _with_own_variables(x: Any, made: dict[int, Any]) -> Any:
    """A function whose variables from around it are its own from now on, and so are those of the functions in them."""
    if id(x) in made:
        return made[id(x)]
    if isinstance(x, functools.partial):
        return functools.partial(_with_own_variables(x.func, made), *x.args, **x.keywords)
    if not isinstance(x, types.FunctionType) or not x.__closure__:
        return x
    cells = tuple([types.CellType() for _ in x.__closure__])
    copy = types.FunctionType(x.__code__, x.__globals__, x.__name__, x.__defaults__, cells)
    copy.__kwdefaults__ = x.__kwdefaults__
    copy.__dict__.update(x.__dict__)
    copy.__module__ = x.__module__
    made[id(x)] = copy
    for cell, old in zip(cells, x.__closure__, strict=True):
        try:
            cell.cell_contents = _with_own_variables(old.cell_contents, made)
        except ValueError:  # not assigned yet
            continue
    return copy


def _state_of(fn: Any) -> tuple[list[Any], list[Any]]:
    """What is reachable from a function, by identity, and the objects, so that their ids stay taken.

    Arrays of Tensors are part of it: a write gives a Tensor another one while something else holds the old.
    """
    shown, kept = [], []
    for x, parts in reached([fn]):
        array = x._data if isinstance(x, Tensor) else None
        if array is not None:
            x._held |= SHARED
        shown.append((id(x), id(array), [*map(id, parts or ())]))
        kept.append((x, parts, array))
    return shown, kept


def closed_over(fn: Callable[..., Any], args: Sequence[Any], what: str) -> tuple[Any, list[Tensor]]:
    """The function with the Tensors that it captures and that a derivative is taken by as arguments; and these.

    GradientError: it reads such a Tensor in a way that cannot be followed, or draws random numbers.
    """
    if not thread.state.active:
        return (lambda captured, *args: fn(*args)), []
    captured = [x for x, _ in reached([fn]) if isinstance(x, Tensor) and tracked(x)]
    start, drawn = next_order(), generator.counts()
    result = fn(*[constant_of(x) for x in args])
    if not _leads_only_to(leaves(result), {t._node for t in captured}, start):
        raise GradientError(
            f"the function of `{what}` depends on a Tensor that is differentiated by and found neither in its closure,"
            " nor in its attributes or globals",
            code="AC1711",
            loc=calling_place(),
            hint="give the Tensor as an argument, or let the function capture it as a variable",
        )
    if generator.counts() != drawn:
        raise GradientError(
            f"the function of `{what}` draws random numbers, others each time that it is called",
            code="AC1711",
            loc=calling_place(),
            hint="draw them before, and let the function capture them",
        )
    return ClosedFunction(fn, captured, what), [alias_of(t) for t in captured]


def _leads_only_to(results: Any, known: set[Any], start: int) -> bool:
    """Whether all nodes older than `start` that the results depend on are known."""
    stack: list[Node | None] = [t._node for t in results if tracked(t)]
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node is None or node in seen or node in known or not node.mask & thread.state.active:
            continue
        if node.order > start:
            return False
        seen.add(node)
        stack.extend((node.owner,) if isinstance(node, Element) else node.parents)
    return True


def with_rule(
    value: Tensor, operands: Sequence[Tensor], rule: Callable[..., Any], what: str, reverse_only: str = ""
) -> Any:
    """`value`, whose derivative by the operands ``rule(value, *operands, out, dout)`` gives.

    `reverse_only`: what to do instead, where forward mode cannot use the rule.
    """

    def asked(*args: Any) -> Any:
        thread.state.reverse_only = reverse_only or thread.state.reverse_only
        return rule(*args)

    names = ["value", *(f"operand {i}" for i in range(len(operands)))]
    return custom(lambda: value, [value, *operands], names, asked, f"`{what}`")


def untracked(fn: Callable[..., Any], *args: Any) -> Any:
    """``fn(*args)`` on no tape."""
    state = thread.state
    outer, state.active = state.active, 0
    try:
        return replaced(fn(*args), constant_of)
    finally:
        state.active = outer
