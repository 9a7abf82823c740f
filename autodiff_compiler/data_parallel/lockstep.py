"""Batches of several processes, step by step: that one has fewer, or others, is told before anybody waits for it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..collectives import transfer
from ..collectives.group import Group
from ..runtime.tensor import Tensor
from .texts import texts_of_all

__all__ = ["any_of", "in_step"]

#: What a process without a batch says.
_NONE = "no batch"


def any_of(said: bool, group: Group) -> bool:
    """Whether a process of the group says yes."""
    return bool(transfer.all_reduce(np.array([said]), "max", group)[0])


def in_step(
    batches: Iterable[tuple[Any, ...]], group: Group, what: str, stopping: Callable[[], bool]
) -> Iterator[tuple[Any, ...]]:
    """The batches of this process, each after all processes of the group have said what they have.

    There are no more where `stopping` is true in one of them.  ValueError, in all processes: some have a batch and
    others have none, or shapes and dtypes differ.
    """
    source = iter(batches)
    number = 0
    while True:
        number += 1
        batch = next(source, None)
        own = _NONE if batch is None else ", ".join(map(_described, batch))
        said = transfer.all_gather(np.array([[zlib.crc32(own.encode()), stopping()]], np.int64), group)
        if said[:, 1].any():
            return
        if (said[:, 0] != said[0, 0]).any():
            raise ValueError(_told(own, group, f"step {number} of {what}"))
        if batch is None:
            return
        yield batch


def _described(column: Any) -> str:
    return f"{column.dtype.name}{list(column.shape)}" if isinstance(column, Tensor) else type(column).__name__


def _told(own: str, group: Group, when: str) -> str:
    """What each process has, where that differs."""
    having: dict[str, list[int]] = {}
    for rank, text in zip(group.ranks, texts_of_all(own, group), strict=True):
        having.setdefault(text, []).append(rank)
    found = "; ".join(f"{_processes(ranks)} {_has(text)}" for text, ranks in having.items())
    return (
        f"in {when} the processes have different batches: {found}. Give all of them equally many rows, as "
        "`num_shards` and `shard_id` of a dataset do, and `drop_remainder=True` to `batch`"
    )


def _processes(ranks: list[int]) -> str:
    return f"process {ranks[0]} has" if len(ranks) == 1 else f"processes {', '.join(map(str, ranks))} have"


def _has(text: str) -> str:
    return "none" if text == _NONE else text
