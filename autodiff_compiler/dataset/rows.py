"""Rows, a tuple of arrays with one for each column, and the run that computes them."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..dtypes import bfloat16
from ..errors import did_you_mean, kind_of
from ..runtime.tensor import Tensor
from .config import seed_of_a_run, seed_of_all

Row = tuple[np.ndarray, ...]

#: bools, numbers, texts, bytes
_KINDS = "biufcUS"


def lasts_once(source: object) -> bool:
    """Whether a source is an iterator that cannot begin again, as an `__iter__` of the user's may do."""
    begin = getattr(type(source), "__iter__", None)
    own = isinstance(begin, types.FunctionType) and begin is not Iterator.__iter__
    return isinstance(source, Iterator) and not own


class Run:
    """One iteration over a pipeline: its seed, and how often each of its parts has begun."""

    def __init__(self, seed: int | None = None, frozen: bool = False) -> None:
        self.seed = seed_of_a_run() if seed is None else seed
        self._shared = seed_of_all() if seed is None else seed
        #: Whether each part gives the same order whenever it begins.
        self.frozen = frozen
        self._begun: dict[int, int] = {}

    def begin(self, part: object) -> int:
        """Notes that a part begins an epoch; which one it is, from 0."""
        epoch = self._begun.get(id(part), 0)
        self._begun[id(part)] = epoch + 1
        return 0 if self.frozen else epoch

    def numbers(self, part: object, shared: bool = False) -> np.random.Generator:
        """Random numbers for an epoch of a part.  Parts draw alike: equally long datasets are shuffled alike."""
        return np.random.default_rng((self._shared if shared else self.seed, self.begin(part)))


def array_of(value: Any, what: str) -> np.ndarray:
    """A value as an array of its own; RuntimeError for what has none.  `what` says which value it is."""
    if isinstance(value, Tensor):
        return value.asnumpy().copy()
    try:
        array = np.array(value)
    except ValueError:  # rows of different lengths
        raise RuntimeError(f"{what} is {kind_of(value)} that makes no array: {_short(value)}") from None
    if array.dtype.kind not in _KINDS and array.dtype != bfloat16.numpy:
        raise RuntimeError(f"{what} is {kind_of(value)}, which makes no array of numbers or texts: {_short(value)}")
    return array


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def names(name: str, given: Any) -> list[str]:
    """Column names as a list; TypeError, ValueError.  `name` is that of the argument."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list | tuple):
        raise TypeError(f"`{name}` must be a str or a list of str, not {kind_of(given)}")
    for column in given:
        if not isinstance(column, str):
            raise TypeError(f"`{name}` must hold str, not {kind_of(column)}")
        if not column:
            raise ValueError(f"`{name}` has an empty name")
    if not given:
        raise ValueError(f"`{name}` is empty")
    if len(set(given)) < len(given):
        raise ValueError(f"`{name}` has a name twice: {list(given)}")
    return list(given)


def distinct(columns: Iterable[str], what: str) -> None:
    """RuntimeError if a name comes twice."""
    columns = list(columns)
    for column in columns:
        if columns.count(column) > 1:
            raise RuntimeError(f"{what} {column!r} twice")


def places(columns: Sequence[str], wanted: Iterable[str], what: str) -> list[int]:
    """The positions of columns; RuntimeError for one that does not exist."""
    found = []
    for name in wanted:
        if name not in columns:
            hint = did_you_mean(name, columns)
            raise RuntimeError(
                f"{what}: there is no column {name!r} among {list(columns)}" + (f"; {hint}" if hint else "")
            )
        found.append(columns.index(name))
    return found
