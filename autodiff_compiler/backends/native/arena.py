"""Where buffers lie in the frame of a call: those needed at the same time lie apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .values import Buffer

__all__ = ["aligned", "place_buffers"]

_ALIGNMENT = 64


def aligned(nbytes: int) -> int:
    """The bytes that a buffer takes."""
    return -(-max(nbytes, 1) // _ALIGNMENT) * _ALIGNMENT


class _Slot:
    """Bytes that buffers have one after the other; some are written over the one before element by element."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffers, self.spans, self.size, self.offset = [buffer], buffer.spans, aligned(buffer.nbytes), 0
        #: steps at which one is written over another
        self.changes: set[int] = set()

    def meets(self, other: _Slot) -> bool:
        """Whether there is a step at which both are needed."""
        return any(_common(self.spans, other.spans))

    def takes(self, other: _Slot, tick: int) -> bool:
        """Takes in the buffers of a slot, if both are needed together at this step alone, which hands over."""
        if any(piece != (tick, tick) for piece in _common(self.spans, other.spans)):
            return False
        if tick in self.changes | other.changes:
            return False
        self.buffers += other.buffers
        self.spans = sorted(self.spans + other.spans)
        self.changes |= other.changes | {tick}
        return True


def place_buffers(buffers: Iterable[Buffer], start: int) -> tuple[dict[Buffer, int], int]:
    """The offset of each buffer that is neither argument nor result, and where the frame ends."""
    mine = [b for b in buffers if b.result is None and b.argument is None and not b.virtual and b.spans]
    holding = {b: _Slot(b) for b in mine}
    for new in sorted(mine, key=lambda b: b.first):
        _write_over(new, holding)
    placed: list[_Slot] = []
    for slot in sorted(dict.fromkeys(holding.values()), key=lambda s: -s.size):
        slot.offset = _lowest(slot.size, start, [(p.offset, p.offset + p.size) for p in placed if p.meets(slot)])
        placed.append(slot)
    end = max((s.offset + s.size for s in placed), default=start)
    return {b: slot.offset for b, slot in holding.items()}, end


def _write_over(new: Buffer, holding: dict[Buffer, _Slot]) -> None:
    """Gives a buffer the bytes of one that is read for the last time at the step that writes it."""
    for old, tick in new.over:
        if old not in holding or holding[old] is holding[new] or old.nbytes != new.nbytes:
            continue
        ends = any(last == tick for _, last in old.spans) and any(first == tick for first, _ in new.spans)
        if ends and holding[old].takes(holding[new], tick):
            for buffer in holding[new].buffers:
                holding[buffer] = holding[old]
            if len(new.spans) == 1:
                return


def _common(spans: list[tuple[int, int]], others: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The first and the last step of what two lists of spans have in common, piece by piece."""
    for a in spans:
        for b in others:
            first, last = max(a[0], b[0]), min(a[1], b[1])
            if first <= last:
                yield first, last


def _lowest(size: int, start: int, taken: list[tuple[int, int]]) -> int:
    offset = start
    for first, end in sorted(taken):
        if offset + size <= first:
            break
        offset = max(offset, end)
    return offset
