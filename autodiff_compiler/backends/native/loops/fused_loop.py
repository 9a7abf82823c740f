"""Writes the fused loop of a cluster: slabs of rows of elements, vectors innermost.

Sums of f32 are added in lanes over blocks of 4096 elements, and the blocks in f64.  The order is fixed when the code is
written: it follows from the machine's vectors, the shapes, and how much else is done with each element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from ....dtypes import DType, bool_, float32, float64
from ....errors import InternalCompilerError
from ....ir.core import Op, Value
from ....ir.primitive import COSTLY
from ....ir.sizes import Dim, Size, is_at_most, usual
from ....ir.types import TensorType
from ..codegen.arithmetic import Kernels
from ..codegen.emit import Int, Reg, Text
from ..codegen.formulas import apply_formula
from ..codegen.lanes import Lane, NotNativeError, computed_in
from ..fusion.clusters import REDUCTIONS, Cluster, reduced_axes
from ..fusion.loop_plan import Layout, Level, Memory, Passes, Source

#: Elements whose sum is a partial one, in the narrow dtype.
_BLOCK = 4096
#: NumPy adds fewer numbers than this from left to right.
_FEW = 8
#: Rows of up to this many vectors have straight-line code, and can stay in registers between passes.
HELD = 4

#: Instructions per element: up to the first a reduction is unrolled, from the second on vectors are interleaved.
_LITTLE, _MUCH = 8, 3 * COSTLY
#: Up to this four vectors are interleaved instead of two; by whether the machine has few registers.
_MOST = {False: 12 * COSTLY, True: 24 * COSTLY}
#: Vectors of a row from which on two are interleaved.
_MANY = 8

Pointers = dict[Memory, Reg]


class Vector(NamedTuple):
    """A vector of elements of the innermost axis, from number `i` on: `lanes` of them, where there is a mask."""

    k: Kernels
    i: Int
    mask: Reg | None
    lanes: int


#: What is done with one vector: it takes the accumulators, and returns them as they are after it.
Step: TypeAlias = Callable[[Vector, list[Reg]], list[Reg]]


class FusedLoop:
    """Writes one fused loop into `text`.

    `sources`: what the cluster reads; `sinks`: where results, and what later passes need, are stored.  `lanes`: the
    most elements of a vector; `masked`: whether the machine has masked loads and stores; `held`: a row stays in
    registers between passes; `short`: only a call knows how long a row is, but it is one vector at most, and held.
    """

    def __init__(
        self,
        text: Text,
        cluster: Cluster,
        passes: Passes,
        layout: Layout,
        sources: dict[Value, Source],
        sinks: dict[Value, Memory],
        *,
        lanes: int,
        masked: bool,
        held: bool,
        short: bool = False,
    ) -> None:
        self.text, self.cluster, self.passes, self.layout = text, cluster, passes, layout
        self.sources, self.sinks, self.masked, self.held = sources, sinks, masked, held
        self.length, self.short = layout.inner[-1].size, short
        self.width = min(lanes, 1 << (self.length - 1).bit_length()) if isinstance(self.length, int) else lanes
        self.one = Kernels(text, 1, low_latency=False)  # the last elements of a row have the bits of the others
        self.kernels: dict[int, Kernels] = {1: self.one}
        #: values that are one number for the current row
        self.row: dict[Value, Lane] = {}
        #: values that are one number along the innermost axis
        self.along: dict[Value, Lane] = {}
        #: for each vector of a held row the values computed so far
        self.registers: list[dict[Value, Lane]] = []
        memories = [s for s in sources.values() if isinstance(s, Memory)] + list(sinks.values())
        self.start = {m: text.at(m.base, m.offset) for m in memories}
        self.slabs = [op for op in cluster.ops if self._is_slab(op)]
        self.columns = [op for op in cluster.ops if op.results[0] in cluster.ends and op not in self.slabs]
        #: the vectors of a row, where their number is known
        self.vectors = 1 if short else -(-self.length // self.width) if isinstance(self.length, int) else None
        #: the most elements that a row can have, if that is known
        self.most = lanes if short else self.length if isinstance(self.length, int) else None
        #: the lanes of a short row
        self.some: Reg | None = None
        #: whether reductions over `outer` stay in registers from row to row, and then the value of each vector
        self.held_columns = (
            bool(self.columns)
            and bool(layout.outer)
            and len(layout.inner) == 1
            and self.vectors is not None
            and self.vectors <= HELD
        )
        self.sums: dict[tuple[Op, int], Reg] = {}
        #: whether a row is straight-line code, without a loop over vectors
        self.straight_line = held or self.held_columns
        #: whether the elements of each vector are adjacent in memory, or one
        self.adjacent = all(m.is_iota or layout.inner[-1].strides[m] in (0, m.dtype.itemsize) for m in memories)

    def _is_slab(self, op: Op) -> bool:
        if op.results[0] not in self.cluster.ends:
            return False
        assert self.cluster.axes is not None
        return set(reduced_axes(op)) == {*self.cluster.axes.outer, *self.cluster.axes.inner}

    # ------------------------------------------------------------------------------------------- loops
    def write(self) -> None:
        if self.short:
            self.some = self._k(self.width).mask_up_to(self.text.whole(self.length))
        self._nested(self.layout.batch, self.start, [], self._slab)

    def _nested(
        self,
        levels: Sequence[Level],
        at: Pointers,
        carried: list[Reg],
        body: Callable[[Pointers, list[Reg]], list[Reg]],
    ) -> list[Reg]:
        """A loop nest around the body."""
        if not levels:
            return body(at, carried)
        level, text = levels[0], self.text

        def trip(i: Int, now: list[Reg]) -> list[Reg]:
            moved = {m: text.at(p, text.mul(i, level.strides[m])) for m, p in at.items()}
            return self._nested(levels[1:], moved, now, body)

        return text.loop(0, level.size, 1, carried, trip)

    def _slab(self, at: Pointers, carried: list[Reg]) -> list[Reg]:
        if not self.held_columns:
            for op in self.columns:
                self._fill(op, at)
        starts = [self._identity(op, self._total_dtype(op), self.width).reg for op in self.slabs]
        vectors = [(op, v) for op in self.columns for v in range(self.vectors or 0) if self.held_columns]
        starts += [self._identity(op, op.results[0].dtype, self.width).reg for op, _ in vectors]

        def row(place: Pointers, now: list[Reg]) -> list[Reg]:
            self.sums = dict(zip(vectors, now[len(self.slabs) :], strict=True))
            after = self._row(place, now[: len(self.slabs)])
            return [*after, *[self.sums[v] for v in vectors]]

        totals = self._nested(self.layout.outer, at, starts, row)
        for (op, v), total in zip(vectors, totals[len(self.slabs) :], strict=True):
            sink = self.sinks[op.results[0]]
            self._put(self._held_vector(v), Lane(self._k(self.width), total, sink.dtype), sink, at[sink])
        for op, total in zip(self.slabs, totals, strict=False):
            result = self._reduced(op, Lane(self._k(self.width), total, self._total_dtype(op)))
            self._k(1).store(result, at[self.sinks[op.results[0]]])
        return carried

    def _held_vector(self, number: int) -> Vector:
        """A vector of a row that is in registers."""
        k, width = self._k(self.width), self.width
        if self.some is not None:
            return Vector(k, 0, self.some, width)
        assert isinstance(self.length, int)
        lanes = min(width, self.length - number * width)
        return Vector(k, number * width, k.mask(lanes) if lanes < width else None, lanes)

    def _fill(self, op: Op, at: Pointers) -> None:
        """Stores the identity in the results of a reduction over `outer`."""
        sink = self.sinks[op.results[0]]

        def vectors(place: Pointers, carried: list[Reg]) -> list[Reg]:
            def one(vector: Vector, _: list[Reg]) -> list[Reg]:
                self._put(vector, self._identity(op, sink.dtype, vector.k.width), sink, place[sink])
                return []

            return self._stretch(0, self.length, 1, [], one)

        self._nested(self.layout.inner[:-1], {sink: at[sink]}, [], vectors)

    def _row(self, at: Pointers, carried: list[Reg]) -> list[Reg]:
        """All passes over one row; `carried` are the totals of the slab."""
        self.row, totals = {}, dict(zip(self.slabs, carried, strict=True))
        self.at = at
        self.registers = []
        for number in range(self.passes.count):
            reductions = self.passes.reductions[number]
            if reductions or self.passes.stores[number]:
                self._pass(number, at, totals)
        for x, sink in self.sinks.items():
            if x in self.cluster.rows:
                self.one.store(self._of_row(x), at[sink])
        return [totals[op] for op in self.slabs]

    def _pass(self, number: int, at: Pointers, totals: dict[Op, Reg]) -> None:
        inner = [op for op in self.passes.reductions[number] if op not in self.columns]
        rows = [op for op in inner if op not in self.slabs]
        starts = [
            totals[op] if op in totals else self._identity(op, self._total_dtype(op), self._total_width(op)).reg
            for op in inner
        ]
        self._prepare(number)
        ends = self._nested(self.layout.inner[:-1], at, starts, lambda place, now: self._run(number, inner, place, now))
        for op, end in zip(inner, ends, strict=True):
            if op in rows:
                of, width = self._total_dtype(op), self._total_width(op)
                self.row[op.results[0]] = self._reduced(op, Lane(self._k(width), end, of))
            else:
                totals[op] = end

    def _run(self, number: int, reductions: list[Op], place: Pointers, totals: list[Reg]) -> list[Reg]:
        """A pass along the innermost axis: partial results of blocks are combined with the totals."""
        text, k = self.text, self._k(self.width)
        self._read_once(place)

        def block(start: Int, length: Size, now: list[Reg]) -> list[Reg]:
            begin = [self._identity(op, self._partial_dtype(op), self.width).reg for op in reductions]
            parts = self._stretch(start, length, self._unroll(number), begin, step)
            combined = []
            for op, total, part in zip(reductions, now, parts, strict=True):
                to, found = self._total_dtype(op), Lane(k, part, self._partial_dtype(op))
                if self._total_width(op) == 1:
                    found = self._folded(op, found)
                wide = self._k(found.kernels.width)
                combined.append(self._combine(op, Lane(wide, total, to), wide.cast(found, to)).reg)
            return combined

        def step(vector: Vector, now: list[Reg]) -> list[Reg]:
            return self._vector(number, reductions, place, vector, now)

        size = self._block(reductions)
        if size is None or (self.most is not None and self.most <= size):
            return block(0, self.length, totals)
        whole = self.length // size * size
        totals = text.loop(0, whole, size, totals, lambda i, now: block(i, size, now))
        return block(whole, self.length - whole, totals) if whole is not self.length else totals

    def _block(self, reductions: list[Op]) -> int | None:
        """How many elements have one partial result; None: all of a row."""
        widened = any(self._total_dtype(op) is not self._partial_dtype(op) for op in reductions)
        return _BLOCK if widened and not self.straight_line else None

    def _unroll(self, number: int) -> int:
        """The unroll factor of reductions: where little else is done, independent accumulators hide their latency."""
        if self.held or self.columns or not self.passes.reductions[number]:
            return 1
        costs = [op.defn.cost for op in self.cluster.ops if self.passes.of.get(op.results[0], 0) == number]
        return 4 if sum(COSTLY if c is None else c for c in costs) <= _LITTLE else 1

    def _stretch(self, start: Int, length: Size, unroll: int, carried: list[Reg], step: Step) -> list[Reg]:
        """`length` elements from `start` on: whole vectors, then the remainder, masked or element by element."""
        if self.short:
            return step(self._held_vector(0), carried)
        if not isinstance(length, int):
            return self._open_stretch(start, length, unroll, carried, step)
        text, width = self.text, self.width
        k = self._k(width)
        done = 0
        if unroll > 1 and length >= unroll * width:
            done = length // (unroll * width) * unroll * width
            carried = self._unrolled(start, done, unroll, carried, step)
        whole = length // width * width
        if whole - done > (HELD if self.straight_line else 1) * width:
            first, last = text.add(start, done), text.add(start, whole)
            carried = text.loop(first, last, width, carried, lambda i, now: step(Vector(k, i, None, width), now))
        else:
            for i in range(done, whole, width):
                carried = step(Vector(k, text.add(start, i), None, width), carried)
        rest = length - whole
        if rest and (self.masked or self.straight_line or width == 2):
            carried = step(Vector(k, text.add(start, whole), k.mask(rest), rest), carried)
        elif rest:
            carried = self._remainder_loop(text.add(start, whole), rest, carried, step)
        return carried

    def _open_stretch(self, start: Int, length: Dim, unroll: int, carried: list[Reg], step: Step) -> list[Reg]:
        """The same for a length that only a call knows, which may be 0."""
        text, width = self.text, self.width
        k, done = self._k(width), 0 * length
        if unroll > 1:
            done = length // (unroll * width) * (unroll * width)
            some = text.let("i1", f"icmp sgt {text.whole(done)}, 0")
            carried = text.branch(some, lambda: self._unrolled(start, done, unroll, carried, step), lambda: carried)
        whole = length // width * width
        first, last = text.add(start, done), text.add(start, whole)
        carried = text.loop(first, last, width, carried, lambda i, now: step(Vector(k, i, None, width), now))
        rest = length - whole
        if rest == 0:
            return carried
        some = text.let("i1", f"icmp sgt {text.whole(rest)}, 0")

        def remainder() -> list[Reg]:
            if self.masked and width > 1 and self.adjacent:
                mask = k.mask_up_to(text.whole(rest))
                return step(Vector(k, text.add(start, whole), mask, width), carried)
            return self._remainder_loop(text.add(start, whole), rest, carried, step)

        return text.branch(some, remainder, lambda: carried)

    def _unrolled(self, start: Int, length: Size, unroll: int, carried: list[Reg], step: Step) -> list[Reg]:
        """The unrolled loop: each of `unroll` vectors per trip has accumulators of its own, combined at the end."""
        text, width = self.text, self.width
        k, n = self._k(width), len(carried)
        reductions = self._reducing
        fresh = [self._identity(op, self._partial_dtype(op), width).reg for op in reductions]

        def trip(i: Int, now: list[Reg]) -> list[Reg]:
            after: list[Reg] = []
            for u in range(unroll):
                after += step(Vector(k, text.add(i, u * width), None, width), now[u * n : u * n + n])
            return after

        ends = text.loop(start, text.add(start, length), unroll * width, [*carried, *fresh * (unroll - 1)], trip)
        combined = ends[:n]
        for u in range(1, unroll):
            for j, op in enumerate(reductions):
                dtype = self._partial_dtype(op)
                combined[j] = self._combine(op, Lane(k, combined[j], dtype), Lane(k, ends[u * n + j], dtype)).reg
        return combined

    def _remainder_loop(self, start: Int, length: Size, carried: list[Reg], step: Step) -> list[Reg]:
        """The remainder of a row, element by element."""
        text, k = self.text, self._k(self.width)
        reductions = self._reducing if carried else []
        begin = [self._identity(op, self._partial_dtype(op), 1).reg for op in reductions]
        stop = text.add(start, length)
        ends = text.loop(start, stop, 1, begin, lambda i, now: step(Vector(self.one, i, None, 1), now), runs=True)
        combined = []
        for op, total, end in zip(reductions, carried, ends, strict=True):
            dtype = self._partial_dtype(op)
            padded = self._identity(op, dtype, self.width).reg
            padded = text.let(padded.type, f"insertelement {padded}, {end}, i64 0") if self.width > 1 else end
            combined.append(self._combine(op, Lane(k, total, dtype), Lane(k, padded, dtype)).reg)
        return combined

    # ------------------------------------------------------------------------------------------- vectors
    def _k(self, width: int) -> Kernels:
        if width not in self.kernels:
            self.kernels[width] = Kernels(self.text, width, low_latency=False)
        return self.kernels[width]

    def _prepare(self, number: int) -> None:
        """Broadcasts the row's numbers to vectors before its loop: LLVM does not hoist all of these."""
        self._reducing = [op for op in self.passes.reductions[number] if op not in self.columns]
        k = self._k(self.width)
        for x, source in self.sources.items():
            if isinstance(source, Lane):
                k.broadcast(source)
            elif isinstance(source, Memory) and x.shape == self.cluster.shape and self._is_invariant(source):
                if x not in self.row:
                    self.row[x] = self._single(source)
                k.broadcast(self.row[x])
        for op in self.cluster.ops:
            if op.defn.name == "broadcast_to" and self.passes.of[op.results[0]] <= number:
                k.broadcast(self._of_row(op.operands[0]))

    def _read_once(self, place: Pointers) -> None:
        """Loads what is one number along the innermost axis before its loop."""
        self.along = {}
        for x, source in self.sources.items():
            if not isinstance(source, Memory) or source.is_iota or x in self.row:
                continue
            if x.shape == self.cluster.shape and self.layout.inner[-1].strides[source] == 0:
                self.along[x] = self.one.load(place[source], source.dtype)
                self._k(self.width).broadcast(self.along[x])

    def _is_invariant(self, source: Memory) -> bool:
        """Whether a source is one number for the whole row."""
        return all(level.strides[source] == 0 for level in self.layout.inner)

    def _vector(
        self, number: int, reductions: list[Op], place: Pointers, vector: Vector, partial: list[Reg]
    ) -> list[Reg]:
        """What a pass does with one vector; returns the accumulators after it."""
        k, mask = vector.k, vector.mask
        if self.held:
            index = int(vector.i) // self.width  # type: ignore[arg-type]
            while len(self.registers) <= index:
                self.registers.append({})
            known = self.registers[index]
        else:
            known = {}

        def get(x: Value) -> Lane:
            if x not in known:
                known[x] = self._made(x, number, place, vector, get)
            return known[x]

        after = []
        for op, now in zip(reductions, partial, strict=True):
            dtype = self._partial_dtype(op)
            x = k.cast(get(op.operands[0]), dtype)
            if mask is not None:
                identity = self._identity(op, dtype, k.width)
                x = Lane(k, self.text.let(x.reg.type, f"select {mask}, {x.reg}, {identity.reg}"), dtype)
            after.append(self._combine(op, Lane(k, now, dtype), x).reg)
        stores = [(x, get(x)) for x in self.passes.stores[number]]
        for op in self.columns:
            if self.passes.of.get(op.operands[0], 0) == number:
                sink = self.sinks[op.results[0]]
                element = k.cast(get(op.operands[0]), sink.dtype)
                if self.held_columns:
                    which = (op, int(vector.i) // self.width)  # type: ignore[arg-type]
                    self.sums[which] = self._combine(op, Lane(k, self.sums[which], sink.dtype), element).reg
                    continue
                found = self._get(vector, sink, place[sink])
                stores.append((op.results[0], self._combine(op, found, element)))
        for result, lane in stores:
            sink = self.sinks[result]
            self._put(vector, lane, sink, place[sink])
        return after

    def _made(self, x: Value, number: int, place: Pointers, vector: Vector, get: Callable[[Value], Lane]) -> Lane:
        """The elements of a value in this vector."""
        k, source = vector.k, self.sources.get(x)
        if isinstance(source, Memory):
            if x in self.row or x in self.along:
                return k.broadcast(self.row[x] if x in self.row else self.along[x])
            return self._get(vector, source, place[source])
        if isinstance(source, Lane):
            return k.broadcast(source)
        if source is not None:
            return k.number(source, x.dtype)
        if x in self.sinks and self.passes.of[x] < number:
            sink = self.sinks[x]
            return self._get(vector, sink, place[sink])
        op = x.owner
        assert isinstance(op, Op)
        if op.defn.name == "broadcast_to":
            return k.broadcast(self._of_row(op.operands[0]))
        if op.loc is not None:
            self.text.note(f"{x.name or op.defn.name}: {op.loc}")
        return apply_formula(k, op, [get(y) for y in op.operands])

    def _of_row(self, x: Value) -> Lane:
        """One number per row: the result of a reduction, or computed from such numbers."""
        if x not in self.row:
            source = self.sources.get(x)
            if isinstance(source, Memory):
                self.row[x] = self._single(source)
            elif isinstance(source, Lane):
                self.row[x] = source
            elif source is not None:
                self.row[x] = self.one.number(source, x.dtype)
            else:
                op = x.owner
                assert isinstance(op, Op)
                if op.defn.name in REDUCTIONS:
                    raise InternalCompilerError("a row is used before it was reduced", loc=op.loc)
                operands = [self._of_row(y) for y in op.operands]
                shaped = op.defn.name in ("reshape", "expand_dims", "squeeze")
                self.row[x] = operands[0] if shaped else apply_formula(self.one, op, operands)
        return self.row[x]

    # ------------------------------------------------------------------------------------------- memory
    def _single(self, memory: Memory) -> Lane:
        """The first element of the row."""
        place = self.at[memory]
        return self.one.iota(place, memory.dtype, 0) if memory.is_iota else self.one.load(place, memory.dtype)

    def _get(self, vector: Vector, memory: Memory, base: Reg) -> Lane:
        k, i, mask, lanes = vector
        text, stride = self.text, self.layout.inner[-1].strides[memory]
        place = text.at(base, text.mul(i, stride))
        if memory.is_iota:
            if not isinstance(stride, int):
                raise NotNativeError("positions that lie apart as only a call knows")
            return k.iota(place, memory.dtype, stride)
        if stride == 0 and k.width > 1:
            return k.broadcast(self.one.load(place, memory.dtype))
        if stride != memory.dtype.itemsize and k.width > 1:
            return k.load_strided(place, memory.dtype, stride, lanes)
        if mask is None:
            return k.load(place, memory.dtype)
        if not self.masked:
            return k.load_strided(place, memory.dtype, stride, lanes)
        return k.load_masked(place, memory.dtype, mask)

    def _put(self, vector: Vector, x: Lane, memory: Memory, base: Reg) -> None:
        k, i, mask, lanes = vector
        text, stride = self.text, self.layout.inner[-1].strides[memory]
        place = text.at(base, text.mul(i, stride))
        if (stride == memory.dtype.itemsize or k.width == 1) and mask is None:
            k.store(x, place, nontemporal=memory.nontemporal if k.width == self.width else 0)
        elif stride == memory.dtype.itemsize and self.masked:
            assert mask is not None
            k.store_masked(x, place, mask)
        else:
            k.store_strided(x, place, stride, lanes)

    # ------------------------------------------------------------------------------------------- reductions
    def _partial_dtype(self, op: Op) -> DType:
        """The dtype of accumulators within a block."""
        dtype = op.operands[0].dtype
        return computed_in(dtype) if op.defn.widen else dtype

    def _total_dtype(self, op: Op) -> DType:
        """The dtype of accumulators across blocks."""
        dtype = self._partial_dtype(op)
        single = self.most is not None and self.most <= _BLOCK and len(self.layout.inner) == 1 and op not in self.slabs
        return float64 if op.defn.name == "sum" and dtype is float32 and not single else dtype

    def _total_width(self, op: Op) -> int:
        """The lanes of accumulators across blocks: one where a row of any length is mostly a single block."""
        widened = self._total_dtype(op) is not self._partial_dtype(op)
        rows = not isinstance(self.length, int) and len(self.layout.inner) == 1 and op not in self.slabs
        return 1 if widened and rows else self.width

    def _identity(self, op: Op, dtype: DType, width: int) -> Lane:
        """The identity of a reduction, in all lanes."""
        k, name = self._k(width), op.defn.name
        if name == "sum":
            return self._no_sum(op, k, dtype) if dtype.is_float else k.number(0, dtype)
        if name == "prod":
            return k.number(1, dtype)
        if dtype is bool_:
            return k.number(name in ("all", "min"), dtype)
        if dtype.is_float:
            return k.number(float("-inf" if name == "max" else "inf"), dtype)
        signed = dtype.kind == "i"
        low, high = (-(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1) if signed else (0, 2**dtype.bits - 1)
        return k.number(low if name == "max" else high, dtype)

    def _no_sum(self, op: Op, k: Kernels, dtype: DType) -> Lane:
        """The identity of addition, -0.0; where only the call knows whether there is anything to add, else 0.0."""
        count = prod(self.cluster.shape[a] for a in reduced_axes(op))
        if is_at_most(1, count):
            return k.number(-0.0, dtype)
        nothing = self.text.let("i1", f"icmp eq {self.text.whole(count)}, 0")
        plus, minus = (self.one.number(x, dtype).reg for x in (0.0, -0.0))
        return k.broadcast(Lane(self.one, self.text.let(plus.type, f"select {nothing}, {plus}, {minus}"), dtype))

    def _combine(self, op: Op, a: Lane, b: Lane) -> Lane:
        k, name = self._k(a.kernels.width), op.defn.name
        if name == "sum":
            return k.add(a, b)
        if name == "prod":
            return k.multiply(a, b)
        if name in ("any", "all") or a.dtype is bool_:
            return (k.logical_or if name in ("any", "max") else k.logical_and)(a, b)
        return (k.maximum if name == "max" else k.minimum)(a, b)

    def _part(self, x: Lane, lanes: Sequence[int]) -> Lane:
        """Some of the lanes."""
        return self._k(len(lanes)).of_lanes(x, lanes)

    def _reduced(self, op: Op, x: Lane) -> Lane:
        """The horizontal reduction of a vector, as the result's dtype: pairs first, or few numbers in NumPy's order."""
        width = x.kernels.width
        few = self.length if isinstance(self.length, int) and self.length < _FEW else 0
        if few and op not in self.slabs and len(self.layout.inner) == 1:
            ones = [self._part(x, [i]) for i in range(min(few, width))]
            x = ones[0]
            for one in ones[1:]:
                x = self._combine(op, x, one)
        type = op.results[0].type
        assert isinstance(type, TensorType)
        return self.one.cast(self._folded(op, x), type.dtype)

    def _folded(self, op: Op, x: Lane) -> Lane:
        """The horizontal reduction of a vector, pairs first."""
        width = x.kernels.width
        while width > 1:
            width //= 2
            x = self._combine(op, self._part(x, range(0, 2 * width, 2)), self._part(x, range(1, 2 * width, 2)))
        return x


def held_row(length: int, passes: int, lanes: int, loops: int) -> bool:
    """Whether a row stays in registers between its passes."""
    return passes > 1 and loops == 1 and -(-length // min(lanes, 1 << (length - 1).bit_length())) <= HELD


def vectors_together(cluster: Cluster, layout: Layout, lanes: int, few_registers: bool) -> int:
    """How many vectors are interleaved in a trip.

    More than one where the dependency chain of a vector is so long that out-of-order execution does not reach the next
    trip; four only where the code is not too large for that.
    """
    work = sum(COSTLY if op.defn.cost is None else op.defn.cost for op in cluster.ops)
    vectors = usual(layout.inner[-1].size) // lanes
    if work < _MUCH or vectors < _MANY:
        return 1
    return 4 if work <= _MOST[few_registers] and vectors >= 8 * _MANY else 2
