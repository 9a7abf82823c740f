"""Zero cotangents and sums of cotangents, at the cost of the elements that are not known to be zero.

A read of one element in a loop has a cotangent that is zero but for that element.  Adding it as a whole would make
every trip cost the whole array; so the zeros that it was built from are replaced by the total.  The additions to an
element happen in another order than in the sum of the two, so the last digits (and the sign of a zero) may differ.

An `if` or a loop is changed in place for that, so only a cotangent that nothing else reads is rewritten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable

from ..errors import InternalCompilerError
from ..ir.build import Builder
from ..ir.core import Block, Op, Value
from ..ir.primitive import F
from ..ir.sizes import Size, is_at_most
from ..ir.types import Seq, TensorType, TupleType, Type, has_erased_sizes
from ..ir.walk import ops_of
from ..primitives.control import COUNT, Scan
from .activity import differentiable


def readers(block: Block, more: Iterable[Value] = ()) -> Counter[Value]:
    """How often each value is read in a block, by its outs, and by `more`."""
    found = Counter(more)
    found.update(block.outs)
    for op in ops_of(block):
        found.update(op.operands)
        for inner in op.blocks:
            found.update(inner.outs)
    return found


class ReadsOfMade:
    """Read counts of the values that one derivative rule has emitted (ops from `start` on), its shares included.

    Counted on demand, from the last op backwards to the one that makes the value: no op before that reads it.
    """

    def __init__(self, block: Block, start: int, shares: Iterable[Value]) -> None:
        self._found, self._left = Counter(shares), block.ops[start:]
        self._made = set(self._left)

    def __call__(self, x: Value) -> int | None:
        if x.op not in self._made:
            return None
        while x.op in self._made and self._left and self._left[-1] is not x.op:
            self._count(self._left.pop())
        return self._found[x]

    def _count(self, op: Op) -> None:
        self._found.update(op.operands)
        for block in op.blocks:
            self._found.update(readers(block))


def added_into(
    builder: Builder, total: Value, g: Value, sums: Container[Value], reads: Callable[[Value], int | None]
) -> Value | None:
    """`total + g` at the cost of the elements of `g` that are not known to be zero; None if they are not few.

    `sums` are the results of loops that add to them in each trip; `reads` counts the reads of a value, one of which
    this addition replaces (None: not known yet).
    """
    if not isinstance(g.type, TensorType):
        return None
    return _Adder(builder, sums, reads).add(total, g)


class _Adder:
    """Follows a cotangent to the zeros that it was built from, in one block, and replaces them by the total."""

    def __init__(self, builder: Builder, sums: Container[Value], reads: Callable[[Value], int | None]) -> None:
        self.builder, self.sums, self.reads = builder, sums, reads

    def alone(self, x: Value) -> bool:
        """Whether a value has at most the one reader that is about to be replaced."""
        count = self.reads(x)
        return count is not None and count <= 1

    def add(self, total: Value, g: Value) -> Value | None:
        if g.constant == 0:
            return total
        op = g.op
        rule = None if op is None else _RULES.get(op.defn.name)
        if op is None or rule is None or op.parent is not self.builder.block or not self.alone(g):
            return None
        with self.builder:
            return rule(self, total, g, op)

    def scatter_add(self, total: Value, g: Value, op: Op) -> Value | None:
        """c + scatter_add(x, i, u) => scatter_add(c + x, i, u)"""
        begun = self.add(total, op.operands[0])
        return None if begun is None else self.builder.emit(op.defn, (begun, *op.operands[1:]), op.attrs)

    def slice_update(self, total: Value, g: Value, op: Op) -> Value | None:
        """c + slice_update(x, u) => slice_update(c + x, slice(c) + u) where x is zero there"""
        base, update = op.operands
        begun = self.add(total, base) if _disjoint(base, g) else None
        if begun is None:
            return None
        where = {name: op.attr(name) for name in ("axes", "starts", "stops", "steps")}
        return self.builder.emit(op.defn, (begun, F.add(F.slice(begun, **where), update)), op.attrs)  # type: ignore[no-any-return]

    def sum(self, total: Value, g: Value, op: Op) -> Value | None:
        """c + (x + y) => (c + x) + y"""
        x, y = op.operands
        begun = self.add(total, x) if x is not y else None
        if begun is None:
            return None
        both = self.add(begun, y)
        return F.add(begun, y) if both is None else both

    def reshape(self, total: Value, g: Value, op: Op) -> Value | None:
        """c + reshape(x) => reshape(reshape(c) + x)"""
        (x,) = op.operands
        begun = self.add(F.reshape(total, shape=x.shape), x)
        return None if begun is None else F.reshape(begun, shape=g.shape)

    def branch(self, total: Value, g: Value, op: Op) -> Value | None:
        """c + if p {x} else {y} => if p {c + x} else {c + y}"""
        if not self._precedes(total, op):
            return None
        base = self._continued(g, op)
        if base is not None:  # c + if p {x + y} else {x + z}, where c + x is x begun anew
            rule = _RULES[base.op.defn.name]  # type: ignore[union-attr]
            return None if rule(self, total, base, base.op) is None else g  # type: ignore[arg-type]
        found = []
        for block in op.blocks:
            arm, counts = self._of_arm(block), readers(block)
            inner = _Adder(arm, self.sums, counts.__getitem__)
            found.append((arm, inner.add(total, block.outs[g.index])))
        if all(out is None for _, out in found):
            return None
        for arm, out in found:
            if out is None:
                with arm:
                    out = F.add(total, arm.block.outs[g.index])
            arm.block.outs[g.index] = out
        return g

    def _of_arm(self, block: Block) -> Builder:
        """A builder for an arm that is older than the end of the block around it.

        It numbers its constants and common values alone: those of the block around may come after the `if`.
        """
        around = self.builder
        return Builder(block, module=around.module, rules=around.rules, loc=around.loc)

    def _continued(self, g: Value, op: Op) -> Value | None:
        """The result of an earlier `if` or loop that the arms of this `if` only add to, and nothing else reads."""
        ends = [self._added_to(block.outs[g.index], block) for block in op.blocks]
        base = ends[0]
        if base is None or base.op is None or base.op.parent is not self.builder.block:
            return None
        alone = all(end is base for end in ends) and self.reads(base) == len(ends)
        return base if alone and base.op.defn.name in ("if", "scan") else None

    def _added_to(self, x: Value, block: Block) -> Value | None:
        """The outer value that the block has accumulated `x` into."""
        while x.block is block:
            if x.op is None or x.op.defn.name not in ("scatter_add", "add_along_axis", "add") or not self.alone(x):
                return None
            x = x.op.operands[0]
        return x

    def loop(self, total: Value, g: Value, op: Op) -> Value | None:
        """c + scan (s = zeros) {.. yield s + x} => scan (s = c) {.. yield s + x}"""
        number = 1 + g.index
        if g not in self.sums or op.operands[number].constant != 0 or not self._precedes(total, op):
            return None
        op.operands = (*op.operands[:number], total, *op.operands[number + 1 :])
        return g

    def _precedes(self, x: Value, op: Op) -> bool:
        """Whether an op may read x."""
        ops = self.builder.block.ops
        return x.op is None or x.op.parent is not self.builder.block or ops.index(x.op) < ops.index(op)


_RULES: dict[str, Callable[[_Adder, Value, Value, Op], Value | None]] = {
    "scatter_add": _Adder.scatter_add,
    "add_along_axis": _Adder.scatter_add,
    "slice_update": _Adder.slice_update,
    "add": _Adder.sum,
    "reshape": _Adder.reshape,
    "if": _Adder.branch,
    "scan": _Adder.loop,
}


# -------------------------------------------------------------------------------------------------------- slices
def _disjoint(x: Value, y: Value) -> bool:
    """Whether both are zero outside of slices that do not overlap: then those of y are written into x."""
    if not (y.made_by("slice_update") and y.op.operands[0].constant == 0):  # type: ignore[union-attr]
        return False
    while x.made_by("slice_update"):
        if not _without_overlap(x.op, y.op):  # type: ignore[arg-type]
            return False
        x = x.op.operands[0]  # type: ignore[union-attr]
    return bool(x.constant == 0)


def _without_overlap(a: Op, b: Op) -> bool:
    """Whether two slices of one type share no element: along an axis, one ends before the other begins."""
    others = dict(zip(b.attr("axes"), _extents(b), strict=True))
    for axis, (first, last) in zip(a.attr("axes"), _extents(a), strict=True):
        if axis in others:
            other_first, other_last = others[axis]
            if is_at_most(last + 1, other_first) or is_at_most(other_last + 1, first):
                return True
    return False


def _extents(op: Op) -> list[tuple[Size, Size]]:
    """The first and the last position that a slice may touch, along each of its axes."""
    found = []
    for start, stop, step in zip(op.attr("starts"), op.attr("stops"), op.attr("steps"), strict=True):
        found.append((start, stop - 1) if step > 0 else (stop + 1, start))
    return found


# ------------------------------------------------------------------------------------------- zeros and plain sums
def summed(builder: Builder, x: Value, y: Value) -> Value:
    """The sum of two cotangents of one type."""
    type = x.type
    total: Value
    with builder:
        if isinstance(type, TensorType):
            one = _one_slice(y)
            if _disjoint(x, y):
                total = builder.emit(y.op.defn, (x, y.op.operands[1]), y.op.attrs)  # type: ignore[union-attr]
            else:
                total = F.add(x, y) if one is None else F.scatter_add(x, *one.operands[1:], axis=one.attr("axis"))
        elif isinstance(type, Seq):
            total = F.seq_add(x, y)
        else:
            assert isinstance(type, TupleType)
            parts = []
            for i, t in enumerate(type.elems):
                a, b = F.tuple_get(x, index=i), F.tuple_get(y, index=i)
                parts.append(summed(builder, a, b) if differentiable(t) else a)
            total = F.tuple_make(*parts)
    return total


def _one_slice(y: Value) -> Op | None:
    """The op of a cotangent that is zero outside of one slice: added in place, it costs the slice and not the whole."""
    op = y.op
    if op is None or op.defn.name != "scatter_add":
        return None
    zeros, index, _ = op.operands
    return op if zeros.constant == 0 and not index.shape else None


def filled(builder: Builder, type: Type, number: float) -> Value:
    """A value of `type` whose numbers all equal `number` and whose bools are false; `type` holds no sequence."""
    if isinstance(type, TensorType):
        return builder.const(0 if type.dtype.is_bool else number, type)
    if isinstance(type, TupleType):
        parts = [filled(builder, t, number) for t in type.elems]
        with builder:
            return F.tuple_make(*parts)  # type: ignore[no-any-return]
    raise InternalCompilerError(f"the length of {type} is unknown", loc=builder.loc)


def zeros_like(builder: Builder, x: Value) -> Value:
    """The zero cotangent of `x`; `x` itself is mentioned only where it tells the length of a sequence, or a size."""
    type = x.type
    if not _holds_sequence(type):
        return filled(builder, type, 0)
    with builder:
        if isinstance(type, TensorType):
            return F.zeros_of(x)  # type: ignore[no-any-return]
        if isinstance(type, TupleType):
            parts = [zeros_like(builder, F.tuple_get(x, index=i)) for i in range(len(type.elems))]
            return F.tuple_make(*parts)  # type: ignore[no-any-return]
        assert isinstance(type, Seq)
        ragged = _holds_sequence(type.elem)
        trip = builder.nested([COUNT, type.elem] if ragged else [COUNT], ["i", "x"] if ragged else ["i"])
        trip.ret(zeros_like(trip, trip.block.args[1]) if ragged else filled(trip, type.elem, 0))
        operands = (F.seq_len(x), x) if ragged else (F.seq_len(x),)
        return builder.emit_op(Scan, operands, (0, False), (trip.block,)).results[0]


def _holds_sequence(type: Type) -> bool:
    """Whether the type does not tell how many elements there are."""
    if isinstance(type, TensorType):
        return has_erased_sizes(type)
    return isinstance(type, Seq) or (isinstance(type, TupleType) and any(map(_holds_sequence, type.elems)))
