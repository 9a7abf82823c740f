"""Reading and writing at places, sorting and searching, eager and traced, against NumPy and plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler import Tensor, bfloat16, eager, float16, grad, jit, ops
from autodiff_compiler.dtypes import int32, int64
from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.primitive import METHODS, REGISTRY, call, kernel_of
from autodiff_compiler.primitives.samples import Draw

X = Draw(5).distinct(3, 4)
Y = Draw(6).distinct(2, 3, 4)


@pytest.fixture
def agrees(graph):
    def check(fn, expected, *arrays):
        found = fn(*map(Tensor, arrays))
        found, expected = (x if isinstance(x, tuple) else (x,) for x in (found, expected))
        traced = graph.run(fn, *arrays)
        assert len(found) == len(traced) == len(expected)
        for a, b, e in zip(found, traced, expected, strict=True):
            assert a.asnumpy().dtype == b.dtype
            assert a.shape == b.shape == np.shape(e)
            np.testing.assert_array_equal(a.asnumpy(), e)
            np.testing.assert_array_equal(b, e)

    return check


# ------------------------------------------------------------------------------------------------ reading
def test_take(agrees):
    at = np.array([[0, -1], [5, 11]], np.int32)
    agrees(ops.take, np.take(X, at), X, at)
    agrees(lambda x, i: call.take(x, i, 1, "clip"), np.take(X, [-3, 9], 1, mode="clip"), X, np.array([-3, 9]))
    agrees(lambda x, i: call.take(x, i, 1, "wrap"), np.take(X, [-3, 9], 1, mode="wrap"), X, np.array([-3, 9]))
    with pytest.raises(IndexError, match="index 12"):
        ops.take(Tensor(X), Tensor([12]))


def test_gather_elements(agrees):
    at = np.array([[0, 3, 3], [1, 1, -1]])
    agrees(lambda x, i: ops.gather_elements(x, 1, i), np.take_along_axis(X[:2], at, 1), X, at)
    at = np.array([[0, 2], [1, 1]])
    agrees(lambda x, i: ops.gather_d(x, 0, i), np.take_along_axis(X[:, :2], at, 0), X, at)
    with pytest.raises(ShapeError, match="does not fit"):
        ops.gather_elements(Tensor(X), 1, Tensor(np.zeros((4, 1), int)))


def test_gather_nd(agrees):
    at = np.array([[[0, 1], [1, -1]], [[1, 2], [0, 0]]])
    agrees(ops.gather_nd, Y[at[..., 0], at[..., 1]], Y, at)
    agrees(ops.gather_nd, Y[[1, 0]], Y, np.array([[1], [0]], np.int32))
    agrees(ops.gather_nd, Y[1, 2, 3], Y, np.array([1, 2, 3]))
    with pytest.raises(IndexError, match="index 3 is out of bounds for size 3"):
        ops.gather_nd(Tensor(Y), Tensor([0, 3]))


@pytest.mark.parametrize("axis", [1, 2])
def test_gather_with_batch_dimensions(agrees, axis):
    at = np.array([[[0, 1], [2, 2]], [[1, 0], [0, 1]]])
    expected = np.stack([np.take(Y[b], at[b], axis - 1) for b in range(2)])
    agrees(lambda x, i: ops.gather(x, i, axis, 1), expected, Y, at)
    with pytest.raises(ShapeError, match="batch dimensions"):
        ops.gather(Tensor(Y), Tensor(at[:1]), axis, 1)


def test_index_select_and_slices(agrees):
    agrees(lambda x, i: ops.index_select(x, 1, i), X[:, [1, 1]], X, np.array([1, 1], np.int32))
    agrees(lambda x: ops.narrow(x, 1, 1, 2), X[:, 1:3], X)
    agrees(lambda x, n: ops.narrow(x, -1, n, 2), X[:, 2:], X, np.array(-2))
    agrees(lambda x: ops.slice(x, (1, 0), (-1, 3)), X[1:, :3], X)
    agrees(lambda x, n: ops.slice(x, (0, n), (2, 2)), X[:2, 1:3], X, np.array(1))
    agrees(lambda x, n: ops.slice(x, n, (2, 2)), X[1:, 2:], X, np.array([1, 2]))
    agrees(lambda x: ops.strided_slice(x, (0, 3), (3, 0), (2, -1)), X[0:3:2, 3:0:-1], X)
    agrees(lambda y: ops.strided_slice(y, (0, 2), (0, 3), (1, 1), 0, 0, 1, 0, 2), Y[..., 2], Y)
    agrees(lambda y: ops.strided_slice(y, (0, 1), (1, 9), (1, 1), 0, 2, 0, 1, 0), Y[None, 1:], Y)
    for bounds in (((0,), (3, 3), (1, 1)), ((0, 0), (3,), (1, 1)), ((0, 0), (3, 3), (1,))):
        with pytest.raises(ValueError, match="differ in length"):
            ops.strided_slice(Tensor(X), *bounds)
    with pytest.raises(IndexError, match="leave the 4 elements"):
        ops.narrow(Tensor(X), 1, 3, 2)
    with pytest.raises(IndexError, match="out of bounds"):
        jit(lambda x, n: ops.narrow(x, 1, n, 2))(Tensor(X), Tensor(3))
    select = METHODS["select"]
    agrees(lambda x: select(x, 1, 2), X[:, 2], X)
    agrees(lambda x: select(x, call.greater(x, 0), 7.0), np.where(X > 0, X, 7), X)


def test_results_of_unknown_size():
    mask = X > 0
    assert ops.masked_select(Tensor(X), Tensor(mask)).tolist() == X[mask].tolist()
    row = np.array([True, False, True, True])
    assert ops.masked_select(Tensor(X), Tensor(row)).tolist() == X[:, row].reshape(-1).tolist()
    assert ops.nonzero(Tensor(mask)).tolist() == np.argwhere(mask).tolist()
    assert [i.tolist() for i in ops.nonzero(Tensor(mask), as_tuple=True)] == [i.tolist() for i in mask.nonzero()]
    values, at = ops.unique(Tensor([[3, 1], [3, 2]]))
    assert (values.tolist(), at.tolist(), at.dtype) == ([3, 1, 2], [[0, 1], [0, 2]], int64)
    assert ops.unique(Tensor([2.0, 2.0]))[1].dtype is int32
    runs = ops.unique_consecutive(Tensor([1, 1, 2, 1]), True, True)
    assert [r.tolist() for r in runs] == [[1, 2, 1], [0, 0, 1, 2], [2, 1, 1]]
    assert ops.unique_consecutive(Tensor([[1, 1], [1, 1], [2, 1]]), dim=0).tolist() == [[1, 1], [2, 1]]
    chosen = grad(lambda x: (ops.masked_select(x, Tensor(mask)) ** 2).sum())(Tensor(X))
    assert chosen.tolist() == (2 * X * mask).tolist()
    assert grad(lambda x: (ops.unique(x)[0] * 3).sum())(Tensor([5.0, 4.0, 5.0])).tolist() == [3.0, 3.0, 0.0]


# ------------------------------------------------------------------------------------------------ order
def _with_ties(shape, seed):
    return np.random.default_rng(seed).integers(0, 4, shape).astype(np.float64)


@pytest.mark.parametrize("shape", [(5,), (3, 4), (1000,), (40, 30)])
@pytest.mark.parametrize("distinct", [True, False])
def test_sorting_is_stable(agrees, shape, distinct):
    x = Draw(1).distinct(*shape) if distinct else _with_ties(shape, 3)
    for axis in range(-len(shape), 0):
        order = np.argsort(x, axis, kind="stable")
        agrees(lambda x, a=axis: ops.sort(x, a), (np.take_along_axis(x, order, axis), order), x)
        falling = np.argsort(-x, axis, kind="stable")
        agrees(lambda x, a=axis: ops.argsort(x, a, True), falling, x)
        agrees(lambda x, a=axis: ops.sort(x, a, True), (np.take_along_axis(x, falling, axis), falling), x)
    agrees(ops.msort, np.sort(x, 0), x)


@pytest.mark.parametrize("shape", [(7,), (2, 1000), (300, 4)])
@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_takes_the_first_of_equal_elements(agrees, shape, distinct, largest):
    x = Draw(2).distinct(*shape) if distinct else _with_ties(shape, 4)
    for axis in range(-len(shape), 0):
        order = np.argsort(-x if largest else x, axis, kind="stable")
        for k in {1, min(3, shape[axis])}:
            first = order.take(range(k), axis)
            expected = np.take_along_axis(x, first, axis), first
            agrees(lambda x, k=k, a=axis: ops.topk(x, k, a, largest), expected, x)
    assert ops.top_k(Tensor(x), 2)[1].dtype is int32
    with pytest.raises(ShapeError, match="cannot be chosen"):
        ops.topk(Tensor(x), shape[-1] + 1)


def test_nan_is_the_greatest():
    for n in (4, 2000):
        x = np.arange(n, dtype=np.float64)[::-1].copy()
        x[1] = np.nan
        assert ops.argsort(Tensor(x)).tolist()[-1] == 1
        assert ops.argsort(Tensor(x), descending=True).tolist()[:2] == [1, 0]
        assert ops.topk(Tensor(x), 2)[1].tolist() == [1, 0]
        assert ops.topk(Tensor(x), 1, largest=False)[1].tolist() == [n - 1]


@pytest.mark.parametrize("dtype", [float16, bfloat16])
def test_narrow_floats_sort_as_float32(dtype):
    x = Tensor(np.linspace(3, -3, 700)).astype(dtype)
    values, order = ops.sort(x)
    assert values.dtype is dtype
    wide = x.astype("float32").asnumpy()
    np.testing.assert_array_equal(order.asnumpy(), np.argsort(wide, kind="stable"))
    assert ops.searchsorted(values, x).shape == (700,)


def test_derivative_of_sorted_values():
    x, w = Tensor([3.0, 1.0, 2.0]), Tensor([10.0, 20.0, 30.0])
    assert grad(lambda x: (ops.sort(x)[0] * w).sum())(x).tolist() == [30.0, 10.0, 20.0]
    assert grad(lambda x: (ops.topk(x, 2)[0] * w[:2]).sum())(x).tolist() == [10.0, 0.0, 20.0]


@pytest.mark.parametrize("axis", [-1, 0])
def test_one_hot(agrees, axis):
    at = np.array([[0, 2], [-1, 3]], np.int32)
    hot = np.moveaxis(at[..., None] == np.arange(3), -1, axis)
    agrees(lambda i: ops.one_hot(i, 3, axis=axis), hot.astype(int), at)
    agrees(lambda i: ops.one_hot(i, 3, 2.5, -1, axis), np.where(hot, 2.5, -1), at)
    agrees(lambda i, v: ops.one_hot(i, 3, v, 0.0, axis), np.where(hot, 7.0, 0.0), at, np.array(7.0))
    assert ops.one_hot(Tensor(at), 3, 1.0, 0.0).asnumpy().dtype == np.float32
    for index, depth, text in ((Tensor(1.5), 2, "takes integers"), (Tensor(1), -1, "must not be negative")):
        with pytest.raises((DTypeError, ShapeError), match=text):
            ops.one_hot(index, depth)


def test_searching(agrees):
    a, v = np.array([1.0, 3.0, 3.0, 5.0]), np.array([[0.0, 3.0], [5.0, 6.0]])
    for side in ("left", "right"):
        agrees(lambda a, v, s=side: ops.searchsorted(a, v, side=s), np.searchsorted(a, v, side), a, v)
        rows = np.stack([np.searchsorted(a + i, v[i], side) for i in range(2)])
        agrees(lambda a, v, s=side: ops.searchsorted(a, v, side=s), rows, np.stack([a, a + 1]), v)
    agrees(lambda a, v: ops.searchsorted(a, v, sorter=call.arange(3, -1, -1)), np.searchsorted(a, v), a[::-1].copy(), v)
    agrees(lambda v: ops.bucketize(v, [1.0, 5.0], right=True), np.digitize(v, [1.0, 5.0]), v)
    assert ops.searchsorted(Tensor(a), Tensor(v), out_int32=True).dtype is int32
    with pytest.raises(ShapeError, match="leading sizes"):
        ops.searchsorted(Tensor(Y), Tensor(X))


# ------------------------------------------------------------------------------------------------ writing
PLACES = np.array([[0, 1], [2, 3], [0, 1]])
UPDATES = np.array([5.0, -1.0, 0.25])


@pytest.mark.parametrize(
    ("name", "apply"),
    [("add", np.add.at), ("sub", np.subtract.at), ("mul", np.multiply.at), ("div", np.divide.at),
     ("max", np.maximum.at), ("min", np.minimum.at)],
)  # fmt: skip
def test_updates_at_places(graph, name, apply):
    fn = getattr(ops, f"tensor_scatter_{name}")
    for x, places, updates in (
        (X, PLACES, UPDATES), (X, PLACES[:, :1], np.cos(np.arange(12.0)).reshape(3, 4)),
        (Y, np.array([[[1, 2]], [[1, 2]]]), 1 + np.sin(np.arange(8.0)).reshape(2, 1, 4)),
    ):  # fmt: skip
        expected = x.copy()
        apply(expected, tuple(np.moveaxis(places, -1, 0)), updates)
        for found in (fn(Tensor(x), Tensor(places), Tensor(updates)).asnumpy(), graph.run(fn, x, places, updates)[0]):
            np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_replaced_at_places(agrees):
    expected = X.copy()
    expected[0, 1], expected[2, 3] = 0.25, -1.0
    agrees(ops.tensor_scatter_update, expected, X, PLACES, UPDATES)
    places, updates = np.array([[1], [3], [1]]), np.array([1.0, 5.0, 2.0])
    agrees(lambda i, u: ops.scatter_nd(i, u, (5,)), [0, 3, 0, 5, 0], places, updates)
    expected = X.copy()
    expected[1:] = 7
    agrees(lambda x, i: ops.index_fill(x, 0, i, 7), expected, X, np.array([1, 2]))
    expected = X.copy()
    expected[:, [1, 0]] += Y[0, :, :2]
    agrees(lambda x, i, y: ops.index_add(x, i, y, 1), expected, X, np.array([1, 0]), Y[0, :, :2])
    with pytest.raises(DTypeError, match="not defined for int64"):
        ops.tensor_scatter_div(Tensor([1]), Tensor([[0]]), Tensor([2]))


def test_scatter_along_an_axis(agrees):
    at, source = np.array([[1, 0, 1], [3, 2, 0]]), np.arange(8.0).reshape(2, 4)
    expected, added = X.copy(), X.copy()
    np.put_along_axis(expected[:2], at, source[:, :3], 1)
    for i, j in np.ndindex(2, 3):
        added[i, at[i, j]] += source[i, j]
    agrees(lambda x, i, s: ops.scatter(x, 1, i, s), expected, X, at, source)
    agrees(lambda x, i, s: METHODS["scatter_add"](x, 1, i, s), added, X, at, source)
    agrees(lambda x, i: ops.scatter(x, 1, i, 3.0), np.where([[1, 1, 0, 0], [1, 0, 1, 1], [0] * 4], 3.0, X), X, at)
    column, update = np.array([[0, 2], [2, 2]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = X.copy()
    expected[0, 0], expected[2, 0], expected[2, 1] = 1.0, 3.0, 4.0
    agrees(lambda x, i, u: ops.tensor_scatter_elements(x, i, u), expected, X, column, update)
    expected = X.copy()
    np.add.at(expected, (column, np.array([[0, 1]])), update)
    agrees(lambda x, i, u: ops.tensor_scatter_elements(x, i, u, 0, "add"), expected, X, column, update)


def test_slices_written(agrees):
    expected = X.copy()
    expected[:, 1] = 9.0
    agrees(lambda x, s: ops.select_scatter(x, s, 1, 1), expected, X, np.full(3, 9.0))
    expected = X.copy()
    expected[:, ::2] = 1.0
    agrees(lambda x, s: ops.slice_scatter(x, s, 1, step=2), expected, X, np.ones((3, 2)))
    put = METHODS["index_put"]
    i, j = np.array([0, 0, 1]), np.array([1, 1, -1])
    expected, added = X.copy(), X.copy()
    expected[i, j] = UPDATES
    np.add.at(added, (i, j), UPDATES)
    agrees(lambda x, i, j, u: put(x, (i, j), u), expected, X, i, j, UPDATES)
    agrees(lambda x, i, j, u: put(x, [i, j], u, True), added, X, i, j, UPDATES)
    expected = X.copy()
    expected[[2, 0]] = X[:2]
    agrees(lambda x, v: ops.inplace_update(x, v, (2, 0)), expected, X, X[:2])
    for fn, sign in ((ops.inplace_add, 1), (ops.inplace_sub, -1)):
        expected = X.copy()
        expected[[2, 0]] += sign * X[:2]
        agrees(lambda x, v, fn=fn: fn(x, v, (2, 0)), expected, X, X[:2])


def test_lists_are_written(graph):
    def fn(x, a):
        x = call.setitem(x, 0, [a, 1, 2.5, a])
        return call.setitem(x, (slice(None), 1), ([a, a, 3.0]))

    expected = X.copy()
    expected[0] = [7.0, 1.0, 2.5, 7.0]
    expected[:, 1] = [7.0, 7.0, 3.0]
    np.testing.assert_array_equal(graph.run(fn, X, np.array(7.0))[0], expected)
    np.testing.assert_array_equal(fn(Tensor(X), Tensor(7.0, "float64")).asnumpy(), expected)
    x = Tensor(X.copy())
    x[0] = [7.0, 1.0, 2.5, 7.0]
    x[1:, :2] = [[1, 2], [3, 4]]
    assert x.tolist()[0] == [7.0, 1.0, 2.5, 7.0]
    assert x.tolist()[2][:2] == [3.0, 4.0]

    def of_list(a):
        x = ops.zeros(3)
        x[:2] = [a, a * a]
        return (x * x).sum()

    assert grad(of_list)(Tensor(3.0)).item() == pytest.approx(2 * 3 + 4 * 27)
    with pytest.raises(ShapeError, match="do not broadcast"):
        x[0] = [1.0, 2.0]


def test_masked_scatter(agrees):
    mask = np.array([[True, False, True], [False, False, True]])
    x, source = np.zeros((2, 3)), np.arange(5.0) + 1
    expected = x.copy()
    expected[mask] = source[:3]
    masked_scatter = METHODS["masked_scatter"]
    agrees(masked_scatter, expected, x, mask, source)
    agrees(masked_scatter, x, x, np.zeros((2, 3), bool), np.zeros(0))
    with pytest.raises(IndexError, match="index 2 is out of bounds for size 2"):
        masked_scatter(Tensor(x), Tensor(mask), Tensor(source[:2]))


# ------------------------------------------------------------------------------------------------ segments
def test_segments(agrees):
    ids = np.array([0, 2, -1, 0], np.int32)
    x = Draw(8).distinct(4, 2)
    low, high = np.finfo(np.float64).min, np.finfo(np.float64).max
    for name, reduce, empty in (
        ("sum", np.sum, 0.0), ("prod", np.prod, 1.0), ("max", np.max, low), ("min", np.min, high),
    ):  # fmt: skip
        expected = np.stack([reduce(x[ids == s], 0) if s != 1 else np.full(2, empty) for s in range(3)])
        agrees(lambda x, i, n=name: getattr(ops, f"unsorted_segment_{n}")(x, i, 3), expected, x, ids)
    with pytest.raises(IndexError, match="index 3 is out of bounds for size 3"):
        ops.unsorted_segment_sum(Tensor(x), Tensor([0, 3, 0, 0]), 2)


def test_bincount(agrees):
    x, w = np.array([0, 1, 1, 3], np.int32), np.array([1.0, 0.5, 0.25, 2.0])
    assert ops.bincount(Tensor(x)).asnumpy().dtype == np.float32
    assert ops.bincount(Tensor(x), minlength=2).tolist() == [1, 2, 0, 1]
    agrees(lambda x: ops.bincount(x, minlength=6), np.bincount(x, minlength=6), x)
    agrees(lambda x, w: ops.bincount(x, w, 5), np.bincount(x, w, 5), x, w)
    assert grad(lambda w: (ops.bincount(Tensor(x), w) ** 2).sum())(Tensor(w)).tolist() == [2.0, 1.5, 1.5, 4.0]
    with pytest.raises(IndexError, match="index 3 is out of bounds for size 2"):
        jit(lambda x: ops.bincount(x, minlength=2))(Tensor(x))
    for dtype in (np.uint8, np.uint64):  # that hold no -1
        agrees(lambda x: ops.bincount(x, minlength=6), np.bincount(x, minlength=6), x.astype(dtype))
        assert ops.bincount(Tensor(np.array([], dtype))).shape == (0,)


# ------------------------------------------------------------------------------------------------ kernels
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shape", [(50, 120), (50, 4, 30), (7,)])
def test_large_scatters_take_the_fast_ways(dtype, shape):
    """Sparse product and flattened positions give what `np.add.at` gives on slices."""
    rng = np.random.default_rng(0)
    x = (rng.normal(size=shape) * 100).astype(dtype)
    for axis in range(-len(shape), 0):
        at = rng.integers(0, shape[axis], 90)
        where = (slice(None),) * (x.ndim + axis) + (at,)
        updates = (rng.normal(size=x[where].shape) * 100).astype(dtype)
        for name, apply in (("add", np.add.at), ("max", np.maximum.at)):
            expected = x.copy()
            apply(expected, where, updates)
            found = kernel_of(REGISTRY[f"scatter_{name}"])(x, at, updates, axis=axis)
            np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)
            other = np.asfortranarray(x)
            found = kernel_of(REGISTRY[f"scatter_{name}"])(other, at, updates, axis=axis)
            np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_factors_of_zero_have_exact_second_derivatives():
    """d2/du0 du1 of x u0 u1 u2 is x u2, whatever is zero."""

    def product(x, u):
        return ops.tensor_scatter_mul(x, Tensor([[0], [0], [0]]), u).sum()

    x, u = Tensor([2.0]), Tensor([0.0, 0.0, 5.0])
    row = lambda i: grad(lambda u: grad(lambda u: product(x, u))(u)[i])(u).tolist()
    assert row(0) == [0.0, 10.0, 0.0]
    assert row(1) == [10.0, 0.0, 0.0]
    assert row(2) == [0.0, 0.0, 0.0]
    assert jit(grad(product, 1))(x, Tensor([3.0, 0.0, 5.0])).tolist() == [0.0, 30.0, 0.0]


def test_eager_and_compiled_agree_on_narrow_floats():
    @jit
    def f(x, i):
        y = ops.tensor_scatter_add(x, i.reshape(3, 1), x[:3])
        values, order = ops.topk(y, 2)
        return ops.sort(values * y.gather_elements(1, order), 0)[0], ops.unsorted_segment_max(y[:3], i, 4)

    for dtype in (float16, bfloat16):
        x, i = Tensor(X).astype(dtype), Tensor([0, 2, 0])
        for compiled, direct in zip(f(x, i), f.__wrapped__(x, i), strict=True):
            assert compiled.dtype is direct.dtype is dtype
            assert compiled.tolist() == direct.tolist()


def test_gradients_through_extremes_of_segments():
    x, ids = Tensor([1.0, 3.0, 3.0, 2.0]), Tensor([0, 0, 0, 1])
    _, (dx,), _ = eager.differentiate(lambda x: ops.unsorted_segment_max(x, ids, 2), [x])
    assert dx.tolist() == [0.0, 0.5, 0.5, 1.0]
