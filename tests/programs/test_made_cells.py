"""Cells without Parameters that compiled code makes: it gives what eager code gives, at each call and for gradients."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, errors, nn, ops

factor = 2.0


class Scaled(nn.Cell):
    def __init__(self, k=2):
        super().__init__()
        self.k = k * factor
        self.act = nn.ReLU()

    def construct(self, x):
        return self.act(x) * self.k


class Counting(nn.Cell):
    """What it changes of itself ends with the call."""

    def __init__(self):
        super().__init__()
        self.n, self.t, self.names = 0, Tensor([1.0, 1.0, 1.0]), ["a"]

    def construct(self, x):
        self.n = self.n + 1
        self.t = self.t * 2
        self.names.append("b")
        return x * self.n + self.t * len(self.names)


class Noise(nn.Cell):
    def __init__(self, n):
        super().__init__()
        self.noise = ops.randn(n)

    def construct(self, x):
        return x + self.noise


class Gate(nn.Cell):
    """It holds what is known at run time only."""

    def __init__(self, gate):
        super().__init__()
        self.gate, self.parts = gate, [gate, gate * 2]

    def construct(self, x):
        return x * self.gate + self.parts[1]


class Blocks(nn.Cell):
    def __init__(self, n):
        super().__init__()
        self.blocks = nn.CellList()
        for i in range(n):
            self.blocks.append(Scaled(i + 1))
        self.after = nn.SequentialCell(*[nn.Tanh() for _ in range(2)])

    def construct(self, x):
        for block in self.blocks:
            x = block(x) * 0.1 + 1
        return self.after(x) + len(self.blocks)


class Sequence(nn.SequentialCell):
    def __init__(self, *cells):
        super().__init__(*cells, nn.Tanh())


class WithoutInit(nn.Cell):
    def construct(self, x):
        return x * 3


def doubled(cell, inputs, output):
    return output * 2


class Hooked(nn.Cell):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(doubled)

    def construct(self, x):
        return x + 1


class OwnRule(nn.Cell):
    def construct(self, x):
        return x * 2

    def bprop(self, x, out, dout):
        return (dout * 7,)


class WithProperty(nn.Cell):
    def __init__(self):
        super().__init__()
        self.k = 5

    @property
    def k(self):
        return self._k * 2

    @k.setter
    def k(self, value):
        self._k = value

    def construct(self, x):
        return x * self.k


class Training(nn.Cell):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(p=0.5)
        self.drop.set_train()

    def construct(self, x):
        return self.drop(x)


class Holder(nn.Cell):
    """Weights that are there already may be parts of what is made."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 3, weight_init="ones", bias_init="zeros")
        self.kinds, self.size = (nn.ReLU, nn.Tanh), 2

    def construct(self, x):
        for kind in self.kinds:
            x = kind()(x)
        return nn.SequentialCell(self.fc, Scaled(self.size))(x)


def changed_later(x):
    cell = Scaled(2)
    before = cell(x)
    cell.k = 5
    return before + cell(x)


def a_list_changed(x):
    cells = nn.CellList()
    cells.append(nn.ReLU())
    cells.insert(0, nn.Tanh())
    cells[0] = nn.Sigmoid()
    cells.extend([nn.Tanh()])
    del cells[2]
    cells += [Scaled()]
    for cell in [*cells, *cells[0:1]]:
        x = cell(x)
    return x + len(cells)


def in_branches(x):
    if x.sum() > 100:
        return nn.Tanh()(x)
    return Scaled(2)(x)


def in_a_loop(x):
    for _ in range(x.astype(ms.int32).max()):
        cell = Counting()
        x = cell(x) * 0.1
    return x


def asked(x):
    cell = Scaled(3)
    n = len(list(cell.get_parameters())) + 10 * len(list(cell.cells())) + 100 * isinstance(cell, nn.Cell)
    return x * n + hasattr(cell, "k") + len(cell.cls_name)


def by_name(x):
    cells = nn.CellDict({"a": nn.ReLU(), "b": Scaled(2)})
    for _, cell in cells.items():
        x = cell(x)
    return cells["a"](x)


def with_a_buffer(x):
    cell = nn.ReLU()
    cell.register_buffer("b", Tensor([1.0, 2.0, 3.0]))
    return cell(x) * cell.b


HOLDER = Holder()
PROGRAMS = {
    "with a number": lambda x: Scaled(3)(x),
    "with a default": lambda x: Scaled()(x),
    "with a size": lambda x: Scaled(x.shape[0])(x),
    "with a number of run time": lambda x: Scaled(x.sum())(x),
    "state": lambda x: Counting()(x),
    "state of one for two calls": lambda x: (lambda cell: cell(x) + cell(x))(Counting()),
    "random numbers in __init__": lambda x: Noise(3)(x),
    "a Tensor of run time": lambda x: Gate(x * 2)(x),
    "a constant Tensor": lambda x: Gate(Tensor([1.0, 2.0, 3.0]))(x),
    "weights of a loss": lambda x: nn.CrossEntropyLoss(weight=Tensor([1.0, 2.0, 3.0]))(
        x.reshape(1, 3), Tensor([1], ms.int32)
    ),
    "containers": lambda x: Blocks(3)(x),
    "a subclass of a container": lambda x: Sequence(nn.ReLU(), Scaled())(x),
    "a container by name": by_name,
    "a changed list": a_list_changed,
    "without __init__": lambda x: WithoutInit()(x),
    "a hook in __init__": lambda x: Hooked()(x),
    "a rule": lambda x: OwnRule()(x),
    "a property": lambda x: WithProperty()(x),
    "dropout that does not train": lambda x: nn.Dropout(p=0.5)(x),
    "dropout": lambda x: nn.Dropout(p=0.5).set_train()(x),
    "dropout in a sequence": lambda x: nn.SequentialCell(nn.Dropout(p=0.5), nn.ReLU()).set_train()(x),
    "dropout inside": lambda x: Training()(x),
    "one dropout for two calls": lambda x: (lambda cell: cell(x) + cell(x * 2))(nn.Dropout(p=0.5).set_train()),
    "classes in an attribute, weights from outside": lambda x: HOLDER(x),
    "changed later": changed_later,
    "in branches": in_branches,
    "in a loop": in_a_loop,
    "in a comprehension": lambda x: sum([Scaled(i)(x) for i in range(3)]),
    "in a derivative": lambda x: ms.grad(lambda y: Blocks(2)(y).sum())(x),
    "questions": asked,
    "lower precision": lambda x: Scaled(2).to_float(ms.float16)(x),
    "a buffer": with_a_buffer,
    "pooling": lambda x: nn.AdaptiveAvgPool1d(1)(x.reshape(1, 1, 3)),
    "a Cell around a Cell": lambda x: nn.WithLossCell(nn.ReLU(), nn.MSELoss())(x, x * 2),
}
X = Tensor([-1.0, 2.0, 3.0])


def results(run, derivative):
    """Three calls, one after a global has changed, one after it is as before, and a gradient."""
    global factor
    ms.set_seed(3)
    made = [run(X) for _ in range(3)]
    factor = 3.0
    made.append(run(X))
    factor = 2.0
    return [*made, run(X), derivative(X)]


@pytest.mark.some(2)
@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_call_gives_what_eager_code_gives(name, backend):
    def total(x):
        return PROGRAMS[name](x).sum()

    run, derivative = ms.jit(PROGRAMS[name], backend=backend), ms.jit(ms.grad(total), backend=backend)
    eager = results(PROGRAMS[name], ms.grad(total))
    for got, wanted in zip(results(run, derivative), eager, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=2e-6, atol=1e-6)
    assert run.cache_info()["compiles"] <= 3  # anew for the other value of the global, never for each call


def test_the_text_of_init_is_printed_at_each_call(capsys):
    class Telling(nn.Cell):
        def __init__(self):
            super().__init__()
            print("made")

        def construct(self, x):
            return x

    run = ms.jit(lambda x: Telling()(x))
    run(X), run(X)
    assert capsys.readouterr().out == "made\nmade\n"


class Weighted(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(1.0)

    def construct(self, x):
        return x * self.w


class Deep(nn.Cell):
    def __init__(self):
        super().__init__()
        self.parts = nn.SequentialCell(nn.ReLU(), nn.Dense(3, 3))  # the line of the weights

    def construct(self, x):
        return self.parts(x)


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda x: nn.Dense(3, 3)(x), "nn.Dense(3, 3)"),
        (lambda x: nn.BatchNorm1d(3)(x), "nn.BatchNorm1d(3)"),
        (lambda x: nn.PReLU()(x), "nn.PReLU()"),
        (lambda x: Weighted()(x), "Parameter(1.0)"),
        (lambda x: Deep()(x), "the line of the weights"),
    ],
)
def test_new_weights_are_refused_where_they_are_made(make, line):
    with pytest.raises(errors.UnsupportedCallError, match="new weights at each call") as caught:
        ms.jit(make)(X)
    assert caught.value.code == "AC1803"
    assert line in str(caught.value)


def changed_under_a_condition(x):
    cell = Scaled(2)
    if x.sum() > 0:
        cell.k = 5  # here
    return cell(x)


def changed_tensor(x):
    weight = Tensor([1.0, 2.0, 3.0])
    cell = nn.CrossEntropyLoss(weight=weight)
    weight[0] = 5.0  # here
    return cell(x.reshape(1, 3), Tensor([1], ms.int32))


def leaving(x):
    return [nn.SequentialCell(Gate(x * 2))], x  # here


@pytest.mark.parametrize(
    ("fails", "text"),
    [
        (changed_under_a_condition, "made in compiled code is changed under a condition"),
        (changed_tensor, "a Cell made in compiled code holds"),
        (leaving, "made in compiled code cannot leave it"),
    ],
)
def test_what_is_not_possible_is_told_with_its_line(fails, text):
    with pytest.raises(errors.CompileError, match=text) as caught:
        ms.jit(fails)(X)
    assert "# here" in str(caught.value)


def test_what_python_says_is_said():
    for wrong in (lambda x: Scaled(1, 2, 3)(x), lambda x: nn.ReLU(size=3)(x)):
        with pytest.raises(TypeError):
            ms.jit(wrong)(X)
    with pytest.raises(ValueError, match="p must be"):
        ms.jit(lambda x: nn.Dropout(p=3.0)(x))(X)
