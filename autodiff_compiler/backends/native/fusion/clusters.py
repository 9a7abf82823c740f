"""Clusters: ops of a block that one fused loop computes.

A cluster iterates over one shape in three levels of axes: slabs (`batch`) of rows (`outer`) of elements (`inner`).
It takes elementwise ops of that shape, and reductions: over `inner`, whose results (one number per row) other ops of
the loop may use; over `outer` or over both, whose results are complete only after the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ....ir.core import Op, Value
from ....ir.primitive import Effect
from ....ir.types import Shape, TensorType
from ..codegen.formulas import has_formula

#: Reductions that a fused loop can compute.
REDUCTIONS = frozenset({"sum", "prod", "max", "min", "any", "all"})
#: The most ops of a fused loop.  Spills are cheaper than arrays between loops, but the time of code generation grows
#: faster than the loop.
MOST_OPS = 96
#: Views of one number per row that stay one number per row.
SHAPES = frozenset({"reshape", "expand_dims", "squeeze"})


@dataclass(frozen=True)
class Axes:
    """The axes of a fused loop by level, each in the order of the shape."""

    batch: tuple[int, ...]
    outer: tuple[int, ...]
    inner: tuple[int, ...]

    @classmethod
    def of_reduction(cls, ndim: int, axes: tuple[int, ...]) -> Axes:
        """The levels for a reduction over these axes (not negative)."""
        kept = tuple(a for a in range(ndim) if a not in axes)
        tail = 0  # the last axes that are all reduced, or all kept
        last = ndim - 1 in axes
        while tail < ndim and ((ndim - 1 - tail) in axes) == last:
            tail += 1
        inner = tuple(range(ndim - tail, ndim))
        if last and axes == inner:
            return cls((), kept, inner)
        if last:
            return cls(kept, tuple(a for a in axes if a not in inner), inner)
        return cls(tuple(a for a in kept if a not in inner), axes, inner)


@dataclass(eq=False)
class Cluster:
    """Ops that one loop over `shape` computes, in an order of their dependencies."""

    shape: Shape = ()
    axes: Axes | None = None
    ops: list[Op] = field(default_factory=list)
    #: values with one number per element, and with one per row
    full: set[Value] = field(default_factory=set)
    rows: set[Value] = field(default_factory=set)
    #: results of reductions that are complete only after the loop
    ends: set[Value] = field(default_factory=set)

    def takes(self, op: Op) -> bool:
        """Adds the op if the loop can compute it."""
        return self.add(op) is None

    def add(self, op: Op) -> str | None:
        """Adds the op if the loop can compute it, else says why it cannot."""
        if len(self.ops) >= MOST_OPS:
            return f"a kernel has {MOST_OPS} ops at most"
        if not self.ends.isdisjoint(op.operands):
            return f"{op.defn.name} needs a reduction that is complete only when the kernel has gone over all elements"
        why = self._classify(op)
        if why is None:
            self.ops.append(op)
        return why

    def _classify(self, op: Op) -> str | None:
        """Enters the op's result in `full`, `rows` or `ends`; the reason, if it belongs in none."""
        type = op.results[0].type
        assert isinstance(type, TensorType)
        name = op.defn.name
        if name in REDUCTIONS:
            return self._reduction(op)
        if name == "broadcast_to":
            if type.shape != self.shape:
                return f"{name} goes over {type!r}, the kernel over the shape {list(self.shape)}"
            if not self._broadcasts_rows(op):
                known = op.operands[0] in self.rows
                what = "numbers of rows along other axes" if known else "what the kernel does not compute"
                return f"{name} spreads {what}"
            self.full.add(op.results[0])
        elif name in SHAPES:
            if op.operands[0] not in self.rows or not self._is_row(op.results[0]):
                return f"{name} gives another shape to what is no number of a row of the kernel"
            self.rows.add(op.results[0])
        elif not self.ops or type.shape == self.shape:
            if not self.rows.isdisjoint(op.operands):
                return f"{name} needs a reduction that is complete only at the end of a row"
            self.full.add(op.results[0])
            self.shape = type.shape
        else:
            if self.rows.isdisjoint(op.operands) or not self._is_row(op.results[0]):
                return f"{name} goes over {type!r}, the kernel over the shape {list(self.shape)}"
            if not self.full.isdisjoint(op.operands):
                return f"{name} has one number per row and needs all numbers of the row"
            self.rows.add(op.results[0])
        return None

    def _reduction(self, op: Op) -> str | None:
        (x,), name = op.operands, op.defn.name
        if self.ops and x not in self.full:
            return f"{name} reduces what the kernel does not compute"
        ndim = len(x.shape)
        axes = reduced_axes(op)
        if not axes or ndim == 0:
            return f"{name} reduces no axis"
        wanted = Axes.of_reduction(ndim, axes)
        mine = self.axes or wanted
        level = _level(mine, axes)
        if level is None:
            return f"{name} reduces other axes than the reductions of the kernel"
        self.shape, self.axes = x.shape, mine
        (self.rows if level == "row" else self.ends).add(op.results[0])
        return None

    def _is_row(self, x: Value) -> bool:
        """Whether the shape of a value is that of one number per row."""
        if self.axes is None:
            return False
        return x.shape in self.row_shapes()

    def row_shapes(self) -> tuple[Shape, Shape]:
        """The shape of one number per row, with and without the axes of 1 that are left of `inner`."""
        assert self.axes is not None
        inner = self.axes.inner
        return (
            tuple(1 if a in inner else d for a, d in enumerate(self.shape)),
            tuple(d for a, d in enumerate(self.shape) if a not in inner),
        )

    def _broadcasts_rows(self, op: Op) -> bool:
        """Whether a `broadcast_to` gives each element the number of its row."""
        x = op.operands[0]
        if x not in self.rows:
            return False
        with_ones = self.row_shapes()[0]
        return (1,) * (len(with_ones) - len(x.shape)) + x.shape == with_ones


def _level(axes: Axes, reduced: tuple[int, ...]) -> str | None:
    if reduced == axes.inner:
        return "row"
    if reduced == axes.outer:
        return "column"
    return "slab" if reduced == tuple(sorted(axes.outer + axes.inner)) else None


def reduced_axes(op: Op) -> tuple[int, ...]:
    """The axes that a reduction runs over, in order, not negative."""
    ndim = len(op.operands[0].shape)
    axes = op.attr("axes") if "axes" in op.defn.schema else (op.attr("axis"),)
    return tuple(sorted(a % ndim for a in axes))


def is_fusible(op: Op) -> bool:
    """Whether the op can be part of a fused loop over more than one element."""
    if not _computes(op):
        return False
    if op.defn.name in REDUCTIONS:
        return bool(reduced_axes(op)) and 0 not in op.operands[0].shape
    shape = op.results[0].shape
    return bool(shape) and 0 not in shape and has_formula(op)


def is_scalar(op: Op) -> bool:
    """Whether the op computes one number by a formula: a loop of one row can compute it per row."""
    return _computes(op) and op.results[0].shape == () and op.defn.name not in REDUCTIONS and has_formula(op)


def _computes(op: Op) -> bool:
    one = len(op.results) == 1 and isinstance(op.results[0].type, TensorType)
    return one and op.defn.effect is Effect.PURE and bool(op.operands)
