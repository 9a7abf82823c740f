"""A list that a kept loop appends to, as a trip of it sees it (`CollectingList`).

The trip may append, and look at what it has appended itself.  Where it reads an element of the trips before it, the
loop carries the last elements along (`Further`).  Everything else it asks of the list is refused: the loop is unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ...errors import LoopError
from .base import Variable, kind
from .containers import LocalListVariable
from .elements import iterate_static
from .interpreter import ValueContext
from .naming import name_of
from .structure import Form, form
from .values import CollectingList, Earlier


class Further(BaseException):
    """Restarts the tracing of the loop that collects the list `of`, which has to carry its last `count` elements."""

    def __init__(self, of: CollectingList, count: int) -> None:
        super().__init__()
        self.of, self.count = of, count


def _refuse(ctx: ValueContext, what: str, of: Any = None) -> NoReturn:
    name = None if of is None else name_of(ctx, of, local=True)
    raise LoopError(
        f"a trip {what} " + (f"the list `{name}`, to which the loop adds" if name else "a list to which the loop adds"),
        code="AC1504",
        hint="let trips only append to it: count in a variable of its own, and keep what later trips read in another",
    )


@form(Earlier)
class _EarlierForm(Form):
    known = False

    def elements(self, x: Any) -> Any:
        return None


@kind(Earlier)
class _EarlierVariable(Variable):
    """The elements of earlier trips: whatever asks for them has to ask the list."""

    def unwrap(self, ctx: ValueContext) -> Any:
        _refuse(ctx, "uses all elements of")


@kind(CollectingList)
class CollectingListVariable(LocalListVariable):
    """A list to which the loop around appends."""

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        if type(index) is not int or index >= 0:
            _refuse(ctx, "reads elements from the front, or a slice, of", self.value)
        count = len(self.value) - 1
        if -index > count:
            raise Further(self.value, -index - count)
        return list.__getitem__(self.value, index)

    def run_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if name == "append" and len(args) == 1 and not kwargs:
            self._add(args)
        elif name == "extend" and len(args) == 1 and not kwargs:
            self._add([*iterate_static(ctx, args[0])])
        else:
            _refuse(ctx, f"calls `{name}` of", self.value)

    def in_place(self, ctx: ValueContext, op: str, other: Any) -> Any:
        if op != "Add":
            _refuse(ctx, "uses an operator on", self.value)
        self.check_local(ctx)
        ctx.effects.change(self.value)
        self._add([*iterate_static(ctx, other)])
        return self.value

    def _add(self, items: Sequence[Any]) -> None:
        list.extend(self.value, items)

    def as_index(self, ctx: ValueContext) -> Any:
        _refuse(ctx, "indexes by", self.value)

    def to_array(self, ctx: ValueContext, copies: bool = True) -> Any:
        _refuse(ctx, "makes an array of", self.value)

    def length(self, ctx: ValueContext) -> Any:
        _refuse(ctx, "asks for the length of", self.value)

    def truth(self, ctx: ValueContext) -> Any:
        _refuse(ctx, "asks for the truth of", self.value)

    def store(self, ctx: ValueContext, index: Any, value: Any) -> None:
        _refuse(ctx, "replaces an element of", self.value)

    def remove(self, ctx: ValueContext, index: Any) -> None:
        _refuse(ctx, "deletes an element of", self.value)

    def iteration(self, ctx: ValueContext) -> Any:
        _refuse(ctx, "iterates over", self.value)

    def iterate(self, ctx: ValueContext) -> Any:
        _refuse(ctx, "iterates over", self.value)

    live = iterate

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        _refuse(ctx, "uses an operator on", self.value)

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        _refuse(ctx, "compares", self.value)

    def contains(self, ctx: ValueContext, item: Any) -> Any:
        _refuse(ctx, "looks for something in", self.value)

    def copy(self, ctx: ValueContext) -> Any:
        _refuse(ctx, "copies", self.value)

    def composed(self, ctx: ValueContext) -> Any:
        _refuse(ctx, "makes text of", self.value)

    def recipe(self, ctx: ValueContext, values: list[Any], tensors: bool) -> Any:
        _refuse(ctx, "gives a host function", self.value)
