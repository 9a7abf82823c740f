"""The emitter that rules of primitives (`Primitive.aclnn`) write operators with, over views of buffers.

A rule gets an `Emitter` and the operands, and calls operators by name with arguments in the order of CANN's prototype:

    def aclnn(c, x):
        c.op("ReduceSum", x, c.axes, c.keepdims, c.out.dtype, c.out)

A rule that is a text names an operator that takes the operands and then the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...dtypes import DType
from .launch import Number
from .tables import Argument, operators


class Refused(Exception):
    """The device cannot run an op; the text says why."""


class Buffer:
    """Memory of a value.  `label` is the user's name, for messages about memory.

    `optional`: it may be undefined where it is read, on paths that do not use the result.
    """

    __slots__ = ("__weakref__", "label", "nbytes", "optional")

    def __init__(self, nbytes: int, label: str = "") -> None:
        self.nbytes, self.label, self.optional = nbytes, label, False


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous array, in elements."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


@dataclass(frozen=True)
class Ref:
    """A tensor as a view of a buffer; strides and offset in elements.  `number`: the constant of a splat."""

    buffer: Buffer
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    number: Any = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def contiguous(self) -> bool:
        wanted = contiguous_strides(self.shape)
        pairs = zip(self.shape, self.strides, wanted, strict=True)
        return self.size == 0 or all(n == 1 or have == want for n, have, want in pairs)

    @property
    def whole(self) -> bool:
        """Whether it is contiguous and all of its buffer."""
        return self.contiguous and self.offset == 0 and self.size * self.dtype.itemsize == self.buffer.nbytes

    def permuted(self, axes: Sequence[int]) -> Ref:
        """The dimensions in another order."""
        return replace(
            self, shape=tuple(self.shape[a] for a in axes), strides=tuple(self.strides[a] for a in axes)
        )  # fmt: skip

    def broadcast(self, shape: Sequence[int]) -> Ref:
        """Repeated along new leading dimensions and along those of size 1."""
        extra = len(shape) - self.ndim
        strides = [0] * extra + [
            0 if have == 1 and want != 1 else step
            for have, want, step in zip(self.shape, shape[extra:], self.strides, strict=True)
        ]
        return replace(self, shape=tuple(shape), strides=tuple(strides))

    def expanded(self, axes: Sequence[int]) -> Ref:
        """With dimensions of 1 that stand at `axes` (negative numbers) of the result."""
        rank = self.ndim + len(axes)
        places = {a % rank for a in axes}
        sizes, steps = iter(self.shape), iter(self.strides)
        shape = tuple(1 if i in places else next(sizes) for i in range(rank))
        return replace(self, shape=shape, strides=tuple(1 if i in places else next(steps) for i in range(rank)))

    def squeezed(self, axes: Sequence[int]) -> Ref:
        """Without the dimensions of 1 at `axes`."""
        gone = {a % self.ndim for a in axes}
        kept = [i for i in range(self.ndim) if i not in gone]
        return self.permuted(kept)

    def low_bytes(self, dtype: DType) -> Ref:
        """The low bytes of each element (the device is little-endian) as elements of a dtype that is not wider."""
        ratio = self.dtype.itemsize // dtype.itemsize
        strides = tuple([s * ratio for s in self.strides])
        return replace(self, dtype=dtype, strides=strides, offset=self.offset * ratio, number=None)

    def diagonal(self, offset: int, length: int) -> Ref:
        """The elements [..., i, i + offset] of the last two dimensions, as one."""
        row, column = self.strides[-2:]
        first = self.offset + max(-offset, 0) * row + max(offset, 0) * column
        return replace(
            self, shape=(*self.shape[:-2], length), strides=(*self.strides[:-2], row + column),
            offset=first if length else self.offset,
        )  # fmt: skip

    def entry(self, index: Sequence[int]) -> Ref:
        """What stands at a place of the leading dimensions."""
        n = len(index)
        first = self.offset + sum(i * step for i, step in zip(index, self.strides[:n], strict=True))
        return replace(self, shape=self.shape[n:], strides=self.strides[n:], offset=first) if n else self

    def sliced(self, axis: int, start: int, size: int, step: int = 1) -> Ref:
        """`size` entries along a dimension, from `start` on, every `step`-th (at least 1)."""
        axis %= self.ndim
        shape, strides = list(self.shape), list(self.strides)
        offset = self.offset + (start * strides[axis] if size else 0)
        shape[axis], strides[axis] = size, strides[axis] * step
        return replace(self, shape=tuple(shape), strides=tuple(strides), offset=offset)


@dataclass(frozen=True)
class Call:
    """One operator of a segment: its values are `Ref`s (or lists of them), `Number`s, tuples, dtypes and numbers."""

    operator: str
    values: tuple[Any, ...]
    loc: str


#: Operators whose operands broadcast.
_BROADCASTING = frozenset({
    "Add", "Addcmul", "Atan2", "BitwiseAndTensor", "BitwiseOrTensor", "BitwiseXorTensor", "Div", "EqTensor",
    "FloorDivide", "FmodTensor", "GeTensor", "GtTensor", "InplaceAdd", "InplaceCopy", "LeTensor", "LogicalAnd",
    "LogicalOr", "LogicalXor", "LtTensor", "Maximum", "Minimum", "Mul", "NeTensor", "PowTensorTensor",
    "RemainderTensorTensor", "SWhere", "Sub",
})  # fmt: skip
#: For these dtypes operators broadcast only fewer than `_GROUPS` groups of axes: a group is adjacent axes along which
#: the same operands are repeated.
_GROUPED, _GROUPS = frozenset({"f64", "i16", "u16", "u64"}), 6


def _runs(xs: Sequence[Ref]) -> list[tuple[frozenset[int], list[int]]]:
    """The groups of axes, the last first: the operands that are repeated along it, and its axes (negative)."""
    found: list[tuple[frozenset[int], list[int]]] = []
    for d in range(-1, -1 - max(x.ndim for x in xs), -1):
        single = frozenset(i for i, x in enumerate(xs) if x.ndim < -d or x.shape[d] == 1)
        if len(single) == len(xs):
            continue  # no operand has more than one entry there
        if not found or found[-1][0] != single:
            found.append((single, []))
        found[-1][1].append(d)
    return found


def _unrepeated(args: Sequence[Argument], given: list[Any]) -> list[Any]:
    """Operands before a broadcast that the operator makes itself: CANN copies views with strides of 0."""
    places = [i for i, (a, v) in enumerate(zip(args, given, strict=True)) if a.role == "in" and isinstance(v, Ref)]
    written = any(a.role == "inout" for a in args)
    shrunk = {i: list(given[i].shape) for i in places}
    for d in range(-1, -1 - max(given[i].ndim for i in places), -1):
        there = [i for i in places if given[i].ndim >= -d and given[i].shape[d] > 1]
        repeated = [i for i in there if given[i].strides[d] == 0]
        if len(repeated) == len(there) and not written:
            repeated = repeated[1:]  # one operand must have the size
        for i in repeated:
            shrunk[i][d] = 1
    made = list(given)
    for i, shape in shrunk.items():
        x = given[i]
        strides = tuple([1 if n == 1 else step for n, step in zip(shape, x.strides, strict=True)])
        made[i] = replace(x, shape=tuple(shape), strides=strides)
    return made


def _collapsed(x: Ref, y: Ref) -> tuple[Ref, Ref]:
    """Two views of one shape with as few dimensions as possible: neighbours are one where both views allow it."""
    found: list[tuple[int, int, int]] = []
    for n, a, b in zip(x.shape, x.strides, y.strides, strict=True):
        if found and found[-1][1:] == (n * a, n * b):
            found[-1] = (found[-1][0] * n, a, b)
        elif n != 1:
            found.append((n, a, b))
    sizes, of_x, of_y = zip(*found, strict=True) if found else ((), (), ())
    return replace(x, shape=sizes, strides=of_x), replace(y, shape=sizes, strides=of_y)


def _ranked(args: Sequence[Argument], given: list[Any]) -> list[Any]:
    """Arguments with shape (1,) for scalars, where an operator takes none of rank 0."""
    pairs = list(zip(args, given, strict=True))
    if all(v.ndim >= a.ranks[0] for a, v in pairs if isinstance(v, Ref)):
        return given
    return [v.expanded((0,)) if isinstance(v, Ref) and v.ndim == 0 else v for v in given]


class Emitter:
    """What a rule writes with: the op's attributes by name, places for its results, and operators.

    `outs` are new places for the results; `give` replaces them by other views.
    """

    def __init__(
        self,
        attrs: dict[str, Any],
        outs: Sequence[Ref],
        calls: list[Call],
        loc: str,
        slow: set[str],
        constant: Callable[[Any, DType], Buffer],
    ) -> None:
        self._attrs, self._constant = attrs, constant
        self.outs = tuple(outs)
        self.calls, self.loc = calls, loc
        #: operators that run on the slow cores, with the reason
        self.slow = slow

    @property
    def out(self) -> Ref:
        return self.outs[0]

    def __getattr__(self, name: str) -> Any:
        try:
            return self._attrs[name]
        except KeyError:
            raise AttributeError(name) from None

    def give(self, *refs: Ref) -> None:
        """Makes these the results instead of `outs`."""
        self.outs = refs

    def temp(self, shape: Sequence[int], dtype: DType) -> Ref:
        """A new buffer for an intermediate value."""
        shape = tuple(shape)
        buffer = Buffer(math.prod(shape) * dtype.itemsize)
        return Ref(buffer, dtype, shape, contiguous_strides(shape))

    def number(self, number: Any, like: Ref) -> Ref:
        """A scalar constant of the dtype of another value."""
        buffer = self._constant(number, like.dtype)
        return Ref(buffer, like.dtype, (), (), 0, number)

    def like(self, x: Ref) -> Ref:
        """A new buffer for a value of the shape and dtype of another."""
        return self.temp(x.shape, x.dtype)

    # ------------------------------------------------------------------------------------------- operators
    def op(self, name: str, *values: Any) -> None:
        """Appends an operator; `Refused` if it does not take these dtypes or ranks."""
        prototype = operators()[name]
        if len(values) != len(prototype.args):
            raise TypeError(f"aclnn{name} takes {len(prototype.args)} arguments, {len(values)} were given")
        given = _ranked(
            prototype.args, [self._argument(name, a, v) for a, v in zip(prototype.args, values, strict=True)]
        )
        if not self._any_elements(name, prototype.args, given):
            return
        if name in _BROADCASTING:
            given = self._broadcast_by_copies(prototype.args, _unrepeated(prototype.args, given))
        dtypes = {v.dtype.short for v in given if isinstance(v, Ref)}
        if prototype.fast and "bf16" in dtypes - prototype.fast and "f32" in prototype.fast:
            raise Refused(f"aclnn{name} of bfloat16 is slow")  # the caller tries float32 then
        if "f64" in dtypes or (prototype.fast and dtypes - prototype.fast - {"bool"}):
            self.slow.add(f"{name} of {', '.join(sorted(dtypes))}")
        self.calls.append(Call(name, tuple(given), self.loc))

    def _broadcast_by_copies(self, args: Sequence[Argument], given: list[Any]) -> list[Any]:
        """Arguments broadcast by copies, a group of axes at a time, until the operator can broadcast the rest."""
        at = [i for i, (a, v) in enumerate(zip(args, given, strict=True)) if isinstance(v, Ref) and a.role != "out"]
        xs: list[Ref] = [given[i] for i in at]
        if not _GROUPED & {x.dtype.short for x in xs}:
            return given
        sizes = np.broadcast_shapes(*[x.shape for x in xs])
        while len(runs := _runs(xs)) >= _GROUPS:
            repeats = [sum(i in single for single, _ in runs) for i in range(len(xs))]
            i = repeats.index(max(repeats))
            axes = next(axes for single, axes in runs if i in single)
            x = xs[i].expanded([d for d in range(axes[-1], 0) if xs[i].ndim < -d])
            shape = [sizes[d] if d in axes else x.shape[d] for d in range(-x.ndim, 0)]
            xs[i] = self.temp(shape, x.dtype)
            self.op("InplaceCopy", xs[i], x)
        made = list(given)
        for i, x in zip(at, xs, strict=True):
            made[i] = x
        return made

    def _any_elements(self, name: str, args: Sequence[Argument], given: list[Any]) -> bool:
        """Whether an operator writes any element; refused if it would write some but read an empty operand."""
        refs = [(a.role, v) for a, v in zip(args, given, strict=True) if isinstance(v, Ref)]
        if all(v.size == 0 for role, v in refs if role != "in"):
            return False
        lists = [x for v in given if isinstance(v, list) for x in v]
        if any(x.size == 0 for x in [*[v for _, v in refs], *lists]):
            raise Refused(f"aclnn{name} is not called with operands that have no elements")
        return True

    def _argument(self, name: str, a: Argument, value: Any) -> Any:
        if a.kind == "tensor" and isinstance(value, Ref):
            return self._tensor(name, a, value)
        if a.kind == "tensors":
            return [self._tensor(name, a, v) for v in value]
        if a.kind == "scalar":
            return value if isinstance(value, Number) else Number.of(value)
        if value is None and not a.optional:
            raise TypeError(f"aclnn{name} needs {a.name}")
        return tuple(value) if a.kind in ("ints", "bools") and value is not None else value

    def _tensor(self, name: str, a: Argument, x: Ref) -> Ref:
        if a.dtypes and x.dtype.short not in a.dtypes:
            takes = ", ".join(sorted(a.dtypes - {"c64", "c128"}))
            raise Refused(f"aclnn{name} takes no {x.dtype.name} as `{a.name}` (it takes {takes})")
        if x.ndim > a.ranks[1]:
            raise Refused(f"aclnn{name} takes at most {a.ranks[1]} dimensions, not {x.ndim}")
        return self.dense(x) if a.dense and a.role == "in" and not x.contiguous else x

    def dense(self, x: Ref) -> Ref:
        """The same values, contiguous."""
        if x.contiguous:
            return x
        copied = self.like(x)
        self.copy(copied, x)
        return copied

    def cast(self, x: Ref, dtype: DType) -> Ref:
        """The same values in another dtype; integers without the bits that do not fit."""
        if x.dtype is dtype:
            return x
        made = self.temp(x.shape, dtype)
        if x.dtype.is_int and dtype.is_int and dtype.itemsize <= x.dtype.itemsize:
            self.op("InplaceCopy", made, x.low_bytes(dtype))  # `Cast` is exact for small numbers only
        else:
            self.op("Cast", self.dense(x) if x.dtype.is_bool else x, dtype, made)  # it reads no strided bools
        return made

    def array(self, values: Any, dtype: DType) -> Ref:
        """A constant array."""
        values = np.asarray(values).astype(dtype.numpy)
        buffer = self._constant(np.ascontiguousarray(values), dtype)
        return Ref(buffer, dtype, values.shape, contiguous_strides(values.shape))

    def sliced(
        self, x: Ref, axes: Sequence[int], starts: Sequence[int], shape: Sequence[int], steps: Sequence[int]
    ) -> tuple[Ref, list[int]]:
        """The view of a strided slice of that shape with positive steps, and the axes to flip afterwards."""
        flipped = []
        for axis, start, step in zip(axes, starts, steps, strict=True):
            size = shape[axis]
            if step < 0 and size > 1:
                flipped.append(axis % x.ndim)
            first = start if step > 0 else start + max(size - 1, 0) * step
            x = x.sliced(axis, first, size, abs(step))
        return x, flipped

    def flipped(self, x: Ref, axes: Sequence[int]) -> Ref:
        """The same values in reverse order along axes."""
        if not axes:
            return x
        made = self.like(x)
        self.op("Flip", x, axes, made)
        return made

    def reshaped(self, x: Ref, shape: Sequence[int]) -> Ref:
        """The same values in another shape; copied first if they are not contiguous."""
        x = self.dense(x)
        return replace(x, shape=tuple(shape), strides=contiguous_strides(shape))

    def full(self, shape: Sequence[int], dtype: DType, number: Any) -> Ref:
        """A new buffer full of one number."""
        made = self.temp(shape, dtype)
        self.op("InplaceFillScalar", made, number)
        return made

    def copy(self, to: Ref, source: Ref) -> None:
        """Copies values, broadcast, to another view; with too many dimensions, part by part."""
        most = operators()["InplaceCopy"].args[0].ranks[1]
        if to.ndim > most:
            to, source = _collapsed(to, source.broadcast(to.shape))
        for index in np.ndindex(*to.shape[: max(to.ndim - most, 0)]):
            self.op("InplaceCopy", to.entry(index), source.entry(index))


Rule = Callable[..., None]
