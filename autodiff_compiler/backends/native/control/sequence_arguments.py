"""Sequences that enter or leave a program: what the forward part of a recorded call keeps for its backward part.

Outside, a sequence is an array with a leading dimension for the trips (of tuples: a tuple of arrays), whose size only
the call knows.  So the program is passed a descriptor instead, integers with the length and the address of each array,
and it returns collected sequences through a callback before it ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....dtypes import int64
from ....ir.types import Seq, TensorType, TupleType, Type, tensor
from ..codegen.values import Sequence as Collected
from ..codegen.values import row_major
from ..kernels.host_calls import View, call_python
from ..memory.sequences import leaves, note_sequence, row_tensors
from .sequence_ops import anchored

if TYPE_CHECKING:
    from ....ir.core import Value
    from ..lower import Lowering


class _Given(threading.local):
    """The sequences that the programs running in this thread have returned, the innermost call last."""

    def __init__(self) -> None:
        self.calls: list[list[Any]] = []


_given = _Given()


def leave(low: Lowering, outs: Sequence[Value]) -> None:
    """Emits the callback that copies the sequences out."""
    types, tables = [], []
    for out in outs:
        assert isinstance(out.type, Seq)
        row_tensors(out.type)
        table = low.array(tensor(int64, (1 + 2 * len(leaves(out.type.elem)),)))
        operand = low.env[out]
        if isinstance(operand, Collected):
            operand = anchored(low, operand, escapes=False)
            low.touch(operand)
        note_sequence(low, operand, out.type, table.base)
        types.append(out.type)
        tables.append(table)

    def give(*tables: Any) -> tuple[()]:
        _given.calls[-1] += [_copied(type.elem, table) for type, table in zip(types, tables, strict=True)]
        return ()

    call_python(low, give, tables, [])


def _copied(elem: Type, table: Any) -> Any:
    length, *places = table.tolist()
    pairs = iter(zip(places[::2], places[1::2], strict=True))
    return _array(elem, length, pairs)


def _array(elem: Type, length: int, pairs: Iterator[tuple[int, int]]) -> Any:
    if isinstance(elem, TupleType):
        return tuple([_array(t, length, pairs) for t in elem.elems])
    place, step = next(pairs)
    assert isinstance(elem, TensorType)
    rows = tensor(elem.dtype, (length, *elem.shape))
    strides = row_major(elem.shape, elem.dtype.itemsize)
    if length == 0:
        return np.empty(rows.shape, elem.dtype.numpy)
    return np.array(View(rows, (step, *strides)).at(place))


def with_sequences(
    run: Callable[..., Any], arguments: Sequence[Type], results: Sequence[Type]
) -> Callable[..., tuple[Any, ...]]:
    """Wraps a program: sequences are arrays with a leading dimension, converted to and from descriptors."""
    places = [(i, type) for i, type in enumerate(arguments) if isinstance(type, Seq)]

    def call(*arrays: Any) -> tuple[Any, ...]:
        given, kept = list(arrays), list[Any]()
        for i, type in places:
            given[i] = _described(type, arrays[i], kept)
        handed: list[Any] = []
        _given.calls.append(handed)
        try:
            found = iter(run(*given))
        finally:
            _given.calls.pop()
        sequences = iter(handed)
        return tuple([next(sequences if isinstance(type, Seq) else found) for type in results])

    return call


def _described(type: Seq, value: Any, kept: list[Any]) -> Any:
    """The descriptor of a sequence; adds the arrays that must stay alive to `kept`."""
    types = leaves(type.elem)
    table = np.zeros(1 + len(types), np.int64)
    wholes: list[Any] = []
    for leaf, array in zip(types, _flat(value, type.elem), strict=True) if len(value) else ():
        assert isinstance(leaf, TensorType)
        wholes.append(np.ascontiguousarray(array, leaf.dtype.numpy))
    # Lengths are those of what is read: what was given can say another one, or change meanwhile.
    lengths = {len(whole) for whole in wholes} or {0}
    if len(lengths) != 1:
        raise ValueError(f"the arrays of a sequence have the lengths {sorted(lengths)}")
    table[0] = lengths.pop()
    if table[0]:
        for k, (leaf, whole) in enumerate(zip(types, wholes, strict=True)):
            assert isinstance(leaf, TensorType)
            if whole.shape[1:] != leaf.shape:
                raise TypeError(f"expected rows of {leaf}, not of the shape {whole.shape[1:]}")
            kept.append(whole)
            table[1 + k] = whole.ctypes.data
    return table


def _flat(value: Any, elem: Type) -> Iterator[Any]:
    if isinstance(elem, TupleType):
        for part, t in zip(value, elem.elems, strict=True):
            yield from _flat(part, t)
    else:
        yield value
