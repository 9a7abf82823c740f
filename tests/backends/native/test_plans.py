"""Plans of the arena: values that are alive at the same step do not lie in the same bytes.

What is alive is computed from the ops in their order (`liveness`), without the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import indent
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.native import backend, liveness
from autodiff_compiler.backends.native.codegen.values import Array
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.backends.native.lower import Lowering
from autodiff_compiler.backends.native.memory.arena import place_buffers
from autodiff_compiler.ir.core import Value
from tests.programs.compare import define
from tests.programs.test_control_matrix import ALIASES, BODIES, FRAME, HEADS
from tests.property.grammar import program
from tests.property.modes import Judge, arguments
from tests.selection import part

pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}"),
    pytest.mark.usefixtures("no_arena_is_small"),
]


class Clashes(liveness._Liveness):
    """Walks through a written program, and notes values in one place at a step before which both are needed."""

    def __init__(self, low: Lowering) -> None:
        super().__init__(low)
        self.offsets, _ = place_buffers(low.buffers, low.frame_start)
        self.found: list[str] = []

    def _step(self, step: Any, after: Any) -> Any:
        before = super()._step(step, after)
        taken: dict[Value, range] = {}
        for x in before:
            there = self._bytes_of(x)
            if there is None:
                continue
            self.found += [
                f"{x!r} and {y!r} lie in the same bytes at {step.ops[0]!r}"
                for y, other in taken.items()
                if there.start < other.stop and other.start < there.stop and not self._one_is_the_other(x, y)
            ]
            taken[x] = there
        return before

    def _one_is_the_other(self, x: Value, y: Value) -> bool:
        """Whether arms of an `if` hand on the same value as both."""
        mine, other = (self._choices.get(z, frozenset([z])) for z in (x, y))
        return not mine.isdisjoint(other)

    def _bytes_of(self, x: Value) -> range | None:
        """Where a value lies, if it is an array in one buffer of the frame; a number that fills an array need not."""
        operand = self.low.env.get(x)
        if not isinstance(operand, Array) or len(operand.roots) != 1 or x.made_by("const"):
            return None
        (root,) = operand.roots
        if root.virtual or root.result is not None or root.argument is not None or operand.base != root.base:
            return None  # in no buffer of the frame, or in one of two that change places
        if root not in self.offsets:
            self.found.append(f"{x!r} lies nowhere")
            return None
        return range(self.offsets[root], self.offsets[root] + root.nbytes)


@contextmanager
def plans_checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Lowering]]:
    """Checks the plan of every program that is compiled meanwhile; gives the programs."""
    seen: list[Lowering] = []
    written = backend._written

    def checked(*args: Any, **kwargs: Any) -> Lowering:
        low = written(*args, **kwargs)
        clashes = Clashes(low)
        clashes.entry()
        assert not clashes.found
        assert low.planned >= liveness.most_alive(low), "the bound is not a lower one"
        seen.append(low)
        return low

    with monkeypatch.context() as patched:
        patched.setattr(backend, "_written", checked)
        patched.setenv("AC_CACHE", "0")
        yield seen


def total(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, n: sum(out.sum() for out in function(x, n)[:2])


@pytest.mark.some(6)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("head", HEADS)
def test_control_flow(head: str, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = define(FRAME.format(head=HEADS[head], body=BODIES[body]))
    args = Tensor(np.array([0.7, 0.5, 0.8])), Tensor(np.array(4))
    with plans_checked(monkeypatch) as seen:
        ms.jit(function).lower(*args).memory()
        ms.jit(ms.grad(total(function))).lower(*args).memory()
    assert seen


def first(found: Any) -> Any:
    return found[0] if isinstance(found, tuple) else found


@pytest.mark.parametrize("name", ALIASES)
def test_backward_passes_of_recorded_calls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of their own, which are given what the forward passes kept: versions of carries may be arguments."""
    function = ms.jit(define(ALIASES[name]))
    x, n = Tensor(np.array([0.7, 0.5, 0.8])), Tensor(np.array(4))
    with plans_checked(monkeypatch) as seen:
        ms.grad(lambda x, n: first(function(x, n)).sum())(x, n)
    assert len(seen) > 1


@pytest.mark.filterwarnings("ignore:.*AC2004")  # a branch that always raises
def test_random_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    with plans_checked(monkeypatch) as seen:
        for seed in range(2000, 2000 + part(20)):
            net, args = Judge(program(seed)).made(), arguments(program(seed), 0)
            for function in (net, ms.value_and_grad(net.total, (0, 1), weights=(net.w,))):
                try:
                    ms.jit(function).lower(*args).memory()
                except IndexError:  # a program of the grammar that Python refuses, too
                    continue
    assert len(seen) > 1.5 * part(20)


#: Arms that hand on arrays crosswise, as NumPy runs them: what each is after the `if` must be copied, or exchanged.
CROSSWISE = {
    "changed places": "a, b = b, a",
    "changed places beside a new one": "a, b = b, a * b",
    "all three": "a, b, c = c, a, b",
    "one twice": "a, b = b, b",
    "one in an arm of an arm": "if x[1] > 0.0:\n a, c = c, a\nelse:\n b, c = c, b + a",
    "a view": "a, b = b[::-1], a",
    "an array from outside": "a, b = x, a",
}


@pytest.mark.some(2)
@pytest.mark.parametrize("length", [3, 5000])
@pytest.mark.parametrize("name", CROSSWISE)
def test_arms_that_hand_on_crosswise(name: str, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function = define(f"""
def f(x, n, ops):
    a, b, c = ops.tanh(x), ops.exp(x), x * x
    if x[0] > 0.0:
{indent(CROSSWISE[name], " " * 8)}
    else:
        a, c = c * 2.0, a
    for i in range(n):
        if a[0] > b[0]:
{indent(CROSSWISE[name], " " * 12)}
        else:
            b = b * 1.5 + c
    return a * 1.0 + b, b * 2.0 - c, c + a
""")
    with plans_checked(monkeypatch):
        compiled = ms.jit(lambda x, n: function(x, n, ops))
        for sign in (1.0, -1.0):
            for trips in (0, 1, 2, 5):
                x = sign * np.linspace(0.25, 0.75, length)
                wanted = function(x, trips, np)
                for mine, other in zip(compiled(Tensor(x), Tensor(np.array(trips))), wanted, strict=True):
                    np.testing.assert_allclose(mine.asnumpy(), other, rtol=1e-12, atol=1e-12)
