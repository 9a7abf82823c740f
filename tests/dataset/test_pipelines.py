"""What pipelines promise beyond single facts: seeds, independence of the user's objects, and errors that say where."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
import autodiff_compiler.dataset as ds
from autodiff_compiler import Tensor, nn


def numbers(n: int, name: str = "x", **options: Any) -> ds.NumpySlicesDataset:
    return ds.NumpySlicesDataset(np.arange(n), [name], **options)


def listed(data: ds.Dataset) -> list:
    return [row[0] if len(row) == 1 else row for row in ([v.tolist() for v in row] for row in data)]


# --- seeds ------------------------------------------------------------------------------------------------------------


def test_without_a_seed_each_iteration_has_its_own_order() -> None:
    data = numbers(50)
    assert listed(data) != listed(data)
    assert ds.config.get_seed() == 5489  # as MindSpore says


@pytest.mark.parametrize("set_seed", [ms.set_seed, ds.config.set_seed])
def test_with_a_seed_iterations_repeat_and_epochs_differ(set_seed: Any) -> None:
    make = {
        "source": lambda: numbers(40),
        "buffer": lambda: numbers(40, shuffle=False).shuffle(7),
        "weights": lambda: numbers(40, sampler=ds.WeightedRandomSampler(range(40))),
        "subset": lambda: numbers(40, sampler=ds.SubsetRandomSampler(range(3, 30))),
        "replaced": lambda: numbers(40, sampler=ds.RandomSampler(replacement=True)),
        "shard": lambda: numbers(40, num_shards=2, shard_id=1),
    }
    for name, data in make.items():
        epochs = []
        for seed in (1, 1, 2):
            set_seed(seed)
            it = data().create_tuple_iterator(num_epochs=2)
            epochs.append([[row[0].item() for row in it] for _ in range(2)])
        assert epochs[0] == epochs[1] != epochs[2], name
        assert epochs[0][0] != epochs[0][1], name


def test_the_later_of_two_seeds_counts() -> None:
    ms.set_seed(1)
    ds.config.set_seed(2)
    assert ds.config.get_seed() == 2
    ms.set_seed(1)
    assert ds.config.get_seed() == 1
    for wrong, kind in ((-1, ValueError), (2**32, ValueError), (1.0, TypeError), (True, TypeError)):
        with pytest.raises(kind, match="seed"):
            ds.config.set_seed(wrong)


def test_equally_long_datasets_are_shuffled_alike_with_a_seed() -> None:
    ds.config.set_seed(3)
    pairs = listed(ds.zip((numbers(30, "a"), numbers(30, "b"))))
    assert all(a == b for a, b in pairs)


def test_random_transforms_begin_again_when_a_seed_is_set() -> None:
    flip = ds.vision.RandomHorizontalFlip()
    runs = []
    for _ in range(2):
        ds.config.set_seed(5)
        runs.append([flip(np.arange(6).reshape(2, 3)).tolist() for _ in range(20)])
    assert runs[0] == runs[1]
    assert len({str(image) for image in runs[0]}) == 2


def test_all_orders_of_a_full_buffer_are_equally_likely() -> None:
    ds.config.set_seed(0)
    data = numbers(3, shuffle=False).shuffle(3).create_tuple_iterator(num_epochs=3000)
    orders = Counter(tuple(row[0].item() for row in data) for _ in range(3000))
    assert set(orders) == set(itertools.permutations(range(3)))
    chi_square = sum((count - 500) ** 2 / 500 for count in orders.values())
    assert chi_square < 20.5  # 5 degrees of freedom, exceeded with probability 0.001


def test_a_shuffled_row_is_never_later_in_front_than_its_buffer_allows() -> None:
    order = listed(numbers(200, shuffle=False).shuffle(10))
    assert sorted(order) == list(range(200))
    assert all(place >= row - 9 for place, row in enumerate(order))


# --- parts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batched", [False, True])
def test_parts_stay_the_same_over_epochs_and_share_no_rows(batched: bool) -> None:
    data = numbers(20)  # shuffled, without a seed
    parts = (data.batch(1) if batched else data).split([15, 5])
    train, test = ([sorted(np.ravel(listed(part))) for _ in range(3)] for part in parts)
    assert train[0] == train[1] == train[2]
    assert test[0] == test[1] == test[2]
    assert sorted(train[0] + test[0]) == list(range(20))


@pytest.mark.parametrize(
    ("rows", "shares", "expected"),
    [
        (10, [0.33, 0.33, 0.34], [4, 3, 3]),
        (10, [0.125] * 8, [3, 1, 1, 1, 1, 1, 1, 1]),  # 2 rows are missing
        (11, [0.06, 0.5, 0.44], [1, 5, 5]),
        (18, [0.03, 0.32, 0.25, 0.2, 0.2], [1, 5, 4, 4, 4]),
        (14, [0.04, 0.25, 0.25, 0.25, 0.21], [1, 2, 4, 4, 3]),  # 2 rows are too much
    ],
)
def test_rounding_of_shares_changes_one_part(rows: int, shares: list[float], expected: list[int]) -> None:
    """MindSpore's rule: the first part gets what is missing; what is too much comes from the first that keeps a row."""
    parts = numbers(rows).split(shares, randomize=False)
    assert [part.get_dataset_size() for part in parts] == expected


def test_a_share_that_rounds_to_no_row_is_refused() -> None:
    for rows, shares in ((10, [0.04, 0.96]), (10, [0.04, 0.48, 0.48]), (11, [0.05] * 20)):
        with pytest.raises(RuntimeError, match="gets none"):
            numbers(rows).split(shares)


def test_shards_make_up_the_source_in_each_epoch_without_any_seed() -> None:
    shards = [numbers(12, num_shards=3, shard_id=i).create_tuple_iterator(num_epochs=2) for i in range(3)]
    for _ in range(2):
        assert sorted(row[0].item() for shard in shards for row in shard) == list(range(12))


def test_a_dataset_can_be_used_several_times() -> None:
    data = numbers(3, shuffle=False)
    assert listed(data + data.map(lambda x: x + 10)) == [0, 1, 2, 10, 11, 12]
    assert listed(data) == [0, 1, 2]


def test_weights_are_shares() -> None:
    ds.config.set_seed(1)
    it = numbers(4, sampler=ds.WeightedRandomSampler([0, 1, 0, 3])).create_tuple_iterator(num_epochs=500)
    counts = Counter(row[0].item() for _ in range(500) for row in it)
    assert set(counts) == {1, 3}
    assert abs(counts[3] / 2000 - 0.75) < 4 * (0.75 * 0.25 / 2000) ** 0.5


# --- whose arrays they are --------------------------------------------------------------------------------------------


def test_functions_that_write_into_their_arguments_change_nothing_else() -> None:
    kept = np.ones((3, 2))

    def doubled(x: np.ndarray) -> np.ndarray:
        x *= 2
        return x

    data = ds.NumpySlicesDataset(kept, ["x"], shuffle=False)
    two = data.map(lambda x: (x, x), ["x"], ["x", "y"]).map(doubled, ["x"])
    assert listed(two) == [[[2.0, 2.0], [1.0, 1.0]]] * 3
    for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        row[0][:] = 7
    assert (kept == 1).all()


def test_what_a_function_returns_is_copied() -> None:
    table = np.zeros(2)
    for row in numbers(2).map(lambda x: table).create_tuple_iterator(num_epochs=1, output_numpy=True):
        row[0] += 1
    assert (table == 0).all()


def test_rows_are_computed_when_they_are_asked_for() -> None:
    seen: list[int] = []

    def source() -> Iterator:
        for i in range(10):
            seen.append(i)
            yield (i,)

    it = ds.GeneratorDataset(source, ["x"]).batch(2).create_tuple_iterator(num_epochs=1)
    next(it)
    assert seen == [0, 1]


# --- errors -----------------------------------------------------------------------------------------------------------


def failing(x: Any) -> Any:
    if x == 3:
        raise KeyError("lost")
    return x


def test_an_exception_of_a_function_says_at_which_row_of_which_part() -> None:
    data = numbers(5, shuffle=False).skip(1).map(failing).batch(2)
    with pytest.raises(RuntimeError) as caught:
        listed(data)
    assert str(caught.value) == "row 2 at NumpySlicesDataset > skip(1) > map(failing): KeyError in failing: 'lost'"
    assert isinstance(caught.value.__cause__, KeyError)
    frames = [frame.filename for frame in __import__("traceback").extract_tb(caught.value.__traceback__)]
    assert set(frames) == {__file__}  # none of ours


def test_an_exception_of_a_source_says_at_which_row() -> None:
    def source() -> Iterator:
        yield 1
        raise OSError("disk")

    class Sequence:
        def __len__(self) -> int:
            return 3

        def __getitem__(self, i: int) -> int:
            return [5, 6][i]

    with pytest.raises(RuntimeError, match=r"^row 1 of the source `source`: OSError: disk$") as caught:
        listed(ds.GeneratorDataset(source, ["x"]))
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(RuntimeError, match=r"^row 2 of the source `Sequence`: IndexError"):
        listed(ds.GeneratorDataset(Sequence(), ["x"], shuffle=False))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ds.GeneratorDataset([(1, 2), (3,)], ["a", "b"], shuffle=False), "row 1 of the source has 1 values"),
        (lambda: ds.GeneratorDataset([(1, None)], ["a", "b"]), "row 0 of the source: column 'b' is a NoneType"),
        (lambda: ds.GeneratorDataset([(1, [[1], [1, 2]])], ["a", "b"]), "column 'b' is a list that makes no array"),
        (lambda: numbers(3).map(lambda x: None), "gave for 'x' is a NoneType"),
        (lambda: numbers(3).map(lambda x: (x, x)), r"gave 2 values for the columns \['x'\]; name all of them"),
        (lambda: numbers(3).filter(lambda x: None), "must say True or False, and gave None"),
        (lambda: numbers(3).batch(lambda info: 0), "`batch_size` gave 0"),
        (
            lambda: ds.GeneratorDataset([np.ones(2), np.ones(3)], ["x"], shuffle=False).batch(2),
            r"batch 0 at GeneratorDataset > batch\(2\): column 'x' has rows of shapes \(2,\) and \(3,\)",
        ),
        (lambda: ds.GeneratorDataset([(1,)], ["x"], column_types=[ms.float32]), "'x' is int64, and `column_types`"),
        (lambda: numbers(3, sampler=[5]), "asks for row 5, and there are rows 0 to 2"),
        (lambda: numbers(3, sampler=[0.5]), "gave 0.5 for the number of a row"),
    ],
)
def test_rows_that_do_not_fit(make: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        listed(make())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: numbers(3).map(len, ["y"]), "there is no column 'y' among"),
        (lambda: numbers(3, "image").project("imgae"), "use `image`"),
        (lambda: ds.zip((numbers(3), numbers(3))), "gets column 'x' twice"),
        (lambda: numbers(3) + numbers(3, "y"), "make no one dataset"),
        (lambda: numbers(3).repeat().filter(bool).get_dataset_size(), "has no end"),
    ],
)
def test_pipelines_that_do_not_fit(make: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        make()


def test_a_spent_iterator_is_an_error_not_an_empty_epoch() -> None:
    data = ds.GeneratorDataset((i for i in range(3)), ["x"])
    assert listed(data) == [0, 1, 2]
    with pytest.raises(RuntimeError, match="used up"):
        listed(data)


class Resetting:
    """An iterator that begins again when `iter` asks for it; `resets` False: it goes on."""

    def __init__(self, count: int, resets: bool = True) -> None:
        self.count, self.resets, self.at, self.asked = count, resets, 0, 0

    def __iter__(self) -> Resetting:
        self.asked += 1
        self.at = 0 if self.resets else self.at
        return self

    def __next__(self) -> int:
        if self.at >= self.count:
            raise StopIteration
        self.at += 1
        return self.at


def test_each_epoch_asks_an_iterator_to_begin_again() -> None:
    source = Resetting(3)
    data = ds.GeneratorDataset(source, ["x"])
    assert [listed(data) for _ in range(3)] == [[1, 2, 3]] * 3  # as with MindSpore 2.10
    assert source.asked >= 3
    assert data.output_shapes() == [[]]
    assert listed(data.batch(2)) == [[1, 2], [3]]


def test_an_iterator_that_does_not_begin_again() -> None:
    data = ds.GeneratorDataset(Resetting(2, resets=False), ["x"])
    assert listed(data) == [1, 2]
    with pytest.raises(RuntimeError, match=r"a Resetting, was used up .* let its `__iter__` begin again"):
        listed(data)  # MindSpore gives an epoch without rows
    assert listed(ds.GeneratorDataset(Resetting(0), ["x"])) == []


def test_shuffling_a_generator_warns() -> None:
    with pytest.warns(UserWarning, match=r"use `.shuffle\(size\)`"):
        ds.GeneratorDataset(lambda: iter([1]), ["x"], shuffle=True)


def test_too_many_epochs() -> None:
    it = numbers(2, shuffle=False).create_dict_iterator(num_epochs=1)
    assert [row["x"].item() for row in it] == [0, 1]
    with pytest.raises(RuntimeError, match="num_epochs"):
        next(it)


def test_names_that_are_missing_are_missing() -> None:
    for name in ("MnistDataset", "Cifar10Dataset", "MindDataset", "PKSampler"):
        with pytest.raises(AttributeError, match=name):
            getattr(ds, name)
    assert not hasattr(ds.vision, "Decode")
    with pytest.raises(ValueError, match="`schema` is not supported"):
        ds.GeneratorDataset([1], ["x"], schema=object())


# --- what becomes of rows ---------------------------------------------------------------------------------------------


def test_repeating_without_end_can_be_taken_from() -> None:
    assert listed(numbers(3, shuffle=False).repeat().skip(1).take(5)) == [1, 2, 0, 1, 2]
    assert listed(numbers(3).filter(lambda x: False).repeat()) == []


def test_texts_stay_arrays_and_numbers_become_tensors() -> None:
    row = next(ds.GeneratorDataset([("a", 1.5)], ["s", "x"]).create_dict_iterator(num_epochs=1))
    assert isinstance(row["s"], np.ndarray)
    assert isinstance(row["x"], Tensor)
    assert (row["s"].item(), row["x"].dtype) == ("a", ms.float64)


def test_resized_ramps_stay_ramps() -> None:
    """Linear interpolation reproduces a linear function between the middles of the outer pixels."""
    ramp = np.add.outer(2.0 * np.arange(6), 3.0 * np.arange(8))
    made = ds.vision.Resize((9, 5))(ramp)
    rows, columns = ((np.arange(m) + 0.5) * n / m - 0.5 for m, n in ((9, 6), (5, 8)))
    expected = np.add.outer(2 * rows.clip(0, 5), 3 * columns.clip(0, 7))
    np.testing.assert_allclose(made, expected, rtol=1e-12)


def test_erased_rectangles_are_as_large_as_asked_for() -> None:
    ds.config.set_seed(8)
    erase = ds.vision.RandomErasing(0.7, scale=(0.1, 0.3), ratio=(0.5, 2.0), value=(1, 2))
    erased = 0
    for _ in range(300):
        image = erase(np.zeros((2, 30, 40)))
        rows, columns = image[0].any(1).sum(), image[0].any(0).sum()
        assert image.sum() == 3 * rows * columns  # a rectangle, with a value for each channel
        if rows:
            erased += 1
            assert 0.09 < rows * columns / 1200 < 0.31
            assert 0.45 < rows / columns < 2.2
    assert abs(erased / 300 - 0.7) < 4 * (0.7 * 0.3 / 300) ** 0.5


def test_training_on_batches() -> None:
    """The weights of a linear map are found from its values."""
    ms.set_seed(4)
    x = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    data = ds.NumpySlicesDataset((x, y), ["x", "y"]).batch(16, drop_remainder=True)
    net = nn.Dense(3, 1)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
    it = data.create_tuple_iterator(num_epochs=30)
    for _ in range(30):
        for batch in it:
            step(*batch)
    np.testing.assert_allclose(net.weight.asnumpy(), [[1.0, -2.0, 0.5]], atol=1e-3)


@pytest.mark.parametrize(
    "how", [{}, {"pad_info": {}}, {"pad_info": {"x": ([4], 0), "y": (None, 0)}}, {"pad_info": {"y": ([], 0)}}]
)
def test_scalars_beside_padded_columns(how: dict[str, Any]) -> None:
    """Scalars have no end that could be filled: they are stacked as they are."""

    def rows() -> Any:
        for n in (2, 2) if how == {"pad_info": {"y": ([], 0)}} else (2, 3):
            yield np.arange(n, dtype=np.int32), np.int32(n)

    data = ds.GeneratorDataset(rows, ["x", "y"]).padded_batch(2, **how)
    ((x, y),) = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    width = {2: 2, 3: 3}[int(y[1])] if "x" not in how.get("pad_info", {}) else 4
    assert (y.dtype, y.shape, y[0]) == (np.int32, (2,), 2)
    assert x.tolist() == [[*range(n)] + [0] * (width - n) for n in y.tolist()]


def test_a_value_that_does_not_fit_is_told_with_column_and_row() -> None:
    data = ds.GeneratorDataset([np.arange(3), np.arange(2)], ["x"], shuffle=False)
    with pytest.raises(RuntimeError, match=r"batch 0 at .*column 'x': row 1 of int64 cannot be filled up with 'a'"):
        list(data.padded_batch(2, pad_info={"x": (None, "a")}))
