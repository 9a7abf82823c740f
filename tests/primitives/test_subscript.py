"""Reading and writing by index, eager and traced, against NumPy's own indexing."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler import eager, jit
from autodiff_compiler.dtypes import int64
from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.primitive import REGISTRY, call, kernel_of
from autodiff_compiler.primitives.index import dynamic_index
from autodiff_compiler.primitives.requirements import SymScalar
from autodiff_compiler.runtime.tensor import Tensor

X = np.arange(60.0).reshape(3, 4, 5)
A, B = np.array([2, 0, -1]), np.array([[1], [-2]])
S = slice(None)

INDICES = [
    1, -1, (0, 2, -1), (), True, (S, True), ..., (..., 0), (1, ...), (S, 1), None, (None, 1, None),
    (S, None, 2, ..., None),
    slice(1, 3), slice(None, None, -1), slice(5, 0, -2), slice(2, 2), (S, slice(1, None, 2), slice(-2, None)),
    (slice(0, 0), 1), np.int64(1), (np.int32(-1), S), slice(-100, 100),
    [0, 2], A, (A,), (S, A), (..., A), (A, 1), (1, A), (1, S, A), (A, S, 1), (A, None, 1), (None, A), (A, S, B),
    (S, A, B),
    (A, B), (B, S, A), (A, B, B), (slice(1, None), A, slice(None, None, 2)), (A, slice(1, 3), None), np.array(1),
    (S, np.array(-1)),
    (np.zeros((0,), int),), ([],), (np.array([[0, 1], [2, 0]]), S, 3), [True, False, True],
    (S, [True, False, False, True]),
    (S, [True, False, True, False], [4, 0]), X > 30, (X[0] > 10)[None].repeat(3, 0), (1, X[0] > 10),
]  # fmt: skip


def _label(index):
    return str(index).replace("\n", "")[:50]


@pytest.mark.parametrize("index", INDICES, ids=_label)
def test_getitem_follows_numpy(graph, index):
    expected = X[index]
    found = call.getitem(Tensor(X), index).asnumpy()
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(graph.run(lambda x: call.getitem(x, index), X)[0], expected)
    v = np.cos(expected)  # the derivative of a linear map is its transpose: <v, x[i]> = <dx, x>
    _, (dx,), _ = eager.differentiate(lambda x: call.getitem(x, index), [Tensor(X)], seeds=[Tensor(v)])
    assert np.sum(dx.asnumpy() * X) == pytest.approx(np.sum(v * expected), rel=1e-12)


@pytest.mark.parametrize("index", INDICES, ids=_label)
def test_setitem_follows_numpy(graph, index):
    part = X[index]
    for value in (-1.0, -part, -part[..., :1] if part.ndim else -part):
        expected = X.copy()
        expected[index] = value
        given = value if isinstance(value, float) else Tensor(value)
        np.testing.assert_array_equal(call.setitem(Tensor(X), index, given).asnumpy(), expected)
        if isinstance(value, float):
            traced = graph.run(lambda x: call.setitem(x, index, value), X)
        else:
            traced = graph.run(lambda x, v: call.setitem(x, index, v), X, value)
        np.testing.assert_array_equal(traced[0], expected)


@pytest.mark.parametrize("index", INDICES, ids=_label)
def test_derivatives_of_setitem(index):
    value = X[index] + 1.0
    seed = np.sin(X)
    _, (dx, dv), _ = eager.differentiate(
        lambda x, v: call.setitem(x, index, v), [Tensor(X), Tensor(value)], seeds=[Tensor(seed)]
    )
    zeroed = seed.copy()
    zeroed[index] = 0.0
    np.testing.assert_array_equal(dx.asnumpy(), zeroed)
    # Linear in the value too; where an index repeats only the last value counts, as NumPy assigns.
    assigned = np.zeros_like(X)
    assigned[index] = value
    assert np.sum(dv.asnumpy() * value) == pytest.approx(np.sum(seed * assigned), rel=1e-12, abs=1e-12)


def test_indices_known_at_run_time(graph):
    for i in (0, 2, -1, -3):
        at = np.array(i)
        np.testing.assert_array_equal(graph.run(lambda x, n: call.getitem(x, SymScalar(n, int)), X, at)[0], X[i])
        np.testing.assert_array_equal(
            graph.run(lambda x, n: call.getitem(x, (slice(1), 2, SymScalar(n, int))), X, at)[0], X[:1, 2, i]
        )
        np.testing.assert_array_equal(graph.run(lambda x, n: call.getitem(x, (n, n, 0)), X, at)[0], X[i, i, 0])
        np.testing.assert_array_equal(graph.run(lambda x, n: dynamic_index(x, n, -2), X, at)[0], X[:, i])
        expected = X.copy()
        expected[:, i] = 7.0
        np.testing.assert_array_equal(
            graph.run(lambda x, n: call.setitem(x, (slice(None), n), 7.0), X, at)[0], expected
        )
        np.testing.assert_array_equal(call.setitem(Tensor(X), (slice(None), Tensor(at)), 7.0).asnumpy(), expected)
    np.testing.assert_array_equal(
        graph.run(lambda x, a, b: call.getitem(x, (a, slice(None), b)), X, A.astype(np.int32), B)[0], X[A, :, B]
    )


@pytest.mark.parametrize("i", [3, -4])
def test_an_index_out_of_bounds_raises(graph, i):
    with pytest.raises(IndexError, match=f"index {i} is out of bounds for size 3"):
        call.getitem(Tensor(X), i)
    for fn in (lambda x, n: call.getitem(x, n), lambda x, n: call.setitem(x, n, 0.0), lambda x, n: call.gather(x, n)):
        with pytest.raises(IndexError, match=f"index {i} is out of bounds for size 3"):
            fn(Tensor(X), Tensor(i))
        with pytest.raises(IndexError, match=f"index {i} is out of bounds for size 3"):
            graph.run(fn, X, np.array(i))


def test_bad_indices_are_refused():
    x = Tensor(X)
    for index, error, text in (
        ((0, 0, 0, 0), IndexError, "too many indices"), ((..., ...), IndexError, "single ellipsis"),
        (1.0, TypeError, "not float"),
        ("a", TypeError, "not str"), (False, TypeError, "False cannot index"),
        ([0.5], DTypeError, "must be an integer"),
        ([True], IndexError, "mask of shape"), ((A, np.array([0, 1])), ShapeError, "do not broadcast"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            call.getitem(x, index)
    with pytest.raises(ShapeError, match=r"do not broadcast|does not fit"):
        call.setitem(x, 0, Tensor(np.ones(4)))
    with pytest.raises(ShapeError, match="does not fit"):
        call.setitem(x, (0, slice(1)), Tensor(np.ones((2, 5))))
    with pytest.raises(DTypeError, match="must be a Tensor"):
        call.setitem(x, 0, "a")


def test_masks_known_at_run_time(graph):
    mask = X > 30
    np.testing.assert_array_equal(jit(lambda x, m: call.getitem(x, m))(Tensor(X), Tensor(mask)).asnumpy(), X[mask])
    np.testing.assert_array_equal(call.getitem(Tensor(X), Tensor(mask)).asnumpy(), X[mask])
    expected = np.where(mask, -1.0, X)
    np.testing.assert_array_equal(graph.run(lambda x, m: call.setitem(x, m, -1), X, mask)[0], expected)
    rows = np.array([True, False, True])
    expected = X.copy()
    expected[rows] = np.arange(5.0)
    np.testing.assert_array_equal(
        graph.run(lambda x, m, v: call.setitem(x, m, v), X, rows, np.arange(5.0))[0], expected
    )
    many = np.arange(40.0).reshape(2, 4, 5)
    expected[rows] = many
    np.testing.assert_array_equal(call.setitem(Tensor(X), Tensor(rows), Tensor(many)).asnumpy(), expected)
    found = jit(lambda x, m, v: call.setitem(x, m, v))(Tensor(X), Tensor(rows), Tensor(many))
    np.testing.assert_array_equal(found.asnumpy(), expected)
    with pytest.raises(IndexError, match="does not fit"):
        call.setitem(Tensor(X), Tensor([True, False]), 0.0)


def test_a_value_is_cast_to_the_tensors_dtype(graph):
    x = np.arange(4)
    for fn in (lambda x: call.setitem(x, 1, 2.7), lambda x: call.setitem(x, call.equal(x, 1), 2.7)):
        assert fn(Tensor(x)).tolist() == [0, 2, 2, 3]
        assert fn(Tensor(x)).dtype is int64
        assert graph.run(fn, x)[0].tolist() == [0, 2, 2, 3]


def test_scatter_and_take_along(graph):
    x, at = np.zeros((2, 3)), np.array([0, 2, 0])
    added = np.zeros((2, 3))
    np.add.at(added, (slice(None), at), X[:2, 0, :3])
    for found in (
        call.scatter_add(Tensor(x), Tensor(at), Tensor(X[:2, 0, :3]), axis=1).asnumpy(),
        graph.run(lambda x, i, u: call.scatter_add(x, i, u, axis=-1), x, at, X[:2, 0, :3])[0],
    ):
        np.testing.assert_array_equal(found, added)
    order = np.argsort(-X, axis=1)
    np.testing.assert_array_equal(
        graph.run(lambda x, i: call.take_along_axis(x, i, 1), X, order)[0], np.take_along_axis(X, order, 1)
    )
    put = np.zeros((3, 4, 5))
    np.put_along_axis(put, order[:, :1], X[:, :1], 1)
    found = graph.run(
        lambda i, u: call.add_along_axis(call.zeros((3, 4, 5), np.float64), i, u, 1), order[:, :1], X[:, :1]
    )
    np.testing.assert_array_equal(found[0], put)
    with pytest.raises(ShapeError, match="dimensions"):
        call.take_along_axis(Tensor(X), Tensor(at))


def test_check_index_for_labels():
    kernel = kernel_of(REGISTRY["check_index"])
    assert kernel(np.array([-1, 0], np.int8), size=200, negative=True).tolist() == [199, 0]
    with pytest.raises(IndexError, match="index -1"):
        kernel(np.array([0, -1]), size=2, negative=False)
    assert kernel(np.zeros(0, np.int32), size=0, negative=True).dtype == np.int64
