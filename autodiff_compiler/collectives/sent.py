"""Messages that were sent and need not have arrived."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import transfer
from .group import Group
from .waiting import Handle

__all__ = ["post"]

_under_way: list[Handle] = []


def post(x: np.ndarray[Any, Any], to: int, tag: int, group: Group, at: str = "") -> Handle:
    """Sends a copy of an array and does not wait: two processes may send to each other before they receive."""
    _under_way[:] = [each for each in _under_way if not each.is_completed()]
    made = transfer.start_send(np.array(x, order="C"), to, tag, group, at=at)
    _under_way.append(made)
    return made
