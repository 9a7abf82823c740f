"""The functional vocabulary: MindSpore's argument names against NumPy, eagerly and compiled."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, ParameterTuple, Tensor, nn, ops

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
Y = np.array([[2.0, -1.5, 1.0], [0.5, 4.0, 3.0]])
I = np.array([[1, -7, 3], [0, 2, 5]], np.int32)
ROW = np.array([1.0, 2.0, 4.0])
SQUARE = np.array([[0.5, 2.0], [3.0, 1.0]])
#: places in ROW, one of them twice, and a value for each
PLACES, VALUES = np.array([[0], [2], [0], [2]]), np.array([3.0, 5.0, 0.5, -1.0])
#: four angles of a whole turn
TURN = np.array([0.0, 0.5, 1.0, 1.5]) * np.pi
FLOAT64 = np.finfo(np.float64)


def np_softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


#: name, positional Tensors, keyword arguments, what NumPy gives
CASES: list[tuple[str, tuple[np.ndarray, ...], dict[str, Any], Any]] = [
    ("abs", (X,), {}, np.abs(X)),
    ("absolute", (I,), {}, np.abs(I)),
    ("negative", (X,), {}, -X),
    ("sign", (X,), {}, np.sign(X)),
    ("exp", (X,), {}, np.exp(X)),
    ("log", (Y * Y,), {}, np.log(Y * Y)),
    ("sqrt", (Y * Y,), {}, np.sqrt(Y * Y)),
    ("sin", (X,), {}, np.sin(X)),
    ("cos", (X,), {}, np.cos(X)),
    ("tanh", (X,), {}, np.tanh(X)),
    ("sigmoid", (X,), {}, 1 / (1 + np.exp(-X))),
    ("relu", (X,), {}, np.maximum(X, 0)),
    ("square", (X,), {}, X * X),
    ("add", (X, ROW), {}, X + ROW),
    ("subtract", (X, ROW), {}, X - ROW),
    ("multiply", (X, ROW), {}, X * ROW),
    ("div", (X, Y), {}, X / Y),
    ("div", (X, Y), {"rounding_mode": "floor"}, X // Y),
    ("divide", (X, Y), {}, X / Y),
    ("true_divide", (I, I + 8), {}, (I / (I + 8)).astype(np.float32)),
    ("floor_divide", (I, I + 8), {}, I // (I + 8)),
    ("floor_div", (X, Y), {}, np.floor(X / Y)),
    ("floor_mod", (X, Y), {}, X % Y),
    ("pow", (Y * Y, X), {}, (Y * Y) ** X),
    ("pow", (X,), {"exponent": 3}, X**3),
    ("maximum", (X, Y), {}, np.maximum(X, Y)),
    ("minimum", (X,), {"other": 0.25}, np.minimum(X, 0.25)),
    ("clip_by_value", (X,), {"clip_value_min": -1.0, "clip_value_max": 1.0}, np.clip(X, -1, 1)),
    ("clip_by_value", (X,), {"clip_value_max": 1.0}, np.minimum(X, 1)),
    ("equal", (X, Y), {}, X == Y),
    ("eq", (I, I[:1]), {}, I == I[:1]),
    ("ne", (X, Y), {}, X != Y),
    ("less", (X, Y), {}, X < Y),
    ("lt", (X, ROW), {}, X < ROW),
    ("le", (X, Y), {}, X <= Y),
    ("greater", (X,), {"other": 0}, X > 0),
    ("gt", (X, ROW), {}, X > ROW),
    ("ge", (X, Y), {}, X >= Y),
    ("logical_and", (X > 0, Y > 1), {}, (X > 0) & (Y > 1)),
    ("logical_or", (X > 0, Y > 1), {}, (X > 0) | (Y > 1)),
    ("logical_xor", (X > 0, Y > 1), {}, (X > 0) ^ (Y > 1)),
    ("logical_not", (X > 0,), {}, ~(X > 0)),
    ("bitwise_and", (I, I + 1), {}, I & (I + 1)),
    ("bitwise_or", (I, I + 1), {}, I | (I + 1)),
    ("bitwise_xor", (I, I + 1), {}, I ^ (I + 1)),
    ("where", (X > 0, X, Y), {}, np.where(X > 0, X, Y)),
    ("select", (X > 0, X), {"other": 0.5}, np.where(X > 0, X, 0.5)),
    ("masked_fill", (X, X > 0), {"value": 9.0}, np.where(X > 0, 9.0, X)),
    ("cast", (X,), {"dtype": ms.int32}, X.astype(np.int32)),
    ("stop_gradient", (X,), {}, X),
    ("sum", (X,), {}, X.sum()),
    ("sum", (X,), {"dim": 1, "keepdim": True}, X.sum(1, keepdims=True)),
    ("sum", (I,), {"dim": (0, 1)}, np.int64(I.sum())),
    ("sum", (X,), {"dtype": ms.float32}, X.astype(np.float32).sum()),
    ("mean", (X,), {"axis": 0, "keep_dims": True}, X.mean(0, keepdims=True)),
    ("max", (X,), {}, (X.max(), np.int64(0))),
    ("max", (X,), {"axis": 1}, (X.max(1), X.argmax(1))),
    ("min", (X,), {"axis": 0, "keepdims": True}, (X.min(0, keepdims=True), X.argmin(0)[None])),
    ("amax", (X,), {"axis": (0, 1)}, X.max()),
    ("amin", (X,), {"axis": -1}, X.min(-1)),
    ("reduce_sum", (I,), {"axis": 0}, I.sum(0).astype(np.int32)),
    ("reduce_mean", (X,), {}, X.mean()),
    ("reduce_max", (X,), {"axis": 1}, X.max(1)),
    ("reduce_min", (X,), {}, X.min()),
    ("all", (X < 3.5,), {"axis": 1}, (X < 3.5).all(1)),
    ("any", (X > 2.5,), {"axis": 1, "keep_dims": True}, (X > 2.5).any(1, keepdims=True)),
    ("argmax", (X,), {}, X.argmax()),
    ("argmax", (X,), {"dim": 1, "keepdim": True}, X.argmax(1)[:, None]),
    ("argmin", (X,), {"axis": 0}, X.argmin(0).astype(np.int32)),
    ("matmul", (X, Y.T), {}, X @ Y.T),
    ("dot", (ROW, ROW), {}, ROW @ ROW),
    ("dot", (X, ROW), {}, X @ ROW),
    ("reshape", (X,), {"shape": (3, -1)}, X.reshape(3, 2)),
    ("flatten", (np.stack([X, Y]),), {}, np.stack([X, Y]).reshape(2, 6)),
    ("flatten", (np.stack([X, Y]),), {"start_dim": 0, "end_dim": 1}, np.stack([X, Y]).reshape(4, 3)),
    ("flatten", (ROW,), {}, ROW),
    ("transpose", (np.stack([X, Y]),), {"dims": (2, 0, 1)}, np.stack([X, Y]).transpose(2, 0, 1)),
    ("permute", (X,), {"axis": (1, 0)}, X.T),
    ("swapaxes", (np.stack([X, Y]), 0, 2), {}, np.stack([X, Y]).swapaxes(0, 2)),
    ("broadcast_to", (ROW,), {"shape": (2, -1)}, np.broadcast_to(ROW, (2, 3))),
    ("squeeze", (X[:, None],), {"axis": 1}, X),
    ("expand_dims", (X,), {"axis": 1}, X[:, None]),
    ("atleast_1d", (np.array(2.0),), {}, np.array([2.0])),
    ("atleast_2d", ((Tensor(ROW), Tensor(X)),), {}, (ROW[None], X)),
    ("atleast_3d", (X,), {}, X[..., None]),
    ("unsqueeze", (X,), {"dim": -1}, X[..., None]),
    ("gather", (X, np.array([1, -1, 0])), {"axis": 1}, X[:, [1, -1, 0]]),
    ("tensor_scatter_max", (ROW, PLACES, VALUES), {}, np.array([3.0, 2.0, 5.0])),
    ("tensor_scatter_min", (ROW, PLACES, VALUES), {}, np.array([0.5, 2.0, -1.0])),
    ("tensor_scatter_sub", (ROW, PLACES, VALUES), {}, np.array([-2.5, 2.0, 0.0])),
    ("unsorted_segment_min", (X, np.array([1, 1])), {"num_segments": 2}, np.stack([[FLOAT64.max] * 3, X.min(0)])),
    ("unsorted_segment_prod", (I, np.array([1, 1])), {"num_segments": 2}, np.stack([I[0] ** 0, I[0] * I[1]])),
    ("ger", (ROW, Y[0, :2]), {}, ROW[:, None] * Y[0, :2]),
    ("matrix_determinant", (SQUARE,), {}, np.linalg.det(SQUARE)),
    ("log_matrix_determinant", (SQUARE,), {}, tuple(np.linalg.slogdet(SQUARE))),
    ("matrix_exp", (np.diag(ROW),), {}, np.diag(np.exp(ROW))),
    ("soft_shrink", (X,), {"lambd": 0.75}, np.sign(X) * np.maximum(np.abs(X) - 0.75, 0)),
    ("bartlett_window", (), {"window_length": 6, "periodic": False}, np.bartlett(6).astype(np.float32)),
    ("bartlett_window", (4,), {}, np.float32([0, 0.5, 1, 0.5])),
    ("blackman_window", (6,), {"periodic": False, "dtype": ms.float64}, np.blackman(6)),
    ("blackman_window", (4,), {"dtype": ms.float64}, 0.42 - 0.5 * np.cos(TURN) + 0.08 * np.cos(2 * TURN)),
    ("hann_window", (4,), {"dtype": ms.float64}, 0.5 - 0.5 * np.cos(TURN)),
    ("hann_window", (1,), {}, np.ones(1, np.float32)),
    ("hamming_window", (4,), {"dtype": ms.float64}, 0.54 - 0.46 * np.cos(TURN)),
    ("zeros_like", (X,), {}, np.zeros_like(X)),
    ("ones_like", (X,), {"dtype": ms.int32}, np.ones(X.shape, np.int32)),
    ("full_like", (I,), {"fill_value": 7}, np.full(I.shape, 7, np.int32)),
    ("one_hot", (np.array([0, 2, 5]),), {"depth": 3}, np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0]])),
    ("one_hot", (np.array([0, 2]),), {"depth": 3, "axis": 0}, np.array([[1, 0], [0, 0], [0, 1]])),
    ("one_hot", (np.array([1]),), {"depth": 2, "on_value": 0.5, "off_value": -0.5}, np.float32([[-0.5, 0.5]])),
    ("softmax", (X,), {"axis": 0}, np_softmax(X, 0)),
    ("log_softmax", (X,), {}, np.log(np_softmax(X))),
    ("cross_entropy", (X, np.array([2, 0])), {}, -np.log(np_softmax(X)[[0, 1], [2, 0]]).mean()),
    ("nll_loss", (X, np.array([2, 0])), {"reduction": "sum"}, -(X[0, 2] + X[1, 0])),
    ("mse_loss", (X, Y), {}, ((X - Y) ** 2).mean()),
    ("l1_loss", (X, Y), {"reduction": "none"}, np.abs(X - Y)),
]


def close(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        for f, e in zip(found, expected, strict=True):
            close(f, e)
        return
    expected = np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, Tensor.from_numpy(expected).dtype)
    rtol = 1e-12 if expected.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=rtol)


def tensors(arrays: tuple[Any, ...]) -> list[Any]:
    return [Tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]


@pytest.mark.parametrize(("name", "arrays", "keywords", "expected"), CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
def test_functions_agree_with_numpy(
    name: str, arrays: tuple[Any, ...], keywords: dict[str, Any], expected: Any, compiled: bool
) -> None:
    function = getattr(ops, name)

    def run(*args):
        return function(*args, **keywords)

    close((ms.jit(run) if compiled else run)(*tensors(arrays)), expected)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
def test_functions_that_make_tensors(compiled: bool) -> None:
    def run(x, y):
        made = ops.zeros((2,)), ops.ones(3, ms.int32), ops.full((1, 2), 0.5), ops.arange(4), ops.arange(1, 2, 0.5)
        return (*made, ops.concat([x, y]), ops.cat((x, y), 1), ops.stack([x, y], axis=-1), ops.shape(x), ops.rank(x))

    found = (ms.jit(run) if compiled else run)(*tensors((X, Y)))
    assert found[-2:] == ((2, 3), 2)
    expected = (
        np.zeros(2, np.float32),
        np.ones(3, np.int32),
        np.full((1, 2), 0.5, np.float32),
        np.arange(4),
        np.float32([1.0, 1.5]),
        np.concatenate([X, Y]),
        np.concatenate([X, Y], 1),
        np.stack([X, Y], -1),
    )
    close(found[:-2], expected)


def test_numbers_are_weak(mode: str) -> None:
    def run(x, n):
        return ops.add(x, 1.5), ops.add(n, 1), ops.add(n, 1.5), ops.where(x > 0, 1.0, 0)

    run = ms.jit(run) if mode == "graph" else run
    dtypes = [t.dtype for t in run(Tensor([1.0], ms.float16), Tensor([1], ms.int32))]
    assert dtypes == [ms.float16, ms.int32, ms.float32, ms.float32]


# ---------------------------------------------------------------------------------------------------- derivatives
def test_the_first_greatest_element_takes_the_whole_cotangent(mode: str) -> None:
    # ... with `max`; `amax` shares it among the ties.
    x = Tensor([1.0, 3.0, 3.0])
    assert ms.grad(lambda x: ops.max(x, 0)[0])(x).tolist() == [0.0, 1.0, 0.0]
    assert ms.grad(lambda x: ops.amax(x))(x).tolist() == [0.0, 0.5, 0.5]
    assert ms.grad(lambda x: ops.clip_by_value(x, 0.0, 3.0))(x).tolist() == [1.0, 0.5, 0.5]


@pytest.mark.filterwarnings(r"ignore:\[AC2003")
def test_stop_gradient_ends_the_derivative_at_every_order(mode: str) -> None:
    def f(x):
        return (x * ops.stop_gradient(x * x)).sum()

    x = Tensor([2.0, 3.0])
    assert ms.grad(f)(x).tolist() == [4.0, 9.0]
    assert ms.grad(lambda x: ms.grad(f)(x).sum())(x).tolist() == [0.0, 0.0]


def test_stop_gradient_of_a_parameter_tuple(mode: str) -> None:
    w, v = Parameter([2.0, 3.0], name="w"), Parameter([5.0, 7.0], name="v")

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.both = ParameterTuple([w, v])

        def construct(self, x):
            first, second = ops.stop_gradient(self.both)
            return (first * second * x * w).sum()

    assert ms.grad(Net(), None, w)(Tensor([1.0, 10.0])).tolist() == [10.0, 210.0]


# ---------------------------------------------------------------------------------------------------- state
def test_assignment_keeps_its_place_among_reads(mode: str) -> None:
    w = Parameter([1.0, 2.0], name="w")

    def f(x):
        a = w * x
        ops.assign(w, a + 1)
        b = w * x
        returned = ops.assign_add(w, 10.0)
        ops.assign_sub(variable=w, value=x)
        return a, b, returned * 1

    f = ms.jit(f) if mode == "graph" else f
    a, b, c = f(Tensor([2.0, 2.0]))
    # w: 1, 2 -> 3, 5 -> 13, 15 -> 11, 13; what was returned is the value at that time.
    assert [a.tolist(), b.tolist(), c.tolist(), w.tolist()] == [[2.0, 4.0], [6.0, 10.0], [13.0, 15.0], [11.0, 13.0]]


def test_a_derivative_reaches_an_assigned_value(mode: str) -> None:
    w = Parameter([3.0], name="w")

    def f(x):
        ops.assign(w, x * x)
        return (w * w).sum()

    assert ms.grad(f)(Tensor([2.0])).tolist() == [32.0]  # x**4
    assert w.tolist() == [4.0]


@pytest.mark.parametrize("name", ["assign", "assign_add", "assign_sub"])
def test_only_parameters_are_assigned(mode: str, name: str) -> None:
    function = getattr(ops, name)

    def f(x):
        return function(x, x)

    with pytest.raises(TypeError, match="Parameter"):
        (ms.jit(f) if mode == "graph" else f)(Tensor([1.0]))


def test_a_value_that_does_not_fit_changes_nothing(mode: str) -> None:
    w = Parameter([1.0, 2.0], name="w")

    def f(x):
        ops.assign(w, x)

    f = ms.jit(f) if mode == "graph" else f
    with pytest.raises((ValueError, TypeError), match=r"shape|hold"):
        f(Tensor([1.0, 2.0, 3.0]))
    assert w.tolist() == [1.0, 2.0]


# ---------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("name", "arrays", "keywords", "error", "text"),
    [
        ("sum", (X,), {"dim": 5}, ValueError, "axis 5"),
        ("reshape", (X,), {"shape": (4, 2)}, ValueError, "reshape"),
        ("add", (X, ROW[:2]), {}, ValueError, "broadcast"),
        ("matmul", (X, X), {}, ValueError, "inner sizes differ"),
        ("dot", (np.stack([X, Y]), X), {}, ValueError, "dot"),
        ("flatten", (X,), {"start_dim": 2}, ValueError, "dimensions 2"),
        ("flatten", (X,), {"order": "F"}, NotImplementedError, "order"),
        ("gather", (X, np.array([1])), {"axis": 1, "batch_dims": 1}, ValueError, "batch dimensions"),
        ("gather", (X, np.array([3])), {"axis": 1}, IndexError, "out of bounds"),
        ("one_hot", (np.array([1]),), {"depth": 2, "axis": 2}, ValueError, "axis 2"),
        ("div", (X, Y), {"rounding_mode": "up"}, ValueError, "rounding_mode"),
        ("clip_by_value", (X,), {}, ValueError, "bound"),
        ("mse_loss", (X, Y), {"reduction": "average"}, ValueError, "reduction"),
        ("cross_entropy", (X, np.array([0, 1])), {"weight": 2.0}, ValueError, "weight"),
        ("cast", (X,), {"dtype": "float12"}, TypeError, "float12"),
    ],
)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
def test_bad_arguments(
    name: str, arrays: tuple[Any, ...], keywords: dict[str, Any], error: type[Exception], text: str, compiled: bool
) -> None:
    function = getattr(ops, name)

    def run(*args):
        return function(*args, **keywords)

    with pytest.raises(error, match=text):
        (ms.jit(run) if compiled else run)(*tensors(arrays))


def test_a_dynamic_axis_is_refused_in_compiled_code() -> None:
    with pytest.raises(TypeError, match="axis"):
        ms.jit(lambda x, n: ops.mean(x, axis=n))(Tensor(X), Tensor(1))


def test_a_dynamic_shape_is_checked_in_compiled_code() -> None:
    run, n = ms.jit(lambda x, n: ops.reshape(x, (n, -1))), X.shape[0]
    assert run(Tensor(X), Tensor(n)).tolist() == X.reshape(n, -1).tolist()
    with pytest.raises(ValueError, match="sizes do not fit"):
        run(Tensor(X), Tensor(X.size + 1))


def test_every_public_name_is_tested() -> None:
    tested = set()
    for file in pathlib.Path(__file__).parents[1].rglob("*.py"):
        # A name is used from a module, or stands alone in a string (of a table, say); prose does not count.
        for used, quoted in re.findall(r"""\b(?:ops|ms)\.(\w+)|["'](\w+)["']""", file.read_text("utf-8")):
            tested |= {used, quoted}
    assert set(ops.__all__) - tested == set()
