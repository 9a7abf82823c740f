"""Derivatives that users give their Cells: `bprop`, in eager and in compiled code.

Expected values are written down from mathematics.
"""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops

from .everywhere import everywhere, refused, t


# ------------------------------------------------------------------------------------------------ Cell.bprop
class Cube(nn.Cell):
    """x ** 3 with its derivative, which counts the calls of nothing."""

    def construct(self, x):
        return x * x * x

    def bprop(self, x, out, dout):
        return (3 * x * x * dout,)


class Ten(nn.Cell):
    """x + y with the gradients 10 and 20, whatever arrives."""

    def construct(self, x, y):
        return x + y

    def bprop(self, x, y, out, dout):
        return ops.full_like(x, 10.0), ops.full_like(y, 20.0)


def test_the_rule_is_used_and_its_cotangent_is_used():
    cube = Cube()
    everywhere(ms.grad(cube), t(2.0, -1.0), expected=[[12.0, 3.0]])
    everywhere(ms.grad(lambda x: (cube(x) * t(5.0, 7.0)).sum()), t(2.0, -1.0), expected=[[60.0, 21.0]])


def test_it_is_differentiated_again():
    cube = Cube()

    def second(x):
        return ms.grad(lambda v: ms.grad(cube)(v).sum())(x)

    def third(x):
        return ms.grad(lambda v: second(v).sum())(x)

    everywhere(second, t(2.0, -1.0), expected=[[12.0, -6.0]])
    everywhere(third, t(2.0, -1.0), expected=[[6.0, 6.0]])


def test_the_second_derivative_is_that_of_the_rule():
    class Odd(nn.Cell):
        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            return (dout * ops.sin(x),)

    odd = Odd()
    x = t(0.5, 2.0)
    everywhere(ms.grad(odd), x, expected=[np.sin([0.5, 2.0])])
    everywhere(ms.grad(lambda v: ms.grad(odd)(v).sum()), x, expected=[np.cos([0.5, 2.0])])


@pytest.mark.parametrize("position", [0, 1, (0, 1)])
def test_a_tuple_has_one_entry_for_each_input(position):
    expected = {0: [[10.0]], 1: [[20.0]], (0, 1): [[10.0], [20.0]]}[position]
    everywhere(ms.grad(Ten(), position), t(1.0), t(2.0), expected=expected)


def test_a_bare_value_is_the_gradient_of_the_first_input():
    class Bare(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return y * dout * 2

    bare = Bare()
    everywhere(ms.grad(bare), t(1.0), t(3.0), expected=[[6.0]])
    for position in (1, (0, 1)):
        told = refused(ms.grad(bare, position), t(1.0), t(3.0), kind=ms.BpropError, code="AC1703")
        assert "'x'" in told
    told = refused(ms.GradOperation(get_all=True)(bare), t(1.0), t(3.0), kind=ms.BpropError, code="AC1703")
    assert "bprop of Bare" in told


def test_a_number_is_handed_out_as_it_is_and_stretched_where_it_is_used():
    class Hundred(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return 100.0, 7

    hundred = Hundred()
    x, y = t(1.0, 2.0), t(3.0, 4.0)
    found = everywhere(ms.grad(hundred), x, y, expected=[100.0])
    assert found.shape == ()
    assert found.dtype is ms.float32
    assert str(found) == "100.0"
    everywhere(ms.grad(lambda x, y: hundred(x * 2, y)), x, y, expected=[[200.0, 200.0]])
    everywhere(ms.grad(lambda x, y: hundred(x, y) + x), x, y, expected=[[101.0, 101.0]])
    everywhere(ms.grad(hundred, (0, 1)), x, y, expected=[100.0, 7.0])


def test_none_is_zero():
    class Half(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return None, x * dout

    everywhere(ms.grad(Half(), (0, 1)), t(2.0, 3.0), t(4.0, 5.0), expected=[[0.0, 0.0], [2.0, 3.0]])


def test_defaults_and_keywords_count_as_inputs():
    class Scaled(nn.Cell):
        def construct(self, x, k=2.0, *, shift=0.0):
            return x * k + shift

        def bprop(self, x, k, shift, out, dout):
            return dout * k * 10, None, None

    scaled = Scaled()
    everywhere(ms.grad(scaled), t(1.0), expected=[[20.0]])
    everywhere(ms.grad(lambda x: scaled(x, 3.0)), t(1.0), expected=[[30.0]])
    everywhere(ms.grad(lambda x: scaled(x, shift=1.0, k=4.0)), t(1.0), expected=[[40.0]])
    everywhere(ms.grad(lambda x: scaled(k=5.0, x=x)), t(1.0), expected=[[50.0]])


def test_a_tensor_given_by_keyword_gets_its_gradient():
    class Scaled(nn.Cell):
        def construct(self, x, *, k=None):
            return x * k

        def bprop(self, x, k, out, dout):
            return dout * k, dout * x * 10

    scaled = Scaled()
    everywhere(ms.grad(lambda x, k: scaled(x, k=k), (0, 1)), t(3.0), t(4.0), expected=[[4.0], [30.0]])


def test_any_number_of_inputs():
    class Total(nn.Cell):
        def construct(self, *xs):
            return xs[0] + xs[1] * 2 + xs[2]

        def bprop(self, *given):
            return tuple([ops.full_like(x, float(i + 1)) for i, x in enumerate(given[:-2])])

    total = Total()
    everywhere(ms.grad(total, (0, 1, 2)), t(1.0), t(1.0), t(1.0), expected=[[1.0], [2.0], [3.0]])


def test_what_is_beyond_the_inputs_is_ignored():
    class Long(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            return dout * 5, dout * 6, None

    everywhere(ms.grad(Long()), t(1.0), expected=[[5.0]])


def test_a_wrong_arity_names_both_signatures_where_a_derivative_is_taken():
    class Short(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, y, out, dout):
            return y * y

    short = Short()
    everywhere(short, t(2.0), t(3.0), expected=[[6.0]])
    told = refused(ms.grad(short), t(2.0), t(3.0), kind=TypeError, code="AC1702")
    assert "Size of bprop func inputs[1] is not equal to the size of cell inputs[2]" in told
    assert "bprop(y, out, dout)" in told
    assert "construct(x, y)" in told


def test_too_short_a_tuple():
    class Short(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return (dout * y,)

    told = refused(ms.grad(Short()), t(2.0), t(3.0), kind=ms.BpropError, code="AC1703")
    assert "1 gradients for 2 inputs" in told


@pytest.mark.parametrize(
    ("gradient", "told"),
    [(lambda x: x.sum(), "shape []"), (lambda x: ops.concat((x, x)), "shape [4]"), (lambda x: "text", "str")],
)
def test_an_entry_that_does_not_fit(gradient, told):
    class Wrong(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            return (gradient(x),)

    assert told in refused(ms.grad(Wrong()), t(2.0, 3.0), kind=ms.BpropError, code="AC1704")


def test_it_hides_edits_and_rules_and_hooks_inside():
    seen = []
    inner = Cube()
    inner.register_backward_hook(lambda cell, arrived, leaving: seen.append("hook"))
    edit = ops.InsertGradientOf(lambda g: g * 1000)

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def construct(self, x):
            return self.inner(edit(x))

        def bprop(self, x, out, dout):
            return dout * 7

    slope = ms.grad(Outer())
    with pytest.warns(ms.BypassWarning, match="the bprop of Outer"):
        assert ms.jit(slope)(t(2.0)).tolist() == [7.0]
    for _ in range(2):
        assert slope(t(2.0)).tolist() == [7.0]
        assert ms.jit(slope, optimize=0)(t(2.0)).tolist() == [7.0]
    assert not seen


def test_its_own_weights_get_zeros():
    class Weighted(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter([3.0], name="w")

        def construct(self, x):
            return x * self.w

        def bprop(self, x, out, dout):
            return (dout * 2,)

    cell = Weighted()
    everywhere(ms.grad(cell, 0, cell.w), t(5.0), expected=[[2.0], [0.0]])
    everywhere(ms.grad(lambda x: (cell(x) * cell.w).sum(), 0, cell.w), t(5.0), expected=[[6.0], [15.0]])


def test_a_parameter_as_argument_gets_the_gradient_of_the_rule():
    w = Parameter([3.0], name="w")

    class Product(nn.Cell):
        def construct(self, x, k):
            return x * k

        def bprop(self, x, k, out, dout):
            return dout * k, dout * 50

    product = Product()
    everywhere(ms.grad(lambda x: product(x, w), 0, w), t(5.0), expected=[[3.0], [50.0]])


def test_several_outputs():
    class Both(nn.Cell):
        def construct(self, x):
            return x * 2, (x * 3, x.astype(ms.int32))

        def bprop(self, x, out, dout):
            first, (second, whole) = dout
            return (first * 100 + second * 10 + out[0] + out[1][0] + whole.astype(ms.float32) * 0,)

    both = Both()
    everywhere(ms.grad(both), t(1.0), expected=[[115.0]])
    everywhere(ms.grad(lambda x: both(x)[0]), t(1.0), expected=[[105.0]])
    everywhere(ms.grad(lambda x: both(x)[1][0] * 2), t(1.0), expected=[[25.0]])


def test_numbers_among_the_outputs_have_the_cotangent_zero():
    class Counted(nn.Cell):
        def construct(self, x):
            return x * 2, 5, int(x.sum()), x.astype(ms.int32)

        def bprop(self, x, out, dout):
            return (dout[0] * 3 + dout[1] + dout[2] + dout[3] + out[1] + out[2],)

    everywhere(ms.grad(Counted()), t(1.0, 2.0), expected=[[11.0, 11.0]])


def test_inputs_in_containers():
    class OfPair(nn.Cell):
        def construct(self, pair, table):
            return pair[0] * pair[1] + table["a"]

        def bprop(self, pair, table, out, dout):
            return (dout * pair[1], dout * pair[0]), {"a": dout * 9}

    cell = OfPair()

    def f(x, y, z):
        return cell((x, y), {"a": z})

    everywhere(ms.grad(f, (0, 1, 2)), t(2.0), t(3.0), t(4.0), expected=[[3.0], [2.0], [9.0]])


def test_a_container_may_have_none_and_not_another_structure():
    class OfPair(nn.Cell):
        def construct(self, pair):
            return pair[0] * pair[1]

        def bprop(self, pair, out, dout):
            return (None,)

    cell = OfPair()
    everywhere(ms.grad(lambda x, y: cell((x, y)), (0, 1)), t(2.0), t(3.0), expected=[[0.0], [0.0]])

    class Wrong(OfPair):
        def bprop(self, pair, out, dout):
            return ((dout,),)

    wrong = Wrong()
    told = refused(lambda x, y: ms.grad(lambda x: wrong((x, y)))(x), t(2.0), t(3.0), kind=ms.BpropError, code="AC1704")
    assert "1 values" in told


def test_int_inputs_take_no_gradient():
    class Picked(nn.Cell):
        def construct(self, x, i):
            return x * i

        def bprop(self, x, i, out, dout):
            return dout * i * 2, None

    cell = Picked()
    i = Tensor([3], ms.int32)
    everywhere(lambda x: ms.grad(lambda x: cell(x, i))(x), t(2.0), expected=[[6.0]])
    everywhere(lambda x: ms.grad(lambda x: cell(x, 3))(x), t(2.0), expected=[[6.0]])


def test_called_twice_and_twice_on_the_same():
    cube = Cube()
    everywhere(ms.grad(lambda x: cube(cube(x))), t(1.5), expected=[[9 * 1.5**8]])
    everywhere(ms.grad(lambda x: cube(x) + cube(x) * 2), t(1.5), expected=[[9 * 1.5**2]])


def test_in_loops_and_branches():
    cube = Cube()

    def unrolled(x):
        for _ in range(2):
            x = cube(x)
        return x

    def kept(x, n):
        i = Tensor(0)
        while i < n:
            x = cube(x)
            i = i + 1
        return x.sum()

    def branches(x):
        if x.sum() > 0:
            return cube(x)
        return x * 5

    everywhere(ms.grad(unrolled), t(1.1), expected=[[9 * 1.1**8]])
    everywhere(ms.grad(kept), t(1.1), Tensor(2), expected=[[9 * 1.1**8]])
    everywhere(ms.grad(lambda x: ms.grad(kept)(x, Tensor(2)).sum()), t(1.1), expected=[[72 * 1.1**7]])
    everywhere(ms.grad(branches), t(2.0), expected=[[12.0]])
    everywhere(ms.grad(branches), t(-2.0), expected=[[5.0]])


def test_what_is_passed_through_carries_the_rule():
    class Same(nn.Cell):
        def construct(self, x):
            return x

        def bprop(self, x, out, dout):
            return (dout * 3,)

    same = Same()
    everywhere(ms.grad(same), t(1.0), expected=[[3.0]])
    everywhere(ms.grad(lambda x: same(x) + x), t(1.0), expected=[[4.0]])

    def changed(x):
        y = same(x)
        y[0] = 9.0
        return (x * y).sum()

    everywhere(ms.value_and_grad(changed), t(1.0, 2.0), expected=[13.0, [9.0, 8.0]])
