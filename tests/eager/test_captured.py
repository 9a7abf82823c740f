"""What a call reads besides its arguments: a recorded call that is taken again, and a call that is run again."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.eager.captured import checksum, snapshot

X = Tensor([1.0])
FACTORS = {"k": 2.0}


class Holder:
    def __init__(self):
        self.value = 2.0


class Reader(nn.Cell):
    """x times whatever it holds: a Tensor, an array, a list, an object, a global."""

    def __init__(self):
        super().__init__()
        self.tensor, self.array, self.list, self.object = Tensor([2.0]), np.array([2.0], np.float32), [2.0], Holder()

    def construct(self, x):
        return x * self.tensor * Tensor(self.array) * self.list[0] * self.object.value * FACTORS["k"]


CHANGES = {
    "a Tensor": lambda net: net.tensor.__setitem__(0, 6.0),
    "a Tensor's memory": lambda net: net.tensor.asnumpy().__setitem__(0, 6.0),
    "an ndarray": lambda net: net.array.__setitem__(0, 6.0),
    "a list": lambda net: net.list.__setitem__(0, 6.0),
    "an object": lambda net: setattr(net.object, "value", 6.0),
    "a global": lambda net: FACTORS.__setitem__("k", 6.0),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_recorded_call_is_not_taken_after_a_change(what, monkeypatch):
    monkeypatch.setitem(FACTORS, "k", 2.0)
    net = Reader().set_grad()
    net(X)
    CHANGES[what](net)
    assert ms.grad(net)(X).tolist() == [16.0 * 6]


def test_a_recorded_call_is_taken_while_nothing_changes():
    net = Reader().set_grad()
    net(X)
    assert net._recorded.fits((X,), {})
    memory = X.asnumpy()
    net(X)
    assert net._recorded.fits((X,), {})
    memory[0] = 3.0
    assert not net._recorded.fits((X,), {})
    memory[0] = 1.0


def test_pictures():
    assert checksum(np.array([[1.0, 2.0]]).T) != checksum(np.array([[2.0, 1.0]]).T)
    assert snapshot([nn.SequentialCell(nn.Dense(2, 3), nn.BatchNorm1d(3), nn.ReLU())]) is not None
    assert snapshot([iter([1])]) is None  # an iterator does not show what it will give


# ------------------------------------------------------------------------------------------------ recompute
class Counter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count, self.factor = Parameter(Tensor([1.0]), name="count"), 1.0

    def construct(self, x):
        self.count += 1
        return x * self.count * self.factor


BLOCKS = {"cell": lambda net: net, "method": lambda net: net.construct, "lambda": lambda net: lambda x: net(x)}


@pytest.mark.parametrize("block", BLOCKS)
def test_the_second_run_finds_what_the_first_one_did(block):
    net = Counter()
    assert ms.grad(lambda x: ms.recompute(BLOCKS[block](net), x))(X).tolist() == [2.0]
    assert net.count.tolist() == [2.0]

    def changed(x):
        y = ms.recompute(BLOCKS[block](net), x)
        net.factor, net.count = 10.0, net.count + 5
        return y

    assert ms.grad(changed)(X).tolist() == [3.0]
    assert (net.count.tolist(), net.factor) == ([8.0], 10.0)


def test_a_captured_tensor_that_is_written_later():
    t = Tensor([2.0])

    def f(x):
        y = ms.recompute(lambda v: ops.sin(v) * t, x)
        t[0] = 9.0
        return y

    assert ms.grad(f)(X).tolist() == pytest.approx([2 * np.cos(1.0)])
    assert t.tolist() == [9.0]


def test_other_values_the_second_time_are_an_error():
    factors = [2.0]

    def f(x):
        y = ms.recompute(lambda v: v * factors[0], x)
        factors[0] = 9.0
        return y

    with pytest.raises(ms.GradientError, match="other values the second time"):
        ms.grad(f)(X)


def test_compiled_functions_run_again():
    """What they captured is looked at, not what they were compiled to."""
    net = Counter()
    called = ms.jit(lambda x: net(x) * x)
    for runs in (2, 3):
        net.count.set_data(Tensor([1.0]))
        assert ms.grad(lambda x: ms.recompute(called, x))(X).tolist() == [4.0]
        assert net.count.tolist() == [2.0], runs
    slope = ms.grad(lambda x: x * x * x)
    assert ms.grad(lambda x: ms.recompute(slope, x))(X).tolist() == [6.0]


def test_foreign_objects_whose_attributes_are_no_dict():
    class Library:
        __slots__ = ()

        @property
        def __dict__(self):
            return [("f", 1)]

    library = Library()
    assert snapshot([library]) is None
    assert ms.grad(lambda x: ms.recompute(lambda v: v * v if library else v, x))(X).tolist() == [2.0]
