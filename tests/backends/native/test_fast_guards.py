"""What short ways into compiled code compare at each call: guards as words of memory."""

from __future__ import annotations

import builtins

import autodiff_compiler as ms
from autodiff_compiler import nn
from autodiff_compiler.runtime import epoch
from tests.backends.native.short_calls import NEEDS_MACHINE_CODE, A, Net, long, native, of, short, warm

pytestmark = NEEDS_MACHINE_CODE
__all__ = ["native"]
scale = 2.0


# ------------------------------------------------------------------------------------------------ guards
def test_globals(monkeypatch):
    f = ms.jit(lambda x: x * scale)
    warm(f, A)
    short(f, A)
    monkeypatch.setitem(globals(), "scale", 3.0)
    assert f(A).tolist() == [3, 6, 9]
    monkeypatch.undo()
    assert warm(f, A).tolist() == [2, 4, 6]
    short(f, A)


def test_other_globals_do_not_matter(monkeypatch):
    f = ms.jit(lambda x: x * scale)
    warm(f, A)
    monkeypatch.setitem(globals(), "unheard_of", 1)
    warm(f, A)
    for value in range(3):
        monkeypatch.setitem(globals(), "unheard_of", value)
        assert short(f, A).tolist() == [2, 4, 6]


def test_a_global_that_hides_a_builtin(monkeypatch):
    f = ms.jit(lambda x: x * len([1, 2]))
    warm(f, A)
    short(f, A)
    monkeypatch.setitem(globals(), "len", lambda x: 5)
    assert f(A).tolist() == [5, 10, 15]
    monkeypatch.undo()
    assert f(A).tolist() == [2, 4, 6]


def test_builtins(monkeypatch):
    f = ms.jit(lambda x: x * abs(-2))
    warm(f, A)
    short(f, A)
    monkeypatch.setattr(builtins, "abs", lambda x: 7)
    assert f(A).tolist() == [7, 14, 21]


def test_closures_and_defaults_and_code():
    rate = 2.0

    def f(x, k=1.0):
        return x * rate * k

    g = ms.jit(f)
    warm(g, A)
    short(g, A)
    rate = 3.0
    assert g(A).tolist() == [3, 6, 9]
    f.__defaults__ = (10.0,)
    assert g(A).tolist() == [30, 60, 90]
    warm(g, A)
    short(g, A)

    def other(x, k=1.0):
        return x + rate

    f.__code__ = other.__code__
    assert g(A).tolist() == [4, 5, 6]


def test_a_captured_tensor():
    w = of(1, 1, 2)
    f = ms.jit(lambda x: x * w)
    warm(f, A)
    assert short(f, A).tolist() == [1, 2, 6]
    w.asnumpy()[0] = 5
    assert short(f, A).tolist() == [5, 2, 6]
    w = of(3, 3, 3)
    assert f(A).tolist() == [3, 6, 9]
    w = of(1, 2)[:1]
    assert warm(f, A).tolist() == [1, 2, 3]


def test_attributes_of_cells_and_of_other_objects():
    net = Net()
    warm(net, A)
    short(net, A)
    net.factor = 1.0
    assert net(A).tolist() == [1, 4, 9]

    class Plain:
        k = 2.0

    plain = Plain()
    plain.k = 3.0
    f = ms.jit(lambda x: x * plain.k)
    warm(f, A)
    assert f(A).tolist() == [3, 6, 9]
    plain.k = 4.0
    assert f(A).tolist() == [4, 8, 12]
    del plain.k
    assert f(A).tolist() == [2, 4, 6]


def test_classes():
    class Mine(Net):
        def construct(self, x):
            return x * self.w

    net = Mine()
    warm(net, A)
    short(net, A)
    Mine.construct = lambda self, x: x * 10
    assert net(A).tolist() == [10, 20, 30]
    warm(net, A)
    Mine.bprop = None
    assert net(A).tolist() == [10, 20, 30]
    Mine.__bases__ = (nn.Cell,)
    assert net(A).tolist() == [10, 20, 30]


def test_flags_of_cells_and_parameters():
    class Dropping(nn.Cell):
        def construct(self, x):
            return x * 2 if self.training else x

    net = Dropping()
    warm(net, A)
    short(net, A)
    assert net.set_train()(A).tolist() == [2, 4, 6]
    assert net.set_train(False)(A).tolist() == [1, 2, 3]
    net = Net()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
    warm(step, A, A)
    frozen = Net()
    f = ms.jit(lambda x: x * len(frozen.trainable_params()))
    warm(f, A)
    frozen.w.requires_grad = False
    assert f(A).tolist() == [0, 0, 0]


def test_an_epoch_that_moves_is_looked_at_once():
    net = Net()
    warm(net, A)
    epoch.bump()
    long(net, A)
    short(net, A)
