"""What generated programs call at run time; printed into those that need it.

A sequence of arrays is one array with a leading dimension for the trips.  A sequence of such sequences, whose lengths
may differ, is a `Ragged`, and one of arrays whose sizes may differ from trip to trip is `Listed`.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Ragged:
    """A sequence per trip: the elements of all of them concatenated in `payload`, with the offset of each.

    Sequence i lies between `offsets[i]` and `offsets[i + 1]`, in whichever order: a loop that runs backwards fills
    it from the end.  Buffers grow by an eighth; `trim` gives back what is left over.
    """

    __slots__ = ("offsets", "payload", "used")

    def __init__(self, payload: Any, trips: int) -> None:
        self.payload, self.used = payload, 0
        self.offsets = np.zeros(max(int(trips), 0) + 1, np.int64)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: Any) -> Any:
        first, last = sorted((int(self.offsets[i]), int(self.offsets[i + 1])))
        return self.part(first, last)

    def part(self, first: int, last: int) -> Any:
        """Elements first to last of the payload, as a sequence that shares its bytes."""
        if isinstance(self.payload, Listed):
            return Listed(self.payload.arrays[first:last])
        if not isinstance(self.payload, Ragged):
            return self.payload[first:last]
        inner = self.payload
        found = Ragged(inner.payload, 0)
        found.offsets, found.used = inner.offsets[first : last + 1], inner.used
        return found

    def push(self, i: int, elements: Any, backwards: bool = False) -> None:
        """Copies the sequence of trip i to the end; None (`undef`) takes no room."""
        count = 0 if elements is None else len(elements)
        start, stop = self.used, self.used + count
        if i + 2 > len(self.offsets):
            self.offsets.resize(i + 2 + (i >> 3) + 16, refcheck=False)
        self.offsets[i + backwards] = start
        self.offsets[i + (not backwards)] = stop
        self.used = stop
        if count and isinstance(self.payload, Ragged | Listed):
            for k in range(count):
                self.payload.push(start + k, elements[k])
        elif count:
            if stop > len(self.payload):
                self.payload.resize((stop + (stop >> 3), *self.payload.shape[1:]), refcheck=False)
            self.payload[start:stop] = elements

    def trim(self, trips: int) -> None:
        """Ends the filling: `trips` sequences were pushed."""
        self.offsets.resize(max(int(trips), 0) + 1, refcheck=False)
        if isinstance(self.payload, Ragged | Listed):
            self.payload.trim(self.used)
        else:
            self.payload.resize((self.used, *self.payload.shape[1:]), refcheck=False)


class Listed:
    """An array per trip, each of its own sizes."""

    __slots__ = ("arrays",)

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays

    def __len__(self) -> int:
        return len(self.arrays)

    def __getitem__(self, i: Any) -> Any:
        return self.arrays[i]

    def push(self, i: int, array: Any, backwards: bool = False) -> None:
        """Copies the array of trip i, from whichever end the loop runs; None (`undef`) stays None."""
        self.arrays += [None] * (i + 1 - len(self.arrays))
        self.arrays[i] = None if array is None else np.array(array)

    def trim(self, trips: int) -> None:
        """Ends the filling: `trips` arrays were pushed."""
        del self.arrays[max(int(trips), 0) :]


def add_sequences(xs: Any, ys: Any) -> Any:
    """Two sequences of equal lengths added element by element."""
    if isinstance(xs, tuple):
        return tuple(add_sequences(x, y) for x, y in zip(xs, ys, strict=True))
    if isinstance(xs, Listed):
        return Listed([x + y for x, y in zip(xs.arrays, ys.arrays, strict=True)])
    if not isinstance(xs, Ragged):
        return np.add(xs, ys)
    total = Ragged(_empty_like(xs.payload), len(xs))
    for i in range(len(xs)):
        total.push(i, add_sequences(xs[i], ys[i]))
    total.trim(len(xs))
    return total


def _empty_like(payload: Any) -> Any:
    """A payload without elements that can be filled like this one."""
    if isinstance(payload, Ragged):
        return Ragged(_empty_like(payload.payload), 0)
    if isinstance(payload, Listed):
        return Listed([])
    return np.empty((0, *payload.shape[1:]), payload.dtype)


def narrowed_results(results: Any, dtype: Any) -> list[Any]:
    """The results of a kernel that computed a 16-bit float in float32, rounded to it."""
    return [x.astype(dtype) if x.dtype.kind == "f" else x for x in results]
