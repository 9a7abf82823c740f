"""Lists of Tensors or numbers that loops and branches add to, or comprehensions make: only run time knows how long.

Such a list holds its elements as the slices of one Tensor (`Rows`), whose first size depends on data or on the sizes of
arguments.  So `ops.stack` of it is that Tensor, and what is added is joined to it.  Its elements are Tensors of their
own, which nobody can write to: nor can those that were added, since the list would not show it.

What such a list cannot do compiles the program again, for a known length, where that is a size of arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import LoopError
from ...ir.core import Value
from ...ir.primitive import F, call, trace
from ...ir.sizes import Size
from .arithmetic import kind_of_number
from .base import Variable, kind, variable_of
from .containers import LocalListVariable
from .interpreter import ValueContext
from .iteration import Slices
from .leaves import Leaf, RowsLeaf
from .open_sizes import is_undecided
from .operators import binary
from .rows import IN_A_LIST, elem_leaf, is_empty, known_length, list_of_rows, packed, refused
from .values import ArrayVar, GrownList, LocalList, NewException, Rows, SymScalar, TensorVar, is_size, is_tensor

_ITERATION = "an iteration, which is no `for` loop,"


class RowsOf(Slices):
    """The elements of such a list: its slices, as numbers if they are."""

    def __init__(self, ctx: ValueContext, of: TensorVar, number: type | None) -> None:
        super().__init__(ctx, of)
        self._number = number
        self.size = self.counted  # type: ignore[assignment]  # a number, too

    def element(self, ctx: ValueContext, index: Value, parts: list[Value]) -> Any:
        return element_of(parts[0], self._number)

    def item(self, ctx: ValueContext, i: int) -> Any:
        if isinstance(self.length, int) and self.length > ctx.options.unroll_max:  # for what makes code of each element
            raise refused(_ITERATION, list_of_rows(self.of.value, self._number))
        found = super().item(ctx, i)
        return element_of(found.value, self._number) if is_tensor(found) else found

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return element_of(super().item_at(ctx, index).value, self._number)


def element_of(value: Value, number: type | None) -> Any:
    """An element of such a list, which nobody can write to."""
    return SymScalar(value, number) if number else TensorVar(value, IN_A_LIST)


def total(ctx: ValueContext, x: GrownList, start: Any) -> Any:
    """``sum(x, start)`` of a list whose length depends on data."""
    (rows,) = x
    if kind_of_number(start) and rows.number is not int:
        what = "sum() of an empty list would be an int: give it a Tensor to start with"
        some = variable_of(x).truth(ctx)
        if some is False:
            return start
        if some is not True:
            ctx.check(some, NewException(ValueError, (what,), {}))
    found = element_of(F.sum(rows.value, axes=(-rows.value.ndim,)), rows.number)
    return found if kind_of_number(start) and start == 0 else binary(ctx, "Add", start, found)


def native(ctx: ValueContext, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What a function of this package makes of such a list: `stack` and `cat` know them."""
    name = getattr(fn, "__name__", "")
    more = [*args[1:], *kwargs.values()]
    axis = more[0] if more else 0
    joins = len(more) <= 1 and name in ("stack", "cat", "concat", "concatenate")
    if type(args[0]) is not GrownList or not joins or args[0][0].number or is_empty(args[0]):
        raise refused(f"`{name}`", *args)
    (rows,) = args[0]
    if is_undecided(rows.value.shape[0], 1):
        some = variable_of(rows.value.shape[0]).truth(ctx)
        ctx.check(some, NewException(ValueError, (f"{name} needs at least one tensor",), {}))
    value = ctx.unwrap(TensorVar(rows.value))
    with_axis = value.ndim if name == "stack" else value.ndim - 1
    if not isinstance(axis, int) or not -with_axis <= axis < with_axis:
        raise IndexError(f"axis {axis} does not exist in the result of `{name}`, of {with_axis} dimensions")
    if name == "stack":
        return TensorVar(call.moveaxis(value, 0, axis))
    moved = call.moveaxis(value, 0, axis % with_axis)
    shape = list(moved.shape)
    at = axis % with_axis
    shape[at : at + 2] = [shape[at] * shape[at + 1]]
    return TensorVar(F.reshape(moved, shape=tuple(shape)))


@kind(Rows)
class RowsVariable(Variable):
    """The elements of such a list: whatever asks for them has to ask the list."""

    def leaf(self) -> Leaf | None:
        return RowsLeaf(self.value.type, self.value.number or Rows)

    def is_own(self, start: int) -> bool:
        return True

    def around(self, value: Value, locked: str = "") -> Any:
        return Rows(value, self.value.number)

    def to_operand(self, ctx: ValueContext) -> Any:
        return self.value.value

    def settle_length(self) -> None:
        known_length(self.value.value.shape[0])

    def unwrap(self, ctx: ValueContext) -> Any:
        raise refused("what is asked for", self.value)


@kind(GrownList)
class GrownListVariable(LocalListVariable):
    """A list whose length is known only at run time."""

    may_be_open = True
    precedence = 2.75  # also as the right operand of a list

    @property
    def _rows(self) -> Rows:
        (rows,) = self.value
        return rows

    def as_tensor(self) -> TensorVar:
        """All elements, along a new first dimension."""
        return TensorVar(self._rows.value, IN_A_LIST)

    def settle_length(self) -> None:
        known_length(self._rows.value.shape[0])

    def _refused(self, what: str) -> Any:
        return refused(what, self.value)

    def as_index(self, ctx: ValueContext) -> Any:
        return self.as_tensor() if self._rows.number is int and not is_empty(self.value) else self.value

    def to_array(self, ctx: ValueContext, copies: bool = True) -> Any:
        numbers = self.numbers(ctx)
        if numbers is None:
            raise self._refused("an array")
        return ArrayVar(numbers.value)

    def numbers(self, ctx: ValueContext) -> SymScalar | None:
        number = self._rows.number
        return None if number is None or is_empty(self.value) else SymScalar(self._rows.value, number)

    def _add(self, ctx: ValueContext, items: Sequence[Any]) -> None:
        self._fill([*list.copy(self.value), *items])

    def _fill(self, parts: Sequence[Any]) -> None:
        """Makes these, `Rows` and elements, what the list holds."""
        list.__setitem__(self.value, slice(None), [packed(parts, self._one_type(parts), trace.builder)])

    def _one_type(self, items: Sequence[Any]) -> Leaf:
        """What is known of all elements."""
        elem = elem_leaf(items)
        if elem is None:
            self.settle_length()
            raise LoopError(
                "a list whose length is known only at run time holds Tensors of one type, or numbers of one class",
                code="AC1504",
                hint="give all elements one shape and dtype",
            )
        return elem

    def _rows_at(self, ctx: ValueContext, index: slice) -> Rows:
        """The elements in a slice."""
        (rows,) = self.getitem(ctx, index)
        return rows

    def _replaced(self, ctx: ValueContext, index: Any, items: Sequence[Any]) -> Any:
        """The element under an index, in the place of which the list has other ones."""
        if type(index) is not int:
            raise self._refused("a change under an index that is a slice, or known only at run time,")
        old = self.getitem(ctx, index)  # which checks that it exists
        behind = [self._rows_at(ctx, slice(index + 1, None))] if index != -1 else []
        self._fill([self._rows_at(ctx, slice(None, index)), *items, *behind])
        return old

    def length(self, ctx: ValueContext) -> Size:
        return self._rows.value.shape[0]

    def truth(self, ctx: ValueContext) -> Any:
        size = self.length(ctx)
        return variable_of(size).truth(ctx) if is_size(size) else size > 0

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        found = variable_of(self.as_tensor()).getitem(ctx, index)
        assert is_tensor(found)
        if isinstance(index, slice):
            return list_of_rows(found.value, self._rows.number)
        return element_of(found.value, self._rows.number)

    def store(self, ctx: ValueContext, index: Any, value: Any) -> None:
        self._replaced(ctx, index, [value])

    def remove(self, ctx: ValueContext, index: Any) -> None:
        self._replaced(ctx, index, [])

    def iteration(self, ctx: ValueContext) -> Any:
        return RowsOf(ctx, self.as_tensor(), self._rows.number)

    def iterate(self, ctx: ValueContext) -> Any:
        n = self.length(ctx)
        if not isinstance(n, int) or n > ctx.options.unroll_max:
            raise self._refused(_ITERATION)
        return [self.getitem(ctx, i) for i in range(n)]

    def live(self, ctx: ValueContext) -> Any:
        return iter(self.iterate(ctx))

    def in_place(self, ctx: ValueContext, op: str, other: Any) -> Any:
        if op != "Add" or not isinstance(other, LocalList):
            raise self._refused("an operator")
        self.check_local(ctx)
        ctx.effects.change(self.value)
        self._add(ctx, list.copy(other))
        return self.value

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        if op == "Mult" and type(count := b if a is self.value else a) is int and count > 0:
            parts = [*list.copy(self.value)] * count
            return self.value.like([packed(parts, self._one_type(parts), trace.builder)])
        if op != "Add" or not (isinstance(a, LocalList) and isinstance(b, LocalList)):
            raise self._refused("an operator")
        elem = elem_leaf(a, b)
        if elem is None:
            raise self._refused("the sum with a list of other types")
        return a.like([packed([*list.copy(a), *list.copy(b)], elem, trace.builder)])

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        raise self._refused("a comparison")

    def contains(self, ctx: ValueContext, item: Any) -> Any:
        raise self._refused("`in`")

    def copy(self, ctx: ValueContext) -> Any:
        return self.value.like(list.copy(self.value))

    def composed(self, ctx: ValueContext) -> Any:
        raise self._refused("the text")

    def run_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if name == "append" and len(args) == 1 and not kwargs:
            self._add(ctx, args)
        elif name == "extend" and len(args) == 1 and isinstance(args[0], LocalList) and not kwargs:
            self._add(ctx, list.copy(args[0]))
        elif name == "insert" and len(args) == 2 and type(args[0]) is int and not kwargs:
            before = [] if args[0] == 0 else [self._rows_at(ctx, slice(None, args[0]))]
            self._fill([*before, args[1], self._rows_at(ctx, slice(args[0], None))])
        elif name == "pop" and len(args) < 2 and not kwargs:
            return self._replaced(ctx, args[0] if args else -1, [])
        elif name == "reverse" and not args:
            self._fill([self._rows_at(ctx, slice(None, None, -1))])
        elif name == "clear" and not args:
            self.value.fill([])
        elif name == "copy" and not args:
            return self.copy(ctx)
        else:
            raise self._refused(f"`{name}`")
        return None
