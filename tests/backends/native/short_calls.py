"""Calls of compiled functions, and whether they took the short way."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.backends.native.callpath import abi
from autodiff_compiler.backends.native.callpath.choose import why_plain
from autodiff_compiler.backends.native.jit import machine
from autodiff_compiler.compiler.specialised import SLOW_CALLS
from autodiff_compiler.transforms.jit import JitFunction

NEEDS_MACHINE_CODE = pytest.mark.skipif(
    machine.why_not() is not None or abi.why_not() is not None, reason="there is no machine code here"
)
NEEDS_SHORT_WAYS = pytest.mark.skipif(why_plain() is not None, reason="the plain call path has no fast path")
#: Whether there are fast paths: how many calls a fast one counts as.  The plain call path has none.
SHORT = int(why_plain() is None)
TIMES = SLOW_CALLS + 3  # after which a call takes the fast path


@pytest.fixture(autouse=True)
def native():
    before = ms.get_context("backend"), ms.get_context("mode")
    ms.set_context(backend="native", mode=ms.GRAPH_MODE)
    yield
    ms.set_context(backend=before[0], mode=before[1])


def of(*numbers, dtype=np.float32):
    return Tensor(np.array(numbers, dtype))


A, B = of(1, 2, 3), of(4, 5, 6)


def warm(function, *args):
    """Calls a function until it takes the short way; what it gave last."""
    for _ in range(TIMES):
        found = function(*args)
    return found


def short(function, *args):
    """What a call gives that is known to take the short way, where there are short ways."""
    form = form_of(function)
    before = ran(form)
    found = function(*args)
    assert ran(form) == before + SHORT, "the call went the long way"
    return found


def long(function, *args, **kwargs):
    """What a call gives that is known not to take the short way."""
    form = form_of(function)
    before = ran(form)
    found = function(*args, **kwargs)
    assert ran(form) == before, "the call took the short way"
    return found


def form_of(function):
    """The compiled function behind a Cell, a derivative, or itself."""
    if isinstance(function, JitFunction):
        return function
    return function._compiled if isinstance(function, nn.Cell) else function._jit


def ran(form):
    return sum(e.uses - e.hits for entries in form._entries.values() for e in entries)


class Net(nn.Cell):
    def __init__(self, factor=2.0):
        super().__init__()
        self.w = Parameter(np.array([1, 2, 3], np.float32), name="w")
        self.factor = factor

    def construct(self, x):
        return x * self.w * self.factor


class Counting(nn.Cell):
    """Adds its argument to a Parameter."""

    def __init__(self):
        super().__init__()
        self.total = Parameter(np.zeros(3, np.float32), name="total")

    def construct(self, x):
        ops.assign_add(self.total, x)
        return self.total * 1
