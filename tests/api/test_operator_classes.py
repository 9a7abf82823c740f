"""MindSpore's operator classes against NumPy: eagerly and compiled, made outside of the function and inside."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.ops import array_classes
from autodiff_compiler.ops.primitive import OPERATORS
from autodiff_compiler.surface.table import OPERATORS as OPERATOR_ROWS

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
Y = np.array([[2.0, -1.25, 1.0], [0.5, 4.0, 3.0]])
F = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
I = np.array([[1, -7, 3], [0, 2, 5]], np.int32)
ROW = np.array([1.0, 2.0, 4.0])
#: two places of X, one of them twice, and a value for each
PLACES = np.array([[0, 1], [1, 2], [0, 1]], np.int32)
AT = (np.array([0, 1, 0]), np.array([1, 2, 1]))
VALUES = np.array([1.5, -2.0, 4.0])
#: the places without repetition
ONCE = PLACES[:2]
#: segments of ROWS; the last row is in none
IDS = np.array([1, 0, 1, -1], np.int32)
ROWS = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, -7.0], [9.0, 9.0]])
INT32 = np.iinfo(np.int32)


def changed(x: np.ndarray, change: Callable[[np.ndarray], object]) -> np.ndarray:
    """A copy of x after `change`."""
    x = x.copy()
    change(x)
    return x


def fill_row(x: np.ndarray) -> None:
    x[:, [0, 2]] = 7.5


#: class, what its constructor takes, what its object is called with, what NumPy gives
CASES: list[tuple[str, tuple[Any, ...] | dict[str, Any], tuple[Any, ...], Any]] = [
    # ------------------------------------------------------------------------------------------ shapes
    ("BroadcastTo", ((2, 3),), (ROW,), np.stack([ROW, ROW])),
    ("BroadcastTo", {"shape": (4, -1, 3)}, (X,), np.broadcast_to(X, (4, 2, 3))),
    ("Cast", (), (X, ms.int32), X.astype(np.int32)),
    ("Cast", (), (I, ms.float16), I.astype(np.float16)),
    ("Concat", (), ((X, Y),), np.vstack([X, Y])),
    ("Concat", (-1,), ((I, I, I),), np.hstack([I, I, I])),
    ("ExpandDims", (), (X, 1), X[:, None]),
    ("ExpandDims", (), (F, -1), F[..., None]),
    ("Flatten", (), (F,), F.reshape(2, 12)),
    ("Meshgrid", (), ((ROW, I[0]),), tuple(np.meshgrid(ROW, I[0]))),
    ("Meshgrid", ("ij",), ((ROW, I[0], X[0]),), tuple(np.meshgrid(ROW, I[0], X[0], indexing="ij"))),
    ("MirrorPad", (), (X, ((1, 0), (2, 1))), np.pad(X, ((1, 0), (2, 1)), mode="reflect")),
    ("MirrorPad", ("SYMMETRIC",), (I, ((2, 1), (0, 3))), np.pad(I, ((2, 1), (0, 3)), mode="symmetric")),
    ("Pad", (((1, 0), (0, 2)),), (X,), np.pad(X, ((1, 0), (0, 2)))),
    ("Pad", {"paddings": ((0, 0), (1, 2), (3, 0))}, (F,), np.pad(F, ((0, 0), (1, 2), (3, 0)))),
    ("Rank", (), (F,), 3),
    ("Reshape", (), (X, (3, -1)), X.reshape(3, 2)),
    ("ReverseSequence", (1,), (I, np.array([2, 3])), np.array([[-7, 1, 3], [5, 2, 0]], np.int32)),
    (
        "ReverseSequence",
        {"seq_dim": 0, "batch_dim": 1},
        (X, np.array([2, 1, 2])),
        np.stack([X[::-1, 0], X[:, 1], X[::-1, 2]], axis=1),
    ),
    ("ReverseV2", ((0, -1),), (F,), F[::-1, :, ::-1]),
    ("Roll", (2, 1), (X,), np.roll(X, 2, 1)),
    ("Roll", {"shifts": (1, -1), "dims": (0, 2)}, (F,), np.roll(F, (1, -1), (0, 2))),
    ("Shape", (), (F,), (2, 3, 4)),
    ("Size", (), (F,), 24),
    ("Split", (), (X,), (X,)),
    ("Split", (2, 2), (F,), tuple(np.split(F, 2, 2))),
    ("Split", {"axis": -1, "output_num": 3}, (I,), tuple(np.split(I, 3, 1))),
    ("Split", (1, 3), (np.zeros((2, 0)),), (np.zeros((2, 0)),) * 3),
    ("Squeeze", (), (X[None, :, None],), X),
    ("Squeeze", (1,), (X[None, :, None].swapaxes(0, 1),), X[:, None]),
    ("Squeeze", ((0, -1),), (X[None, ..., None],), X),
    ("Stack", (), ((X, Y),), np.stack([X, Y])),
    ("Stack", (-1,), ((I, I),), np.stack([I, I], -1)),
    ("Tile", (), (X, (2, 1, 2)), np.tile(X, (2, 1, 2))),
    ("Transpose", (), (F, (2, 0, 1)), F.transpose(2, 0, 1)),
    ("Tril", (), (X,), np.tril(X)),
    ("Tril", (1,), (F,), np.tril(F, 1)),
    ("Triu", (), (I,), np.triu(I)),
    ("Triu", {"diagonal": -1}, (F,), np.triu(F, -1)),
    ("Unstack", (), (X,), tuple(X)),
    ("Unstack", (-1, 4), (F,), tuple(F[..., i] for i in range(4))),
    # ------------------------------------------------------------------------------------------ creation
    ("Eye", (), (2, 3, ms.int32), np.eye(2, 3, dtype=np.int32)),
    ("Fill", (), (ms.float32, (2, 2), 0.5), np.full((2, 2), 0.5, np.float32)),
    ("LinSpace", (), (np.float32(1), np.float32(10), 4), np.linspace(1, 10, 4, dtype=np.float32)),
    ("OneHot", (), (I[1], 3, 1.0, -1.0), np.float32([[1, -1, -1], [-1, -1, 1], [-1, -1, -1]])),
    ("OneHot", (0,), (np.array([1, 0]), 3, 4, 3), np.array([[3, 4], [4, 3], [3, 3]])),
    ("Ones", (), ((2, 3), ms.float16), np.ones((2, 3), np.float16)),
    ("OnesLike", (), (I,), np.ones_like(I)),
    ("Range", (), (3, 12, 4), np.arange(3, 12, 4)),
    ("Range", {"maxlen": 3}, (6, 0, -2), np.arange(6, 0, -2)),
    ("Zeros", (), (3, ms.int64), np.zeros(3, np.int64)),
    ("ZerosLike", (), (F,), np.zeros_like(F)),
    # ------------------------------------------------------------------------------------------ reading
    ("Gather", (), (F, np.array([[2, 0], [1, 1]]), 1), F[:, [[2, 0], [1, 1]]]),
    ("Gather", (1,), (X, np.array([[2, 0], [1, 1]]), 1), np.array([X[0, [2, 0]], X[1, [1, 1]]])),
    ("GatherD", (), (X, 1, np.array([[2, 2], [0, 1]])), np.take_along_axis(X, np.array([[2, 2], [0, 1]]), 1)),
    ("GatherNd", (), (X, PLACES), X[AT]),
    ("GatherNd", (), (F, np.array([[1, 2]])), F[[1], [2]]),
    ("MaskedFill", (), (X, X < 0, 0.5), np.where(X < 0, 0.5, X)),
    ("SearchSorted", (), (ROW, np.array([[1.0, 3.0], [9.0, 4.0]])), np.array([[0, 2], [3, 2]])),
    ("SearchSorted", (ms.int32, True), (ROW, VALUES), np.searchsorted(ROW, VALUES, "right").astype(np.int32)),
    ("Select", (), (X > Y, X, Y), np.where(X > Y, X, Y)),
    ("Slice", (), (F, (1, 0, 2), (1, 2, -1)), F[1:2, 0:2, 2:]),
    ("Slice", (), (X, (0, 1), (2, 2)), X[:, 1:]),
    ("Sort", (), (X,), (np.sort(X), np.argsort(X).astype(np.int32))),
    ("Sort", {"axis": 0, "descending": True}, (I,), (np.sort(I, 0)[::-1], np.argsort(-I, 0).astype(np.int32))),
    ("StridedSlice", (), (F, (1, 2, 0), (2, 0, 4), (1, -1, 2)), F[1:2, 2:0:-1, 0:4:2]),
    ("StridedSlice", (1, 2), (X, (1, 1), (2, 2), (1, 1)), X[:2, 1:]),
    ("StridedSlice", {"shrink_axis_mask": 1}, (F, (1, 1), (2, 3), (1, 1)), F[1, 1:3]),
    ("StridedSlice", {"new_axis_mask": 1}, (X, (0, 0), (1, 1), (1, 1)), X[None, 0:1]),
    ("StridedSlice", {"ellipsis_mask": 1}, (F, (0, 1), (0, 4), (1, 2)), F[..., 1:4:2]),
    ("TopK", (), (X, 2), (np.sort(X)[:, :0:-1], np.argsort(-X)[:, :2].astype(np.int32))),
    # ------------------------------------------------------------------------------------------ writing
    ("IndexAdd", (1,), (X, np.array([2, 0]), Y[:, :2]), changed(X, lambda x: np.add.at(x, (..., [2, 0]), Y[:, :2]))),
    ("IndexFill", (), (X, 1, np.array([2, 0]), 7.5), changed(X, fill_row)),
    ("InplaceAdd", (1,), (X, Y[:1]), X + np.array([[0], [1]]) * Y[0]),
    ("InplaceAdd", ((1, 0),), (X, Y), X + Y[::-1]),
    ("InplaceSub", ((1, 0),), (X, Y), X - Y[::-1]),
    ("InplaceUpdate", (0,), (X, Y[1:]), np.stack([Y[1], X[1]])),
    ("InplaceUpdate", ((1,),), (I, I[:1] + 1), np.stack([I[0], I[0] + 1])),
    ("ScatterNd", (), (PLACES, VALUES, (2, 3)), np.array([[0, 5.5, 0], [0, 0, -2.0]])),
    ("TensorScatterAdd", (), (X, PLACES, VALUES), changed(X, lambda x: np.add.at(x, AT, VALUES))),
    ("TensorScatterDiv", (), (X, PLACES, VALUES), changed(X, lambda x: np.divide.at(x, AT, VALUES))),
    (
        "TensorScatterElements",
        (1,),
        (I, np.array([[2, 0], [1, 2]]), np.array([[10, 20], [30, 40]], np.int32)),
        np.array([[20, -7, 10], [0, 30, 40]], np.int32),
    ),
    (
        "TensorScatterElements",
        {"axis": 0, "reduction": "add"},
        (X, np.array([[1, 1, 0], [1, 0, 0]]), Y),
        X + np.array([[0, Y[1, 1], Y[0, 2] + Y[1, 2]], [Y[0, 0] + Y[1, 0], Y[0, 1], 0]]),
    ),
    ("TensorScatterMax", (), (X, PLACES, VALUES), changed(X, lambda x: np.maximum.at(x, AT, VALUES))),
    ("TensorScatterMin", (), (X, PLACES, VALUES), changed(X, lambda x: np.minimum.at(x, AT, VALUES))),
    ("TensorScatterMul", (), (X, PLACES, VALUES), changed(X, lambda x: np.multiply.at(x, AT, VALUES))),
    ("TensorScatterSub", (), (X, PLACES, VALUES), changed(X, lambda x: np.subtract.at(x, AT, VALUES))),
    ("TensorScatterUpdate", (), (X, ONCE, VALUES[:2]), np.array([[0.5, 1.5, 2.0], [3.0, 0.25, -2.0]])),
    ("UnsortedSegmentMax", (), (ROWS, IDS, 2), np.array([[2.0, 6.0], [3.0, 5.0]])),
    ("UnsortedSegmentMax", (), (I, IDS[:2], 3), np.array([I[1], I[0], [INT32.min] * 3], np.int32)),
    ("UnsortedSegmentMin", (), (ROWS, IDS, 2), np.array([[2.0, 6.0], [1.0, -7.0]])),
    ("UnsortedSegmentMin", (), (I, IDS[:2], 3), np.array([I[1], I[0], [INT32.max] * 3], np.int32)),
    ("UnsortedSegmentProd", (), (ROWS, IDS + (IDS > 0), 3), np.array([[2.0, 6.0], [1.0, 1.0], [3.0, -35.0]])),
    ("UnsortedSegmentSum", (), (ROWS, IDS + (IDS > 0), 3), np.array([[2.0, 6.0], [0.0, 0.0], [4.0, -2.0]])),
    # ------------------------------------------------------------------------------------------ products, running sums
    # ------------------------------------------------------------------------------------------ further names
    ("Expand", (), (ROW, (2, 3)), np.stack([ROW, ROW])),
    ("IdentityN", (), ((X, I),), (X, I)),
    ("MoveTo", (), (X, "CPU"), X),
    ("Pack", (1,), ((X, Y),), np.stack([X, Y], 1)),
    ("PadV3", (), (X, (1, 0, 0, 2), 9.0), np.pad(X, ((0, 2), (1, 0)), constant_values=9.0)),
    ("PadV3", ("reflect", False), (F, (1, 0), None), np.pad(F, ((0, 0), (0, 0), (1, 0)), mode="reflect")),
    ("Padding", (3,), (np.float32([[1], [2]]),), np.float32([[1, 0, 0], [2, 0, 0]])),
    ("ParallelConcat", (), ((X, Y),), np.vstack([X, Y])),
    ("SplitV", ((1, -1), 1, 2), (X,), (X[:, :1], X[:, 1:])),
    ("TransposeExtView", (), (F, 0, 2), F.swapaxes(0, 2)),
    ("TransposeView", (), (F, (2, 0, 1)), F.transpose(2, 0, 1)),
    ("Unpack", (1,), (X,), tuple(X.T)),
    ("FillDiagonal", (7.0,), (X,), np.where(np.eye(2, 3), 7.0, X)),
    ("FillV2", (), ((2, 2), np.float32(3)), np.full((2, 2), 3, np.float32)),
    ("Fills", (), (X, 2.5), np.full_like(X, 2.5)),
    ("TrilIndices", (2, 3, 1), (), np.array(np.tril_indices(2, 1, 3), np.int32)),
    ("TriuIndices", {"row": 2, "col": 3}, (), np.array(np.triu_indices(2, 0, 3), np.int32)),
    ("Bucketize", ([0.0, 1.0, 2.5],), (X,), np.digitize(X, [0.0, 1.0, 2.5]).astype(np.int32)),
    ("DiagPart", (), (X[:, :2],), np.diag(X[:, :2])),
    ("EmbeddingLookup", (), (X, np.array([5, 4, 9]), 4), np.stack([X[1], X[0], np.zeros(3)])),
    ("GatherV2", (), (X, np.array([2, 0]), 1), X[:, [2, 0]]),
    ("InvertPermutation", (), (np.array([2, 0, 1]),), np.array([1, 2, 0])),
    ("LowerBound", (), (np.array([[1.0, 2.0, 2.0]]), np.array([[2.0, 0.0]])), np.array([[1, 0]], np.int32)),
    ("UpperBound", (), (np.array([[1.0, 2.0, 2.0]]), np.array([[2.0, 0.0]])), np.array([[3, 0]], np.int32)),
    ("NthElement", (), (X, 1), np.sort(X)[:, 1]),
    ("NthElement", (True,), (X, 0), X.max(1)),
    (
        "IndexPut",
        (),
        (X, VALUES[:2], (PLACES[:2, 0], PLACES[:2, 1])),
        changed(X, lambda x: np.put(x, [1, 5], VALUES[:2])),
    ),
    ("InplaceUpdateV2", (), (X, (1,), Y[:1]), np.stack([X[0], Y[0]])),
    ("MaskedScatter", (), (X, X < 0, np.array([7.0, 8.0])), np.array([[0.5, 7.0, 2.0], [3.0, 0.25, 8.0]])),
    ("ScatterAddWithAxis", (1,), (X, np.array([[0], [2]]), Y[:, :1]), X + np.array([[2.0, 0, 0], [0, 0, 0.5]])),
    ("MatMul", (), (X, Y.T), X @ Y.T),
    ("MatMul", (True, True), (F[0], F[1, :, :3]), F[0].T @ F[1, :, :3].T),
    ("BatchMatMul", {"transpose_a": True}, (F, F), np.einsum("bki,bkj->bij", F, F)),
    ("BatchMatMul", {"transpose_b": True}, (F, F[:1]), np.einsum("bik,jk->bij", F, F[0])),
    ("CumSum", (), (I, 1), np.cumsum(I, 1, dtype=np.int32)),
    ("CumSum", (True,), (X, 0), np.stack([np.zeros(3), X[0]])),
    ("CumSum", {"reverse": True}, (X, 1), np.cumsum(X[:, ::-1], 1)[:, ::-1]),
    ("CumProd", (), (X, 1), np.cumprod(X, 1)),
    ("CumProd", (True, True), (X, 1), np.stack([X[:, 1] * X[:, 2], X[:, 2], np.ones(2)], axis=1)),
]

#: ... of classes whose results are as long as the numbers say: in eager code only
DATA_SIZED: list[tuple[str, tuple[Any, ...], Any]] = [
    ("MaskedSelect", (X, X > 0), X[X > 0]),
    ("NonZero", (I,), np.argwhere(I)),
    ("UniqueConsecutive", (np.array([3, 3, 1, 3]),), np.array([3, 1, 3])),
    ("UniqueWithPad", (np.array([3, 1, 3]), 0), (np.array([3, 1, 0]), np.array([0, 1, 0]))),
    ("Unique", (np.array([3, 1, 3, 2]),), (np.array([3, 1, 2]), np.array([0, 1, 0, 2]))),
    ("Unique", (np.float32([[2, 0.5], [0.5, 2]]),), (np.float32([2, 0.5]), np.array([[0, 1], [1, 0]], np.int32))),
]


def made(name: str, constants: tuple[Any, ...] | dict[str, Any]) -> Any:
    return getattr(ops, name)(**constants) if isinstance(constants, dict) else getattr(ops, name)(*constants)


def as_operand(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(as_operand(part) for part in x)
    return Tensor(x) if isinstance(x, np.ndarray | np.generic) else x


def check(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert type(found) is tuple
        for f, e in zip(found, expected, strict=True):
            check(f, e)
    elif isinstance(expected, int):
        assert (type(found), found) == (int, expected)
    else:
        assert isinstance(found, Tensor)
        assert (found.shape, found.asnumpy().dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12 if expected.dtype == np.float64 else 1e-6)


@pytest.mark.some(2)
@pytest.mark.parametrize("place", ["eager", "object", "outside", "inside"])
@pytest.mark.parametrize(("name", "constants", "operands", "expected"), CASES, ids=[c[0] for c in CASES])
def test_objects_agree_with_numpy(
    name: str, constants: tuple[Any, ...] | dict[str, Any], operands: tuple[Any, ...], expected: Any, place: str
) -> None:
    operation, operator_class = made(name, constants), getattr(ops, name)
    positional, named = ((), constants) if isinstance(constants, dict) else (constants, {})

    def outside(*operands):
        return operation(*operands)

    def inside(*operands):
        return operator_class(*positional, **named)(*operands)

    run = {"eager": operation, "object": ms.jit(operation), "outside": ms.jit(outside), "inside": ms.jit(inside)}[place]
    given = [as_operand(x) for x in operands]
    check(run(*given), expected)
    for tensor, array in zip(given, operands, strict=True):  # nothing is written in place, despite some names
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(tensor.asnumpy(), array)


@pytest.mark.parametrize(("name", "operands", "expected"), DATA_SIZED, ids=[c[0] for c in DATA_SIZED])
def test_results_are_sized_by_numbers(name: str, operands: tuple[Any, ...], expected: Any) -> None:
    operation, given = made(name, ()), [as_operand(x) for x in operands]
    check(operation(*given), expected)
    check(ms.jit(operation)(*given), expected)


def test_every_class_has_a_case() -> None:
    tested = {name for name, *_ in CASES} | {name for name, *_ in DATA_SIZED}
    in_the_other_file = {"DataFormatDimMap", "DataFormatVecPermute", "UnravelIndex"}
    assert set(array_classes.__all__) - tested <= in_the_other_file


# ---------------------------------------------------------------------------------------------------- derivatives
#: every floating operand is differentiated, away from ties and zeros
GRADIENTS = [
    "BroadcastTo", "Concat", "MirrorPad", "Pad", "ReverseSequence", "Split", "Unstack", "Gather", "GatherD", "GatherNd",
    "MaskedFill", "Select", "Slice", "Sort", "StridedSlice", "TopK", "IndexAdd", "IndexFill", "InplaceSub", "ScatterNd",
    "TensorScatterAdd", "TensorScatterDiv", "TensorScatterElements", "TensorScatterMax", "TensorScatterMin",
    "TensorScatterMul", "TensorScatterSub", "TensorScatterUpdate", "UnsortedSegmentMax", "UnsortedSegmentMin",
    "UnsortedSegmentProd", "UnsortedSegmentSum", "MatMul", "CumSum", "CumProd",
]  # fmt: skip


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def central_differences(f: Callable[[np.ndarray], float], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    slopes = np.empty_like(x)
    for place in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[place] += step
        below[place] -= step
        slopes[place] = (f(above) - f(below)) / (2 * step)
    return slopes


def in_double(operands: Any) -> bool:
    return {x.dtype for x in leaves(operands) if isinstance(x, np.ndarray) and x.dtype.kind == "f"} == {X.dtype}


DIFFERENTIATED = [(name, *case) for name, *case, _ in CASES if name in GRADIENTS and in_double(case[1])]


def test_every_class_to_differentiate_has_a_case_in_double() -> None:
    assert {name for name, *_ in DIFFERENTIATED} == set(GRADIENTS)


@pytest.mark.some(2)
@pytest.mark.parametrize(("name", "constants", "operands"), DIFFERENTIATED, ids=[c[0] for c in DIFFERENTIATED])
def test_gradients_agree_with_differences(mode: str, name: str, constants: Any, operands: tuple[Any, ...]) -> None:
    operation = made(name, constants)
    in_a_tuple = isinstance(operands[0], tuple)
    arguments = operands[0] if in_a_tuple else operands
    places = [i for i, x in enumerate(arguments) if isinstance(x, np.ndarray) and x.dtype == np.float64]

    def weighted(*xs):
        out = operation(xs) if in_a_tuple else operation(*xs)
        total = 0.0
        for part in out if isinstance(out, tuple) else (out,):
            if part.dtype == ms.float64:
                weights = np.cos(np.arange(part.size, dtype=np.float64)).reshape(part.shape)
                total = total + (part * Tensor(weights)).sum()
        return total

    given = [as_operand(x) for x in arguments]
    for place in places:

        def of_one(x: np.ndarray, place: int = place) -> float:
            return float(weighted(*given[:place], Tensor(x), *given[place + 1 :]).asnumpy())

        found = ms.grad(weighted, place)(*given)
        np.testing.assert_allclose(found.asnumpy(), central_differences(of_one, arguments[place]), atol=1e-8)


# ---------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("name", "constants", "operands", "error", "text"),
    [
        ("Split", (1, 2), (X,), ValueError, "2 equal parts"),
        ("Split", (1, 0), (X,), ValueError, "one part or more"),
        ("Split", (2, 1), (X,), ValueError, "axis 2"),
        ("Unstack", (1, 2), (X,), ValueError, "num"),
        ("Range", (3,), (0, 4, 1), ValueError, "maxlen=3"),
        ("Squeeze", (0,), (X,), ValueError, "1"),
        ("Pad", (((1, 1),),), (X,), ValueError, "paddings"),
        ("Roll", (), (X,), TypeError, r"Roll\(\) missing .* 'shifts'"),
        ("Reshape", (), (X,), TypeError, "shape"),
        ("TensorScatterElements", (0, "mul"), (X, np.array([[0]]), Y[:1, :1]), ValueError, "reduction"),
    ],
)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
def test_bad_arguments(
    name: str, constants: tuple[Any, ...], operands: tuple[Any, ...], error: type[Exception], text: str, compiled: bool
) -> None:
    operator_class = getattr(ops, name)

    def run(*operands):
        return operator_class(*constants)(*operands)

    with pytest.raises(error, match=text):
        (ms.jit(run) if compiled else run)(*[as_operand(x) for x in operands])


# ------------------------------------------------------------------------------------------------ sizes and diagonals
@pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_sizes_and_diagonals(run):
    array = np.arange(36.0, dtype=np.float32).reshape(2, 3, 2, 3)
    wanted = [[array[i, j, i, j] for j in range(3)] for i in range(2)]
    assert run(lambda x: ops.DiagPart()(x))(Tensor(array)).tolist() == wanted
    with pytest.raises(ms.ShapeError):
        run(lambda x: ops.DiagPart()(x))(Tensor(array[0]))
    numbers, weights = Tensor([0, 1, 7, 1]), Tensor([1.0, 2.0, 3.0, 4.0])
    for counted in (
        run(lambda a, w: ops.Bincount()(a, 3, w))(numbers, weights),
        run(lambda a, w: ops.Bincount()(a, Tensor(3), w))(numbers, weights),
    ):
        assert counted.tolist() == np.bincount([0, 1, 1], [1, 2, 4], 3).tolist()
    for size, error in ((-1, ValueError), (2.5, TypeError)):
        with pytest.raises(error):
            run(lambda a, w, size=size: ops.Bincount()(a, size, w))(numbers, weights)
    assert run(lambda: ops.Range()(Tensor(1), Tensor(10), Tensor(3)))().tolist() == [1, 4, 7]
    assert run(lambda: ops.range(Tensor(0), 4, Tensor(2)))().tolist() == [0, 2]


def test_every_class_says_what_it_computes() -> None:
    silent = [name for name, of in OPERATORS.items() if not (of().__doc__ or "").partition("\n\n")[0].strip()]
    assert silent == []


def called(name: str) -> str:
    """The call that a docstring begins with: that of a row is its signature."""
    _, quotes, said = (OPERATORS[name]().__doc__ or "").partition("``")
    return said.partition("``")[0] if quotes and name not in OPERATOR_ROWS else ""


@pytest.mark.parametrize("name", [name for name in sorted(OPERATORS) if called(name).startswith(f"{name}(")])
def test_the_call_in_a_docstring_has_the_constants_of_the_class(name: str) -> None:
    whole = ast.parse(called(name).replace("...", "**more"), mode="eval").body
    assert isinstance(whole, ast.Call)
    made = whole.func
    assert isinstance(made, ast.Call)
    assert ast.unparse(made.func) == name
    said = {ast.unparse(arg): None for arg in made.args} | {k.arg: k.value for k in made.keywords}
    parameters = inspect.signature(OPERATORS[name]()).parameters
    if None in said:  # "...": there are more
        del said[None]
        assert len(said) < len(parameters)
    assert list(said) == list(parameters)[: len(said)]
    assert None in [k.arg for k in made.keywords] or len(said) == len(parameters)
    for constant, value in said.items():
        default = parameters[str(constant)].default
        if value is not None:
            assert (
                ast.unparse(value) in (repr(default), getattr(default, "name", ""))
                or ast.literal_eval(value) == default
            )
