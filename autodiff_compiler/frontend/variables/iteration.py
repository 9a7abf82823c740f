"""What a `for` iterates over: elements at compile time, or by run-time index in a kept loop.

`zip`, `enumerate`, `reversed` and `range` make these objects in compiled code, so that a long loop over Tensors or
numbers can be kept instead of being unrolled.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import count, islice
from typing import Any

from ...dtypes import int64
from ...errors import LoopError, StaticValueError, shown_as
from ...ir.abstract import Abstract
from ...ir.build import current
from ...ir.core import Value
from ...ir.primitive import METHODS, F
from ...ir.sizes import Dim, Size, count_of, number_of, smallest
from ...ir.types import known_same, tensor
from ...runtime.tensor import NO_ELEMENTS
from ..guards.objects import same_static
from .arithmetic import kind_of_number, lifted_number
from .base import variable_of
from .changing import Progress, is_aliased
from .elements import iterate_live, iterate_static, iterator_of
from .interpreter import ValueContext
from .leaves import Leaf, NumberLeaf, TensorLeaf
from .structure import Form, elements, form, outline, parts, rebuild
from .templates import Slot, fill
from .values import (
    EITHER,
    SymScalar,
    TensorVar,
    describe,
    is_dynamic,
    is_size,
    is_tensor,
    of_known_length,
    snapshot_of,
    usable,
)

_COUNT = tensor(int64, ())
#: What stands for the element after the last.
END = object()
#: The length of what has no end, or none that is known; also the place of an iterator that is used up.
ENDLESS = sys.maxsize


def as_count(n: Any) -> Value:
    """A number of elements, an int or a 0-d i64 Value, as a Value."""
    return n if isinstance(n, Value) else current().const(n, _COUNT)


class Iteration(Abstract):
    """The elements of one loop.  `length` is an int, or a 0-d i64 Value."""

    length: Any = 0
    #: the length as a size, where that depends on the sizes of arguments alone; of rows of a Tensor also a number
    size: Dim | None = None
    force_keep = False
    force_unroll = False
    #: how many trips of its loop were unrolled before
    unrolled = 0

    @property
    def counted(self) -> Size | None:
        """The length as a size; None where only run time tells it."""
        return self.length if isinstance(self.length, int) else self.size

    def static_items(self, ctx: ValueContext) -> Iterable[Any]:
        """All elements, for a loop that is unrolled."""
        raise LoopError("the number of trips is known only at run time", code="AC1501").about(self.length)

    def backwards(self, ctx: ValueContext) -> Iterable[Any]:
        """The same from the last to the first."""
        return list(self.static_items(ctx))[::-1]

    def sources(self) -> list[Any]:
        """The containers it goes over that compiled code may change."""
        return []

    def enter(self, ctx: ValueContext) -> None:
        """Emits, before a kept loop, what its trips read; StaticValueError if elements cannot be picked at run time."""

    def sequences(self) -> list[Value]:
        """Sequences that a kept loop, once entered, reads one element of per trip."""
        return []

    def element(self, ctx: ValueContext, index: Value, parts: list[Value]) -> Any:
        """The element of trip `index` in a kept loop, given that trip's parts of `sequences`."""
        return self.item_at(ctx, index)

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        """The element of trip `index` in a loop that may end early."""
        raise NotImplementedError

    def item(self, ctx: ValueContext, i: int) -> Any:
        """Element number i of static elements, or END; a container may have changed since the one before."""
        raise self._of_unknown_length()

    def following(self, ctx: ValueContext, i: int) -> tuple[Any, int]:
        """The first element from number i on, or END, and the number to go on with."""
        return self.item(ctx, i), i + 1

    def parts_inside(self) -> Iterable[Iteration]:
        """The iterators that it takes its elements from."""
        return ()

    def most(self, ctx: ValueContext) -> int | None:
        """How many elements it may give before compiling is given up; None if what it is made of has such a limit."""
        n = self.length
        return ctx.options.unroll_max + (n if isinstance(n, int) and n < ENDLESS else 0)

    def runs_code(self) -> bool:
        """Whether the user's code runs when an element is asked for."""
        return any(p.runs_code() for p in self.parts_inside())

    def begin(self, ctx: ValueContext) -> Iteration:
        """What a `for` goes over; `end` is called after a loop that was kept or may have ended early."""
        return self

    def end(self, ctx: ValueContext, certain: bool) -> None:
        """A loop has taken all elements; if not `certain`, how many is known only at run time."""

    def iterate(self, ctx: ValueContext) -> list[Any]:
        """The elements, where a static container is needed."""
        if not isinstance(self.length, int):
            raise self._of_unknown_length()
        return list(self.static_items(ctx))

    def _of_unknown_length(self) -> StaticValueError:
        if self.size is not None:  # it becomes known
            number_of(self.size, "a `for` statement, which may append to a list, takes any number")
        error = StaticValueError(
            "the number of elements must be known at compile time",
            hint="pass it as a Python number, or take it from `x.shape`; a `for` statement that builds no list may make"
            " as many trips as data say",
        )
        return error.about(self.length)


def open_iteration(ctx: ValueContext, x: Any) -> Iteration | None:
    """The iteration over x where its length is a size, and no matter of compile time; None for everything else."""
    variable = variable_of(x)
    found = variable.iteration(ctx) if variable.may_be_open else None
    return None if found is None or found.size is None else found


class Rest(Iteration):
    """An iteration without its first element."""

    def __init__(self, source: Iteration) -> None:
        assert source.size is not None
        self.source = source
        self.size = source.size - 1  # type: ignore[assignment]  # of what is no number
        self.length = count_value(self.size)

    def sources(self) -> list[Any]:
        return self.source.sources()

    def enter(self, ctx: ValueContext) -> None:
        self.source.enter(ctx)

    def runs_code(self) -> bool:
        return self.source.runs_code()

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return self.source.item_at(ctx, F.add(index, 1))

    def end(self, ctx: ValueContext, certain: bool) -> None:
        self.source.end(ctx, certain)


@form(Iteration, Progress)
class _IterationForm(Form):
    """What goes over elements is made of its attributes, and how far it has got is one of them."""

    def holds(self, x: Any) -> Sequence[Any]:
        return [*vars(x).values()]


def iteration_of(ctx: ValueContext, x: Any) -> Iteration:
    """The iteration over an abstract value."""
    x = iterator_of(ctx, x)
    return variable_of(x).iteration(ctx) or _Static(iterate_static(ctx, x))


class _Static(Iteration):
    """Elements of a container, known one by one."""

    def __init__(self, items: Any) -> None:
        self.items = list(items)
        self.length = len(self.items)

    def static_items(self, ctx: ValueContext) -> Iterable[Any]:
        return self.items

    def item(self, ctx: ValueContext, i: int) -> Any:
        return self.items[i] if i < self.length else END

    def sources(self) -> list[Any]:
        """With all that is in it: what a kept loop reads of it is read once, before the loop."""
        return [x for item in self.items for x in parts(item) if is_aliased(x)]

    def element(self, ctx: ValueContext, index: Value, parts: list[Value]) -> Any:
        return fill(self._template, parts)

    def enter(self, ctx: ValueContext) -> None:
        self._stacks: list[Value] = []
        self._template = self._column(ctx, self.items)

    def sequences(self) -> list[Value]:
        return [F.to_seq(stack) for stack in self._stacks]

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return fill(self._template, [_row(stack, index) for stack in self._stacks])

    def _column(self, ctx: ValueContext, xs: list[Any]) -> Any:
        """The template of one place in the elements, where their values are `xs`; stacks the values of each leaf."""
        first = xs[0]
        parts = elements(first)
        if parts is not None and all(_alike(x, first) for x in xs):
            rows = zip(*[elements(x) for x in xs], strict=True)
            template = rebuild(first, [self._column(ctx, list(row)) for row in rows])
            if is_aliased(template):
                template.locked = EITHER
            return template
        kind = kind_of_number(first)
        if is_tensor(first) and all(is_tensor(x) and x.type is first.type for x in xs):
            leaf = TensorLeaf(first.type, locked=first.locked_as_either, snapshot=snapshot_of(*xs))
            return self._stacked([ctx.unwrap(x) for x in xs], leaf)
        if parts is None and all(same_static(usable(x), first) for x in xs):
            if not is_aliased(first) or all(x is first for x in xs):
                return first
            either = first.like(first)
            either.locked = EITHER
            return either
        if kind is not None and all(kind_of_number(x) is kind for x in xs):
            return self._stacked([lifted_number(x, kind, current()) for x in xs], NumberLeaf.of(kind))
        other = next((x for x in xs if describe(x) != describe(first)), None)
        told = describe(first) if other is None else f"{describe(first)}, {describe(other)}"
        raise StaticValueError(
            f"it goes over a container whose elements ({told}, ...) cannot be picked by a number known at run time",
            code="AC1305",
        )

    def _stacked(self, values: list[Value], leaf: Leaf) -> Slot:
        self._stacks.append(F.stack(*values, axis=-1 - len(values[0].shape)))
        return Slot(len(self._stacks) - 1, leaf)


class _OfChanging(_Static):
    """The elements of a container of compiled code, which may change between the trips."""

    def __init__(self, ctx: ValueContext, of: Any, source: Any) -> None:
        super().__init__(iterate_static(ctx, of))
        self.of, self.source = of, source

    def static_items(self, ctx: ValueContext) -> Iterable[Any]:
        return iterate_live(ctx, self.of)

    def sources(self) -> list[Any]:
        return [self.source, *super().sources()]

    def enter(self, ctx: ValueContext) -> None:
        self.items = [self.of.at(i) for i in range(len(of_known_length(self.source)))]
        if len(self.items) != self.length:
            raise StaticValueError(f"the {describe(self.source)} it goes over has changed its size since")
        super().enter(ctx)


class OfList(_OfChanging):
    """The elements of a list, which may grow meanwhile."""

    def item(self, ctx: ValueContext, i: int) -> Any:
        return self.of[i] if i < len(of_known_length(self.of)) else END

    def backwards(self, ctx: ValueContext) -> Iterable[Any]:
        return (of_known_length(self.of)[i] for i in range(len(self.of) - 1, -1, -1) if i < len(self.of))


class OfDict(_OfChanging):
    """The elements of a dict, or of a view of one, which must keep its size."""

    def item(self, ctx: ValueContext, i: int) -> Any:
        if len(usable(self.source)) != self.length:
            raise RuntimeError("dictionary changed size during iteration")
        return self.of.at(i) if i < self.length else END


def _alike(x: Any, y: Any) -> bool:
    """Whether two containers are of one class, length and keys."""
    return type(usable(x)) is type(y) and outline(x) == outline(y)


def _row(stack: Value, index: Value) -> Value:
    """One slice along the first dimension."""
    return F.gather(stack, index, axis=-len(stack.shape))


def count_value(n: Size | None) -> Any:
    """A number of elements: an int, or a Value where only a call knows it."""
    return F.size_value(size=n) if is_size(n) else n


@shown_as("range")
class RangeOf(Iteration):
    """``range(start, stop, step)`` whose bounds may be known only at run time."""

    def __init__(self, start: Any, stop: Any, step: Any = 1) -> None:
        self.start, self.stop, self.step = start, stop, step
        if all(isinstance(b, int) for b in (start, stop, step)):
            self.length = len(range(start, stop, step))
        elif isinstance(step, int) and step and not any(map(is_dynamic, (start, stop))):
            self.size = count_of(start, stop, step)  # type: ignore[assignment]  # some bound is one
            self.length = count_value(self.size)
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

    def static_items(self, ctx: ValueContext) -> Iterable[Any]:
        return range(self.start, self.stop, self.step)

    def item(self, ctx: ValueContext, i: int) -> Any:
        if not isinstance(self.length, int):
            return super().item(ctx, i)
        return self.start + i * self.step if i < self.length else END

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        value = index if self.step == 1 else F.mul(index, self.step)
        if not (isinstance(self.start, int) and self.start == 0):
            value = F.add(value, lifted_number(self.start, int, current()))
        return SymScalar(value, int)


class Slices(Iteration):
    """A Tensor along its first dimension."""

    def __init__(self, ctx: ValueContext, x: Any) -> None:
        shape = x.type.shape
        if not shape:
            raise TypeError(NO_ELEMENTS)
        self.of = x
        self.size = shape[0] if is_size(shape[0]) else None
        self.length = count_value(shape[0])

    def static_items(self, ctx: ValueContext) -> Iterable[Any]:
        return iterate_live(ctx, self.of)

    def item(self, ctx: ValueContext, i: int) -> Any:
        if not isinstance(self.length, int):
            return super().item(ctx, i)
        return ctx.native(METHODS["__getitem__"], [self.of, i]) if i < self.length else END

    def sources(self) -> list[Any]:
        return [self.of] if is_aliased(self.of) else []

    def enter(self, ctx: ValueContext) -> None:
        self._rows = ctx.unwrap(self.of)
        self._snapshot = snapshot_of(self.of)

    def sequences(self) -> list[Value]:
        return [F.to_seq(self._rows)]

    def element(self, ctx: ValueContext, index: Value, parts: list[Value]) -> Any:
        return TensorVar(parts[0], snapshot=self._snapshot)

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return TensorVar(_row(self._rows, index), snapshot=self._snapshot)


def _equally_long(parts: list[Iteration]) -> bool:
    """Whether iterations are as long as each other, in calls for which that is compiled."""
    first, *others = [p.counted for p in parts]
    return first is not None and all(n is not None and n == first for n in others)


@shown_as("zip")
class Zip(Iteration):
    """``zip(...)``: tuples of the elements of several iterations, as long as the shortest."""

    def __init__(self, parts: list[Iteration], strict: bool = False) -> None:
        self.parts, self.strict = parts, strict
        lengths = [p.length for p in parts]
        known: list[Any] = [p.length for p in parts if p.counted is p.length]
        if strict and len(known) < len(lengths) and not _equally_long(parts):
            raise StaticValueError("zip() with strict=True needs lengths known at compile time")
        self.force_unroll = any(p.force_unroll for p in parts) or (strict and len(set(known)) > 1)
        if len(known) == len(lengths):
            self.length = min(known, default=0)
            return
        sizes = [p.counted for p in parts if p.length is not ENDLESS]
        if None in sizes:
            counts = [as_count(n) for n in lengths]
            self.length = reduce(F.minimum, {id(n): n for n in counts}.values())
            return
        least = reduce(smallest, [n for n in sizes if n is not None])
        self.size, self.length = least if is_size(least) else None, count_value(least)  # type: ignore[assignment]

    def static_items(self, ctx: ValueContext) -> Iterable[Any]:
        return zip(*(p.static_items(ctx) for p in self.parts), strict=False)

    def item(self, ctx: ValueContext, i: int) -> Any:
        row: list[Any] = []
        for k, part in enumerate(self.parts):
            item = part.following(ctx, i)[0]
            if item is END:
                if self.strict:
                    self._check_ends(ctx, i, k)
                return END
            row.append(item)
        return tuple(row) if row else END

    def _check_ends(self, ctx: ValueContext, i: int, k: int) -> None:
        """`strict`: part k is the first that has ended."""
        if k == 0:
            k = next((j for j, p in enumerate(self.parts) if j and p.following(ctx, i)[0] is not END), 0)
            how = "longer"
        else:
            how = "shorter"
        if k:
            others = "argument 1" if k == 1 else f"arguments 1-{k}"
            raise ValueError(f"zip() argument {k + 1} is {how} than {others}")

    def parts_inside(self) -> Iterable[Iteration]:
        return self.parts

    def most(self, ctx: ValueContext) -> int | None:
        return min((m for p in self.parts if (m := p.most(ctx)) is not None), default=None)

    def sources(self) -> list[Any]:
        return [s for p in self.parts for s in p.sources()]

    def enter(self, ctx: ValueContext) -> None:
        for p in self.parts:
            p.enter(ctx)

    def sequences(self) -> list[Value]:
        if not all(self._ends_with(p) for p in self.parts):
            return []  # a sequence must have exactly one element per trip
        own = [p.sequences() for p in self.parts]
        self._counts = [len(s) for s in own]
        return [s for sequences in own for s in sequences]

    def _ends_with(self, part: Iteration) -> bool:
        """Whether a part is known to have as many elements as all."""
        all_of, own = self.counted, part.counted
        if all_of is None or own is None:
            return part.length is self.length
        return known_same((own,), (all_of,))

    def element(self, ctx: ValueContext, index: Value, parts: list[Value]) -> Any:
        if not parts:
            return self.item_at(ctx, index)
        rest = iter(parts)
        pairs = zip(self.parts, self._counts, strict=True)
        return tuple([p.element(ctx, index, list(islice(rest, k))) for p, k in pairs])

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return tuple(p.item_at(ctx, index) for p in self.parts)


@shown_as("enumerate")
class Enumerate(Zip):
    """``enumerate(x, start)``."""

    def __init__(self, inner: Iteration, start: Any = 0) -> None:
        self._inner, self._start = inner, start
        n = inner.length
        known = isinstance(n, int) and isinstance(start, int)
        super().__init__([RangeOf(start, start + n) if known else _Counter(start, inner), inner])

    def most(self, ctx: ValueContext) -> int | None:
        return self._inner.most(ctx)

    def static_items(self, ctx: ValueContext) -> Iterable[Any]:
        if not isinstance(self._start, int):
            return super().static_items(ctx)
        return zip(count(self._start), self._inner.static_items(ctx), strict=False)

    def item(self, ctx: ValueContext, i: int) -> Any:
        item = self._inner.following(ctx, i)[0]
        if item is END:
            return END
        known = isinstance(self._start, int)
        return self._start + i if known else self.parts[0].item_at(ctx, as_count(i)), item


class _Counter(Iteration):
    """start, start + 1, ... for a number of trips known only at run time."""

    def __init__(self, start: Any, counted: Iteration) -> None:
        self.start, self.length, self.size = start, counted.length, counted.size

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return SymScalar(F.add(index, lifted_number(self.start, int, current())), int)


@shown_as("reversed")
class Reversed(Iteration):
    """``reversed(x)``."""

    def __init__(self, inner: Iteration) -> None:
        self.inner = inner
        self.length, self.size = inner.length, inner.size

    def static_items(self, ctx: ValueContext) -> Iterable[Any]:
        return self.inner.backwards(ctx)

    def item(self, ctx: ValueContext, i: int) -> Any:
        if self.size is not None:
            return super().item(ctx, i)
        return self.inner.item(ctx, self.length - 1 - i) if i < self.length else END

    def sources(self) -> list[Any]:
        return self.inner.sources()

    def enter(self, ctx: ValueContext) -> None:
        self.inner.enter(ctx)

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return self.inner.item_at(ctx, F.sub(F.sub(as_count(self.length), 1), index))


class Through(Iteration):
    """An iteration over another one, `source`, whose elements it gives unless it says otherwise."""

    source: Iteration

    def static_items(self, ctx: ValueContext) -> Iterable[Any]:
        return self.source.static_items(ctx)

    def sources(self) -> list[Any]:
        return self.source.sources()

    def enter(self, ctx: ValueContext) -> None:
        self.source.enter(ctx)

    def most(self, ctx: ValueContext) -> int | None:
        return self.source.most(ctx)

    def runs_code(self) -> bool:
        return self.source.runs_code()

    def sequences(self) -> list[Value]:
        return self.source.sequences()

    def element(self, ctx: ValueContext, index: Value, parts: list[Value]) -> Any:
        return self.source.element(ctx, index, parts)

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return self.source.item_at(ctx, index)

    def end(self, ctx: ValueContext, certain: bool) -> None:
        self.source.end(ctx, certain)


class Forced(Through):
    """``unroll(x)`` or ``keep(x)``."""

    def __init__(self, inner: Iteration, *, keep: bool) -> None:
        self.source, self.force_keep, self.force_unroll = inner, keep, not keep
        self.length = inner.length if keep or inner.size is None else operator.index(inner.size)

    def begin(self, ctx: ValueContext) -> Iteration:
        return Forced(self.source.begin(ctx), keep=self.force_keep)
