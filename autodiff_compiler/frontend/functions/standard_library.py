"""Functions of `itertools` and `copy` on containers and Tensors of compiled code.

Those of `itertools` hand elements on without looking at them, so Python's own run on abstract values; functions they
are given are compiled, element after element, when the iterator is made.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ...errors import StaticValueError, UnsupportedCallError
from ...ir.primitive import Effect, trace
from ...ir.walk import ops_of
from ..effects.effects import EffectContext
from ..variables import operators, requirements, truth_values
from ..variables.base import variable_of
from ..variables.calls import call
from ..variables.elements import iterate_live
from ..variables.iterators import live, wrapped
from ..variables.rules import intrinsic
from ..variables.structure import elements

__all__: list[str] = []

_function: Any


# ---------------------------------------------------------------------------------------------------- itertools
def _every(ctx: EffectContext, x: Any) -> Iterator[Any]:
    return iter(iterate_live(ctx, x))


def _runs_code(*xs: Any) -> bool:
    return any(variable_of(x).runs_code() for x in xs)


#: What asks for an element when it is asked for one; the others do so at once.
_LAZY = (
    *(itertools.chain, itertools.zip_longest, itertools.pairwise, itertools.cycle, itertools.islice),
    getattr(itertools, "batched", None),
)


def _passing_on(function: Any) -> None:
    """Registers a function of which every positional argument is an iterable."""

    def rule(ctx: EffectContext, *xs: Any, **options: Any) -> Any:
        made = live if function in _LAZY and _runs_code(*xs) else wrapped
        return made(function(*[_every(ctx, x) for x in xs], **options))

    intrinsic(function)(rule)


def _first_only(function: Any) -> None:
    """Registers a function of which the first argument is an iterable and the others are numbers."""

    def rule(ctx: EffectContext, x: Any, *numbers: Any, **named: Any) -> Any:
        requirements.require_static((numbers, tuple(named.values())), f"an argument of {function.__name__}()")
        made = live if function in _LAZY and _runs_code(x) else wrapped
        return made(function(_every(ctx, x), *numbers, **named))

    intrinsic(function)(rule)


for _function in (itertools.chain, itertools.product, itertools.zip_longest, itertools.pairwise, itertools.cycle):
    _passing_on(_function)
for _function in (
    itertools.islice,
    itertools.combinations,
    itertools.permutations,
    itertools.combinations_with_replacement,
):
    _first_only(_function)
if hasattr(itertools, "batched"):
    _first_only(itertools.batched)


@intrinsic(itertools.chain.from_iterable)
def _chain_from(ctx: EffectContext, xs: Any) -> Any:
    made = live if _runs_code(xs, *(elements(xs) or ())) else wrapped
    return made(itertools.chain.from_iterable(_every(ctx, x) for x in _every(ctx, xs)))


@intrinsic(itertools.repeat)
def _repeat(ctx: EffectContext, x: Any, *times: Any, **named: Any) -> Any:
    return wrapped(itertools.repeat(x, *requirements.require_static(times, "the number of repetitions"), **named))


def _refuse_code(name: str, *xs: Any) -> None:
    if _runs_code(*xs):
        raise UnsupportedCallError(
            f"itertools.{name} asks for elements that are computed when they are asked for",
            hint="make a list of them first",
        )


@intrinsic(itertools.tee)
def _tee(ctx: EffectContext, x: Any, n: int = 2) -> Any:
    _refuse_code("tee", x)
    items = list(_every(ctx, x))
    return tuple([wrapped(iter(items)) for _ in range(n)])


@intrinsic(itertools.compress)
def _compress(ctx: EffectContext, data: Any, selectors: Any) -> Any:
    _refuse_code("compress", data, selectors)
    return wrapped(
        itertools.compress(_every(ctx, data), [_decided(ctx, s, "compress") for s in _every(ctx, selectors)])
    )


def _decided(ctx: EffectContext, x: Any, what: str) -> bool:
    found = truth_values.truth(ctx, x)
    if not isinstance(found, bool):
        raise StaticValueError(
            f"which elements `{what}` keeps must be known at compile time",
            code="AC1303",
            hint="keep all elements and mask them with `ops.where`",
        )
    return found


def _at_once(ctx: EffectContext, name: str, make: Callable[[], Any]) -> Any:
    """An iterator whose elements are computed now, which nobody notices if that has no effects."""
    block, before = trace.builder.block, len(trace.builder.block.ops)
    with ctx.effects.region() as region:
        found = list(make())
    emitted = block.ops[before:]
    inner = [op for outer in emitted for b in outer.blocks for op in ops_of(b)]
    if region.saved or any(op.defn.effect >= Effect.WRITE for op in (*emitted, *inner)):
        raise UnsupportedCallError(
            f"itertools.{name} calls a function that has effects", hint="write it as a loop, in which they have a place"
        )
    return wrapped(iter(found))


def _filtering(function: Any) -> None:
    name = function.__name__

    def rule(ctx: EffectContext, predicate: Any, x: Any) -> Any:
        def keeps(item: Any) -> bool:
            return _decided(ctx, item if predicate is None else call(ctx, predicate, [item], {}), name)

        return _at_once(ctx, name, lambda: function(keeps, _every(ctx, x)))

    intrinsic(function)(rule)


for _function in (itertools.takewhile, itertools.dropwhile, itertools.filterfalse):
    _filtering(_function)


@intrinsic(itertools.starmap)
def _starmap(ctx: EffectContext, fn: Any, x: Any) -> Any:
    return _at_once(ctx, "starmap", lambda: (call(ctx, fn, list(_every(ctx, row)), {}) for row in _every(ctx, x)))


@intrinsic(itertools.accumulate)
def _accumulate(ctx: EffectContext, x: Any, func: Any = None, *, initial: Any = None) -> Any:
    def step(total: Any, item: Any) -> Any:
        return operators.binary(ctx, "Add", total, item) if func is None else call(ctx, func, [total, item], {})

    return _at_once(ctx, "accumulate", lambda: itertools.accumulate(_every(ctx, x), step, initial=initial))


@intrinsic(itertools.groupby)
def _groupby(ctx: EffectContext, x: Any, key: Any = None) -> Any:
    _refuse_code("groupby", x)
    items = list(_every(ctx, x))
    keys = items if key is None else [call(ctx, key, [i], {}) for i in items]
    requirements.require_static(keys, "a key of groupby")
    requirements.check_seen(keys, "groupby")
    groups = itertools.groupby(zip(keys, items, strict=True), key=lambda pair: pair[0])
    return wrapped(iter([(k, wrapped(iter([item for _, item in pairs]))) for k, pairs in groups]))


# ---------------------------------------------------------------------------------------------------- copies
@intrinsic(copy.copy)
def _copy(ctx: EffectContext, x: Any) -> Any:
    return variable_of(x).copy(ctx)


@intrinsic(copy.deepcopy)
def _deepcopy(ctx: EffectContext, x: Any) -> Any:
    made: dict[int, Any] = {}

    def go(x: Any) -> Any:
        if id(x) not in made:
            made[id(x)] = variable_of(x).deepcopy(ctx, go)
        return made[id(x)]

    return go(x)
