"""What the table of calls cannot hold: functions that are given, random numbers, grids by subscripts, names, errors."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler import numpy as mnp
from autodiff_compiler.dtypes import DType
from autodiff_compiler.errors import CompileError

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "facts.json").read_text())
X = np.array([[0.5, -1.25, 2.0], [3.5, -0.75, 1.5]], np.float32)


# ------------------------------------------------------------------------------------------------ names
def test_every_name_of_mindspore_is_there() -> None:
    assert set(FACTS["names"]) - {"np_version"} <= set(mnp.__all__) | {"fft"}


def written(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return ""
    return {"Float32": "Float32", "Int32": "Int32"}.get(str(default), str(default))


@pytest.mark.parametrize("name", sorted(FACTS["signatures"]))
def test_parameters_are_those_of_mindspore(name: str) -> None:
    parameters = inspect.signature(getattr(mnp, name)).parameters.values()
    assert [[p.name, p.kind.name, written(p.default)] for p in parameters] == FACTS["signatures"][name]


def test_numbers_and_dtypes() -> None:
    assert (mnp.pi, mnp.inf, mnp.PINF, mnp.NINF) == (math.pi, math.inf, math.inf, -math.inf)
    assert math.isnan(mnp.nan)
    assert (mnp.int_, mnp.uint, mnp.float_, mnp.bool_) == (ms.int32, ms.uint32, ms.float32, ms.bool_)
    assert all(isinstance(getattr(mnp, name), DType) for name in mnp.numeric_types)


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_of_nothing_but_nan_the_greatest_and_least_are_nan(name: str, axis: int | None) -> None:
    """As in NumPy; MindSpore 2.10 gives -2**63 and 2**63 there."""
    for x in (np.full((2, 3), np.nan, np.float32), np.array([[np.nan, 3.0, np.nan], [np.nan, -np.inf, 2.0]])):
        for keepdims in (False, True):
            found = getattr(mnp, name)(mnp.array(x), axis, keepdims=keepdims)
            np.testing.assert_array_equal(found.asnumpy(), getattr(np, name)(x, axis, keepdims=keepdims))


def test_a_missing_name_gets_the_nearest_one() -> None:
    with pytest.raises(AttributeError, match="use `concatenate`"):
        _ = mnp.concatenat
    with pytest.raises(CompileError, match="concatenate"):
        ms.jit(lambda x: mnp.concatenat(x))(Tensor(X))
    assert ms.numpy is mnp


# ------------------------------------------------------------------------------------------------ given functions
def spread(v: Any, factor: Any = 1) -> Any:
    return (v.max() - v.min()) * factor


def doubled(v: Any) -> Any:
    return v.reshape(-1, 1) * Tensor([1.0, 2.0], ms.float32)


def shifted(v: Any, widths: Any, axis: int, options: Any) -> Any:
    return v + options["by"] * (axis + 1)


GIVEN = {
    "along": (lambda x: mnp.apply_along_axis(spread, 1, x, 2.0), lambda x: np.ptp(x, 1) * 2),
    "along first": (lambda x: mnp.apply_along_axis(spread, 0, x, factor=3), lambda x: np.ptp(x, 0) * 3),
    "along, matrices": (
        lambda x: mnp.apply_along_axis(doubled, 0, x),
        lambda x: np.apply_along_axis(lambda v: v[:, None] * [1.0, 2.0], 0, x),
    ),
    "over axes": (lambda x: mnp.apply_over_axes(mnp.sum, x, [0, 1]), lambda x: x.sum(keepdims=True)),
    "over an axis": (lambda x: mnp.apply_over_axes(mnp.mean, x, 1), lambda x: x.mean(1, keepdims=True)),
    "pieces": (
        lambda x: mnp.piecewise(x, [x < 0, x >= 1], [lambda v: -v, lambda v: v * v]),
        lambda x: np.piecewise(x, [x < 0, x >= 1], [lambda v: -v, lambda v: v * v]),
    ),
    "pieces and the rest": (
        lambda x: mnp.piecewise(x, [x < 0], [lambda v, n: v * n, lambda v, n: v + n], 3.0),
        lambda x: np.piecewise(x, [x < 0], [lambda v, n: v * n, lambda v, n: v + n], 3.0),
    ),
    "pieces that are numbers": (
        lambda x: mnp.piecewise(x, [x < 0, x >= 1], [-1.0, 1.0]) + x * 0,
        lambda x: np.select([x < 0, x >= 1], [-1.0, 1.0]),
    ),
    "padded": (lambda x: mnp.pad(x, ((1, 0), (0, 1)), shifted, by=10.0), lambda x: np.pad(x, ((1, 0), (0, 1))) + 30.0),
}  # fmt: skip


@pytest.mark.parametrize("case", GIVEN)
def test_functions_that_are_given_are_compiled_and_differentiated(case: str) -> None:
    function, reference = GIVEN[case]
    x = X.astype(np.float64)
    for run in (lambda f: f, ms.jit):
        np.testing.assert_allclose(run(function)(Tensor(x)).asnumpy(), reference(x), rtol=1e-6)
        gradient = run(ms.grad(lambda x: (function(x) * function(x)).sum()))(Tensor(x)).asnumpy()
        u, h = np.cos(np.arange(6.0)).reshape(2, 3), 1e-6
        slope = ((reference(x + h * u) ** 2).sum() - (reference(x - h * u) ** 2).sum()) / (2 * h)
        assert (gradient * u).sum() == pytest.approx(slope, rel=1e-5, abs=1e-6)


# ------------------------------------------------------------------------------------------------ random numbers
def test_random_numbers_have_the_shapes_and_dtypes_asked_for() -> None:
    for draw in (mnp.rand, mnp.randn):
        assert draw().shape == (1,)
        assert draw(2, 3).shape == draw((2, 3)).shape == draw([2, 3]).shape == (2, 3)
        assert draw(2).dtype is ms.float32
        assert draw(2, dtype=ms.float16).dtype is ms.float16
    assert mnp.randint(5).shape == (1,)
    assert mnp.randint(5).dtype is ms.int32
    assert mnp.randint(1, 3, (4, 2), ms.int8).dtype is ms.int8
    assert set(mnp.randint(1, 3, (200,)).tolist()) == {1, 2}
    assert set(mnp.randint(3, shape=200).tolist()) == {0, 1, 2}
    numbers = mnp.rand(2000).asnumpy()
    assert 0 <= numbers.min() < numbers.max() < 1
    assert abs(mnp.randn(5000).asnumpy().mean()) < 0.1


def test_compiled_code_draws_the_same_random_numbers() -> None:
    def draw() -> Any:
        return mnp.rand(2, 3), mnp.randn(4), mnp.randint(1, 100, (5,))

    ms.set_seed(3)
    eager = draw()
    ms.set_seed(3)
    compiled = ms.jit(draw)()
    assert [x.tolist() for x in eager] == [x.tolist() for x in compiled]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: mnp.rand(2.5), TypeError, "made of ints"),
        (
            lambda: mnp.rand(2, dtype=ms.int32),
            ValueError,
            "`dtype` must be one of float16, float32, float64, not int32",
        ),
        (lambda: mnp.randint(0), ValueError, "no whole number from 0 to less than 0"),
        (lambda: mnp.randint(1.5), TypeError, "`minval` must be an int"),
        (lambda: mnp.randint(3, 2), ValueError, "no whole number from 3 to less than 2"),
        (lambda: mnp.randint(3, dtype=ms.float32), ValueError, "must be one of int8, int16, int32, int64"),
    ],
)
def test_random_numbers_that_cannot_be(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


# ------------------------------------------------------------------------------------------------ others
def test_empty_arrays_have_the_shape_and_dtype_asked_for() -> None:
    assert mnp.empty((2, 3)).shape == (2, 3)
    assert mnp.empty(2, ms.int32).dtype is ms.int32
    assert mnp.empty_like(Tensor(X), shape=(4,)).shape == (4,)
    assert mnp.empty_like([1, 2]).dtype is ms.int32


@pytest.mark.parametrize("run", [lambda f: f, ms.jit])
def test_grids_by_subscripts(run: Any) -> None:
    for ours, theirs in ((mnp.mgrid, np.mgrid), (mnp.ogrid, np.ogrid)):
        for keys in (np.s_[0:5], np.s_[0:2, 1:7:3], np.s_[-1:1:5j], np.s_[0:2, 0:1:3j]):
            found, expected = run(lambda ours=ours, keys=keys: ours[keys])(), theirs[keys]
            pairs = zip(found, expected, strict=True) if isinstance(found, list) else [(found, expected)]
            for x, y in pairs:
                np.testing.assert_allclose(x.asnumpy(), y)
    with pytest.raises(TypeError, match="slices with whole numbers"):
        mnp.mgrid[0.5:2]


def test_arrays_of_lists_with_tensors_are_differentiated() -> None:
    def f(x: Any) -> Any:
        return mnp.sum(mnp.array([x[0] * 2, 3.0, x[1]]) * mnp.array([1.0, 2.0, 3.0]))

    for run in (lambda f: f, ms.jit):
        assert run(ms.grad(f))(Tensor([1.0, 2.0])).tolist() == [2.0, 3.0]


def test_numbers_known_at_run_time_count_as_those_of_python() -> None:
    def f(x: Any, n: Any) -> Any:
        return mnp.add(x, n), mnp.array(n)

    x = Tensor(np.ones(2, np.int8))
    for n in (2, 2.5):
        eager, compiled = f(x, n), ms.jit(f)(x, ms.mutable(n))
        assert [y.dtype for y in eager] == [y.dtype for y in compiled]
        assert [y.tolist() for y in eager] == [y.tolist() for y in compiled]


def test_a_copy_is_another_tensor() -> None:
    x = Tensor([1.0, 2.0])
    for y in (mnp.array(x), mnp.copy(x), mnp.array(x, copy=False), mnp.asarray(x)):
        y[0] = 7.0
    assert x.tolist() == [1.0, 2.0]


def test_means_of_whole_numbers_are_cut_off_as_in_mindspore() -> None:
    x = Tensor(np.array([[3, 1, -2], [5, -4, 6]], np.int32))  # 4, -1.5, 2
    assert mnp.mean(x, 0).tolist() == [4, -1, 2]
    assert mnp.mean(x, 0, dtype=ms.float32).tolist() == [4.0, -1.5, 2.0]
    assert mnp.average(Tensor(np.array([1, 2], np.int32))).item() == 1
    assert mnp.mean(Tensor([True, False])).item() == 0.5


def test_whole_numbers_keep_their_dtype_in_powers_and_quotients() -> None:
    x = Tensor(np.array([3, -1, 1, -3], np.int32))
    assert mnp.exp2(x).tolist() == [8, 0, 2, 0]
    assert mnp.reciprocal(x).tolist() == [0, -1, 1, 0]


def test_shifts_of_frequencies() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 1, (0, 1)):
            found = getattr(mnp.fft, name)(Tensor(x), axes).asnumpy()
            np.testing.assert_array_equal(found, getattr(np.fft, name)(x, axes))
    np.testing.assert_allclose(mnp.fft.rfftfreq(5, 0.5).asnumpy(), np.fft.rfftfreq(5, 0.5), rtol=1e-6)
    with pytest.raises(CompileError, match="complex"):
        mnp.fft.fft(Tensor(x))


T = Tensor(X)
ERRORS: list[tuple[Any, type[Exception], str]] = [
    (lambda: mnp.add("2", T), TypeError, "must be a Tensor, a number, or a list of numbers, not a str"),
    (lambda: mnp.asarray([[1, 2], [3]]), ValueError, "rows differ in length"),
    (lambda: mnp.asarray([1, "a"]), TypeError, "not a str"),
    (lambda: mnp.asarray([2**40]), OverflowError, "does not fit in int32"),
    (lambda: mnp.sin([1.0]), TypeError, "must be a Tensor, not a list"),
    (lambda: mnp.clip(T, None, None), ValueError, "`xmin` or `xmax`"),
    (lambda: mnp.sign(T > 0), TypeError, "not defined for bools"),
    (lambda: mnp.copysign(T > 0, T), TypeError, "not defined for bools"),
    (lambda: mnp.around(T, -1), ValueError, "must not be negative"),
    (lambda: mnp.signbit(T, ms.float32), TypeError, "signbit gives bools"),
    (lambda: mnp.where(T > 0), TypeError, "needs `x` and `y`"),
    (lambda: mnp.amax(T, where=T > 0), ValueError, "needs an `initial` value"),
    (lambda: mnp.amax(T, initial=Tensor([1.0])), TypeError, "single number"),
    (lambda: mnp.average(T, weights=Tensor([1.0, 2.0])), TypeError, "need an `axis`"),
    (lambda: mnp.average(T, weights=Tensor([[1.0, 2.0]])), TypeError, "vector or of the shape"),
    (lambda: mnp.diff(T, -1), ValueError, "must not be negative"),
    (lambda: mnp.diff(T, 3), ValueError, "leave nothing"),
    (lambda: mnp.gradient(T, edge_order=2), NotImplementedError, "edge_order=1"),
    (lambda: mnp.gradient(T, 1.0, 2.0, 3.0), TypeError, "one for each of 2 axes, not 3"),
    (lambda: mnp.gradient(T, Tensor([1.0, 2.0]), axis=0), NotImplementedError, "one distance"),
    (lambda: mnp.norm(T, "max"), ValueError, "the order of no norm"),
    (lambda: mnp.norm(T, "fro", 1), ValueError, "matrices only"),
    (lambda: mnp.multi_dot([T]), ValueError, "at least 2 arrays"),
    (lambda: mnp.matrix_power(T, -1), ValueError, "must not be negative"),
    (lambda: mnp.cross(T, Tensor([[1.0], [2.0]])), ValueError, "2 or 3 elements, not 3 and 1"),
    (lambda: mnp.convolve(T[0], T[1], "all"), ValueError, "'full', 'same' or 'valid'"),
    (lambda: mnp.convolve(Tensor(np.zeros(0)), T[1]), ValueError, "empty"),
    (lambda: mnp.cov(T, fweights=[1.0, 2.0, 3.0]), TypeError, "whole numbers"),
    (lambda: mnp.polyint(T[0], -1), ValueError, "must not be negative"),
    (lambda: mnp.polyval(T, 1.0), ValueError, "a polynomial is a vector"),
    (lambda: mnp.vander(T), ValueError, "takes a vector"),
    (lambda: mnp.searchsorted(T[0], 1.0, "middle"), ValueError, "'left' or 'right'"),
    (lambda: mnp.searchsorted(T, 1.0), ValueError, "must be a vector"),
    (lambda: mnp.interp(1.0, [1.0, 2.0], [1.0]), ValueError, "equally long"),
    (lambda: mnp.bincount(T[0]), TypeError, "counts whole numbers"),
    (lambda: mnp.histogram(T, bins="auto"), NotImplementedError, "no rule by name"),
    (lambda: mnp.histogram(T, range=(2.0, 1.0)), ValueError, "must not fall"),
    (lambda: mnp.setdiff1d(T, T, 1), TypeError, "`assume_unique` must be a bool"),
    (lambda: mnp.append(T, T[0], 0), ValueError, "as many dimensions"),
    (lambda: mnp.concatenate(None), TypeError, "not None"),
    (lambda: mnp.vstack(3), TypeError, "tuple or list"),
    (lambda: mnp.vstack([]), ValueError, "at least one"),
    (lambda: mnp.split(T, 4, 1), ValueError, "not empty"),
    (lambda: mnp.split(T, 2, 1), ValueError, "equal parts"),
    (lambda: mnp.split(T, [2, 1], 1), ValueError, "would be empty"),
    (lambda: mnp.split(T, 1.5), TypeError, "must be an int, or a tuple or list"),
    (lambda: mnp.moveaxis(T, 2, 0), ValueError, "axis 2 does not exist"),
    (lambda: mnp.rollaxis(T, 0, 3), ValueError, "from -2 to 2"),
    (lambda: mnp.expand_dims(T, 1.0), TypeError, "must be an int, tuple or list"),
    (lambda: mnp.broadcast_to(T, (2, 4)), ValueError, "3"),
    (lambda: mnp.diag(Tensor(np.zeros((1, 1, 1)))), ValueError, "a vector or a matrix"),
    (lambda: mnp.tril(Tensor(1.0)), ValueError, "no triangles"),
    (lambda: mnp.pad(T, 1, "median"), NotImplementedError, "median"),
    (lambda: mnp.pad(T, 1, "mirror"), ValueError, "must be one of"),
    (lambda: mnp.pad(T, (1, 2, 3)), ValueError, "a pair for each of 2 axes"),
    (lambda: mnp.pad(T, -1), ValueError, "must not be negative"),
    (lambda: mnp.take(T, Tensor([1]), mode="raise"), NotImplementedError, "'clip' and 'wrap'"),
    (lambda: mnp.take_along_axis(T, Tensor([1]), 0), ValueError, "needs 2 dimensions"),
    (lambda: mnp.choose(T, [1, 2]), ValueError, "must be whole numbers"),
    (lambda: mnp.select([T > 0], [T, T]), ValueError, "as many choices"),
    (lambda: mnp.piecewise(T, [T > 0], [1, 2, 3]), ValueError, "as many functions"),
    (lambda: mnp.unravel_index(T, (2, 3)), TypeError, "whole numbers"),
    (lambda: mnp.unravel_index(Tensor(1), (2, 3), "A"), ValueError, "'C' or 'F'"),
    (lambda: mnp.ravel_multi_index(Tensor([[1], [2]]), (2,)), ValueError, "each of 1 dimensions"),
    (lambda: mnp.ravel_multi_index(Tensor([[1]]), (2,), "raise"), NotImplementedError, "'clip' and 'wrap'"),
    (lambda: mnp.meshgrid(T[0], indexing="ab"), TypeError, "'xy' or 'ij'"),
    (lambda: mnp.indices(3), TypeError, "tuple or list"),
    (lambda: mnp.ix_(T), ValueError, "takes vectors"),
    (lambda: mnp.tril_indices_from(T[0]), ValueError, "must be a matrix"),
    (lambda: mnp.ones(2.5), TypeError, "must be an int"),
    (lambda: mnp.ones((2, -1)), ValueError, "no negative sizes"),
    (lambda: mnp.eye(-1), ValueError, "must not be negative"),
    (lambda: mnp.linspace(0, 1, 0), ValueError, "must be positive"),
    (lambda: mnp.linspace(0, 1, 3, endpoint=1), TypeError, "must be a bool"),
    (lambda: mnp.logspace(0, 1, base=T), TypeError, "must be a number"),
    (lambda: mnp.bartlett(2.5), TypeError, "whole number"),
    (lambda: mnp.array_equal(T, T, equal_nan=1), TypeError, "must be a bool"),
    (lambda: mnp.array_str([1]), TypeError, "must be a Tensor"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_what_cannot_be_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)
