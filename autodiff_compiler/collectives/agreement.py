"""Texts that are to be equal on all processes: versions, programs, shapes."""

from __future__ import annotations

import hashlib
from itertools import zip_longest
from typing import Any

import numpy as np

from ..errors import CollectiveError
from .group import Group
from .waiting import wait

__all__ = ["agree"]

_SHOWN = 160


def agree(what: str, text: str, group: Group) -> None:
    """Returns if all of the group have this text; they call it together.

    CollectiveError on all of them where the texts differ: it shows the first line that does.  `what` is what the texts
    are of, such as "programs".
    """
    if group.size == 1:
        return
    group.check()
    said = f"comparing the {what}"
    mine = np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8)
    found = np.empty((group.size, mine.size), np.uint8)
    wait([group.control.Iallgather(mine, found)], group, said)
    if (found == found[0]).all():
        return
    texts = _texts(text.encode(), group, said)
    other = next(rank for rank in range(group.size) if (found[rank] != found[0]).any())
    alike = [group.ranks[rank] for rank in range(group.size) if (found[rank] == found[0]).all()]
    line, a, b = _first_difference(texts[0], texts[other])
    raise CollectiveError(
        f"the {what} of the processes differ: those of process {group.ranks[other]} from those of process "
        f"{', '.join(map(str, alike))}, first in line {line}",
        code="AC3004",
        notes=[f"process {group.ranks[0]}: {a}", f"process {group.ranks[other]}: {b}"],
        hint="start all processes with the same program, arguments, data and environment",
    )


def _texts(mine: bytes, group: Group, said: str) -> list[str]:
    """The texts of all."""
    sizes = np.empty(group.size, np.int64)
    wait([group.control.Iallgather(np.array([len(mine)], np.int64), sizes)], group, said)
    counts: list[Any] = [int(n) for n in sizes]
    found = np.empty(sum(counts), np.uint8)
    wait([group.control.Iallgatherv(np.frombuffer(mine, np.uint8), [found, counts])], group, said)
    ends = np.cumsum(sizes)
    return [found[end - n : end].tobytes().decode() for n, end in zip(counts, ends, strict=True)]


def _first_difference(a: str, b: str) -> tuple[int, str, str]:
    for number, (x, y) in enumerate(zip_longest(a.splitlines(), b.splitlines()), 1):
        if x != y:
            return number, _shown(x), _shown(y)
    return 1, _shown(a), _shown(b)  # only in how lines end


def _shown(line: str | None) -> str:
    if line is None:
        return "has no such line"
    return line.strip() if len(line) <= _SHOWN else line.strip()[:_SHOWN] + "..."
