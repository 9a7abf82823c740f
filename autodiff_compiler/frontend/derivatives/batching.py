"""`vmap` and whole Jacobians inside compiled code: the function's block becomes that of a `vmap` op."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...autodiff.activity import differentiable
from ...autodiff.batch import changes_something, one_by_one
from ...dtypes import DType
from ...errors import DynamicShapeError, SideEffectError
from ...ir.build import Builder
from ...ir.core import Block, Value
from ...ir.primitive import REGISTRY, F, trace
from ...ir.types import Shape, Size, TensorType, dim_product, known_same, tensor
from ...ir.walk import inline, ops_of
from ..effects.exceptions import raising_in_block
from ..variables.calls import call
from ..variables.structure import flatten, map_leaves
from ..variables.values import OUTSIDE, TensorVar, class_of, describe, is_tensor
from .context import DerivativeContext
from .grad import linear_of, linearise
from .traced import (
    Traced,
    always_raising,
    emit_derivative,
    made_at,
    refuse_open_sizes,
    refuse_unknown_ranks,
    traced_call,
)


# ---------------------------------------------------------------------------------------------------------- vmap
def vectorised(ctx: DerivativeContext, fn: Any, args: tuple[Any, ...], flags: Sequence[bool]) -> Any:
    """``fn`` for every slice along the first dimension of the flagged Tensors; the results stacked along a new one.

    `flags` has a bool per leaf of `args`.
    """
    operands = [ctx.unwrap(x) for x, flag in zip(flatten(args), flags, strict=True) if flag]
    size = operands[0].shape[0]
    loc = trace.builder.loc
    types = [tensor(v.dtype, v.shape[1:]) for v in operands]
    builder: Builder = trace.builder.nested(types, [v.name for v in operands])
    slices, marks = iter(builder.block.args), iter(flags)
    given = map_leaves(lambda x: TensorVar(next(slices), OUTSIDE) if next(marks) else x, args)
    first = partial(_in_turn, operands=operands, size=size)  # of the slices raises what always does
    with ctx.effects.region() as region, always_raising(ctx, region, builder, first), builder:
        with raising_in_block(ctx, builder):
            result = call(ctx, fn, list(given), {})
        if region.saved:
            ctx.effects.restore(region)
            places = ((region.first_change, "changed here"), (loc, "vectorised here"))
            raise SideEffectError(
                "a function that is vectorised changes an object made outside of it",
                spans=[(place, note) for place, note in places if place is not None],
                hint="return the value, which is stacked",
            )
        refuse_unknown_ranks(ctx, result, "results of all examples are stacked")
        outs = [ctx.unwrap(_tensor(x)) for x in _leaves(result)]
        _refuse_own_sizes(outs, builder)
    values = iter(_vectorised_block(builder.ret(*outs), operands, size))
    return map_leaves(lambda x: x if is_one_for_all(x) else TensorVar(next(values)), result)


def is_one_for_all(x: Any) -> bool:
    """Whether a leaf of the results is no array, and the same for all examples: None, and a str as a name is."""
    return x is None or class_of(x) is str


def _refuse_own_sizes(outs: Sequence[Value], builder: Builder) -> None:
    """Refuses results with sizes of data that each example has of its own: they cannot be stacked."""
    around = builder.parent
    for x in outs:
        if around is None or all(around.sees(d) for d in x.shape):
            continue
        raise DynamicShapeError(
            "the size of a result of a vectorised function depends on data, and the results are stacked",
            spans=made_at(x),
            hint="keep the shape (`ops.where`, `masked_fill`), or select by a mask outside of the function",
        )


def _leaves(result: Any) -> list[Any]:
    found: list[Any] = []
    map_leaves(lambda x: None if is_one_for_all(x) else found.append(x), result)
    return found


def _tensor(x: Any) -> Any:
    if is_tensor(x):
        return x
    raise TypeError(f"a function under vmap must return Tensors, not a {describe(x)}")


# ----------------------------------------------------------------------------------------------------- Jacobians
def reverse_jacobian(
    ctx: DerivativeContext, fn: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int], select: Any,
    bare: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """The result of ``fn(*args, **kwargs)``, and for (the selected part of) it ``bare(Jacobians by position)`` per
    Tensor.

    The function runs once; the backward pass runs for all elements of the result at once.
    """
    linear = linearise(ctx, fn, args, kwargs, positions, (), select)
    refuse_open_sizes(linear.traced, "its Jacobian")
    outs, wrt = linear.traced.outs, [_type(v) for v in linear.traced.operands]
    types = [_type(outs[i]) for i in linear.carrying]
    starts = dict(zip(linear.carrying, _starts(types), strict=True))
    some = sum(map(_count, types)) > 0
    rows = _for_each_direction(types, lambda seeds: linear.pulled(ctx, linear.link, seeds)) if some else []

    def jacobians(i: int) -> tuple[Any, ...]:
        shape = outs[i].shape
        if i not in starts or not some:
            return tuple([_zeros(x.dtype, (*shape, *x.shape)) for x in wrt])
        of_out = [_rows(r, starts[i], _count(_type(outs[i]))) for r in rows]
        return tuple([TensorVar(F.reshape(r, shape=(*shape, *x.shape))) for r, x in zip(of_out, wrt, strict=True)])

    return linear.result, linear.traced.part({i: bare(jacobians(i)) for i in linear.traced.chosen})


def forward_jacobian(
    ctx: DerivativeContext, fn: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int], select: Any,
    bare: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Like `reverse_jacobian`, by tangents along all elements of the arguments at once."""
    traced = traced_call(ctx, fn, args, kwargs, positions, select)
    refuse_open_sizes(traced, "its Jacobian")
    wrt = [_type(v) for v in traced.operands]
    carrying = traced.carrying()
    result, columns = (_pushed if _acts(traced) else _carried)(ctx, traced, wrt, carrying)
    by_out = dict(zip(carrying, columns, strict=True))

    def jacobians(i: int) -> tuple[Any, ...]:
        shape = traced.outs[i].shape
        dtype = _type(traced.outs[i]).dtype
        found = []
        for x, start in zip(wrt, _starts(wrt), strict=True):
            if i not in by_out or x.dtype.is_bool:
                found.append(_zeros(x.dtype if dtype.is_bool or x.dtype.is_bool else dtype, (*shape, *x.shape)))
                continue
            part = _rows(by_out[i], start, _count(x))
            if shape:
                part = F.transpose(part, axes=(*range(-len(shape), 0), -part.ndim))
            found.append(TensorVar(F.reshape(part, shape=(*shape, *x.shape))))
        return tuple(found)

    return result, traced.part({i: bare(jacobians(i)) for i in traced.chosen})


def _acts(traced: Traced) -> bool:
    """Whether the traced call has side effects, which happen once and in their place."""
    acts = any(changes_something(op) and op.defn.name not in ("raise", "assert") for op in ops_of(traced.block))
    return acts or bool(traced.changes)


def _carried(
    ctx: DerivativeContext, traced: Traced, wrt: Sequence[TensorType], carrying: list[int]
) -> tuple[Any, list[Value]]:
    """The result of a pure function and its tangents for all directions, carried along with the values."""
    attrs = (tuple(range(len(wrt))), tuple(carrying), (), True, ())

    def run(tangents: Sequence[Value]) -> Sequence[Value]:
        return emit_derivative(ctx, "grad", (*traced.operands, *tangents), attrs, (traced.block,)).results

    found, n = _for_each_direction(wrt, run), traced.count
    return traced.finish(ctx, [F.reshape(_rows(v, 0, 1), shape=v.shape[1:]) for v in found[:n]]), found[n:]


def _pushed(
    ctx: DerivativeContext, traced: Traced, wrt: Sequence[TensorType], carrying: list[int]
) -> tuple[Any, list[Value]]:
    """The result of a function that runs on its own, and then its tangents for all directions."""
    linear = linear_of(ctx, traced)
    link = linear.forward_link(ctx)
    columns = _for_each_direction(wrt, lambda ts: linear.pulled(ctx, link, [t for t in ts if differentiable(t.type)]))
    return linear.result, columns


def _type(x: Value) -> TensorType:
    assert isinstance(x.type, TensorType)
    return x.type


def _count(type_: TensorType) -> Size:
    return dim_product(type_.shape)


def _starts(types: Sequence[TensorType]) -> list[Size]:
    return [0, *itertools.accumulate(map(_count, types))][:-1]


def _for_each_direction(types: Sequence[TensorType], run: Callable[[Sequence[Value]], Sequence[Value]]) -> list[Value]:
    """What `run` emits once per element of tensors of `types`, that element being 1 and the others 0: stacked."""
    size = max(1, sum(map(_count, types)))
    directions = [_units(t, start, size) for t, start in zip(types, _starts(types), strict=True)]
    builder = trace.builder.nested(types)
    with builder:
        block = builder.ret(*run(builder.block.args))
    return _vectorised_block(block, directions, size)


def _vectorised_block(block: Block, operands: Sequence[Value], size: Any) -> list[Value]:
    """A block for every slice of the operands: all at once, but in turn if it does something that is seen outside."""
    if any(map(changes_something, ops_of(block))):
        return _in_turn(block, operands, size)
    return trace.builder.emit_op(REGISTRY["vmap"], operands, (size,), (block,)).results


def _in_turn(block: Block, operands: Sequence[Value], size: Any) -> list[Value]:
    return one_by_one(trace.builder, operands, lambda inner, slices: inline(inner, block, slices), size)


def _units(type_: TensorType, start: Size, size: Size) -> Value:
    """For each of `size` directions a tensor of the type: zeros, but for one 1 from direction `start` on."""
    count = _count(type_)
    eye = F.eye(rows=count, columns=count, dtype=type_.dtype)
    if not known_same((count,), (size,)):
        eye = F.pad(eye, before=(start, 0), after=(size - start - count, 0))
    return F.reshape(eye, shape=(size, *type_.shape))


def _rows(x: Value, start: Size, count: Size) -> Value:
    if known_same((start, count), (0, x.shape[0])):
        return x
    return F.slice(x, axes=(-x.ndim,), starts=(start,), stops=(start + count,), steps=(1,))


def _zeros(dtype: DType, shape: Shape) -> TensorVar:
    return TensorVar(trace.builder.const(0, tensor(dtype, shape)))
