"""Who else holds the buffer of a Tensor: decides between a write in place and a write to a copy.

Every Tensor carries a mask of holders: the bits of the tapes that saved its buffer, and `SHARED` once another Tensor
may look at the same bytes.  Bits of tapes that ended are no longer live and hold nothing.
"""

from __future__ import annotations

from ..locks import Lock

__all__ = ["SHARED", "holders"]

#: The bit of Tensors whose bytes another Tensor may show; always live.
SHARED = 1


class _Holders:
    """The bits in use.  `live` is read without the lock: an int is replaced, never changed."""

    __slots__ = ("_lock", "inner", "live", "lost")

    def __init__(self) -> None:
        self.live = SHARED
        #: the tapes that lost a variable's trace: it became an integer, a Python number, or was stopped
        self.lost = 0
        #: the tapes on which a derivative was taken
        self.inner = 0
        self._lock = Lock()  # a collected tape may give its bit back in the middle of `take`

    def take(self) -> int:
        """The lowest free bit, now live."""
        with self._lock:
            bit = ~self.live & (self.live + 1)
            self.live |= bit
            self.lost &= ~bit
            self.inner &= ~bit
            return bit

    def give(self, bit: int) -> None:
        """Frees a bit."""
        with self._lock:
            self.live &= ~bit


holders = _Holders()
