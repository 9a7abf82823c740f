"""The derivative functions with all their arguments: structures of results, in eager and in compiled code.

Expected values are written down from mathematics.
"""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, ParameterTuple, Tensor, nn, ops
from autodiff_compiler.testing.modes import MODES, in_mode


@pytest.fixture(params=list(MODES))
def mode(request):
    with in_mode(request.param):
        yield request.param


class Net(nn.Cell):
    """x * y * w + 2 * v, and x beside it."""

    def __init__(self):
        super().__init__()
        self.w, self.v = Parameter([2.0, 3.0], name="w"), Parameter([1.0, 1.0], name="v")

    def construct(self, x, y):
        return x * y * self.w + 2 * self.v, x


X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
DX, DY, DW, DV = [6.0, 12.0], [2.0, 6.0], [3.0, 8.0], [2.0, 2.0]
REST = ([1.0, 2.0],)


def lists(x):
    """A result with lists in the place of Tensors."""
    if isinstance(x, tuple):
        return tuple(map(lists, x))
    return x.tolist() if isinstance(x, Tensor) else x


# What is asked for by position and by Parameter, and what comes back, without and with names.
POSITIONS = {
    0: (DX, (0, DX)),
    1: (DY, (1, DY)),
    (0,): (DX, (0, DX)),
    (1, 0): ((DY, DX), ((1, DY), (0, DX))),
    None: None,
}
WEIGHTS = {
    "none": (lambda net: None, None),
    "one": (lambda net: net.w, (DW, ("w", DW))),
    "list": (lambda net: [net.v, net.w], ((DV, DW), (("v", DV), ("w", DW)))),
    "list of one": (lambda net: [net.w], ((DW,), (("w", DW),))),
    "ParameterTuple": (lambda net: ParameterTuple(net.trainable_params()), ((DW, DV), (("w", DW), ("v", DV)))),
    "empty": (lambda net: [], ((), ())),
}
CELLS = [(p, w) for p in POSITIONS for w in WEIGHTS if (p, w) != (None, "none")]


@pytest.mark.some(4)
@pytest.mark.parametrize("return_ids", [False, True])
@pytest.mark.parametrize(("position", "weights"), CELLS)
def test_every_cell_of_the_tables(mode, position, weights, return_ids):
    net = Net()
    choose, of_weights = WEIGHTS[weights]
    parts = [part[return_ids] for part in (POSITIONS[position], of_weights) if part is not None]
    expected = tuple(parts) if len(parts) == 2 else parts[0]
    value = lists(net(X, Y))
    made = (position, choose(net), True, return_ids)
    assert lists(ms.grad(net, *made)(X, Y)) == (expected, REST)
    assert lists(ms.value_and_grad(net, *made)(X, Y)) == (value, expected)
    first = (lambda x, y: net(x, y)[0]) if mode == "eager" else ms.jit(lambda x, y: net(x, y)[0])
    assert lists(ms.grad(first, position, choose(net), return_ids=return_ids)(X, Y)) == expected


def test_the_same_inside_compiled_code():
    net = Net()

    @ms.jit
    def inside(x, y):
        found = ms.grad(net, (0, 1), net.trainable_params(), return_ids=True, has_aux=True)(x, y)[0]
        return found, ms.get_grad(found, 1), ops.get_grad(found, net.v)

    found = inside(X, Y)
    assert lists(found) == ((((0, DX), (1, DY)), (("w", DW), ("v", DV))), DY, DV)


def test_a_gradient_is_found_by_position_or_parameter(mode):
    net = Net()
    found, _ = ms.grad(net, (1, 0), [net.w], True, True)(X, Y)
    assert lists((ms.get_grad(found, 0), ms.get_grad(found, 1), ms.get_grad(found, net.w))) == (DX, DY, DW)
    alone, _ = ms.grad(net, 1, None, True, True)(X, Y)
    assert ms.get_grad(alone, 1).tolist() == DY
    for missing in (2, net.v):
        with pytest.raises(ValueError, match="get_grad"):
            ms.get_grad(found, missing)
    for wrong in ("w", 1.0, True, None):
        with pytest.raises(TypeError, match="identifier"):
            ms.get_grad(found, wrong)
    with pytest.raises(ValueError, match="return_ids"):
        ms.get_grad(ms.grad(net, 0, None, True)(X, Y)[0], 0)


def test_a_renamed_parameter_is_named_anew(mode):
    net = Net()
    gradient = ms.grad(net, None, net.w, return_ids=True)
    assert gradient(X, Y)[0] == "w"
    net.w.name = "other"
    assert gradient(X, Y)[0] == "other"


def test_a_sensitivity_by_keyword(mode):
    x, y, sens = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([10.0, 100.0])

    def f(x, y):
        return x * y

    for found in (
        ms.grad(f, (0, 1), sens_param=True)(x, y, sens=sens),
        ms.grad(f, (0, 1), sens_param=True)(x, y, sens),
        ms.value_and_grad(f, (0, 1), sens_param=True)(x, y, sens=sens)[1],
        ms.ops.GradOperation(get_all=True, sens_param=True)(f)(x, y, sens=sens),
        ms.jit(lambda x, y, s: ms.grad(f, (0, 1), sens_param=True)(x, y, sens=s))(x, y, sens),
    ):
        assert [g.tolist() for g in found] == [[30.0, 400.0], [10.0, 200.0]]


def test_what_is_no_tensor_is_its_own_constant(mode):
    assert (ops.stop_gradient(3.0), ops.stop_gradient(2), ops.stop_gradient(None)) == (3.0, 2, None)
    slope = ms.grad(lambda x, n: x * ops.stop_gradient(x) ** ops.stop_gradient(n))
    assert slope(Tensor([3.0]), 2).tolist() == [9.0]


def test_a_sensitivity_as_last_argument(mode):
    gradient = ms.value_and_grad(Net(), (0, 1), sens_param=True)
    _, found = gradient(X, Y, (Tensor([1.0, 10.0]), Tensor([5.0, 5.0])))
    assert lists(found) == ([11.0, 125.0], [2.0, 60.0])


@pytest.mark.parametrize("transform", [ms.grad, ms.value_and_grad])
@pytest.mark.parametrize(
    ("position", "kind", "told"),
    [
        (None, ValueError, "None at the same time"),
        (-1, ValueError, "negative"),
        ((0, 0), ValueError, "duplicate"),
        ("0", TypeError, "grad_position"),
        ([0], TypeError, "grad_position"),
        (0.0, TypeError, "grad_position"),
        (True, TypeError, "grad_position"),
    ],
)
def test_positions_that_cannot_be(mode, transform, position, kind, told):
    with pytest.raises(kind, match=told):
        transform(Net(), position)(X, Y)


def test_a_position_beyond_the_arguments_and_too_few_outputs(mode):
    with pytest.raises(ValueError, match="does not exist"):
        ms.grad(Net(), 2)(X, Y)
    with pytest.raises(ValueError, match="has_aux"):
        ms.grad(lambda x: x * 2, has_aux=True)(X)


@pytest.mark.parametrize("get_all", [False, True])
@pytest.mark.parametrize("by_list", [False, True])
@pytest.mark.parametrize("sens", [False, True])
def test_every_grad_operation(mode, get_all, by_list, sens):
    net = Net()
    made = ops.GradOperation(get_all=get_all, get_by_list=by_list, sens_param=sens)
    gradient = made(net, net.trainable_params()) if by_list else made(net)
    rest = ((Tensor([2.0, 2.0]), Tensor([0.0, 0.0])),) if sens else ()
    k, one = (2.0, 0.0) if sens else (1.0, 1.0)
    dx, dy, dw, dv = ([k * v for v in part] for part in (DX, DY, DW, DV))
    dx = [v + one for v in dx]  # the second output is x
    inputs = (dx, dy) if get_all else dx
    weights = (dw, dv)
    expected = inputs if not by_list else (inputs, weights) if get_all else weights
    assert lists(gradient(X, Y, *rest)) == expected


def test_cells_of_products(mode):
    def f(x, y):
        return x * x * y

    u, v = Tensor([1.0, 0.5]), Tensor([2.0, 1.0])
    assert lists(nn.Jvp(f)(X, Y, (u, v))) == ([3.0, 16.0], [2 * 1 * 3 * 1 + 1 * 2, 2 * 2 * 4 * 0.5 + 4 * 1])
    assert lists(nn.Vjp(f)(X, Y, v)) == ([3.0, 16.0], ([12.0, 16.0], [2.0, 4.0]))
    assert lists(nn.Jvp(lambda x: x * x)(X, u)) == ([1.0, 4.0], [2.0, 2.0])
    assert lists(nn.Vjp(lambda x: x * x)(X, u)) == ([1.0, 4.0], [2.0, 2.0])
    both = nn.Vjp(lambda x: (x * x, x * 3))
    assert lists(both(X, (u, v))) == (([1.0, 4.0], [3.0, 6.0]), [8.0, 5.0])
    assert [p.name for p in nn.Vjp(Net()).trainable_params()] == ["fn.w", "fn.v"]


# ------------------------------------------------------------------------------------------------ recompute
class Block(nn.Cell):
    """Random numbers, a Parameter that counts calls, and two outputs."""

    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Dense(3, 3), nn.Dropout(p=0.5)
        self.calls = Parameter(0.0, name="calls", requires_grad=False)

    def construct(self, x):
        ops.assign_add(self.calls, Tensor(1.0))
        return ops.tanh(self.drop(ops.sin(self.fc(x)))) * self.calls, x.sum()


def outcome(block, call):
    """Values, first and second derivatives, what was counted, and what is drawn next."""
    x = Tensor(np.random.default_rng(5).standard_normal((2, 3)), ms.float32)
    weights = block.trainable_params()
    ms.set_seed(3)
    block.calls.set_data(Tensor(0.0))
    first = ms.value_and_grad(call, 0, weights)(x)
    second = ms.grad(lambda v: ms.grad(lambda u: (call(u)[0] ** 2).sum())(v).sum(), 0, weights)(x)
    return [first, second, block.calls, ops.rand(3)]


def test_recompute_changes_no_result(mode):
    block = Block().set_train()
    plain = outcome(block, lambda v: block(v))
    called = outcome(block, lambda v: ms.recompute(block, v))
    marked = Block().set_train()
    for mine, its in zip(marked.get_parameters(), block.get_parameters(), strict=True):
        mine.set_data(its)
    assert marked.recompute() is marked
    method = outcome(marked, lambda v: marked(v))
    for other in (called, method):
        for a, b in zip(_tensors(plain), _tensors(other), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def _tensors(x):
    if isinstance(x, tuple | list):
        return [array for item in x for array in _tensors(item)]
    return [x.asnumpy()]


def test_recompute_of_functions_with_captured_values_and_several_uses(mode):
    w = Tensor([3.0, 4.0])

    def f(x, y):
        z = x * 2

        def inner(a, *, k):
            return ops.sin(a * z) * w * k, a

        first, same = ms.recompute(inner, y, k=x)
        second, _ = ms.recompute(inner, same, k=first)
        return (first + second).sum()

    def plain(x, y):
        first = ops.sin(y * x * 2) * w * x
        return (first + ops.sin(y * x * 2) * w * first).sum()

    for order in (1, 2):
        derivatives = []
        for function in (f, plain):
            derivative = ms.grad(function, (0, 1))
            if order == 2:
                derivative = ms.grad(lambda x, y, d=derivative: sum([g.sum() for g in d(x, y)]), (0, 1))
            derivatives.append(derivative(Tensor([0.3, 0.5]), Tensor([0.7, 0.2])))
        for a, b in zip(*derivatives, strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5)


def test_recompute_inside_recompute_and_other_transforms(mode):
    def cube(x):
        return ms.recompute(lambda v: ms.recompute(lambda u: u * u, v) * v, x)

    x = Tensor([2.0, 3.0])
    assert ms.grad(cube)(x).tolist() == [12.0, 27.0]
    assert ms.jacrev(cube)(x).tolist() == [[12.0, 0.0], [0.0, 27.0]]
    assert lists(ms.jvp(cube, x, Tensor([1.0, 1.0]))) == ([8.0, 27.0], [12.0, 27.0])
    y, pull = ms.vjp(cube, x)
    assert lists((y, pull(x), pull(x))) == ([8.0, 27.0], ([24.0, 81.0],), ([24.0, 81.0],))
    with pytest.raises(TypeError, match="recompute"):
        ms.recompute(3, x)


def test_recompute_keeps_no_values_in_eager_code():
    x = Tensor(np.ones(100_000, np.float32))

    def deep(v):
        for _ in range(10):
            v = ops.sin(v)
        return v

    def peak(call):
        def f(v):
            for _ in range(6):
                v = call(v)
            return v.sum()

        tracemalloc.start()
        ms.grad(f)(x)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(lambda v: ms.recompute(deep, v)) < 0.5 * peak(deep)


def test_recompute_of_what_differs_the_second_time():
    shapes = iter([(2,), (2, 1)])
    with pytest.raises(ms.GradientError, match="second time"):
        ms.grad(lambda x: ms.recompute(lambda v: v.reshape(next(shapes)) * 2, x))(X)


# ------------------------------------------------------------------------------------------------ set_grad
def test_set_grad_survives_copies():
    net = Net().set_grad()
    net(X, Y)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.requires_grad
        assert lists(ms.grad(other, 0, None, True)(X, Y)[0]) == DX
    assert lists(ms.grad(net, (0, 1), net.trainable_params(), True)(X, Y)[0]) == ((DX, DY), (DW, DV))


def test_set_grad_with_a_rule_for_the_first_input_only():
    class Bare(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return dout * 7

    net = Bare().set_grad()
    net(X, Y)
    assert ms.grad(net)(X, Y).tolist() == [7.0, 7.0]
    net(X, Y)
    with pytest.raises(ms.BpropError):
        ms.grad(net, 1)(X, Y)


def test_set_grad_inside_of_derivatives_and_second_order():
    net = Net().set_grad()
    net(X, Y)
    second = ms.grad(lambda x: ms.grad(lambda v: (net(v, Y)[0] ** 2).sum())(x).sum())
    assert second(X).tolist() == [2 * (3.0 * 2) ** 2, 2 * (4.0 * 3) ** 2]


def test_a_forward_pass_that_set_grad_kept_is_not_taken_for_another():
    class Counted(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w, self.k, self.calls = Parameter(Tensor([2.0]), name="w"), 1.0, 0

        def construct(self, x):
            self.calls += 1
            return x * self.w * self.k

    net, x = Counted().set_grad(), Tensor([3.0])
    net(x)
    assert ms.grad(net, 0, net.w)(x)[1].item() == 3.0
    assert net.calls == 1
    assert ms.grad(net)(x).item() == 2.0
    assert net.calls == 2
    net(x)
    assert ms.grad(net)(Tensor([3.0])).item() == 2.0
    assert net.calls == 4
    net(x)
    net.w.set_data(Tensor([5.0]))
    assert ms.grad(net)(x).item() == 5.0
    assert net.calls == 6
    net(x)
    net.k = 10.0
    assert ms.grad(net)(x).item() == 50.0
    assert net.calls == 8
    net(x)
    x[0] = 4.0
    assert ms.value_and_grad(net)(x)[0].item() == 200.0
    assert net.calls == 10
    y = net(x)
    y[0] = 0.0
    assert ms.value_and_grad(net)(x)[0].item() == 200.0
    assert net.calls == 12
    net.set_grad(False)(x)
    assert ms.grad(net)(x).item() == 50.0
    assert net.calls == 14
