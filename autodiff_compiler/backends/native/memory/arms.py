"""The tree of `if`s and arms of a program, by steps: where a buffer is dead because only the other arm reads it.

In an arm that always raises, whatever the arm itself does not read is dead, too.
"""

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
    """The arms of a program: recorded while it is lowered, asked when the plan is made."""

    def __init__(self) -> None:
        self._all = _Arm(0)
        self._around = [self._all]
        #: the arms that always raise, in order, and their first steps
        self._raising: list[_Arm] = []
        self._raises: list[int] = []

    @contextmanager
    def arm(self, number: int, low: BufferPlan, block: Block) -> Iterator[None]:
        """The steps within are those of a block: of the first (0) or second (1) arm of an `if`."""
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
        """Sets `unread` of each buffer: the steps of arms at which it is dead."""
        self._all.last = sys.maxsize
        for buffer in with_joins(buffers):
            if buffer.result is None and buffer.argument is None:
                steps = sorted({*buffer.touches, buffer.last})
                buffer.unread = [*_unread(buffer.first, steps, self._all), *self._not_raised(buffer.first, steps)]

    def _not_raised(self, first: int, steps: list[int]) -> Iterator[tuple[int, int]]:
        """The intervals at the ends of arms that always raise, after the last of `steps` in each."""
        for arm in self._raising[bisect_right(self._raises, first) : bisect_right(self._raises, steps[-1])]:
            last = steps[bisect_right(steps, arm.last) - 1]
            start = max(last + 1, arm.first)
            if start <= arm.last:
                yield start, arm.last


def _unread(first: int, steps: list[int], arm: _Arm) -> list[tuple[int, int]]:
    """The intervals inside an arm at which a buffer written at `first` and used at `steps` is dead.

    It is dead in each arm of the `if` with its last use, after the last use in that arm.  What is live into a loop
    stays live until the loop ends: a later trip may read it.
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
