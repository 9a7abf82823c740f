"""Users' derivatives beside the rest of the language: writes, state, effects, transforms, threads.

Expected values are written down from mathematics.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.testing.modes import MODES, in_mode

from .compare import assert_same
from .everywhere import everywhere, t


class Cube(nn.Cell):
    """x ** 3 with its derivative."""

    def construct(self, x):
        return x * x * x

    def bprop(self, x, out, dout):
        return (3 * x * x * dout,)


def test_arguments_changed_inside():
    class Writes(nn.Cell):
        def construct(self, x):
            x[0] = 10.0
            return x * 2

        def bprop(self, x, out, dout):
            return (dout * x,)

    writes = Writes()

    def f(x):
        y = x * 1
        z = writes(y)
        return (z + y).sum()

    eager = ms.grad(f)(t(1.0, 2.0))
    for mode in MODES:
        with in_mode(mode):
            assert_same(ms.grad(f)(t(1.0, 2.0)), eager, mode)


def test_the_rule_reads_what_the_forward_pass_left():
    class Leaves(nn.Cell):
        def __init__(self):
            super().__init__()
            self.z = 0.0

        def construct(self, x, k):
            self.z = k * 2
            return x * k

        def bprop(self, x, k, out, dout):
            return dout * self.z, None

    cell = Leaves()
    everywhere(ms.grad(cell), t(1.0), 3.0, expected=[[6.0]])
    everywhere(ms.grad(cell), t(1.0), t(4.0), expected=[[8.0]])
    assert isinstance(cell.z, Tensor)
    assert cell.z.tolist() == [8.0]


def test_the_rule_prints(capsys):
    class Prints(nn.Cell):
        def construct(self, x):
            print("forward", x)
            return x * 2

        def bprop(self, x, out, dout):
            print("backward", out, dout)
            return (dout * 2,)

    cell = Prints()
    texts = []
    for mode in MODES:
        with in_mode(mode):
            ms.grad(cell)(t(3.0))
        texts.append(capsys.readouterr().out)
    assert texts == ["forward [3.]\nbackward [6.] [1.]\n"] * len(MODES)


def test_the_rule_draws_random_numbers():
    class Noisy(nn.Cell):
        def construct(self, x):
            return x * ops.rand(2)

        def bprop(self, x, out, dout):
            return (dout * ops.rand(2),)

    cell = Noisy()

    def f(x):
        ms.set_seed(7)
        return ms.value_and_grad(cell)(x)

    y, g = everywhere(f, t(1.0, 1.0))
    assert not np.array_equal(y.asnumpy(), g.asnumpy())


def test_the_rule_may_not_or_does_change_a_parameter_alike():
    class Counts(nn.Cell):
        def __init__(self):
            super().__init__()
            self.n = Parameter(0.0, name="n", requires_grad=False)

        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            ops.assign_add(self.n, Tensor(1.0))
            return (dout * 2,)

    for mode in MODES:
        cell = Counts()
        with in_mode(mode):
            assert ms.grad(cell)(t(3.0)).tolist() == [2.0]
            cell(t(3.0))
            ms.grad(cell)(t(3.0))
        assert cell.n.item() == 2.0, mode


def test_exceptions_of_the_rule_pass():
    class Raises(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            if dout.sum() > 1:
                raise ValueError("too steep")
            return (dout,)

    cell = Raises()
    everywhere(ms.grad(cell), t(3.0), expected=[[1.0]])
    for mode in MODES:
        with in_mode(mode), pytest.raises(ValueError, match=r"^too steep"):
            ms.grad(lambda x: cell(x) * 2)(t(3.0))


def test_other_transforms():
    cube = Cube()
    x = t(1.0, 2.0)
    everywhere(lambda x: ms.jvp(cube, x, t(1.0, 10.0)), x, expected=[[1.0, 8.0], [3.0, 120.0]])
    everywhere(lambda x: ms.jacrev(cube)(x), x, expected=[np.diag([3.0, 12.0])])
    everywhere(lambda x: ms.jacfwd(cube)(x), x, expected=[np.diag([3.0, 12.0])])
    everywhere(lambda x: ms.hessian(lambda v: cube(v).sum())(x), x, expected=[np.diag([6.0, 12.0])])
    everywhere(lambda x: ms.vmap(cube)(x), x, expected=[[1.0, 8.0]])
    everywhere(lambda x: ms.vmap(ms.grad(cube))(x), x, expected=[[3.0, 12.0]])
    everywhere(lambda x: ms.grad(lambda v: ms.vmap(cube)(v).sum())(x), x, expected=[[3.0, 12.0]])
    everywhere(lambda x: ms.vjp(cube, x)[1](t(2.0, 3.0)), x, expected=[[6.0, 36.0]])

    def line(x):
        y, push = ms.linearize(cube, x)
        return y, push(t(1.0, 10.0))

    everywhere(line, x, expected=[[1.0, 8.0], [3.0, 120.0]])


@pytest.mark.parametrize(
    "rule",
    [
        lambda x, out, dout: (ops.clamp(dout, -1.0, 1.0),),
        lambda x, out, dout: (dout * dout,),
        lambda x, out, dout: (dout + 1,),
        lambda x, out, dout: (dout - x * 2,),
        lambda x, out, dout: (ops.sin(dout),),
        lambda x, out, dout: (dout if dout.sum() > 0 else dout * 2,),
        lambda x, out, dout: (ops.relu(dout),),
        lambda x, out, dout: (ops.sign(dout) * x,),
        lambda x, out, dout: (dout.astype(ms.int32).astype(x.dtype),),
    ],
)
def test_forward_mode_needs_a_rule_that_is_linear(rule):
    class Bent(nn.Cell):
        def construct(self, x):
            return x * 2

    Bent.bprop = lambda self, x, out, dout: rule(x, out, dout)
    cell = Bent()
    inside = ms.jit(lambda x: cell(x * 1) + x)
    for mode in MODES:
        for fn in (cell, inside, lambda x: inside(x) * x):
            with in_mode(mode), pytest.raises(ms.BpropError) as caught:
                ms.jvp(fn, t(3.0), t(1.0))
            assert caught.value.code == "AC1705", mode
            assert caught.value.loc is not None, mode


def test_a_rule_that_divides_by_zero_is_linear():
    class Root(nn.Cell):
        def construct(self, x):
            return ops.sqrt(x)

        def bprop(self, x, out, dout):
            return (dout / (2 * out),)

    root = Root()
    for mode in MODES:
        with in_mode(mode):
            for fn in (root, ms.jit(lambda x: root(x) * 1)):
                found = ms.jvp(fn, Tensor([0.0, 4.0], ms.float64), Tensor([1.0, 2.0], ms.float64))[1].tolist()
                assert found == [np.inf, 0.5], mode


@pytest.mark.parametrize("constant", [lambda x: 100.0, lambda x: ops.ones_like(x), lambda x: x * 2])
def test_forward_mode_needs_a_rule_that_is_zero_at_zero(constant):
    class Constant(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            return (constant(x),)

    cell, edit = Constant(), ops.InsertGradientOf(lambda g: 100.0)
    for mode in MODES:
        for fn in (cell, lambda x: edit(x) * 2):
            with in_mode(mode), pytest.raises(ms.BpropError) as caught:
                ms.jvp(fn, t(3.0), t(1.0))
            assert caught.value.code == "AC1705", mode


@pytest.mark.parametrize(
    "rule",
    [
        lambda x, out, dout: (ops.where(x > 1, dout, dout * 2),),
        lambda x, out, dout: (dout * out if x.sum() > 0 else dout,),
        lambda x, out, dout: (-dout / x + (dout * x).sum(),),
        lambda x, out, dout: (ops.concat((dout[1:], dout[:1])),),
        lambda x, out, dout: (sum([dout * k for k in (1, 2)]) - 0,),
        lambda x, out, dout: (None,),
        lambda x, out, dout: (ops.zeros_like(x) + dout,),
        lambda x, out, dout: (ops.vmap(lambda g: g * 2)(dout),),
    ],
)
def test_a_rule_that_is_linear_has_tangents(rule):
    class Straight(nn.Cell):
        def construct(self, x):
            return x * 2

    Straight.bprop = lambda self, x, out, dout: rule(x, out, dout)
    cell, x, v = Straight(), Tensor([3.0, 0.5], ms.float64), Tensor([1.0, 10.0], ms.float64)
    _, tangent = everywhere(lambda x, v: ms.jvp(cell, x, v), x, v)
    matrix = ms.jacrev(cell)(x).asnumpy()
    np.testing.assert_allclose(tangent.asnumpy(), matrix @ v.asnumpy(), rtol=1e-12)
    inside = ms.jit(lambda x: cell(x * 1))
    np.testing.assert_allclose(ms.jvp(inside, x, v)[1].asnumpy(), tangent.asnumpy(), rtol=1e-12)

    def slope(x):
        return (ms.grad(lambda x: (inside(x) * x).sum())(x) * v).sum()

    np.testing.assert_allclose(ms.jvp(slope, x, v)[1].item(), (ms.grad(slope)(x) * v).sum().item(), rtol=1e-12)


def test_compiled_code_inside():
    class Inner(nn.Cell):
        @ms.jit
        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            return (dout * 5,)

    cell, cube = Inner(), Cube()
    compiled = ms.jit(lambda x: cube(x) * 2)
    everywhere(ms.grad(cell), t(3.0), expected=[[5.0]])
    everywhere(ms.grad(lambda x: compiled(x) + x), t(3.0), expected=[[55.0]])


def test_threads_have_their_own():
    cube, found = Cube(), {}

    def work(k):
        for _ in range(5):
            with in_mode("eager"):
                found[k] = ms.grad(cube)(t(float(k))).item()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == {k: 3.0 * k * k for k in range(4)}


def test_inherited_and_removed_rules():
    class Child(Cube):
        def bprop(self, x, out, dout):
            return (super().bprop(x, out, dout)[0] * 2,)

    class Plain(Cube):
        bprop = None

    everywhere(ms.grad(Child()), t(2.0), expected=[[24.0]])
    everywhere(ms.grad(Plain()), t(2.0), expected=[[12.0]])


def test_a_replaced_rule_is_seen_at_the_next_call():
    class Swapped(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            return (dout * 5,)

    cell = Swapped()
    everywhere(ms.grad(cell), t(1.0), expected=[[5.0]])
    Swapped.bprop = lambda self, x, out, dout: (dout * 6,)
    everywhere(ms.grad(cell), t(1.0), expected=[[6.0]])
    del Swapped.bprop
    everywhere(ms.grad(cell), t(1.0), expected=[[2.0]])
