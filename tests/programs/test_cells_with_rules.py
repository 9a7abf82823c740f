"""What a call of a Cell with a `bprop` or backward hooks does to its arguments and results: as without them.

The rules here are the derivatives, and the hooks keep the gradients or double them, so what is expected is what the
same Cell gives without, or is computed by hand.
"""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.testing.modes import MODES, in_mode

from .compare import assert_same
from .everywhere import everywhere, refused, t


def with_hook(cell):
    cell.register_backward_hook(lambda cell, arrived, leaving: None)
    return cell


def with_hooks(cell):
    cell.register_backward_pre_hook(lambda cell, arrived: None)
    return with_hook(cell)


def cells(construct, bprop):
    """The same Cell as it is, with hooks, and with its rule."""
    plain = type("Plain", (nn.Cell,), {"construct": construct})
    ruled = type("Ruled", (nn.Cell,), {"construct": construct, "bprop": bprop})
    return plain(), with_hooks(plain()), ruled()


def alike(construct, bprop, program):
    """The program gives the same values with each of the Cells in each mode, also if it is differentiated."""
    first = None
    for cell in cells(construct, bprop):
        for mode in MODES:
            with in_mode(mode):

                def run(x, y, cell=cell):
                    return program(cell, x, y)

                called = run if mode == "eager" else ms.jit(run)
                found = called(t(1.0, 2.0, -3.0), t(0.5, -0.25, 2.0))
                again = ms.value_and_grad(run, (0, 1), has_aux=True)(t(1.0, 2.0, -3.0), t(0.5, -0.25, 2.0))[0]
            first = found if first is None else first
            assert_same(found, first, f"{type(cell).__name__} {mode}")
            assert_same(again, first, f"{type(cell).__name__} {mode}, differentiated")


# ------------------------------------------------------------------------------------------------ arguments
def test_a_dict_argument_is_filled():
    def construct(self, x, table):
        table["k"] = x * 2
        return x * 3

    def program(cell, x, y):
        table = {}
        return cell(x, table) * table["k"] * y, len(table)

    alike(construct, lambda self, x, table, out, dout: (dout * 3, None), program)


def test_a_list_argument_grows():
    def construct(self, x, items):
        items.append(x * 2)
        return x * 3

    def program(cell, x, y):
        items = [y]
        return cell(x, items) * items[1] * items[0], len(items)

    alike(construct, lambda self, x, items, out, dout: (dout * 3, None), program)


def test_a_list_argument_that_is_returned_stays_that_list():
    def construct(self, x, items):
        items.append(x * 2)
        return items

    def program(cell, x, y):
        items = [y]
        found = cell(x, items)
        return found[0] * items[1] * found[1], found is items, len(items)

    alike(construct, lambda self, x, items, out, dout: (dout[1] * 2, [dout[0]]), program)
    for cell in cells(construct, lambda self, x, items, out, dout: (dout[1] * 2, [dout[0]])):
        everywhere(ms.grad(lambda x, y, c=cell: program(c, x, y)[0]), t(3.0), t(5.0), expected=[[120.0]])  # 4 x^2 y


def test_elements_of_a_list_argument_are_written():
    def construct(self, x, items):
        items[0] = items[0] * x
        items[1][:1] = 7.0
        return x * items[0]

    def program(cell, x, y):
        z = y * 2
        items = [y, z]
        return cell(x, items) * items[0] * items[1] * z, z

    alike(construct, lambda self, x, items, out, dout: (dout * 2 * x * items[0], [dout * x * x, None]), program)


@ms.jit_class
class Pair:
    def __init__(self, held):
        self.held = held
        self.count = 0


def test_an_object_is_changed():
    def construct(self, x, pair):
        pair.held = pair.held * x
        pair.count = pair.count + 1
        return x * pair.held

    def program(cell, x, y):
        pair = Pair(y)
        return cell(x, pair) * pair.held, pair.count

    alike(construct, lambda self, x, pair, out, dout: (dout * 2 * x * pair.held, None), program)


@ms.jit_class
class Ordered:
    def __init__(self, x, y):
        self.second = y
        self.first = x


def test_attributes_of_an_object_come_in_the_order_of_their_assignment():
    class Weighted(nn.Cell):
        def construct(self, pair):
            return Ordered(pair.first * 2, pair.second * 3)

    class Ruled(Weighted):
        def bprop(self, pair, out, dout):
            return ([dout.second * 10, dout.first * 20],)

    log, hooked = [], Weighted()
    hooked.register_backward_hook(
        lambda cell, arrived, leaving: log.append([[g.item() for g in arrived], [g.item() for g in leaving]])
    )

    def f(x, y, cell):
        found = cell(Ordered(x, y))
        return found.first * 5 + found.second * 7

    slope = ms.grad(f, (0, 1))
    everywhere(lambda x, y: slope(x, y, hooked), t(1.0), t(1.0), expected=[[10.0], [21.0]])
    assert log == [[[7.0, 5.0], [21.0, 10.0]]] * len(MODES)
    everywhere(lambda x, y: slope(x, y, Ruled()), t(1.0), t(1.0), expected=[[100.0], [70.0]])


def test_what_is_written_to_a_tensor_reaches_the_caller():
    def construct(self, x):
        x[0] = 5.0
        return x * x

    def program(cell, x, y):
        z = x * 1
        return cell(z) * z * y, z

    alike(construct, lambda self, x, out, dout: dout * 2 * x, program)
    plain, hooked, _ = cells(construct, None)
    for cell in (plain, hooked):  # z^3 y with z = (5, x)
        value = ms.grad(lambda x, y, c=cell: program(c, x, y)[0])
        everywhere(value, t(1.0, 2.0), t(0.5, 3.0), expected=[[0.0, 36.0]])


def test_ints_are_written_too():
    def construct(self, x, n):
        n[0] = 7
        return x * n

    def program(cell, x, y):
        n = Tensor([1, 2, 3])
        return cell(x, n) * n, n

    alike(construct, lambda self, x, n, out, dout: (dout * n, None), program)


def test_a_parameter_stays_the_parameter():
    class Doubles(nn.Cell):
        def construct(self, x, p):
            ops.assign(p, p * 2)
            return x * p

    class Ruled(Doubles):
        def bprop(self, x, p, out, dout):
            return dout * p, dout * x

    for cell, expected in ((Doubles(), 2.0), (with_hook(Doubles()), 2.0), (Ruled(), 1.0)):  # a rule gets them as given
        for mode in MODES:
            w = Parameter(t(1.0, 1.0), name="w")
            with in_mode(mode):
                found = ms.grad(lambda x, c=cell, w=w: c(x, w).sum())(t(3.0, 4.0))
            np.testing.assert_array_equal(found.asnumpy(), [expected, expected])
            np.testing.assert_array_equal(w.asnumpy(), [2.0, 2.0])


def test_arguments_beyond_the_positional_ones():
    def construct(self, x, *rest, scale=2.0, **more):
        for r in (*rest, *more.values()):
            x = x * r
        return x * scale

    class Ruled(nn.Cell):
        def bprop(self, x, y, scale, z, out, dout):
            return dout * y * z * scale, dout * x * z * scale, None, dout * x * y * scale

    Ruled.construct = construct
    cell = Ruled()
    value = ms.grad(lambda x, y, z: cell(x, y, scale=3.0, z=z), (0, 1, 2))
    everywhere(value, t(2.0), t(5.0), t(7.0), expected=[[105.0], [42.0], [30.0]])


# ------------------------------------------------------------------------------------------------ results
def test_a_result_is_a_tensor_of_its_own():
    def construct(self, x):
        return x

    def program(cell, x, y):
        found = cell(x * 1)
        z = x * 1
        other = cell(z)
        other[0] = 9.0
        return found * y, z, other

    _, hooked, ruled = cells(construct, lambda self, x, out, dout: dout)
    for cell in (hooked, ruled):
        for mode in MODES:
            with in_mode(mode):
                assert program(cell, t(1.0), t(2.0))[1].tolist() == [1.0], mode
        everywhere(ms.value_and_grad(lambda x, y, c=cell: program(c, x, y), has_aux=True), t(1.0), t(2.0))


def test_a_returned_parameter_is_a_tensor_of_its_own():
    class Weight(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(t(1.0, 2.0), name="w")

        def construct(self, x):
            return self.w

    class Ruled(Weight):
        def bprop(self, x, out, dout):
            return dout

    for cell in (with_hook(Weight()), Ruled()):

        def changed(x, c=cell):
            w = c(x)
            w[0] = 9.0
            return w + x

        everywhere(changed, t(1.0, 1.0), expected=[[10.0, 3.0]])
        everywhere(ms.value_and_grad(changed), t(1.0, 1.0))
        assert cell.w.asnumpy().tolist() == [1.0, 2.0]


# ------------------------------------------------------------------------------------------------ what hooks get
def test_hooks_get_a_gradient_for_every_place():
    log = []

    class Mixed(nn.Cell):
        def construct(self, x, y, n):
            z = x * y
            return z, n + 1, z

    cell = Mixed()
    cell.register_backward_pre_hook(lambda cell, arrived: log.append([g.tolist() for g in arrived]))
    cell.register_backward_hook(
        lambda cell, arrived, leaving: log.append([[g.tolist() for g in arrived], [g.tolist() for g in leaving]])
    )

    def f(x):
        a, _, b = cell(x, x, Tensor([1, 2]))
        return a * 2 + b * 3

    for mode in MODES:
        log.clear()
        with in_mode(mode):
            ms.grad(f)(t(1.0, 2.0))
        arrived = [[2.0, 2.0], [0, 0], [3.0, 3.0]]
        assert log == [arrived, [arrived, [[5.0, 10.0], [5.0, 10.0], [0, 0]]]], mode


def test_a_hook_may_edit_the_gradients_of_some_of_the_results():
    class Mixed(nn.Cell):
        def construct(self, x, n):
            return x * x, n + 1, x * n

    cell = Mixed()
    cell.register_backward_pre_hook(lambda cell, arrived: (arrived[0] * 2, arrived[1], None))
    everywhere(ms.grad(lambda x: cell(x, Tensor([1, 2]))[0]), t(1.0, 2.0), expected=[[4.0, 8.0]])


def test_a_number_from_a_hook_fills_the_gradient():
    class Square(nn.Cell):
        def construct(self, x):
            return x * x

    cell = Square()
    cell.register_backward_hook(lambda cell, arrived, leaving: (0.5,))
    everywhere(ms.grad(cell), t(1.0, 2.0), expected=[[0.5, 0.5]])


def test_every_backward_pass_has_its_own_arrivals():
    class Square(nn.Cell):
        def construct(self, x):
            return x * x

    cell = Square()
    cell.register_backward_hook(lambda cell, arrived, leaving: (leaving[0] + arrived[0],))

    def f(x, y):
        return cell(cell(x) * y).sum()

    def second(x, y):
        return ms.grad(lambda v: ms.grad(f)(v, y).sum())(x)

    x, y = t(1.0, 2.0, -3.0), t(0.5, -0.25, 2.0)
    # f' = ((2 u + 1) y) (2 x + 1) at u = x^2 y, for each call adds what arrived
    a, b = np.array([1.0, 2.0, -3.0]), np.array([0.5, -0.25, 2.0])
    everywhere(ms.grad(f), x, y, expected=[(2 * a * a * b + 1) * b * (2 * a + 1)])
    everywhere(second, x, y, expected=[[6.5, 3.625, 348.0]])


def test_results_are_free_as_soon_as_they_are_unused():
    class Square(nn.Cell):
        def construct(self, x):
            return x * x

    cell, seen = with_hooks(Square()), []

    def f(x):
        y = cell(x)
        seen.append(weakref.ref(y))
        return y.sum()

    gc.disable()
    try:
        ms.grad(f)(t(1.0))
        assert seen[0]() is None
    finally:
        gc.enable()


# ------------------------------------------------------------------------------------------------ what does not fit
class Doubled(nn.Cell):
    def construct(self, x):
        return x * 2


@pytest.mark.parametrize("given", [lambda x, dout: dout.sum(), lambda x, dout: "text", lambda x, dout: ([x],)])
def test_a_rule_that_does_not_fit_matters_to_derivatives_only(given):
    cell = type("Wrong", (Doubled,), {"bprop": lambda self, x, out, dout: given(x, dout)})()
    everywhere(cell, t(1.0, 2.0), expected=[[2.0, 4.0]])
    refused(ms.grad(cell), t(1.0, 2.0), kind=ms.BpropError, code="AC1704")


@pytest.mark.parametrize("given", [lambda g: g.sum(), lambda g: [g], lambda g: (g, g), lambda g: "text"])
def test_a_hook_that_does_not_fit_matters_to_derivatives_only(given):
    cell = Doubled()
    cell.register_backward_hook(lambda cell, arrived, leaving: given(leaving[0]))
    everywhere(cell, t(1.0, 2.0), expected=[[2.0, 4.0]])
    for mode in MODES:
        with in_mode(mode), pytest.raises(ms.HookError, match="AC1707"):
            ms.grad(cell)(t(1.0, 2.0))


def test_a_forgotten_return_is_told():
    class Product(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            dout * y

    everywhere(Product(), t(2.0), t(3.0), expected=[[6.0]])
    assert "is a `return` missing?" in refused(ms.grad(Product()), t(2.0), t(3.0), kind=ms.BpropError, code="AC1703")


# ------------------------------------------------------------------------------------------------ None on one path
def large_ones_doubled(g):
    if g.sum() > 3:
        return g * 2
    if g.sum() > 1000:
        return g * 5
    return None


@pytest.mark.parametrize("hook", [large_ones_doubled, lambda g: g * 2 if g.sum() > 3 else None])
def test_a_hook_of_a_tensor_may_keep_the_gradient_on_one_path(hook):
    def registered(x):
        y = x * 1
        y.register_hook(hook)
        return y

    everywhere(ms.grad(lambda x: registered(x) * 1.25), t(1.0, 2.0), expected=[[1.25, 1.25]])
    everywhere(ms.grad(lambda x: registered(x) * 2), t(1.0, 2.0), expected=[[4.0, 4.0]])


@pytest.mark.parametrize(
    "hook",
    [
        lambda cell, arrived, leaving: (leaving[0] * 3,) if leaving[0].sum() > 6 else None,
        lambda cell, arrived, leaving: leaving[0] * 3 if leaving[0].sum() > 6 else None,
        lambda cell, arrived, leaving: (leaving[0] * 3 if leaving[0].sum() > 6 else None,),
    ],
)
def test_a_hook_of_a_cell_may_keep_the_gradients_on_one_path(hook):
    cell = Doubled()
    cell.register_backward_hook(hook)
    everywhere(ms.grad(lambda x: cell(x) * 1.25), t(1.0, 2.0), expected=[[2.5, 2.5]])
    everywhere(ms.grad(lambda x: cell(x) * 2), t(1.0, 2.0), expected=[[12.0, 12.0]])


def test_what_a_hook_tests_for_none_is_none():
    def nothing(g):
        return None if g.sum() > 100 else g

    cell = Doubled()
    cell.register_backward_hook(lambda cell, arrived, leaving: (leaving[0] if nothing(leaving[0]) is None else 0.5,))
    assert ms.grad(cell)(t(1.0, 2.0)).tolist() == [0.5, 0.5]
    with in_mode("graph O2"), pytest.raises(ms.JoinError):
        ms.grad(cell)(t(1.0, 2.0))
