"""`InsertGradientOf` and `custom_vjp`, and rules that are the derivative of their code; in eager and in compiled code.

Expected values are written down from mathematics; where a rule is the true derivative, the same code without it is the
oracle.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops

from .compare import assert_close, define
from .everywhere import everywhere, everywhere_close, refused, t

# ------------------------------------------------------------------------------------------------ InsertGradientOf
LOW, HIGH = Tensor([0.1], ms.float32), Tensor([1.1], ms.float32)


def clipped(g):
    found = g
    if found > HIGH:
        found = HIGH
    if found < LOW:
        found = LOW
    return found


@pytest.mark.parametrize(("y", "expected"), [(2.0, 1.1), (0.8, 0.64), (0.1, 0.1)])
def test_a_function_edits_the_gradient_of_its_operand(y, expected):
    clip = ops.InsertGradientOf(clipped)
    everywhere(ms.value_and_grad(lambda x, y: clip(x) * y**2), t(-2.0), t(y), expected=[[-2 * y * y], [expected]])


class Edited(nn.Cell):
    def __init__(self, edit=None):
        super().__init__()
        self.edit = ops.InsertGradientOf(self.back)
        self.z = 0.0

    def back(self, g):
        return clipped(g) + self.z

    def construct(self, x, y, z=0.0):
        self.z = z
        return self.edit(x) * y**2


def test_a_method_reads_what_construct_left():
    net = Edited()
    everywhere(lambda x, y: ms.grad(net)(x, y, z=-1), t(-2.0), t(2.0), expected=[[0.1]])
    everywhere(ms.grad(net), t(-2.0), t(2.0), expected=[[1.1]])
    everywhere(ms.grad(lambda x, y, z: net(x, y, z)), t(-2.0), t(2.0), t(5.0), expected=[[6.1]])


def test_a_constant_is_a_bare_number_where_it_ends():
    hundred = ops.InsertGradientOf(lambda g: 100.0)
    x, y = t(-2.0, 1.0), t(2.0, 3.0)
    found = everywhere(ms.grad(lambda x, y: hundred(x) * y), x, y, expected=[100.0])
    assert found.shape == ()
    assert str(found) == "100.0"
    everywhere(ms.grad(lambda x, y: hundred(x * 3) * y), x, y, expected=[[300.0, 300.0]])
    everywhere(ms.grad(lambda x, y: hundred(x) * y + x), x, y, expected=[[101.0, 101.0]])


def test_the_gradient_of_a_parameter_has_its_shape():
    w, hundred = Parameter([3.0, 4.0], name="w"), ops.InsertGradientOf(lambda g: 100.0)
    everywhere(ms.grad(lambda x: hundred(w) * x, 0, w), t(1.0, 2.0), expected=[[3.0, 4.0], [100.0, 100.0]])


@pytest.mark.parametrize("kind", [float, int, np.float32, np.float64])
def test_numbers_of_any_kind(kind):
    number = kind(3)
    edit = ops.InsertGradientOf(lambda g: number)
    everywhere(ms.grad(lambda x: edit(x) * 2 + x), t(1.0, 2.0), expected=[[4.0, 4.0]])
    everywhere(ms.vmap(ms.grad(lambda x: edit(x) * 2)), t(1.0, 2.0), expected=[[3.0, 3.0]])


def test_the_edit_placed_last_is_the_first_to_run():
    double, more = ops.InsertGradientOf(lambda g: g * 2), ops.InsertGradientOf(lambda g: g + 1)
    everywhere(ms.grad(lambda x: more(double(x)) * 5), t(1.0), expected=[[12.0]])
    everywhere(ms.grad(lambda x: double(more(x)) * 5), t(1.0), expected=[[11.0]])


def test_an_edit_runs_once_for_each_use_of_its_operand():
    more = ops.InsertGradientOf(lambda g: g + 1)

    def f(x):
        y = more(x)
        return y * 2 + y * 3

    everywhere(ms.grad(f), t(1.0), expected=[[6.0]])
    everywhere(ms.grad(lambda x: more(x) * 2 + more(x) * 3), t(1.0), expected=[[7.0]])


def test_an_edit_of_another_shape():
    wrong = ops.InsertGradientOf(lambda g: ops.concat((g, g)))
    told = refused(ms.grad(lambda x: wrong(x) * 2), t(1.0), kind=ms.BpropError, code="AC1706")
    assert "[2]" in told
    assert "[1]" in told
    nothing = ops.InsertGradientOf(lambda g: None)
    refused(ms.grad(lambda x: nothing(x) * 2), t(1.0), kind=ms.BpropError, code="AC1706")


def test_edits_have_derivatives_of_their_own():
    steep = ops.InsertGradientOf(lambda g: g * g)
    x = t(2.0)
    everywhere(ms.grad(lambda x: steep(x) ** 3), x, expected=[[144.0]])  # (3 x^2)^2
    # d/dv of (3 v^2)^2 is 36 v^3; on its way to x that is a gradient that arrives at the edit, too
    everywhere(ms.grad(lambda x: ms.grad(lambda v: steep(v) ** 3)(x).sum()), x, expected=[[288.0**2]])


def test_an_edit_needs_a_function_and_a_tensor():
    with pytest.raises(TypeError):
        ops.InsertGradientOf(3)
    with pytest.raises(TypeError):
        ops.InsertGradientOf(lambda g: g)(3.0)


# ------------------------------------------------------------------------------------------------ custom_vjp
@ops.custom_vjp
def power(x, n):
    return x**n


@power.defbwd
def _power_bwd(x, n, out, dout):
    return dout * n * x ** (n - 1) * 10, None


def test_a_function_with_a_rule():
    everywhere(ms.grad(power), t(2.0), 3, expected=[[120.0]])
    everywhere(ms.grad(lambda x: power(x, n=2)), t(2.0), expected=[[40.0]])
    everywhere(ms.grad(lambda x: ms.grad(power)(x, 3).sum()), t(2.0), expected=[[120.0]])
    everywhere(lambda x: power(x, 3), t(2.0), expected=[[8.0]])


def test_a_method_with_a_rule():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.k = 4.0

        @ops.custom_vjp
        def scaled(self, x):
            return x * self.k

        @scaled.defbwd
        def scaled_back(self, x, out, dout):
            return dout * self.k * 10

        def construct(self, x):
            return self.scaled(x) + 1

    everywhere(ms.grad(Net()), t(2.0), expected=[[40.0]])


def test_a_function_with_a_rule_made_in_compiled_code():
    def f(x):
        @ops.custom_vjp
        def double(v):
            return v * 2

        @double.defbwd
        def back(v, out, dout):
            return (dout * 7 * x,)

        return double(x)

    def plain(x):
        triple = ops.custom_vjp(lambda v: v * 3)
        triple.defbwd(lambda v, out, dout: (dout * 8,))
        return triple(x)

    everywhere(ms.grad(f), t(2.0), expected=[[14.0]])
    everywhere(ms.grad(plain), t(1.0), expected=[[8.0]])


def test_until_it_has_a_rule_it_has_its_own_derivative():
    @ops.custom_vjp
    def square(x):
        return x * x

    everywhere(ms.grad(square), t(3.0), expected=[[6.0]])
    square.defbwd(lambda x, out, dout: (dout * 5,))
    everywhere(ms.grad(square), t(3.0), expected=[[5.0]])


def test_errors_name_the_function():
    @ops.custom_vjp
    def square(x):
        return x * x

    square.defbwd(lambda out, dout: (dout,))
    told = refused(ms.grad(square), t(3.0), kind=TypeError, code="AC1702")
    assert "square" in told


# ------------------------------------------------------------------------------------------------ equal to automatic
PIECES = [
    ("x * y", "dout * y, dout * x"),
    ("ops.sin(x) + y", "dout * ops.cos(x), dout"),
    ("x * x - y * x", "dout * (2 * x - y), -dout * x"),
    ("ops.exp(x * 0.3) * y", "dout * 0.3 * out, dout * ops.exp(x * 0.3)"),
    ("ops.tanh(x + y)", "dout * (1 - out * out), dout * (1 - out * out)"),
    ("x / (y * y + 1)", "dout / (y * y + 1), -2 * dout * x * y / ((y * y + 1) ** 2)"),
]


def _cells():
    cells = []
    for forward, backward in PIECES:
        text = f"""
        class Piece(ms.nn.Cell):
            def construct(self, x, y):
                return {forward}
            def bprop(self, x, y, out, dout):
                return {backward}
        """
        given = define(text, "Piece", ops=ops)
        own = type("Own", (given,), {"bprop": None})
        cells.append((given(), own()))
    return cells


CELLS = _cells()
SHAPES = [
    lambda c, x, y: c[0](c[1](x, y), y),
    lambda c, x, y: c[0](x, y) * c[1](y, x) + c[2](x, x),
    lambda c, x, y: _looped(c, x, y),
    lambda c, x, y: _branched(c, x, y),
    lambda c, x, y: _kept(c, x, y),
    lambda c, x, y: ms.grad(lambda a: (c[0](a, y) * c[1](a, a)).sum())(x),
    lambda c, x, y: ms.vmap(c[0])(x, y) + c[2](x, y),
]


def _looped(c, x, y):
    for cell in c:
        x = cell(x, y) * 0.5
    return x


def _branched(c, x, y):
    if x.sum() > y.sum():
        x = c[0](x, y)
    else:
        y = c[1](x, y)
    return c[2](x, y)


def _kept(c, x, y):
    i = Tensor(0)
    while i < 2:
        x = c[0](x, y) * 0.5
        if x.sum() > 0:
            y = c[1](y, x) * 0.5
        i = i + 1
    return c[2](x, y)


@pytest.mark.some(2)
@pytest.mark.parametrize("number", range(14))
def test_rules_that_are_the_derivative_change_nothing(number):
    rng = np.random.default_rng(number)
    chosen = rng.choice(len(CELLS), 3)
    program = SHAPES[number % len(SHAPES)]
    given, own = ([CELLS[i][k] for i in chosen] for k in (0, 1))
    x, y = (Tensor(rng.uniform(0.3, 1.2, 2)) for _ in range(2))
    for order in (1, 2):
        results = []
        for cells in (own, given):

            def f(x, y, cells=cells):
                return program(cells, x, y)

            derivative = ms.grad(f, (0, 1))
            if order == 2:
                first = derivative
                derivative = ms.grad(lambda x, y, first=first: sum([g.sum() for g in first(x, y)]), (0, 1))
            results.append(everywhere_close(derivative, x, y))
        assert_close(results[1], results[0], f"order {order} of {chosen}", 1e-9)


# ---------------------------------------------------------------------------------------------------- changed later
@pytest.mark.parametrize("optimize", [None, 0, 2])
def test_another_function_is_noticed(optimize):
    edit, hook = ops.InsertGradientOf(lambda g: g * 2), ops.HookBackward(lambda grads: grads[0] * 3)
    slope = ms.grad(lambda x: (edit(x) * hook(x)).sum())  # 2 x + 3 x
    slope = slope if optimize is None else ms.jit(slope, optimize=optimize)
    assert slope(t(1.0)).tolist() == [5.0]
    edit.f = lambda g: g * 20
    assert slope(t(1.0)).tolist() == [23.0]
    hook.hook_fn = lambda grads: grads[0] * 30
    assert slope(t(1.0)).tolist() == [50.0]


# ---------------------------------------------------------------------------------------------------- forward mode
def squared(cell, arrived, leaving):
    return (leaving[0] ** 2,)


def with_hook():
    relu = nn.ReLU()
    relu.register_backward_hook(squared)
    return relu


NOT_LINEAR = {
    "a square in a hook": with_hook,
    "sign": lambda: ops.InsertGradientOf(ops.sign),
    "floor": lambda: ops.InsertGradientOf(lambda g: ops.floor(g)),
    "sign of a multiple": lambda: ops.HookBackward(lambda grads: ops.sign(grads[0] * 2) + grads[0]),
    "clamp": lambda: ops.InsertGradientOf(lambda g: ops.clamp(g, -1.0, 1.0)),
    "constant": lambda: ops.InsertGradientOf(lambda g: g + 1),
}


@pytest.mark.parametrize("optimize", [None, 0, 2])
@pytest.mark.parametrize("name", NOT_LINEAR)
def test_forward_mode_refuses_edits_that_are_not_linear(name, optimize):
    edit = NOT_LINEAR[name]()

    def pushed(x):
        return ms.jvp(lambda x: edit(x) * x, (x,), (ops.ones_like(x),))

    fn = pushed if optimize is None else ms.jit(pushed, optimize=optimize)
    with pytest.raises(ms.BpropError) as caught:
        fn(t(1.0, 2.0))
    assert caught.value.code == "AC1705"


def test_forward_mode_takes_linear_ones():
    """The tangent of ``edit(x) * x`` with an edit that triples is ``3 x + x``."""
    edit = ops.InsertGradientOf(lambda g: ops.where(ms.Tensor([True, False, True]), g * 3, g * 0))
    everywhere(
        lambda x: ms.jvp(lambda x: edit(x) * x, (x,), (ops.ones_like(x),)),
        t(1.0, 2.0, 3.0),
        expected=[[1.0, 4.0, 9.0], [4.0, 2.0, 12.0]],
    )


def test_forward_mode_does_not_call_hooks_too_early():
    """Eager code calls the backward hook last; compiled forward mode would call it before the forward hook."""
    relu, log = nn.ReLU(), []
    relu.register_backward_hook(lambda cell, arrived, leaving: log.append("backward"))

    def pushed(x):
        return ms.jvp(relu, (x,), (ops.ones_like(x),))[1]

    assert ms.jit(pushed)(t(1.0)).tolist() == [1.0]
    assert log == ["backward"]
    relu.register_forward_hook(lambda cell, inputs, output: log.append("forward"))
    log.clear()
    assert pushed(t(1.0)).tolist() == [1.0]
    assert log == ["forward", "backward"]
    with pytest.raises(ms.BpropError, match="before the forward pass") as caught:
        ms.jit(pushed)(t(1.0))
    assert caught.value.code == "AC1705"


# ------------------------------------------------------------------------------------------------ arguments
@pytest.mark.parametrize("make", [ops.InsertGradientOf, ops.HookBackward])
@pytest.mark.parametrize("of", [lambda x: 2.0, lambda x: (x, x), lambda x: [x], lambda x: x[0].item()])
def test_what_is_no_tensor_is_refused_alike(make, of):
    edit, messages = make(lambda g: g), []
    for run in (lambda f: f, ms.jit):
        with pytest.raises(TypeError, match="gradient of a Tensor") as caught:
            run(lambda x: edit(of(x)))(t(1.0, 2.0))
        messages.append(str(caught.value).partition("\n")[0])
    assert len(set(messages)) == 1


def test_how_many_arguments():
    edit, hook = ops.InsertGradientOf(lambda g: g * 2), ops.HookBackward(lambda g: None)
    everywhere(lambda x: ms.grad(lambda x: edit(x=x) * 3)(x), t(1.0), expected=[[6.0]])
    for wrong in (lambda x: edit(x, x), lambda x: edit(), lambda x: hook(), lambda x: hook(x=x)):
        for run in (lambda f: f, ms.jit):
            with pytest.raises(TypeError):
                run(wrong)(t(1.0))


def test_a_hook_of_several_gradients():
    """Of ``2 a + 3 b`` the hook gets (2, 3) and gives (20, 300); of ``a`` alone it gets (1, 0)."""
    hook = ops.HookBackward(lambda grads: (grads[0] * 10, grads[1] * 100))

    def f(x, y):
        a, b = hook(x, y)
        return a * 2 + b * 3

    everywhere(ms.grad(f, (0, 1)), t(1.0), t(1.0), expected=[[20.0], [300.0]])
    swap = ops.HookBackward(lambda grads: (None, grads[0]))
    everywhere(ms.grad(lambda x, y: swap(x, y)[0], (0, 1)), t(1.0), t(1.0), expected=[[1.0], [1.0]])


@pytest.mark.parametrize("found", [lambda g: g[0], lambda g: (g[0],), lambda g: (g[0], ops.ones(5)), lambda g: "a"])
def test_a_hook_of_several_gradients_gives_one_for_each(found):
    hook = ops.HookBackward(found)
    messages = []
    for run in (lambda f: f, ms.jit):
        with pytest.raises(ms.HookError) as caught:
            run(ms.grad(lambda x: sum(hook(x, x * 2))))(t(1.0, 2.0))
        assert caught.value.code == "AC1707"
        messages.append(caught.value.message)
    assert len(set(messages)) == 1


def test_a_lambda_of_compiled_code_is_named_by_its_own_place():
    def f(x):
        return ops.InsertGradientOf(lambda g: g.reshape(1, 1))(x)

    for run in (lambda f: f, ms.jit):
        with pytest.raises(ms.BpropError, match=r"test_gradient_edits\.py:") as caught:
            run(ms.grad(f))(t(1.0))
        assert caught.value.code == "AC1706"


# ------------------------------------------------------------------------------------------------ nothing to derive
def forgets(x):
    x * 2


def test_a_function_that_returns_no_tensor():
    for run in (lambda f: f, ms.jit):
        for f in (forgets, lambda x: "text", lambda x: 3.0):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                place = compile("g(f)(x)", f"<{run} {f}>", "eval")
                assert eval(place, {"g": lambda f: run(ms.grad(f)), "f": f, "x": t(1.0)}).tolist() == [0.0]
            assert any("is a `return` missing?" in str(w.message) for w in caught), (run, f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ms.grad(lambda x: (x * 2, "text"))(t(1.0)).tolist() == [2.0]
        assert ms.jit(ms.grad(lambda x: (x * 2, "text")))(t(1.0)).tolist() == [2.0]


def test_a_weight_that_is_not_used_and_has_the_name_of_another():
    net = nn.Dense(1, 1, has_bias=False)
    net.weight.set_data(Tensor([[2.0]], ms.float32))
    other = Parameter(Tensor([1.0, 2.0], ms.float32), name=net.weight.name)
    x = Tensor([[3.0]], ms.float32)
    for weights in ((net.weight, other), (other, net.weight)):
        wanted = [[[3.0]] if w is net.weight else [0.0, 0.0] for w in weights]
        everywhere(lambda x, weights=weights: ms.grad(net, None, weights)(x), x, expected=wanted)


def test_no_sensitivity():
    for run in (lambda f: f, ms.jit):
        gradient = run(ops.GradOperation(sens_param=True)(lambda x, y: x * y))
        assert gradient(t(1.0), t(2.0), t(3.0)).tolist() == [6.0]
        with pytest.raises(TypeError, match="the last argument is the sensitivity, none was given"):
            gradient(t(1.0), t(2.0))
