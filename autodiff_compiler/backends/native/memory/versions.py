"""Which next versions of states may be written in place over their arguments.

The driver is a list of steps, some in arms of `if`s and in loops.  A result may share the memory of its argument if no
step that may run after one that writes the result reads the argument (the same step may, element by element) or raises:
an exception leaves states as they were.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, TypeAlias

from ..codegen.values import Array, Buffer, size_of

#: The blocks around a step, outermost first: an `if` with the number of the arm, or a loop with None.
_Blocks: TypeAlias = tuple[tuple[object, int | None], ...]


class _Step(NamedTuple):
    """A step of the driver."""

    tick: int
    blocks: _Blocks

    @property
    def in_loop(self) -> bool:
        return any(arm is None for _, arm in self.blocks)

    def may_follow(self, other: _Step) -> bool:
        """Whether this step may run after the other one, or is the same."""
        for (mine, arm), (its, its_arm) in zip(self.blocks, other.blocks, strict=False):
            if mine is not its:
                break
            if arm is None:  # perhaps in the next trip
                return True
            if arm != its_arm:
                return False
        return self.tick >= other.tick


class Versions:
    """The steps that read, write and raise; `next_of`: by result, the argument that is this version of the state."""

    def __init__(self, next_of: dict[int, int]) -> None:
        self.next_of = next_of
        self._blocks: _Blocks = ()
        #: by argument, how often each step reads it
        self._reads: dict[int, Counter[_Step]] = {i: Counter() for i in next_of.values()}
        self._writes: dict[int, set[_Step]] = {i: set() for i in next_of}
        #: by the blocks around them, the last steps that may raise
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
        """A step may raise."""
        self._failures[self._blocks] = tick

    def now_of(self, new: Array, array: Array) -> Buffer | None:
        """The buffer of the argument, if `new` is a whole result and `array` may be all of this version."""
        (root, *more) = new.roots or (None,)
        if root is None or more or new.offset != 0 or new.base != root.base or root.result not in self.next_of:
            return None
        wanted = self.next_of[root.result]
        found = next((r for r in array.roots if r.argument == wanted), None)
        return found if size_of(new.type) == size_of(array.type) else None

    def together(self, new: Buffer, old: Buffer) -> bool:
        """Whether a result can share the memory of its argument."""
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
