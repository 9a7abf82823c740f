"""Lists of Tensors that loops and branches add to: of how many, only run time knows.

Such a list holds its elements as the slices of one Tensor (`Rows`), whose first size is one of data.  So `ops.stack`
of it is that Tensor, and what is added is joined to it.  Its elements are Tensors of their own, which nobody can write
to: nor can those that were added, since the list would not show it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import LoopError, UnsupportedCallError
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import F, call, trace
from ...ir.sizes import Size, depends_on_data
from ...ir.types import TensorType, tensor
from .arithmetic import kind_of_number
from .base import Variable, kind, variable_of
from .containers import LocalListVariable
from .interpreter import ValueContext
from .leaves import Leaf, RowsLeaf, TensorLeaf
from .operators import binary
from .structure import elements, outline, rebuild
from .templates import Slot, leaf_of, value_in
from .unions import as_union
from .values import GrownList, LocalList, NewException, Rows, TensorVar, is_rows, is_size, is_tensor, is_union

#: Why the elements of a Tensor cannot be assigned that is in such a list.
IN_A_LIST = "is in a list whose length is known only at run time"


def elem_type(*lists: Sequence[Any]) -> TensorType | None:
    """The one type of all elements of some lists, if that can be the type of `Rows`."""
    found: TensorType | None = None
    for x in (x for items in lists for x in items):
        leaf = leaf_of(x)
        if isinstance(leaf, RowsLeaf):
            type_ = leaf.elem
        elif isinstance(leaf, TensorLeaf) and not leaf.fixed and leaf.source is None and leaf.snapshot is None:
            type_ = leaf.type  # of no Parameter: the list would have it as it is at the end
        else:
            return None
        if (found is not None and type_ is not found) or any(map(depends_on_data, type_.shape)):
            return None
        found = type_
    return found


def grows(a: Any, b: Any, xs: Sequence[Any], ys: Sequence[Any]) -> TensorType | None:
    """The type of the elements if two values are lists of Tensors that differ in length, or may; else None."""
    if outline(a).kind is not list or outline(b).kind is not list:
        return None
    of_rows = [any(isinstance(leaf_of(x), RowsLeaf) for x in items) for items in (xs, ys)]
    if len(xs) == len(ys) and of_rows[0] is of_rows[1]:
        return None
    return elem_type(xs, ys)


def packed(items: Sequence[Any], elem: TensorType, builder: Builder) -> Rows:
    """The elements of a list as one Tensor, at the end of a builder's block."""
    parts = []
    for x in items:
        if is_rows(x):
            parts.append(x.value)
            continue
        value = value_in(TensorLeaf(elem), x, builder)
        if type(x) is TensorVar:
            x.locked = x.locked or IN_A_LIST
        with builder:
            parts.append(F.expand_dims(value, axes=(-1 - elem.ndim,)))
    with builder:
        if not parts:
            return Rows(builder.const(0, tensor(elem.dtype, (0, *elem.shape))))
        return Rows(parts[0] if len(parts) == 1 else F.concat(*parts, axis=-1 - elem.ndim))


def fitted(template: Any, x: Any, builder: Builder) -> Any:
    """A value with `Rows` where the template has a slot for them, and unions where it has unions."""
    if is_union(template):
        return as_union(x, template, builder)
    wanted, given = elements(template), elements(x)
    if type(template) is Slot or wanted is None or given is None:
        return x
    first = wanted[0] if len(wanted) == 1 else None
    if type(first) is Slot and isinstance(first.leaf, RowsLeaf):
        return [packed(list(given), first.leaf.elem, builder)]
    if len(wanted) != len(given):
        return x
    parts = [fitted(t, g, builder) for t, g in zip(wanted, given, strict=True)]
    return x if all(p is g for p, g in zip(parts, given, strict=True)) else rebuild(x, parts)


def native(ctx: ValueContext, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What a function of this package makes of such a list: `stack` and `cat` know them."""
    name = getattr(fn, "__name__", "")
    more = [*args[1:], *kwargs.values()]
    axis = more[0] if more else 0
    if type(args[0]) is not GrownList or len(more) > 1 or name not in ("stack", "cat", "concat", "concatenate"):
        raise _refused(f"`{name}`")
    (rows,) = args[0]
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


def _one_type(items: Sequence[Any]) -> TensorType:
    """The one type of the elements of a list."""
    elem = elem_type(items)
    if elem is None:
        raise LoopError(
            "a list whose length is known only at run time holds Tensors of one type",
            code="AC1504",
            hint="give all elements one shape and dtype",
        )
    return elem


def rows_of(x: Any) -> Rows | None:
    """The elements of such a list; None for all else."""
    first: Any = next(iter(elements(x) or ()), None)
    return first if is_rows(first) else None


def total(ctx: ValueContext, x: GrownList, start: Any) -> Any:
    """``sum(x, start)``."""
    (rows,) = x
    if kind_of_number(start) is None:
        parts = [start, rows]
    else:
        what = "sum() of an empty list would be an int: give it a Tensor to start with"
        some = variable_of(x).truth(ctx)
        if some is False:
            return start
        if some is not True:
            ctx.check(some, NewException(ValueError, (what,), {}))
        parts = [rows]
    value = packed(parts, _one_type(parts), trace.builder).value
    found = TensorVar(F.sum(value, axes=(-value.ndim,)))
    return binary(ctx, "Add", start, found) if len(parts) == 1 and start != 0 else found


def _refused(what: str) -> UnsupportedCallError:
    return UnsupportedCallError(
        f"{what} of a list whose length is known only at run time is not supported",
        code="AC1801",
        hint="make one Tensor of it: `ops.stack` or `ops.cat`",
    )


@kind(Rows)
class RowsVariable(Variable):
    """The elements of such a list: whatever asks for them has to ask the list."""

    def leaf(self) -> Leaf | None:
        return RowsLeaf(self.value.type, Rows)

    def unwrap(self, ctx: ValueContext) -> Any:
        raise _refused("what is asked for")

    def is_own(self, start: int) -> bool:
        return True

    def around(self, value: Value, locked: str = "") -> Any:
        return Rows(value)

    def to_operand(self, ctx: ValueContext) -> Any:
        return self.value.value


@kind(GrownList)
class GrownListVariable(LocalListVariable):
    """A list whose length is known only at run time."""

    precedence = 2.6  # it says what it is together with a list of known length

    @property
    def _rows(self) -> Value:
        (rows,) = self.value
        found: Value = rows.value
        return found

    def _tensor(self) -> TensorVar:
        return TensorVar(self._rows, IN_A_LIST)

    def _add(self, ctx: ValueContext, items: Sequence[Any]) -> None:
        self._fill([*list.copy(self.value), *items])

    def length(self, ctx: ValueContext) -> Size:
        return self._rows.shape[0]

    def truth(self, ctx: ValueContext) -> Any:
        size = self.length(ctx)
        return variable_of(size).truth(ctx) if is_size(size) else size > 0

    def _rows_at(self, ctx: ValueContext, index: slice) -> Rows:
        """The elements in a slice."""
        if index == slice(None, None, -1):
            return Rows(call.flip(self._rows, 0))
        value: Value = ctx.unwrap(variable_of(self._tensor()).getitem(ctx, index))
        return Rows(value)

    def _replaced(self, ctx: ValueContext, index: Any, items: Sequence[Any]) -> Any:
        """The element under an index, in the place of which the list has other ones."""
        if type(index) is not int:
            raise _refused("a change under an index that is a slice, or known only at run time,")
        old = self.getitem(ctx, index)  # which checks that it exists
        behind = [self._rows_at(ctx, slice(index + 1, None))] if index != -1 else []
        self._fill([self._rows_at(ctx, slice(None, index)), *items, *behind])
        return old

    def _fill(self, parts: Sequence[Any]) -> None:
        elem = _one_type(parts)
        list.__setitem__(self.value, slice(None), [packed(parts, elem, trace.builder)])

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        if isinstance(index, slice):
            return self.value.like([self._rows_at(ctx, index)])
        found = variable_of(self._tensor()).getitem(ctx, index)
        assert is_tensor(found)
        found.locked = IN_A_LIST
        return found

    def store(self, ctx: ValueContext, index: Any, value: Any) -> None:
        self._replaced(ctx, index, [value])

    def remove(self, ctx: ValueContext, index: Any) -> None:
        self._replaced(ctx, index, [])

    def iteration(self, ctx: ValueContext) -> Any:
        return variable_of(self._tensor()).iteration(ctx)

    def iterate(self, ctx: ValueContext) -> Any:
        raise _refused("an iteration, which is no `for` loop,")

    live = iterate

    def in_place(self, ctx: ValueContext, op: str, other: Any) -> Any:
        if op != "Add" or not isinstance(other, LocalList):
            raise _refused("an operator")
        self.check_local(ctx)
        ctx.effects.change(self.value)
        self._add(ctx, list.copy(other))
        return self.value

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        if op == "Mult" and type(count := b if a is self.value else a) is int and count > 0:
            return self.value.like([packed([*list.copy(self.value)] * count, _one_type(self.value), trace.builder)])
        if op != "Add" or not (isinstance(a, LocalList) and isinstance(b, LocalList)):
            raise _refused("an operator")
        elem = elem_type(a, b)
        if elem is None:
            raise _refused("the sum with a list of other types")
        return a.like([packed([*list.copy(a), *list.copy(b)], elem, trace.builder)])

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        raise _refused("a comparison")

    def contains(self, ctx: ValueContext, item: Any) -> Any:
        raise _refused("`in`")

    def copy(self, ctx: ValueContext) -> Any:
        return self.value.like(list.copy(self.value))

    def composed(self, ctx: ValueContext) -> Any:
        raise _refused("the text")

    def run_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if name == "append" and len(args) == 1 and not kwargs:
            self._add(ctx, args)
        elif name == "extend" and len(args) == 1 and isinstance(args[0], LocalList) and not kwargs:
            self._add(ctx, list.copy(args[0]))
        elif name == "copy" and not args:
            return self.copy(ctx)
        elif name == "pop" and len(args) < 2:
            return self._replaced(ctx, args[0] if args else -1, [])
        elif name == "insert" and len(args) == 2 and type(args[0]) is int:
            before, behind = slice(None, args[0]), slice(args[0], None)
            self._fill([self._rows_at(ctx, before), args[1], self._rows_at(ctx, behind)])
        elif name == "reverse":
            self._fill([self._rows_at(ctx, slice(None, None, -1))])
        elif name == "clear":
            self.value.fill([])
        else:
            raise _refused(f"`{name}`")
        return None
