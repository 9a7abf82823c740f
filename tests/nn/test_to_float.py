"""Mixed precision by hand: what `to_float` casts, what stays, and that eager and compiled code agree on it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, ParameterTuple, Tensor, nn, ops

X = np.array([1.0, 2.0], np.float32)
F16, F32, F64, BF16 = ms.float16, ms.float32, ms.float64, ms.bfloat16


class Reading(nn.Cell):
    """Reads each kind of attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor([1 / 3, 3.0]), name="w")
        self.t = Tensor([0.1, 2.5])
        self.pair = (Tensor([1.0, 1.0]), 3)
        self.many = ParameterTuple([Parameter(Tensor([0.7, 0.1]), name="m0"), Parameter([1, 2], name="m1")])
        self.listed = [Tensor([1.0, 1.0])]
        self.n = Tensor([1, 2])

    def scaled(self, x):
        return x * self.w

    @property
    def double(self):
        return self.w * 2

    def construct(self, x):
        return (
            (x, x + 1.5, self.scaled(x), x * self.t, self.double, self.pair[0] + x, ops.exp(self.w)),
            (self.many[0] * 2, self.w.T, getattr(self, "w"), self.n, self.many[1]),
            self.listed[0],
            (self.w.dtype, self.w.name, self.w.requires_grad, self.pair[1], x.dtype),
        )


def dtypes(x: object) -> object:
    return [dtypes(v) for v in x] if isinstance(x, tuple) else x.dtype


@pytest.mark.parametrize("dtype", [F16, BF16])
def test_inputs_and_what_is_read_are_cast(mode: str, dtype: ms.common.Type) -> None:
    floats, others, listed, facts = Reading().to_float(dtype)(Tensor(X))
    assert dtypes(floats) == [dtype] * 7
    assert dtypes(others) == [dtype, dtype, dtype, ms.int64, ms.int64]
    assert listed.dtype is F32  # a list may be changed by others: it is left as it is
    assert facts == (dtype, "w", True, 3, dtype)
    low = np.array([1 / 3, 3.0], np.float32).astype(dtype.numpy)
    np.testing.assert_array_equal(floats[2].asnumpy(), X.astype(dtype.numpy) * low)
    np.testing.assert_array_equal(floats[4].asnumpy(), low * dtype.numpy.type(2))
    assert all(type(t) is Tensor for t in floats)


def test_both_modes_compute_the_same_bits() -> None:
    net = Reading().to_float(F16)
    eager = net(Tensor(X))
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert repr(net(Tensor(X))) == repr(eager)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_outside_of_the_call_nothing_is_cast(mode: str) -> None:
    net = Reading().to_float(F16)
    net(Tensor(X))
    assert (net.w.dtype, net.t.dtype, net.pair[0].dtype) == (F32, F32, F32)
    assert type(net) is Reading
    assert [p.dtype for p in net.trainable_params()] == [F32, F32, ms.int64]
    penalty = ms.jit(lambda: (net.w * net.w).sum())
    assert penalty().dtype is F32
    assert list(net.name_cells()) == []


def test_containers_of_inputs_and_keywords_are_cast(mode: str) -> None:
    class Net(nn.Cell):
        def construct(self, xs, *, scale):
            return xs[0] + xs[1]["k"], scale * 2, xs[2], xs[3]

    net = Net().to_float(F16)
    x = Tensor(X)
    out = net((x, {"k": x}, 3, Tensor([1])), scale=Tensor(2.0))
    assert dtypes((out[0], out[1], out[3])) == [F16, F16, ms.int64]
    assert out[2] == 3


def test_children_have_the_type_said_last(mode: str) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Dense(2, 2, weight_init=0.3), nn.Dense(2, 2, weight_init=0.2)

        def construct(self, x):
            h = self.a(x)
            return h, self.b(h), self.b(h) + self.a(h)

    net = Net()
    assert net.to_float(F16) is net
    net.b.to_float(F32)
    x = Tensor(X.reshape(1, 2))
    assert dtypes(net(x)) == [F16, F32, F32]
    net.to_float(F32)  # seen at the next call
    assert dtypes(net(x)) == [F32, F32, F32]
    net.a.to_float(F16)
    assert dtypes(net(x)) == [F16, F32, F32]


def test_gradients_have_the_parameters_types_and_are_right(mode: str) -> None:
    layer = nn.Dense(3, 2, weight_init="normal", bias_init=0.1).to_float(F16)
    x = np.random.RandomState(0).uniform(-1, 1, (4, 3)).astype(np.float32)
    gx, (gw, gb) = ms.grad(lambda x: (layer(x) ** 2).sum(), 0, layer.trainable_params())(Tensor(x))
    assert dtypes((gx, gw, gb)) == [F32, F32, F32]
    w, b = layer.weight.asnumpy(), layer.bias.asnumpy()
    gy = 2 * (x @ w.T + b)
    for found, expected in ((gx, gy @ w), (gw, gy.T @ x), (gb, gy.sum(0))):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=2e-2, atol=2e-3)


def test_second_derivatives_pass_the_casts(mode: str) -> None:
    class Cube(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor(2.0), name="w")

        def construct(self, x):
            return self.w * x * x * x

    net = Cube().to_float(F16)
    second = ms.grad(ms.grad(net))(Tensor(1.5))
    assert (second.dtype, second.item()) == (F32, 18.0)


class Writing(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.total = Parameter(Tensor([0.0, 0.0]), name="total", requires_grad=False)
        self.count = Parameter(Tensor(0), name="count", requires_grad=False)
        self.last = Tensor([0.0, 0.0])
        self.step = 0

    def construct(self, x):
        ops.assign_add(self.total, Tensor([1e-4, 1.0]))
        self.count += 1
        self.last = x * 2
        self.step += 1
        if x.sum() > 0:
            ops.assign(self.total, self.total + x)
        before = self.total
        self.total = self.total * 2
        self.total[0] = 4.0
        return before, self.total, self.last


def test_writes_reach_the_parameters(mode: str) -> None:
    net = Writing().to_float(F16)
    before, after, last = net(Tensor(X))
    assert dtypes((before, after, last)) == [F16, F16, F16]
    assert (net.total.dtype, net.total.tolist(), net.count.tolist(), net.step) == (F32, [4.0, 6.0], 1, 1)
    assert after.tolist() == [4.0, 6.0]
    assert before.tolist() == [1.0, 3.0]  # 1e-4 is lost in the sum of two 16-bit numbers
    assert net.last.tolist() == [2.0, 4.0]


def test_assign_add_keeps_the_parameters_precision(mode: str) -> None:
    class Counting(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.total = Parameter(Tensor(2048.0), name="total")

        def construct(self, x):
            ops.assign_add(self.total, x)
            ops.assign_sub(self.total, x * 2)
            return x

    net = Counting().to_float(F16)
    net(Tensor(1.0))
    assert net.total.item() == 2047.0  # 2049 has no 16-bit form


def test_a_write_to_a_cast_input_reaches_the_caller_or_is_refused() -> None:
    class Filling(nn.Cell):
        def construct(self, x):
            x[0] = 7.0
            return x

    net, x = Filling().to_float(F16), Tensor(X)
    out = net(x)
    assert (out.dtype, out.tolist(), x.dtype, x.tolist()) == (F16, [7.0, 2.0], F32, [7.0, 2.0])
    with pytest.raises(ms.SideEffectError, match="to_float has cast"):
        ms.jit(net)(x)


def test_control_flow_and_helpers_see_the_view(mode: str) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor([0.5, 0.5]), name="w")

        def step(self, x):
            return x * self.w

        def construct(self, x):
            i = Tensor(0)
            while i < 3:
                if x.sum() > 1:
                    x = self.step(x)
                else:
                    x = x + self.w
                i = i + 1
            return x

    class Derived(Net):
        def construct(self, x):
            return super().construct(x) + self.w

    assert Net().to_float(F16)(Tensor(X)).dtype is F16
    out = Derived().to_float(F16)(Tensor(X))
    # 3 > 1: [.5, 1]; 1.5 > 1: [.25, .5]; else + .5: [.75, 1]; and once more + .5
    assert (out.dtype, out.tolist()) == (F16, [1.25, 1.5])


def test_a_compiled_method_of_an_eager_cell_agrees() -> None:
    class Net(nn.Cell):
        def __init__(self, compiled: bool) -> None:
            super().__init__()
            self.w = Parameter(Tensor([1 / 3, 2.0]), name="w")
            self.compiled = compiled

        @ms.jit
        def fast(self, x):
            return x * self.w + self.w

        def slow(self, x):
            return x * self.w + self.w

        def construct(self, x):
            return self.fast(x) if self.compiled else self.slow(x)

    fast, slow = (Net(c).to_float(F16) for c in (True, False))
    for _ in range(3):
        assert repr(fast(Tensor(X))) == repr(slow(Tensor(X)))
    assert Net.fast.cache_info()["compiles"] == 1


def test_an_unchanged_cell_is_compiled_once() -> None:
    net = Reading().to_float(F16)
    compiled = ms.jit(net)
    for _ in range(3):
        compiled(Tensor(X))
    assert compiled.cache_info()["compiles"] == 1


def test_copies_compute_the_same(mode: str) -> None:
    net = nn.Dense(2, 2).to_float(F16)
    x = Tensor(X.reshape(1, 2))
    out = net(x)
    for other in (copy.deepcopy(net), copy.copy(net), pickle.loads(pickle.dumps(net))):
        assert repr(other(x)) == repr(out)
    other = copy.deepcopy(net)
    other.weight.set_data(Tensor(np.zeros((2, 2))).astype(F32))
    other.bias.set_data(Tensor([1.0, 1.0]))
    assert other(x).tolist() == [[1.0, 1.0]]
    assert repr(net(x)) == repr(out)


def test_custom_gradients_see_cast_values(mode: str) -> None:
    class Net(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            return (dout * (10 if x.dtype is F16 else 20),)

    g = ms.grad(Net().to_float(F16))(Tensor(X))
    assert (g.dtype, g.tolist()) == (F32, [10.0, 10.0])


@pytest.mark.parametrize("wrong", [ms.int32, F64, "nothing", None, 16])
def test_other_types_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="to_float"):
        nn.Dense(1, 1).to_float(wrong)


def test_names_of_types_are_taken() -> None:
    assert nn.ReLU().to_float("float16")(Tensor(X)).dtype is F16


# ------------------------------------------------------------------------------------------------ Cells in Cells
class Tied(nn.Cell):
    """Reads a weight of a child, as networks that share an embedding do."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Dense(2, 2, weight_init=0.3, has_bias=False)
        self.layers = nn.CellList([nn.Dense(2, 2, weight_init=0.5, bias_init=1.0) for _ in range(2)])
        self.named = nn.CellDict({"a": nn.ReLU()})
        self.seq = nn.SequentialCell(nn.Dense(2, 2, weight_init=0.1), nn.ReLU())

    def construct(self, x):
        h = self.fc(x)
        for layer in self.layers:
            h = layer(h)
        for _, cell in self.named.items():
            h = cell(h)
        h = self.seq(self.layers[0](h))
        return ops.matmul(h, self.fc.weight.T), self.fc.weight, h, isinstance(self.fc, nn.Dense)


def test_what_is_read_of_a_child_has_the_childs_type(mode: str) -> None:
    net = Tied().to_float(F16)
    x = Tensor(X.reshape(1, 2))
    *tensors, known = net(x)
    assert (dtypes(tuple(tensors)), known) == ([F16, F16, F16], True)
    net.fc.to_float(F32)
    assert dtypes(net(x)[:3]) == [F32, F32, F16]
    compiled = ms.jit(net)
    for _ in range(3):
        compiled(x)
    assert compiled.cache_info()["compiles"] == 1


def test_hooks_get_the_cell_itself(mode: str) -> None:
    net, seen = Tied().to_float(F16), []
    for cell in (net, net.fc, net.seq[0]):
        cell.register_forward_hook(lambda c, inputs, output: seen.append((c, output.dtype if c is not net else None)))
    net(Tensor(X.reshape(1, 2)))
    assert [c for c, _ in seen] == [net.fc, net.seq[0], net]
    assert [d for _, d in seen] == [F16, F16, None]


def test_attributes_made_by_getattr_are_cast(mode: str) -> None:
    class Net(nn.Cell):
        def __getattr__(self, name):
            if name == "made":
                return Tensor([3.0, 3.0])
            raise AttributeError(name)

        def construct(self, x):
            return x * self.made, hasattr(self, "other")

    out, other = Net().to_float(F16)(Tensor(X))
    assert (out.dtype, out.tolist(), other) == (F16, [3.0, 6.0], False)


def test_a_training_step_is_the_same_in_both_modes() -> None:
    def losses(compiled: bool) -> list[float]:
        net = nn.SequentialCell(nn.Dense(2, 4, weight_init=0.1), nn.Tanh(), nn.Dense(4, 1, weight_init=0.2))
        for layer in (net[0], net[2]):
            layer.bias.set_data(Tensor(np.zeros(layer.bias.shape, np.float32)))
        optimizer = nn.SGD(net.to_float(F16).trainable_params(), 0.1)
        slope = ms.value_and_grad(lambda x: (net(x).astype(F32) ** 2).mean(), None, optimizer.parameters)

        def step(x):
            loss, grads = slope(x)
            optimizer(grads)
            return loss

        run = ms.jit(step) if compiled else step
        x = Tensor(np.random.RandomState(0).randn(8, 2).astype(np.float32))
        return [run(x).item() for _ in range(4)]

    eager = losses(compiled=False)
    assert eager == losses(compiled=True)
    assert eager[-1] < eager[0] / 2
