"""Scratch memory: buffers of large temporaries, placed in one block that later calls reuse.

Fresh memory is the dearest part of an elementwise op on large arrays: the system zeroes each page when it is first
written, and takes it back when it is freed.  Blocks are shared by all programs of a process; a call that is left by an
exception drops its block.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...ir.types import TensorType
from ..base import first_fit
from .program import FunctionCode, Node, Step, nodes_of
from .syntax import Var, assign, call, dtype_expr, load, number, store, tuple_expr

#: The least size in bytes for a buffer here: below it the allocator returns memory that is still in the cache.
SMALLEST = 32768
_ALIGNMENT = 64

#: The free blocks.  Programs pop and append at the end, both atomic, so threads need no lock.
BLOCKS: list[Any] = []


def leased(blocks: list[Any], size: int) -> Any:
    """A block of at least that many bytes; too small ones that come first are dropped."""
    try:
        while True:
            block = blocks.pop()
            if block.nbytes >= size:
                return block
    except IndexError:
        return np.empty(size, np.uint8)


def give_back(blocks: list[Any], block: Any) -> None:
    if len(blocks) < 4:
        blocks.append(block)


# ------------------------------------------------------------------------------------------------ places
def place_buffers(function: FunctionCode, buffers: list[Var], lease: str, release: str) -> None:
    """Defines the buffers at the start of the function, as parts of one block; those live at once do not overlap."""
    if not buffers:
        return
    spans = _spans(function.body, {var.root() for var in buffers})
    placed: list[tuple[int, int, int, int]] = []
    offsets: dict[Var, int] = {}
    for var in sorted(buffers, key=lambda v: -v.nbytes):
        first, last = spans[var.root()]
        size = -(-var.nbytes // _ALIGNMENT) * _ALIGNMENT
        offset = first_fit(size, [(at, end) for at, end, a, b in placed if a <= last and first <= b])
        placed.append((offset, offset + size, first, last))
        offsets[var] = offset
    block = Var(None, "scratch")
    total = max(end for _, end, _, _ in placed)
    head: list[Node] = [Step(assign(store(block), call(lease, load("BLOCKS"), number(total))), None)]
    for var in buffers:
        assert isinstance(var.type, TensorType)
        shape, dtype = tuple_expr(number(d) for d in var.type.shape), dtype_expr(var.type.dtype)  # type: ignore[arg-type]
        made = call("np.ndarray", shape, dtype, load(block), number(offsets[var]))
        head.append(Step(assign(store(var), made), None))
    function.body[:0] = head
    function.body.append(Step(ast.Expr(value=call(release, load("BLOCKS"), load(block))), None))


def _spans(body: list[Node], roots: set[Var]) -> dict[Var, tuple[int, int]]:
    """From the first to the last statement of the body that mentions a variable of each of these sets."""
    found: dict[Var, tuple[int, int]] = {}
    for i, node in enumerate(body):
        for inner in nodes_of([node]):
            mentioned: Iterable[Var] = (*inner.reads, *inner.writes) if isinstance(inner, Step) else inner.reads
            for root in {var.root() for var in mentioned} & roots:
                found[root] = found.get(root, (i, i))[0], i
    return found
