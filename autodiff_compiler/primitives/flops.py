"""Counts of floating-point operations (flops) per op: the figures behind estimates of cost.

`+ - * /`, comparisons, choices, minima, and each step of a reduction count as one operation per element, copies and
casts as none; a product of matrices and a convolution count two per multiplication, with those of padding.  A function
such as exp counts what its class says: additions and multiplications of a polynomial in float32 and what leads to it,
in round numbers, so that figures of different programs compare.  Division and square root count one, however long they
take.  Where sizes are symbolic, counts are formulas of the symbols.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..ir.build import Builder
from ..ir.core import Attrs, Block, Op
from ..ir.primitive import REGISTRY, UFUNCS, Context, Primitive
from ..ir.sizes import Size, bit_length, smallest
from ..ir.types import TensorType, TupleType, Type, dim_product


# ------------------------------------------------------------------------------------------------ rules of classes
def size_of_type(x: Type) -> Size:
    """How many elements a tensor has."""
    assert isinstance(x, TensorType)
    return dim_product(x.shape)


def bytes_of_type(x: Type) -> Size:
    """The bytes of tensors, those in tuples too; of sequences, whose length only a call knows, none."""
    if isinstance(x, TupleType):
        return sum(map(bytes_of_type, x.elems), 0)
    return size_of_type(x) * x.dtype.itemsize if isinstance(x, TensorType) else 0


def per_operand(x: TensorType, *_: TensorType, **__: Any) -> Size:
    """One for each element of the first operand: a reduction."""
    return size_of_type(x)


def per_update(x: TensorType, index: TensorType, updates: TensorType, **_: Any) -> Size:
    """One for each element that is put at a position."""
    return size_of_type(updates)


def sorted_by_comparing(x: TensorType, *, axis: int, **_: Any) -> Size:
    """n log2 n for each row, the logarithm rounded up."""
    return size_of_type(x) * bit_length(x.shape[axis] - 1)


def cubes(factor: int, divisor: int = 1) -> Callable[..., Size]:
    """``factor / divisor`` times m n min(m, n) for each matrix, m by n, rounded down: factorisations."""

    def rule(x: TensorType, *_: TensorType, **__: Any) -> Size:
        return size_of_type(x) * smallest(*x.shape[-2:]) * factor // divisor

    return rule


# ------------------------------------------------------------------------------------------------ ops
def flops_of(op: Op) -> Size:
    """The operations of one op; of control flow only those of the op itself, which are none."""
    if op.blocks or not op.results or not all(isinstance(x.type, TensorType) for x in (*op.operands, *op.results)):
        return 0
    return _counted(op.defn.name, tuple([x.type for x in op.operands]), op.attrs, op.results[0].type)


@lru_cache(4096)
def _counted(name: str, types: tuple[Type, ...], attrs: Attrs, result: Type) -> Size:
    defn = REGISTRY[name]
    if callable(defn.flops):
        found: Size = defn.flops(*types, **dict(zip(defn.schema, attrs, strict=True)))
        return found
    if defn.flops is not None:
        return defn.flops * size_of_type(result)
    if defn.scalar is not None:
        count = flops_of_functions()
        return sum(count.get(f, 1) for f in _of_formula(name, len(types), attrs)) * size_of_type(result)
    return sum(map(flops_of, _parts(defn, types, attrs)), 0) if defn.decomposed is not None else 0


def _parts(defn: type[Primitive], types: tuple[Type, ...], attrs: Attrs) -> list[Op]:
    """The ops that the op is made up of, where it can be."""
    assert defn.decomposed is not None
    with Builder(Block(types)) as builder:
        defn.decomposed(Context(defn, attrs, (), ()), *builder.block.args)
    return builder.block.ops


def flops_of_functions() -> dict[str, int]:
    """What functions in formulas count, where that is not one, by NumPy's names: the `flops` of the op that each is."""
    counts = {ufunc.__name__: REGISTRY[name].flops for ufunc, name in UFUNCS.items() if name in REGISTRY}
    return {function: count for function, count in counts.items() if isinstance(count, int)}


def functions_of(op: Op) -> tuple[str, ...]:
    """The functions of NumPy that an op calls one after the other: those of its formula, or about those of its kernel.

    Of a kernel only their number is known: they are called "kernel".
    """
    if op.defn.scalar is not None and op.defn.numpy is None:
        return _of_formula(op.defn.name, len(op.operands), op.attrs)
    return ("kernel",) * _calls_in(op.defn.numpy) if op.defn.numpy is not None else ()


@lru_cache(1024)
def _of_formula(name: str, operands: int, attrs: Attrs) -> tuple[str, ...]:
    defn, notes = REGISTRY[name], _Notes()
    assert defn.scalar is not None
    defn.scalar(notes, *[_Number(notes) for _ in range(operands)], **dict(zip(defn.schema, attrs, strict=True)))
    return tuple(notes.functions)


@lru_cache(1024)
def _calls_in(kernel: Callable[..., Any]) -> int:
    code = getattr(kernel, "__code__", None)
    steps = dis.get_instructions(code) if code is not None else ()
    return max(1, sum(step.opname.startswith(("CALL", "BINARY_OP")) for step in steps))


class _Notes:
    """A kernel builder `k` that records the functions a formula calls."""

    def __init__(self) -> None:
        self.functions: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        return (lambda *_: self.note(name)) if callable(found) else found

    def note(self, name: str) -> _Number:
        self.functions.append(name)
        return _Number(self)


class _Number:
    """What a formula computes with."""

    __slots__ = ("notes",)

    def __init__(self, notes: _Notes) -> None:
        self.notes = notes


def _add_operators() -> None:
    def noted(name: str) -> Callable[..., _Number]:
        return lambda x, *_: x.notes.note(name)

    functions = {"pow": "power", "mod": "remainder", "floordiv": "floor_divide"}
    two = ("add", "sub", "mul", "truediv", "and", "or", "xor", *functions)
    for slot in (*two, *[f"r{slot}" for slot in two], "lt", "le", "gt", "ge", "eq", "ne", "neg", "abs", "invert"):
        setattr(_Number, f"__{slot}__", noted(functions.get(slot.removeprefix("r"), slot)))


_add_operators()
