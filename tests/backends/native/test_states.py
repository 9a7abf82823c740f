"""Parameters that compiled code writes under an `if` or in a loop: where they are, if nobody can tell."""

from __future__ import annotations

from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, ops
from autodiff_compiler.backends.native.backend import _states
from autodiff_compiler.backends.native.control.sequence_arguments import leave
from autodiff_compiler.backends.native.jit.machine import machine, why_not
from autodiff_compiler.backends.native.lower import Lowering
from autodiff_compiler.backends.native.prepare.decompositions import decomposed, without_calls

pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}"),
    pytest.mark.usefixtures("native_backend"),
]

N = 48


class States:
    """Parameters of float64, the same numbers each time."""

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        self.p = Parameter(Tensor(rng.standard_normal((N, N))), name="p")
        self.q = Parameter(Tensor(rng.standard_normal((N, N))), name="q")
        self.r = Parameter(Tensor(rng.standard_normal((16, 16))), name="r")
        self.n = Parameter(Tensor(np.array(3.0)), name="n")

    @property
    def all(self) -> tuple[Parameter, ...]:
        return self.p, self.q, self.r, self.n


def one_arm(s: States, x: Any) -> Any:
    if x > 0.0:
        ops.assign(s.p, s.p * 0.5 + x)
    return x * 2.0


def both_arms(s: States, x: Any) -> Any:
    if x > 0.0:
        ops.assign(s.p, s.p * 0.5)
    else:
        ops.assign(s.p, s.p - x)
    return x


def nested(s: States, x: Any) -> Any:
    if x > 0.0:
        if x > 1.0:
            ops.assign(s.p, s.p * x)
        else:
            ops.assign(s.q, s.q + x)
    elif x < -1.0:
        ops.assign(s.p, s.p + 1.0)
    return x


def other_arm_turns_it(s: States, x: Any) -> Any:
    """One arm goes element by element, the other needs all of the old version for each element."""
    if x > 0.0:
        ops.assign(s.p, s.p + x)
    else:
        ops.assign(s.q, s.q * 2.0)
    return x


def read_before(s: States, x: Any) -> Any:
    mean = (s.p * s.p).mean()
    if x > 0.0:
        ops.assign(s.p, s.p - mean)
    return mean


def by_its_own_size(s: States, x: Any) -> Any:
    """The walk goes over the old version twice, and writes the next one when it goes over it for the last time."""
    if x > 0.0:
        ops.assign(s.p, s.p * x / ops.sqrt((s.p * s.p).sum()))
        e = ops.exp(s.q - ops.amax(s.q, 1, True))
        ops.assign(s.q, e / ops.sum(e, 1, True))
        ops.assign(s.r, s.r - s.r.mean(1)[:, None])  # rows in registers
    return x


def two_of_each_other(s: States, x: Any) -> Any:
    """What is written to one is computed from the other, which is not written."""
    if x > 0.0:
        ops.assign(s.p, s.p + s.q * x)
    return x


def some_elements(s: States, x: Any) -> Any:
    if x > 0.0:
        s.p[3] = x
    return x


def numbers(s: States, x: Any) -> Any:
    if x > 0.0:
        ops.assign_add(s.n, 1.0)
        ops.assign(s.p, s.p * s.n)
    return s.n + 0.0


def short_loop(s: States, x: Any) -> Any:
    for i in range(3):
        if x > i:
            ops.assign(s.p, s.p * 0.5 + i)
    return x


def fixed_loop(s: States, x: Any) -> Any:
    for _ in range(5):
        ops.assign(s.p, s.p * 0.5 + x)
    return x


def scan(s: States, x: Any) -> Any:
    for i in range(18):
        ops.assign(s.p, s.p * 0.5 + i)
    return x


def scan_of_products(s: States, x: Any) -> Any:
    """Each trip needs all of the old version for each element of the next one."""
    for _ in range(18):
        ops.assign(s.r, s.r @ s.r.T * 0.1)
    return x


def scan_with_arms(s: States, x: Any) -> Any:
    for i in range(7):
        if x > i:
            ops.assign(s.p, s.p * 0.5 + i)
        elif x < -i:
            ops.assign(s.q, s.p.T - s.q)
    return x


def scan_in_an_arm(s: States, x: Any) -> Any:
    if x > 0.0:
        for i in range(4):
            ops.assign(s.p, s.p.T + s.q * i)
    else:
        ops.assign(s.p, s.p * x)
    return x


IN_PLACE = [
    one_arm, both_arms, nested, other_arm_turns_it, read_before, by_its_own_size, two_of_each_other, some_elements,
    numbers, short_loop, fixed_loop, scan, scan_of_products, scan_with_arms, scan_in_an_arm,
]  # fmt: skip


def read_after(s: States, x: Any) -> Any:
    old = s.p * 1.0
    if x > 0.0:
        ops.assign(s.p, s.p * 2.0)
    return (old - s.p).sum() + old[0, 0]


def read_in_the_arm_after_it(s: States, x: Any) -> Any:
    result = x
    if x > 0.0:
        old = s.p + 0.0
        ops.assign(s.p, ops.tanh(s.p))
        result = (old @ s.p).sum()
    return result


def turned(s: States, x: Any) -> Any:
    if x > 0.0:
        ops.assign(s.p, s.p.T + 1.0)
    return x


def product(s: States, x: Any) -> Any:
    if x > 0.0:
        ops.assign(s.p, s.p @ s.q)
    return x


def swapped(s: States, x: Any) -> Any:
    if x > 0.0:
        p = s.p + 0.0
        ops.assign(s.p, s.q)
        ops.assign(s.q, p)
    return x


def shifted(s: States, x: Any) -> Any:
    if x > 0.0:
        s.p[1:] = s.p[:-1] * 2.0
    return x


def the_same_twice(s: States, x: Any) -> Any:
    if x > 0.0:
        new = s.p * 2.0
        ops.assign(s.p, new)
        ops.assign(s.q, new)
    return s.p + 0.0


def returned(s: States, x: Any) -> Any:
    if x > 0.0:
        ops.assign(s.p, s.p * 2.0)
    return s.p


def old_in_a_loop(s: States, x: Any) -> Any:
    """Each trip needs the version from before the loop."""
    old = s.p.T
    for _ in range(18):
        ops.assign(s.p, s.p * 0.5 + old)
    return x


def parameters_swap_in_a_loop(s: States, x: Any) -> Any:
    for _ in range(18):
        p = s.p + x
        ops.assign(s.p, s.q * 0.5)
        ops.assign(s.q, p)
    return x


def data_dependent_loop(s: States, x: Any) -> Any:
    while x < 4.0:
        if x > 0.0:
            ops.assign(s.p, s.p * 0.5 + s.q)
        x = x + 1.0
    return x


def loop_in_a_loop(s: States, x: Any) -> Any:
    while x < 4.0:
        for i in range(3):
            ops.assign(s.p, s.p * 0.5 + i)
        if x < 2.0:
            ops.assign(s.q, s.p + s.q)
        x = x + 1.0
    return x


def shown(s: States, x: Any) -> Any:
    if x > 0.0:
        ops.assign(s.p, s.p * 0.5)
        print("p", x)
    ops.assign(s.q, s.q + x)
    print("q", x)
    return x


def last_and_last_but_one(s: States, x: Any) -> Any:
    """One carry hands its old version on to another one, in an arm whose results have places already."""
    if x > 0.0:
        while x < 7.0:
            new = s.p * 0.5 + s.q
            ops.assign(s.q, s.p)
            ops.assign(s.p, new)
            x = x + 1.0
    return x


OTHERS = [
    shown,
    last_and_last_but_one,
    read_after, read_in_the_arm_after_it, turned, product, swapped, shifted, the_same_twice, returned, old_in_a_loop,
    parameters_swap_in_a_loop, data_dependent_loop, loop_in_a_loop,
]  # fmt: skip
#: Those of `OTHERS` of which no state can be written in place.
NEVER = [read_after, turned, product, old_in_a_loop]
NUMBERS = (0.5, 2.0, -3.0, 1.5)


@pytest.mark.parametrize("f", IN_PLACE + OTHERS, ids=lambda f: f.__name__)
def test_states_are_as_eager_code_leaves_them(f):
    graph, eager = States(), States()
    run = ms.jit(lambda x: f(graph, x))
    for number in NUMBERS:
        found, expected = run(Tensor(np.array(number))), f(eager, Tensor(np.array(number)))
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-12)
        for a, b in zip(graph.all, eager.all, strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-12, atol=1e-15, err_msg=a.name)


def program_of(f: Any) -> Any:
    states = States()
    return ms.jit(lambda x: f(states, x)).lower(Tensor(np.array(1.0)))._call.compiled.program


def lowered(program: Any) -> Lowering:
    module = program.stages.opt
    low = Lowering(decomposed(without_calls(module)), machine())
    low.lower(_states(module, program.in_place), leave)
    return low


def beside(f: Any) -> tuple[int, int]:
    """How many states get their next versions beside them until the end, and how many are written."""
    program = program_of(f)
    low = lowered(program)
    assert set(program.executable.overwrites) == set(low.versions.next_of.values())
    return len(low.shadows), len(program.stages.opt.outputs)


@pytest.mark.parametrize("f", IN_PLACE, ids=lambda f: f.__name__)
def test_states_are_written_where_they_are(f):
    found, states = beside(f)
    assert found == 0 < states


@pytest.mark.parametrize("f", [*NEVER, data_dependent_loop], ids=lambda f: f.__name__)
def test_states_that_are_needed_longer_are_not(f):
    """Of `data_dependent_loop` somebody may interrupt a trip."""
    found, states = beside(f)
    assert found == states > 0


def one_of_each(s: States, x: Any) -> Any:
    """Somebody may interrupt the loop, so that state lies elsewhere until the end."""
    while x < 9.0:
        ops.assign(s.p, s.p + 1.0)
        x = x + 1.0
    ops.assign(s.q, s.q + x)
    return x


@pytest.mark.parametrize("f", [one_of_each, swapped, the_same_twice, *NEVER], ids=lambda f: f.__name__)
def test_all_states_have_their_next_versions_when_python_runs_again(f):
    """A signal may end the call right then."""
    graph, eager = States(), States()
    run = ms.jit(lambda x: f(graph, x)).lower(Tensor(np.array(1.0)))._call.compiled
    inputs = [np.array(1.0), *[getattr(graph, name).asnumpy() for name in run.program.interface.inputs]]
    run.program.executable(*inputs)
    f(eager, Tensor(np.array(1.0)))
    written = dict(zip(run.program.interface.inputs, inputs[1:], strict=True))
    for name in run.program.interface.outputs:
        np.testing.assert_allclose(written[name], getattr(eager, name).asnumpy(), rtol=1e-12, err_msg=name)
    assert beside(one_of_each) == (1, 2)


@pytest.mark.parametrize("number", [2.0, -2.0, 0.5])
def test_an_exception_in_an_arm_or_after_it(number):
    def f(s, x):
        if x > 0.0:
            ops.assign(s.p, s.p * 2.0)
            if x > 1.0:
                raise ValueError("in the arm")
            ops.assign(s.q, s.q * 2.0)
        elif x < -1.0:
            ops.assign(s.q, s.q + 1.0)
            raise KeyError("in the other one")
        ops.assign(s.n, s.n + 1.0)
        return x

    graph, eager = States(), States()
    run = ms.jit(lambda x: f(graph, x))
    for _ in range(2):
        outcomes = []
        for call in (run, lambda x: f(eager, x)):
            try:
                outcomes.append(call(Tensor(np.array(number))).item())
            except (ValueError, KeyError) as error:
                outcomes.append(repr(error))
        assert outcomes[0] == outcomes[1]
        for a, b in zip(graph.all, eager.all, strict=True):
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy(), err_msg=a.name)


class Refusing:
    """A file that takes only so many lines."""

    def __init__(self, lines: int) -> None:
        self.left = lines

    def write(self, text: str) -> None:
        self.left -= "\n" in text
        if self.left < 0:
            raise OSError("full")

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("lines", [0, 1, 2])
@pytest.mark.parametrize("number", [2.0, -2.0])
def test_output_that_fails(number, lines):
    graph, eager = States(), States()
    run = ms.jit(lambda x: shown(graph, x))
    run(Tensor(np.array(1.0)))
    shown(eager, Tensor(np.array(1.0)))
    outcomes = []
    for call in (run, lambda x: shown(eager, x)):
        with redirect_stdout(Refusing(lines)):
            try:
                outcomes.append(call(Tensor(np.array(number))).item())
            except OSError:
                outcomes.append(None)
    assert outcomes[0] == outcomes[1]
    for a, b in zip(graph.all, eager.all, strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy(), err_msg=a.name)


@pytest.mark.parametrize("f", [one_arm, two_of_each_other, both_arms, some_elements], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shift", [0, 1, 7])
def test_parameters_that_share_memory(f, shift):
    """What is written to one shows in no other, as each of them was given its elements."""

    def made():
        memory = np.random.default_rng(3).standard_normal(N * N + shift)
        states = States()
        states.p = Parameter(Tensor.from_numpy(memory[: N * N].reshape(N, N)), name="p")
        states.q = Parameter(Tensor.from_numpy(memory[shift:].reshape(N, N)), name="q")
        return states

    graph, eager = made(), made()
    run = ms.jit(lambda x: f(graph, x))
    for number in NUMBERS:
        run(Tensor(np.array(number)))
        f(eager, Tensor(np.array(number)))
        for a, b in zip(graph.all, eager.all, strict=True):
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy(), err_msg=a.name)


@pytest.mark.parametrize("f", [one_arm, read_before, some_elements, numbers], ids=lambda f: f.__name__)
def test_an_array_taken_before_a_call_keeps_its_numbers(f):
    states = States()
    run = ms.jit(lambda x: f(states, x))
    run(Tensor(np.array(2.0)))
    shown = [p.asnumpy() for p in states.all]
    kept = [x.copy() for x in shown]
    copies = [p + 0.0 for p in states.all]
    run(Tensor(np.array(2.0)))
    for copy, old in zip(copies, kept, strict=True):
        np.testing.assert_array_equal(copy.asnumpy(), old)
    eager = States()
    for _ in range(2):
        f(eager, Tensor(np.array(2.0)))
    for p, other in zip(states.all, eager.all, strict=True):
        np.testing.assert_allclose(p.asnumpy(), other.asnumpy(), rtol=1e-14)
