"""States of random streams: a seed, and how many draws were made from it.

A draw depends on three int64 numbers only, ``[seed, stream, count]``; each draw uses up one count.  Numbers drawn
without a seed of their own come from stream 0, those of an op with ``seed=s`` from stream s + 1.  The state of each
stream is a Parameter, so that compiled code reads and writes it as it does every other state.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from ..config import asks_settings, called_outside
from ..locks import Lock
from .parameter import Parameter
from .tensor import Tensor, wrap

__all__ = ["Generator", "checked_seed", "generator", "get_rng_state", "get_seed", "set_rng_state", "set_seed"]


class Generator:
    """The states of all streams of random numbers; one for the process.

    Until `set_seed` is called, stream 0 differs from process to process and the others do not.  Processes that train
    one network drop elements by masks of their own: process r draws them from stream -r - 1.
    """

    def __init__(self) -> None:
        #: Held from reading a state to writing the next one, so that no two threads draw the same numbers.  A compiled
        #: function that draws holds it while it runs.
        self.drawing = Lock()
        self._lock = Lock()  # of the table of streams; always the innermost
        self._streams: dict[int, Parameter] = {}
        self.seed: int | None = None
        #: Tells the number of this process among those that train one network; None if it trains alone.
        self.rank: Callable[[], int | None] = lambda: None
        #: How often a seed was set.
        self.restarts = 0
        self._start = int.from_bytes(os.urandom(8), "little") >> 2

    def state(self, seed: int | None, masks: bool = False) -> Parameter:
        """The state of the stream without a seed of its own, or of an op's seed; `masks`: of what drops elements."""
        with self._lock:
            return self._state(self._number(seed, masks))

    def owns(self, state: Parameter) -> bool:
        """Whether a Parameter is the state of a stream."""
        with self._lock:
            return any(state is cell for cell in self._streams.values())

    def take(self, seed: int | None, masks: bool = False) -> Tensor:
        """The state of a stream for one draw; advances the stream."""
        number = self._number(seed, masks)
        with self.drawing, self._lock:
            cell = self._state(number)
            now = np.array(cell._data)
            cell._write(now + np.array([0, 0, 1]))
        return wrap(now)

    def restart(self, seed: int) -> None:
        """Restarts all streams from another seed."""
        with self.drawing, self._lock:
            self.seed = self._start = seed
            self.restarts += 1
            for number, cell in self._streams.items():
                cell._write(np.array([seed, number, 0]))

    def counts(self) -> dict[int, list[int]]:
        """The states of the streams that were drawn from (compiled code may make streams that it never draws from)."""
        with self._lock:
            return {number: cell._data.tolist() for number, cell in self._streams.items() if cell._data[2]}

    def restore(self, seed: int | None, start: int, counts: dict[int, list[int]]) -> None:
        """Sets all streams back; those without an entry restart."""
        with self.drawing, self._lock:
            self.seed, self._start = seed, start
            for number in {*self._streams, *counts}:
                self._state(number)._write(np.array(counts.get(number) or [self._first(number), number, 0]))

    @property
    def start(self) -> int:
        """The seed of stream 0, also if nobody gave one."""
        return self._start

    def _number(self, seed: int | None, masks: bool) -> int:
        rank = self.rank() if masks and seed is None else None
        return _stream(seed) if rank is None else -rank - 1

    def _first(self, number: int) -> int:
        return (self.seed or 0) if number > 0 else self._start

    def _state(self, number: int) -> Parameter:
        found = self._streams.get(number)
        if found is None:
            name = (
                "random_state"
                if number == 0
                else f"random_state.{number - 1 if number > 0 else f'process{-number - 1}'}"
            )
            value = np.array([self._first(number), number, 0], np.int64)
            found = self._streams[number] = Parameter(value, name=name, requires_grad=False)
        return found


def _stream(seed: int | None) -> int:
    return 0 if seed is None else checked_seed(seed) + 1


def checked_seed(seed: Any) -> int:
    """A seed as an int from 0 to 2**62; TypeError, ValueError."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"a seed is an int, not a {type(seed).__name__}")
    if not 0 <= seed <= 2**62:
        raise ValueError(f"a seed is from 0 to 2**62, not {seed}")
    return int(seed)


#: The generator of this process.
generator = Generator()


@called_outside
def set_seed(seed: int) -> None:
    """Lets all random numbers begin again from a seed: ours, Python's `random`, and those of NumPy's global generator.

    TypeError: no int.  ValueError: a negative seed.

    >>> set_seed(1); get_seed()
    1
    """
    seed = checked_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    generator.restart(seed)


@asks_settings
def get_seed() -> int | None:
    """The seed that was set last; None before the first `set_seed`."""
    return generator.seed


@called_outside
def get_rng_state() -> tuple[int | None, int, dict[int, list[int]]]:
    """The state of all random numbers but NumPy's, for `set_rng_state`."""
    return generator.seed, generator.start, generator.counts()


@called_outside
def set_rng_state(state: tuple[int | None, int, dict[int, list[int]]]) -> None:
    """Goes back to a state from `get_rng_state`: the same numbers follow.

    >>> from autodiff_compiler import ops
    >>> state = get_rng_state()
    >>> first = ops.rand(2).tolist()
    >>> set_rng_state(state)
    >>> ops.rand(2).tolist() == first
    True
    """
    generator.restore(*state)
