"""Indexing and sequences: slices, gathers, scatters, stacks."""

from __future__ import annotations

import ast
from typing import Any

from ...backends.numpy.syntax import assign, call, load, number, store, subscript, tuple_expr
from ...dtypes import uint64
from ...ir.core import Op, Value
from ...ir.types import Seq, TensorType
from .expressions import as_argument, loop_index, single_axes, slice_index, splat_tree
from .lowering import SPECIAL, Lowering

__all__: list[str] = []


# ------------------------------------------------------------------------------------------------ sequences
def _seq_len(low: Lowering, op: Op) -> None:
    low.define(op.results[0], low.length(op.operands[0], low.tree(op.operands[0])))


def _seq_add(low: Lowering, op: Op) -> None:
    x, y = (low.tree(v) for v in op.operands)
    low.define(op.results[0], _added(op.results[0].type, x, y, 0))


def _added(type: Any, x: ast.expr, y: ast.expr, depth: int) -> ast.expr:
    if not isinstance(type, Seq):
        if isinstance(type, TensorType):
            return ast.BinOp(left=x, op=ast.Add(), right=y)
        elems = [subscript(x, number(i)) for i in range(len(type.elems))]
        others = [subscript(y, number(i)) for i in range(len(type.elems))]
        return tuple_expr(_added(t, a, b, depth) for t, a, b in zip(type.elems, elems, others, strict=True))
    a, b = f"a{depth or ''}", f"b{depth or ''}"
    pair = tuple_expr([store(a), store(b)], stored=True)
    pairs = ast.comprehension(target=pair, iter=call("zip", x, y), ifs=[], is_async=0)
    return ast.ListComp(elt=_added(type.elem, load(a), load(b), depth + 1), generators=[pairs])


def _from_seq(low: Lowering, op: Op) -> None:
    result = op.results[0]
    assert isinstance(result.type, TensorType)
    tree = low.tree(op.operands[0])
    made = op.operands[0].op
    if result.shape and result.shape[0] == 0:
        tree = splat_tree(0, result.type)
    elif made is None or made.defn.name != "to_seq":
        tree = call("np.stack", tree)
    low.define(result, tree)


def _to_seq(low: Lowering, op: Op) -> None:
    low.trees[op.results[0]] = low.tree(op.operands[0])


# ------------------------------------------------------------------------------------------------ places of arrays
#: Ops whose NumPy forms check bounds and accept negative indices.
_CHECK_THEMSELVES = {"gather", "scatter_add", "scatter_update"}


def _check_index(low: Lowering, op: Op) -> None:
    if (index := loop_index(op.results[0])) is not None:
        low.trees[op.results[0]] = low.tree(index)
        return
    users = low.uses.get(op.results[0], ())
    counts = op.attr("negative") and op.operands[0].dtype is not uint64  # NumPy takes 2**64 - 1 for -1
    if counts and users and all(isinstance(u, Op) and u.defn.name in _CHECK_THEMSELVES for u, _ in users):
        low.trees[op.results[0]] = low.tree(op.operands[0])
    else:
        low.kernel(op)


def _at(op: Op, index: list[ast.expr]) -> ast.expr:
    """The index of these parts along the op's axis and those behind it."""
    whole: list[ast.expr] = [ast.Slice() for _ in range(op.attr("axis") % op.operands[0].ndim)]
    parts = [*whole, *index]
    return parts[0] if len(parts) == 1 else ast.Tuple(elts=parts, ctx=ast.Load())


def _gather(low: Lowering, op: Op) -> None:
    x, index = (low.tree(v) for v in op.operands)
    low.define(op.results[0], subscript(x, _at(op, [index])))


def _scatter_update(low: Lowering, op: Op) -> None:
    index, value = _at(op, [low.tree(op.operands[1])]), low.number_or_tree(op.operands[2])
    low.update(op, lambda x: assign(subscript(x, index, stored=True), value))


def _scatter_add(low: Lowering, op: Op) -> None:
    index, value = _at(op, [low.tree(op.operands[1])]), low.number_or_tree(op.operands[2])
    low.update(op, lambda x: ast.Expr(value=call("np.add.at", x, as_argument(index), value)))


def _slice_update(low: Lowering, op: Op) -> None:
    update, made = op.operands[1], op.operands[1].op
    elements = False
    if made is not None and made.defn.name in ("reshape", "expand_dims") and low.is_part(update):
        elements = made.operands[0].shape == _without_single(op, update)
        update = made.operands[0] if elements else update
    index, value = slice_index(op, elements=elements), low.number_or_tree(update)
    low.update(op, lambda x: assign(subscript(x, index, stored=True), value))


def _without_single(op: Op, part: Value) -> tuple[Any, ...]:
    """The shape of a part without the dimensions along which it is one element."""
    single = {a % part.ndim for a in single_axes(op)}
    return tuple([n for i, n in enumerate(part.shape) if i not in single])


def _reshape(low: Lowering, op: Op) -> None:
    """An element is written ``x[0]``, and not as a part of one element in another shape."""
    part = op.operands[0]
    made = part.op
    if made is not None and made.defn.name == "slice" and low.is_part(part) and single_axes(made):
        elements = op.results[0].shape == _without_single(made, part)
    else:
        elements = False
    if made is None or not elements:
        low.kernel(op)
        return
    low.define(op.results[0], subscript(low.tree(made.operands[0]), slice_index(made, elements=True)))


def _squeeze(low: Lowering, op: Op) -> None:
    """A product of a vector is written without the dimension that `matmul` wants it to have."""
    product = op.operands[0].op
    if product is not None and product.defn.name == "matmul" and low.is_part(op.operands[0]):
        a, b = product.operands
        side, axis = (a, -2) if a.made_by("expand_dims") else (b, -1)
        made = side.op
        if op.attr("axes") == (axis,) and made is not None and made.defn.name == "expand_dims":
            vector = made.operands[0]
            if vector.ndim == 1 and made.attr("axes") == (axis,) and (b if side is a else a).ndim == 2:
                pair = (vector, b) if side is a else (a, vector)
                left, right = (low.tree(v) for v in pair)
                low.define(op.results[0], ast.BinOp(left=left, op=ast.MatMult(), right=right))
                return
    _reshape(low, op)


SPECIAL.update({
    "seq_len": _seq_len, "seq_add": _seq_add, "to_seq": _to_seq, "from_seq": _from_seq,
    "check_index": _check_index, "gather": _gather, "scatter_update": _scatter_update, "scatter_add": _scatter_add,
    "slice_update": _slice_update, "squeeze": _squeeze, "reshape": _reshape,
})  # fmt: skip
