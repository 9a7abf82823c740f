"""What sources, samplers and iterators do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .programs import Squares, cell, numbers, outcome, program, rows, values


@program
def what_becomes_of_values(ms: Any, ds: Any) -> Any:
    samples = [
        1,
        1.5,
        True,
        [1, 2],
        [[1.0], [2.0]],
        np.float16(2),
        np.arange(3, dtype=np.uint8),
        "text",
        np.array(["a", "bc"]),
    ]
    samples += [ms.Tensor([1.0, 2.0]), np.int32(4), b"bytes"]
    found = []
    for sample in samples:
        data = ds.GeneratorDataset(lambda sample=sample: iter([(sample,)]), ["x"])
        found.append(outcome(lambda: rows(data, output_numpy=True)))
    return found


@program
def values_that_are_refused(ms: Any, ds: Any) -> Any:
    samples = [None, object(), [[1], [2, 3]]]
    return [outcome(lambda: rows(ds.GeneratorDataset([(sample,)], ["x"], shuffle=False))) for sample in samples]


@program
def rows_of_a_source(ms: Any, ds: Any) -> Any:
    def pairs() -> Iterator:
        for i in range(3):
            yield i, np.full(2, i, np.float32)

    class Iterable:
        def __iter__(self) -> Iterator:
            return iter([(1, 2), (3, 4)])

    class Sequence:
        def __getitem__(self, i: int) -> Any:
            return i

        def __len__(self) -> int:
            return 3

    return [
        rows(ds.GeneratorDataset(pairs, ["a", "b"])),
        rows(ds.GeneratorDataset(Iterable(), ["a", "b"])),
        rows(ds.GeneratorDataset(Squares(), ["v", "i"], shuffle=False)),
        rows(ds.GeneratorDataset(Sequence(), "x", shuffle=False)),
        rows(ds.GeneratorDataset([[1, 2], [3, 4]], ["a", "b"], shuffle=False)),
        outcome(lambda: rows(ds.GeneratorDataset([[1, 2], [3, 4]], ["a"], shuffle=False))),
        outcome(lambda: rows(ds.GeneratorDataset([(1, 2), (3, 4)], ["a"], shuffle=False))),
        outcome(lambda: rows(ds.GeneratorDataset([(1,), (3,)], ["a", "b"], shuffle=False))),
        outcome(lambda: rows(ds.GeneratorDataset([np.arange(2), np.arange(2)], ["a"], shuffle=False))),
        outcome(lambda: rows(ds.GeneratorDataset([np.arange(2), np.arange(2)], ["a", "b"], shuffle=False))),
        outcome(lambda: rows(ds.GeneratorDataset([np.arange(2), np.arange(3)], ["a"], shuffle=False))),
        outcome(lambda: rows(ds.GeneratorDataset((i for i in range(3)), ["a"]))),
        outcome(lambda: rows(ds.GeneratorDataset(iter([1, 2]), ["a"]))),
    ]


@program
def arguments_of_a_generator_dataset(ms: Any, ds: Any) -> Any:
    def pairs() -> Iterator:
        for i in range(5):
            yield i, float(i)

    def with_types(types: list) -> Any:
        return rows(ds.GeneratorDataset(pairs, ["a", "b"], column_types=types, num_samples=2))

    return [
        outcome(lambda: ds.GeneratorDataset(pairs)),
        outcome(lambda: ds.GeneratorDataset(3, ["a"])),
        outcome(lambda: ds.GeneratorDataset(pairs, [1, 2])),
        outcome(lambda: ds.GeneratorDataset(pairs, [])),
        outcome(lambda: ds.GeneratorDataset(pairs, ["a", "a"])),
        outcome(lambda: ds.GeneratorDataset(pairs, ["a", ""])),
        outcome(lambda: with_types([ms.int64, ms.float64])),
        outcome(lambda: with_types([ms.int32, ms.float32])),
        outcome(lambda: with_types([ms.int64])),
        outcome(lambda: rows(ds.GeneratorDataset(pairs, ["a", "b"], num_samples=2))),
        outcome(lambda: rows(ds.GeneratorDataset(pairs, ["a", "b"], shuffle=True))),
        outcome(lambda: rows(ds.GeneratorDataset(pairs, ["a", "b"], sampler=ds.SequentialSampler()))),
        outcome(lambda: rows(ds.GeneratorDataset(pairs, ["a", "b"], num_shards=2, shard_id=0))),
        outcome(lambda: ds.GeneratorDataset(Squares(), ["a", "b"], num_shards=2)),
        outcome(lambda: ds.GeneratorDataset(Squares(), ["a", "b"], shard_id=2, num_shards=2)),
        outcome(lambda: ds.GeneratorDataset(Squares(), ["a", "b"], shuffle=True, sampler=ds.SequentialSampler())),
        outcome(lambda: ds.GeneratorDataset(Squares(), ["a", "b"], num_parallel_workers=0)),
        outcome(lambda: ds.GeneratorDataset(Squares(), ["a", "b"], num_samples=-1)),
        outcome(lambda: rows(ds.GeneratorDataset(Squares(), ["a", "b"], num_samples=0, shuffle=False)).__len__()),
    ]


@program
def numpy_slices(ms: Any, ds: Any) -> Any:
    def of(data: Any, *args: Any, **kwargs: Any) -> Any:
        return outcome(lambda: rows(ds.NumpySlicesDataset(data, *args, shuffle=False, **kwargs)))

    return [
        of([1, 2, 3]),
        of([1, 2], column_names=["a"]),
        of([1.5, 2.5], "a"),
        of([[1, 2], [3, 4]]),
        of(([1, 2], [[3.0, 4.0], [5.0, 6.0]])),
        of(([1, 2], [3, 4]), ["a", "b"]),
        of({"a": [1, 2], "b": np.ones((2, 1), np.float32)}),
        of({"a": [1, 2], "b": [3, 4]}, ["b", "a"]),
        of(np.ones((2, 2), np.float16), ["a"]),
        of(([1, 2], [3]), ["a", "b"]),
        of(([1, 2], [3, 4]), ["a"]),
        of({"a": [1]}, ["a", "b"]),
        of([]),
        of(3),
        of("text"),
        of(([1, 2, 3, 4, 5],), num_shards=2, shard_id=1),
        of([1, 2, 3], num_samples=2),
        of(["a", "bc"]),
        of((1, 2, 3)),
        of(([1],)),
        of(np.array(5)),
        of(([True, False], np.array([1, 2], np.int32))),
    ]


@program
def shuffled_by_default(ms: Any, ds: Any) -> Any:
    ds.config.set_seed(3)
    data = ds.NumpySlicesDataset(np.arange(50), ["x"])
    generated = ds.GeneratorDataset(Squares(50), ["v", "i"])
    first, second = values(data), values(data)
    indices = [i for _, i in values(generated)]
    return [sorted(first) == list(range(50)), first != sorted(first), first == second, indices != sorted(indices)]


@program
def orders_of_epochs(ms: Any, ds: Any) -> Any:
    ds.config.set_seed(5)

    def epochs() -> list:
        it = ds.NumpySlicesDataset(np.arange(30), ["x"]).create_dict_iterator(num_epochs=3)
        return [[row["x"].item() for row in it] for _ in range(3)]

    def repeated() -> list:
        return values(ds.NumpySlicesDataset(np.arange(30), ["x"]).repeat(2))

    a, b, c = epochs(), epochs(), repeated()
    return [
        a == b,
        a[0] != a[1],
        sorted(a[1]) == list(range(30)),
        c == repeated(),
        c[:30] != c[30:],
        sorted(c[:30]) == sorted(c[30:]),
    ]


@program
def samplers(ms: Any, ds: Any) -> Any:
    ds.config.set_seed(1)

    def of(sampler: Any, n: int = 10) -> Any:
        return outcome(
            lambda: values(
                ds.NumpySlicesDataset(np.arange(n), ["x"], sampler=sampler() if callable(sampler) else sampler)
            )
        )

    def sharded(shards: int, **options: Any) -> Any:
        return [of(ds.DistributedSampler(shards, i, shuffle=False, **options)) for i in range(shards)]

    return [
        of(ds.SequentialSampler()),
        of(ds.SequentialSampler(3)),
        of(ds.SequentialSampler(3, 2)),
        of(ds.SequentialSampler(3, 20)),
        of(lambda: ds.SequentialSampler(-1)),
        of(lambda: ds.SequentialSampler(20)),
        sharded(2),
        sharded(3),
        sharded(3, num_samples=2),
        sharded(3, offset=1),
        sharded(4, offset=2),
        [of(ds.DistributedSampler(4, i, shuffle=False, offset=1), 2) for i in range(4)],
        of(lambda: ds.DistributedSampler(2, 2)),
        of(lambda: ds.DistributedSampler(0, 0)),
        of(lambda: ds.DistributedSampler(2, 0, offset=3)),
        of(ds.SubsetSampler([4, 1, 4])),
        of(ds.SubsetSampler([4, 1, 7], 2)),
        of(ds.SubsetSampler([10])),
        of(ds.SubsetSampler([-1])),
        of(lambda: ds.SubsetSampler([1.5])),
        sorted(of(ds.SubsetRandomSampler([4, 1, 7]))),
        len(of(ds.SubsetRandomSampler([4, 1, 7], 2))),
        sorted(of(ds.RandomSampler())),
        len(of(ds.RandomSampler(num_samples=3))),
        len(of(ds.RandomSampler(replacement=True, num_samples=30))),
        len(set(of(ds.RandomSampler(num_samples=20)))),
        set(of(ds.WeightedRandomSampler([0, 1, 0, 1], 8), 4)) <= {1, 3},
        len(of(ds.WeightedRandomSampler([0, 1, 0, 1], 8), 4)),
        sorted(of(ds.WeightedRandomSampler([1, 1, 1, 1], 4, replacement=False), 4)),
        of(ds.WeightedRandomSampler([1, 1], 2), 4).__class__.__name__,
        of(ds.WeightedRandomSampler([1, 1, 1, 1, 1]), 4).__class__.__name__,
        of(lambda: ds.WeightedRandomSampler([0, 0])),
        of(lambda: ds.WeightedRandomSampler([-1, 2])),
        of(lambda: ds.RandomSampler(num_samples=-1)),
        of(lambda: ds.RandomSampler(replacement=1)),
        of([3, 1, 2]),
        of(lambda: 3),
        sorted(of(ds.DistributedSampler(2, 0)) + of(ds.DistributedSampler(2, 1))),
    ]


@program
def samplers_of_users(ms: Any, ds: Any) -> Any:
    class Backwards(ds.Sampler):
        def __iter__(self) -> Iterator:
            yield from range(self.dataset_size - 1, -1, -1)

    class Plain:
        def __iter__(self) -> Iterator:
            return iter([2, 0])

    class Counted(ds.Sampler):
        def __init__(self) -> None:
            super().__init__(num_samples=2)

        def __iter__(self) -> Iterator:
            yield from (5, 4, 3)

    def of(sampler: Any) -> Any:
        return outcome(lambda: values(ds.NumpySlicesDataset(np.arange(6), ["x"], sampler=sampler)))

    inner = ds.SequentialSampler(2, 4)
    outer = ds.SequentialSampler(1, 2)
    outer.add_child(inner)
    shards = ds.DistributedSampler(2, 1, shuffle=False)
    shards.add_child(ds.SubsetSampler([5, 3, 1]))
    return [
        of(Backwards()),
        of(Plain()),
        of(Counted()),
        of(outer),
        of(shards),
        outcome(lambda: ds.NumpySlicesDataset(np.arange(6), ["x"], sampler=outer).get_dataset_size()),
        outcome(lambda: ds.NumpySlicesDataset(np.arange(6), ["x"], sampler=Backwards()).get_dataset_size()),
        outcome(lambda: ds.NumpySlicesDataset(np.arange(6), ["x"], sampler=Plain()).get_dataset_size()),
        outcome(lambda: ds.NumpySlicesDataset(np.arange(6), ["x"], num_shards=2, shard_id=0).get_dataset_size()),
        outcome(
            lambda: ds.NumpySlicesDataset(
                np.arange(5), ["x"], num_shards=2, shard_id=1, shuffle=False
            ).get_dataset_size()
        ),
        outcome(
            lambda: len(values(ds.NumpySlicesDataset(np.arange(6), ["x"], num_samples=4, num_shards=2, shard_id=0)))
        ),
        of(lambda: iter([1, 2])),
    ]


@program
def batch_samplers(ms: Any, ds: Any) -> Any:
    def of(batch_sampler: Any, **options: Any) -> Any:
        data = ds.GeneratorDataset(Squares(6), ["v", "i"], batch_sampler=batch_sampler, **options)
        return [rows(data), data.get_dataset_size(), data.get_batch_size()]

    def collate(samples: list) -> Any:
        return np.stack([s[0] for s in samples]), np.array([s[1] for s in samples]) * 2

    return [
        outcome(lambda: of([[0, 2], [1]])),
        outcome(lambda: of([[0, 2], [1]], collate_fn=collate)),
        outcome(lambda: of([[0, 2], [1]], shuffle=True)),
        outcome(lambda: of([[0, 2], [1]], num_shards=2, shard_id=0)),
        outcome(lambda: of([[0, 2], [1]], collate_fn=lambda v, i: (v, [2 * x for x in i]))),
        outcome(lambda: of(3)),
    ]


@program
def iterators(ms: Any, ds: Any) -> Any:
    def epochs(it: Any, count: int) -> list:
        return [[row["x"].item() for row in it] for _ in range(count)]

    def by_next() -> Any:
        it = numbers(ds, 2).create_dict_iterator(num_epochs=2)
        return [outcome(lambda: next(it)["x"].item()) for _ in range(7)]

    def broken_off() -> Any:
        it = numbers(ds, 4).create_dict_iterator(num_epochs=2)
        first = [next(it)["x"].item()]
        return first, [row["x"].item() for row in it], [row["x"].item() for row in it]

    data = numbers(ds, 2)
    row = next(iter(data.create_dict_iterator(num_epochs=1)))
    plain = next(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    return [
        epochs(numbers(ds, 2).create_dict_iterator(num_epochs=2), 2),
        epochs(numbers(ds, 2).create_dict_iterator(), 3),
        by_next(),
        broken_off(),
        [[x.item() for x in row] for row in data],
        [[x.item() for x in row] for row in data],
        [type(row).__name__, type(row["x"]).__name__],
        [type(plain).__name__, type(plain[0]).__name__],
        type(next(iter(data))).__name__,
        outcome(lambda: data.create_dict_iterator(num_epochs=0)),
        outcome(lambda: data.create_dict_iterator(num_epochs=-2)),
        outcome(lambda: data.create_dict_iterator(num_epochs=1.5)),
        outcome(lambda: data.create_dict_iterator(output_numpy=1)),
        len(data),
        outcome(lambda: cell(data[1][0])),
    ]


@program
def sizes(ms: Any, ds: Any) -> Any:
    def five() -> Iterator:
        for i in range(5):
            yield (i,)

    generated = lambda: ds.GeneratorDataset(five, ["x"])
    two = lambda: ds.GeneratorDataset(Squares(), ["v", "i"])
    return [
        generated().get_dataset_size(),
        generated().batch(2).get_dataset_size(),
        generated().batch(2, True).get_dataset_size(),
        generated().batch(2).get_batch_size(),
        generated().get_batch_size(),
        generated().batch(2).batch(2).get_batch_size(),
        generated().batch(2).repeat(3).get_batch_size(),
        generated().repeat(3).get_dataset_size(),
        [list(shape) for shape in two().output_shapes()],
        [np.dtype(dtype).name for dtype in two().output_types()],
        [list(shape) for shape in two().batch(3).output_shapes()],
        [np.dtype(dtype).name for dtype in two().batch(3).output_types()],
        two().get_col_names(),
        two().map(lambda v: v, ["v"], ["w"]).get_col_names(),
        outcome(lambda: np.dtype(ds.NumpySlicesDataset(["a"]).output_types()[0]).kind),
        two().get_repeat_count(),
        two().repeat(3).repeat(1).get_repeat_count(),
        (two().repeat(2) + two().repeat(3)).get_repeat_count(),
        (two().repeat(2) + two()).get_repeat_count(),
        (two().batch(2) + two().batch(4)).get_batch_size(),
        ds.zip((numbers(ds, 4).batch(2), numbers(ds, 4, "y"))).get_batch_size(),
        outcome(lambda: ds.NumpySlicesDataset([[1, 2]]).output_shapes()),
        outcome(lambda: generated().output_shapes(estimate=True)),
    ]


@program
def padded(ms: Any, ds: Any) -> Any:
    ragged = lambda: ds.GeneratorDataset([np.arange(3.0), np.arange(3.0), np.arange(2.0)], ["x"], shuffle=False)
    return [
        outcome(lambda: values(ragged().padded_batch(2))),
        outcome(lambda: values(ragged().padded_batch(2, pad_info={"x": ([4], -1)}))),
        outcome(lambda: values(ragged().padded_batch(3, drop_remainder=True, pad_info={"x": ([None], 7)}))),
        outcome(lambda: values(ragged().padded_batch(3, pad_info={}))),
        rows(ds.PaddedDataset([{"a": np.arange(2), "b": np.zeros(1)}])),
    ]
