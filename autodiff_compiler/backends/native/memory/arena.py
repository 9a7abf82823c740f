"""Assigns buffers to offsets in the frame of a call: buffers whose live ranges overlap do not share bytes.

Buffers that may share bytes are first merged into slots (coalescing): those that may hold the same result of an `if`,
and those that are written in place over one another.  Slots are then placed first-fit, the largest first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Set
from itertools import chain
from operator import itemgetter

from ....ir.sizes import Size, is_at_most, usual
from ...base import first_fit
from ..codegen.values import Buffer, with_joins

_ALIGNMENT = 64
#: How many failed merges are tried for a buffer: a limit for the time that long programs take.
_TRIES = 8
#: Live ranges in a slot from which on `meets` compares only their union, and buffers in two slots from which on a merge
#: looks only at the hand-overs between the two buffers that it is tried for.
_MANY = 64


def aligned(nbytes: Size) -> Size:
    """The bytes that a buffer takes in the frame: a multiple of 64."""
    some = max(nbytes, 1) if isinstance(nbytes, int) else nbytes
    return (some + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT


class _Slot:
    """Buffers that share bytes: one is live at a time, but at steps that write one in place over another."""

    def __init__(self, buffer: Buffer, spans: dict[Buffer, list[tuple[int, int]]]) -> None:
        self.buffers, self.size = [buffer], aligned(buffer.nbytes)
        self.offset: Size = 0
        #: live ranges: of the buffers, and of the results of `if`s that may alias them
        self.held = {b: spans[b] for b in (buffer, *buffer.joins)}
        #: when any of them is live, and when more than one is
        self.spans, self.crowded = _union([], self.held.values())
        #: steps at which one buffer is written in place over another
        self.changes: set[int] = set()
        #: steps at which a carry's next version is written over this one, in the same buffer
        self.renewals = {tick for old, tick in buffer.over if old is buffer}
        self.refused = 0
        #: a bit for each step at which it is live, once all buffers are merged into slots
        self.live = 0
        #: whether any of its buffers may be aliased by a result of an `if`, known then as well
        self.joined = True

    def meets(self, other: _Slot) -> bool:
        """Whether both are live at the same step."""
        if not self.live & other.live:
            return False
        if not (self.joined and other.joined) or len(self.held) > _MANY or self.held.keys().isdisjoint(other.held):
            return True
        return any(self._together(other))

    def takes(self, other: _Slot, over: Set[int] = frozenset(), under: Set[int] = frozenset()) -> bool:
        """Merges a slot into this one if both are live together at no step but hand-overs; whether it did.

        `over`: steps at which a buffer of the other slot is written in place over one of this; `under`: the reverse.
        """
        steps, handed = set(), (over - self.renewals) | (under - other.renewals)
        for first, last in self._together(other):
            if first != last or first not in handed:
                return False
            if (first in self.changes or first in other.changes) and self._needed(other, first) > 2:
                return False
            steps.add(first)
        more = [spans for b, spans in other.held.items() if b not in self.held]
        self.spans, crowded = _union(self.spans, more)
        self.crowded, _ = _union(self.crowded, [crowded])
        self.buffers += other.buffers
        self.held |= other.held
        self.changes |= other.changes | steps
        self.renewals |= other.renewals
        return True

    def _needed(self, other: _Slot, step: int) -> int:
        """How many live ranges cover a step; a result that may alias buffers of both slots counts once."""
        point = [(step, step)]
        return sum(any(_common(point, spans)) for spans in (self.held | other.held).values())

    def _together(self, other: _Slot) -> Iterator[tuple[int, int]]:
        """The intervals at which both are live; a result that may alias buffers of both is no conflict."""
        its, _ = _union([], [spans for b, spans in other.held.items() if b not in self.held])
        yield from _common(its, self.spans)
        if self.crowded:
            same, _ = _union([], [spans for b, spans in other.held.items() if b in self.held])
            yield from _common(same, self.crowded)


def place_buffers(buffers: Iterable[Buffer], start: int) -> tuple[dict[Buffer, Size], Size]:
    """The offset of each buffer of the frame (no argument, no result), and the end of the frame."""
    mine = [b for b in buffers if b.result is None and b.argument is None and not b.virtual]
    spans = {b: b.spans for b in with_joins(mine)}
    mine = [b for b in mine if b.nbytes and any(map(spans.__getitem__, (b, *b.joins)))]
    holding = {b: _Slot(b, spans) for b in mine}
    in_order = sorted(mine, key=lambda b: b.first)
    _share_results(in_order, holding)
    over = {b: _steps_over(b) for b in mine}
    for new in in_order:
        _write_over(new, over, holding)
    _share_results(in_order, holding)
    slots = list(dict.fromkeys(holding.values()))
    for slot in slots:
        slot.live = sum((1 << last + 1) - (1 << first) for first, last in slot.spans)
        slot.joined = len(slot.held) > len(slot.buffers)
    placed: list[tuple[_Slot, int, int]] = []
    for slot, size in sorted(((s, s.size) for s in slots if isinstance(s.size, int)), key=lambda found: -found[1]):
        live = slot.live
        meeting = [(a, b) for p, a, b in placed if p.live & live and p.meets(slot)]
        slot.offset = at = first_fit(size, meeting, start)
        placed.append((slot, at, at + size))
    end = _place_behind(
        [s for s in slots if not isinstance(s.size, int)], max((end for _, _, end in placed), default=start)
    )
    return {b: slot.offset for b, slot in holding.items()}, end


def _place_behind(slots: Iterable[_Slot], end: Size) -> Size:
    """Places slots whose sizes only a call knows, one behind the other; returns where they end.

    Slots that are never live together lie in one place, if one of them is the larger one in every call.
    """
    places: list[tuple[list[_Slot], Size]] = []
    for slot in sorted(slots, key=lambda s: -usual(s.size)):
        for i, (inside, size) in enumerate(places):
            fits, holds = is_at_most(slot.size, size), is_at_most(size, slot.size)
            if (fits or holds) and not any(slot.meets(other) for other in inside):
                places[i] = [*inside, slot], size if fits else slot.size
                break
        else:
            places.append(([slot], slot.size))
    for inside, size in places:
        for slot in inside:
            slot.offset = end
        end = end + size
    return end


def _share_results(buffers: list[Buffer], holding: dict[Buffer, _Slot]) -> None:
    """Merges the slots of buffers that the same result of an `if` may alias, where no other live ranges overlap."""
    by_result: dict[Buffer, list[Buffer]] = {}
    for buffer in buffers:
        for joined in buffer.joins:
            by_result.setdefault(joined, []).append(buffer)
    for together in by_result.values():
        slots: list[_Slot] = []
        for slot in dict.fromkeys(map(holding.__getitem__, together)):
            slots = [into for into in slots if into.refused < _TRIES]
            for into in slots if slot.refused < _TRIES else ():
                if into.size == slot.size and slot.refused < _TRIES:
                    if into.takes(slot):
                        holding.update(dict.fromkeys(slot.buffers, into))
                        break
                    into.refused += 1
                    slot.refused += 1
            else:
                slots.append(slot)


def _steps_over(new: Buffer) -> dict[Buffer, set[int]]:
    """By buffer that this one may be written in place over, the steps at which it may."""
    steps: dict[Buffer, set[int]] = {}
    for old, tick in new.over:
        steps.setdefault(old, set()).add(tick)
    return steps


def _write_over(new: Buffer, written: dict[Buffer, dict[Buffer, set[int]]], holding: dict[Buffer, _Slot]) -> None:
    """Merges a buffer with those that die at the steps that write it in place over them (one step in each arm)."""
    spans = holding[new].held[new]
    begins = _begins(new, holding[new])
    tried = {holding[new]}
    # First those that the same results of `if`s may alias: other buffers may need the rest.
    joins = set(new.joins)
    for old, ticks in sorted(written[new].items(), key=lambda item: -len(joins.intersection(item[0].joins))):
        if old not in holding or holding[old] in tried or old.nbytes != new.nbytes:
            continue
        if len(tried) > _TRIES:
            return
        into, mine = holding[old], holding[new]
        over = ticks & begins & _ends(old, into)
        if over and into.takes(mine, *_handed_over(into, mine, written, holding, over)):
            holding.update(dict.fromkeys(mine.buffers, into))
            if len(spans) == len(over):
                return
        if over:
            tried.add(into)


def _handed_over(
    old: _Slot, new: _Slot, written: dict[Buffer, dict[Buffer, set[int]]], holding: dict[Buffer, _Slot], known: Set[int]
) -> tuple[Set[int], Set[int]]:
    """The hand-overs between two slots, as `takes` wants them; `known`: those of the pair that is tried."""
    if len(old.buffers) + len(new.buffers) > _MANY:
        return known, frozenset()
    return _steps_between(old, new, written, holding), _steps_between(new, old, written, holding)


def _steps_between(
    old: _Slot, new: _Slot, written: dict[Buffer, dict[Buffer, set[int]]], holding: dict[Buffer, _Slot]
) -> set[int]:
    """The steps at which a buffer of the new slot is written in place over one of the old slot, which dies there."""
    found = set[int]()
    for buffer in new.buffers:
        begins = _begins(buffer, new)
        for before, ticks in written[buffer].items():
            if holding.get(before) is old:
                found |= ticks & begins & _ends(before, old)
    return found


def _begins(buffer: Buffer, slot: _Slot) -> set[int]:
    """The steps at which a live range of a buffer begins."""
    return {first for first, _ in slot.held[buffer]} | buffer.fills


def _ends(buffer: Buffer, slot: _Slot) -> set[int]:
    """The steps at which a live range of a buffer, or of a result that may alias it, ends."""
    return {last for b in (buffer, *buffer.joins) for _, last in slot.held[b]}


def _union(
    spans: list[tuple[int, int]], more: Iterable[list[tuple[int, int]]]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The union of disjoint sorted intervals and any others, and the intervals where two or more overlap."""
    added = sorted(chain.from_iterable(more))
    if not added:
        return spans, []
    # only those between the first and the last that are added change
    begin = bisect_left(spans, added[0][0], key=lambda span: span[1])
    end = bisect_right(spans, max(added, key=itemgetter(1))[1], key=lambda span: span[0])
    merged: list[tuple[int, int]] = []
    twice: list[tuple[int, int]] = []
    for first, last in sorted([*spans[begin:end], *added]):
        if merged and first <= (before := merged[-1])[1]:
            twice.append((first, min(before[1], last)))
            merged[-1] = (before[0], max(before[1], last))
        else:
            merged.append((first, last))
    return [*spans[:begin], *merged, *spans[end:]], twice


def _common(spans: list[tuple[int, int]], others: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The intersection of two sorted lists of intervals."""
    for first, last in spans:
        begin = bisect_left(others, first, key=lambda span: span[1])
        end = bisect_right(others, last, key=lambda span: span[0])
        for a, b in others[begin:end]:
            yield max(first, a), min(last, b)
