"""The programs of the five source documents, in words of our own, against what the documents print.

Each runs eagerly and compiled.  Texts are compared without white space, and with exponents of two digits (the
documents' come from several platforms).
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.testing.modes import MODES, in_mode


@pytest.fixture(params=list(MODES))
def mode(request):
    with in_mode(request.param):
        yield request.param


@pytest.fixture
def says(capsys):
    """Compares what was printed since the last time."""

    def check(expected):
        assert _plain(capsys.readouterr().out) == _plain(expected)

    return check


def _plain(text):
    return re.sub(r"e([+-])0(\d\d)\b", r"e\1\2", re.sub(r"\s+", "", text))


def f32(*values):
    return Tensor(np.array(values, np.float32))


# ------------------------------------------------------------------------------------------------ 000: an operator
class Wave(nn.Cell):
    def construct(self, x):
        return x * ops.sin(x)


class WaveWithRule(Wave):
    def bprop(self, x, out, dout):
        return (dout * (ops.sin(x) + x * ops.cos(x)),)


@pytest.mark.parametrize("operator", [Wave, WaveWithRule])
def test_a_custom_operator_has_the_gradient_of_its_formula(mode, operator):
    x = Tensor(np.random.default_rng(3).standard_normal(10), ms.float32)
    found = ms.grad(operator())(x).asnumpy()
    formula = (ops.sin(x) + x * ops.cos(x)).asnumpy()
    assert np.abs(found - formula).max() <= 2e-7  # the document prints 0.0 for the same operations


def test_the_numerical_gradient_that_was_meant(mode):
    operator, x = WaveWithRule(), np.array([0.3, -1.2, 2.0])

    def total(values):
        return operator(Tensor(values)).sum().item()

    numerical = np.zeros(3)
    for i in range(3):
        up, down = x.copy(), x.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        numerical[i] = (total(up) - total(down)) / 2e-6
    np.testing.assert_allclose(ms.grad(operator)(Tensor(x)).asnumpy(), numerical, rtol=1e-7)


# ------------------------------------------------------------------------------------------------ 001: gradient edits
UPPER, LOWER = f32(1.1), f32(0.1)


def clip_gradient(dx):
    ret = dx
    if ret > UPPER:
        ret = UPPER
    if ret < LOWER:
        ret = LOWER
    return ret


def product(x, y):
    return x * y**2


def test_a_gradient_that_a_free_function_clips(mode, says):
    clip = ops.InsertGradientOf(clip_gradient)

    def clipped(x, y):
        return product(clip(x), y)

    x, y = f32(-2), f32(2)
    print(product(x, y), ms.grad(product)(x, y), clipped(x, y), ms.grad(clipped)(x, y))
    says("[-8.] [4.] [-8.] [1.1]")


def test_a_rule_that_clips(mode, says):
    class Net(nn.Cell):
        def bprop(self, x, y, out, dout):
            return clip_gradient(y**2)

        def construct(self, x, y):
            return x * y**2

    net = Net()
    print(net(f32(-2), f32(2)))
    print(ms.grad(net)(f32(-2), f32(2)))
    says("[-8.] [1.1]")


def test_a_rule_with_too_few_parameters(mode, says):
    class Net(nn.Cell):
        def bprop(self, y, out, dout):
            return clip_gradient(y**2)

        def construct(self, x, y):
            return x * y**2

    net = Net()
    print(net(f32(-2), f32(2)))
    told = r"Size of bprop func inputs\[1\] is not equal to the size of cell inputs\[2\]"
    with pytest.raises(TypeError, match=told):
        ms.grad(net)(f32(-2), f32(2))
    says("[-8.]")


def test_a_cell_that_uses_an_edit_from_outside(mode, says):
    clip = ops.InsertGradientOf(clip_gradient)

    class Net(nn.Cell):
        def construct(self, x, y):
            return clip(x) * y**2

    net = Net()
    print(net(f32(-2), f32(2)), ms.grad(net)(f32(-2), f32(2)))
    says("[-8.] [1.1]")


class Edited(nn.Cell):
    """A Cell that edits a gradient by a method of its own."""

    def __init__(self):
        super().__init__()
        self.clip = ops.InsertGradientOf(self.back)

    def back(self, dx):
        return clip_gradient(dx)

    def construct(self, x, y):
        return self.clip(x) * y**2


def test_a_method_as_edit(mode, says):
    net = Edited()
    print(net(f32(-2), f32(0.8)), ms.grad(net)(f32(-2), f32(0.8)))
    print(net(f32(-2), f32(2)), ms.grad(net)(f32(-2), f32(2)))
    says("[-1.2800001] [0.64000005] [-8.] [1.1]")


def test_a_constant_as_edit(mode, says):
    class Constant(Edited):
        def back(self, dx):
            return 100.0

    net = Constant()
    print(net(f32(-2), f32(2)), ms.grad(net)(f32(-2), f32(2)))
    says("[-8.] 100.0")


def test_an_offset_given_through_an_attribute(mode, says):
    class Offset(Edited):
        def __init__(self):
            super().__init__()
            self.z = 0.0

        def back(self, dx):
            return clip_gradient(dx) + self.z

        def construct(self, x, y, z=0.0):
            self.z = z
            return self.clip(x) * y**2

    net = Offset()
    print(net(f32(-2), f32(2), z=-1))
    print(ms.grad(net)(f32(-2), f32(2), z=-1))
    says("[-8.] [0.10000002]")


@pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.BypassWarning")
def test_a_rule_comes_before_an_edit(mode, says):
    class Both(Edited):
        def bprop(self, x, y, out, dout):
            return 100.0

    net = Both()
    print(net(f32(-2), f32(2)), ms.grad(net)(f32(-2), f32(2)))
    says("[-8.] 100.0")


# ------------------------------------------------------------------------------------------------ 002: grad
def test_gradients_by_position_of_one_and_of_two_outputs(mode, says):
    def one(x, y):
        return x**2 + y

    def two(x, y):
        return x**2 + y, x

    x, y = Tensor(1.0), Tensor(2.0)
    print(ms.grad(one, grad_position=0)(x, y), ms.grad(one, grad_position=1)(x, y))
    print(ms.grad(two, grad_position=0)(x, y), ms.grad(two, grad_position=1)(x, y))
    for position in (0, 1):
        out, _ = ms.grad(two, grad_position=position, has_aux=True)(x, y)
        print(out)
    says("2.0 1.0 3.0 1.0 2.0 1.0")  # the document's fourth number is its third printed again


def test_a_cell_that_computes_a_gradient(mode):
    class GradientOf(nn.Cell):
        def __init__(self, net):
            super().__init__()
            self.net = net

        def construct(self, x, y):
            return ms.grad(self.net)(x, y)

    class Net(nn.Cell):
        def construct(self, x, y):
            return x * y + x * x

    assert GradientOf(Net())(f32(1, 2), f32(3, 4)).tolist() == [5.0, 8.0]


class Regression(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 1, has_bias=False)
        self.loss = nn.MSELoss()
        self.fc.weight.set_data(Tensor([[2, 3, 4]], ms.float32))

    def construct(self, x, y):
        logits = self.fc(x).squeeze()
        return self.loss(logits, y), logits


X, Y = Tensor([[1, 2, 3]], ms.float32), Tensor(19, ms.float32)
ROW = "Tensor(shape=[1,3], dtype=Float32, value=[[{}.00000000e+00,{}.00000000e+00,{}.00000000e+00]])"
DX, DW, DY = ROW.format(4, 6, 8), ROW.format(2, 4, 6), "Tensor(shape=[], dtype=Float32, value=-2)"
LOGITS = "(Tensor(shape=[], dtype=Float32, value=20),)"


def test_a_network_its_weights_and_outputs(mode, says):
    net = Regression()
    for p in net.trainable_params():
        print(p.name, p.asnumpy())
    print(*net(X, Y))
    says("fc.weight [[2. 3. 4.]] 1.0 20.0")


@pytest.mark.parametrize(
    ("position", "of_weights", "expected"),
    [
        (0, False, "[[4. 6. 8.]]"),
        (1, False, "-2.0"),
        ((0, 1), False, f"({DX}, {DY})"),
        (None, True, f"({DW},)"),
        (0, True, f"({DX}, ({DW},))"),
        (1, True, f"({DY}, ({DW},))"),
        ((0, 1), True, f"(({DX}, {DY}), ({DW},))"),
    ],
)
def test_the_tables_of_grad_and_value_and_grad(mode, says, position, of_weights, expected):
    net = Regression()
    weights = net.trainable_params() if of_weights else None
    gradient, rest = ms.grad(net, position, weights, has_aux=True)(X, Y)
    print(gradient, rest)
    says(expected + LOGITS)
    value, gradient = ms.value_and_grad(net, position, weights, has_aux=True)(X, Y)
    print(value, gradient)
    says("(Tensor(shape=[], dtype=Float32, value=1), Tensor(shape=[], dtype=Float32, value=20))" + expected)


def test_without_has_aux_the_outputs_are_added(mode, says):
    class Added(Regression):
        def construct(self, x, y):
            loss, logits = super().construct(x, y)
            return loss + logits

    print(ms.grad(Regression())(X, Y), ms.grad(Added())(X, Y))
    says("[[ 6.  9. 12.]] [[ 6.  9. 12.]]")


def test_neither_position_nor_weights(mode):
    told = "grad_position.* and .*weight.* can not be None at the same time"
    for transform in (ms.grad, ms.value_and_grad):
        with pytest.raises(ValueError, match=told):
            transform(Regression(), grad_position=None, weights=None, has_aux=True)


def test_gradients_are_clipped_by_their_norm(mode):
    net = Regression()
    gradient, _ = ms.grad(net, None, net.trainable_params(), has_aux=True)(X, Y)
    (found,) = ops.clip_by_global_norm(gradient)
    np.testing.assert_allclose(found.asnumpy(), np.array([[2, 4, 6]]) / np.sqrt(56), rtol=1e-6)


# ------------------------------------------------------------------------------------------------ 003: migration
def test_stop_gradient_and_requires_grad(mode):
    class Chain(nn.Cell):
        def __init__(self, cut):
            super().__init__()
            self.a, self.b = Parameter(f32(2), name="a"), Parameter(f32(3), name="b")
            self.cut = cut

        def construct(self, x):
            y = x * self.a
            if self.cut:
                y = ops.stop_gradient(y)
            return y * self.b

    free, cut, frozen = Chain(False), Chain(True), Chain(False)
    frozen.b.requires_grad = False
    x = f32(5)
    of_all = [g.item() for g in ms.grad(free, None, free.trainable_params())(x)]
    of_cut = [g.item() for g in ms.grad(cut, None, cut.trainable_params())(x)]
    of_frozen = [g.item() for g in ms.grad(frozen, None, frozen.trainable_params())(x)]
    assert (of_all, of_cut, of_frozen) == ([15.0, 10.0], [0.0, 10.0], [15.0])
    assert ms.grad(frozen)(x).item() == 6.0  # what lies before a frozen Parameter has its gradient


class Sampler(nn.Cell):
    """Draws values above one half with NumPy, out of the reach of derivatives."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def construct(self, x):
        values, indices = [], []
        for row in range(x.shape[0]):
            array = x[row].asnumpy()
            chosen = np.random.choice(np.where(array > 0.5)[0], self.count)
            values.append(Tensor(array[chosen], ms.float32))
            indices.append(Tensor(chosen, ms.int32))
        values, indices = ops.stack(values, axis=0), ops.stack(indices, axis=0)
        print("pos_values forword", values)
        print("pos_indices forword", indices)
        return values, indices


class SamplerWithRule(Sampler):
    def bprop(self, x, out, dout):
        print("pos_indices backward", out[1])
        print("grad_x backward", dout[0])
        return ops.stack(
            [ops.unsorted_segment_sum(dout[0][i], out[1][i], x.shape[1]) for i in range(x.shape[0])], axis=0
        )


def _drawn():
    ms.set_seed(1)
    x = Tensor(np.random.uniform(0, 3, (2, 5)), ms.float32)
    print("x", x)
    return x


DRAWN = """x [[1.2510660e+00 2.1609735e+00 3.4312444e-04 9.0699774e-01 4.4026768e-01]
 [2.7701578e-01 5.5878061e-01 1.0366821e+00 1.1903024e+00 1.6164502e+00]]
pos_values forword [[0.90699774 2.1609735 0.90699774] [0.5587806 1.6164502 0.5587806 ]]
pos_indices forword [[3 1 3] [1 4 1]]"""


@pytest.mark.filterwarnings("ignore:.*AC2003")
def test_a_sampler_cuts_the_gradient_and_runs_twice(says):
    x, sampler = _drawn(), Sampler(3)
    sampler(x)
    assert not ms.grad(sampler, grad_position=0)(x).asnumpy().any()
    again = """pos_values forword [[0.90699774 1.251066 2.1609735 ] [1.1903024 1.1903024 0.5587806 ]]
    pos_indices forword [[3 0 1] [3 3 1]]"""
    says(DRAWN + again)


@pytest.mark.filterwarnings("ignore:.*AC2003")
def test_with_set_grad_a_sampler_runs_once(says):
    x, sampler = _drawn(), Sampler(3).set_grad()
    sampler(x)
    assert not ms.grad(sampler, grad_position=0)(x).asnumpy().any()
    says(DRAWN)


def test_a_sampler_with_a_rule(says):
    x, sampler = _drawn(), SamplerWithRule(3).set_grad()
    sampler(x)
    found = ms.grad(sampler, grad_position=0)(x)
    assert found.tolist() == [[0, 1, 0, 2, 0], [0, 2, 0, 0, 1]]
    backward = "pos_indices backward [[3 1 3] [1 4 1]] grad_x backward [[1. 1. 1.] [1. 1. 1.]]"
    says(DRAWN + backward)


def test_the_sampler_in_compiled_code(mode):
    class HostSampler(nn.Cell):
        def construct(self, x):
            like = (ms.TensorSpec((2, 3), ms.float32), ms.TensorSpec((2, 3), ms.int32))
            return ms.py_call(sample, x, out=like, bprop=spread)

    def sample(x):
        chosen = np.stack([np.random.choice(np.where(row > 0.5)[0], 3) for row in x]).astype(np.int32)
        return np.take_along_axis(x, chosen, 1), chosen

    def spread(x, out, dout):
        rows = [ops.unsorted_segment_sum(dout[0][i], out[1][i], x.shape[1]) for i in range(x.shape[0])]
        return ops.stack(rows, axis=0)

    ms.set_seed(1)
    x = Tensor(np.random.uniform(0, 3, (2, 5)), ms.float32)
    assert ms.grad(HostSampler())(x).tolist() == [[0, 1, 0, 2, 0], [0, 2, 0, 0, 1]]


# ------------------------------------------------------------------------------------------------ 004: eager mode
def test_a_function_and_a_network(mode, says):
    def twice(x, y):
        return x + y + x

    class Net(nn.Cell):
        def construct(self, x, y):
            return x * y

    print(twice(f32(1, 2), f32(3, 5)), Net()(f32(1, 2, 3), f32(4, 5, 6)))
    says("[5. 9.] [ 4. 10. 18.]")


def test_a_hook_on_the_way_back(mode, says):
    def hook_fn(grad_out):
        print("hook_fn print grad_out:", grad_out)

    hook = ops.HookBackward(hook_fn)

    def program(x, y):
        z = hook(x * y)
        return z * y

    print("output:", ops.GradOperation(get_all=True)(program)(Tensor(1, ms.float32), Tensor(2, ms.float32)))
    says("""hook_fn print grad_out: (Tensor(shape=[], dtype=Float32, value= 2),)
    output: (Tensor(shape=[], dtype=Float32, value= 4), Tensor(shape=[], dtype=Float32, value= 4))""")


def _one(value):
    return f"Tensor(shape=[1], dtype=Float32, value= [ {value}.00000000e+00])"


class Summed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()

    def construct(self, x, y):
        return self.relu(x + y)


BY_ALL = ops.GradOperation(get_all=True)


def test_a_hook_before_a_cell(mode, says):
    def before(cell, inputs):
        print("forward inputs: ", inputs)
        return inputs[0]

    net = Summed()
    handle = net.relu.register_forward_pre_hook(before)
    print(net(f32(1), f32(1)))
    print(BY_ALL(net)(f32(1), f32(1)))
    handle.remove()
    print(BY_ALL(net)(f32(1), f32(1)))
    line, gradient = f"forward inputs: ({_one(2)},)", f"({_one(1)}, {_one(1)})"
    says(f"{line} [2.] {line} {gradient} {gradient}")


@pytest.mark.filterwarnings("ignore:.*AC2003")
def test_a_hook_that_makes_new_data_cuts_the_gradient(mode, says):
    net = Summed()
    net.relu.register_forward_pre_hook(lambda cell, inputs: Tensor(np.ones([1]).astype(np.float32)))
    print(BY_ALL(net)(f32(1), f32(1)))
    says(f"({_one(0)}, {_one(0)})")


def test_a_hook_after_a_cell(mode, says):
    def after(cell, inputs, outputs):
        print("forward inputs: ", inputs)
        print("forward outputs: ", outputs)
        return outputs + outputs

    net = Summed()
    handle = net.relu.register_forward_hook(after)
    print(BY_ALL(net)(f32(1), f32(1)))
    handle.remove()
    print(BY_ALL(net)(f32(1), f32(1)))
    says(f"""forward inputs: ({_one(2)},) forward outputs: [2.]
    ({_one(2)}, {_one(2)}) ({_one(1)}, {_one(1)})""")


def test_hooks_of_three_kinds(mode, says):
    def before(cell, inputs):
        print("forward inputs: ", inputs)
        return inputs[0]

    def after(cell, inputs, outputs):
        print("forward inputs: ", inputs)
        print("forward outputs: ", outputs)
        return outputs + outputs

    def back(cell, grad_input, grad_output):
        print("grad input: ", grad_input)
        print("grad output: ", grad_output)

    net = Summed()
    net.relu.register_forward_pre_hook(before)
    net.relu.register_forward_hook(after)
    net.relu.register_backward_hook(back)
    print(BY_ALL(net)(f32(1), f32(1)))
    line = f"forward inputs: ({_one(2)},)"
    says(f"""{line} {line} forward outputs: [2.]
    grad input: ({_one(2)},) grad output: ({_one(2)},) ({_one(2)}, {_one(2)})""")


def test_a_rule_of_two_inputs(mode, says):
    class Net(nn.Cell):
        def construct(self, x, y):
            z = x * y
            return z * y

        def bprop(self, x, y, out, dout):
            return x + y, x * y

    print(BY_ALL(Net())(Tensor(1, ms.float32), Tensor(2, ms.float32)))
    says("(Tensor(shape=[], dtype=Float32, value= 3), Tensor(shape=[], dtype=Float32, value= 2))")


def test_a_hook_between_a_convolution_and_an_activation(mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, kernel_size=2, stride=1, padding=0, weight_init="ones", pad_mode="valid")
            self.bn = nn.BatchNorm2d(2, momentum=0.99, eps=0.00001, gamma_init="ones")
            self.relu = nn.ReLU()

        def construct(self, x):
            return self.relu(self.bn(self.conv(x)))

    seen, net = [], Net()
    handle = net.bn.register_backward_hook(lambda cell, arriving, leaving: seen.append((arriving, leaving)))
    x = Tensor(np.ones([1, 1, 2, 2]).astype(np.float32))
    for _ in range(2):
        (found,) = BY_ALL(net)(x)
        np.testing.assert_allclose(found.asnumpy(), np.full((1, 1, 2, 2), 1.99998999), rtol=1e-6)
        handle.remove()
    (((arriving,), (leaving,)),) = seen
    np.testing.assert_array_equal(arriving.asnumpy(), np.ones((1, 2, 1, 1)))
    np.testing.assert_allclose(leaving.asnumpy(), np.full((1, 2, 1, 1), 9.99994993e-01), rtol=1e-6)
