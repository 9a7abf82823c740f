"""What each trip of a kept loop adds to lists, where it is known how many trips there are.

The loop collects it, one sequence for each leaf of what a trip appends, and after the loop the lists hold slices of
these (docs/decisions/0053).  So a list that a loop fills is like any other, but for what nobody can see of slices: a
write to a Tensor that was appended restarts the compilation, and the loop is unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import LoopError
from ...ir.abstract import abstract
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import F
from ...ir.sizes import depends_on_data
from ...ir.types import tensor
from ...runtime.mutable import NUMBER_DTYPE
from ..effects.may_alias import reaches
from ..variables import operators
from ..variables.changing import is_aliased
from ..variables.collecting import Further
from ..variables.leaves import TensorLeaf
from ..variables.rows import list_of_rows
from ..variables.structure import elements, form_of, parts, rebuild
from ..variables.templates import Slot, fill, leaf_of, value_in
from ..variables.values import COLLECTED, EARLIER, LocalList, is_rows
from .context import StatementContext

#: How many elements a list gets one by one; the rows of one Tensor are its elements if there are more (`grown_lists`).
_MOST = 4096
_NUMBERS = frozenset(tensor(dtype, ()) for dtype in NUMBER_DTYPE.values())


@dataclass
class _Collected:
    """A list that a loop collects."""

    of: LocalList
    #: what it holds before the loop
    entry: list[Any]
    #: how many of its last elements the loop carries
    tail: int = 0
    #: what the last trace has added; the same with slots for what is another value in each trip
    added: list[Any] = field(default_factory=list)
    template: list[Any] = field(default_factory=list)


class Additions:
    """What the trips of one loop of `n` trips add to lists."""

    def __init__(self, ctx: StatementContext, n: int) -> None:
        self._ctx, self._n = ctx, n
        #: the lists that the loop collects, by their ids
        self._lists: dict[int, _Collected] = {}

    def __contains__(self, of: Any) -> bool:
        return id(of) in self._lists

    def __bool__(self) -> bool:
        return bool(self._lists)

    # --------------------------------------------------------------------------------------- what a trip sees
    def carry_further(self, further: Further) -> bool:
        """Carries more of the last elements of a list, if it is this loop that collects it."""
        if further.of not in self:
            return False
        self._lists[id(further.of)].tail += further.count
        return True

    def at_head(self, of: LocalList, entry: Sequence[Any] = ()) -> list[Any]:
        """What a trip sees of a list that holds `entry` before the loop."""
        known = self._lists.setdefault(id(of), _Collected(of, [*entry]))
        seen = [x for x in known.entry if x is not EARLIER]
        if len(seen) < known.tail or any(map(is_rows, seen)):
            raise _cannot("reads elements that the list has only after some trips")
        tail = seen[len(seen) - known.tail :]
        lock(tuple(tail))
        return [EARLIER, *tail]

    def cut(self, of: LocalList, assumed: Sequence[Any], end: Sequence[Any]) -> list[Any]:
        """The content of a list at the end of a trip, as the next one sees it: the loop collects what lies before.

        Nobody can write to the elements of Tensors in there from now on.
        """
        new = [*end[len(assumed) :]]
        self._lists[id(of)].added = new
        lock(tuple(new))
        return [EARLIER, *end[len(end) - len(assumed) + 1 :]]

    # --------------------------------------------------------------------------------------- what the loop gives
    def values(self, builder: Builder, start: int, heads: Sequence[Any], ends: Sequence[Any]) -> list[Value]:
        """What a trip gives the sequences, at the end of its block.

        The trace began at the serial `start`.  `heads` is what the trip finds, `ends` what it leaves for the next.
        """
        trip = _Trip(builder, start, {id(part) for x in heads for part in parts(x)}, ends)
        for known in self._lists.values():
            known.template = [trip.template(x) for x in known.added]
        return trip.values

    def leave(self, sequences: Sequence[Value]) -> None:
        """Fills the lists after the loop."""
        stacks = [F.from_seq(xs, length=self._n) for xs in sequences]
        for known in self._lists.values():
            self._ctx.effects.touch(known.of)
            if self._n * len(known.template) <= _MOST:
                trips = [fill(known.template, _Rows(stacks, k)) for k in range(self._n)]
                known.of.set_content([*known.entry, *(x for trip in trips for x in trip)])
            else:
                known.of.set_content(self._rows(known, stacks))

    def _rows(self, known: _Collected, stacks: Sequence[Value]) -> list[Any]:
        """The content of a list of very many elements."""
        slot: Any = known.template[0] if len(known.template) == 1 else None
        if getattr(slot, "leaf", None) is None or EARLIER in known.entry:
            raise _cannot(
                f"appends more than one Tensor or number to a list that gets more than {_MOST:,} elements",
                hint="append the Tensors to a list each",
            )
        rows = list_of_rows(stacks[slot.index], slot.leaf.kind)
        entry = LocalList(known.entry)
        return list.copy(operators.binary(self._ctx, "Add", entry, rows) if known.entry else rows)


def lock(x: Any) -> None:
    """Nobody can change these Tensors and containers from now on: they are in a list that a loop collects."""
    for part in parts(x):
        if is_aliased(part):
            part.locked = part.locked or COLLECTED


class _Rows:
    """Slices number `k` of stacked sequences, made where they are asked for."""

    def __init__(self, stacks: Sequence[Value], k: int) -> None:
        self._stacks, self._k = stacks, k

    def __getitem__(self, i: int) -> Value:
        stack = self._stacks[i]
        row = F.slice(stack, axes=(-stack.ndim,), starts=(self._k,), stops=(self._k + 1,), steps=(1,))
        found: Value = F.reshape(row, shape=stack.shape[1:])
        return found


class _Trip:
    """What one trip appends, as Values of its block and templates with slots for them."""

    def __init__(self, builder: Builder, start: int, heads: set[int], ends: Sequence[Any]) -> None:
        self._builder, self._start, self._heads, self._ends = builder, start, heads, ends
        self.values: list[Value] = []
        self._made: dict[int, Any] = {}

    def template(self, x: Any) -> Any:
        """A value with slots for its leaves; what is one object for two names stays so."""
        if id(x) not in self._made:
            self._made[id(x)] = self._template(x)
        return self._made[id(x)]

    def _template(self, x: Any) -> Any:
        serial = getattr(x, "serial", self._start)
        if serial < self._start:
            return x  # the same object in every trip
        leaf, items = leaf_of(x), elements(x)
        if leaf is not None and leaf.fixed:
            return x
        if leaf is not None:
            return self._slot(x, leaf)
        if items is None:
            if abstract(x) is x or form_of(x).holds(x):
                raise _cannot("appends what is no Tensor, number or structure of these")
            return x
        if hasattr(x, "serial") and (id(x) in self._heads or any(reaches(end, x, set()) for end in self._ends)):
            raise _cannot("appends a list, dict or object that is also kept elsewhere")
        return rebuild(x, [self.template(i) for i in items])

    def _slot(self, x: Any, leaf: Any) -> Slot:
        element = leaf.as_element()
        if element is None or any(map(depends_on_data, leaf.type.shape)):
            raise _cannot("appends a Tensor that may be a Parameter, or whose size depends on data")
        value = value_in(element, x, self._builder)
        if element.kind is not None and not self._depends_on_tensors(value):
            raise _cannot("appends a number that is known while compiling if the loop is unrolled")
        self.values.append(value)
        known = TensorLeaf(element.type, locked=COLLECTED) if element.kind is None else element
        return Slot(len(self.values) - 1, known)

    def _depends_on_tensors(self, number: Value) -> bool:
        """Whether a number is made of more than constants, the number of the trip and other numbers of that kind."""
        todo, seen, block = [number], {number}, self._builder.block
        while todo:
            x = todo.pop()
            if x.constant is not None:
                continue
            if x.op is None or x.op.parent is not block or x.op.blocks:
                if x.owner is not block or x.type not in _NUMBERS:
                    return True
                continue
            more = [v for v in x.op.operands if v not in seen]
            todo += more
            seen.update(more)
        return False


def _cannot(what: str, hint: str | None = None) -> LoopError:
    return LoopError(f"a trip {what}, so that the loop cannot collect the list", code="AC1504", hint=hint)
