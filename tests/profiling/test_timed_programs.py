"""Programs that measure their parts compute what those do that do not, to the bit, whatever is in them."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.backends.native.backend import NativeBackend
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.backends.numpy.backend import NumpyBackend
from autodiff_compiler.backends.timed import Span

BACKENDS = {"numpy": NumpyBackend()}
if not why_not():
    BACKENDS["native"] = NativeBackend(NumpyBackend)


def product(x):
    return ops.matmul(x, x).sum()


def kept_loop(x):
    for i in range(20):
        x = ops.tanh(ops.matmul(x, x) * 0.1) + i * 0.01
    return x.sum()


def of_numbers(x):
    n, total = 0, x.sum()
    while n < 50:
        total = total * 0.5 + n
        n = n + 1
    return total


def nested(x):
    for i in range(12):
        if x.sum() > i:
            x = x * 0.5
            for _ in range(9):
                x = ops.sin(x)
        else:
            x = ops.exp(-x)
    return x.sum()


def growing(x):
    while (x * x).sum() < 1e6:
        x = x * 1.5
    return (x * x).sum()


def sorted_by_python(x):
    return (ops.sort(x)[0] * ops.cumsum(x, 0)).sum()


def numbers_only(x):
    return x[0, 0] * x[1, 1] + 3.0


PROGRAMS = (product, kept_loop, of_numbers, nested, growing, sorted_by_python, numbers_only)


def lowered(program):
    x = ms.Tensor(np.random.default_rng(0).standard_normal((24, 24)).astype(np.float32))
    derivative = ms.jit(ms.value_and_grad(program))
    return derivative.lower(x)._call.compiled.program.stages.opt, x.asnumpy()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", BACKENDS)
def test_same_bits_and_every_run_counted(backend, program):
    module, x = lowered(program)
    plain, timed = BACKENDS[backend].compile(module), BACKENDS[backend].compile(module, timed=True)
    assert plain.times is None
    before = timed.times.now()
    assert not before.any()
    for _ in range(3):
        found, wanted = timed(x), plain(x)
        assert [np.asarray(a).tobytes() for a in found] == [np.asarray(a).tobytes() for a in wanted]
    table = timed.times.now()
    spans = list(timed.times.all_spans())
    numbers = [n for span in spans for n in (span.number, *span.entries) if n is not None]
    assert len(numbers) == len(set(numbers))
    only_counted = {row for span in spans for _, row in span.pieces} - set(numbers)
    assert set(np.flatnonzero(table[:, 0])) <= {*numbers, *only_counted}
    assert not table[list(only_counted), 1].any()
    assert table[0, 0] == 3  # once in each run, at the end
    assert all(table[span.number, 0] == 3 for span in timed.times.spans)
    assert (table >= 0).all()
    for span in spans:
        _check_counts(span, table)
    _check_blocks(spans, table)


def _check_blocks(spans, table) -> None:
    """Ops of one block run equally often, and those of an `if` as often as one of its arms."""
    ran: dict[object, set[int]] = {}
    for span in spans:
        for piece, row in span.pieces:
            for op in piece.ops:
                ran.setdefault(op.parent, set()).add(int(table[row, 0]))
                for block in op.blocks:
                    ran.setdefault(block, set())
    assert all(len(counts) <= 1 for counts in ran.values())
    for block, counts in ran.items():
        if block.parent is not None and block.parent.defn.name == "if" and counts:
            (whole,) = ran[block.parent.parent]
            arms = [ran[arm] for arm in block.parent.blocks]
            assert counts <= set(range(whole + 1))
            assert not all(arms) or sum(min(arm) for arm in arms) == whole


def _check_counts(span: Span, table) -> None:
    """What follows each other in a block runs as often as the block; an `if` runs one of its arms.

    Of a `while` over NumPy the block begins with the condition, after which it may end.
    """
    assert len(span.blocks) == len(span.entries)
    begun = []
    for block, entry in zip(span.blocks, span.entries, strict=True):
        assert (entry is None) == (not block)
        if block:
            begun.append(int(table[entry, 0]))
            counts = {int(table[inner.number, 0]) for inner in block}
            assert counts <= {begun[-1], begun[-1] - int(table[span.number, 0])}
            assert begun[-1] in counts
    assert (span.control is not None) == any(span.blocks)
    if span.control is not None and span.control.defn.name == "if" and len(begun) == 2:
        assert sum(begun) == table[span.number, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_all_ops_with_code_belong_to_a_span(backend):
    module, _ = lowered(nested)
    timed = BACKENDS[backend].compile(module, timed=True)

    found = {op.defn.name for span in timed.times.all_spans() for op in span.ops}
    assert {"sin", "exp", "if", "scan", "mul"} <= found


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_leaves_the_program(backend):
    def fails(x):
        for _ in range(10):
            x = ops.exp(x)
            if x.sum() > 100:
                raise ValueError("too large")
        return x

    x = ms.Tensor(np.ones((9, 9), np.float32))
    ms.set_context(backend=backend)
    try:
        f = ms.jit(fails)
        with ms.profile(f) as p:
            for _ in range(3):
                with pytest.raises(ValueError, match="too large"):
                    f(x)
        assert p.calls == 3
        assert [row.calls for row in p.by("line") if "exp" in row.ops] == [3]
    finally:
        ms.set_context(backend="auto")
