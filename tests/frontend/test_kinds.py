"""Kinds of values: what is not defined is refused, who decides over two operands, and what is Python's own stays so."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.errors import UnsupportedSyntaxError
from autodiff_compiler.frontend import lower  # noqa: F401  (all kinds register)
from autodiff_compiler.frontend.variables import base, operators
from autodiff_compiler.frontend.variables.base import Variable, kind, variable_of
from autodiff_compiler.frontend.variables.rules import INTRINSICS
from autodiff_compiler.frontend.variables.values import LocalDict, LocalList, Weak


class Interval:
    """A value of a kind that this file adds."""

    def __init__(self, low, high):
        self.low, self.high = low, high


@pytest.fixture
def intervals(monkeypatch):
    monkeypatch.setattr(base, "_KINDS", dict(base._KINDS))

    @kind(Interval)
    class IntervalVariable(Variable):
        precedence = 5

        def binary(self, lw, op, a, b):
            pairs = [[getattr(x, end, x) for x in (a, b)] for end in ("low", "high")]
            return Interval(*(operators.binary(lw, op, *pair) for pair in pairs))

        def getattr(self, lw, name):
            return getattr(self.value, name)

    monkeypatch.setitem(INTRINSICS, Interval, lambda lw, low, high: Interval(low, high))


def test_the_kind_of_higher_precedence_decides(intervals):
    @ms.jit
    def top(x):
        return (x.min() - (2.0 * Interval(x.min(), x.max()))).high

    x = Tensor([1.0, 4.0])
    assert top(x).item() == 1 - 2 * 4
    assert ms.grad(top)(x).tolist() == [1.0, -2.0]


@pytest.mark.parametrize(
    "use", [lambda i: -i, lambda i: i[0], lambda i: 1 if i else 2, lambda i: i == 1, lambda i: abs(i)]
)
def test_what_a_kind_does_not_define_is_refused(intervals, use):
    def f(x):
        return use(Interval(x, x))

    with pytest.raises(UnsupportedSyntaxError, match="Interval object") as caught:
        ms.jit(f)(Tensor([1.0]))
    assert caught.value.code == "AC1103"
    assert caught.value.loc.file == __file__


def test_classes_of_the_users_are_of_the_kind_they_inherit_from():
    class Own(list):
        pass

    assert type(variable_of(Own())) is type(variable_of([]))
    assert type(variable_of(LocalList())) is not type(variable_of([]))
    assert variable_of(LocalDict()).python_class() is dict
    assert variable_of(Weak(None, float)).python_class() is float


def test_containers_have_the_attributes_that_python_gives_them():
    names = ("append", "serial", "broken", "locked", "marked", "content", "set_content", "fill", "items")

    def f(x):
        return tuple([hasattr([x], n) for n in names]), tuple([hasattr({"a": x}, n) for n in names])

    expected = tuple(hasattr([], n) for n in names), tuple(hasattr({}, n) for n in names)
    assert ms.jit(f)(Tensor([1.0])) == f(Tensor([1.0])) == expected
