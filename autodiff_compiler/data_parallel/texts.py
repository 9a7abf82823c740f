"""Texts that processes tell each other."""

from __future__ import annotations

import numpy as np

from ..collectives import transfer
from ..collectives.group import Group

__all__ = ["texts_of_all"]


def texts_of_all(text: str, group: Group) -> list[str]:
    """The texts of all processes of a group, in their order."""
    own = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)
    lengths = transfer.all_gather(np.array([own.size], np.int64), group)
    row = np.zeros((1, max(int(lengths.max()), 1)), np.uint8)
    row[0, : own.size] = own
    rows = transfer.all_gather(row, group)
    return [row[:n].tobytes().decode("utf-8", "surrogateescape") for row, n in zip(rows, lengths, strict=True)]
