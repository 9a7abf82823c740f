"""Functions of `itertools`, `copy` and `dataclasses` on containers, Tensors and objects of compiled code.

Those of `itertools` hand elements on without looking at them, so Python's own run on abstract values; functions they
are given are compiled, element after element, when the iterator is made.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ...errors import UnsupportedCallError
from ..effects.effects import EffectContext
from ..variables import operators, requirements
from ..variables.base import variable_of
from ..variables.calls import call
from ..variables.elements import iterate_live
from ..variables.iterators import kept, live, wrapped
from ..variables.kinds import class_in_program
from ..variables.purity import compiled
from ..variables.rules import intrinsic
from ..variables.structure import elements
from ..variables.values import LocalDict, LocalList, is_dynamic

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
    return wrapped(itertools.compress(_every(ctx, data), [kept(ctx, s, "compress") for s in _every(ctx, selectors)]))


def _at_once(ctx: EffectContext, name: str, make: Callable[[], Any]) -> Any:
    """An iterator whose elements are computed now, which nobody notices if that has no effects."""
    part = compiled(ctx, lambda: list(make()))
    if part.changes:
        raise UnsupportedCallError(
            f"itertools.{name} calls a function that has effects", hint="write it as a loop, in which they have a place"
        )
    return wrapped(iter(part.value))


def _filtering(function: Any) -> None:
    name = function.__name__

    def rule(ctx: EffectContext, predicate: Any, x: Any) -> Any:
        def keeps(item: Any) -> bool:
            return kept(ctx, item if predicate is None else call(ctx, predicate, [item], {}), name)

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


# ---------------------------------------------------------------------------------------------------- dataclasses
def _class_of(ctx: EffectContext, x: Any) -> type:
    """A class, or that of an object; whether it is a dataclass, with which fields, is guarded."""
    cls = x if isinstance(x, type) else class_in_program(ctx, x)
    ctx.outside.class_attribute(cls, "__dataclass_fields__")
    return cls


@intrinsic(dataclasses.fields)
def _fields(ctx: EffectContext, class_or_instance: Any) -> tuple[Any, ...]:
    return dataclasses.fields(_class_of(ctx, class_or_instance))


def _is_record(ctx: EffectContext, x: Any) -> bool:
    return not isinstance(x, type) and dataclasses.is_dataclass(class_in_program(ctx, x))


@intrinsic(dataclasses.is_dataclass)
def _is_dataclass(ctx: EffectContext, obj: Any) -> bool:
    return dataclasses.is_dataclass(_class_of(ctx, obj))


def _required(ctx: EffectContext, obj: Any, function: str) -> None:
    if not _is_record(ctx, obj):
        raise TypeError(f"{function}() should be called on dataclass instances")


@intrinsic(dataclasses.asdict)
def _asdict(ctx: EffectContext, obj: Any, *, dict_factory: Any = dict) -> Any:
    _required(ctx, obj, "asdict")

    def record(pairs: list[tuple[str, Any]]) -> Any:
        return LocalDict(pairs) if dict_factory is dict else call(ctx, dict_factory, [LocalList(pairs)], {})

    return _inside(ctx, obj, record)


@intrinsic(dataclasses.astuple)
def _astuple(ctx: EffectContext, obj: Any, *, tuple_factory: Any = tuple) -> Any:
    _required(ctx, obj, "astuple")

    def record(pairs: list[tuple[str, Any]]) -> Any:
        items = [value for _, value in pairs]
        return tuple(items) if tuple_factory is tuple else call(ctx, tuple_factory, [LocalList(items)], {})

    return _inside(ctx, obj, record)


def _inside(ctx: EffectContext, x: Any, record: Any) -> Any:
    """A copy of x, in which `record` makes something of the fields of each dataclass."""
    if not is_dynamic(x) and _is_record(ctx, x):
        names = [f.name for f in _fields(ctx, x)]
        return record([(n, _inside(ctx, operators.attribute(ctx, x, n), record)) for n in names])
    made = variable_of(x).with_items(ctx, lambda item: _inside(ctx, item, record))
    return call(ctx, copy.deepcopy, [x], {}) if made is NotImplemented else made


@intrinsic(dataclasses.replace)
def _replace(ctx: EffectContext, obj: Any, /, **changes: Any) -> Any:
    _required(ctx, obj, "replace")
    for f in _fields(ctx, obj):
        if not f.init:
            if f.name in changes:
                raise ValueError(f"field {f.name} is declared with init=False, it cannot be specified with replace()")
        elif f.name not in changes:
            changes[f.name] = operators.attribute(ctx, obj, f.name)
    return call(ctx, class_in_program(ctx, obj), [], changes)
