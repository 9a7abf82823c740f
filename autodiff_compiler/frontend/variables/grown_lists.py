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
from .base import Results, Variable, kind, variable_of
from .containers import LocalListVariable
from .interpreter import ValueContext
from .iteration import Slices
from .leaves import Leaf, RowsLeaf
from .open_sizes import is_undecided
from .rows import IN_A_LIST, elem_leaf, is_empty, known_length, list_of_rows, packed, refused
from .values import ArrayVar, GrownList, LocalList, NewException, Rows, SymScalar, TensorVar, is_size, is_tensor


class RowsOf(Slices):
    """The elements of such a list: its slices, as numbers if they are."""

    def __init__(self, ctx: ValueContext, of: TensorVar, number: type | None) -> None:
        super().__init__(ctx, of)
        self._number = number

    def element(self, ctx: ValueContext, index: Value, parts: list[Value]) -> Any:
        return element_of(parts[0], self._number)

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return element_of(super().item_at(ctx, index).value, self._number)


def element_of(value: Value, number: type | None) -> Any:
    """An element of such a list, which nobody can write to."""
    return SymScalar(value, number) if number else TensorVar(value, IN_A_LIST)


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

    def settle_length(self) -> None:
        known_length(self.value.value.shape[0])

    def unwrap(self, ctx: ValueContext) -> Any:
        raise refused("what is asked for", self.value)

    def result(self, out: Results) -> Any:
        self.settle_length()
        raise LoopError(
            "a list whose length is known only at run time cannot leave compiled code",
            code="AC1504",
            hint="return one Tensor: `ops.stack` of it",
        )


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
        elem = elem_leaf(self.value, items)
        if elem is None:
            known_length(self.length(ctx))
            raise LoopError(
                "a list whose length is known only at run time holds Tensors of one type, or numbers of one class",
                code="AC1504",
                hint="give all elements one shape and dtype",
            )
        list.__setitem__(self.value, slice(None), [packed([*list.copy(self.value), *items], elem, trace.builder)])

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
        raise self._refused("an assignment to an element")

    def remove(self, ctx: ValueContext, index: Any) -> None:
        raise self._refused("the deletion of an element")

    def iteration(self, ctx: ValueContext) -> Any:
        return RowsOf(ctx, self.as_tensor(), self._rows.number)

    def iterate(self, ctx: ValueContext) -> Any:
        raise self._refused("an iteration, which is no `for` loop,")

    live = iterate

    def in_place(self, ctx: ValueContext, op: str, other: Any) -> Any:
        if op != "Add" or not isinstance(other, LocalList):
            raise self._refused("an operator")
        self.check_local(ctx)
        ctx.effects.change(self.value)
        self._add(ctx, list.copy(other))
        return self.value

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
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
        elif name == "insert" and args[:-1] == [0] and not kwargs:
            added = self.binary(ctx, "Add", LocalList(args[1:]), self.value)
            list.__setitem__(self.value, slice(None), list.copy(added))
        elif name == "reverse" and not args:
            backwards = self.getitem(ctx, slice(None, None, -1))
            list.__setitem__(self.value, slice(None), list.copy(backwards))
        elif name == "copy" and not args:
            return self.copy(ctx)
        else:
            raise self._refused(f"`{name}`")
        return None
