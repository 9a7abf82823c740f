"""What is computed of the elements under a mask is computed of all, and chosen by the mask: no size depends on data.

``x[m].sum()`` gathers as many elements as data say, which only NumPy does.  As ``where(m, x, 0).sum()`` it is one loop
of machine code.  Where a mask does not hold, every operand is 1, and what comes of it is dropped: neither NaN nor an
infinite derivative of an element that is not selected reaches a result or a gradient.

Before derivatives are taken, and where every size of data of a function goes: otherwise NumPy runs the program, and
gathers.  Sums are added in another order, so this is not done for programs that are asked of NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..dtypes import int64
from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import F, kernel_of
from ..ir.sizes import Size, Symbol, symbol_of
from ..ir.types import TensorType, dim_product, same_dim, tensor
from ..ir.walk import SIZES, Cloner, ops_of, symbols_in, symbols_of_type, uses
from ..primitives.family import where_else
from .manager import module_pass

_STEP, _STEEP = 1e-8, 1e3


@module_pass("under_mask")
def under_mask(module: Module) -> Module:
    """The same program without sizes of data, where these are numbers of elements under masks."""
    new = module.like()
    for function in module:
        plan = _plan(function)
        new.add(function if plan is None else _masked(function, new, plan))
    return new


def selects(module: Module) -> bool:
    """Whether there is anything that the pass may change."""
    return any(op.defn.name == "places" for function in module for op in ops_of(function.body))


@dataclass
class _Plan:
    """The masks by the symbols of how many elements they select; and the ops that nobody needs then."""

    masks: dict[Symbol, Value] = field(default_factory=dict)
    dropped: set[Op] = field(default_factory=set)
    #: the positions of the selected elements, by the values that hold them
    places: dict[Value, Symbol] = field(default_factory=dict)


def _plan(function: Function) -> _Plan | None:
    """What there is to do in a function; None if something needs the elements one behind the other."""
    ops = [*ops_of(function.body)]
    plan = _Plan()
    for op in ops:
        if op.defn.name == "bind_size" and not _add(plan, op):
            return None
    if not plan.masks:
        return None
    users = uses(function)
    for block in (function.body, *(b for op in ops for b in op.blocks)):
        if any(True for x in (*block.args, *block.outs) for _ in symbols_of_type(x.type)):
            return None
    if not all(_may_be_masked(plan, op) for op in ops if op not in plan.dropped):
        return None
    gathers = ("gather", "scatter_update")
    for x in plan.places:
        if not all(type(user) is Op and user.defn.name in gathers and at == 1 for user, at in users.get(x, ())):
            return None
    for op in plan.dropped:
        if op.defn.name != "with_sizes" and not all(
            type(user) is Op and (user in plan.dropped or user.defn.name == "bind_size")
            for x in op.results
            for user, _ in users.get(x, ())
        ):
            return None
    return plan


def _add(plan: _Plan, bind: Op) -> bool:
    """Adds what an op binds to the plan; False if that is no number of elements under a mask."""
    at = bind.operands[0].op
    places = at.operands[0].op if at is not None and at.defn.name == "size_at" else None
    symbol = symbol_of(bind.attrs[0])
    if at is None or places is None or places.defn.name != "places" or symbol is None:
        return False
    plan.masks[symbol] = places.operands[0]
    plan.dropped |= {at, places}
    return True


def _may_be_masked(plan: _Plan, op: Op) -> bool:
    """Whether an op is one of those that can be computed for all elements, or has nothing to do with masks."""
    name = op.defn.name
    beside = () if name == "with_sizes" else op.operands  # which takes positions of an erased number
    symbols = {*symbols_in(op), *(s for x in beside for s in symbols_of_type(x.type))}
    if not symbols or name == "bind_size":
        return True
    if not symbols <= plan.masks.keys() or len(symbols) > 1:
        return False
    (symbol,) = symbols
    if name == "with_sizes":
        source = op.operands[0].op
        if source not in plan.dropped:
            return False
        plan.dropped.add(op)
        plan.places[op.results[0]] = symbol
        return True
    if name == "gather":
        x, at = op.operands
        n = dim_product(plan.masks[symbol].shape)
        return plan.places.get(at) is symbol and same_dim(x.shape[op.attr("axis")], n)
    if name == "scatter_update":
        return plan.places.get(op.operands[1]) is symbol and bool(_axis(op.operands[2], symbol) == op.attr("axis"))
    if name == "sum":
        return _axis(op.operands[0], symbol) in op.attr("axes")
    if name == "shape_of":
        return bool(_axis(op.operands[0], symbol) == op.attr("axis"))
    if name == "size_value":
        return symbol_of(op.attrs[0]) is symbol
    if name in ("const", "broadcast_to", "cast"):
        return _axis(op.results[0], symbol) is not None
    return op.defn.scalar is not None and _axis(op.results[0], symbol) is not None and _tame(op)


def _axis(x: Value, symbol: Symbol) -> int | None:
    """The axis along which the selected elements lie, counted from the last; None if that is not one axis."""
    if not isinstance(x.type, TensorType):
        return None
    shape = x.type.shape
    found = [i - len(shape) for i, n in enumerate(shape) if any(s is symbol for s in symbols_of_type((n,)))]
    return found[0] if len(found) == 1 and symbol_of(shape[found[0]]) is symbol else None


# ------------------------------------------------------------------------------------------------ where it is safe
def _tame(op: Op) -> bool:
    """Whether a formula and its derivatives are finite where the operands that are not constant are 1."""
    given = tuple([None if x.constant is None else float(x.constant) for x in op.operands])
    defn: Any = op.defn  # mypy takes no class for hashable
    return not op.results[0].dtype.is_float or _finite_at_ones(defn, given, op.attrs)


@functools.lru_cache(1024)
def _finite_at_ones(defn: Any, given: tuple[float | None, ...], attrs: tuple[Any, ...]) -> bool:
    """Whether it is: the values beside 1 are finite, too, and near."""
    kernel = kernel_of(defn)
    named = dict(zip(defn.schema, attrs, strict=True))
    moving = [i for i, x in enumerate(given) if x is None]
    ones = [1.0 if x is None else x for x in given]
    with np.errstate(all="ignore"):
        try:
            middle = np.asarray(kernel(*map(np.asarray, ones), **named), np.float64)
            beside = [
                np.asarray(kernel(*[np.asarray(x + h * (i == k)) for i, x in enumerate(ones)], **named), np.float64)
                for k in moving
                for h in (-_STEP, _STEP)
            ]
        except (TypeError, ValueError, IndexError):  # of other operands than numbers
            return False
    return bool(abs(middle) < np.inf) and all(np.abs(x - middle) < _STEP * _STEEP for x in beside)


# ------------------------------------------------------------------------------------------------ the program
def _masked(function: Function, module: Module, plan: _Plan) -> Function:
    body = Block.like(function.args)
    builder = Builder(body, module=module)
    cloner = _Masker(builder, dict(zip(function.args, body.args, strict=True)), plan)
    builder.ret(*cloner.clone_ops(function.body))
    return Function(function.name, body, function.loc)


class _Masker(Cloner):
    def __init__(self, builder: Builder, mapping: dict[Any, Any], plan: _Plan) -> None:
        super().__init__(builder, mapping)
        self.plan = plan

    def nested(self, builder: Builder) -> Cloner:
        return _Masker(builder, self.mapping, self.plan)

    def clone_op(self, op: Op) -> None:
        if op in self.plan.dropped:
            return
        self.builder.loc = op.loc
        symbol = next(self._symbols(op), None)
        made = None if symbol is None or op.defn.infer_blocks is not None else self._all_elements(op, symbol)
        if made is None:
            super().clone_op(op)
        else:
            self.map_results(op, [made])

    @staticmethod
    def _symbols(op: Op) -> Iterator[Symbol]:
        yield from symbols_in(op)
        for x in op.operands:
            yield from symbols_of_type(x.type)

    def _all_elements(self, op: Op, symbol: Symbol) -> Value | None:
        """The op for all elements; None if it is the same."""
        name = op.defn.name
        operands: list[Value] = [self.mapping.get(x, x) for x in op.operands]
        if name == "bind_size":
            self.mapping[SIZES] = {**self.mapping.get(SIZES, {}), symbol: self._size(symbol)}
            return self._count(symbol)
        if name in ("shape_of", "size_value"):
            return self._count(symbol)
        if name == "gather":
            return operands[0]
        if name == "scatter_update":
            return self._where(symbol, operands[2], operands[0], op.attr("axis"))
        axis = _axis(op.operands[0], symbol) if op.operands else None
        if name == "sum":
            assert axis is not None
            zeros = self.builder.const(0, tensor(operands[0].dtype, operands[0].shape))
            chosen = self._where(symbol, operands[0], zeros, axis)
            found: Value = self.builder.emit(op.defn, (chosen,), op.attrs)
            return found
        if op.defn.scalar is None:
            return None
        ones = tuple([self._or_ones(symbol, x, old) for x, old in zip(operands, op.operands, strict=True)])
        made: Value = self.builder.emit(op.defn, ones, self.renamed(op.attrs))
        return made

    def _or_ones(self, symbol: Symbol, x: Value, old: Value) -> Value:
        """An operand with 1 for what the mask does not select."""
        axis = _axis(old, symbol)
        if x.constant is not None or axis is None:
            return x
        return self._where(symbol, x, self.builder.const(1, tensor(x.dtype, x.shape)), axis)

    def _mask(self, symbol: Symbol) -> Value:
        mask = self.plan.masks[symbol]
        found: Value = self.mapping.get(mask, mask)
        return found

    def _size(self, symbol: Symbol) -> Size:
        return dim_product(self._mask(symbol).shape)

    def _count(self, symbol: Symbol) -> Value:
        """How many elements a mask selects."""
        mask = self._mask(symbol)
        with self.builder:
            found: Value = F.sum(F.cast(mask, dtype=int64, linear=False), axes=tuple(range(-mask.ndim, 0)))
        return found

    def _where(self, symbol: Symbol, x: Value, y: Value, axis: int) -> Value:
        """x where the mask selects it, along an axis, else y."""
        shape = x.shape
        beside = tuple([self._size(symbol) if i == axis else 1 for i in range(-len(shape), 0)])
        with self.builder:
            found: Value = where_else(F.reshape(self._mask(symbol), shape=beside), x, y)
        return found
