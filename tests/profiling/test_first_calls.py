"""What calls need only once is told apart from what each of them takes."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.compiler.recorder import Called, Calls
from autodiff_compiler.transforms import jit as module_of_jit

FIRST, AROUND = "first calls: around programs, with measuring", "around programs: guards, keys, results"


def tensor(n):
    return ms.Tensor(np.full(n, 0.5, np.float32))


def outside(profile):
    """The rows about what lies around programs, of each table the same."""
    found = [{row.name: row for row in profile.by(kind) if row.name in (FIRST, AROUND)} for kind in ("line", "kernel")]
    assert found[0] == found[1]
    return found[0]


def test_first_calls_end_with_the_last_that_compiles_of_each_program():
    called = Called("f")
    for took, program, compiled in [
        (900, 1, True),
        (50, 1, False),
        (60, 1, False),
        (80, 1, True),  # machine code for short calls
        (10, 1, False),
        (12, 1, False),
        (400, 2, False),  # another one, that was compiled before
        (9, 2, False),
        (11, 1, False),
    ]:
        called.add(Calls(1, took, took // 2, 1), program, compiled)
    assert called.first == Calls(5, 900 + 50 + 60 + 80 + 400, 450 + 25 + 30 + 40 + 200, 5)
    assert called.all == Calls(9, 1532, 450 + 25 + 30 + 40 + 5 + 6 + 200 + 4 + 5, 9)


@pytest.mark.some(2)
@pytest.mark.parametrize("of_one", [True, False])
def test_what_the_first_call_takes_is_no_part_of_a_later_one(backend, monkeypatch, of_one):
    """The first look for a compiled form takes 0.5 s here, a call without it some microseconds."""
    f, x, slow = ms.jit(lambda x: ops.tanh(x).sum()), tensor(100), [0.5]
    signature = module_of_jit.signature
    monkeypatch.setattr(
        module_of_jit, "signature", lambda *args: [time.sleep(slow.pop()) if slow else None, signature(*args)][1]
    )
    with ms.profile(f if of_one else None) as p:
        for _ in range(20):
            f(x)
    rows = outside(p)
    assert rows[FIRST].calls + rows[AROUND].calls == p.calls == 20
    assert rows[FIRST].seconds > 0.5 > 0.2 > rows[AROUND].seconds
    assert sum(row.seconds for row in p.by("kernel")) == pytest.approx(p.seconds, rel=1e-6)
    head, count = str(p).splitlines()[0], rows[FIRST].calls
    if of_one:
        mean, unit, told = re.search(r", ([\d.]+) (ns|us|ms) each after (\d+) first call", head).groups()
        assert float(mean) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[unit] < 0.02
        assert int(told) == count
    assert re.search(rf"\n{count} of 20 calls w(ere|as a) first calls?, which took [5-9]\d\d ms", str(p))
    assert re.search(rf"the {20 - count} others took [\d.]+ [nu]s each\n", str(p))
    assert p.functions["lambda"][1] > 0.5


def test_one_call_of_each_program_is_the_first_where_all_is_compiled(backend):
    f, a, b = ms.jit(lambda x: ops.tanh(x).sum()), tensor(10), tensor(20)
    for _ in range(2):  # the first profile compiles what the second one uses
        with ms.profile(f) as p:
            for _ in range(20):
                f(a)
            for _ in range(20):
                f(b)
    assert {name: row.calls for name, row in outside(p).items()} == {FIRST: 2, AROUND: 38}
    assert " each after 2 first calls, " in str(p)


def test_a_single_call_is_said_to_be_a_first_one(backend):
    f = ms.jit(lambda x: ops.tanh(x).sum())
    with ms.profile(f) as p:
        f(tensor(10))
    assert outside(p).keys() == {FIRST}
    assert " in 1 call, " in str(p)
    assert " each, " in str(p)
    assert re.search(r"\n1 of 1 call was a first call, which took [\d.]+ \w+: [^;]*\n", str(p))
