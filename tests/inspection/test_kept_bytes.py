"""What loops keep for a derivative, counted by hand, is what `explain`, footers, `memory` and reports say."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.inspection.figures import size
from autodiff_compiler.inspection.report.memory import lives_of

N = 2000
ROW = 4 * N  # the bytes of x, of which each trip below keeps one
needs_native = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")
backends = pytest.mark.parametrize("backend", [pytest.param("native", marks=needs_native), "numpy"])


def step(x):
    return ops.sin(x) + x * 0.5


def two_loops(x):
    for _ in range(12):
        for _ in range(9):
            x = step(x)
    return x.sum()


def three_loops(x):
    for _ in range(12):
        for _ in range(9):
            for _ in range(11):
                x = step(x)
    return x.sum()


def known_in_unknown(x):
    while x.sum() < 1e6:
        for _ in range(40):
            x = step(x)
    return x.sum()


def unknown_in_known(x):
    for _ in range(10):
        while x.sum() < 1e6:
            x = ops.exp(x) * x
    return x.sum()


def unknown_in_unknown(x):
    while x.sum() < 1e6:
        while x.max() < 1e3:
            x = ops.exp(x) * x
    return x.sum()


def in_a_branch(x):
    if x.sum() > 0:
        for _ in range(50):
            x = step(x)
    return x.sum()


def in_a_branch_in_a_loop(x):
    for _ in range(15):
        if x.sum() > 0:
            for _ in range(50):
                x = step(x)
    return x.sum()


#: bytes in all, and in each trip of loops of unknown length: of arrays, and of counts and truths beside them
KEPT = {
    two_loops: (12 * 9 * ROW, 0, 0),
    three_loops: (12 * 9 * 11 * ROW, 0, 0),
    known_in_unknown: (0, 40 * ROW, 8),  # how often the `while` ran
    unknown_in_known: (0, ROW, 10 * 8),  # how often the `while` ran each time
    in_a_branch: (50 * ROW, 0, 1),  # whether it was entered
    in_a_branch_in_a_loop: (15 * 50 * ROW, 0, 15),
}
programs = pytest.mark.parametrize("fn", KEPT, ids=lambda fn: fn.__name__)


def lowered(fn, backend):
    return ms.jit(ms.grad(fn), backend=backend).lower(Tensor(np.full(N, 0.3, np.float32)))


@backends
@programs
def test_explain_says_what_is_kept(fn, backend):
    known, per_trip, beside = KEPT[fn]
    derivative = lowered(fn, backend).explain().partition("Derivative: ")[2]
    parts = [size(known + beside)] * bool(known + beside) + [f"{size(per_trip)} for each trip"] * bool(per_trip)
    assert derivative.split("\n")[1].strip().startswith(f"{' and '.join(parts)} is saved; ")


@backends
@programs
def test_a_footer_says_what_is_kept(fn, backend):
    known, per_trip, beside = KEPT[fn]
    (said,) = re.findall(r"^// kept for the adjoint: .* \(up to (.*)\)$", lowered(fn, backend).ir("opt"), re.MULTILINE)
    numbers = [f"{known + beside} bytes"] * bool(known + beside) + [f"{per_trip} bytes for each trip"] * bool(per_trip)
    assert said == " and ".join(numbers)


@backends
@programs
def test_memory_counts_stacks_in_stacks(fn, backend):
    """Beside the arrays there are the counts, and where the sequences of inner loops lie."""
    known, per_trip, beside = KEPT[fn]
    found = lowered(fn, backend).memory()
    inner = {two_loops: 12, three_loops: 12 * 9 + 12, unknown_in_known: 10, in_a_branch_in_a_loop: 15}.get(fn, 0)
    assert known <= found.stacks <= known + beside + 32 * inner
    assert per_trip <= found.per_trip <= per_trip + 32 * bool(per_trip)


def test_the_report_counts_stacks_in_stacks():
    found = [x.nbytes for x in lives_of(lowered(two_loops, "numpy")._call.module("plan")) if x.kind == "residuals"]
    assert max(found) == 12 * 9 * ROW


def test_numpy_takes_what_memory_says():
    """As `tracemalloc` sees arrays: the stacks, an eighth of the last one while it grows, and some rows besides."""
    fn, x = ms.jit(ms.grad(two_loops), backend="numpy"), Tensor(np.full(N, 0.3, np.float32))
    fn(x)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        fn(x)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    stacks = fn.lower(x).memory().stacks
    assert stacks <= peak <= 2.5 * stacks  # see GROWING in test_numpy_memory.py


def test_loops_of_unknown_length_in_each_other_keep_for_each_trip():
    found = lowered(unknown_in_unknown, "numpy").memory()
    assert (found.stacks, found.per_trip) == (0, ROW + 8)  # of the inner x, of the outer its count
