"""What users call: promotion, broadcasting and defaults, eager and traced, with NumPy as the independent reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from autodiff_compiler import dtypes as dt
from autodiff_compiler import eager
from autodiff_compiler.errors import CompileError, DTypeError, GradientWarning, ShapeError, StaticValueError
from autodiff_compiler.ir.primitive import METHODS, PROPERTIES, REGISTRY, call
from autodiff_compiler.ir.sizes import symbol
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives.in_place import IN_PLACE
from autodiff_compiler.primitives.requirements import SymScalar
from autodiff_compiler.runtime.tensor import Tensor

X = np.arange(1.0, 7.0).reshape(2, 3)
V = np.array([3, -3, 7, -7], np.int32)


@pytest.fixture
def both(graph):
    """The result of a function in eager mode, after checking that the traced one gives the same bits and dtype."""

    def compute(fn, *arrays):
        arrays = [np.asarray(a) for a in arrays]
        found = fn(*map(Tensor, arrays)).asnumpy()
        (traced,) = graph.run(fn, *arrays)
        assert traced.dtype == found.dtype
        np.testing.assert_array_equal(traced, found)
        return found

    return compute


# ------------------------------------------------------------------------------------------------ promotion
ORDER = [dt.bool_, dt.int8, dt.int16, dt.int32, dt.int64, dt.float16, dt.float32, dt.float64]


def _ones(dtype):
    return np.ones(2, dtype.numpy)


@pytest.mark.parametrize("low", ORDER, ids=lambda d: d.short)
@pytest.mark.parametrize("high", ORDER, ids=lambda d: d.short)
def test_two_tensors_meet_at_the_higher_dtype(both, low, high):
    expected = max(low, high, key=ORDER.index)
    assert both(call.maximum, _ones(low), _ones(high)[0]).dtype == expected.numpy  # 0-d tensors count fully


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (dt.uint8, dt.int8, dt.int16), (dt.uint8, dt.int32, dt.int32), (dt.bool_, dt.uint8, dt.uint8),
        (dt.int64, dt.float16, dt.float16), (dt.bfloat16, dt.float16, dt.float32), (dt.int64, dt.bfloat16, dt.bfloat16),
        (dt.bfloat16, dt.float32, dt.float32), (dt.bfloat16, dt.float64, dt.float64),
    ],
)  # fmt: skip
def test_mixed_dtypes(both, a, b, expected):
    assert both(call.add, _ones(a), _ones(b)).dtype == expected.numpy
    assert both(lambda x, y: call.concat([x, y]), _ones(a), _ones(b)).dtype == expected.numpy


@pytest.mark.parametrize(
    ("dtype", "number", "expected"),
    [
        (dt.int32, 2, dt.int32), (dt.int32, 2.0, dt.float32), (dt.int32, True, dt.int32), (dt.int64, 2.0, dt.float32),
        (dt.bool_, 2, dt.int64), (dt.bool_, 2.0, dt.float32), (dt.bool_, True, dt.bool_), (dt.float16, 2.0, dt.float16),
        (dt.float16, 2, dt.float16), (dt.bfloat16, 2.0, dt.bfloat16), (dt.float64, 2.0, dt.float64),
        (dt.uint8, 2, dt.uint8),
    ],
)  # fmt: skip
def test_a_number_takes_the_tensors_dtype_unless_its_kind_is_higher(both, graph, dtype, number, expected):
    for fn in (lambda x: call.add(x, number), lambda x: call.mul(number, x), lambda x: call.where(x, x, number)):
        assert both(fn, _ones(dtype)).dtype == expected.numpy
    held = np.asarray(number, {bool: bool, int: np.int64, float: np.float64}[type(number)])
    (weak,) = graph.run(lambda x, n: call.add(x, SymScalar(n, type(number))), _ones(dtype), held)
    assert weak.dtype == expected.numpy


def test_division_makes_floats_and_the_other_operators_keep_integers(both):
    two = np.array([2, 2, 2, 2], np.int32)
    np.testing.assert_array_equal(both(call.div, V, two), np.float32([1.5, -1.5, 3.5, -3.5]))
    assert both(call.div, V, two).dtype == np.float32
    np.testing.assert_array_equal(both(call.floordiv, V, two), [1, -2, 3, -4])
    np.testing.assert_array_equal(both(call.mod, V, two), [1, 1, 1, 1])
    np.testing.assert_array_equal(both(call.mod, V, -two), [-1, -1, -1, -1])
    np.testing.assert_array_equal(both(call.pow, V, two), [9, 9, 49, 49])
    for fn in (call.floordiv, call.mod, call.pow):
        assert both(fn, V, two).dtype == np.int32
        assert both(lambda x: fn(x, 3), V).dtype == np.int32


@pytest.mark.parametrize(("x", "y"), [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0), (0.0, -3.0)])
def test_floordiv_and_mod_follow_python(both, x, y):
    assert both(call.floordiv, x, y) == x // y
    assert both(call.mod, x, y) == x % y


def test_division_by_zero_never_raises(both):
    zero = np.zeros(3)
    np.testing.assert_array_equal(both(call.div, [1.0, -1.0, 0.0], zero), [math.inf, -math.inf, math.nan])
    assert np.isnan(both(call.mod, [1.0, -1.0, 0.0], zero)).all()
    np.testing.assert_array_equal(both(call.floordiv, np.array([5, -5, 0]), np.array(0)), [0, 0, 0])
    np.testing.assert_array_equal(both(call.mod, np.array([5, -5, 0]), np.array(0)), [0, 0, 0])


def test_integer_powers(both):
    base, exponent = np.array([2, -1, -1, 1, 0, 3]), np.array([-1, -3, -2, -5, 0, 4])
    np.testing.assert_array_equal(both(call.pow, base, exponent), [0, -1, 1, 1, 1, 81])
    with pytest.raises(ValueError, match="cast it to a float first"):
        call.pow(Tensor(base), -1)
    np.testing.assert_allclose(both(lambda x: call.pow(x, 3), [-2.0, 0.0, 2.0]), [-8.0, 0.0, 8.0])
    np.testing.assert_allclose(both(lambda x: call.pow(2, x), np.array([1.0, -1.0])), [2.0, 0.5])
    _, (dx,), _ = eager.differentiate(lambda x: call.pow(x, 3), [Tensor([-2.0, 0.0, 2.0])])
    assert dx.tolist() == [12.0, 0.0, 12.0]


def test_a_number_that_does_not_fit_is_refused_in_both_modes(graph):
    for fn in (lambda x: call.add(x, 300), lambda x: call.maximum(x, -129)):
        with pytest.raises(OverflowError, match="does not fit in int8"):
            fn(Tensor(np.ones(2, np.int8)))
        with pytest.raises(OverflowError, match="does not fit in int8"):
            graph.run(fn, np.ones(2, np.int8))


def test_what_is_no_number_is_refused():
    for other in ("2", None, 2j, [1.0]):
        with pytest.raises(DTypeError, match="cannot combine"):
            call.add(Tensor([1.0]), other)
    for fn in (call.sub, call.floordiv, call.mod, call.pow):
        with pytest.raises(DTypeError, match="not defined for bools"):
            fn(Tensor([True]), Tensor([True]))
    with pytest.raises(DTypeError, match="not defined for float32"):
        call.bitwise_and(Tensor([1.0]), 1)


# ------------------------------------------------------------------------------------------------ elementwise
UNARY = {
    "neg": np.negative, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
    "abs": np.abs, "sign": np.sign, "sigmoid": special.expit, "relu": lambda x: np.maximum(x, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand(both, name):
    special_values = [0.5, 2.0, 0.0, -0.0, math.inf, math.nan] + (
        [-math.inf, -3.0] if name not in ("log", "sqrt") else []
    )
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            both(getattr(call, name), special_values), UNARY[name](np.array(special_values)), rtol=1e-15
        )
        for shape in ((), (0, 3), (1, 1)):
            x = np.full(shape, 0.25)
            np.testing.assert_allclose(both(getattr(call, name), x), UNARY[name](x), rtol=1e-15)


def test_functions_of_real_numbers_turn_integers_into_float32(both):
    np.testing.assert_allclose(both(call.exp, np.array([0, 1])), np.exp(np.float32([0, 1])))
    assert both(call.exp, np.array([0, 1])).dtype == np.float32
    assert both(call.sigmoid, np.array([True])).dtype == np.float32
    assert both(call.abs, np.array([-1, 1], np.int8)).dtype == np.int8


def test_sigmoid_keeps_its_relative_precision(both):
    x = np.array([-700.0, -40.0, 40.0, 700.0])
    np.testing.assert_allclose(both(call.sigmoid, x), special.expit(x), rtol=1e-14)


BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power, "maximum": np.maximum,
    "minimum": np.minimum, "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal, "floordiv": np.floor_divide, "mod": np.remainder,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_operands_broadcast(both, name):
    x, y = X[:, None, :], np.array([[2.0], [math.nan], [0.5]])
    np.testing.assert_allclose(both(getattr(call, name), x, y), BINARY[name](x, y), rtol=1e-15)
    np.testing.assert_allclose(both(lambda t: getattr(call, name)(t, 2), X), BINARY[name](X, 2), rtol=1e-15)
    np.testing.assert_allclose(both(lambda t: getattr(call, name)(2, t), X), BINARY[name](2, X), rtol=1e-15)
    assert both(getattr(call, name), np.ones((0, 3)), np.ones(3)).shape == (0, 3)


def test_shapes_that_do_not_broadcast_are_refused_alike(graph):
    with pytest.raises(ShapeError, match=r"\[2,3\] and \[2\] do not broadcast: 3 != 2"):
        call.add(Tensor(X), Tensor(X[:, 0]))
    with pytest.raises(ShapeError, match=r"\[2,3\] and \[2\] do not broadcast: 3 != 2"):
        graph.run(call.add, X, X[:, 0])


def test_logic_and_bits(both):
    p, q = np.array([True, True, False, False]), np.array([True, False, True, False])
    m, n = np.array([12, -5, 7], np.int16), np.array([10, 3, -1], np.int16)
    for name in ("and", "or", "xor"):
        of_bools, of_ints = getattr(np, f"logical_{name}"), getattr(np, f"bitwise_{name}")
        np.testing.assert_array_equal(both(METHODS[f"__{name}__"], p, q), of_bools(p, q))
        np.testing.assert_array_equal(both(METHODS[f"__{name}__"], m, n), of_ints(m, n))
        np.testing.assert_array_equal(both(getattr(call, f"logical_{name}"), m, n * 0), of_bools(m, n * 0))
    np.testing.assert_array_equal(both(METHODS["__invert__"], p), ~p)
    np.testing.assert_array_equal(both(METHODS["__invert__"], m), ~m)
    np.testing.assert_array_equal(both(call.logical_not, m), np.logical_not(m))
    np.testing.assert_array_equal(both(lambda x: call.left_shift(x, 2), m), m << 2)
    np.testing.assert_array_equal(both(lambda x: call.right_shift(x, 1), m), m >> 1)


def test_where_and_masked_fill(both):
    c = np.array([[True], [False]])
    np.testing.assert_array_equal(both(call.where, c, X, -X), np.where(c, X, -X))
    np.testing.assert_array_equal(both(lambda c, x: call.where(c, x, 0), c, X), np.where(c, X, 0))
    np.testing.assert_array_equal(both(lambda c: call.where(c, 1.0, 0), c), np.where(c, np.float32(1), 0))
    np.testing.assert_array_equal(both(lambda x: call.masked_fill(x, call.greater(x, 2), -1), V), [-1, -3, -1, -7])
    assert both(lambda x: call.masked_fill(x, call.greater(x, 2), 1.5), V).dtype == np.int32
    _, (dx,), _ = eager.differentiate(lambda x: call.where(Tensor([True, False]), x, 1 / x), [Tensor([3.0, 0.0])])
    assert dx.tolist()[0] == 1.0
    assert math.isnan(dx.tolist()[1]) or math.isinf(dx.tolist()[1])  # where does not hide the untaken side


# ------------------------------------------------------------------------------------------------ reductions
@pytest.mark.parametrize("axis", [None, 0, -1, 1, (0, 2), (-1, -3), (), [1]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(both, axis, keepdims):
    x = np.sin(np.arange(24.0)).reshape(2, 3, 4)
    plain = tuple(axis) if isinstance(axis, list) else axis
    for name in ("sum", "mean", "max", "min"):
        found = both(lambda t: getattr(call, name)(t, axis=axis, keepdims=keepdims), x)
        np.testing.assert_allclose(found, getattr(np, name)(x, axis=plain, keepdims=keepdims), rtol=1e-15, atol=1e-15)
    for name in ("any", "all"):
        found = both(lambda t: getattr(call, name)(t, axis=axis, keepdims=keepdims), np.abs(x) > 0.3)
        np.testing.assert_array_equal(found, getattr(np, name)(np.abs(x) > 0.3, axis=plain, keepdims=keepdims))


def test_dtypes_of_reductions(both):
    for dtype in (np.int32, np.bool_, np.uint8, np.int64):
        assert both(call.sum, np.ones(3, dtype)).dtype == np.int64
        assert both(call.max, np.ones(3, dtype)).dtype == dtype
        assert both(call.mean, np.ones(3, dtype)).dtype == np.float32
    assert both(lambda x: call.sum(x, dtype=dt.float64), np.ones(3, np.float32)).dtype == np.float64
    assert both(call.sum, np.ones((0, 2))) == 0.0
    assert np.isnan(both(call.mean, np.ones((0, 2))))
    assert np.isnan(both(call.max, [1.0, math.nan]))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_of_extremes(both, name):
    x = np.array([[3.0, 1.0, 3.0], [1.0, 5.0, 1.0]])
    reference = getattr(np, name)
    for axis in (None, 0, 1, -1):
        for keepdims in (False, True):
            found = both(lambda t: getattr(call, name)(t, axis=axis, keepdims=keepdims), x)
            np.testing.assert_array_equal(found, reference(x, axis=axis, keepdims=keepdims))
            assert found.dtype == {"argmax": np.int64, "argmin": np.int32}[name]


def test_bad_axes_are_refused():
    x = Tensor(X)
    for axis, text in ((2, "axis 2 does not exist"), ((0, 0), "twice"), (-3, "axis -3 does not exist")):
        with pytest.raises(ShapeError, match=text):
            call.sum(x, axis=axis)
    with pytest.raises(ShapeError, match="no extreme element"):
        call.max(Tensor(np.ones((0, 2))), axis=0)


# ------------------------------------------------------------------------------------------------ matmul
MATMUL = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)), ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("m", "n"), MATMUL)
def test_matmul_follows_numpy(both, m, n):
    a, b = np.cos(np.arange(math.prod(m))).reshape(m), np.sin(np.arange(math.prod(n))).reshape(n)
    np.testing.assert_allclose(both(call.matmul, a, b), np.matmul(a, b), rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(both(call.matmul, (9 * a).astype(int), (9 * b).astype(int)).dtype, np.int64)
    if a.size and b.size:  # d sum(a @ b) / da = sum over the other operand, by NumPy's own broadcasting
        _, (da, db), _ = eager.differentiate(lambda a, b: call.matmul(a, b).sum(), [Tensor(a), Tensor(b)])
        h = 1e-6
        u, v = np.cos(a), np.cos(b)
        slope = (np.matmul(a + h * u, b + h * v).sum() - np.matmul(a - h * u, b - h * v).sum()) / (2 * h)
        assert (da.asnumpy() * u).sum() + (db.asnumpy() * v).sum() == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_matmul_refuses_what_does_not_fit(graph):
    for compute in (lambda: call.matmul(Tensor(X), Tensor(X)), lambda: graph.run(call.matmul, X, X)):
        with pytest.raises(ShapeError, match=r"inner sizes differ: \[2,3\] @ \[2,3\]: 3 != 2"):
            compute()
    with pytest.raises(ShapeError, match="at least one dimension"):
        call.matmul(Tensor(X), 2.0)
    with pytest.raises(ShapeError, match="batch dimensions"):
        call.matmul(Tensor(np.ones((2, 3, 3))), Tensor(np.ones((4, 3, 3))))


def test_bfloat16_products_are_summed_in_float32(both):
    a = np.ones((1, 1000)).astype(dt.bfloat16.numpy)
    assert both(call.matmul, a, a.T).item() == 1000.0


# ------------------------------------------------------------------------------------------------ shapes
def test_shape_functions(both):
    x = np.arange(24.0).reshape(2, 3, 1, 4)
    cases = [
        (lambda t: call.reshape(t, 4, -1), x.reshape(4, -1)), (lambda t: call.reshape(t, (-1,)), x.reshape(-1)),
        (lambda t: call.reshape(t, [6, 4]), x.reshape(6, 4)), (lambda t: call.flatten(t), x.ravel()),
        (lambda t: call.transpose(t), x.T), (lambda t: call.transpose(t, 1, 0, -1, 2), x.transpose(1, 0, 3, 2)),
        (lambda t: call.transpose(t, (3, 2, 1, 0)), x.T), (lambda t: call.swapaxes(t, 0, -1), x.swapaxes(0, -1)),
        (METHODS["T"], x.T), (METHODS["mT"], x.swapaxes(-1, -2)), (lambda t: call.squeeze(t), x.squeeze()),
        (lambda t: call.squeeze(t, 2), x.squeeze(2)), (lambda t: call.expand_dims(t, -1), x[..., None]),
        (lambda t: call.expand_dims(t, (0, 2)), np.expand_dims(x, (0, 2))),
        (lambda t: call.broadcast_to(t, (5, 2, 3, 6, 4)), np.broadcast_to(x, (5, 2, 3, 6, 4))),
        (lambda t: call.broadcast_to(t, (-1, 3, 6, -1)), np.broadcast_to(x, (2, 3, 6, 4))),
        (lambda t: call.concat([t, t], axis=1), np.concatenate([x, x], 1)),
        (lambda t: call.stack([t, t], axis=-1), np.stack([x, x], -1)),
        (lambda t: call.shape_of(t, 1), np.int64(3)),
    ]  # fmt: skip
    for fn, expected in cases:
        np.testing.assert_array_equal(both(fn, x), expected)


def test_shape_functions_refuse_what_does_not_fit():
    x = Tensor(X)
    for fn, text in (
        (lambda: call.reshape(x, 4), "cannot be reshaped"), (lambda: call.reshape(x, -1, -1), "more than one"),
        (lambda: call.reshape(x, -1, 4), "cannot be reshaped"), (lambda: call.transpose(x, 0), "do not order"),
        (lambda: call.squeeze(x, 0), "size 1"), (lambda: call.broadcast_to(x, (2, 2)), "does not broadcast"),
        (lambda: call.concat([x, x[0]]), "cannot be joined"), (lambda: call.stack([]), "at least one"),
        (lambda: call.concat([]), "at least one"), (lambda: METHODS["mT"](x[0]), "only matrices"),
    ):  # fmt: skip
        with pytest.raises(ShapeError, match=text):
            fn()


def test_a_run_time_value_is_no_attribute(graph):
    def f(x, n):
        for fn, name in (
            (lambda n: call.sum(x, axis=n), "axis"), (lambda n: call.softmax(x, axis=n), "axis"),
            (lambda n: call.swapaxes(x, 0, n), "axis1"),
        ):  # fmt: skip
            for value in (n, SymScalar(n, int)):
                with pytest.raises(StaticValueError, match=f"`{name}`"):
                    fn(value)
        return x

    graph.run(f, X, np.array(1))


# ------------------------------------------------------------------------------------------------ making tensors
def test_constructors(both):
    anchor = np.zeros((2, 3), np.int16)  # only so that there is something to trace
    cases = [
        (lambda t: call.zeros((2, 3)), np.zeros((2, 3), np.float32)),
        (lambda t: call.ones(2, dt.int8), np.ones(2, np.int8)),
        (lambda t: call.full((2,), 7), np.full(2, 7)), (lambda t: call.full((2,), 0.5), np.full(2, 0.5, np.float32)),
        (lambda t: call.full((), True), np.array(True)),
        (lambda t: call.full(2, call.getitem(t, (0, 0))), np.zeros(2, np.int16)),
        (lambda t: call.zeros_like(t), anchor), (lambda t: call.ones_like(t, dt.float64), np.ones((2, 3))),
        (lambda t: call.full_like(t, 4), np.full_like(anchor, 4)), (lambda t: call.arange(4), np.arange(4)),
        (lambda t: call.arange(1, 4.5, 0.5), np.arange(1, 4.5, 0.5, np.float32)),
        (lambda t: call.arange(5, 0, -2), [5, 3, 1]),
        (lambda t: call.arange(3, 1), np.arange(0)),
        (lambda t: call.arange(3, dtype=dt.float16), np.arange(3, dtype=np.float16)),
    ]  # fmt: skip
    for fn, expected in cases:
        found = both(fn, anchor)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == np.asarray(expected).dtype
    with pytest.raises(ValueError, match="must not be zero"):
        call.arange(0, 1, 0)


def test_casts(both):
    x = np.array([-1.5, 0.0, 2.7])
    for dtype in dt.ALL:
        if dtype is not dt.uint8:
            assert both(lambda t: call.cast(t, dtype), x).dtype == dtype.numpy
    np.testing.assert_array_equal(both(lambda t: call.cast(t, "int32"), x), [-1, 0, 2])
    np.testing.assert_array_equal(both(lambda t: call.cast(t, bool), x), [True, False, True])
    with pytest.warns(GradientWarning, match="gradient is zero"):
        _, (dx,), _ = eager.differentiate(lambda t: (call.cast(t, int) * 2.0).sum(), [Tensor(x)])
    assert dx.tolist() == [0.0, 0.0, 0.0]


# ------------------------------------------------------------------------------------------------ neural
def test_softmax_and_cross_entropy(both):
    x = np.array([[1000.0, 1001.0, -1000.0], [0.0, 0.0, 0.0]])
    for axis in (0, -1):
        np.testing.assert_allclose(both(lambda t: call.softmax(t, axis), x), special.softmax(x, axis), rtol=1e-14)
        np.testing.assert_allclose(
            both(lambda t: call.log_softmax(t, axis), x), special.log_softmax(x, axis), rtol=1e-14
        )
    labels = np.array([1, 2], np.int32)
    expected = -special.log_softmax(x, -1)[[0, 1], labels]
    np.testing.assert_allclose(
        both(lambda t, y: call.cross_entropy(t, y, reduction="none"), x, labels), expected, rtol=1e-14
    )
    np.testing.assert_allclose(both(call.cross_entropy, x, labels), expected.mean(), rtol=1e-14)
    np.testing.assert_allclose(
        both(lambda t, y: call.cross_entropy(t, y, 0, "sum"), x.T, labels), expected.sum(), rtol=1e-14
    )
    np.testing.assert_allclose(both(call.cross_entropy, x, np.eye(3)[labels]), expected.mean(), rtol=1e-14)
    _, (dx,), _ = eager.differentiate(lambda t: call.cross_entropy(t, Tensor(labels)), [Tensor(x)])
    np.testing.assert_allclose(dx.asnumpy(), (special.softmax(x, -1) - np.eye(3)[labels]) / 2, atol=1e-16)


def test_cross_entropy_refuses_bad_labels():
    x = Tensor(X)
    for bad in ([0, 3], [-1, 0]):
        with pytest.raises(IndexError, match="out of bounds for size 3"):
            call.cross_entropy(x, Tensor(bad))
    with pytest.raises(ShapeError, match="do not fit"):
        call.cross_entropy(x, Tensor([0, 1, 2]))
    with pytest.raises(ValueError, match="reduction must be"):
        call.cross_entropy(x, Tensor([0, 1]), reduction="avg")


# ------------------------------------------------------------------------------------------------ the whole table
def test_every_method_belongs_to_a_function_and_the_properties_are_methods():
    assert PROPERTIES == {"H", "T", "mT"} & METHODS.keys()
    for defn in REGISTRY.values():
        assert set(defn.methods) <= METHODS.keys() | IN_PLACE.keys()


def test_symbolic_sizes_in_public_functions():
    from autodiff_compiler.ir.build import Builder
    from autodiff_compiler.ir.core import Block

    batch = symbol("B")
    with Builder(Block([tensor(dt.float32, (batch, 3, 4)), tensor(dt.float32, (4, 2))])) as b:
        x, w = b.block.args
        assert call.matmul(x, w).shape == (batch, 3, 2)
        assert call.reshape(x, batch, -1).shape == (batch, 12)
        assert call.reshape(x, -1, 12).shape == (batch, 12)
        assert call.mean(x).shape == ()
        assert call.sum(x, axis=0).shape == (3, 4)
        assert call.getitem(x, (slice(None), 1)).shape == (batch, 4)
        assert (call.add(x, 1)).shape == (batch, 3, 4)
        with pytest.raises(CompileError, match="symbolic"):
            call.getitem(x, 0)
