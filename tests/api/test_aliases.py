"""Other names of operations, and operations on plain Python values, in eager and in compiled code."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops

X, Y = np.array([7.0, -3.5, 2.0]), np.array([2.0, 2.0, -3.0])
MODES = pytest.mark.parametrize("run", [lambda f: f, ac.jit], ids=["eager", "compiled"])

NAMES = {
    "tensor_add": np.add, "tensor_sub": np.subtract, "tensor_mul": np.multiply, "tensor_muls": np.multiply,
    "tensor_div": np.divide, "tensor_floordiv": np.floor_divide, "floordiv": np.floor_divide, "tensor_mod": np.mod,
    "tensor_lt": np.less, "tensor_le": np.less_equal, "tensor_gt": np.greater, "tensor_ge": np.greater_equal,
    "float_power_ext": np.float_power, "tensor_pow": np.power, "pows": np.power,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_of_two_operands(name):
    x = np.abs(X) if "pow" in name else X
    np.testing.assert_allclose(getattr(ops, name)(Tensor(x), Tensor(Y)).asnumpy(), NAMES[name](x, Y), rtol=1e-14)


def test_other_names():
    a, b, c = (Tensor(np.arange(8.0).reshape(2, 2, 2) * k) for k in (1, 2, 3))
    np.testing.assert_allclose(ops.tensor_exp(Tensor(X)).asnumpy(), np.exp(X))
    np.testing.assert_allclose(ops.tensor_expm1(Tensor(X)).asnumpy(), np.expm1(X))
    np.testing.assert_array_equal(ops.tensor_range(0, 6, 2).asnumpy(), [0, 2, 4])
    np.testing.assert_array_equal(ops.tensor_slice(Tensor(X), (1,), (2,)).asnumpy(), X[1:])
    np.testing.assert_array_equal(ops.diff_ext(Tensor(X), dim=0).asnumpy(), np.diff(X))
    np.testing.assert_array_equal(ops.adjoint(a).asnumpy(), a.asnumpy().swapaxes(-1, -2))
    np.testing.assert_allclose(ops.einsum_ext("bij,bjk->bik", a, b).asnumpy(), a.asnumpy() @ b.asnumpy())
    expected = 2 * c.asnumpy() + 3 * (a.asnumpy() @ b.asnumpy())
    np.testing.assert_allclose(ops.baddbmm_ext(c, a, b, beta=2, alpha=3).asnumpy(), expected)
    assert ops.mse_loss_ext(Tensor(X), Tensor(Y)).item() == pytest.approx(((X - Y) ** 2).mean())
    assert ops.isnan_ext(Tensor([np.nan, 1.0])).tolist() == [True, False]
    assert ops.shape_(a) == (2, 2, 2)


@MODES
def test_approximate_equality(run):
    def close(x, y):
        return ops.approximate_equal(x, y, 0.5)

    assert run(close)(Tensor(X), Tensor(X + [0.4, 0.6, -0.3])).tolist() == [True, False, True]
    assert Tensor([1.0]).approximate_equal(Tensor([1.0 + 1e-6])).tolist() == [True]


@MODES
def test_shapes_and_dtypes(run):
    def asked(x):
        return ops.dyn_shape(x), ops.zeros(3, ops.dtype(x)), ops.is_tensor(x), ops.isconstant(x), ops.isconstant(2)

    shape, zeros, *answers = run(asked)(ops.zeros((2, 5), ac.float16))
    assert shape.dtype is ac.int64
    assert shape.tolist() == [2, 5]
    assert zeros.dtype is ac.float16
    assert answers == [True, False, True]
    with pytest.raises(TypeError, match="only tensors have a dtype"):
        ops.dtype(3)


@MODES
def test_numbers_and_tensors(run):
    def converted(x):
        return (
            ops.scalar_to_tensor(2.5), ops.scalar_to_tensor(2, ac.int32), ops.scalar_to_tensor(float(x) * 2),
            ops.scalar_to_array(3), ops.tuple_to_array((1, 2.5)), x * ops.scalar_cast(2.7, ac.int64),
        )  # fmt: skip

    found = run(converted)(Tensor(1.5))
    assert [t.item() if t.ndim == 0 else t.tolist() for t in found] == [2.5, 2, 3.0, 3, [1, 2.5], 3.0]
    assert [t.dtype for t in found] == [ac.float32, ac.int32, ac.float32, ac.int64, ac.float32, ac.float32]
    with pytest.raises(TypeError, match="not a Tensor"):
        run(ops.scalar_to_tensor)(Tensor(1.0))


@MODES
def test_effects_keep_the_order_of_the_program(run, capsys):
    def effects(x):
        ops.print_("x is", x)
        y = ops.depend(x * 2, ops.print_("then", x + 1))
        ops.print_(y)
        return y

    assert run(effects)(Tensor([1.0])).tolist() == [2]
    one, two = (f"Tensor(shape=[1], dtype=Float32, value= [ {n}.00000000e+00])" for n in (1, 2))
    assert capsys.readouterr().out.splitlines() == ["x is", one, "then", two, two]
