"""Hooks of Cells and `HookBackward`: order of calls, arguments, results and effects, in eager and in compiled code.

What is expected is computed by hand from the derivatives of the programs, or is what the document about eager mode
prints.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, grad, nn, ops

from .hooked import Around, Tripled, gradients, one


# ------------------------------------------------------------------------------------------------ the document
def test_hook_backward_shows_the_gradient_and_keeps_it(mode, capsys):
    def shown(grads):
        print("arrived:", grads)

    hook = ops.HookBackward(shown)

    def f(x, y):
        return hook(x * y) * y

    found = ms.GradOperation(get_all=True)(f)(Tensor(1, ms.float32), Tensor(2, ms.float32))
    assert capsys.readouterr().out == "arrived: (Tensor(shape=[], dtype=Float32, value= 2),)\n"
    assert str(found) == ("(Tensor(shape=[], dtype=Float32, value= 4), Tensor(shape=[], dtype=Float32, value= 4))")


def test_forward_pre_hook_sees_inputs_until_it_is_removed(mode, capsys):
    def shown(cell, inputs):
        print("given:", inputs)
        return inputs[0]

    net = Around()
    handle = net.inner.register_forward_pre_hook(shown)
    line = "given: (Tensor(shape=[1], dtype=Float32, value= [ 2.00000000e+00]),)\n"
    assert net(one(1), one(1)).tolist() == [2.0]
    assert capsys.readouterr().out == line
    assert gradients(net, 1, 1) == [[1.0], [1.0]]
    assert capsys.readouterr().out == line
    handle.remove()
    assert gradients(net, 1, 1) == [[1.0], [1.0]]
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore:.*AC2003")
def test_new_data_from_a_forward_pre_hook_ends_the_gradient(mode, capsys):
    def replaced(cell, inputs):
        print("given:", inputs)
        return Tensor(np.ones([1], np.float32))

    net = Around()
    net.inner.register_forward_pre_hook(replaced)
    assert gradients(net, 1, 1) == [[0.0], [0.0]]
    assert capsys.readouterr().out == "given: (Tensor(shape=[1], dtype=Float32, value= [ 2.00000000e+00]),)\n"


def test_forward_hook_computes_on_the_output_until_it_is_removed(mode, capsys):
    def doubled(cell, inputs, output):
        print("given:", inputs, "made:", output)
        return output + output

    net = Around()
    handle = net.inner.register_forward_hook(doubled)
    assert gradients(net, 1, 1) == [[2.0], [2.0]]
    assert capsys.readouterr().out == (
        "given: (Tensor(shape=[1], dtype=Float32, value= [ 2.00000000e+00]),) made: [2.]\n"
    )
    handle.remove()
    handle.remove()
    assert gradients(net, 1, 1) == [[1.0], [1.0]]


def test_backward_hook_of_a_normalization(mode):
    seen = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, kernel_size=2, stride=1, padding=0, weight_init="ones", pad_mode="valid")
            self.norm = nn.BatchNorm2d(2, momentum=0.99, eps=0.00001, gamma_init="ones")
            self.handle = self.norm.register_backward_hook(self.note)

        def note(self, cell, arrived, leaving):
            seen.append((arrived[0].asnumpy(), leaving[0].asnumpy()))

        def construct(self, x):
            return ops.relu(self.norm(self.conv(x)))

    net = Net()
    slope = ms.GradOperation(get_all=True)(net)
    x = Tensor(np.ones([1, 1, 2, 2], np.float32))
    first = slope(x)
    net.handle.remove()
    second = slope(x)
    ((arrived, leaving),) = seen
    np.testing.assert_array_equal(arrived, np.ones([1, 2, 1, 1]))
    # One channel of moving mean 0 and variance 1: the slope is 1 / sqrt(1 + eps); two channels add up.
    np.testing.assert_allclose(leaving, np.full([1, 2, 1, 1], 9.99994993e-01), rtol=1e-7)
    for found in (first, second):
        np.testing.assert_allclose(found[0].asnumpy(), np.full([1, 1, 2, 2], 1.99998999), rtol=1e-7)


def test_all_three_on_one_cell(mode, capsys):
    """The backward hook sees the Cell's own gradients, not those of what the forward hooks compute."""
    net = Around()
    net.inner.register_forward_pre_hook(lambda cell, inputs: print("before", inputs[0]))
    net.inner.register_forward_hook(lambda cell, inputs, output: output + output)
    net.inner.register_backward_hook(lambda cell, arrived, leaving: print("back", arrived, leaving))
    assert gradients(net, 1, 1) == [[2.0], [2.0]]
    two = "(Tensor(shape=[1], dtype=Float32, value= [ 2.00000000e+00]),)"
    assert capsys.readouterr().out == f"before [2.]\nback {two} {two}\n"


# ------------------------------------------------------------------------------------------------ order
def test_order_of_all_kinds_and_of_a_shared_cell_called_twice(mode):
    log = []
    relu = nn.ReLU()
    relu.register_forward_pre_hook(lambda cell, inputs: log.append(("before", inputs[0].tolist())))
    relu.register_forward_hook(lambda cell, inputs, output: log.append(("after", output.tolist())))
    relu.register_backward_pre_hook(lambda cell, grads: log.append(("arriving", grads[0].tolist())))
    relu.register_backward_hook(lambda cell, a, b: log.append(("leaving", a[0].tolist(), b[0].tolist())))
    assert grad(lambda x: relu(x * 2) * 3 + relu(x) * 5)(one(1)).tolist() == [11.0]
    assert log == [
        ("before", [2.0]),
        ("after", [2.0]),
        ("before", [1.0]),
        ("after", [1.0]),
        ("arriving", [5.0]),
        ("leaving", [5.0], [5.0]),
        ("arriving", [3.0]),
        ("leaving", [3.0], [3.0]),
    ]


def test_several_hooks_run_as_registered_and_prepended_ones_first(mode):
    log = []
    net = Tripled()

    def noting(name, factor):
        def hook(cell, inputs, output):
            log.append((name, output.tolist()))
            return output * factor

        return hook

    net.inner.register_forward_hook(noting("a", 2))
    net.inner.register_forward_hook(noting("b", 3))
    net.inner.register_forward_hook(noting("first", 5), prepend=True)
    assert grad(net)(one(1)).tolist() == [2 * 3 * 2 * 3 * 5.0]
    assert log == [("first", [2.0]), ("a", [10.0]), ("b", [20.0])]


def test_backward_hooks_hand_their_results_on(mode):
    log = []
    net = Tripled()
    net.inner.register_backward_pre_hook(lambda cell, grads: (grads[0] * 2,))
    net.inner.register_backward_pre_hook(lambda cell, grads: log.append(grads[0].tolist()))
    net.inner.register_backward_hook(lambda cell, arrived, leaving: (leaving[0] + 1,))
    net.inner.register_backward_hook(
        lambda cell, arrived, leaving: log.append((arrived[0].tolist(), leaving[0].tolist()))
    )
    assert grad(net)(one(1)).tolist() == [14.0]  # (3 * 2 + 1) * 2
    assert log == [[6.0], ([6.0], [7.0])]


def test_nested_cells_lists_and_sequences(mode):
    log = []

    def noting(name):
        return lambda cell, arrived, leaving: log.append((name, arrived[0].tolist(), leaving[0].tolist()))

    class Scale(nn.Cell):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def construct(self, x):
            return x * self.factor

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.layers = nn.CellList([Scale(2), Scale(3)])
            self.rest = nn.SequentialCell(Scale(5), Scale(7))

        def construct(self, x):
            for layer in self.layers:
                x = layer(x)
            return self.rest(x)

    net = Net()
    cells = {"net": net, "layer": net.layers[1], "rest": net.rest, "inner": net.rest[0]}
    for name, cell in cells.items():
        cell.register_backward_hook(noting(name))
    assert grad(net)(one(1)).tolist() == [210.0]
    assert log == [
        ("inner", [7.0], [35.0]),
        ("rest", [1.0], [35.0]),
        ("layer", [35.0], [105.0]),
        ("net", [1.0], [210.0]),
    ]


def test_loops_kept_and_unrolled_and_branches(mode):
    log = []
    relu = nn.ReLU()
    relu.register_backward_hook(lambda cell, arrived, leaving: log.append(arrived[0].tolist()))

    def f(x):
        for _ in range(2):
            x = relu(x) * 2
        while x.sum() < 30:
            if x.sum() > 10:
                x = relu(x) * 3
            else:
                x = x * 2
        return x

    assert grad(f)(one(1)).tolist() == [48.0]  # 1 2 4 8 16 48
    assert log == [[3.0], [3 * 2 * 2 * 2.0], [3 * 2 * 2 * 2 * 2.0]]


def test_a_gradient_by_parameters_only_calls_hooks_too(mode):
    log = []
    dense = nn.Dense(2, 1)
    dense.weight.set_data(Tensor([[1.0, 2.0]]))
    dense.register_backward_hook(lambda cell, arrived, leaving: log.append((arrived[0].tolist(), leaving[0].tolist())))
    weight, bias = grad(dense, None, dense.trainable_params())(Tensor([[3.0, 4.0]]))
    assert weight.tolist() == [[3.0, 4.0]]
    assert bias.tolist() == [1.0]
    assert log == [([[1.0]], [[1.0, 2.0]])]


def test_nothing_is_called_where_a_path_is_cut(mode):
    log = []
    net = Tripled()
    net.inner.register_backward_hook(lambda cell, arrived, leaving: log.append("called"))
    assert grad(lambda x: ops.stop_gradient(net(x)) + x)(one(1)).tolist() == [1.0]
    assert net(one(1)).tolist() == [6.0]
    assert log == []


def test_a_value_that_the_path_taken_does_not_use(mode):
    """Neither its hooks nor edits nor a `bprop` are asked for what they would make of zeros."""
    log = []
    look = ops.HookBackward(lambda g: log.append(g[0].tolist()))
    add = ops.InsertGradientOf(lambda g: g + 100)

    class Constant(nn.Cell):
        def construct(self, x):
            return x * 1

        def bprop(self, x, out, dout):
            return (1000.0,)

    constant = Constant()

    def f(x, c):
        y, z = add(look(x)), constant(x)
        if c.sum() > 0:
            out = y * 2
            if c.sum() > 5:
                out = out * z
        elif c.sum() < -5:
            out = z * z
        else:
            out = x * 3
        return out + x

    slope = grad(f)
    found = {c: slope(one(1), one(c)).tolist() for c in (1, 6, -1, -6)}
    # 2 + 100; 2 + 100 + 1000; 3; 1000; each with the 1 of the last sum
    assert found == {1: [103.0], 6: [1103.0], -1: [4.0], -6: [1001.0]}
    assert log == [[102.0], [102.0]]


def test_a_loop_that_uses_a_value_now_and_then(mode):
    log = []
    look = ops.HookBackward(lambda g: log.append(g[0].tolist()))

    def f(x, limit):
        y = look(x)
        while x.sum() < limit.sum():
            if x.sum() > 8:
                x = x + y * 7
            else:
                x = x * 2
        return x

    slope = grad(f)
    assert slope(one(1), one(20)).tolist() == [16.0 + 7]  # 1 2 4 8 16 23
    assert slope(one(1), one(30)).tolist() == [16.0 + 14]
    assert slope(one(50), one(20)).tolist() == [1.0]
    assert log == [[7.0], [14.0]]


# ------------------------------------------------------------------------------------------------ what is handed over
def test_inputs_and_outputs_of_every_structure(mode):
    log = []

    class Mixed(nn.Cell):
        def construct(self, x, n, nothing, table, pair):
            return {"a": x * n, "b": (table["k"] * pair[0], None, 3)}

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.mixed = Mixed()

        def construct(self, x, y):
            out = self.mixed(x, 2, None, {"k": y}, (x, y))
            return out["a"] + out["b"][0]

    net = Net()
    net.mixed.register_forward_pre_hook(lambda cell, inputs: log.append((len(inputs), inputs[1])))
    net.mixed.register_forward_hook(lambda cell, inputs, output: log.append((sorted(output), output["b"][2])))
    net.mixed.register_backward_pre_hook(lambda cell, grads: log.append([g.tolist() for g in grads]))
    net.mixed.register_backward_hook(lambda cell, arrived, leaving: log.append([g.tolist() for g in leaving]))
    assert gradients(net, 1, 4) == [[6.0], [1.0]]  # 2 x + y x
    assert log == [(5, 2), (["a", "b"], 3), [[1.0], [1.0]], [[2.0], [1.0], [4.0], [0.0]]]


def test_keywords(mode):
    log = []

    class Both(nn.Cell):
        def construct(self, x, y=None):
            return x * 2, x * y

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.both = Both()

        def construct(self, x, y):
            a, b = self.both(x, y=y)
            return a * 3 + b * 5

    net = Net()
    net.both.register_forward_pre_hook(lambda cell, inputs, kwargs: (inputs, {"y": kwargs["y"] * 2}), with_kwargs=True)
    net.both.register_forward_hook(
        lambda cell, inputs, kwargs, output: (output[0], output[1] + kwargs["y"]), with_kwargs=True
    )
    net.both.register_backward_hook(lambda cell, arrived, leaving: log.append([g.tolist() for g in leaving]))
    # 6 x + 5 (2 x y + 2 y)
    assert gradients(net, 1, 2) == [[26.0], [20.0]]
    assert log == [[[26.0], [5.0]]]


def test_the_first_argument_is_the_cell(mode):
    net = Tripled()
    net.inner.scale = 4.0
    net.inner.register_forward_hook(lambda cell, inputs, output: output * cell.scale)
    assert grad(net)(one(1)).tolist() == [24.0]
    net.inner.scale = 5.0
    assert grad(net)(one(1)).tolist() == [30.0]


def test_every_kind_of_callable(mode):
    log = []

    class Recorder:
        def __init__(self):
            self.seen = []

        def __call__(self, cell, arrived, leaving):
            self.seen.append(leaving[0].tolist())

        def counted(self, cell, arrived, leaving):
            log.append("method")

    def named(name, cell, arrived, leaving):
        log.append(name)
        return (leaving[0] * 2,)

    recorder, net = Recorder(), Tripled()
    net.inner.register_backward_hook(recorder)
    net.inner.register_backward_hook(recorder.counted)
    net.inner.register_backward_hook(functools.partial(named, "partial"))
    assert grad(net)(one(1)).tolist() == [12.0]
    assert recorder.seen == [[3.0]]
    assert log == ["method", "partial"]
    with pytest.raises(TypeError, match="a hook must be callable, not a int"):
        net.inner.register_forward_hook(3)


# ------------------------------------------------------------------------------------------------ effects
def test_hooks_may_change_objects_outside_and_are_compiled_once(mode, capsys):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.relu = nn.ReLU()
            self.calls, self.last, self.table, self.log = 0, None, {"n": 0}, []
            self.relu.register_backward_hook(self.note)

        def note(self, cell, arrived, leaving):
            self.calls += 1
            self.last = leaving[0] * 10
            self.table["n"] = self.table["n"] + 1
            self.log.append(arrived[0])
            print("call", len(self.log))

        def construct(self, x):
            return self.relu(x) * 3

    net = Net()
    slope = grad(net)
    for value in (1, 2, 3):
        assert slope(one(value)).tolist() == [3.0]
    assert (net.calls, net.last.tolist(), net.table) == (3, [30.0], {"n": 3})
    assert [g.tolist() for g in net.log] == [[3.0]] * 3
    assert capsys.readouterr().out == "call 1\ncall 2\ncall 3\n"
    if mode != "eager":
        assert slope.compiled().cache_info()["compiles"] == 1


def test_a_hook_may_return_a_gradient_and_set_attributes(mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.relu = nn.ReLU()
            self.norm = 0.0
            self.relu.register_backward_hook(self.clip)

        def clip(self, cell, arrived, leaving):
            self.norm = leaving[0].sum()
            return (ops.minimum(leaving[0], Tensor(2.0)),)

        def construct(self, x):
            return self.relu(x) * 3

    net = Net()
    assert grad(net)(one(1)).tolist() == [2.0]
    assert float(net.norm) == 3.0


def test_a_container_that_a_hook_reads_and_changes_is_read_when_it_runs(mode):
    seen = []

    def first_two(cell, arrived, leaving):
        if len(seen) < 2:
            seen.append(leaving[0].tolist())

    relu = nn.ReLU()
    relu.register_backward_hook(first_two)
    slope = grad(lambda x: relu(relu(relu(x) * 2) * 3))
    assert slope(one(1)).tolist() == [6.0]
    assert seen == [[1.0], [3.0]]
    assert slope(one(1)).tolist() == [6.0]
    assert len(seen) == 2


def test_attribute_of_both_passes_is_refused_in_compiled_code():
    ms.set_context(mode=ms.GRAPH_MODE)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.relu, self.calls = nn.ReLU(), 0
            self.relu.register_backward_hook(self.note)

        def note(self, cell, arrived, leaving):
            self.calls += 1

        def construct(self, x):
            self.calls = self.calls + 10
            return self.relu(x)

    with pytest.raises(ms.SideEffectError, match="AC1606"):
        grad(Net())(one(1))


def test_an_exception_of_a_hook_leaves_what_was_done_before(mode):
    log = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.relu, self.count = nn.ReLU(), Parameter([1.0], name="count")
            self.relu.register_backward_hook(self.check)

        def check(self, cell, arrived, leaving):
            log.append("before")
            if leaving[0].sum() > 0:
                raise ValueError("the gradient is positive")
            log.append("after")

        def construct(self, x):
            self.count += 1
            return self.relu(x) * self.count

    net = Net()
    with pytest.raises(ValueError, match="the gradient is positive"):
        grad(net)(one(1))
    assert net.count.asnumpy().tolist() == [2.0]
    assert log == ["before"]


def test_hooks_with_always_call_run_after_an_exception_in_eager_code():
    log = []

    class Fails(nn.Cell):
        def construct(self, x):
            raise ValueError("no result")

    net = Fails()
    net.register_forward_hook(lambda cell, inputs, output: log.append("usual"))
    net.register_forward_hook(lambda cell, inputs, output: log.append(output), always_call=True)
    with pytest.raises(ValueError, match="no result"):
        net(one(1))
    assert log == [None]
