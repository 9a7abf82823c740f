"""Scratch memory of generated programs: what lies in it, and that nothing that leaves a call does."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.backends.numpy.scratch import BLOCKS, give_back, leased
from autodiff_compiler.dtypes import float32, int64
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import F
from tests.backends.programs import built

LARGE = tensor(float32, (128, 128))
X = np.random.default_rng(0).standard_normal((128, 128), np.float32)


def chain(b, x):
    y = F.matmul(F.matmul(x, x), x)
    z = F.tanh(y)
    return [F.sum(z, axes=(-1, -2), keepdims=False), F.exp(z)]


def expected(x):
    z = np.tanh(x @ x @ x)
    return z.sum(), np.exp(z)


def test_results_of_a_call_outlive_the_next_calls():
    program = NumpyBackend().compile(built([LARGE], chain))
    assert "leased(BLOCKS" in program.source
    first = program(X)
    program(X + 1.0)
    np.testing.assert_allclose(first[0], expected(X)[0], rtol=1e-3)
    np.testing.assert_allclose(first[1], expected(X)[1], rtol=1e-4)
    assert not any(np.may_share_memory(result, block) for result in first for block in BLOCKS)


def test_the_next_call_gets_the_same_block():
    program = NumpyBackend().compile(built([LARGE], chain))
    program(X)
    held = [id(block) for block in BLOCKS]
    program(X)
    assert [id(block) for block in BLOCKS] == held


def test_a_saved_program_brings_its_own_blocks(tmp_path):
    program = NumpyBackend().compile(built([LARGE], chain))
    program.save(tmp_path / "program.py")
    names = {"__name__": "program", "__file__": str(tmp_path / "program.py")}
    exec(compile((tmp_path / "program.py").read_text(), "program.py", "exec"), names)
    np.testing.assert_allclose(names["f"](X)[1], program(X)[1], rtol=1e-3, atol=1e-3)
    assert len(names["BLOCKS"]) == 1
    assert names["BLOCKS"] is not BLOCKS


def test_small_results_and_results_that_leave_take_no_scratch():
    small = NumpyBackend().compile(built([tensor(float32, (64, 64))], chain))
    assert "leased" not in small.source
    leaving = NumpyBackend().compile(built([LARGE], lambda b, x: [F.matmul(x, x)]))
    assert "leased" not in leaving.source


def test_what_lives_at_a_time_lies_apart():
    """Ten products that are all needed at the end, and chains in between whose places can be used again."""

    def build(b, x):
        kept = []
        for i in range(10):
            y = F.matmul(x, F.tanh(x * (0.1 * i + 0.1)))
            kept.append(F.matmul(y, y))
        total = kept[0]
        for y in kept[1:]:
            total = F.matmul(total, y) * 1e-3
        return [F.sum(total, axes=(-1, -2), keepdims=False)]

    program = NumpyBackend().compile(built([LARGE], build))
    kept = []
    for i in range(10):
        y = X @ np.tanh(X * np.float32(0.1 * i + 0.1))
        kept.append(y @ y)
    total = kept[0]
    for y in kept[1:]:
        total = (total @ y) * np.float32(1e-3)
    for _ in range(2):
        np.testing.assert_allclose(program(X)[0], total.sum(axis=(-1, -2)), rtol=1e-4)


def test_blocks():
    blocks: list[np.ndarray] = []
    first = leased(blocks, 100)
    assert first.nbytes == 100
    give_back(blocks, first)
    assert leased(blocks, 50) is first
    give_back(blocks, first)
    assert leased(blocks, 101).nbytes == 101  # the one that was too small is gone
    assert blocks == []
    for _ in range(9):
        give_back(blocks, first)
    assert len(blocks) == 4


# ------------------------------------------------------------------------------------------------ states
def with_state(build):
    """A module whose last argument is the state s, and whose last result is its next version."""
    module = built([tensor(float32, (2,)), LARGE], build, ["x", "s"])
    module.inputs = module.outputs = ("s",)
    return module


@pytest.mark.parametrize("in_place", [(), ("s",)], ids=["copied", "in place"])
def test_the_next_version_of_a_state_is_written_over_it_only_if_allowed(in_place):
    module = with_state(lambda b, x, s: [F.sum(s, axes=(-1, -2), keepdims=False), F.tanh(s * 0.5)])
    program = NumpyBackend().compile(module, in_place=in_place)
    state = X.copy()
    total, new = program(np.zeros(2, np.float32), state)
    assert program.overwrites == ((1,) if in_place else ())
    assert (new is state) == bool(in_place)
    np.testing.assert_array_equal(new, np.tanh(X * np.float32(0.5)))
    np.testing.assert_allclose(total, X.sum(), rtol=1e-4)
    if not in_place:
        np.testing.assert_array_equal(state, X)


def test_a_state_that_is_read_later_or_returned_is_not_overwritten():
    later = with_state(lambda b, x, s: [F.matmul(F.exp(s), s), F.tanh(s)])
    returned = with_state(lambda b, x, s: [F.reshape(s, shape=(128 * 128,)), F.tanh(s)])
    for module in (later, returned):
        program = NumpyBackend().compile(module, in_place=("s",))
        state = X.copy()
        first, new = program(np.zeros(2, np.float32), state)
        np.testing.assert_array_equal(new, np.tanh(X))
        wanted = np.exp(X) @ X if module is later else X.reshape(-1)
        np.testing.assert_allclose(first, wanted, rtol=1e-3, atol=1e-3)
        assert not np.may_share_memory(first, new)


def test_a_state_stays_as_it_was_if_something_can_still_raise():
    def build(b, x, s):
        new = F.tanh(s)
        places = F.check_index(F.cast(x, dtype=int64), size=2)
        return [places, new]

    program = NumpyBackend().compile(with_state(build), in_place=("s",))
    state = X.copy()
    with pytest.raises(IndexError):
        program(np.array([0.0, 5.0], np.float32), state)
    np.testing.assert_array_equal(state, X)
