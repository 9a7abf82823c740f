"""Which results may be written over the arguments whose next versions they are.

The driver is a list of steps, some of them in arms of `if` and in loops.  A result may lie where its argument lies if
no step that may come after one that writes it reads the argument, but for steps that read each element before they
write it, and if none of them can fail: an exception leaves states as they were.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, TypeAlias

from ..codegen.values import Array, Buffer, size_of

__all__ = ["Versions"]


#: The blocks around a step, the outermost first: an `if` and which of its arms, or a loop and None.
_Blocks: TypeAlias = tuple[tuple[object, int | None], ...]


class _Step(NamedTuple):
    """A step of the driver."""

    tick: int
    blocks: _Blocks

    @property
    def in_loop(self) -> bool:
        return any(arm is None for _, arm in self.blocks)

    def may_follow(self, other: _Step) -> bool:
        """Whether one run can come here after the other step, or at the same time."""
        for (mine, arm), (its, its_arm) in zip(self.blocks, other.blocks, strict=False):
            if mine is not its:
                break
            if arm is None:  # perhaps in the next trip
                return True
            if arm != its_arm:
                return False
        return self.tick >= other.tick


class Versions:
    """`next_of`: for results, by number, the arguments that are their versions now, which nothing else becomes."""

    def __init__(self, next_of: dict[int, int]) -> None:
        self.next_of = next_of
        self._blocks: _Blocks = ()
        #: how often each step reads an argument
        self._reads: dict[int, Counter[_Step]] = {i: Counter() for i in next_of.values()}
        self._writes: dict[int, set[_Step]] = {i: set() for i in next_of}
        #: by the blocks around them the last steps that may fail
        self._failures: dict[_Blocks, int] = {}

    def enter(self, op: object, arm: int | None) -> None:
        """Steps from now on lie in an arm of an `if`, or in a loop (None)."""
        self._blocks = (*self._blocks, (op, arm))

    def leave(self) -> None:
        self._blocks = self._blocks[:-1]

    def elsewhere(self, op: object, arm: int) -> bool:
        """Whether steps now lie in the other arm of an `if`."""
        return any(block is op and number != arm for block, number in self._blocks)

    def touch(self, root: Buffer, tick: int) -> None:
        """A step reads an argument, or writes (or reads) a result."""
        step = _Step(tick, self._blocks)
        if root.argument in self._reads:
            self._reads[root.argument][step] += 1
        elif root.result in self._writes:
            self._writes[root.result].add(step)

    def may_fail(self, tick: int) -> None:
        """A step may end the program with an exception."""
        self._failures[self._blocks] = tick

    def now_of(self, new: Array, array: Array) -> Buffer | None:
        """The argument that all of a result may be written over, if all of it may be the array; both in C order."""
        (root, *more) = new.roots or (None,)
        if root is None or more or new.offset != 0 or new.base != root.base or root.result not in self.next_of:
            return None
        wanted = self.next_of[root.result]
        found = next((r for r in array.roots if r.argument == wanted), None)
        return found if size_of(new.type) == size_of(array.type) else None

    def together(self, new: Buffer, old: Buffer) -> bool:
        """Whether the result can lie where the argument does."""
        assert new.result is not None
        assert old.argument is not None
        reads = self._reads[old.argument]
        for write in self._writes[new.result]:
            if any(_Step(tick, blocks).may_follow(write) for blocks, tick in self._failures.items()):
                return False
            by_element = (old, write.tick) in new.over and reads[write] == 1 and not write.in_loop
            if any(read.may_follow(write) for read in reads if not (by_element and read == write)):
                return False
        return True
