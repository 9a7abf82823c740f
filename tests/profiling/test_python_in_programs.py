"""What Python of the user's takes in a program is the time of the lines that run it, and compiling is no time of any.

Python sleeps here for a time that is known: so long its lines take at least, and the others together less than that.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.compiler import pipeline

NAP = 0.004
NUMBER = ms.TensorSpec("f32[]")


class Slow:
    """A stream that takes a nap at each line."""

    def write(self, text):
        if text.endswith("\n"):
            time.sleep(NAP)

    def flush(self):
        pass


def napping(n):
    time.sleep(NAP)
    return n


# ------------------------------------------------------------------------------------------------ programs
def around_products(x):
    print("one", x)
    y = ops.sin(x)
    y = ops.exp(y @ y.T)
    print("two", y)
    return y


def around_numbers(x):
    print("one")
    n = x.sum() + 1
    print("two")
    return n


def of_a_number(x):
    n = x.sum() * 0.5 + 1.0
    print(n)
    return x * 2.0


def in_loops(x):
    for i in range(20):
        x = ops.sin(x)
        print(i)
    return x


def in_while(x):
    n = x.sum() * 0.0
    while n < 5.0:
        n = n + 1.0
        print("trip")
    return n


def in_arms(x):
    for i in range(6):
        if x.sum() > 3.0:
            print("more")
        else:
            x = x + 0.5
        x = x - i * 0.0
    return x


def behind_a_guard(x):
    if x.sum() > 1e6:
        raise ValueError("too much")
    print("one", x)
    y = ops.exp(x)
    print("two", y)
    return y


def behind_an_assertion(x):
    n = x.sum()
    assert n < 1e6, "too much"
    print("one")
    return x * n


def called(x):
    print("called")
    return ops.sin(x)


def twice(x):
    return called(called(x))


def by_functions(x):
    for _ in ms.unroll(range(5)):
        n = ms.py_call(napping, x.sum(), out=NUMBER)
        x = ops.sin(x) * n
    return x


#: How many naps the lines take in a run for x = [[1, 2, 3]], by what stands in them.
NAPS = {
    around_products: {'print("one", x)': 1, 'print("two", y)': 1},
    around_numbers: {'print("one")': 1, 'print("two")': 1},
    of_a_number: {"print(n)": 1},
    in_loops: {"print(i)": 20},
    in_while: {'print("trip")': 5},
    in_arms: {'print("more")': 6},
    behind_a_guard: {'print("one", x)': 1, 'print("two", y)': 1},
    behind_an_assertion: {'print("one")': 1},
    twice: {'print("called")': 2},
    by_functions: {"n = ms.py_call(napping, x.sum(), out=NUMBER)": 5},
}
CALLS = 2


def number():
    return ms.Tensor(np.array([[1.0, 2.0, 3.0]], np.float32))


def check(rows, naps, runs):
    """Lines of naps take these, and all the others together not even one in each run."""
    found = {row.text: row.seconds for row in rows}
    for text, count in naps.items():
        assert found[text] > 0.99 * count * NAP * runs, text
    others = {row.text: row.seconds for row in rows if row.line and row.text not in naps}
    assert sum(others.values()) < 0.5 * NAP * runs, others


@pytest.mark.some(2)
@pytest.mark.parametrize("optimize", [None, 0])
@pytest.mark.parametrize("program", NAPS, ids=lambda f: f.__name__)
def test_the_line_that_runs_python_gets_its_time(backend, program, optimize, monkeypatch):
    f, x = ms.jit(program, optimize=optimize), number()
    monkeypatch.setattr("sys.stdout", Slow())
    with ms.profile(f) as p:
        for _ in range(CALLS):
            f(x)
    check(p.by("line"), NAPS[program], CALLS)
    assert sum(row.seconds for row in p.by("line")) == pytest.approx(p.seconds, rel=1e-6)


@pytest.mark.parametrize("program", [around_numbers, in_arms, by_functions], ids=lambda f: f.__name__)
def test_timing_tells_the_same(backend, program, monkeypatch):
    monkeypatch.setattr("sys.stdout", Slow())
    timing = ms.jit(program).lower(number()).timing(3)
    check(timing.lines[:-1], NAPS[program], 1)


def guarded(x):
    n = x.sum()
    if n > 5.0:
        raise ValueError("enough")
    print("small")
    return x * n


def test_what_an_exception_ends_counts_as_often_as_it_began(backend):
    """Of three calls one raises: the sum is 6, 3 and 1.5."""
    f = ms.jit(guarded)
    with ms.profile(f) as p:
        for scale in (1.0, 0.5, 0.25):
            x = ms.Tensor(np.array([scale, 2 * scale, 3 * scale], np.float32))
            if scale == 1.0:
                with pytest.raises(ValueError, match="enough"):
                    f(x)
            else:
                f(x)
    ops_of = {row.ops[0]: row.calls for row in p.by("op") if row.line}
    assert {name: ops_of[name] for name in ("sum", "greater", "if", "raise", "print")} == {
        "sum": 3, "greater": 3, "if": 3, "raise": 1, "print": 2,
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------- programs inside others
SLOW = 0.15


@pytest.fixture
def slow_to_compile(monkeypatch):
    """Each program takes so long to compile; how many have been compiled."""
    made, build = [], pipeline.build

    def slowly(*args):
        time.sleep(SLOW)
        made.append(args)
        return build(*args)

    monkeypatch.setattr(pipeline, "build", slowly)
    return made


def pair():
    """A function, and one that calls it through Python."""
    inner = ms.jit(lambda a: ops.exp(a).sum() * 2.0)

    @ms.jit
    def outer(x):
        y = ops.sin(x)
        return ms.py_call(lambda a: inner(ms.Tensor(a)).asnumpy(), y, out=NUMBER) + 1.0

    return inner, outer


def value(x):
    return 2.0 * np.exp(np.sin(x)).sum() + 1.0


@pytest.mark.parametrize("whole", [False, True])
def test_what_a_program_lets_compile_is_no_time_of_it(backend, slow_to_compile, whole):
    _, outer = pair()
    x = np.linspace(0.0, 1.0, 50, dtype=np.float32)
    with ms.profile(None if whole else outer) as p:
        for _ in range(3):
            assert float(outer(ms.Tensor(x))) == pytest.approx(value(x), rel=1e-5)
    assert len(slow_to_compile) == 2
    assert p.compile_seconds > 2 * SLOW
    assert p.seconds < 0.8 * SLOW
    assert all(row.seconds < 0.8 * SLOW for kind in ("line", "kernel", "op") for row in p.by(kind))
    assert sum(row.seconds for row in p.by("line")) == pytest.approx(p.seconds, rel=1e-6)


def test_calls_of_a_function_inside_another_program_count(backend, slow_to_compile):
    """Those of another one do not, which run as if nobody measured."""
    inner, outer = pair()
    x = np.linspace(0.0, 1.0, 50, dtype=np.float32)
    with ms.profile(inner) as p:
        for _ in range(20):
            assert float(outer(ms.Tensor(x))) == pytest.approx(value(x), rel=1e-5)
        inner(ms.Tensor(x))
    assert p.calls == 21
    assert {row.calls for row in p.by("op") if row.ops == ("exp",)} == {21}
    assert not [row for row in p.by("op") if row.ops[:1] in (("sin",), ("host_call",))]
    assert list(p.functions) == ["lambda"]
    assert p.compile_seconds > 2 * SLOW
    assert p.seconds < 0.8 * SLOW


def test_runs_inside_others_are_not_among_those_of_its_own(backend):
    """Also those before the first one of its own, and those by short ways."""
    inner, outer = pair()
    x = ms.Tensor(np.linspace(0.0, 1.0, 50, dtype=np.float32))
    with ms.profile() as p:
        for _ in range(30):
            outer(x)
        for _ in range(7):
            inner(x)
        for _ in range(5):
            outer(x)
    assert p.calls == 42
    assert {row.ops[0]: row.calls for row in p.by("op") if row.ops and row.ops[0] in ("exp", "sin")} == {
        "exp": 7,
        "sin": 35,
    }


def test_a_program_inside_itself_is_taken_off_once(backend):
    """f(3) runs f(2), which runs f(1), which runs f(0): of the four runs one is its own."""

    @ms.jit
    def f(n):
        y = ops.exp(n * 0.0)
        return y + ms.py_call(lambda n: f(ms.Tensor(n - 1)).asnumpy() if n > 0 else n, n, out=NUMBER)

    with ms.profile() as p:
        assert float(f(ms.Tensor(np.float32(3.0)))) == 4.0
    assert p.calls == 1
    assert {row.calls for row in p.by("op") if row.ops == ("exp",)} == {1}
    assert all(row.seconds >= 0.0 for row in p.by("line"))
