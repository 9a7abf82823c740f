"""What the rules of primitives (`Primitive.aclnn`) write: operators over views of buffers.

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

from ...dtypes import DType
from .launch import Number
from .tables import Argument, operators

__all__ = ["Buffer", "Call", "Emitter", "Ref", "Refused", "contiguous_strides"]


class Refused(Exception):
    """The device cannot run an op; the text says why."""


class Buffer:
    """Room for a value: `nbytes` of it.  `label` is the user's name, for messages about memory."""

    __slots__ = ("label", "nbytes")

    def __init__(self, nbytes: int, label: str = "") -> None:
        self.nbytes, self.label = nbytes, label


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements from one entry to the next along each dimension, where nothing lies between them."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


@dataclass(frozen=True)
class Ref:
    """A tensor as a view of a buffer; strides and offset count elements.  `number`: what every element is, if known."""

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
        """Whether it is all of its buffer, in order."""
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


class Emitter:
    """Where a rule writes: the op's attributes by name, its results' places, and operators.

    `outs` are fresh places for the results; `give` replaces them by views of what exists.
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
        """The results are these, not what lies in `outs`."""
        self.outs = refs

    def temp(self, shape: Sequence[int], dtype: DType) -> Ref:
        """Room for a value in between."""
        shape = tuple(shape)
        buffer = Buffer(math.prod(shape) * dtype.itemsize)
        return Ref(buffer, dtype, shape, contiguous_strides(shape))

    def number(self, number: Any, like: Ref) -> Ref:
        """A number of the dtype of another value, for all places."""
        buffer = self._constant(number, like.dtype)
        return Ref(buffer, like.dtype, (), (), 0, number)

    def like(self, x: Ref) -> Ref:
        """Room for a value of the shape and dtype of another."""
        return self.temp(x.shape, x.dtype)

    def refuse(self, why: str) -> None:
        """Ends the rule: the device cannot do this."""
        raise Refused(why)

    # ------------------------------------------------------------------------------------------- operators
    def op(self, name: str, *values: Any) -> None:
        """Appends an operator; `Refused` if it does not take these dtypes or ranks."""
        prototype = operators()[name]
        if len(values) != len(prototype.args):
            raise TypeError(f"aclnn{name} takes {len(prototype.args)} arguments, {len(values)} were given")
        given = [self._argument(name, a, v) for a, v in zip(prototype.args, values, strict=True)]
        dtypes = {v.dtype.short for v in given if isinstance(v, Ref)}
        if "f64" in dtypes or (prototype.fast and dtypes - prototype.fast - {"bool"}):
            self.slow.add(f"{name} of {', '.join(sorted(dtypes))}")
        self.calls.append(Call(name, tuple(given), self.loc))

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
        """The same values without gaps."""
        if x.contiguous:
            return x
        copied = self.like(x)
        self.op("InplaceCopy", copied, x)
        return copied

    def cast(self, x: Ref, dtype: DType) -> Ref:
        """The same values in another dtype."""
        if x.dtype is dtype:
            return x
        made = self.temp(x.shape, dtype)
        self.op("Cast", x, dtype, made)
        return made

    def reshaped(self, x: Ref, shape: Sequence[int]) -> Ref:
        """The same values in order in another shape; copied first if they do not lie in order."""
        x = self.dense(x)
        return replace(x, shape=tuple(shape), strides=contiguous_strides(shape))

    def full(self, shape: Sequence[int], dtype: DType, number: Any) -> Ref:
        """A new buffer full of one number."""
        made = self.temp(shape, dtype)
        self.op("InplaceFillScalar", made, number)
        return made

    def copy(self, to: Ref, source: Ref) -> None:
        """Writes the values of one place, broadcast, to another."""
        self.op("InplaceCopy", to, source)


Rule = Callable[..., None]
