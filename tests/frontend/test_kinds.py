"""Kinds of values: what is not defined is refused, who decides over two operands, and what is Python's own stays so."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.errors import JoinError, UnsupportedSyntaxError
from autodiff_compiler.frontend import lower  # noqa: F401  (all kinds register)
from autodiff_compiler.frontend.variables import base, operators, structure
from autodiff_compiler.frontend.variables.base import Variable, kind, variable_of
from autodiff_compiler.frontend.variables.rules import INTRINSICS
from autodiff_compiler.frontend.variables.values import LocalDict, LocalList, SymScalar


class Interval:
    """A value of a kind that this file adds."""

    def __init__(self, low, high):
        self.low, self.high = low, high


@pytest.fixture
def intervals(monkeypatch):
    monkeypatch.setitem(base._KINDS, Interval, Variable)  # which is taken out afterwards

    @kind(Interval)
    class IntervalVariable(Variable):
        precedence = 5

        def binary(self, ctx, op, a, b):
            pairs = [[getattr(x, end, x) for x in (a, b)] for end in ("low", "high")]
            return Interval(*(operators.binary(ctx, op, *pair) for pair in pairs))

        def getattr(self, ctx, name):
            return getattr(self.value, name)

    monkeypatch.setitem(INTRINSICS, Interval, lambda ctx, low, high: Interval(low, high))


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


@pytest.fixture
def held_intervals(intervals, monkeypatch):
    monkeypatch.setattr(structure, "_FORMS", dict(structure._FORMS))

    @structure.form(Interval)
    class IntervalForm(structure.Form):
        def elements(self, x):
            return [x.low, x.high]

        def rebuilt(self, x, items):
            return Interval(*items)

        def outline(self, x):
            return structure.Outline(Interval, ("low", "high"), named=True)

    yield
    structure._form_of_class.cache_clear()


def test_a_kind_that_holds_others_meets_another_where_paths_do(held_intervals):
    def phi(x):
        i = Interval(x.min(), x.max()) if x.sum() > 0.0 else Interval(x.max(), x.min() * 3.0)
        return i.high

    for given, high, slope in ((Tensor([1.0, 4.0]), 4.0, [0.0, 1.0]), (Tensor([-4.0, 1.0]), -12.0, [3.0, 0.0])):
        assert ms.jit(phi)(given).item() == high
        assert ms.jit(ms.grad(phi))(given).tolist() == slope


@pytest.mark.parametrize("loop", ["for", "while"])
def test_a_kind_that_holds_others_is_carried_by_loops(held_intervals, loop):
    def counted(x):
        i = Interval(x.min(), x.max())
        for _ in range(20):
            i = Interval(i.high, i.low * 0.5)
        return i.high

    def open_ended(x):
        i, n = Interval(x.min(), x.max()), x.sum() * 0.0
        while n < 20.0:
            i, n = Interval(i.high, i.low * 0.5), n + 1.0
        return i.high

    f = counted if loop == "for" else open_ended
    assert ms.jit(f)(Tensor([1.0, 4.0])).item() == 4.0 / 2**10  # every other trip halves it
    assert ms.jit(ms.grad(f))(Tensor([1.0, 4.0])).tolist() == [0.0, 1 / 2**10]


def test_what_meets_another_kind_is_named(held_intervals):
    def f(x):
        i = Interval(x, x) if x.sum() > 0.0 else x
        return i.high

    with pytest.raises(JoinError, match=r"is Interval object on one path and Tensor .* on the other"):
        ms.jit(f)(Tensor([1.0]))


def test_classes_of_the_users_are_of_the_kind_they_inherit_from():
    class Own(list):
        pass

    assert type(variable_of(Own())) is type(variable_of([]))
    assert type(variable_of(LocalList())) is not type(variable_of([]))
    assert variable_of(LocalDict()).python_class() is dict
    assert variable_of(SymScalar(None, float)).python_class() is float


def test_containers_have_the_attributes_that_python_gives_them():
    names = ("append", "serial", "broken", "locked", "marked", "content", "set_content", "fill", "items")

    def f(x):
        return tuple([hasattr([x], n) for n in names]), tuple([hasattr({"a": x}, n) for n in names])

    expected = tuple(hasattr([], n) for n in names), tuple(hasattr({}, n) for n in names)
    assert ms.jit(f)(Tensor([1.0])) == f(Tensor([1.0])) == expected
