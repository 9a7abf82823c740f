"""Objects as arguments of compiled functions: one program for all of a form, where a function only reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, ops


@dataclass
class Scaled:
    w: Tensor
    by: int = 2

    def value(self):
        return self.w * self.by


class Pair:
    """A class that is registered as a container."""

    def __init__(self, a, b):
        self.a, self.b = a, b


ms.tree.register(Pair, lambda p: ((p.a, p.b), None), lambda _, items: Pair(*items))

X = Tensor([1.0, 2.0])


def compiles(fn):
    made = fn._by_structure._made
    return fn.cache_info()["compiles"] + (made.cache_info()["compiles"] if made is not None else 0)


@pytest.mark.parametrize("make", [lambda i: Scaled(X * i), lambda i: Pair(X, X * i)], ids=["dataclass", "registered"])
@pytest.mark.parametrize("place", [lambda s: s, lambda s: {"inside": (s, 1.0)}], ids=["alone", "inside"])
def test_objects_of_a_form_share_a_program(make, place):
    def total(given):
        s = given["inside"][0] if isinstance(given, dict) else given
        return (s.value() if isinstance(s, Scaled) else s.a + s.b).sum()

    compiled = jit(total)
    for i in range(6):
        assert compiled(place(make(i))).item() == total(place(make(i))).item()
    assert compiles(compiled) == 2  # the first object has its own


def test_what_is_no_tensor_counts_by_its_value_and_gradients_are_right():
    compiled = jit(lambda s, x: (s.value() * x).sum())
    for by in (1, 2, 3, 1, 2, 3):
        slope = ms.grad(lambda w, by=by: compiled(Scaled(w, by), X))(Tensor([3.0, 4.0]))
        np.testing.assert_array_equal(slope.asnumpy(), by * X.asnumpy())
    assert compiles(compiled) == 4


def test_a_state_that_is_made_anew_in_each_step():
    @jit
    def step(s, x):
        return Scaled(s.w - 0.5 * x, s.by)

    s = Scaled(X)
    for _ in range(5):
        s = step(s, X)
    assert type(s) is Scaled
    np.testing.assert_allclose(s.w.asnumpy(), -1.5 * X.asnumpy())
    assert compiles(step) == 2


def assigns(s: Any, x: Any) -> Any:
    s.w = s.w + x
    return s.w.sum()


def assigns_on_a_path(s: Any, x: Any) -> Any:
    if x.sum() > 0:
        s.w = s.w * 2
    return s.w


def writes_an_element(s: Any, x: Any) -> Any:
    s.w[0] = x[1]
    return s.w


@pytest.mark.parametrize("fn", [assigns, assigns_on_a_path, writes_an_element])
def test_what_is_written_is_seen(fn):
    compiled = jit(fn)
    for i in range(4):
        mine, other = Scaled(X * i), Scaled(X * i)
        np.testing.assert_array_equal(compiled(mine, X).asnumpy(), fn(other, X).asnumpy())
        np.testing.assert_array_equal(mine.w.asnumpy(), other.w.asnumpy())


def test_identity_is_kept():
    returned = jit(lambda s: s)
    compared = jit(lambda a, b: a.w.sum() if a is b else ops.zeros(()))
    for _ in range(3):
        s = Scaled(X)
        assert returned(s) is s
        assert compared(s, s).item() == 3
        assert compared(Scaled(X), Scaled(X)).item() == 0


KNOWN = Scaled(X)


def reads_what_it_writes(s):
    KNOWN.w = KNOWN.w + 1
    return s.w.sum()


@pytest.mark.parametrize(
    "fn",
    [lambda s: s.w * (2 if s is KNOWN else 1), lambda s: s.w * (1 if KNOWN is not s else 2), reads_what_it_writes],
    ids=["is", "is not", "written"],
)
def test_an_argument_may_be_an_object_that_the_function_knows(fn):
    compiled = jit(fn)
    for s in (Scaled(X), Scaled(X * 2), KNOWN, Scaled(X), KNOWN):
        KNOWN.w = X
        found = compiled(s)
        KNOWN.w = X
        np.testing.assert_array_equal(found.asnumpy(), fn(s).asnumpy())


def test_errors_of_the_run_are_raised_once():
    @jit
    def positive(s):
        if s.w.sum() < 0:
            raise ValueError("negative")
        return s.w

    for _ in range(3):
        positive(Scaled(X))
        with pytest.raises(ValueError, match="negative"):
            positive(Scaled(-X))
