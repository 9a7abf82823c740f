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
from .structure import Form, form
from .values import CollectingList, Earlier


class Further(BaseException):
    """Restarts the tracing of the loop that collects the list `of`, which has to carry its last `count` elements."""

    def __init__(self, of: CollectingList, count: int) -> None:
        super().__init__()
        self.of, self.count = of, count


def _refuse(what: str) -> NoReturn:
    raise LoopError(
        f"{what} of a list in a loop that appends to it",
        code="AC1504",
        hint="count in a variable of its own, and keep what later trips read in one, too",
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
        _refuse("all elements are asked for")


@kind(CollectingList)
class CollectingListVariable(LocalListVariable):
    """A list to which the loop around appends."""

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        if type(index) is not int or index >= 0:
            _refuse("an element is read by its index from the front, or a slice,")
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
            _refuse(f"`{name}` is called")

    def in_place(self, ctx: ValueContext, op: str, other: Any) -> Any:
        if op != "Add":
            _refuse("an operator is used")
        self.check_local(ctx)
        ctx.effects.change(self.value)
        self._add([*iterate_static(ctx, other)])
        return self.value

    def _add(self, items: Sequence[Any]) -> None:
        list.extend(self.value, items)

    def as_index(self, ctx: ValueContext) -> Any:
        _refuse("all elements are an index")

    def to_array(self, ctx: ValueContext, copies: bool = True) -> Any:
        _refuse("an array is made")

    def length(self, ctx: ValueContext) -> Any:
        _refuse("the length is asked for")

    def truth(self, ctx: ValueContext) -> Any:
        _refuse("the truth is asked for")

    def store(self, ctx: ValueContext, index: Any, value: Any) -> None:
        _refuse("an element is replaced")

    def remove(self, ctx: ValueContext, index: Any) -> None:
        _refuse("an element is deleted")

    def iteration(self, ctx: ValueContext) -> Any:
        _refuse("the elements are iterated over")

    def iterate(self, ctx: ValueContext) -> Any:
        _refuse("the elements are iterated over")

    live = iterate

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        _refuse("an operator is used")

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        _refuse("a comparison is made")

    def contains(self, ctx: ValueContext, item: Any) -> Any:
        _refuse("`in` is asked")

    def copy(self, ctx: ValueContext) -> Any:
        _refuse("a copy is made")

    def composed(self, ctx: ValueContext) -> Any:
        _refuse("the text is asked for")

    def recipe(self, ctx: ValueContext, values: list[Any], tensors: bool) -> Any:
        _refuse("a copy is given to a host function, which is made")
