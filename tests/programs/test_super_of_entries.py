"""`super()` in a method that is itself what `jit` compiles: its class is the one in whose body it is written."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn


class Base(nn.Cell):
    def construct(self, x):
        return x + 1


class Decorated(Base):
    @ms.jit
    def construct(self, x):
        return super().construct(x) * 2


class BelowDecorated(Decorated):
    def construct(self, x):
        return super().construct(x) * 3


class Plain(Base):
    def construct(self, x):
        return super().construct(x) * 2


class Inherited(Decorated):
    pass


class BelowInherited(Inherited):
    def construct(self, x):
        return super().construct(x) - 7


class Thing:
    def f(self, x):
        return x + 1


class Derived(Thing):
    @ms.jit
    def f(self, x):
        return super().f(x) * 2

    def g(self, x):
        return super().f(x) * 5


class Last(Derived):
    pass


RUNS = {
    "decorated": lambda: (Decorated(), 4.0, 2.0),
    "inherited": lambda: (Inherited(), 4.0, 2.0),
    "called by a base's": lambda: (BelowDecorated(), 12.0, 6.0),
    "two classes below": lambda: (BelowInherited(), -3.0, 2.0),
    "given": lambda: (ms.jit(Plain().construct), 4.0, 2.0),
    "in its place": lambda: (_replaced(Plain()), 4.0, 2.0),
    "inside of a function": lambda: (ms.jit(BelowDecorated()), 12.0, 6.0),
    "of a plain class": lambda: (Derived().f, 4.0, 2.0),
    "inherited by a plain class": lambda: (Last().f, 4.0, 2.0),
    "given, of a plain class": lambda: (ms.jit(Last().g), 10.0, 5.0),
}


def _replaced(net):
    net.construct = ms.jit(net.construct)
    return net


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
def test_super_of_what_is_compiled(run, mode):
    f, wanted, slope = run()
    assert f(Tensor([1.0])).tolist() == [wanted]
    assert ms.grad(lambda x: f(x).sum())(Tensor([1.0])).item() == slope


def test_super_of_methods_called_through_their_class(mode):
    last = Last()
    f = ms.jit(lambda x: Derived.g(last, x) + last.f(x))
    assert f(Tensor([1.0])).tolist() == [14.0]
