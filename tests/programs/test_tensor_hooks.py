"""`register_hook` of Tensors and Parameters, and hooks of all kinds in random programs.

Expected gradients are written out by hand; in random programs they are central differences of the program itself, and
hooks that return nothing must not change a bit of the result.
"""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, grad, jit, nn, ops

from .hooked import one


# ------------------------------------------------------------------------------------------------ inside
def test_an_intermediate_value(mode):
    def f(x, y):
        z = x * y
        z.register_hook(lambda g: g * 2)
        return z * y

    # dz = y, doubled: 4; dx = 4 y, dy = z + 4 x
    found = grad(f, (0, 1))(Tensor(1.0), Tensor(2.0))
    assert [g.tolist() for g in found] == [8.0, 6.0]


def test_hooks_run_in_the_order_of_registration_and_none_keeps(mode):
    log = []

    def f(x):
        y = x * x
        y.register_hook(lambda g: g * 10)
        y.register_hook(lambda g: log.append(g.tolist()))
        y.register_hook(lambda g: g + 1)
        y.register_hook(lambda g: log.append(g.tolist()))
        return y * 3

    assert grad(f)(one(2)).tolist() == [31 * 4.0]
    assert log == [[30.0], [31.0]]


def test_each_use_passes_the_hooks_registered_by_then(mode):
    def f(x):
        before = x * 2
        handle = x.register_hook(lambda g: g * 10)
        one_hook = x * 3
        x.register_hook(lambda g: g + 1)
        both = x * 5
        handle.remove()
        handle.remove()
        return before + one_hook + both + x * 7

    # 2, 3 * 10, 5 * 10 + 1, 7 + 1
    assert grad(f)(one(1)).tolist() == [2 + 30 + 51 + 8.0]


def test_a_hook_sees_the_sum_over_the_uses(mode):
    log = []

    def f(x):
        y = x * 2
        y.register_hook(lambda g: log.append(g.tolist()))
        return y * 3 + y * y + y

    assert grad(f)(one(1)).tolist() == [16.0]
    assert log == [[8.0]]


def test_arguments_inside_the_function_keep_nothing_for_later(mode):
    def f(x, y):
        x.register_hook(lambda g: g * 2)
        return x * y

    x = one(3)
    slope = grad(f, (0, 1))
    for _ in range(2):
        assert [g.tolist() for g in slope(x, x)] == [[6.0], [3.0]]
    assert grad(lambda x: x * 1)(x).tolist() == [1.0]


def test_writing_to_a_tensor_leaves_the_hook_with_the_old_elements(mode):
    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * 3)
        y[0] = y[0] * 2
        return y * 5

    # y[0] is used twice over: 5 * 2 for its old value; all of it passes the hook
    assert grad(f)(Tensor([1.0, 2.0])).tolist() == [60.0, 30.0]


def test_loops_and_branches(mode):
    log = []

    def f(x):
        for _ in range(2):
            x = x * 2
            x.register_hook(lambda g: g + 1)
        while x.sum() < 30:
            x = x * 2
            x.register_hook(lambda g: log.append(g.tolist()))
        y = x * 1
        if x.sum() > 100:
            y.register_hook(lambda g: g * 1000)
        else:
            y.register_hook(lambda g: g + 5)
        return y

    # 1 2 4 | 8 16 32; backward 1, + 5, kept three times: 6 6*2 6*4, then 48 + 1, 98 + 1, 198
    assert grad(f)(one(1)).tolist() == [((6 * 8 + 1) * 2 + 1) * 2.0]
    assert log == [[6.0], [12.0], [24.0]]


def test_a_method_of_a_cell_as_hook(mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.scale = 3.0
            self.seen = []

        def note(self, g):
            self.seen.append(g)
            return g * self.scale

        def construct(self, x):
            y = x * 2
            y.register_hook(self.note)
            return y * 5

    net = Net()
    slope = grad(net)
    for _ in range(2):
        assert slope(one(1)).tolist() == [30.0]
    assert [g.tolist() for g in net.seen] == [[5.0], [5.0]]
    if mode != "eager":
        assert slope.compiled().cache_info()["compiles"] == 1


def test_a_jitted_function_on_the_tape():
    log = []

    @jit
    def f(x):
        y = x * 2
        y.register_hook(lambda g: log.append(g.tolist()))
        y.register_hook(lambda g: g * 10)
        return y * 3

    assert grad(f)(one(1)).tolist() == [60.0]
    assert log == [[3.0]]
    assert f(one(1)).tolist() == [6.0]
    assert log == [[3.0]]


def test_an_argument_that_is_returned(mode):
    def f(x):
        x.register_hook(lambda g: g * 2)
        return x

    assert grad(f)(one(3)).tolist() == [2.0]
    assert grad(jit(f))(one(3)).tolist() == [2.0]


def test_a_number_stands_for_all_elements(mode):
    def f(x):
        y = x * x
        y.register_hook(lambda g: 3)
        y.register_hook(lambda g: g + 1)
        return y

    assert grad(f)(Tensor([1.0, 2.0])).tolist() == [8.0, 16.0]


def test_integers_have_no_gradient(mode):
    def f(x):
        n = ops.cast(x, ms.int32)
        n.register_hook(lambda g: g * 100)
        return x * n

    assert grad(f)(one(3)).tolist() == [3.0]


# ------------------------------------------------------------------------------------------------ outside
def test_a_tensor_with_hooks_is_given_to_a_derivative(mode):
    log = []
    x = one(2)
    x.register_hook(lambda g: log.append(g.tolist()))
    handle = x.register_hook(lambda g: g * 10)
    slope = grad(lambda x, y: x * x * y, (0, 1))
    assert [g.tolist() for g in slope(x, one(3))] == [[120.0], [4.0]]
    assert log == [[12.0]]
    handle.remove()
    assert [g.tolist() for g in slope(x, one(3))] == [[12.0], [4.0]]
    assert [g.tolist() for g in slope(one(2), one(3))] == [[12.0], [4.0]]
    assert log == [[12.0], [12.0]]


def ten(g):
    return g * 10


def test_equal_hooks_on_other_tensors_are_not_compiled_again():
    ms.set_context(mode=ms.GRAPH_MODE)
    slope = grad(lambda x: x * 3)
    assert slope(one(1)).tolist() == [3.0]
    for value in range(4):
        x = one(value)
        x.register_hook(ten)
        assert slope(x).tolist() == [30.0]
    assert slope(one(1)).tolist() == [3.0]
    assert slope.compiled().cache_info()["compiles"] <= 3


def test_the_guard_says_what_holds():
    """Compiled while there was no hook: it is true that there is none, and false as soon as there is one."""
    gc.collect()  # Tensors of other tests that have hooks
    slope = jit(grad(lambda x: x * 3))
    slope(one(1))
    (guard,) = (g for g in slope.guards() if "hooks" in g.what)
    assert (str(guard), guard.holds) == ("any Tensor has hooks: no", True)
    x = one(1)
    handle = x.register_hook(ten)
    (guard,) = (g for g in slope.guards() if "hooks" in g.what)
    assert (str(guard), guard.holds) == ("any Tensor has hooks: no; now: yes", False)
    handle.remove()


def test_a_captured_tensor_as_variable(mode):
    x = one(2)
    x.register_hook(lambda g: g * 10)

    def f(y):
        return grad(lambda t: t * t * y)(x)

    assert (jit(f) if mode != "eager" else f)(one(3)).tolist() == [120.0]


def test_parameters(mode):
    log = []
    w = Parameter([2.0], name="w")
    w.register_hook(lambda g: log.append(g.tolist()))
    handle = w.register_hook(lambda g: g * 5)

    def f(x):
        return x * w * w

    assert grad(f, None, w)(one(3)).tolist() == [60.0]
    dx, (dw,) = grad(f, 0, [w])(one(3))
    assert (dx.tolist(), dw.tolist()) == ([4.0], [60.0])
    handle.remove()
    assert grad(f, None, w)(one(3)).tolist() == [12.0]
    assert log == [[12.0]] * 3
    other = Parameter([1.0], name="other")
    other.register_hook(lambda g: log.append("unreached"))
    assert [g.tolist() for g in grad(f, None, [w, other])(one(3))] == [[12.0], [0.0]]
    assert log == [[12.0]] * 4


def test_parameters_of_a_network_in_a_training_step(mode):
    """Clipped by hooks: a step of SGD by hand."""
    net = nn.Dense(2, 1, has_bias=False)
    net.weight.set_data(Tensor([[1.0, 1.0]]))
    net.weight.register_hook(lambda g: ops.minimum(g, Tensor(1.5)))

    def step(x):
        loss, (g,) = ms.value_and_grad(lambda x: net(x).sum(), None, [net.weight])(x)
        net.weight -= g
        return loss

    run = step if mode == "eager" else jit(step)
    assert run(Tensor([[1.0, 2.0]])).item() == 3.0
    assert net.weight.asnumpy().tolist() == [[0.0, -0.5]]


def test_a_pullback_calls_the_hooks_of_its_inputs_each_time(mode):
    log = []
    x = one(2)
    x.register_hook(lambda g: log.append(g.tolist()))
    _, pull = ms.vjp(lambda x: x * x, x)
    assert pull(one(1))[0].tolist() == [4.0]
    assert pull(one(3))[0].tolist() == [12.0]
    assert log == [[4.0], [12.0]]


def test_hooks_of_a_tensor_are_called_for_each_derivative_by_it(mode):
    def f(x):
        x.register_hook(lambda g: g * 3)
        return grad(lambda z: z * z)(x)

    assert grad(f)(one(2)).tolist() == [3 * 2 * 3.0]


def test_forward_mode(mode):
    def f(x):
        y = x * 3
        y.register_hook(lambda g: g * 10)
        return y

    assert [t.tolist() for t in ms.jvp(f, one(2), one(1))] == [[6.0], [30.0]]
    assert ms.jacrev(f)(Tensor([1.0, 2.0])).tolist() == [[30.0, 0.0], [0.0, 30.0]]
    assert ms.jacfwd(f)(Tensor([1.0, 2.0])).tolist() == [[30.0, 0.0], [0.0, 30.0]]


def test_copies_have_no_hooks(mode):
    x = one(2)
    x.register_hook(lambda g: g * 10)
    for other in (x.copy(), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert grad(lambda x: x * 3)(other).tolist() == [3.0]


# ------------------------------------------------------------------------------------------------ mistakes
def test_what_a_hook_returns_must_fit(mode):
    def wrong(g):
        return g.sum().reshape((1,))

    def f(x):
        x = x * 1
        x.register_hook(wrong)
        return x

    def two(g):
        return g, g

    def g(x):
        x = x * 1
        x.register_hook(two)
        return x

    with pytest.raises(ms.HookError, match=r"shape \[1\], where the shape \[2\] is needed"):
        grad(f)(Tensor([1.0, 2.0]))
    with pytest.raises(ms.HookError, match=r"two \(test_tensor_hooks.py:\d+\) returns a tuple of 2") as caught:
        grad(g)(Tensor([1.0, 2.0]))
    assert caught.value.code == "AC1707"
    assert mode == "eager" or caught.value.loc.file.endswith("test_tensor_hooks.py")
    x = Tensor([1.0, 2.0])
    x.register_hook(wrong)
    with pytest.raises(ms.HookError, match=r"wrong \(test_tensor_hooks.py:\d+\)"):
        grad(lambda x: x * 2)(x)
    with pytest.raises(TypeError, match="a hook must be callable, not a int"):
        grad(lambda x: x.register_hook(3))(x)


def test_what_compiled_code_cannot_follow_is_refused():
    ms.set_context(mode=ms.GRAPH_MODE)
    w = Parameter([1.0], name="w")

    def on_a_parameter(x):
        w.register_hook(ten)
        return x * w

    def after_a_branch(x):
        if x.sum() > 0:
            x.register_hook(ten)
        x.register_hook(ten)
        return x * 2

    def again_in_every_trip(x):
        y = x * 1
        while x.sum() < 10:
            y.register_hook(ten)
            x = x * 2
        return x * y

    for f in (on_a_parameter, after_a_branch, again_in_every_trip):
        with pytest.raises(ms.HookError, match="AC1708") as caught:
            grad(f)(one(1))
        assert caught.value.loc.function.endswith(f.__name__)


# ------------------------------------------------------------------------------------------------ random programs
_UNARY = (ops.tanh, ops.sin, ops.exp, ops.sigmoid, lambda x: x * x, lambda x: x * 0.5 + 1, lambda x: x)
_BINARY = (lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y * 0.3, lambda x, y: ops.tanh(x) * y)


class Watched(nn.Cell):
    """A step of a random program, behind a Cell."""

    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def construct(self, *args):
        return self.fn(*args)


def random_steps(rng):
    steps = []
    for n in range(2, 9):
        if rng.random() < 0.5:
            steps.append((_UNARY[rng.integers(len(_UNARY))], (int(rng.integers(n)),)))
        else:
            steps.append((_BINARY[rng.integers(len(_BINARY))], (int(rng.integers(n)), n - 1)))
    return steps


def program(steps, ways, cells, seen, factors):
    """The program; what step i computes has a hook of kind ``ways[i]``, which notes its gradient and returns nothing.

    With `factors` step i is shifted by the i-th of them, for differences.
    """

    def noting(i):
        def hook(g):
            seen.append((i, g))

        return hook

    def of_cell(i):
        def hook(cell, arrived, leaving):
            seen.append((i, arrived[0]))

        return hook

    hooks = [ops.HookBackward(lambda g, h=noting(i): h(g[0])) for i in range(len(steps))]
    noters = [noting(i) for i in range(len(steps))]
    if cells:
        for i, cell in enumerate(cells):
            cell.register_backward_hook(of_cell(i))

    def f(x, y):
        values = [x, y]
        for i, (fn, numbers) in enumerate(steps):
            given = [values[k] for k in numbers]
            if ways[i] == "cell":
                v = cells[i](*given)
            else:
                v = fn(*given)
                if ways[i] == "tensor":
                    v.register_hook(noters[i])
                elif ways[i] == "op":
                    v = hooks[i](v)
            if factors is not None:
                v = v + factors[i]
            values.append(v)
        return (values[-1] * values[-2]).sum()

    return f


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(12))
def test_hooks_in_random_programs(mode, seed):
    rng = np.random.default_rng(seed)
    steps = random_steps(rng)
    x, y = (Tensor(rng.uniform(0.3, 0.9, 3)) for _ in range(2))
    plain = program(steps, ["none"] * len(steps), None, [], None)
    expected = grad(plain, (0, 1))(x, y)
    ways = [("cell", "tensor", "op", "none")[rng.integers(4)] for _ in steps]
    seen = []
    cells = nn.CellList([Watched(fn) for fn, _ in steps])
    found = grad(program(steps, ways, cells, seen, None), (0, 1))(x, y)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-13)
    by_step = dict(seen)
    assert len(by_step) == len(seen), "a hook was called twice"
    ms.set_context(mode=ms.PYNATIVE_MODE)
    zeros = [np.zeros(3) for _ in steps]
    for i, way in enumerate(ways):
        slopes = np.zeros(3)
        for k in range(3):
            ends = []
            for h in (1e-5, -1e-5):
                moved = [z.copy() for z in zeros]
                moved[i][k] = h
                shifted = program(steps, ["none"] * len(steps), None, [], [Tensor(m) for m in moved])
                ends.append(shifted(x, y).item())
            slopes[k] = (ends[0] - ends[1]) / 2e-5
        if way != "none" and (i in by_step or np.any(np.abs(slopes) > 1e-8)):
            np.testing.assert_allclose(by_step[i].asnumpy(), slopes, rtol=1e-6, atol=1e-8)
