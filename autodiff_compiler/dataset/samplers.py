"""Samplers: which rows of a source with random access an epoch has, and in which order."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..errors import kind_of
from ..nn.arguments import flag, integer, positive
from .rows import Run

__all__ = [
    "DistributedSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Shuffle",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WeightedRandomSampler",
]


class Shuffle(enum.StrEnum):
    """Ways to shuffle that samplers and sources know: all rows, or none."""

    FALSE = "false"
    GLOBAL = "global"


class _SamplerBase:
    """The base of samplers: a limit on the rows, and a child sampler from whose rows this one chooses."""

    def __init__(self, num_samples: int | None) -> None:
        self.num_samples = num_samples if num_samples is None else integer("num_samples", num_samples, 0)
        self.child_sampler: _SamplerBase | None = None

    def add_child(self, sampler: _SamplerBase) -> None:
        """Lets this sampler choose from the rows that another one chose."""
        if not isinstance(sampler, _SamplerBase):
            raise TypeError(f"a child is a sampler, not {kind_of(sampler)}")
        if self.child_sampler is not None:
            raise RuntimeError(f"this {type(self).__name__} has a child already")
        self.child_sampler = sampler

    def get_child(self) -> _SamplerBase | None:
        """The sampler whose choice this one chooses from, or None."""
        return self.child_sampler

    def get_num_samples(self) -> int | None:
        """The limit on the number of rows; None: no limit."""
        return self.num_samples

    def ids(self, rows: int, run: Run) -> list[int]:
        """The rows of an epoch of a source with so many rows; RuntimeError for what the source does not have."""
        given = None if self.child_sampler is None else self.child_sampler.ids(rows, run)
        there = rows if given is None else len(given)
        chosen: list[int] = []
        limit = self.num_samples or None
        for place in self.places(there, run):
            if limit is not None and len(chosen) == limit:
                break
            if isinstance(place, bool) or not isinstance(place, int | np.integer):
                raise RuntimeError(f"{self._who()} gave {place!r} for the number of a row")
            if not 0 <= place < there:
                raise RuntimeError(f"{self._who()} asks for row {place}, and there are rows 0 to {there - 1}")
            chosen.append(int(place))
        return chosen if given is None else [given[place] for place in chosen]

    def places(self, rows: int, run: Run) -> Iterable[int]:
        """The numbers of the rows, from 0, in the order of the epoch."""
        raise NotImplementedError

    def _who(self) -> str:
        return f"the sampler {type(self).__name__}"


class Sampler(_SamplerBase):
    """A sampler of the user: a subclass whose `__iter__` gives numbers of rows.

    `self.dataset_size` is the number of rows, `num_samples` the largest number of rows of an epoch (None: all that
    `__iter__` gives).

    >>> import autodiff_compiler.dataset as ds
    >>> class Backwards(ds.Sampler):
    ...     def __iter__(self):
    ...         yield from range(self.dataset_size - 1, -1, -1)
    >>> [int(x) for x, in ds.NumpySlicesDataset([10, 20, 30], sampler=Backwards())]
    [30, 20, 10]
    """

    def __init__(self, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.dataset_size = 0

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError(f"{type(self).__name__} needs a method `__iter__` that gives numbers of rows")

    def reset(self) -> None:
        """Called before each epoch but the first."""

    def places(self, rows: int, run: Run) -> Iterable[int]:
        self.dataset_size = rows
        if run.begin(self):
            self.reset()
        return iter(self)


class IterSampler(_SamplerBase):
    """A list of numbers, or any object that can be iterated over again, as a sampler."""

    def __init__(self, given: Any, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self._given = given

    def places(self, rows: int, run: Run) -> Iterable[int]:
        return iter(self._given)

    def _who(self) -> str:
        return f"the sampler, a {type(self._given).__name__},"


class SequentialSampler(_SamplerBase):
    """Rows in their order, from `start_index` (None: 0) on.  RuntimeError: a negative index, or one beyond the end."""

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.start_index = 0 if start_index is None else integer("start_index", start_index)

    def places(self, rows: int, run: Run) -> Iterable[int]:
        if not 0 <= self.start_index < max(rows, 1):
            raise RuntimeError(f"`start_index` {self.start_index} is not among rows 0 to {rows - 1}")
        return range(self.start_index, rows)


class RandomSampler(_SamplerBase):
    """Rows in random order, another one in each epoch; with `replacement`, a row can come several times.

    `num_samples` is at most the number of rows, which is what None means.  `shuffle` says where MindSpore's files are
    mixed; here the only way is Shuffle.GLOBAL.
    """

    def __init__(
        self, replacement: bool = False, num_samples: int | None = None, shuffle: Shuffle = Shuffle.GLOBAL
    ) -> None:
        super().__init__(num_samples)
        if shuffle != Shuffle.GLOBAL:
            raise ValueError(f"`shuffle` must be Shuffle.GLOBAL, not {shuffle!r}")
        self.replacement = flag("replacement", replacement)
        self.reshuffle_each_epoch = True

    def places(self, rows: int, run: Run) -> Iterable[int]:
        numbers = run.numbers(self)
        if self.replacement:
            return numbers.integers(rows, size=rows).tolist() if rows else []
        return numbers.permutation(rows).tolist()


class DistributedSampler(_SamplerBase):
    """Every `num_shards`-th row, from row `shard_id` on: one of several parts of a source.

    With `shuffle`, the rows are in random order before; the order is that of the seed, and the same in all shards also
    where no seed was set.  If the rows do not divide evenly, the last ones begin again at row 0, so that all shards are
    equally long; with an `offset` from 0 to `num_shards` - 1 they do not, and row 0 belongs to shard `offset`, and to
    those that would have none.

    TypeError, ValueError, or for `shard_id` and `offset` RuntimeError: arguments that do not fit.
    """

    def __init__(
        self, num_shards: int, shard_id: int, shuffle: bool = True, num_samples: int | None = None, offset: int = -1
    ) -> None:
        super().__init__(num_samples)
        self.num_shards, self.shard_id = integer("num_shards", num_shards), integer("shard_id", shard_id)
        self.shuffle, self.offset = flag("shuffle", shuffle), integer("offset", offset)
        if num_shards < 1:
            raise RuntimeError(f"`num_shards` must be positive, not {num_shards}")
        if not 0 <= shard_id < num_shards:
            raise RuntimeError(f"`shard_id` must be from 0 to {num_shards - 1}, not {shard_id}")
        if not -1 <= offset < num_shards:
            raise RuntimeError(f"`offset` must be from -1 to {num_shards - 1}, not {offset}")

    def places(self, rows: int, run: Run) -> Iterable[int]:
        order = run.numbers(self, shared=True).permutation(rows) if self.shuffle else np.arange(rows)
        if self.offset < 0:
            each = -(-rows // self.num_shards)
            wanted = (self.shard_id + self.num_shards * np.arange(each)) % max(rows, 1)
        else:
            wanted = np.arange(self.shard_id - self.offset, rows, self.num_shards)
            wanted = wanted[wanted >= 0]
            if rows and not len(wanted):
                wanted = np.zeros(1, int)
        return order[wanted].tolist()


class SubsetSampler(_SamplerBase):
    """The rows of these numbers, in this order.  TypeError: other than ints.  RuntimeError, later: no such row."""

    def __init__(self, indices: Any, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        if not isinstance(indices, Iterable):
            indices = [indices]
        self.indices = []
        for i in indices:
            if isinstance(i, bool) or not isinstance(i, int | np.integer):
                raise TypeError(f"`indices` must hold ints, not {kind_of(i)}")
            self.indices.append(int(i))

    def places(self, rows: int, run: Run) -> Iterable[int]:
        return self.indices


class SubsetRandomSampler(SubsetSampler):
    """The rows of these numbers, in random order, another one in each epoch."""

    def places(self, rows: int, run: Run) -> Iterable[int]:
        return run.numbers(self).permutation(np.array(self.indices, np.int64)).tolist()


class WeightedRandomSampler(_SamplerBase):
    """Random rows, row i with a probability that is proportional to ``weights[i]``.

    `num_samples` is at most the number of rows, which is what None means.  Without `replacement` no row comes twice.
    TypeError: weights that are no numbers.  RuntimeError: negative weights, zeros only, more weights than rows, or too
    few above zero.
    """

    def __init__(self, weights: Any, num_samples: int | None = None, replacement: bool = True) -> None:
        super().__init__(num_samples)
        self.weights = [float(w) for w in weights]
        self.replacement = flag("replacement", replacement)
        if any(w < 0 for w in self.weights) or not np.isfinite(self.weights).all():
            raise RuntimeError("`weights` must be finite and not negative")
        if not any(self.weights):
            raise RuntimeError("`weights` must not all be 0")

    def places(self, rows: int, run: Run) -> Iterable[int]:
        count = min(self.num_samples or rows, rows)
        if len(self.weights) > rows:
            raise RuntimeError(f"there are {len(self.weights)} `weights`, but {rows} rows")
        likely = np.array(self.weights) / sum(self.weights)
        if not self.replacement and count > np.count_nonzero(likely):
            raise RuntimeError(f"{count} different rows are wanted, but {np.count_nonzero(likely)} weights are above 0")
        chosen = run.numbers(self).choice(len(likely), count, self.replacement, likely)
        return chosen.tolist()


class Part(_SamplerBase):
    """Some rows of what another sampler chooses, always the same: see `Dataset.split`."""

    def __init__(self, chosen: _SamplerBase, start: int, count: int, seed: int, randomize: bool) -> None:
        super().__init__(None)
        self.add_child(chosen)
        self._start, self._count, self._seed, self._randomize = start, count, seed, randomize

    def ids(self, rows: int, run: Run) -> list[int]:
        return super().ids(rows, Run(self._seed, frozen=True))

    def places(self, rows: int, run: Run) -> Iterable[int]:
        order = np.random.default_rng(self._seed).permutation(rows) if self._randomize else np.arange(rows)
        return order[self._start : self._start + self._count].tolist()


def chosen_sampler(  # the sampler of a source
    sampler: Any, num_samples: int | None, shuffle: Any, num_shards: int | None, shard_id: int | None
) -> _SamplerBase:
    """The sampler that the arguments of a source ask for; TypeError, ValueError if they contradict each other."""
    if num_samples is not None:
        integer("num_samples", num_samples, 0)
    shuffle = {"global": True, "false": False}.get(shuffle, shuffle) if isinstance(shuffle, str) else shuffle
    if shuffle is not None:
        flag("shuffle", shuffle)
    if (num_shards is None) != (shard_id is None):
        raise ValueError("`num_shards` and `shard_id` are given together or not at all")
    if sampler is not None:
        others = {"num_samples": num_samples, "shuffle": shuffle, "num_shards": num_shards, "shard_id": shard_id}
        for name, given in others.items():
            if given is not None and not (name == "num_samples" and not isinstance(sampler, _SamplerBase)):
                raise ValueError(f"`{name}` and `sampler` contradict each other: the sampler decides")
        if isinstance(sampler, _SamplerBase):
            return sampler
        if isinstance(sampler, Iterator) or not isinstance(sampler, Iterable):
            raise TypeError(f"`sampler` must be a sampler or a list of numbers of rows, not {kind_of(sampler)}")
        return IterSampler(sampler, num_samples)
    shuffle = True if shuffle is None else shuffle
    if num_shards is not None and shard_id is not None:
        if not 0 <= integer("shard_id", shard_id) < positive("num_shards", num_shards):
            raise ValueError(f"`shard_id` must be from 0 to {num_shards - 1}, not {shard_id}")
        return DistributedSampler(num_shards, shard_id, shuffle, num_samples)
    return RandomSampler(num_samples=num_samples) if shuffle else SequentialSampler(num_samples=num_samples)
