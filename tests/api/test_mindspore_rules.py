"""Small rules of MindSpore: what cuts gradients, flags, Parameters of numbers, the weights of a `GradOperation`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, ParameterTuple, Tensor, int32, int64, nn, ops

X = Tensor([1.0, 2.0])


class Pair(NamedTuple):
    a: Tensor
    b: object


@pytest.mark.parametrize("backend", ["eager", "native", "numpy"])
@pytest.mark.parametrize("cut", [ops.stop_gradient, lambda x: ops.StopGradient()(x)], ids=["function", "class"])
def test_stop_gradient_of_containers(cut, backend):
    def f(x):
        a, (b, one, text, nothing) = cut([x, (x * 2, 1, "t", None)])
        pair, held = cut(Pair(x * 3, {"k": x})), cut((x,))
        assert (one, text, nothing, type(pair)) == (1, "t", None, Pair)
        return (a + b + pair.a + pair.b["k"] + held[0]).sum() + (x * x).sum()

    value, gradient = ms.value_and_grad(f), ms.grad(f)
    if backend != "eager":
        value, gradient = ms.jit(value, backend=backend), ms.jit(gradient, backend=backend)
    assert value(X)[0].item() == 8 * 3.0 + 5.0
    assert gradient(X).tolist() == [2.0, 4.0]
    assert ms.grad(gradient)(X).tolist() == [2.0, 2.0]


def test_stop_gradient_keeps_the_kind_of_a_container():
    for given in ((X, X), [X, X], {"a": X}, Pair(X, 1)):
        for found in (ops.stop_gradient(given), ms.jit(lambda x, given=given: ops.stop_gradient(given))(X)):
            assert type(found) is type(given)
    with pytest.raises(TypeError):
        ops.stop_gradient([object()])


WITH_FLAGS = {
    "grad": lambda flag: ms.grad(lambda x: (x, x), has_aux=flag),
    "value_and_grad": lambda flag: ms.value_and_grad(lambda x: (x, x), has_aux=flag),
    "jacrev": lambda flag: ms.jacrev(lambda x: (x, x), has_aux=flag),
    "jacfwd": lambda flag: ms.jacfwd(lambda x: (x, x), has_aux=flag),
    "vjp": lambda flag: ms.vjp(lambda x: (x, x), X, has_aux=flag),
    "jvp": lambda flag: ms.jvp(lambda x: (x, x), X, X, has_aux=flag),
    "jvp, compiled": lambda flag: ms.jit(lambda x: ms.jvp(lambda x: (x, x), x, x, has_aux=flag))(X),
    "vjp, compiled": lambda flag: ms.jit(lambda x: ms.vjp(lambda x: (x, x), x, has_aux=flag)[0])(X),
    "grad, compiled": lambda flag: ms.jit(lambda x: ms.grad(lambda x: (x, x), has_aux=flag)(x))(X),
    "return_ids": lambda flag: ms.grad(lambda x: x, return_ids=flag),
    "sens_param": lambda flag: ms.grad(lambda x: x, sens_param=flag),
    "get_all": lambda flag: ops.GradOperation(get_all=flag),
}


@pytest.mark.parametrize("flag", [1, 0, None, "yes", np.True_, Tensor(True)], ids=repr)
@pytest.mark.parametrize("name", WITH_FLAGS)
def test_flags_of_derivatives_are_bools(name, flag, mode):
    WITH_FLAGS[name](True)
    with pytest.raises(TypeError, match="must be a bool"):
        WITH_FLAGS[name](flag)


def test_parameters_of_python_numbers():
    assert (Parameter(3, name="a").dtype, Parameter(-(2**31)).dtype, Parameter(3).item()) == (int32, int32, 3)
    assert (Parameter([3]).dtype, Parameter(Tensor(3)).dtype, Parameter(np.int64(3)).dtype) == (int64, int64, int64)
    assert Parameter(3.0).dtype is ms.float32
    with pytest.raises(OverflowError, match="int32"):
        Parameter(2**31)
    for wrong in (True, False):
        with pytest.raises(ValueError, match="cannot be made from a bool"):
            Parameter(wrong)
    assert Parameter(Tensor(True)).dtype is ms.bool_


def test_names_are_strings():
    with pytest.raises(ValueError, match="must be a string, not int"):
        Parameter(1.0, name=3)  # type: ignore[arg-type]
    p = Parameter(1.0)
    with pytest.raises(ValueError, match="must be a string, not tuple"):
        p.name = ("a",)  # type: ignore[assignment]
    assert (p.name, Parameter(1.0, name=None).name) == ("Parameter", "Parameter")


def test_a_tuple_has_no_name_twice():
    with pytest.raises(ValueError, match="2 Parameters of a ParameterTuple are called 'w'"):
        ParameterTuple([Parameter(1.0, name="w"), Parameter(2.0, name="v"), Parameter(3.0, name="w")])


# ------------------------------------------------------------------------------------------------ GradOperation
X1 = Tensor([[3.0]])


def net() -> nn.Dense:
    made = nn.Dense(1, 1, weight_init=2.0, bias_init=0.0)
    made.bias.requires_grad = False
    return made


def test_without_parameters_get_by_list_means_those_that_are_trained(mode):
    made = net()
    (by_weight,) = ops.GradOperation(get_by_list=True)(made)(X1)
    assert by_weight.tolist() == [[3.0]]
    (by_input,), (by_weight,) = ops.GradOperation(get_all=True, get_by_list=True)(made)(X1)
    assert (by_input.tolist(), by_weight.tolist()) == ([[2.0]], [[3.0]])
    (by_weight,) = ops.GradOperation(get_by_list=True, sens_param=True)(made)(X1, Tensor([[10.0]]))
    assert by_weight.tolist() == [[30.0]]
    assert ops.GradOperation(get_by_list=True)(made, [])(X1) == ()
    assert ops.GradOperation(get_by_list=True)(made, made.bias)(X1).tolist() == [1.0]
    with pytest.raises(ValueError, match="a Cell as first"):
        ops.GradOperation(get_by_list=True)(lambda x: made(x))


def test_what_is_trained_is_asked_at_each_call(mode):
    made = net()
    derivative = ops.GradOperation(get_by_list=True)(made)

    def inside(x):
        return ops.GradOperation(get_by_list=True)(made)(x)

    for run in (derivative, ms.jit(inside) if mode == "graph" else inside):
        assert len(run(X1)) == 1
        made.bias.requires_grad = True
        assert [g.tolist() for g in run(X1)] == [[[3.0]], [1.0]]
        made.bias.requires_grad = False
        assert len(run(X1)) == 1


# ------------------------------------------------------------------------------------------------ keywords
def product(x, y=None):
    return (x * y * y).sum()


class Product(nn.Cell):
    def construct(self, x, y=None):
        return product(x, y=y)


Y = Tensor([3.0, 4.0])
BY_X, BY_Y = [9.0, 16.0], [6.0, 16.0]  # y^2 and 2 x y


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("make", [lambda: product, Product, lambda: ms.jit(product)], ids=["function", "Cell", "jit"])
def test_a_derivative_by_what_is_given_by_keyword(make, compiled, mode):
    def of(derivative):
        return ms.jit(derivative) if compiled else derivative

    fn = make()
    for call in (lambda f: f(X, y=Y), lambda f: f(x=X, y=Y), lambda f: f(y=Y, x=X)):
        assert call(of(ms.grad(fn))).tolist() == BY_X
        assert call(of(ms.grad(fn, 1))).tolist() == BY_Y
        assert [g.tolist() for g in call(of(ms.grad(fn, (1, 0))))] == [BY_Y, BY_X]
        value, (gx, gy) = call(of(ms.value_and_grad(fn, (0, 1))))
        assert (value.item(), gx.tolist(), gy.tolist()) == (41.0, BY_X, BY_Y)
        assert [g.tolist() for g in call(of(ops.GradOperation(get_all=True)(fn)))] == [BY_X, BY_Y]
        assert call(of(ms.jacrev(fn, 1))).tolist() == call(of(ms.jacfwd(fn, 1))).tolist() == BY_Y
    assert ms.grad(fn, 1, sens_param=True)(X, y=Y, sens=Tensor(10.0)).tolist() == [60.0, 160.0]
    with pytest.raises(ValueError, match="grad_position 1 does not exist"):
        ms.grad(lambda x, *, y: product(x, y), 1)(X, y=Y)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_hook_of_a_tensor_given_by_keyword(compiled, mode):
    seen: list[object] = []
    y = Tensor([3.0, 4.0])

    def hook(g):
        seen.append(g.tolist())
        return g * 10

    derivative = ms.grad(Product(), (0, 1))
    run = ms.jit(derivative) if compiled else derivative
    assert [g.tolist() for g in run(X, y=y)] == [BY_X, BY_Y]
    handle = y.register_hook(hook)
    assert [g.tolist() for g in run(X, y=y)] == [BY_X, [60.0, 160.0]]
    assert seen == [BY_Y]
    assert ms.grad(Product())(X, y=y).tolist() == BY_X  # no gradient comes back to it
    handle.remove()
    assert [g.tolist() for g in run(y=y, x=X)] == [BY_X, BY_Y]
    assert seen == [BY_Y]
