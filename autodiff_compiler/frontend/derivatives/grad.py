"""Derivatives inside compiled code: the differentiated function becomes the block of a `grad` or `linearize` op."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...autodiff.activity import active_values, differentiable, holds_floats
from ...errors import NOTHING_RETURNED, GradientError, GradientWarning
from ...ir.build import Builder
from ...ir.core import Block, Op, Value
from ...ir.primitive import REGISTRY, F, trace
from ...ir.walk import inline, ops_of
from ...runtime.trees import attributes_of, leaves
from ..effects.commits import commit_before_backward
from ..effects.exceptions import raising_in_block
from ..interpreter.interpreter import Diverged, Lowering, Region
from ..interpreter.statements import assign_state
from ..variables.calls import call
from ..variables.values import (
    OUTSIDE,
    ArrayVar,
    LocalDict,
    LocalList,
    LocalObject,
    StateVar,
    TensorVar,
    Weak,
    content,
    describe,
    elements,
    flatten,
    is_dynamic,
    map_leaves,
    rebuild,
    set_content,
    usable,
)

__all__ = [
    "Linear",
    "Traced",
    "differentiate",
    "emit_derivative",
    "linear_of",
    "linearise",
    "push_forward",
    "traced_call",
]


@dataclass
class Traced:
    """A differentiated call: its inputs, its block, and what it returned and changed (in terms of the block's values).

    The block yields the dynamic leaves of the result, `outs`, and then those of what objects hold afterwards.
    """

    operands: list[Value]
    block: Block
    result: Any
    outs: list[Value]
    #: numbers of the outs that are differentiated
    chosen: list[int]
    #: the objects made before the call that it changed, and what they hold afterwards
    changes: list[tuple[Any, Any]]
    #: the caller's Tensors by the id of the boxes that stood for them inside
    originals: dict[int, Any]
    #: greater than the serial of every box made before the call
    start: int
    #: the older boxes that one made inside may be, by a condition known inside
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

    def finish(self, lw: Lowering, results: Sequence[Value]) -> Any:
        """Gives the changed objects their new content; what the call returned, in terms of the `grad` op's results."""
        values: Iterator[Value] = iter(results)
        made = self.made = {}
        outside = partial(self._outside, values, made)
        memo: dict[int, Any] = {}
        returned = self.ends.rebuilt(partial(outside, returned=True), self.result, self.start, memo)
        contents = [self.ends.rebuilt(outside, held, self.start, memo) for _, held in self.changes]
        for (obj, _), held in zip(self.changes, contents, strict=True):
            _set(lw, self.originals.get(id(obj)), obj, held)
        for key, others in self.perhaps.items():
            for other in others if key in made else ():
                lw.ties.add(self.originals.get(id(other), other), made[key], None, scope=made[key].value)
        return returned

    def _outside(self, values: Iterator[Value], made: dict[int, Any], leaf: Any, returned: bool = False) -> Any:
        """The abstract value, after the call, of a leaf of what it returned or left behind."""
        kind = type(leaf)
        if not (kind in (TensorVar, Weak, ArrayVar) or (kind is StateVar and returned)):
            return leaf
        known = self.originals.get(id(leaf))
        if known is None and kind is TensorVar and leaf.serial < self.start:
            known = leaf
        if known is not None:
            if returned:
                next(values)
            return known
        value = next(values)
        if id(leaf) not in made:
            locked = getattr(leaf, "locked", OUTSIDE)
            made[id(leaf)] = kind(value, leaf.kind) if kind in (Weak, ArrayVar) else TensorVar(value, locked)
        return made[id(leaf)]

    def part(self, part: Any, of_outs: dict[int, Any]) -> Any:
        """A part of the result with something else in place of the outs."""
        places = {id(leaf): i for i, leaf in enumerate(_dynamic(self.result))}
        return map_leaves(lambda v: of_outs.get(places.get(id(v), -1), self.made.get(id(v), v)), part)


class Ends:
    """Containers as they are at the end of a traced call; what older ones hold is put back to what it was before."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}
        self._originals: dict[int, Any] = {}

    def copy(self, x: Any) -> Any:
        """The value with copies of its containers: one for every place of one container."""
        items = elements(usable(x))
        if items is None:
            return x
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
            original = self._originals.get(id(x))
            if isinstance(original, LocalList | LocalDict | LocalObject):
                kept = original.serial < start
            else:  # from outside or immutable: nothing in it is of the call, so that it leaves as that very object
                kept = original is not None and all(map(operator.is_, new, elements(original) or ()))
            memo[id(x)] = original if kept else rebuild(x, new)
        return memo[id(x)]


def differentiate(
    lw: Lowering, fn: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int],
    weights: Sequence[Any] = (), select: Any = None, sens: Any = None,
) -> tuple[Any, list[Any], list[Any]]:  # fmt: skip
    """``fn(*args, **kwargs)`` and its derivatives by the arguments at `positions` and the Parameters `weights`.

    ``select(result)`` picks the part of the result that is differentiated (default: all of it); `sens` gives its
    cotangents (default: ones).  Returns the result, the gradients by position and the gradients of `weights`.
    """
    traced = traced_call(lw, fn, args, kwargs, positions, select)
    if not _dynamic(traced.result if select is None else select(traced.result)):
        place = lw.called_from if lw.here is None else lw.here
        lw.warnings.append((GradientWarning(NOTHING_RETURNED), place and place.of_user()))
    of_weights = _of_weights(lw, weights)
    seeds, seed_values = _seeds(lw, traced, of_weights, select, sens)
    states = tuple([w.name for w in of_weights])
    attrs = (tuple(range(len(positions))), seeds, states, False)
    op = emit_derivative(lw, "grad", (*traced.operands, *seed_values), attrs, (traced.block,))
    n, k = traced.count, len(positions)
    bare = _bare_numbers(lw, traced, positions)
    grads = [_as_number(v) if i in bare else TensorVar(v) for i, v in enumerate(op.results[n:])]
    grads = _hooked(lw, traced, [*(args[p] for p in positions), *_of_weights(lw, weights)], grads)
    return traced.finish(lw, op.results[:n]), grads[:k], grads[k:]


def _of_weights(lw: Lowering, weights: Sequence[Any]) -> list[StateVar]:
    """The states of Parameters, some of which the function may not use: those have gradients of zeros."""
    return [lw.outside.state(w) for w in weights]


def _hooked(lw: Lowering, traced: Traced, variables: Sequence[Any], grads: Sequence[TensorVar]) -> list[Any]:
    """The gradients by variables after the hooks of these."""
    from .tensor_hooks import after_variable_hooks

    lw.changed_before |= lw.hook_changes  # the backward pass has run
    lw.host_ran.backward_has_run()
    lw.check_names()
    return after_variable_hooks(lw, variables, traced.block, [traced.outs[i] for i in traced.chosen], grads)


def _bare_numbers(lw: Lowering, traced: Traced, positions: Sequence[Any]) -> set[int]:
    """The positions whose gradient is just the Python number that a user's rule gave: it is handed out as it is.

    So it is where the argument has one use, and that is the op with the rule.
    """
    found: set[int] = set()
    if not lw.bare_numbers:
        return found
    block = traced.block
    uses = [(op, i) for op in ops_of(block) for i, x in enumerate(op.operands) if x in block.args[: len(positions)]]
    yielded = {x for inner in (block, *(b for op in ops_of(block) for b in op.blocks)) for x in inner.outs}
    active = active_values(block, block.args[: len(positions)], [traced.outs[i] for i in traced.chosen])
    for k, arg in enumerate(block.args[: len(positions)]):
        own = [(op, i) for op, i in uses if op.operands[i] is arg]
        if len(own) == 1 and arg not in yielded and own[0] in lw.bare_numbers and arg in active:
            op = own[0][0]
            if op.parent is block and any(r in active for r in op.results):
                found.add(k)
    return found


def _as_number(value: Value) -> TensorVar:
    """Any element of a gradient whose elements are all the same number; without elements it stays as it is."""
    if 0 in value.shape or not value.shape:
        return TensorVar(value)
    axes = tuple(range(-value.ndim, 0))
    first = F.slice(value, axes=axes, starts=(0,) * value.ndim, stops=(1,) * value.ndim, steps=(1,) * value.ndim)
    return TensorVar(F.reshape(first, shape=()))


def emit_derivative(lw: Lowering, name: str, operands: Sequence[Value], attrs: Any, blocks: Sequence[Block]) -> Op:
    """An op of a derivative, at the user's line."""
    loc = trace.builder.loc
    trace.builder.loc = loc or lw.called_from
    op = trace.builder.emit_op(REGISTRY[name], operands, attrs, blocks)
    trace.builder.loc = loc
    return op


def push_forward(
    lw: Lowering, fn: Any, args: Sequence[Any], positions: Sequence[int], tangents: Sequence[Any], select: Any = None
) -> tuple[Any, Any]:
    """``fn(*args)`` and the tangent of (the selected part of) its result, given those of some arguments."""
    traced = traced_call(lw, fn, args, {}, positions, select)
    given = [lw.unwrap(t) for t in tangents]
    for x, t in zip(traced.operands, given, strict=True):
        if t.type is not x.type:
            raise GradientError(f"the tangent of an argument {x.type} is {t.type}")
    carrying = traced.carrying()
    attrs = (tuple(range(len(positions))), tuple(carrying), (), True)
    op = emit_derivative(lw, "grad", (*traced.operands, *given), attrs, (traced.block,))
    n = traced.count
    by_out = dict(zip(carrying, op.results[n:], strict=True))
    zeros = {i: trace.builder.const(0, traced.outs[i].type) for i in traced.chosen if i not in by_out}
    part = traced.result if select is None else select(traced.result)
    tangent = {i: TensorVar(v) for i, v in (by_out | zeros).items()}
    return traced.finish(lw, op.results[:n]), traced.part(part, tangent)


# ------------------------------------------------------------------------------------------------ linear maps
@dataclass
class Linear:
    """A call that has run, and the links to its linear maps: of cotangents backward and of tangents forward.

    It is an object of compile time.  Its maps may be called wherever the call's own values are in sight.
    """

    traced: Traced
    #: what the call returned
    result: Any
    #: the part of it that is differentiated, in terms of the block's values
    part: Any
    #: numbers of its outs that may have a derivative
    carrying: list[int]
    link: Value
    forward: Value | None = None
    #: the inputs and weights, if their hooks are to see what `pull` gives
    variables: list[Any] | None = None

    def pull(self, lw: Lowering, sens: Any) -> list[TensorVar]:
        """The cotangents of the inputs, and of the weights asked for, given one for every output Tensor."""
        outs, chosen = self.traced.outs, self.traced.chosen
        seeds = []
        for i, s in zip(chosen, _given(lw, sens, len(chosen)), strict=True):
            if i in self.carrying:  # as in eager code, outputs that carry no derivative take any cotangent
                seeds.append(_seed(0 if s is None else s, outs[i].type))
        bare = _bare_numbers(lw, self.traced, self.traced.operands)
        found = self.pulled(lw, self.link, seeds)
        grads = [_as_number(v) if i in bare else TensorVar(v) for i, v in enumerate(found)]
        return grads if self.variables is None else _hooked(lw, self.traced, self.variables, grads)

    def push(self, lw: Lowering, tangents: Sequence[Any]) -> Any:
        """The tangent of the result, given those of the inputs."""
        link = self.forward_link(lw)
        given = [lw.unwrap(t) for t in tangents]
        for x, t in zip(self.traced.operands, given, strict=True):
            if type(t) is not Value or t.type is not x.type:
                raise GradientError(f"the tangent of an argument {x.type} is {t.type if type(t) is Value else t!r}")
        found = self.pulled(lw, link, [t for t in given if differentiable(t.type)])
        return self.traced.part(self.part, self.by_out(found))

    def by_out(self, found: Sequence[Value]) -> dict[int, Any]:
        """Values for the outs that may have a derivative, and zeros for the others, by the number of the out."""
        outs = self.traced.outs
        zeros = {i: trace.builder.const(0, outs[i].type) for i in self.traced.chosen if i not in self.carrying}
        return {i: TensorVar(v) for i, v in (dict(zip(self.carrying, found, strict=True)) | zeros).items()}

    def forward_link(self, lw: Lowering) -> Value:
        """The link whose backward pass is the map of tangents.

        The map of cotangents is linear: at any point, its own map of cotangents is its transpose.
        """
        if self.forward is None:
            types = [self.traced.outs[i].type for i in self.carrying]
            builder = trace.builder.nested(types)
            with builder:
                found = emit_derivative(lw, "pull", (self.link, *builder.block.args), (), ()).results
            seeds = [j for j, v in enumerate(found) if differentiable(v.type)]
            zeros = [trace.builder.const(0, t) for t in types]
            attrs = (tuple(range(len(types))), tuple(seeds), ())
            self.forward = emit_derivative(lw, "linearize", zeros, attrs, (builder.ret(*found),)).results[-1]
        return self.forward

    @staticmethod
    def pulled(lw: Lowering, link: Value, seeds: Sequence[Value]) -> Sequence[Value]:
        scope: Builder | None = trace.builder
        while scope is not None and scope.block is not link.block:
            scope = scope.parent
        if scope is None:
            raise GradientError(
                "a pullback or linear map is called outside of the branch, loop or differentiated function of its run",
                code="AC1710",
                hint="call it there, or make it before",
            )
        assert link.op is not None
        commit_before_backward(lw, link.op.blocks[0])
        return emit_derivative(lw, "pull", (link, *seeds), (), ()).results


def linearise(
    lw: Lowering, fn: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int],
    weights: Sequence[Any] = (), select: Any = None, hooks: bool = False,
) -> Linear:  # fmt: skip
    """Runs ``fn(*args, **kwargs)`` once, for derivatives at that point by the Tensors at `positions` and `weights`.

    With `hooks` what its pullback gives passes the hooks of these.
    """
    linear = linear_of(lw, traced_call(lw, fn, args, kwargs, positions, select), weights, select)
    if hooks:
        linear.variables = [*(args[p] for p in positions), *_of_weights(lw, weights)]
    return linear


def linear_of(lw: Lowering, traced: Traced, weights: Sequence[Any] = (), select: Any = None) -> Linear:
    """Puts a traced call in its place."""
    of_weights = _of_weights(lw, weights)
    carrying = traced.carrying(of_weights)
    attrs = (tuple(range(len(traced.operands))), tuple(carrying), tuple([w.name for w in of_weights]))
    *results, link = emit_derivative(lw, "linearize", traced.operands, attrs, (traced.block,)).results
    part = traced.result if select is None else select(traced.result)
    return Linear(traced, traced.finish(lw, results), part, carrying, link)


# ------------------------------------------------------------------------------------------------ the traced call
def traced_call(
    lw: Lowering, fn: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int], select: Any,
    backward: bool = True,
) -> Traced:  # fmt: skip
    """Compiles the call in a block whose arguments are those at `positions`, each distinct from all other values.

    Inside, they are Tensors of their own, as in eager code: what is written to them is written to the caller's at the
    end.  With `backward` the block is a whole forward pass.
    """
    for p in positions:
        if type(args[p]) not in (TensorVar, StateVar):
            raise GradientError(f"only the derivative by a Tensor can be taken, not by a {describe(args[p])}")
    operands = [lw.unwrap(args[p]) for p in positions]
    builder = trace.builder.nested([v.type for v in operands], [v.name for v in operands])
    lw.reasons.inner(builder.block, operands)
    given = list(args)
    for p, arg in zip(positions, builder.block.args, strict=True):
        given[p] = TensorVar(arg, getattr(args[p], "locked", ""))
    originals = {id(given[p]): args[p] for p in positions}
    with lw.region() as region, _always_raising(lw, region, builder, operands), builder:
        with lw.inputs.standing_in([(given[p], args[p]) for p in positions]), raising_in_block(lw, builder):
            ends = Ends()
            outer, lw.differentiated = lw.differentiated, True
            try:
                result = ends.copy(call(lw, fn, given, kwargs))
            finally:
                lw.differentiated = outer
        outs = [x.value if type(x) is Weak else lw.unwrap(x) for x in _dynamic(result)]
        lw.flush_attributes()
        if backward:
            commit_before_backward(lw, builder.block)
        held_by = {key: ends.copy(content(obj)) for key, (obj, _) in region.saved.items()}
        after = [(obj, held_by[key]) for key, (obj, _) in lw.restore(region).items()]
        perhaps = {
            id(x): lw.ties.may_be(x, region.start)
            for x in (*flatten(result), *(x for _, held in after for x in flatten(held)))
            if type(x) is TensorVar and x.serial >= region.start
        }
    kept = [(obj, held) for obj, held in after if not _is_put_back(lw, obj, held, originals, ends)]
    changes = [(obj, TensorVar(held) if type(obj) is TensorVar else held) for obj, held in kept]
    left = [x.value for _, held in changes for x in flatten(held) if _is_own(x, region.start)]
    part = result if select is None else select(result)
    _check_known(lw, part)
    picked = {id(x) for x in _dynamic(part)}
    dynamic = _dynamic(result)
    chosen = [i for i in _reading_order(result) if id(dynamic[i]) in picked and lw.is_tensor(dynamic[i])]
    block = builder.ret(*outs, *left)
    return Traced(operands, block, result, outs, chosen, changes, originals, region.start, perhaps, ends)


def _check_known(lw: Lowering, part: Any) -> None:
    """Refuses objects from outside with Tensors in what is differentiated: these are no values of this compilation."""
    for leaf in flatten(part):
        held = attributes_of(leaf)
        written = held is not None and any((id(leaf), name) in lw.attributes for name in held)
        if written or (held is not None and next(leaves(leaf), None) is not None):
            raise GradientError(
                f"a differentiated function returns {describe(leaf)}, made outside of it, with Tensors in it",
                hint="return a new object, or the Tensors",
            )


def _reading_order(result: Any) -> list[int]:
    """The numbers of the dynamic leaves as eager code meets them: attributes in the order of their assignment."""
    numbers = itertools.count()
    numbered = map_leaves(lambda x: Weak(next(numbers), int) if is_dynamic(x) else x, result)  # type: ignore[arg-type]

    def go(x: Any) -> Iterator[int]:
        if type(x) is Weak:
            yield x.value  # type: ignore[misc]
        for item in (x.slots.values() if type(x) is LocalObject else elements(x)) or ():
            yield from go(item)

    return list(go(numbered))


def _is_put_back(lw: Lowering, obj: Any, held: Any, originals: dict[int, Any], ends: Ends) -> bool:
    """Whether an object holds what it held at the end of a call, but for what stood for others inside.

    A Tensor that stood for another may differ by hooks: these end with the call.
    """
    if type(obj) is TensorVar:
        return id(obj) in originals and lw.inputs.without_hooks(held) is obj.value
    return type(obj) in (LocalList, LocalDict, LocalObject) and _is_same(content(obj), held, originals, ends)


def _is_same(before: Any, held: Any, originals: dict[int, Any], ends: Ends) -> bool:
    original = ends.original(held)
    if before is original or originals.get(id(held)) is before:
        return True
    if type(before) is not type(held) or type(before) in (LocalList, LocalDict, LocalObject):
        return False
    xs, ys = elements(before), elements(held)
    same = xs is not None and len(xs) == len(ys) and (not isinstance(before, dict) or [*before] == [*held])
    return same and all(_is_same(x, y, originals, ends) for x, y in zip(xs, ys, strict=True))


@contextmanager
def _always_raising(lw: Lowering, region: Region, builder: Builder, operands: Sequence[Value]) -> Iterator[None]:
    """If what is compiled into a block always raises, it does so in the place of the block."""
    try:
        yield
    except Diverged:
        lw.restore(region)
        inline(trace.builder, builder.ret(), operands)
        raise


def _is_own(leaf: Any, start: int) -> bool:
    """Whether a leaf of what an object holds was made by the call that changed it."""
    return type(leaf) in (Weak, ArrayVar) or (type(leaf) is TensorVar and leaf.serial >= start)


def _set(lw: Lowering, original: Any, obj: Any, held: Any) -> None:
    """Gives an object of compile time, or what it stood for, the content that a differentiated call left."""
    if type(original) is TensorVar:
        lw.write(original, held.value)
    elif type(original) is StateVar:
        assign_state(lw, original, held)
    else:  # what is tied to it has been changed inside of the call, too
        if type(obj) is TensorVar:
            lw.inputs.note_write(obj)
        lw.touch(obj)
        set_content(obj, held.value if type(obj) is TensorVar else held)


def _dynamic(result: Any) -> list[Any]:
    """The leaves of a result that are known only at run time, in order."""
    return [x for x in flatten(result) if is_dynamic(x)]


def _seeds(
    lw: Lowering, traced: Traced, weights: Sequence[StateVar], select: Any, sens: Any
) -> tuple[tuple[int, ...] | None, list[Value]]:
    """Which results are seeded and with what: given cotangents, or ones for every result that may have a derivative."""
    outs, chosen = traced.outs, traced.chosen
    if sens is None and select is None and traced.count == len(outs):
        return None, []
    carrying = traced.carrying(weights)
    if sens is None:
        return tuple(carrying), [trace.builder.const(1, outs[p].type) for p in carrying]
    given = _given(lw, sens, len(chosen))
    # As in eager code, outputs that carry no derivative take any cotangent.
    seeded = [(p, s) for p, s in zip(chosen, given, strict=True) if s is not None and p in carrying]
    return tuple([p for p, _ in seeded]), [_seed(s, outs[p].type) for p, s in seeded]


def _given(lw: Lowering, sens: Any, count: int) -> list[Any]:
    """The cotangents given for a number of outputs."""
    given = [s.value if type(s) is Weak else lw.unwrap(s) for s in flatten(sens)]
    if len(given) != count:
        raise GradientError(f"there are {count} output tensors, but {len(given)} cotangents")
    return given


def _seed(given: Any, type_: Any) -> Value:
    """A cotangent in the type of its output; a number stands for all elements."""
    if isinstance(given, np.generic):
        given = given.item()
    if isinstance(given, bool | int | float):
        return trace.builder.const(given, type_)
    if type(given) is not Value:
        raise GradientError(f"the cotangent of an output must be a Tensor, not {describe(given)}")
    if given.shape != type_.shape:
        raise GradientError(f"the output has shape {list(type_.shape)}, but its cotangent has {list(given.shape)}")
    return given if given.type is type_ else F.cast(given, dtype=type_.dtype)
