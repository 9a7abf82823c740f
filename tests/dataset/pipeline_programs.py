"""What the parts of pipelines do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .programs import Squares, cell, numbers, outcome, program, rows, values


@program
def batches(ms: Any, ds: Any) -> Any:
    return [
        rows(numbers(ds, 5).batch(2)),
        values(numbers(ds, 5).batch(2, drop_remainder=True)),
        values(numbers(ds, 5).batch(2, True)),
        values(numbers(ds, 2).batch(3)),
        values(numbers(ds, 2).batch(3, drop_remainder=True)),
        rows(ds.GeneratorDataset(Squares(), ["v", "i"], shuffle=False).batch(3)),
        values(numbers(ds, 6).batch(2).batch(2)),
        outcome(lambda: numbers(ds).batch(0)),
        outcome(lambda: numbers(ds).batch(-1)),
        outcome(lambda: numbers(ds).batch(1.5)),
        outcome(lambda: numbers(ds).batch(True)),
        outcome(lambda: numbers(ds).batch(2, 1)),
        outcome(lambda: values(ds.GeneratorDataset([np.arange(2), np.arange(3)], ["x"], shuffle=False).batch(2))),
        outcome(lambda: values(ds.GeneratorDataset([np.arange(2), np.arange(2.0)], ["x"], shuffle=False).batch(2))),
        rows(ds.NumpySlicesDataset(["a", "bcd"], ["x"], shuffle=False).batch(2), output_numpy=True),
    ]


@program
def batches_with_a_map(ms: Any, ds: Any) -> Any:
    seen: list = []

    def note(x: Any, info: Any) -> Any:
        seen.append([type(x).__name__, type(x[0]).__name__, len(x), info.get_batch_num(), info.get_epoch_num()])
        return ([a * 10 for a in x],)

    data = numbers(ds, 5).batch(2, per_batch_map=note, input_columns=["x"])
    found = [values(data), seen]
    two = lambda: ds.NumpySlicesDataset(([1, 2, 3], [4, 5, 6]), ["a", "b"], shuffle=False)
    add = lambda a, b, info: ([x + y for x, y in zip(a, b, strict=True)],)
    swap = lambda a, info: (a, [x * 2 for x in a])
    found += [
        outcome(lambda: rows(two().batch(2, per_batch_map=add, input_columns=["a", "b"], output_columns=["c"]))),
        outcome(lambda: rows(two().batch(2, per_batch_map=swap, input_columns=["a"], output_columns=["a", "d"]))),
        outcome(lambda: rows(two().batch(2, per_batch_map=swap, input_columns=["a"]))),
        outcome(lambda: values(two().batch(2, per_batch_map=lambda a, b, info: (b, a)))),
        outcome(lambda: values(two().batch(2, per_batch_map=lambda a, info: (np.stack(a) + 1,), input_columns=["a"]))),
        outcome(lambda: values(two().batch(2, per_batch_map=lambda a, info: np.stack(a) + 1, input_columns=["a"]))),
        outcome(lambda: values(two().batch(2, per_batch_map=lambda a, info: [x + 1 for x in a], input_columns=["a"]))),
        outcome(lambda: values(two().batch(2, per_batch_map=lambda a, info: ([1, 2, 3],), input_columns=["a"]))),
        outcome(lambda: values(two().batch(2, input_columns=["a"]))),
        outcome(lambda: values(two().batch(2, per_batch_map=lambda a, info: (a,), input_columns=["q"]))),
        values(numbers(ds, 6).batch(lambda info: info.get_batch_num() + 1)),
        outcome(lambda: numbers(ds, 6).batch(lambda info: 2).get_dataset_size()),
    ]
    it = numbers(ds, 3).batch(2, per_batch_map=note).create_tuple_iterator(num_epochs=2)
    seen.clear()
    for _ in range(2):
        for _ in it:
            pass
    found[1] = sorted(found[1])
    return [*found, sorted(seen)]


@program
def repeated(ms: Any, ds: Any) -> Any:
    return [
        values(numbers(ds, 3).repeat(2)),
        values(numbers(ds, 3).repeat(2).batch(4)),
        values(numbers(ds, 3).batch(2).repeat(2)),
        numbers(ds, 3).repeat(2).get_repeat_count(),
        numbers(ds, 3).repeat(2).batch(4).get_dataset_size(),
        numbers(ds, 3).repeat().get_repeat_count(),
        outcome(lambda: numbers(ds, 3).repeat(0)),
        outcome(lambda: numbers(ds, 3).repeat(-2)),
        outcome(lambda: numbers(ds, 3).repeat(1.0)),
        numbers(ds, 3).repeat(2).repeat(2).get_repeat_count(),
        numbers(ds, 3).repeat(2).repeat(2).get_dataset_size(),
    ]


@program
def taken_and_skipped(ms: Any, ds: Any) -> Any:
    return [
        values(numbers(ds).take(2)),
        values(numbers(ds).take(9)),
        values(numbers(ds).take()),
        values(numbers(ds).take(-1)),
        outcome(lambda: numbers(ds).take(0)),
        outcome(lambda: numbers(ds).take(-2)),
        values(numbers(ds).skip(4)),
        outcome(lambda: values(numbers(ds).skip(9))),
        outcome(lambda: numbers(ds).skip(9).get_dataset_size()),
        outcome(lambda: numbers(ds).skip(-1)),
        values(numbers(ds).skip(0)),
        values(numbers(ds).skip(1).take(2).repeat(2)),
        [
            numbers(ds).take(2).get_dataset_size(),
            numbers(ds).take(9).get_dataset_size(),
            numbers(ds).skip(4).get_dataset_size(),
        ],
        values(numbers(ds).batch(2).take(2)),
    ]


@program
def shuffled(ms: Any, ds: Any) -> Any:
    ds.config.set_seed(11)
    whole = values(numbers(ds, 40).shuffle(40))
    again = values(numbers(ds, 40).shuffle(40))
    small = values(numbers(ds, 40).shuffle(2))
    return [
        sorted(whole) == list(range(40)),
        whole != sorted(whole),
        whole == again,
        sorted(small) == list(range(40)),
        max(i - x for i, x in enumerate(small)) > 0,
        max(x - i for i, x in enumerate(small)) <= 1,
        outcome(lambda: numbers(ds).shuffle(1)),
        outcome(lambda: numbers(ds).shuffle(0)),
        outcome(lambda: numbers(ds).shuffle(2.0)),
        len(values(numbers(ds, 3).shuffle(10))),
    ]


@program
def zipped(ms: Any, ds: Any) -> Any:
    a, b = lambda: numbers(ds, 3, "a"), lambda: numbers(ds, 5, "b")
    return [
        rows(ds.zip((a(), b()))),
        rows(a().zip(b())),
        rows(a().zip((b(), numbers(ds, 4, "c")))),
        ds.zip((a(), b())).get_dataset_size(),
        ds.zip((a(), b())).get_col_names(),
        outcome(lambda: rows(ds.zip((a(), numbers(ds, 3, "a"))))),
        outcome(lambda: ds.zip(a())),
        outcome(lambda: ds.zip([a(), b()])),
        outcome(lambda: ds.zip((a(), 3))),
        outcome(lambda: ds.zip(())),
        outcome(lambda: ds.zip((a(),)).get_col_names()),
        outcome(lambda: a().zip(3)),
    ]


@program
def concatenated(ms: Any, ds: Any) -> Any:
    a, b = lambda: numbers(ds, 2), lambda: numbers(ds, 3)

    def sampled(data: Any, sampler: Any) -> Any:
        data.use_sampler(sampler)
        return [values(data), data.get_dataset_size()]

    return [
        values(a() + b()),
        values(a().concat(b())),
        values(a().concat([b(), numbers(ds, 1)])),
        (a() + b()).get_dataset_size(),
        values((a() + b()).batch(2).repeat(2)),
        outcome(lambda: values(a() + numbers(ds, 2, "y"))),
        outcome(lambda: values(a() + numbers(ds, 2).batch(2))),
        outcome(lambda: rows(a() + ds.NumpySlicesDataset([1.5], ["x"]))),
        outcome(lambda: a() + 3),
        [sampled(a() + b(), ds.DistributedSampler(3, i, shuffle=False)) for i in range(3)],
        sorted(sampled(a() + b(), ds.RandomSampler())[0]),
        outcome(lambda: sampled(a() + b(), ds.DistributedSampler(2, 0, shuffle=True))),
        outcome(lambda: sampled(a() + b(), ds.SequentialSampler())),
        outcome(lambda: a().concat((b(),))),
        outcome(lambda: a().concat([])),
    ]


@program
def flat_mapped(ms: Any, ds: Any) -> Any:
    two = lambda: ds.NumpySlicesDataset(([[0, 1], [2, 3]], [[0, -1], [-2, -3]]), ["a", "b"], shuffle=False)
    slices = lambda *found: ds.NumpySlicesDataset(found, shuffle=False)
    return [
        values(two().flat_map(slices)),
        rows(two().flat_map(lambda a, b: slices(a + 1, b * 2.0)).batch(3)),
        values(two().flat_map(lambda a, b: slices(a).repeat(2))),
        two().flat_map(slices).get_dataset_size(),
        values(numbers(ds, 1).flat_map(lambda x: numbers(ds, 2))),
        outcome(lambda: two().flat_map(3)),
        outcome(lambda: two().flat_map(lambda a, b: 3)),
        outcome(lambda: two().flat_map(lambda a: slices(a))),
        outcome(lambda: numbers(ds).filter(lambda x: False).flat_map(slices)),
    ]


@program
def python_draws(ms: Any, ds: Any) -> Any:
    """A seed of datasets is also that of Python's and NumPy's global generators."""

    def draw(x: Any = 0) -> Any:
        return np.array(random.randint(0, 1000) + 1000 * np.random.randint(0, 1000))

    def source() -> Any:
        for _ in range(4):
            yield (draw(),)

    found = []
    for seed in (7, 2**32 - 1):
        ds.config.set_seed(seed)
        found.append(values(numbers(ds).map(draw, num_parallel_workers=1)))
        found.append(int(draw()))
        ds.config.set_seed(seed)
        found.append(values(ds.GeneratorDataset(source, ["x"])))
        ms.set_seed(seed)
        found.append([random.random(), float(np.random.rand())])
    return found


@program
def mapped(ms: Any, ds: Any) -> Any:
    two = lambda: ds.NumpySlicesDataset(([1, 2], [3.0, 4.0]), ["a", "b"], shuffle=False)
    return [
        rows(two().map(lambda a: a + 1)),
        rows(two().map(lambda a: a * 2.5, input_columns="b")),
        rows(two().map([lambda a: a + 1, lambda a: a * 10], ["a"])),
        outcome(lambda: rows(two().map(lambda a, b: (b, a), ["a", "b"]))),
        outcome(lambda: rows(two().map(lambda a, b: (b, a), ["b", "a"]))),
        outcome(lambda: rows(two().map(lambda a: (a, a * 2), ["a"], ["a", "c"]))),
        outcome(lambda: rows(two().map(lambda a, b: a + b, ["a", "b"], ["s"]))),
        outcome(lambda: rows(two().map(lambda a, b: a + b, ["a", "b"]))),
        outcome(lambda: rows(two().map(lambda a: (a, a), ["a"]))),
        outcome(lambda: rows(two().map(lambda b: b, ["b"], ["c"]))),
        outcome(lambda: rows(two().map(lambda b: b, ["b"], ["a"]))),
        outcome(lambda: rows(two().map(lambda a, b: (a, b)))),
        outcome(lambda: rows(two().map(lambda a: a, ["q"]))),
        outcome(lambda: rows(two().map(lambda a: a, ["a", "a"]))),
        outcome(lambda: two().map(3)),
        outcome(lambda: two().map([])),
        outcome(lambda: two().map("f")),
        outcome(lambda: two().map(lambda a: a, input_columns=[1])),
        outcome(lambda: rows(two().map(lambda a: 1 / 0, ["a"]))),
        outcome(lambda: rows(two().map(lambda a: None, ["a"]))),
        outcome(lambda: rows(two().map(lambda a: int(a), ["a"]))),
        outcome(lambda: rows(two().map(lambda a: [1, 2], ["a"]))),
        outcome(lambda: rows(two().map(lambda a: "text", ["a"]), output_numpy=True)),
        outcome(lambda: rows(two().map(lambda a: a, ["a"], column_order=["b", "a"]))),
        outcome(lambda: two().map(lambda a: a, ["a"], num_parallel_workers=0)),
    ]


@program
def what_a_map_gets(ms: Any, ds: Any) -> Any:
    seen = []

    def note(*columns: Any) -> Any:
        seen.append(
            [[type(c).__name__, str(getattr(c, "dtype", "")).replace("<U4", "str"), list(np.shape(c))] for c in columns]
        )
        return columns

    data = lambda: ds.NumpySlicesDataset(([1], [[2.0, 3.0]]), ["a", "b"], shuffle=False)
    rows(data().map(note, ["a", "b"]))
    rows(data().batch(1).map(note, ["a", "b"]))
    values(ds.NumpySlicesDataset([7], ["x"]).map([lambda x: (x, x), note], ["x"], ["x", "y"]))
    rows(ds.GeneratorDataset([("text",)], ["s"]).map(lambda s: note(s)[0], ["s"]), output_numpy=True)
    return seen


@program
def filtered(ms: Any, ds: Any) -> Any:
    two = lambda: ds.NumpySlicesDataset(([1, 2, 3], [3, 2, 1]), ["a", "b"], shuffle=False)
    return [
        values(numbers(ds).filter(lambda x: bool(x % 2))),
        values(numbers(ds).filter(lambda x: x % 2 == 1)),
        values(two().filter(lambda b: b < 3, "b")),
        values(two().filter(lambda a, b: bool(a > b), ["a", "b"])),
        values(two().filter(lambda b, a: bool(a > b), ["b", "a"])),
        outcome(lambda: values(two().filter(lambda a, b: bool(a > b)))),
        outcome(lambda: values(two().filter(lambda a: bool(a > 1)))),
        outcome(lambda: values(numbers(ds).filter(lambda x: 1))),
        outcome(lambda: values(numbers(ds).filter(lambda x: x % 2))),
        outcome(lambda: values(numbers(ds).filter(lambda x: None))),
        outcome(lambda: values(numbers(ds).filter(lambda x: False))),
        numbers(ds).filter(lambda x: bool(x > 2)).get_dataset_size(),
        outcome(lambda: numbers(ds).filter(3)),
        outcome(lambda: values(two().filter(lambda a: True, ["q"]))),
    ]


@program
def columns(ms: Any, ds: Any) -> Any:
    two = lambda: ds.NumpySlicesDataset(([1], [2.0], [True]), ["a", "b", "c"], shuffle=False)
    return [
        rows(two().project(["c", "a"])),
        rows(two().project("b")),
        two().project(["c", "a"]).get_col_names(),
        outcome(lambda: rows(two().project(["q"]))),
        outcome(lambda: two().project([])),
        outcome(lambda: rows(two().project(["a", "a"]))),
        rows(two().rename(["a", "b"], ["x", "y"])),
        rows(two().rename("a", "x")),
        outcome(lambda: rows(two().rename(["a", "b"], ["x"]))),
        outcome(lambda: rows(two().rename(["q"], ["x"]))),
        outcome(lambda: rows(two().rename(["a"], ["b"]))),
        rows(two().rename(["a", "b"], ["b", "a"])),
        [cell(x) for row in two().create_tuple_iterator(["b", "a"], num_epochs=1) for x in row],
        outcome(lambda: next(two().create_tuple_iterator(["q"], num_epochs=1))),
        [cell(x) for row in two().create_tuple_iterator(columns="c", num_epochs=1) for x in row],
    ]


@program
def applied(ms: Any, ds: Any) -> Any:
    return [
        values(numbers(ds, 4).apply(lambda data: data.batch(2))),
        outcome(lambda: numbers(ds).apply(lambda data: 3)),
        outcome(lambda: numbers(ds).apply(3)),
    ]


@program
def split_in_parts(ms: Any, ds: Any) -> Any:
    ds.config.set_seed(2)

    def parts(data: Any, sizes: list, **options: Any) -> Any:
        return outcome(lambda: [sorted(values(part)) for part in data.split(sizes, **options)])

    ten = numbers(ds, 10)
    random = [values(part) for part in ds.NumpySlicesDataset(np.arange(10), ["x"]).split([7, 3])]
    return [
        parts(ten, [7, 3], randomize=False),
        parts(ten, [0.5, 0.5], randomize=False),
        parts(ten, [0.25, 0.75], randomize=False),
        parts(ten, [0.33, 0.33, 0.34], randomize=False),
        parts(ten, [5, 3], randomize=False),
        parts(ten, [0.5, 0.4], randomize=False),
        parts(ten, [0.5, 5], randomize=False),
        parts(ten, [10, 0], randomize=False),
        parts(ten, [], randomize=False),
        parts(ten, [-1, 11], randomize=False),
        parts(ten, [0.01, 0.99], randomize=False),
        parts(ten.batch(2), [3, 2], randomize=False),
        parts(ten, 5, randomize=False),
        sorted(random[0] + random[1]) == list(range(10)),
        [len(part) for part in random],
        [part.get_dataset_size() for part in ten.split([7, 3])],
        outcome(lambda: [len(values(part)) for part in ds.GeneratorDataset(Squares(10), ["v", "i"]).split([0.8, 0.2])]),
    ]
