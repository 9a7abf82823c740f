"""Users' derivative rules in eager code: a computation whose cotangents they give, and edits of cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import BpropError
from ..runtime.rules import NOT_GIVEN, check_shape, entries, not_given, of_leaves
from ..runtime.storage import SHARED
from ..runtime.tensor import Tensor, wrap
from ..runtime.trees import leaves, parts, replaced
from .tape import record, thread, tracked

__all__ = ["custom", "edited", "observed"]


def custom(
    run: Callable[[], Any],
    args: Sequence[Any],
    names: Sequence[str],
    rule: Callable[..., Any],
    what: str,
    refusal: BpropError | None = None,
) -> Any:
    """``run()``, whose derivatives by the Tensors among `args` are those that the user's rule gives.

    What is computed inside is recorded nowhere else.  ``rule(*args, out, dout)`` returns an entry for each argument;
    `names` and `what` are for error messages.  `refusal`: the rule cannot be called, this is why.
    """
    state = thread.state
    outer = state.active
    if not outer:
        return run()
    operands = list(leaves(args))
    held = replaced(args, _alias) if any(map(tracked, operands)) else ()
    state.active = 0
    try:
        found = run()
    finally:
        state.active = outer
    made: dict[int, Tensor] = {}
    result = replaced(found, lambda t: made.setdefault(id(t), _constant(t)))
    if not held:
        return result
    outs = list(made.values())
    numbers = {id(t): i for i, t in enumerate(outs)}
    form = replaced(result, lambda t: _Place(numbers[id(t)]))

    def filled(values: Sequence[Tensor]) -> Any:
        return replaced(form, lambda p: values[p.number], _Place)

    def pull(gs: Sequence[Tensor | None], results: list[Tensor], wanted: Sequence[bool]) -> list[Any]:
        if refusal is not None:
            raise refusal
        seeds = _with_zeros(gs, results)
        given = rule(*held, filled(results), filled(seeds))
        pairs = [
            pair
            for x, entry in zip(args, entries(what, given, names), strict=True)
            for pair in of_leaves(what, x, entry, parts, lambda v: isinstance(v, Tensor))
        ]
        return [_cotangent(what, names, x, g, w) for (x, g), w in zip(pairs, wanted, strict=True)]

    record(operands, outs, pull, custom=True)
    return result


def edited(x: Tensor, rule: Callable[[Tensor], Any], what: str, code: str) -> Tensor:
    """The same Tensor anew, whose cotangent passes through a user's rule."""
    shape = x._data.shape
    out = _constant(x)

    def pull(gs: Sequence[Tensor | None]) -> list[Any]:
        (g,) = gs
        found = _plain(rule(g))  # type: ignore[arg-type]
        if isinstance(found, Tensor):
            check_shape(what, code, shape, found._data.shape)
        elif not isinstance(found, bool | int | float):
            raise BpropError(
                f"{what} returns a {type(found).__name__}",
                code=code,
                hint="return the gradient that is to go on: a Tensor or a number",
            )
        return [found]

    record([x], [out], pull)
    return out


def observed(
    run: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    arriving: Callable[[tuple[Tensor, ...]], tuple[Any, ...]],
    leaving: Callable[[tuple[Tensor, ...], tuple[Tensor, ...]], tuple[Any, ...]],
) -> Any:
    """``run(*args, **kwargs)`` between two places on the tapes.

    ``arriving(gradients)`` may change those of the result, ``leaving(arrived, gradients)`` those of the arguments, of
    which the first are what arrived.
    """
    if not thread.state.active:
        return run(*args, **kwargs)
    inputs = list(leaves((args, kwargs)))
    entered = [_constant(x) for x in inputs]
    arrived: tuple[Tensor, ...] | None = None

    def on_leaving(gs: Sequence[Tensor | None]) -> Sequence[Any]:
        first = tuple(map(_zeros, results)) if arrived is None else arrived
        return leaving(first, _with_zeros(gs, entered))

    def on_arrival(gs: Sequence[Tensor | None]) -> Sequence[Any]:
        nonlocal arrived
        arrived = tuple(map(_as_tensor, arriving(_with_zeros(gs, results)), results))
        return arrived

    record(inputs, entered, on_leaving, always=True)
    again = iter(entered)
    given, named = replaced((args, kwargs), lambda x: next(again))
    found = run(*given, **named)
    made: dict[int, Tensor] = {}
    result = replaced(found, lambda t: made.setdefault(id(t), _constant(t)))
    results = list(made.values())
    by_id: dict[int, Tensor] = {id(t): t for t in leaves(found)}
    record([by_id[key] for key in made], results, on_arrival)
    return result


def _with_zeros(gs: Sequence[Tensor | None], like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple([_zeros(x) if g is None else g for g, x in zip(gs, like, strict=True)])


def _zeros(x: Tensor) -> Tensor:
    return wrap(np.zeros_like(x._data))


def _as_tensor(g: Any, like: Tensor) -> Tensor:
    return g if isinstance(g, Tensor) else wrap(np.full(like._data.shape, g, like._data.dtype))


def _cotangent(what: str, names: Sequence[str], x: Tensor, g: Any, wanted: bool) -> Any:
    if not wanted or g is None:
        return None
    if g is NOT_GIVEN:
        raise not_given(what, names)
    g = _plain(g)
    if isinstance(g, Tensor):
        check_shape(what, "AC1704", x._data.shape, g._data.shape)
    elif not isinstance(g, bool | int | float):
        raise BpropError(
            f"{what} returns a {type(g).__name__} as a gradient", code="AC1704", hint="return Tensors, numbers or None"
        )
    return g


def _plain(g: Any) -> Any:
    if isinstance(g, np.generic):
        return g.item()
    return wrap(np.array(g)) if isinstance(g, np.ndarray) else g


def _alias(x: Tensor) -> Tensor:
    """A Tensor's value and place on the tapes as they are now."""
    alias = wrap(x._data, x._node)
    alias._held = SHARED
    x._held |= SHARED
    return alias


def _constant(x: Tensor) -> Tensor:
    """A Tensor's value, on no tape."""
    alias = _alias(x)
    alias._node = None
    return alias


class _Place:
    """Where result number `number` stands in a structure."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number
