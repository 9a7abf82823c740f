"""Operators that users define: bodies in NumPy, inferred shapes, derivatives; in eager and in compiled code."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.testing import GradientMismatch, check_bprop, gradcheck

BOTH = pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "graph"])
X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])


class Scaled(ops.PrimitiveWithInfer):
    """x * y * k, in NumPy."""

    @ops.prim_attr_register
    def __init__(self, k=2.0):
        self.init_prim_io_names(inputs=["x", "y"], outputs=["out"])

    def infer_shape(self, x, y):
        return x

    def infer_dtype(self, x, y):
        return x

    def vm_impl(self, x, y):
        return Tensor(x.asnumpy() * y.asnumpy() * self.k)

    def get_bprop(self):
        mul, k = ops.Mul(), self.k

        def bprop(x, y, out, dout):
            return mul(dout, y) * k, dout * x * k

        return bprop


class Extremes(ops.PrimitiveWithInfer):
    """The least and the greatest number of each row."""

    def __init__(self):
        super().__init__("Extremes")

    def __infer__(self, x, wide):
        assert wide["value"] in (0, 1)
        return {"shape": ([x["shape"][0]],) * 2, "dtype": (x["dtype"], ms.float32), "value": None}

    def vm_impl(self, x, wide):
        return x.asnumpy().min(1) - wide, x.asnumpy().max(1).astype(np.float32) + wide


class Silent(ops.Primitive):
    """Says nothing of what it returns."""

    def __init__(self):
        super().__init__("Silent")

    def vm_impl(self, x):
        return x.asnumpy() + 1


class Even(ops.PrimitiveWithCheck):
    """Half of a Tensor of an even length."""

    def __init__(self):
        super().__init__("Even")

    def check_shape(self, x):
        if x[0] % 2:
            raise ValueError(f"the length must be even, not {x[0]}")

    def infer_shape(self, x):
        return [x[0] // 2]

    def infer_dtype(self, x):
        return x

    def vm_impl(self, x):
        return x.asnumpy()[::2]


@BOTH
def test_values_and_derivatives(run: Any) -> None:
    scaled = Scaled(3.0)
    x, y = Tensor(X), Tensor(X + 1)
    np.testing.assert_allclose(run(scaled)(x, y).asnumpy(), X * (X + 1) * 3)
    dx, dy = run(ms.grad(lambda x, y: scaled(x, y).sum(), (0, 1)))(x, y)
    np.testing.assert_allclose(dx.asnumpy(), (X + 1) * 3)
    np.testing.assert_allclose(dy.asnumpy(), X * 3)
    mixed = run(ms.grad(lambda x, y: ms.grad(lambda x, y: (scaled(x, y) ** 2).sum())(x, y).sum(), 1))(x, y)
    np.testing.assert_allclose(mixed.asnumpy(), 2 * 9 * 2 * X * (X + 1))


def test_the_two_names_of_the_decorator() -> None:
    assert ops.prim_arg_register is ops.prim_attr_register


def test_numerical_check_in_both_modes() -> None:
    assert gradcheck(Scaled(1.5), [Tensor(X), Tensor(X - 2)], order=2)


def test_attributes_copies_and_changes() -> None:
    scaled = Scaled(k=4.0)
    assert (scaled.name, scaled.k, scaled.input_names, repr(scaled)) == (
        "Scaled",
        4.0,
        ["x", "y"],
        "Prim[Scaled]<k=4.0>",
    )
    assert scaled.init_attrs == {"name": "Scaled", "k": 4.0}
    one = Tensor([1.0])
    f = ms.jit(ms.grad(lambda x: scaled(x, one).sum()))
    assert f(one).item() == 4.0
    scaled.k = 5.0
    assert f(one).item() == ms.grad(lambda x: scaled(x, one).sum())(one).item() == 5.0
    scaled.add_prim_attr("k", 6.0)
    assert f(one).item() == 6.0
    for twin in (copy.deepcopy(scaled), pickle.loads(pickle.dumps(scaled))):
        assert (repr(twin), twin(one, one).item()) == ("Prim[Scaled]<k=6.0>", 6.0)


@BOTH
def test_in_a_cell_and_made_in_compiled_code(run: Any) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scaled = Scaled()

        def construct(self, x):
            return self.scaled(x, x) + Scaled(k=0.5)(x, x)

    np.testing.assert_allclose(run(Net())(Tensor(X)).asnumpy(), X * X * 2.5)


@BOTH
def test_several_results_and_constant_inputs(run: Any) -> None:
    extremes = Extremes()
    low, high = run(lambda x: extremes(x, 1))(Tensor(X))
    np.testing.assert_allclose(low.asnumpy(), X.min(1) - 1)
    assert high.dtype is ms.float32
    np.testing.assert_allclose(high.asnumpy(), X.max(1) + 1)


@BOTH
def test_without_a_derivative(run: Any) -> None:
    extremes = Extremes()
    with pytest.raises(ms.NotDifferentiableError, match="Extremes has no derivative") as caught:
        run(ms.grad(lambda x: extremes(x, 0)[0].sum()))(Tensor(X))
    assert "get_bprop" in str(caught.value)


@BOTH
def test_checks_of_the_users(run: Any) -> None:
    assert run(Even())(Tensor([1.0, 2.0, 3.0, 4.0])).tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match="the length must be even, not 3"):
        run(Even())(Tensor([1.0, 2.0, 3.0]))


def test_compiled_code_must_know_what_comes_back() -> None:
    silent = Silent()
    assert silent(Tensor([1.0])).tolist() == [2.0]
    with pytest.raises(ms.UnsupportedCallError, match="nothing says what Silent returns"):
        ms.jit(silent)(Tensor([1.0]))


@BOTH
def test_a_body_is_held_to_its_promise(run: Any) -> None:
    class Wrong(Scaled):
        def vm_impl(self, x, y):
            return x.asnumpy().astype(np.float32)

    with pytest.raises(TypeError, match="Wrong has the dtype float32, its inference promises Float64"):
        run(Wrong())(Tensor(X), Tensor(X))


@BOTH
def test_a_bprop_that_does_not_fit(run: Any) -> None:
    class Short(Scaled):
        def get_bprop(self):
            return lambda x, y, out, dout: (dout,)

    with pytest.raises(ms.BpropError, match="returns 1 gradients for 2 inputs"):
        run(ms.grad(lambda x: Short()(x, x).sum()))(Tensor(X))


@BOTH
def test_exceptions_of_a_body_pass(run: Any) -> None:
    class Failing(Scaled):
        def vm_impl(self, x, y):
            raise KeyError("no such table")

    with pytest.raises(KeyError, match="no such table"):
        run(Failing())(Tensor(X), Tensor(X))


@BOTH
def test_a_name_alone_is_the_operator_of_that_name(run: Any) -> None:
    total = ops.Primitive("ReduceSum")
    total.add_prim_attr("keep_dims", True)
    np.testing.assert_allclose(run(lambda x: total(x, 0))(Tensor(X)).asnumpy(), X.sum(0, keepdims=True))
    with pytest.raises(ms.UnsupportedCallError, match=r"nothing to compute Prim\[Nothing\] with"):
        run(ops.Primitive("Nothing"))(Tensor(X))


@BOTH
def test_a_subclass_with_a_call_of_its_own(run: Any) -> None:
    class Twice(ops.Primitive):
        def __init__(self):
            super().__init__("Twice")
            self.add = ops.Add()

        def __call__(self, x):
            return self.add(x, x)

    class Shifted(ops.ReduceSum):
        def __call__(self, x):
            return super().__call__(x, 0) + 1

    twice, shifted = Twice(), Shifted(keep_dims=True)
    np.testing.assert_allclose(run(lambda x: twice(x))(Tensor(X)).asnumpy(), X * 2)
    np.testing.assert_allclose(run(lambda x: shifted(x))(Tensor(X)).asnumpy(), X.sum(0, keepdims=True) + 1)


@BOTH
def test_custom_runs_a_function_on_arrays(run: Any) -> None:
    sine = ops.Custom(
        lambda a, k: np.sin(a) * k,
        lambda a, k: a,
        lambda a, k: a,
        "pyfunc",
        bprop=lambda a, k, out, dout: (dout * ops.cos(a) * k, None),
    )
    x = Tensor(X)
    np.testing.assert_allclose(run(lambda x: sine(x, 2.0))(x).asnumpy(), np.sin(X) * 2)
    np.testing.assert_allclose(run(ms.grad(lambda x: sine(x, 2.0).sum()))(x).asnumpy(), np.cos(X) * 2)
    second = run(ms.grad(lambda x: ms.grad(lambda x: sine(x, 2.0).sum())(x).sum()))(x)
    np.testing.assert_allclose(second.asnumpy(), -np.sin(X) * 2)


@BOTH
def test_custom_and_pyfunc_with_given_results(run: Any) -> None:
    split = ops.Custom(lambda a: (a[:1], a.sum()), ((1, 3), ()), (ms.float64, ms.float64))
    first, total = run(split)(Tensor(X))
    np.testing.assert_allclose(first.asnumpy(), X[:1])
    np.testing.assert_allclose(total.item(), X.sum())
    argmax = ops.PyFunc(lambda a: a.argmax(1), [ms.float64], [(2, 3)], [ms.int64], [(2,)])
    (places,) = run(argmax)(Tensor(X))
    assert places.tolist() == [2, 0]


def test_custom_takes_python_only() -> None:
    with pytest.raises(ms.UnsupportedCallError, match="func_type='pyfunc'"):
        ops.Custom("kernel.so:f", (2,), ms.float32, "aot")


def test_a_derivative_that_nothing_would_call():
    with pytest.raises(TypeError, match="vm_impl"):

        class Called(ops.Primitive):
            def __call__(self, x):
                return x

            def get_bprop(self):
                return lambda x, out, dout: (dout,)

    with pytest.raises(TypeError, match="get_bprop"):

        class WithBprop(ops.Primitive):
            def vm_impl(self, x):
                return x

            def bprop(self, x, out, dout):
                return (dout,)


class Broken(Scaled):
    """Says another shape than it returns."""

    def infer_shape(self, x, y):
        return [7]

    def get_bprop(self):
        return lambda x, y, out, dout: (None, None)


@BOTH
def test_another_shape_than_inferred(run):
    with pytest.raises(ValueError, match=r"shape \(2,\), its inference promises \(7,\)") as caught:
        run(lambda x: Broken()(x, x))(Tensor([1.0, 2.0]))
    assert "py_call" not in str(caught.value)


class Wrong(Scaled):
    """Forgets the factor in its derivative."""

    def get_bprop(self):
        return lambda x, y, out, dout: (dout * y, dout * x)


def test_the_derivative_of_a_primitive_is_checked():
    x = Tensor([1.0, 2.0], ms.float64)
    assert check_bprop(Scaled(), (x, x))
    with pytest.raises(GradientMismatch):
        check_bprop(Wrong(), (x, x))


def test_edits_of_gradients_are_among_the_operators():
    assert ops.operations.InsertGradientOf is ops.InsertGradientOf
    assert ops.operations.HookBackward is ops.HookBackward


@BOTH
def test_a_body_writes_into_values_of_its_own(run: Any) -> None:
    class Doubled(ops.PrimitiveWithInfer):
        def __init__(self) -> None:
            super().__init__("Doubled")

        def infer_shape(self, x: Any) -> Any:
            return x

        def infer_dtype(self, x: Any) -> Any:
            return x

        def vm_impl(self, x: Any) -> Any:
            array = x.asnumpy()
            array *= 2
            return array

    double, x = Doubled(), Tensor([1.0, 2.0])
    doubled, same = run(lambda v: (double(v), v * 1))(x)
    assert (doubled.tolist(), same.tolist(), x.tolist()) == ([2.0, 4.0], [1.0, 2.0], [1.0, 2.0])
