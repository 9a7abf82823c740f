"""In which arm of which `if` the steps of a program lie: what only one arm reads need not be there in the other."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ....ir.undefined import always_raises
from ..codegen.values import Buffer, with_joins

if TYPE_CHECKING:
    from ....ir.core import Block
    from .buffer_plan import BufferPlan

__all__ = ["Arms"]


class _Arm:
    """The steps of one arm, and the `if`s in it, in order, with the first steps of their arms."""

    def __init__(self, first: int) -> None:
        self.first = self.last = first
        self.ifs: list[_If] = []
        self.begins: list[int] = []


class _If:
    """`loop`: the first step of the loop around it, or -1."""

    def __init__(self, loop: int) -> None:
        self.loop = loop
        self.arms: list[_Arm] = []


class Arms:
    """The arms of a program, while it is written and afterwards."""

    def __init__(self) -> None:
        self._all = _Arm(0)
        self._around = [self._all]
        #: the arms that always raise, in order, and their first steps
        self._raising: list[_Arm] = []
        self._raises: list[int] = []

    @contextmanager
    def arm(self, number: int, low: BufferPlan, block: Block) -> Iterator[None]:
        """What is written now is a block, the first or the second arm of an `if`."""
        around = self._around[-1]
        if number == 0:
            around.ifs.append(_If(low.regions[-1].start if low.regions else -1))
            around.begins.append(low.tick + 1)
        arm = _Arm(low.tick + 1)
        around.ifs[-1].arms.append(arm)
        if always_raises(block):
            self._raising.append(arm)
            self._raises.append(arm.first)
        self._around.append(arm)
        try:
            yield
        finally:
            self._around.pop().last = low.tick

    def note_unread(self, buffers: Iterable[Buffer]) -> None:
        """Finds the steps of arms at which buffers hold what only other arms read, and nobody afterwards."""
        self._all.last = sys.maxsize
        for buffer in with_joins(buffers):
            if buffer.result is None and buffer.argument is None:
                steps = sorted({*buffer.touches, buffer.last})
                buffer.unread = [*_unread(buffer.first, steps, self._all), *self._not_raised(buffer.first, steps)]

    def _not_raised(self, first: int, steps: list[int]) -> Iterator[tuple[int, int]]:
        """The ends of arms that always raise, after the last of `steps` in each: nobody reads anything there."""
        for arm in self._raising[bisect_right(self._raises, first) : bisect_right(self._raises, steps[-1])]:
            last = steps[bisect_right(steps, arm.last) - 1]
            start = max(last + 1, arm.first)
            if start <= arm.last:
                yield start, arm.last


def _unread(first: int, steps: list[int], arm: _Arm) -> list[tuple[int, int]]:
    """The pieces of the arms in a stretch of steps at which what is there since `first` is read by other arms alone.

    Nobody reads it after the stretch, so a piece follows the last of `steps` in each arm of its last `if`.  What a loop
    found when it began is there until it ends: a later trip may read it.
    """
    found: list[tuple[int, int]] = []
    todo = [arm]
    while todo:
        arm = todo.pop()
        end = bisect_right(steps, arm.last)
        number = bisect_right(arm.begins, steps[end - 1]) if end else 0
        one = arm.ifs[number - 1] if number else None
        if one is None or steps[end - 1] > one.arms[-1].last or one.loop >= first:
            continue
        if first >= one.arms[0].first:  # made in an arm
            todo += [a for a in one.arms if a.first <= first and steps[end - 1] <= a.last]
            continue
        for inner in one.arms:
            begin, stop = bisect_left(steps, inner.first), bisect_right(steps, inner.last)
            start = steps[stop - 1] + 1 if begin < stop else inner.first
            if start <= inner.last:
                found.append((start, inner.last))
            if begin < stop:
                todo.append(inner)
    return found
