"""Attributes that are bound to what they hold and more, `o.h = o.h + (x,)`: left as eager code leaves them."""

from __future__ import annotations

import types

import numpy as np
import pytest

import autodiff_compiler as ms

from .compare import assert_close, define
from .places import X

GROWING = {
    "tuple": ((), "o.h = o.h + (x,)"),
    "tuple in place": ((), "o.h += (x,)"),
    "tuple from the left": ((), "o.h = (x,) + o.h"),
    "window of a tuple": ((), "o.h = o.h[-2:] + (x,)"),
    "repeated tuple": ((), "o.h = o.h[-1:] * 2 + (x,)"),
    "nested tuples": ((), "o.h = (o.h, x)"),
    "list": ([], "o.h = o.h + [x]"),
    "window of a list": ([], "o.h = o.h[-2:] + [x]"),
    "copied list": ([], "h = o.h.copy()\nh.append(x)\no.h = h"),
    "list of tuples": ([], "o.h = o.h + [(x, *o.h[:1])]"),
    "dict": ({}, "o.h = o.h | {len(o.h): x}"),
    "copied dict": ({}, "d = dict(o.h)\nd[len(d)] = x\no.h = d"),
    "in a branch": ((), "if x.sum() > 2:\n    o.h = o.h + (x,)\nelse:\n    o.h = o.h + (x * 2.0,)"),
    "in a loop": ((), "for i in range(3):\n    o.h = o.h[-2:] + (x * i,)"),
    "into a dict": ({}, "o.d['h'] = tuple(o.h.values()) + o.t[:1]\no.h = o.h | {len(o.h): x}"),
}


@pytest.mark.parametrize(("start", "body"), GROWING.values(), ids=GROWING)
def test_an_attribute_is_bound_to_its_value_and_more(start, body):
    def history(decorate):
        first = ms.Tensor([7.0, 8.0])
        o = types.SimpleNamespace(h=start, t=(first, 1), d={})
        f = decorate(define(f"def f(x):\n    {body.replace(chr(10), chr(10) + '    ')}\n    return x\n", o=o))
        given = [ms.Tensor([1.0, 2.0 * i]) for i in range(4)]
        for x in given:
            f(x)
        return o, [*given, first]

    (eager, known), (compiled, kept) = history(lambda f: f), history(ms.jit)
    assert_close((compiled.h, compiled.d), (eager.h, eager.d), "held", 0)

    def which(held, tensors):
        if isinstance(held, tuple | list | dict):
            return [which(x, tensors) for x in (held.values() if isinstance(held, dict) else held)]
        return next((i for i, t in enumerate(tensors) if t is held), None)

    assert which([compiled.h, compiled.d], kept) == which([eager.h, eager.d], known), "the very Tensors"


def test_a_gradient_by_what_an_attribute_is_bound_to():
    """d/dx of (x * x) * (3 * x), where both are left in a tuple that grows: 9 x**2."""
    o = types.SimpleNamespace(h=())

    @ms.jit
    def store(x, factor):
        o.h = o.h + (x * factor,)
        return x

    def loss(x):
        o.h = ()
        store(x, x)
        store(x, ms.Tensor(3.0))
        return (o.h[0] * o.h[1]).sum()

    x = np.array([1.0, -2.0])
    assert_close(ms.grad(loss)(ms.Tensor(x)), ms.Tensor(9 * x**2), "gradient", 1e-12)


def test_a_list_from_outside_within_another_is_refused_with_what_to_write():
    o = types.SimpleNamespace(h=[[1]])
    f = define("def f(x):\n    o.h = [[x]] + o.h\n    return x\n", o=o)
    with pytest.raises(ms.SideEffectError, match=r"AC1606.*list of 1 that came from outside[\s\S]*held\.copy\(\)"):
        ms.jit(f)(ms.Tensor(X))
