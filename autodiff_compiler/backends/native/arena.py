"""Where buffers lie in the frame of a call: those needed at the same time lie apart."""

from __future__ import annotations

from collections.abc import Iterable

from .values import Buffer

__all__ = ["place_buffers"]

_ALIGNMENT = 64


class _Slot:
    """Bytes that one buffer hands on to the next, which is written over it."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffers, self.first, self.last, self.offset = [buffer], buffer.first, buffer.last, 0
        self.size = -(-max(buffer.nbytes, 1) // _ALIGNMENT) * _ALIGNMENT

    def hand_on(self, buffer: Buffer) -> None:
        self.buffers.append(buffer)
        self.last = buffer.last


def place_buffers(buffers: Iterable[Buffer], start: int) -> tuple[dict[Buffer, int], int]:
    """The offset of each buffer that is neither argument nor result, and where the frame ends."""
    slots: list[_Slot] = []
    holding: dict[Buffer, _Slot] = {}
    for buffer in sorted(buffers, key=lambda b: b.first):
        if buffer.result is not None or buffer.argument is not None or buffer.virtual:
            continue
        over = (holding[b] for b, tick in buffer.over if tick == buffer.first and _hands_on(holding.get(b), b, buffer))
        slot = next(over, None)
        if slot is None:
            slot = _Slot(buffer)
            slots.append(slot)
        else:
            slot.hand_on(buffer)
        holding[buffer] = slot
    placed: list[_Slot] = []
    for slot in sorted(slots, key=lambda s: -s.size):
        slot.offset = _lowest(
            slot.size,
            start,
            [(p.offset, p.offset + p.size) for p in placed if p.first <= slot.last and slot.first <= p.last],
        )
        placed.append(slot)
    end = max((s.offset + s.size for s in slots), default=start)
    return {b: s.offset for s in slots for b in s.buffers}, end


def _hands_on(slot: _Slot | None, old: Buffer, new: Buffer) -> bool:
    return slot is not None and slot.buffers[-1] is old and old.last == new.first and old.nbytes == new.nbytes


def _lowest(size: int, start: int, taken: list[tuple[int, int]]) -> int:
    offset = start
    for first, end in sorted(taken):
        if offset + size <= first:
            break
        offset = max(offset, end)
    return offset
