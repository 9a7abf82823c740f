"""Kernels that are one loop nest over arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import TypeAlias

from ....dtypes import DType
from ....ir.sizes import Size, is_at_most
from ..codegen.arithmetic import Kernels
from ..codegen.emit import LEAVE, Int, Reg, Text
from ..codegen.values import Array
from ..memory.buffer_plan import BufferPlan

#: For each of several pointers its strides.
Strides: TypeAlias = Sequence[Sequence[Size]]
#: What writes the body for some trips at once, given the pointers of each.
Body: TypeAlias = Callable[[list[list[Reg]]], None]


class LoopNest:
    """Writes a kernel that takes pointers to `arrays`; `call` ends it and calls it from the driver."""

    def __init__(self, low: BufferPlan, arrays: Sequence[Array]) -> None:
        self.low, self.arrays = low, arrays
        text = Text.kernel(len(low.kernels), ["ptr"] * len(arrays))
        self.text = text
        self.one = Kernels(text, 1, low_latency=False)
        self.places = [Reg(f"%p{i}", "ptr") for i in range(len(arrays))]
        self._kernels = {1: self.one}
        self._fingerprint: Hashable = None
        self._is_known = False

    def write_once(self, fingerprint: Hashable, write: Callable[[], None]) -> None:
        """Writes the kernel, unless there is one with this fingerprint: all that `write` goes by."""
        found = self.low.written_for.get(fingerprint)
        if found is None:
            self._fingerprint = fingerprint
            write()
        else:
            self.text, self._is_known = found, True

    def kernels(self, width: int) -> Kernels:
        if width not in self._kernels:
            self._kernels[width] = Kernels(self.text, width)
        return self._kernels[width]

    def lanes(self, *dtypes: DType) -> int:
        """How many elements of these dtypes fit a vector register, 16-bit floats held as f32."""
        return self.low.machine.vector_bytes // max(4, *(d.itemsize for d in dtypes))

    def call(self, along: Size = 1) -> None:
        """Ends the kernel and calls it from the driver, which leaves where the kernel was left early.

        `along`: the size of an axis that it takes positions on; where a call has none there, it is not called.
        """
        low, leaves = self.low, self.text.leaves
        result = "i32" if leaves else "void"
        kernel = self._ended()
        low.trace.calls(kernel)
        for array in self.arrays:
            low.touch(array)
        places = [low.text.at(a.base, a.offset) for a in self.arrays]
        given = [*places, *low.text.sizes_for(kernel)]
        call = f"call {result} @{kernel.name}({', '.join(map(str, given))})"

        def called() -> tuple[()]:
            if leaves:
                low.text.leave_if(low.text.make("i1", f"icmp ne {low.text.make('i32', call)}, 0"))
            else:
                low.text.do(call)
            return ()

        if is_at_most(1, along):
            called()
        else:
            low.text.branch(low.text.let("i1", f"icmp sgt {low.text.whole(along)}, 0"), called)

    def _ended(self) -> Text:
        """The function of the kernel, ended unless it was there before."""
        text = self.text
        if self._is_known:
            return text
        if text.leaves:
            text.head = text.head.replace(" void ", " i32 ", 1)
            text.ret("i32 0")
            text.enter(LEAVE)
            text.ret("i32 1")
        else:
            text.ret()
        kernel = self.low.kernel(text)
        if self._fingerprint is not None:
            self.low.written_for[self._fingerprint] = kernel
        return kernel

    def over(
        self, sizes: Sequence[Size], strides: Strides, places: Sequence[Reg], body: Callable[[list[Reg]], None]
    ) -> None:
        """A loop per axis, in their order; `strides`: for each of `places` those of the axes."""
        self.over_unrolled(sizes, strides, places, 1, lambda at: body(at[0]))

    def over_unrolled(
        self, sizes: Sequence[Size], strides: Strides, places: Sequence[Reg], together: int, body: Body
    ) -> None:
        """`over` with the innermost loop unrolled: the body gets the places of `together` trips; of one in the rest."""
        kept = [i for i, d in enumerate(sizes) if d != 1]
        loops: list[tuple[Size, list[Size]]] = []
        for i in kept:
            steps = [s[i] for s in strides]
            if loops and loops[-1][1] == [s * sizes[i] for s in steps]:
                loops[-1] = (loops[-1][0] * sizes[i], steps)  # collapses the two axes
            else:
                loops.append((sizes[i], steps))
        self._over(loops, list(places), together, body)

    def _over(self, loops: Sequence[tuple[Size, list[Size]]], places: list[Reg], together: int, body: Body) -> None:
        if not loops:
            body([places])
            return
        (size, steps), text = loops[0], self.text

        def at(i: Int) -> list[Reg]:
            return [text.at(p, text.mul(i, s)) for p, s in zip(places, steps, strict=True)]

        if len(loops) > 1:
            text.repeated(0, size, 1, lambda i: self._over(loops[1:], at(i), together, body))
            return
        whole = size // together * together
        text.repeated(0, whole, together, lambda i: body([at(text.add(i, n)) for n in range(together)]))
        text.repeated(whole, size, 1, lambda i: body([at(i)]))

    def along(self, count: Size, widest: int, body: Callable[[Kernels, Int], None]) -> None:
        """`count` adjacent elements: vectors, then ever shorter ones; `body` gets the index of each one's first."""
        self._pieces(count, widest, lambda width, i: body(self.kernels(width), i))

    def move(self, source: Reg, to: Reg, nbytes: Size) -> None:
        """Copies bytes that do not overlap."""
        text = self.text

        def piece(width: int, i: Int) -> None:
            type = f"<{width} x i8>" if width > 8 else f"i{8 * width}"
            text.store(text.load(type, text.at(source, i), 1), text.at(to, i), 1)

        self._pieces(nbytes, self.low.machine.vector_bytes, piece)

    def _pieces(self, count: Size, widest: int, piece: Callable[[int, Int], None]) -> None:
        """0 ... `count` - 1 in pieces: the widest (a power of 2), looped over if they are many, then shorter ones."""
        done = count // widest * widest
        if not isinstance(count, int) or not isinstance(done, int):
            self.text.repeated(0, done, widest, lambda i: piece(widest, i))
            self.text.repeated(done, count, 1, lambda i: piece(1, i))
            return
        if done <= 4 * widest:
            for i in range(0, done, widest):
                piece(widest, i)
        else:
            self.text.repeated(0, done, widest, lambda i: piece(widest, i))
        width = widest // 2
        while done < count:
            while done + width <= count:
                piece(width, done)
                done += width
            width //= 2


def each_matrix(
    text: Text, arrays: Sequence[Array], body: Callable[[list[Reg]], None], repeated: Callable[..., None] | None = None
) -> None:
    """Loops over the leading axes of arrays of matrices, in the text that `arrays` lie in; the body gets their places.

    `repeated`: what writes the loops, if not `Text.repeated`.
    """
    batch = arrays[-1].shape[:-2]

    def along(axis: int, places: list[Reg]) -> None:
        if axis == len(batch):
            body(places)
            return

        def trip(i: Int) -> None:
            along(axis + 1, [text.along(p, i, x.strides[axis]) for p, x in zip(places, arrays, strict=True)])

        (repeated or text.repeated)(0, batch[axis], 1, trip)

    along(0, [text.at(x.base, x.offset) for x in arrays])


def row_of(array: Array, axis: int) -> Size | None:
    """How many elements the axes behind `axis` (not negative) have, if these are contiguous; else None."""
    step: Size = array.dtype.itemsize
    for d, stride in zip(reversed(array.shape[axis + 1 :]), reversed(array.strides[axis + 1 :]), strict=True):
        if d != 1 and stride != step:
            return None
        step *= d
    return prod(array.shape[axis + 1 :])
