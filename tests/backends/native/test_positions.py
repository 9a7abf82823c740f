"""Positions that nobody checked, or that change after the check: they never become addresses outside of their axis."""

from __future__ import annotations

import textwrap
from unittest import mock

import numpy as np
import pytest

from autodiff_compiler import Tensor, jit, ops
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.verify import verify
from tests import forked
from tests.backends.native.sampled import bare
from tests.guarded import guard_pages, guarded

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

OUTSIDE = (10**9, -5, 3, 2**62, 2**63 - 1, -(2**63))
X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
UPDATES = ("scatter_add", "scatter_update", "scatter_max", "scatter_min", "scatter_mul")


def run(text, *arrays):
    """What a program makes of arrays, in memory between forbidden pages."""
    module = parse_module(text)
    verify(module)
    with mock.patch.dict("os.environ", AC_POISON="0"), guard_pages():
        return bare(module)(*[guarded(x) for x in arrays])


def positions(*numbers):
    return np.array(numbers, np.int64)


# ------------------------------------------------------------------------------------------------ without a check
@pytest.mark.parametrize("place", OUTSIDE)
def test_gather_reads_rows_of_its_operand_only(place):
    text = "func @f(%x: f32[3,2], %i: i64[2]) -> (f32[2,2]) { %y: f32[2,2] = gather %x, %i {axis=-2} ; return %y }"
    (got,) = run(text, X, positions(1, place))
    assert got[0].tolist() == [3.0, 4.0]
    assert got[1].tolist() in X.tolist()


@pytest.mark.parametrize("count", [1, 8, 11])
@pytest.mark.parametrize("place", OUTSIDE)
def test_gather_reads_elements_of_its_operand_only(place, count):
    """Eight are read together."""
    text = (
        f"func @f(%x: f32[3], %i: i64[{count}]) -> (f32[{count}]) "
        f"{{ %y: f32[{count}] = gather %x, %i {{axis=-1}} ; return %y }}"
    )
    (got,) = run(text, X[:, 0], np.full(count, place))
    assert set(got.tolist()) <= {1.0, 3.0, 5.0}


@pytest.mark.parametrize("place", OUTSIDE)
def test_take_along_axis_reads_elements_of_its_operand_only(place):
    text = (
        "func @f(%x: f32[3,2], %i: i64[1,2]) -> (f32[1,2]) "
        "{ %y: f32[1,2] = take_along_axis %x, %i {axis=-2, distinct=False} ; return %y }"
    )
    (got,) = run(text, X, positions(2, place)[None])
    assert got[0, 0] == 5.0
    assert got[0, 1] in X[:, 1]


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("place", OUTSIDE)
def test_updates_change_elements_of_their_operand_only(name, place):
    text = (
        "func @f(%x: f32[3,2], %i: i64[2], %u: f32[2,2]) -> (f32[3,2]) "
        f"{{ %y: f32[3,2] = {name} %x, %i, %u {{axis=-2}} ; return %y }}"
    )
    (got,) = run(text, X, positions(0, place), np.full((2, 2), 7, np.float32))
    assert got.shape == (3, 2)
    assert np.isfinite(got).all()


@pytest.mark.parametrize("place", OUTSIDE)
def test_add_along_axis_changes_elements_of_its_operand_only(place):
    text = (
        "func @f(%x: f32[3,2], %i: i64[1,2], %u: f32[1,2]) -> (f32[3,2]) "
        "{ %y: f32[3,2] = add_along_axis %x, %i, %u {axis=-2, distinct=False} ; return %y }"
    )
    (got,) = run(text, X, positions(0, place)[None], np.full((1, 2), 7, np.float32))
    assert got.sum() == X.sum() + 14


@pytest.mark.parametrize("rows", [7, 8, 21])
@pytest.mark.parametrize("at", [0, 3, -1])
def test_elements_of_many_rows_are_read_and_changed_together(rows, at):
    """Eight positions at a time: those beside one outside of its axis stay what they are."""
    rng = np.random.default_rng(rows)
    x, u = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, 5), (rows, 1)))
    i = rng.integers(0, 5, (rows, 1))
    types = f"%x: f32[{rows},5], %i: i64[{rows},1]"
    take = (
        f"func @f({types}) -> (f32[{rows},1]) "
        f"{{ %y: f32[{rows},1] = take_along_axis %x, %i {{axis=-1, distinct=False}} ; return %y }}"
    )
    add = (
        f"func @f({types}, %u: f32[{rows},1]) -> (f32[{rows},5]) "
        f"{{ %y: f32[{rows},5] = add_along_axis %x, %i, %u {{axis=-1, distinct=False}} ; return %y }}"
    )
    added = x.copy()
    np.add.at(added, (np.arange(rows)[:, None], i), u)
    np.testing.assert_array_equal(run(take, x, i)[0], np.take_along_axis(x, i, 1))
    np.testing.assert_array_equal(run(add, x, i, u)[0], added)
    others = np.delete(np.arange(rows), at)
    for place in OUTSIDE[:2] + OUTSIDE[3:]:
        i[at] = place
        (got,) = run(take, x, i)
        np.testing.assert_array_equal(got[others], np.take_along_axis(x[others], i[others], 1))
        assert got[at, 0] in x[at]
        (got,) = run(add, x, i, u)
        np.testing.assert_array_equal(got[others], added[others])
        np.testing.assert_allclose(got[at].sum(), x[at].sum() + u[at, 0], 1e-5)


@pytest.mark.parametrize("axis", [-1, -2])
def test_equal_positions_are_added_up_one_after_the_other(axis):
    """Also where they are read together."""
    x, u = np.zeros((2, 2), np.float32), np.arange(40, dtype=np.float32).reshape((2, 20)[:: 1 if axis == -1 else -1])
    i = np.ones(u.shape, np.int64)
    shape = ",".join(map(str, u.shape))
    text = (
        f"func @f(%x: f32[2,2], %i: i64[{shape}], %u: f32[{shape}]) -> (f32[2,2]) "
        f"{{ %y: f32[2,2] = add_along_axis %x, %i, %u {{axis={axis}, distinct=False}} ; return %y }}"
    )
    (got,) = run(text, x, i, u)
    assert np.take(got, 0, axis).tolist() == [0.0, 0.0]
    assert np.take(got, 1, axis).tolist() == u.sum(axis).tolist()


def test_nothing_is_read_or_written_where_the_axis_has_no_elements():
    gather = "func @f(%x: f32[0], %i: i64[2]) -> (f32[2]) { %y: f32[2] = gather %x, %i {axis=-1} ; return %y }"
    along = (
        "func @f(%x: f32[0], %i: i64[2]) -> (f32[2]) "
        "{ %y: f32[2] = take_along_axis %x, %i {axis=-1, distinct=False} ; return %y }"
    )
    nothing, two = np.zeros(0, np.float32), positions(0, 10**9)
    assert run(gather, nothing, two)[0].tolist() == [0.0, 0.0]
    assert run(along, nothing, two)[0].tolist() == [0.0, 0.0]
    for name in UPDATES:
        text = (
            "func @f(%x: f32[0], %i: i64[2], %u: f32[2]) -> (f32[0]) "
            f"{{ %y: f32[0] = {name} %x, %i, %u {{axis=-1}} ; return %y }}"
        )
        assert run(text, nothing, two, np.ones(2, np.float32))[0].shape == (0,)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_loop_of_more_trips_than_its_sequence_has_elements_is_an_error(reverse):
    text = f"""func @f(%x: f32[3,2], %n: i64[]) -> (f32[2]) {{
      %s: seq<f32[2]> = to_seq %x
      %z: f32[2] = const {{value=0.0}}
      %r: f32[2] = scan %n (%c = %z ; %e = %s) {{reverse={reverse}}} body (%i) {{
        %d: f32[2] = add %c, %e
        yield %d
      }}
      return %r
    }}"""
    assert run(text, X, np.array(3))[0].tolist() == [9.0, 12.0]
    assert run(text, X, np.array(2))[0].tolist() == [4.0, 6.0]
    for n in (4, 10**6):
        with pytest.raises(IndexError, match="fewer elements than are read"):
            run(text, X, np.array(n))


def test_a_sequence_is_stacked_only_where_it_has_so_many_elements():
    text = """func @f(%x: f32[2], %n: i64[]) -> (f32[5,2]) {
      %r: f32[2], %s: seq<f32[2]> = scan %n (%c = %x) body (%i) {
        %d: f32[2] = add %c, %c
        yield %d ; %d
      }
      %y: f32[5,2] = from_seq %s {length=5}
      return %y
    }"""
    assert run(text, X[0], np.array(5))[0][:, 0].tolist() == [2.0, 4.0, 8.0, 16.0, 32.0]
    with pytest.raises(IndexError, match="fewer elements than are read"):
        run(text, X[0], np.array(4))


# ------------------------------------------------------------------------------------------------ races
RACE = """
import threading, time
import numpy as np
from autodiff_compiler import Tensor, jit, ops

n = 1 << 16
x, index = Tensor(np.ones(16, np.float32)), Tensor(np.zeros(n, np.int64))
raw, over = index._data, threading.Event()

def change():
    while not over.is_set():
        raw[:] = 10**12
        raw[:] = 0

@jit(backend=BACKEND)
def read(x, i):
    return ops.gather(x, i, 0)

@jit(backend=BACKEND)
def write(x, i):
    return ops.index_add(x, i, read(x, i), 0)

def compiled():
    return read(x, index), write(x, index)

def eager():
    y = x.copy()
    y[index] = 1.0
    return x[index], ops.gather(x, index, 0), y

thread = threading.Thread(target=change, daemon=True)
thread.start()
outcomes, end = set(), time.monotonic() + 2
while time.monotonic() < end:
    try:
        for found in WHAT():
            assert np.isfinite(found.asnumpy()).all()
        outcomes.add("fine")
    except IndexError:
        outcomes.add("refused")
over.set()
thread.join()
print(*sorted(outcomes))
"""


@pytest.mark.some(3)
@pytest.mark.parametrize(("what", "backend"), [("compiled", "native"), ("compiled", "numpy"), ("eager", "native")])
def test_another_thread_may_change_positions_between_check_and_use(what, backend, tmp_path):
    script = tmp_path / "race.py"
    script.write_text(textwrap.dedent(RACE).replace("BACKEND", repr(backend)).replace("WHAT", what))
    done = forked.run(script)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert "refused" in done.stdout


# ------------------------------------------------------------------------------------------------ uint64
def eager_and_compiled(f):
    return [f, jit(f, backend="numpy"), jit(f, backend="native")]


def taken(x, i):
    return x[i]


def gathered(x, i):
    return ops.gather(x, i, 0)


def elements(x, i):
    return ops.gather_elements(x, 0, i)


def assigned(x, i):
    x = x * 1.0
    x[i] = 7.0
    return x


@pytest.mark.parametrize("number", [2**64 - 1, 2**63, 2**64 - 3])
@pytest.mark.parametrize("f", [taken, gathered, elements, assigned])
def test_no_uint64_counts_from_the_end(f, number):
    for way in eager_and_compiled(f):
        with pytest.raises(IndexError, match=f"index {number} is out of bounds for size 3"):
            way(Tensor(X[:, 0]), Tensor(np.array([0, number], np.uint64)))


@pytest.mark.parametrize("f", [taken, gathered, assigned])
def test_no_single_uint64_counts_from_the_end(f):
    for way in eager_and_compiled(f):
        with pytest.raises(IndexError, match=f"index {2**64 - 1} is out of bounds for size 3"):
            way(Tensor(X[:, 0]), Tensor(np.array(2**64 - 1, np.uint64)))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_positions_of_every_dtype(dtype):
    """Those with a sign count from the end; the greatest number of each dtype lies outside of 3 elements."""
    info = np.iinfo(dtype)
    numbers = [0, 2, 1] if info.min == 0 else [0, -1, -3]
    outside = [info.max, 3] if info.min == 0 else [info.max, info.min, 3, -4]
    for way in eager_and_compiled(taken) + eager_and_compiled(gathered):
        got = way(Tensor(X[:, 0]), Tensor(np.array(numbers, dtype)))
        assert got.asnumpy().tolist() == X[numbers, 0].tolist()
        for number in outside:
            with pytest.raises(IndexError, match=f"index {number} is out of bounds for size 3"):
                way(Tensor(X[:, 0]), Tensor(np.array([number], dtype)))


def test_python_numbers_beyond_64_bits_are_out_of_bounds():
    x = Tensor(X[:, 0])
    for number in (2**63, 2**64 - 1, 2**64, -(2**70)):
        for way in (taken, gathered):
            with pytest.raises(IndexError, match=f"index {number} is out of bounds for size 3"):
                way(x, number)
