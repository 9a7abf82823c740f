"""Python's builtin functions on static and dynamic values."""

from __future__ import annotations

import builtins
import functools
import math
import operator
import sys
from typing import Any

from ...errors import StaticValueError, UnsupportedCallError
from ...ir.build import current
from ...ir.primitive import METHODS, F
from ...ir.sizes import depends_on_data
from ...runtime import precision
from ...runtime.mutable import mutable, plain
from ..effects.commits import emit_commit
from ..effects.effects import EffectContext
from ..variables import comparison, grown_lists, operators, requirements
from ..variables.arithmetic import BINARY, SLOT, kind_of_number, lifted_number, number_binary
from ..variables.assignment import set_item
from ..variables.base import class_name, variable_of
from ..variables.calls import call
from ..variables.comparison import COMPARE, first_that
from ..variables.containers import in_place, pairs_of
from ..variables.elements import iterate_live, iterate_static
from ..variables.frames import Closure
from ..variables.iteration import Forced, RangeOf, Rest, as_count, iteration_of, open_iteration
from ..variables.open_sizes import bound_of_sizes
from ..variables.precision import whole
from ..variables.rows import rows_of
from ..variables.rules import intrinsic
from ..variables.structure import elements, is_static, map_leaves
from ..variables.text import Operands, text
from ..variables.truth_values import negate, truth
from ..variables.values import (
    LocalDict,
    LocalList,
    LocalSet,
    SymScalar,
    TensorVar,
    class_of,
    describe,
    is_dynamic,
    is_marked,
    is_tensor,
)

_NOTHING = object()


# ---------------------------------------------------------------------------------------------------- iteration
@intrinsic(range)
def _range(ctx: EffectContext, *given: Any) -> Any:
    bounds = [_index(ctx, b) for b in given]
    if is_static(bounds):
        return range(*bounds)
    return RangeOf(0, *bounds) if len(bounds) == 1 else RangeOf(*bounds)


class _Key:
    """What `sorted` compares where a part of the keys is known only at run time: pairs of a name and a Tensor."""

    __slots__ = ("ctx", "value")

    def __init__(self, ctx: EffectContext, value: Any) -> None:
        self.ctx, self.value = ctx, value

    def __lt__(self, other: _Key) -> bool:
        return comparison.is_less(self.ctx, self.value, other.value)


@intrinsic(sorted)
def _sorted(ctx: EffectContext, x: Any, *, key: Any = None, reverse: Any = False) -> Any:
    requirements.require_static(reverse, "`reverse` of sorted()")
    items = list(x) if isinstance(x, set | frozenset) else list(iterate_static(ctx, x))
    keys = items if key is None else [call(ctx, key, [i], {}) for i in items]
    requirements.check_seen(keys, "sorting")
    if not is_static(keys):
        keys = [_Key(ctx, key) for key in keys]
    order = sorted(range(len(items)), key=lambda i: keys[i], reverse=reverse)
    return LocalList(items[i] for i in order)


@intrinsic("unroll")
def _unroll(ctx: EffectContext, x: Any) -> Any:
    return Forced(iteration_of(ctx, x), keep=False)


@intrinsic("keep")
def _keep(ctx: EffectContext, x: Any) -> Any:
    return Forced(iteration_of(ctx, x), keep=True)


@intrinsic("mutable")
def _mutable(ctx: EffectContext, input_data: Any, dynamic_len: Any = False) -> Any:
    if is_marked(input_data) and not dynamic_len:
        return input_data
    known = elements(input_data) is None and is_static(input_data)
    if dynamic_len or known:
        mutable(input_data, dynamic_len)  # which refuses what it refuses everywhere

    def leaf(x: Any) -> Any:
        kind = kind_of_number(plain(x))
        return SymScalar(lifted_number(x, kind, current()), kind) if kind is not None else x

    found = map_leaves(leaf, input_data)
    if class_of(found) is list:
        return LocalList(found, marked=True)
    if class_of(found) is dict:
        return LocalDict(found, marked=True)
    return found if elements(found) is None else mutable(found)


# ---------------------------------------------------------------------------------------------------- containers
@intrinsic(len)
def _len(ctx: EffectContext, x: Any) -> Any:
    return variable_of(x).length(ctx)


@intrinsic(tuple)
def _tuple(ctx: EffectContext, x: Any = ()) -> Any:
    return tuple(iterate_static(ctx, x))


@intrinsic(list)
def _list(ctx: EffectContext, x: Any = ()) -> Any:
    over = open_iteration(ctx, x)
    return LocalList(iterate_static(ctx, x)) if over is None else ctx.each(over, lambda item: item)


@intrinsic(dict)
def _dict(ctx: EffectContext, x: Any = (), **kwargs: Any) -> Any:
    return LocalDict({**dict(pairs_of(ctx, x)), **kwargs})


@intrinsic(set)
def _set(ctx: EffectContext, x: Any = ()) -> Any:
    items = x if isinstance(x, set | frozenset) else list(iterate_static(ctx, x))
    return LocalSet(requirements.require_static(items, "an element of a set"))


# ---------------------------------------------------------------------------------------------------- numbers
def _conversion(kind: type) -> Any:
    def convert(ctx: EffectContext, x: Any = 0, *rest: Any) -> Any:
        return variable_of(ctx.outside.met(x) if kind is bool else x).number(ctx, kind, *rest)

    return convert


intrinsic(int)(_conversion(int))
intrinsic(float)(_conversion(float))
intrinsic(bool)(_conversion(bool))


@intrinsic(operator.index)
def _index(ctx: EffectContext, x: Any) -> Any:
    return variable_of(x).index(ctx)


@intrinsic(round)
def _round(ctx: EffectContext, number: Any, ndigits: Any = None) -> Any:
    return variable_of(number).rounded(ctx, requirements.require_static(ndigits, "the number of digits of round()"))


@intrinsic(abs)
def _abs(ctx: EffectContext, x: Any) -> Any:
    return variable_of(x).absolute(ctx)


@intrinsic(pow)
def _pow(ctx: EffectContext, base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is None:
        return operators.binary(ctx, "Pow", base, exp)
    if any(map(is_tensor, (base, exp, mod))):
        names = ", ".join([f"'{class_name(x)}'" for x in (base, exp, mod)])
        raise TypeError(f"unsupported operand type(s) for ** or pow(): {names}")
    return pow(*requirements.require_static((base, exp, mod), "an argument of pow() with a modulus"))


@intrinsic(divmod)
def _divmod(ctx: EffectContext, x: Any, y: Any) -> Any:
    if kind_of_number(x) and kind_of_number(y) and (is_dynamic(x) or is_dynamic(y)):
        return number_binary(ctx, "FloorDiv", x, y, divmod), number_binary(ctx, "Mod", x, y, None)
    return operators.binary(ctx, "FloorDiv", x, y), operators.binary(ctx, "Mod", x, y)


for _op, _function in BINARY.items():
    intrinsic(_function)(lambda ctx, x, y, op=_op: operators.binary(ctx, op, x, y))
    intrinsic(getattr(operator, f"i{SLOT[_op]}"))(lambda ctx, x, y, op=_op: in_place(ctx, op, x, y))
for _op, _function in (*COMPARE.items(), ("Is", operator.is_), ("IsNot", operator.is_not)):
    intrinsic(_function)(lambda ctx, x, y, op=_op: comparison.compare(ctx, op, x, y))
intrinsic(operator.neg)(lambda ctx, x: operators.unary(ctx, "USub", x))
intrinsic(operator.pos)(lambda ctx, x: operators.unary(ctx, "UAdd", x))
intrinsic(operator.invert)(lambda ctx, x: operators.unary(ctx, "Invert", x))
intrinsic(operator.inv)(lambda ctx, x: operators.unary(ctx, "Invert", x))
intrinsic(operator.concat)(lambda ctx, x, y: operators.binary(ctx, "Add", x, y))
intrinsic(operator.iconcat)(lambda ctx, x, y: in_place(ctx, "Add", x, y))
intrinsic(operator.contains)(lambda ctx, x, item: comparison.compare(ctx, "In", item, x))
intrinsic(operator.getitem)(operators.subscript)
intrinsic(operator.setitem)(set_item)
intrinsic(operator.truth)(_conversion(bool))
intrinsic(operator.not_)(lambda ctx, x: negate(truth(ctx, x)))
intrinsic(operator.abs)(_abs)


@intrinsic(functools.wraps)
def _wraps(ctx: EffectContext, wrapped: Any, *given: Any, **named: Any) -> Any:
    return functools.partial(functools.update_wrapper, wrapped=wrapped)


@intrinsic(functools.update_wrapper)
def _update_wrapper(ctx: EffectContext, wrapper: Any, wrapped: Any, *given: Any, **named: Any) -> Any:
    """Only the name is taken over; what else it copies is of no use to compiled code."""
    if type(wrapper) is Closure:
        wrapper.wrapped = wrapped
    return wrapper


@intrinsic(functools.reduce)
def _reduce(ctx: EffectContext, fn: Any, x: Any, *initial: Any) -> Any:
    return _folded(ctx, lambda a, b: call(ctx, fn, [a, b], {}), x, *initial)


def _folded(ctx: EffectContext, fn: Any, x: Any, *initial: Any) -> Any:
    """``functools.reduce``, as a loop over as many elements as run time knows."""
    over = open_iteration(ctx, x)
    if (
        over is None or over.size is None or depends_on_data(over.size) or over.size == 0
    ):  # of a size of arguments the call tells that
        return functools.reduce(fn, iterate_live(ctx, x), *initial)
    total = LocalList()

    def add(item: Any) -> None:
        ctx.effects.change(total)
        total.fill([fn(*total, item)])

    def loop() -> None:
        items = over.begin(ctx)
        items.enter(ctx)
        first = items.item_at(ctx, as_count(0))
        total.fill([fn(*initial, first) if initial else first])
        ctx.each(Rest(items), add, collects=False)

    loop()
    return total[0]


def _extreme(name: str, better_by: str) -> Any:
    def rule(ctx: EffectContext, *args: Any, key: Any = None, default: Any = _NOTHING) -> Any:
        if len(args) == 1 and is_tensor(args[0]) and len(args[0].type.shape) == 1:
            return ctx.native(METHODS[name], [args[0]])
        if key is None and len(args) == 1 and (over := open_iteration(ctx, args[0])) is not None and over.size != 0:
            return _folded(ctx, lambda a, b: _better(ctx, better_by, a, b), args[0])
        items = iterate_live(ctx, args[0]) if len(args) == 1 else iter(args)
        if key is None and len(args) > 1 and (bound := bound_of_sizes(name, args)) is not None:
            return bound
        best = next(items, _NOTHING)
        if best is _NOTHING:
            if default is _NOTHING:
                getattr(builtins, name)(())  # raises, in the words of this Python
            return default
        best_key = _key(ctx, key, best)
        for item in items:
            item_key = _key(ctx, key, item)
            better = truth(ctx, comparison.compare(ctx, better_by, item_key, best_key))
            if isinstance(better, bool):
                best, best_key = (item, item_key) if better else (best, best_key)
            elif key is None:
                best = best_key = _select(ctx, better, item, best)
            else:
                raise StaticValueError(f"{name}() with a key needs keys known at compile time")
        return best

    return rule


def _better(ctx: EffectContext, better_by: str, best: Any, item: Any) -> Any:
    """The larger or smaller one of two values."""
    better = truth(ctx, comparison.compare(ctx, better_by, item, best))
    return (item if better else best) if isinstance(better, bool) else _select(ctx, better, item, best)


def _select(ctx: EffectContext, condition: Any, a: Any, b: Any) -> Any:
    return ctx.branch(condition, lambda: a, lambda: b, name="the result")


def _key(ctx: EffectContext, key: Any, item: Any) -> Any:
    return item if key is None else call(ctx, key, [item], {})


intrinsic(max)(_extreme("max", "Gt"))
intrinsic(min)(_extreme("min", "Lt"))


@intrinsic(math.prod)
def _prod(ctx: EffectContext, iterable: Any, /, *, start: Any = 1) -> Any:
    return _folded(ctx, lambda a, b: operators.binary(ctx, "Mult", a, b), iterable, start)


@intrinsic(sum)
def _sum(ctx: EffectContext, x: Any, start: Any = 0) -> Any:
    rows = rows_of(x)
    if rows is not None and depends_on_data(rows.value.shape[0]):
        return grown_lists.total(ctx, x, start)
    return _folded(ctx, lambda a, b: operators.binary(ctx, "Add", a, b), x, start)


intrinsic(any)(lambda ctx, x: first_that(ctx, x, lambda item: truth(ctx, item), ends=True))
intrinsic(all)(lambda ctx, x: first_that(ctx, x, lambda item: truth(ctx, item), ends=False))


# ---------------------------------------------------------------------------------------------------- Parameters
intrinsic(precision.whole)(lambda ctx, x: whole(x))


@intrinsic("assign")
def _assign(ctx: EffectContext, variable: Any, value: Any) -> Any:
    variable = whole(variable)
    variable_of(variable).assign(ctx, value)
    return TensorVar(ctx.unwrap(variable))


def _assign_by(op: str) -> Any:
    def rule(ctx: EffectContext, variable: Any, value: Any) -> Any:
        variable = whole(variable)
        return _assign(ctx, variable, operators.binary(ctx, op, variable, value))

    return rule


intrinsic("assign_add")(_assign_by("Add"))
intrinsic("assign_sub")(_assign_by("Sub"))


@intrinsic(print)
def _print(
    ctx: EffectContext, *args: Any, sep: Any = None, end: Any = None, file: Any = None, flush: bool = False
) -> None:  # fmt: skip
    for name, x in (("sep", sep), ("end", end)):
        if not issubclass(class_of(x), str | None):
            raise TypeError(f"{name} must be None or a string, not {type(x).__name__}")
        requirements.require_static(x, f"`{name}` of print()")
    streams = [name for name in ("stdout", "stderr") if file is getattr(sys, name)]
    if file is not None and not streams:
        raise UnsupportedCallError(
            f"compiled code prints to sys.stdout and sys.stderr only, and cannot see what a {describe(file)} does",
            code="AC1807",
            hint="return the value and print it outside, or print from a function that `ms.py_call` runs",
        )
    operands = Operands(ctx)
    shown = tuple([operands.part(text(ctx, str, a)) for a in args])
    emit_commit(ctx)
    F.print(
        *operands.values,
        parts=shown,
        sep=" " if sep is None else sep,
        end="\n" if end is None else end,
        ways=() if set(operands.ways) <= {"str"} else tuple(operands.ways),
        flush=bool(flush),
        stream=streams[0] if streams else "stdout",
    )
