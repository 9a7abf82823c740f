"""Holders of a Tensor's buffer, which decide between a write in place and a copy.

Every Tensor has a mask of holders: the bits of the tapes that saved its buffer, and `SHARED` once another Tensor may
alias it.  Bits of tapes that ended are no longer live and hold nothing.
"""

from __future__ import annotations

from ..locks import Lock

__all__ = ["PAIR", "SHARED", "holders"]

#: The bit of Tensors that another Tensor may alias; always live.
SHARED = 1
#: A tape's bit times this is both of its bits: for floats, and for integers.
PAIR = 0b11


class _Holders:
    """The bits in use.  `live` is read without the lock: an int is replaced, never changed."""

    __slots__ = ("_lock", "inner", "integers", "live", "lost")

    def __init__(self) -> None:
        self.live = SHARED
        #: the second bit of each tape: of values that depend on an integer variable
        self.integers = 0
        #: tapes on which a derivative was lost: a value became an integer or a Python number, or was stopped
        self.lost = 0
        #: the tapes on which a derivative was taken
        self.inner = 0
        self._lock = Lock()  # a collected tape may give its bit back in the middle of `take`

    def take(self) -> int:
        """Takes the lowest free bit, with the next one, that of its integers."""
        with self._lock:
            bit = ~self.live & (self.live + 1)
            self.live |= bit * PAIR
            self.integers |= bit << 1
            self.lost &= ~(bit * PAIR)
            self.inner &= ~(bit * PAIR)
            return bit

    def of_integers(self, mask: int) -> int:
        """Both bits of the tapes in a mask that have their integer bit set."""
        found = mask & self.integers
        return found | found >> 1

    def give(self, bit: int) -> None:
        """Frees a bit, and that of its integers."""
        with self._lock:
            self.live &= ~(bit * PAIR)
            self.integers &= ~(bit << 1)


holders = _Holders()
