"""The call of a differentiated function, compiled into a block of its own."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...autodiff.activity import differentiable, holds_floats
from ...errors import DynamicShapeError, GradientError
from ...ir.build import Builder
from ...ir.core import Block, Op, Value
from ...ir.primitive import REGISTRY, F, trace
from ...ir.sizes import depends_on_data, size_of
from ...ir.types import has_erased_sizes
from ...ir.walk import inline
from ...primitives.sizes_of_data import erased, place_of, sized
from ...runtime.trees import attributes_of, leaves
from ...source import Loc
from ..effects.after_forward import flush
from ..effects.commits import commit_before_backward
from ..effects.exceptions import raising_in_block
from ..variables.base import variable_of
from ..variables.calls import call
from ..variables.changing import is_aliased
from ..variables.interpreter import Diverged, Region
from ..variables.structure import elements, flatten, in_order, map_leaves, parts, rebuild
from ..variables.unions import UnionVar, of_rank
from ..variables.values import (
    OUTSIDE,
    Rows,
    StateVar,
    SymScalar,
    TensorVar,
    describe,
    is_box,
    is_dynamic,
    is_parameter,
    is_rows,
    is_size,
    is_tensor,
    is_union,
    usable,
)
from .context import DerivativeContext


@dataclass
class Traced:
    """A differentiated call: its inputs, its block, and what it returned and changed (in terms of the block's values).

    The block yields the dynamic leaves of the result, `outs`, and then those of what objects hold afterwards.
    """

    operands: list[Value]
    block: Block
    result: Any
    outs: list[Value]
    #: the part of the result that is differentiated, and the numbers of its outs
    selected: Any
    chosen: list[int]
    #: the objects made before the call that it changed, and what they hold afterwards
    changes: list[tuple[Any, Any]]
    #: the caller's Tensors by the id of the boxes that stood for them inside
    originals: dict[int, Any]
    #: greater than the serial of every box made before the call
    start: int
    #: conditional aliases: by the ids of boxes made inside, the older boxes that they may be
    perhaps: dict[int, list[Any]]
    #: the containers of what it returned and left, as they were at its end
    ends: Ends
    #: what `finish` made of the leaves that the call made, by their ids
    made: dict[int, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many results of the block are no derivatives."""
        return len(self.block.outs)

    def carrying(self, weights: Sequence[StateVar] = ()) -> list[int]:
        """Numbers of the chosen outs that may have a derivative: integers only by integers."""
        by_floats = all(holds_floats(t) for t in (*(x.type for x in self.operands), *(w.type for w in weights)))
        carries = holds_floats if by_floats else differentiable
        return [i for i in self.chosen if carries(self.outs[i].type)]

    def finish(self, ctx: DerivativeContext, results: Sequence[Value]) -> Any:
        """Gives the changed objects their new content; what the call returned, in terms of the `grad` op's results."""
        values: Iterator[Value] = iter(results)
        made = self.made = {}
        outside = partial(self._outside, values, made)
        memo: dict[int, Any] = {}
        returned = self.ends.rebuilt(partial(outside, returned=True), self.result, self.start, memo)
        contents = [self.ends.rebuilt(outside, held, self.start, memo) for _, held in self.changes]
        for (obj, _), held in zip(self.changes, contents, strict=True):
            _set(ctx, self.originals.get(id(obj)), obj, held)
        for key, others in self.perhaps.items():
            for other in others if key in made else ():
                ctx.effects.ties.add(self.originals.get(id(other), other), made[key], None, scope=made[key].value.owner)
        return returned

    def _outside(self, values: Iterator[Value], made: dict[int, Any], leaf: Any, returned: bool = False) -> Any:
        """The abstract value, after the call, of a leaf of what it returned or left behind."""
        if not is_dynamic(leaf):
            return leaf
        variable = variable_of(leaf)
        own = variable.is_own(self.start)
        value = next(values) if own or returned else None
        if value is None or not (own or is_parameter(leaf)):
            return self.originals.get(id(leaf), leaf)
        if id(leaf) not in made:
            made[id(leaf)] = variable.around(value, getattr(leaf, "locked", OUTSIDE))
        return made[id(leaf)]

    def part(self, of_outs: dict[int, Any]) -> Any:
        """The part that is differentiated, with something else in place of the outs."""
        places = {key: i for i, (key, _, _) in enumerate(_positions(self.result))}

        def go(x: Any, key: Any = None) -> Any:
            if is_union(x):
                ways = {rank: go(way, (id(x), rank)) for rank, way in x.by_rank.items()}
                return UnionVar(go(x.rank), ways, x.error)
            items = elements(usable(x))
            if items is None:
                found = of_outs.get(places.get(key or id(x), -1), self.made.get(id(x), x))
                return Rows(found.value, x.number) if is_rows(x) else found
            return rebuild(x, [go(item) for item in items])

        return go(self.selected)


class Ends:
    """Containers as they are at the end of a traced call; what older ones hold is put back to what it was before."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}
        self._originals: dict[int, Any] = {}

    def copy(self, x: Any) -> Any:
        """The value with copies of its containers: one for every place of one container."""
        items = elements(usable(x))
        if items is None:  # a size that data decide is bound inside only
            return SymScalar(F.size_value(size=x), int) if is_size(x) and depends_on_data(x) else x
        if id(x) not in self._copies:
            made = self._copies[id(x)] = rebuild(x, [self.copy(i) for i in items])
            self._originals[id(made)] = x
        return self._copies[id(x)]

    def original(self, x: Any) -> Any:
        """What a copy was made of; all else itself."""
        return self._originals.get(id(x), x)

    def rebuilt(self, fn: Callable[[Any], Any], x: Any, start: int, memo: dict[int, Any]) -> Any:
        """``fn`` of the leaves of such a copy; a container older than `start`, or from outside, is itself."""
        items = elements(x)
        if items is None:
            return fn(x)
        new = [self.rebuilt(fn, i, start, memo) for i in items]  # every place of a leaf counts
        if id(x) not in memo:
            original: Any = self._originals.get(id(x))
            if is_aliased(original):
                kept = original.serial < start
            else:  # from outside or immutable: nothing in it is of the call, so that it leaves as that very object
                kept = original is not None and all(map(operator.is_, new, elements(original) or ()))
            memo[id(x)] = original if kept else rebuild(x, new)
        return memo[id(x)]


def emit_derivative(
    ctx: DerivativeContext, name: str, operands: Sequence[Value], attrs: Any, blocks: Sequence[Block]
) -> Op:
    """An op of a derivative, at the user's line."""
    loc = trace.builder.loc
    trace.builder.loc = loc or ctx.report.called_from
    op = trace.builder.emit_op(REGISTRY[name], operands, attrs, blocks)
    trace.builder.loc = loc
    return op


def traced_call(
    ctx: DerivativeContext, fn: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int], select: Any,
    backward: bool = True,
) -> Traced:  # fmt: skip
    """Compiles the call in a block whose arguments are those at `positions`, each distinct from all other values.

    Inside, they are Tensors of their own, as in eager code: what is written to them is written to the caller's at the
    end.  With `backward` the block is a whole forward pass.
    """
    for p in positions:
        if not is_tensor(args[p]):
            raise GradientError(f"only the derivative by a Tensor can be taken, not by a {describe(args[p])}")
    operands = [ctx.unwrap(args[p]) for p in positions]
    builder = trace.builder.nested([v.type for v in operands], [v.name for v in operands])
    ctx.report.reasons.inner(builder.block, operands)
    given = list(args)
    for p, arg in zip(positions, builder.block.args, strict=True):
        given[p] = TensorVar(arg, getattr(args[p], "locked", ""))
    originals = {id(given[p]): args[p] for p in positions}
    emit = partial(inline, trace.builder, operands=operands)
    with ctx.effects.region() as region, always_raising(ctx, region, builder, emit), builder:
        with ctx.effects.inputs.standing_in([(given[p], args[p]) for p in positions]), raising_in_block(ctx, builder):
            ends = Ends()
            outer, ctx.derivatives.differentiated = ctx.derivatives.differentiated, True
            try:
                result = ends.copy(call(ctx, fn, given, kwargs))
            finally:
                ctx.derivatives.differentiated = outer
        outs = [_leaving(_operand(ctx, x, union), builder) for _, x, union in _positions(result)]
        flush(ctx)
        if backward:
            commit_before_backward(ctx, builder.block)
        held_by = {key: ends.copy(obj.content()) for key, (obj, _) in region.saved.items()}
        after = [(obj, held_by[key]) for key, (obj, _) in ctx.effects.restore(region).items()]
        perhaps = {
            id(x): [other for other in ctx.effects.ties.nearest(x, region.start) if other.serial < region.start]
            for x in (*flatten(result), *(x for _, held in after for x in flatten(held)))
            if is_tensor(x) and variable_of(x).is_own(region.start)
        }
    kept = [(obj, held) for obj, held in after if not _is_put_back(ctx, obj, held, originals, ends)]
    order = {key: n for n, key in enumerate(originals)}  # of a Tensor that is given twice the last place counts
    kept.sort(key=lambda change: order.get(id(change[0]), -1))
    changes = [(obj, obj.as_value(held)) for obj, held in kept]
    _refuse_which_was_written(changes, originals)
    own = [x.value for _, held in changes for x in flatten(held) if variable_of(x).is_own(region.start)]
    left = [_leaving(x, builder) for x in own]
    part = result if select is None else select(result)
    _check_known(ctx, part)
    picked = {id(x) for x in _dynamic(part)}
    dynamic = _dynamic(result)
    chosen = [i for i in _reading_order(result) if id(dynamic[i]) in picked and _is_differentiated(dynamic[i])]
    block = builder.ret(*outs, *left)
    return Traced(operands, block, result, outs, part, chosen, changes, originals, region.start, perhaps, ends)


def _positions(x: Any, key: Any = None, union: Any = None) -> Iterator[tuple[Any, Any, Any]]:
    """The dynamic leaves of a result, each with a key for its place and the union that it is a way of, with its rank.

    Unions may share a leaf, of which one takes the cotangent and the other does not.
    """
    items = elements(x)
    if items is None:
        if is_dynamic(x):
            yield key or id(x), x, union
    elif is_union(x):
        yield id(x.rank), x.rank, None
        for rank, way in x.by_rank.items():
            yield from _positions(way, (id(x), rank), (x, rank))
    else:
        for item in items:
            yield from _positions(item)


def _operand(ctx: DerivativeContext, x: Any, union: Any) -> Value:
    """A dynamic leaf of a result as a Value: of a union only the Tensor that it is takes a cotangent."""
    value: Value = variable_of(x).to_operand(ctx)
    return value if union is None else of_rank(union[0], union[1], value)


def _is_differentiated(x: Any) -> bool:
    """Whether a leaf takes a cotangent."""
    return is_tensor(x) or (is_rows(x) and x.number is None)


def _leaving(x: Value, builder: Builder) -> Value:
    """What leaves the block of a derivative: with no size in its type that only the block knows."""
    around = builder.parent
    assert around is not None
    type_ = erased(x.type, lambda symbol: not around.sees(size_of(symbol)))
    if type_ is x.type:
        return x
    with builder:
        return F.with_sizes(x, type=type_)


def named(results: Sequence[Value]) -> list[Value]:
    """The results of such an op, with names for the sizes that only its block knew."""
    return [sized(x) if has_erased_sizes(x.type) else x for x in results]


def refuse_open_sizes(traced: Traced, what: str) -> None:
    """Raises where a result of the traced call has a size of data, which has to be known before the call has run."""
    for x in traced.outs:
        if has_erased_sizes(x.type):
            raise DynamicShapeError(
                f"the size of a result depends on data, and so does that of {what}",
                spans=made_at(x),
                hint="keep the shape (`ops.where`, `masked_fill`), or reduce the result to one number",
            )


def made_at(x: Value) -> list[tuple[Loc, str]]:
    """Where a value is from, for an error about it while no statement of the user's is compiled."""
    if trace.builder is not None and trace.builder.loc is not None:
        return []
    loc = place_of(x)
    return [] if loc is None else [(loc.of_user(), "made here")]


def refuse_unknown_ranks(ctx: DerivativeContext, x: Any, why: str) -> None:
    """Raises where the rank of a Tensor in a value is known only at run time; `why` it is needed, for the message."""
    for part in parts(x):
        if is_union(part):
            raise part.error.again(ctx.here, why)


def _refuse_which_was_written(changes: Sequence[tuple[Any, Any]], originals: dict[int, Any]) -> None:
    """Refuses a Tensor given twice if run time decides which of its variables was written last."""
    before: set[int] = set()
    for obj, held in changes:
        original = originals.get(id(obj))
        if original is None:
            continue
        if id(original) in before and _is_joined(held.value):
            raise GradientError(
                "one Tensor is given as two arguments that are differentiated, and the function writes to both, to the"
                " later one perhaps not: what the Tensor holds afterwards is known only at run time",
                hint="give a copy of it as one of them: `x.copy()`",
            )
        before.add(id(original))


def _is_joined(x: Value) -> bool:
    """Whether an op with blocks gives the value, which may be one from before it."""
    return x.op is not None and bool(x.op.blocks)


def _check_known(ctx: DerivativeContext, part: Any) -> None:
    """Refuses objects from outside with Tensors in what is differentiated: these are no values of this compilation."""
    for leaf in flatten(part):
        held = attributes_of(leaf)
        written = held is not None and any((id(leaf), name) in ctx.effects.attributes.slots for name in held)
        if written or (held is not None and next(leaves(leaf), None) is not None):
            raise GradientError(
                f"a differentiated function returns {describe(leaf)}, made outside of it, with Tensors in it",
                hint="return a new object, or the Tensors",
            )


def _reading_order(result: Any) -> list[int]:
    """The numbers of the dynamic leaves as eager code meets them: attributes in the order of their assignment."""
    numbers = itertools.count()
    numbered = map_leaves(lambda x: next(numbers) if is_dynamic(x) else None, result)

    def go(x: Any) -> Iterator[int]:
        items = in_order(x)
        if items is not None:
            for item in items:
                yield from go(item)
        elif x is not None:
            yield x

    return list(go(numbered))


def _is_put_back(ctx: DerivativeContext, obj: Any, held: Any, originals: dict[int, Any], ends: Ends) -> bool:
    """Whether an object holds after a call what it held before, up to Tensors that stood in for others inside.

    A Tensor that stood in for another may differ by hooks: these end with the call.
    """
    if is_box(obj):
        return id(obj) in originals and ctx.effects.inputs.without_hooks(held) is obj.value
    return is_aliased(obj) and _is_same(obj.content(), held, originals, ends)


def _is_same(before: Any, held: Any, originals: dict[int, Any], ends: Ends) -> bool:
    original = ends.original(held)
    if before is original or originals.get(id(held)) is before:
        return True
    if type(before) is not type(held) or is_aliased(before):
        return False
    xs, ys = elements(before), elements(held)
    same = xs is not None and len(xs) == len(ys) and (not isinstance(before, dict) or [*before] == [*held])
    return same and all(_is_same(x, y, originals, ends) for x, y in zip(xs, ys, strict=True))


@contextmanager
def always_raising(
    ctx: DerivativeContext, region: Region, builder: Builder, emit: Callable[[Block], Any]
) -> Iterator[None]:
    """If what is compiled into a block always raises, `emit` emits that in the place of the block."""
    try:
        yield
    except Diverged:
        ctx.effects.restore(region)
        emit(builder.ret())
        raise


def _set(ctx: DerivativeContext, original: Any, obj: Any, held: Any) -> None:
    """Gives an object of compile time, or what it stood for, the content that a differentiated call left."""
    if original is not None:
        variable_of(original).overwrite(ctx, held.value)
    else:  # what is tied to it has been changed inside of the call, too
        if is_box(obj):
            ctx.effects.inputs.note_write(obj)
        ctx.effects.touch(obj)
        obj.set_content(obj.of_value(held))


def _dynamic(result: Any) -> list[Any]:
    """The leaves of a result that are known only at run time, in order."""
    return [x for x in flatten(result) if is_dynamic(x)]
