"""Derivatives inside compiled code: the differentiated function becomes the block of a `grad` op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import GradientError, SideEffectError
from ..ir.core import Block, Value
from ..ir.primitive import REGISTRY, F, trace
from .calls import call
from .lowering import Lowering
from .values import OUTSIDE, StateVar, TensorVar, Weak, describe, flatten, map_leaves

__all__ = ["Traced", "differentiate", "push_forward", "traced_call"]


@dataclass
class Traced:
    """A differentiated call: its inputs, its block, and what it returned (in terms of the block's values)."""

    operands: list[Value]
    block: Block
    result: Any
    outs: list[Value]
    #: numbers of the outs that are differentiated
    chosen: list[int]

    def returned(self, results: Sequence[Value]) -> Any:
        """What the call returned, in terms of the results of the `grad` op."""
        values: Iterator[Value] = iter(results)
        return map_leaves(lambda v: _rewrap(v, values), self.result)

    def part(self, part: Any, of_outs: dict[int, Any]) -> Any:
        """A part of the result with something else in place of the outs."""
        places = {id(leaf): i for i, leaf in enumerate(_dynamic(self.result))}
        return map_leaves(lambda v: of_outs[places[id(v)]] if id(v) in places else v, part)


def differentiate(
    lw: Lowering, fn: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int],
    weights: Sequence[Any] = (), select: Any = None, sens: Any = None,
) -> tuple[Any, list[Any], list[Any]]:  # fmt: skip
    """``fn(*args, **kwargs)`` and its derivatives by the arguments at `positions` and the Parameters `weights`.

    ``select(result)`` picks the part of the result that is differentiated (default: all of it); `sens` gives its
    cotangents (default: ones).  Returns the result, the gradients by position and the gradients of `weights`.
    """
    traced = traced_call(lw, fn, args, kwargs, positions, select)
    seeds, seed_values = _seeds(lw, traced, select, sens)
    states = tuple(lw.outside.state(w).name for w in weights)
    attrs = (tuple(range(len(positions))), seeds, states, False)
    op = trace.builder.emit_op(REGISTRY["grad"], (*traced.operands, *seed_values), attrs, (traced.block,))
    n, k = len(traced.outs), len(positions)
    grads = [TensorVar(v) for v in op.results[n:]]
    return traced.returned(op.results[:n]), grads[:k], grads[k:]


def push_forward(
    lw: Lowering, fn: Any, args: Sequence[Any], positions: Sequence[int], tangents: Sequence[Any], select: Any = None
) -> tuple[Any, Any]:
    """``fn(*args)`` and the tangent of (the selected part of) its result, given those of some arguments."""
    traced = traced_call(lw, fn, args, {}, positions, select)
    given = [lw.unwrap(t) for t in tangents]
    for x, t in zip(traced.operands, given, strict=True):
        if t.type is not x.type:
            raise GradientError(f"the tangent of an argument {x.type} is {t.type}")
    floats = [i for i in traced.chosen if traced.outs[i].dtype.is_float]
    attrs = (tuple(range(len(positions))), tuple(floats), (), True)
    op = trace.builder.emit_op(REGISTRY["grad"], (*traced.operands, *given), attrs, (traced.block,))
    n = len(traced.outs)
    by_out = dict(zip(floats, op.results[n:], strict=True))
    zeros = {i: trace.builder.const(0, traced.outs[i].type) for i in traced.chosen if i not in by_out}
    part = traced.result if select is None else select(traced.result)
    tangent = {i: TensorVar(v) for i, v in (by_out | zeros).items()}
    return traced.returned(op.results[:n]), traced.part(part, tangent)


def traced_call(
    lw: Lowering, fn: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int], select: Any
) -> Traced:
    """Compiles the call in a block whose arguments are those at `positions`, each distinct from all other values."""
    for p in positions:
        if type(args[p]) not in (TensorVar, StateVar):
            raise GradientError(f"only the derivative by a Tensor can be taken, not by a {describe(args[p])}")
    operands = [lw.unwrap(args[p]) for p in positions]
    loc = trace.builder.loc
    builder = trace.builder.nested([v.type for v in operands], [v.name for v in operands])
    given = list(args)
    for p, arg in zip(positions, builder.block.args, strict=True):
        given[p] = TensorVar(arg, OUTSIDE)
    with lw.region() as region, builder:
        result = call(lw, fn, given, kwargs)
        if region.saved:
            lw.restore(region)
            raise SideEffectError("a function that is differentiated changes an object made outside of it", loc=loc)
        outs = [x.value if type(x) is Weak else lw.unwrap(x) for x in _dynamic(result)]
    picked = {id(x) for x in _dynamic(result if select is None else select(result))}
    chosen = [i for i, x in enumerate(_dynamic(result)) if id(x) in picked]
    return Traced(operands, builder.ret(*outs), result, outs, chosen)


def _dynamic(result: Any) -> list[Any]:
    """The leaves of a result that are known only at run time, in order."""
    return [x for x in flatten(result) if type(x) in (TensorVar, StateVar, Weak)]


def _rewrap(leaf: Any, values: Iterator[Value]) -> Any:
    if type(leaf) is Weak:
        return Weak(next(values), leaf.kind)
    if type(leaf) in (TensorVar, StateVar):
        return TensorVar(next(values), getattr(leaf, "locked", OUTSIDE))
    return leaf


def _seeds(lw: Lowering, traced: Traced, select: Any, sens: Any) -> tuple[tuple[int, ...] | None, list[Value]]:
    """Which results are seeded and with what: given cotangents, or ones for every float result."""
    outs, chosen = traced.outs, traced.chosen
    if sens is None and select is None:
        return None, []
    if sens is None:
        floats = [p for p in chosen if outs[p].dtype.is_float]
        return tuple(floats), [trace.builder.const(1, outs[p].type) for p in floats]
    given = [s.value if type(s) is Weak else lw.unwrap(s) for s in flatten(sens)]
    if len(given) != len(chosen):
        raise GradientError(f"there are {len(chosen)} output tensors, but {len(given)} cotangents")
    # As in eager code, outputs that carry no derivative take any cotangent.
    seeded = [(p, s) for p, s in zip(chosen, given, strict=True) if s is not None and outs[p].dtype.is_float]
    return tuple([p for p, _ in seeded]), [_seed(s, outs[p].type) for p, s in seeded]


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
