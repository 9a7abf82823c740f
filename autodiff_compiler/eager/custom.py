"""Users' derivative rules in eager code: custom VJPs of computations, and hooks that edit cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import CompileError
from ..runtime.rules import (
    NOT_GIVEN,
    about_rule,
    check_shape,
    cotangent_from,
    entries,
    not_a_gradient,
    not_an_edit,
    not_given,
    of_leaves,
)
from ..runtime.storage import SHARED
from ..runtime.tensor import Tensor, wrap
from ..runtime.trees import containers, exchanged, leaves, parts, replaced
from .tape import Custom, Rule, record, thread, tracked


def custom(
    run: Callable[[], Any],
    args: Sequence[Any],
    names: Sequence[str],
    rule: Callable[..., Any],
    what: str,
    refusal: CompileError | None = None,
) -> Any:
    """``run()``, whose derivatives by the Tensors among `args` are those that the user's rule gives.

    Ops inside are not recorded.  ``rule(*args, out, dout)`` returns an entry for each argument; `names` and `what` are
    for error messages.  `refusal`: the error if the rule cannot be called.
    """
    state = thread.state
    outer = state.active
    held = replaced(args, alias_of) if outer else ()
    state.active, begun = 0, state.begun
    try:
        found = run()
    finally:
        state.active = outer
    meets = state.begun != begun  # then other processes take its derivative, too
    if not (meets or any(map(tracked, leaves(held)))):
        held = ()
    outs: list[Tensor] = []

    def out(t: Tensor) -> Tensor:
        outs.append(constant_of(t))
        return outs[-1]

    result = own(found, args, out)
    if not held:
        return result
    numbers = {id(t): i for i, t in enumerate(outs)}
    form = replaced(result, lambda t: _Place(numbers[id(t)]))

    def filled(values: Sequence[Tensor]) -> Any:
        return replaced(form, lambda p: values[p.number], _Place)

    def pull(gs: Sequence[Tensor | None], results: list[Tensor], wanted: Sequence[bool]) -> list[Any]:
        if refusal is not None:
            raise refusal
        seeds = _with_zeros(gs, results)
        given = rule(*held, filled(results), replaced(filled(seeds), lambda n: type(n)(0), (bool, int, float)))
        with about_rule(rule):
            found = [
                (name, *pair)
                for name, x, entry in zip(names, held, entries(what, given, names), strict=True)
                for pair in of_leaves(what, x, entry, parts, lambda v: isinstance(v, Tensor))
            ]
            return [
                _cotangent(what, names, of, x, g) if w else None for (of, x, g), w in zip(found, wanted, strict=True)
            ]

    record(
        list(leaves(held)), outs, pull, Custom, meets=meets
    )  # as they were before the call, which may have changed them
    return result


def own(found: Any, args: Any, of: Callable[[Tensor], Tensor]) -> Any:
    """What a call returned, with new Tensors: a Tensor returned twice becomes two.

    Lists, dicts and objects that are arguments are changed in place.
    """
    if found.__class__ is Tensor:
        return of(found)
    return exchanged(found, of, dict.fromkeys(map(id, containers(args))))


def edited(x: Tensor, rule: Callable[[Tensor], Any], what: str, code: str, user: Any = None) -> Tensor:
    """An alias of a Tensor whose cotangent passes through a user's rule."""
    shape = x._data.shape
    out = constant_of(x)

    def pull(gs: Sequence[Tensor | None]) -> list[Any]:
        (g,) = gs
        with about_rule(user):
            found = cotangent_from(rule(g))  # type: ignore[arg-type]
            if isinstance(found, Tensor):
                check_shape(what, code, shape, found._data.shape)
            elif not isinstance(found, bool | int | float):
                raise not_an_edit(what, code, found)
        return [found]

    record([x], [out], pull, Rule)
    return out


def edited_together(
    xs: Sequence[Tensor], rule: Callable[[tuple[Tensor, ...]], Sequence[Any]], what: str, code: str, user: Any
) -> tuple[Tensor, ...]:
    """Aliases of Tensors whose cotangents pass through one user's rule together."""
    outs = [constant_of(x) for x in xs]

    def pull(gs: Sequence[Tensor | None], results: list[Tensor], wanted: Sequence[bool]) -> list[Any]:
        given = rule(_with_zeros(gs, results))
        with about_rule(user):
            found = [_fitting(what, code, x, g) for x, g in zip(xs, given, strict=True)]
        return [g if w else None for g, w in zip(found, wanted, strict=True)]

    record(list(xs), outs, pull, Custom)
    return tuple(outs)


def _with_zeros(gs: Sequence[Tensor | None], like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple([_zeros(x) if g is None else g for g, x in zip(gs, like, strict=True)])


def _zeros(x: Tensor) -> Tensor:
    return wrap(np.zeros_like(x._data))


def _cotangent(what: str, names: Sequence[str], of: str, x: Tensor, g: Any) -> Any:
    if g is None:
        return None
    if g is NOT_GIVEN:
        raise not_given(what, names)
    return _fitting(what, "AC1704", x, g, of)


def _fitting(what: str, code: str, x: Tensor, g: Any, of: str = "") -> Any:
    """What a rule returned as the gradient of `x`, checked; BpropError or HookError."""
    g = cotangent_from(g)
    if isinstance(g, Tensor):
        check_shape(what, code, x._data.shape, g._data.shape, of)
    elif not isinstance(g, bool | int | float):
        raise not_a_gradient(what, code, g, of)
    return g


def alias_of(x: Tensor) -> Tensor:
    """A new Tensor over the same bytes and node; both are copied on write."""
    alias = wrap(x._data, x._node)
    alias._held = SHARED
    x._held |= SHARED
    return alias


def constant_of(x: Tensor) -> Tensor:
    """An alias of a Tensor on no tape."""
    alias = alias_of(x)
    alias._node = None
    return alias


class _Place:
    """A leaf of a structure that stands for result number `number`."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number
