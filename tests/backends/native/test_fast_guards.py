"""What short ways into compiled code compare at each call: guards as words of memory."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

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


# ------------------------------------------------------------------------------------------------ arrays
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.bool_, np.int8])
def test_the_elements_of_an_array(dtype):
    k = np.array([0, 1, 1], dtype)
    f = ms.jit(lambda x: x + k)
    warm(f, A)
    assert short(f, A).tolist() == [1, 3, 4]
    k[0] = 1
    assert f(A).tolist() == [2, 3, 4]
    warm(f, A)
    assert short(f, A).tolist() == [2, 3, 4]


def test_bits_count_in_an_array():
    k = np.array([np.nan, 0.0, 2.0], np.float32)
    f = ms.jit(lambda x: x / k)
    warm(f, A)
    assert short(f, A).tolist()[1:] == [np.inf, 1.5]
    k[1] = -0.0
    assert f(A).tolist()[1:] == [-np.inf, 1.5]


def test_one_number_of_an_array():
    k = np.array([2.0, 3.0])
    f = ms.jit(lambda x: x * float(k[1]))
    warm(f, A)
    assert short(f, A).tolist() == [3, 6, 9]
    k[1] = 4
    assert f(A).tolist() == [4, 8, 12]


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # it can still be done
def test_another_array_form_or_dtype():
    held = [np.array([[1.0, 2.0, 3.0]], np.float32)]
    f = ms.jit(lambda x: (x * held[0]).sum() * held[0].ndim)
    warm(f, A)
    assert short(f, A).item() == 28
    held[0] = held[0].copy()  # another one, which has the same
    assert f(A).item() == 28
    warm(f, A)
    short(f, A)
    held[0].shape = (3,)
    assert f(A).item() == 14
    warm(f, A)
    short(f, A)
    held[0].dtype = np.int32  # the same bytes, which mean other numbers: 1.0 is 127 * 2**23
    assert f(A).item() == pytest.approx(127 * 2**23 + 2 * 2**30 + 3 * (2**30 + 2**22), rel=1e-6)


def test_large_arrays_to_the_last_byte():
    k = np.zeros(100_001, np.int8)
    f = ms.jit(lambda x: x * (1 + int(k[-1])))
    warm(f, A)
    assert short(f, A).tolist() == [1, 2, 3]
    k[-1] = 1
    assert f(A).tolist() == [2, 4, 6]


def test_arrays_that_do_not_lie_in_one_piece_are_asked_by_python():
    k = np.arange(6, dtype=np.float32)[::2]
    f = ms.jit(lambda x: x + k)
    assert warm(f, A).tolist() == [1, 4, 7]
    k[2] = 0
    assert f(A).tolist() == [1, 4, 3]
