"""What a `for` iterates over: elements at compile time, or by run-time index in a kept loop.

`zip`, `enumerate`, `reversed` and `range` make these objects in compiled code, so that a long loop over Tensors or
numbers can be kept instead of being unrolled.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from ..dtypes import int64
from ..errors import LoopError, StaticValueError
from ..ir.build import current
from ..ir.core import Value
from ..ir.primitive import METHODS, F
from ..ir.types import tensor
from .control import iterate_live, iterate_static
from .joins import lifted_number
from .lowering import Lowering
from .values import EITHER, DictView, LocalDict, LocalList, StateVar, TensorVar, Weak, describe, snapshot_of, usable

__all__ = ["Enumerate", "Forced", "Iteration", "RangeOf", "Reversed", "Zip", "iteration_of"]

_COUNT = tensor(int64, ())


class Iteration:
    """The elements of one loop.  `length` is an int, or a 0-d i64 Value."""

    length: Any = 0
    force_keep = False
    force_unroll = False

    def static_items(self, lw: Lowering) -> Iterable[Any]:
        """All elements, for a loop that is unrolled."""
        raise LoopError("the number of trips is known only at run time", code="AC1501")

    def sources(self) -> list[Any]:
        """The containers it goes over that compiled code may change."""
        return []

    def sequences(self, lw: Lowering) -> list[Value]:
        """Sequences that a kept loop reads one element of per trip."""
        return []

    def element(self, lw: Lowering, index: Value, parts: list[Value]) -> Any:
        """The element of trip `index` in a kept loop, given that trip's parts of `sequences`."""
        raise NotImplementedError

    def item_at(self, lw: Lowering, index: Value) -> Any:
        """The element of trip `index` in a loop that may end early."""
        raise NotImplementedError

    def iterate(self, lw: Lowering) -> list[Any]:
        """The elements, where a static container is needed."""
        if not isinstance(self.length, int):
            raise StaticValueError("the number of elements must be known at compile time")
        return list(self.static_items(lw))


def iteration_of(lw: Lowering, x: Any) -> Iteration:
    """The iteration over an abstract value."""
    if isinstance(x, Iteration):
        return x
    if isinstance(x, range):
        return RangeOf(x.start, x.stop, x.step)
    if type(x) in (TensorVar, StateVar):
        return _Slices(lw, x)
    source = x.source if isinstance(x, DictView) else x if isinstance(x, LocalList | LocalDict) else None
    return _Static(iterate_static(lw, x), x, source)


class _Static(Iteration):
    """Elements of a container, known one by one."""

    def __init__(self, items: Any, of: Any, source: Any) -> None:
        self.items = list(items)
        self.length = len(self.items)
        self.of, self.source = of, source

    def static_items(self, lw: Lowering) -> Iterable[Any]:
        return self.items if self.source is None else iterate_live(lw, self.of)

    def sources(self) -> list[Any]:
        return [] if self.source is None else [self.source]

    def element(self, lw: Lowering, index: Value, parts: list[Value]) -> Any:
        return self.item_at(lw, index)

    def item_at(self, lw: Lowering, index: Value) -> Any:
        first = self.items[0]
        if type(first) is TensorVar and all(type(x) is TensorVar and x.type is first.type for x in self.items):
            stacked = F.stack(*[x.value for x in self.items], axis=-1 - len(first.type.shape))
            item = lw.native(METHODS["__getitem__"], [TensorVar(stacked), Weak(index, int)])
            item.locked = EITHER
            item.snapshot = snapshot_of(*self.items)
            return item
        raise StaticValueError(
            f"it goes over a container whose elements ({describe(first)}, ...) cannot be picked by a number "
            "known at run time",
            code="AC1305",
        )


class RangeOf(Iteration):
    """``range(start, stop, step)`` whose bounds may be known only at run time."""

    def __init__(self, start: Any, stop: Any, step: Any = 1) -> None:
        self.start, self.stop, self.step = start, stop, step
        if all(isinstance(b, int) for b in (start, stop, step)):
            self.length = len(range(start, stop, step))
        else:
            if step == 0 and isinstance(step, int):
                raise ValueError("range() arg 3 must not be zero")
            if not isinstance(step, int):
                raise StaticValueError(f"the step of a range must be known at compile time, it is a {describe(step)}")
            self.length = self._count(start, stop, step)

    @staticmethod
    def _count(start: Any, stop: Any, step: int) -> Value:
        a, b = (lifted_number(v, int, current()) for v in (start, stop))
        span = F.sub(b, a) if step > 0 else F.sub(a, b)
        size = abs(step)
        count = span if size == 1 else F.floordiv(F.add(span, size - 1), size)
        return F.maximum(count, 0)

    def static_items(self, lw: Lowering) -> Iterable[Any]:
        return range(self.start, self.stop, self.step)

    def element(self, lw: Lowering, index: Value, parts: list[Value]) -> Any:
        return self.item_at(lw, index)

    def item_at(self, lw: Lowering, index: Value) -> Any:
        value = index if self.step == 1 else F.mul(index, self.step)
        if not (isinstance(self.start, int) and self.start == 0):
            value = F.add(value, lifted_number(self.start, int, current()))
        return Weak(value, int)


class _Slices(Iteration):
    """A Tensor along its first dimension."""

    def __init__(self, lw: Lowering, x: Any) -> None:
        shape = x.type.shape
        if not shape:
            raise TypeError("iteration over a 0-d tensor")
        self.tensor = TensorVar(lw.unwrap(x))
        self.length = shape[0]

    def static_items(self, lw: Lowering) -> Iterable[Any]:
        return list(iterate_static(lw, self.tensor))

    def sequences(self, lw: Lowering) -> list[Value]:
        return [F.to_seq(self.tensor.value)]

    def element(self, lw: Lowering, index: Value, parts: list[Value]) -> Any:
        return TensorVar(parts[0])

    def item_at(self, lw: Lowering, index: Value) -> Any:
        return lw.native(METHODS["__getitem__"], [self.tensor, Weak(index, int)])


class Zip(Iteration):
    """``zip(...)``: tuples of the elements of several iterations, as long as the shortest."""

    def __init__(self, parts: list[Iteration]) -> None:
        self.parts = parts
        lengths = [p.length for p in parts]
        known = [n for n in lengths if isinstance(n, int)]
        if len(known) == len(lengths):
            self.length = min(known, default=0)
        else:
            count = None
            for n in lengths:
                value = n if isinstance(n, Value) else current().const(n, _COUNT)
                count = value if count is None else F.minimum(count, value)
            self.length = count

    def static_items(self, lw: Lowering) -> Iterable[Any]:
        return zip(*(p.static_items(lw) for p in self.parts), strict=False)

    def sources(self) -> list[Any]:
        return [s for p in self.parts for s in p.sources()]

    def sequences(self, lw: Lowering) -> list[Value]:
        if any(p.length is not self.length and p.length != self.length for p in self.parts):
            return []  # a sequence must have exactly one element per trip
        return [s for p in self.parts for s in p.sequences(lw)]

    def element(self, lw: Lowering, index: Value, parts: list[Value]) -> Any:
        if not parts:
            return self.item_at(lw, index)
        out, at = [], 0
        for p in self.parts:
            k = len(p.sequences(lw))
            out.append(p.element(lw, index, parts[at : at + k]))
            at += k
        return tuple(out)

    def item_at(self, lw: Lowering, index: Value) -> Any:
        return tuple(p.item_at(lw, index) for p in self.parts)


class Enumerate(Zip):
    """``enumerate(x, start)``."""

    def __init__(self, inner: Iteration, start: Any = 0) -> None:
        self._inner, self._start = inner, start
        n = inner.length
        counter = RangeOf(start, start + n) if isinstance(n, int) and isinstance(start, int) else _Counter(start, n)
        super().__init__([counter, inner])

    def static_items(self, lw: Lowering) -> Iterable[Any]:
        if not isinstance(self._start, int):
            return super().static_items(lw)
        return zip(count(self._start), self._inner.static_items(lw), strict=False)


class _Counter(Iteration):
    """start, start + 1, ... for a number of trips known only at run time."""

    def __init__(self, start: Any, length: Any) -> None:
        self.start, self.length = start, length

    def item_at(self, lw: Lowering, index: Value) -> Any:
        return Weak(F.add(index, lifted_number(self.start, int, current())), int)

    def element(self, lw: Lowering, index: Value, parts: list[Value]) -> Any:
        return self.item_at(lw, index)


class Reversed(Iteration):
    """``reversed(x)``."""

    def __init__(self, inner: Iteration) -> None:
        self.inner = inner
        self.length = inner.length

    def static_items(self, lw: Lowering) -> Iterable[Any]:
        items = getattr(self.inner, "of", None)
        if not isinstance(items, LocalList):
            return list(self.inner.static_items(lw))[::-1]
        return (usable(items)[i] for i in range(len(items) - 1, -1, -1) if i < len(items))

    def sources(self) -> list[Any]:
        return self.inner.sources()

    def element(self, lw: Lowering, index: Value, parts: list[Value]) -> Any:
        return self.item_at(lw, index)

    def item_at(self, lw: Lowering, index: Value) -> Any:
        n = self.length if isinstance(self.length, Value) else current().const(self.length, _COUNT)
        return self.inner.item_at(lw, F.sub(F.sub(n, 1), index))


class Forced(Iteration):
    """``unroll(x)`` or ``keep(x)``."""

    def __init__(self, inner: Iteration, *, keep: bool) -> None:
        self.inner, self.force_keep, self.force_unroll = inner, keep, not keep
        self.length = inner.length

    def static_items(self, lw: Lowering) -> Iterable[Any]:
        return self.inner.static_items(lw)

    def sources(self) -> list[Any]:
        return self.inner.sources()

    def sequences(self, lw: Lowering) -> list[Value]:
        return self.inner.sequences(lw)

    def element(self, lw: Lowering, index: Value, parts: list[Value]) -> Any:
        return self.inner.element(lw, index, parts)

    def item_at(self, lw: Lowering, index: Value) -> Any:
        return self.inner.item_at(lw, index)
