"""Who else holds the buffer of a Tensor: decides between a write in place and a write to a copy.

Every Tensor carries a mask of holders: the bits of the tapes that saved its buffer, and `SHARED` once another Tensor
may look at the same bytes.  Bits of tapes that ended are no longer live and hold nothing.
"""

from __future__ import annotations

from ..locks import Lock

__all__ = ["PAIR", "SHARED", "holders"]

#: The bit of Tensors whose bytes another Tensor may show; always live.
SHARED = 1
#: A tape's bit times this: with that of its integers.
PAIR = 0b11


class _Holders:
    """The bits in use.  `live` is read without the lock: an int is replaced, never changed."""

    __slots__ = ("_lock", "inner", "integers", "live", "lost")

    def __init__(self) -> None:
        self.live = SHARED
        #: the second bit of each tape: on it lies what an integer variable leads to
        self.integers = 0
        #: the tapes that lost a variable's trace: it became an integer, a Python number, or was stopped
        self.lost = 0
        #: the tapes on which a derivative was taken
        self.inner = 0
        self._lock = Lock()  # a collected tape may give its bit back in the middle of `take`

    def take(self) -> int:
        """The lowest free bit, now live, and with it the one above: that of its integers."""
        with self._lock:
            bit = ~self.live & (self.live + 1)
            self.live |= bit * PAIR
            self.integers |= bit << 1
            self.lost &= ~(bit * PAIR)
            self.inner &= ~(bit * PAIR)
            return bit

    def of_integers(self, mask: int) -> int:
        """The bits of a mask, of both kinds, of the tapes that know an integer variable to lead there."""
        found = mask & self.integers
        return found | found >> 1

    def give(self, bit: int) -> None:
        """Frees a bit, and that of its integers."""
        with self._lock:
            self.live &= ~(bit * PAIR)
            self.integers &= ~(bit << 1)


holders = _Holders()
