"""Settings of all datasets, among them the seed of shuffles and random transforms."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np

from ..nn.arguments import integer, positive
from ..runtime.random import generator

__all__ = [
    "get_num_parallel_workers",
    "get_prefetch_size",
    "get_seed",
    "set_num_parallel_workers",
    "set_prefetch_size",
    "set_seed",
]

# MindSpore 2.10: `get_seed` gives this number until a seed is set.
_NO_SEED = 5489
_LARGEST = 2**32 - 1

#: The seed of `set_seed`, with the number of calls of `ms.set_seed` by then: the later of the two counts.
_own: tuple[int, int] | None = None
#: How often a seed was set here.
_set = 0
_workers = 2
_prefetch = 16


def set_seed(seed: int) -> None:
    """Sets the seed of shuffles, samplers and random transforms; `ms.set_seed` sets it, too.

    Both also seed Python's `random` and NumPy's global generator, from which functions in a pipeline may draw.

    TypeError: no int.  ValueError: not from 0 to 2**32 - 1.

    >>> set_seed(3); get_seed()
    3
    """
    global _own, _set
    if not 0 <= integer("seed", seed) <= _LARGEST:
        raise ValueError(f"`seed` must be from 0 to 2**32 - 1, not {seed}")
    random.seed(int(seed))
    np.random.seed(int(seed))
    _own, _set = (int(seed), generator.restarts), _set + 1


def get_seed() -> int:
    """The seed that was set last, here or by `ms.set_seed`; 5489 before any."""
    seed = _chosen()
    return _NO_SEED if seed is None else seed


def set_num_parallel_workers(num: int) -> None:
    """Stores a number for `get_num_parallel_workers`, without other effect: rows are computed one by one."""
    global _workers
    _workers = positive("num", num)


def get_num_parallel_workers() -> int:
    """What was set last, or 2; nothing here depends on it."""
    return _workers


def set_prefetch_size(size: int) -> None:
    """Stores a number for `get_prefetch_size`, without other effect: rows are computed lazily."""
    global _prefetch
    _prefetch = positive("size", size)


def get_prefetch_size() -> int:
    """What was set last, or 16; nothing here depends on it."""
    return _prefetch


def _chosen() -> int | None:
    if _own is not None and _own[1] == generator.restarts:
        return _own[0]
    return generator.seed


def seed_of_a_run() -> int:
    """The seed of one iteration: the one that was set, else a new one each time."""
    seed = _chosen()
    return int.from_bytes(os.urandom(8), "little") if seed is None else seed


def seed_of_all() -> int:
    """The seed where several datasets must draw the same numbers: the one that was set, else a constant."""
    return get_seed()


class Draws:
    """The random numbers of one transform; they begin again when a seed is set."""

    def __init__(self) -> None:
        self._begun: Any = None
        self._numbers: np.random.Generator | None = None

    def __call__(self) -> np.random.Generator:
        begun = (_set, generator.restarts)
        if self._numbers is None or self._begun != begun:
            self._begun, self._numbers = begun, np.random.default_rng(seed_of_a_run())
        return self._numbers
