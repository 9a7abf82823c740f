"""Large results lie in pages that stay with the process: who owns them, when they come back, and how many are kept."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import pickle
import random
import resource
import sys
import textwrap
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import autodiff_compiler as ms
from autodiff_compiler import hal
from autodiff_compiler.backends.native.callpath.signature import Argument, Result, Signature
from autodiff_compiler.backends.native.jit import machine
from autodiff_compiler.backends.native.memory import frame_pool, large_alloc
from autodiff_compiler.backends.native.memory.large_alloc import HANDLER, HUGE, LARGE
from autodiff_compiler.dtypes import float64, uint8
from autodiff_compiler.environment import amount, check_environment
from tests import forked
from tests.backends.native.entries import ENTRIES, Made

pytestmark = pytest.mark.skipif(machine.why_not() is not None, reason=f"no native code: {machine.why_not()}")

N = LARGE // 8
#: Numbers of elements whose results lie in small pages, in huge ones, and in parts of both.
SIZES = (N, HUGE // 8, 5 * HUGE // 16)
MINE = HANDLER.decode()
#: o = [a, a, ...]
FILL = """
define i32 @main(ptr %frame, ptr %a, ptr %o) {
start:
  %x = load double, ptr %a
  br label %loop
loop:
  %i = phi i64 [0, %start], [%next, %loop]
  %at = getelementptr double, ptr %o, i64 %i
  store double %x, ptr %at
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, <n>
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
"""


def filling(kind="fast", n=N, **options):
    signature = Signature((Argument(float64),), (Result(float64, (n,)),), bare=True, **options)
    made = Made(kind, signature, FILL.replace("<n>", str(n)))
    return lambda x: made(np.array(float(x)))


@pytest.fixture(params=sorted(ENTRIES))
def fill(request):
    return filling(request.param)


@pytest.fixture(autouse=True)
def _empty():
    """No block is free, and many may become so."""
    gc.collect()
    before = large_alloc.set_limit(1 << 40)
    hal.empty_cache()
    yield
    gc.collect()
    hal.empty_cache()
    large_alloc.set_limit(before)


def place(array):
    return array.__array_interface__["data"][0]


def run(code, **environment):
    """What a process of its own prints; it must end well, and say nothing else."""
    start = """
        import os, sys, threading, numpy as np
        from autodiff_compiler.backends.native.memory import large_alloc
        from tests.backends.native.test_pages import N, filling, place, told
    """
    text = textwrap.dedent(start) + textwrap.dedent(code)
    done = forked.run("-c", text, env={**os.environ, **environment})
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split()


# ------------------------------------------------------------------------------------------------ what arrays are
def test_a_large_result_is_an_array_that_owns_its_memory(fill):
    result = fill(3)
    assert get_handler_name(result) == MINE
    assert type(result) is np.ndarray
    assert result.base is None
    flags = result.flags
    assert (flags.owndata, flags.writeable, flags.aligned, flags.c_contiguous) == (True,) * 4
    assert place(result) % 64 == 0
    assert (result == 3).all()
    assert weakref.ref(result)() is result


def test_only_large_results_do():
    result = filling(n=N - 1)(1)
    assert get_handler_name(result) != MINE
    del result
    assert large_alloc.kept() == 0


def test_what_arrays_made_of_it_own_is_numpys(fill):
    result = fill(3)
    for other in (result.copy(), result + 1, pickle.loads(pickle.dumps(result)), np.empty(N)):
        assert get_handler_name(other) != MINE


@pytest.mark.some(4)
@pytest.mark.parametrize("n", [1, N // 3, N - 1, N, N + 1, 5 * N])
def test_it_can_be_resized(fill, n):
    result = fill(3)
    result.resize(n)
    assert result.shape == (n,)
    assert (result[:N] == 3).all()
    assert not result[N:].any()
    assert (fill(4) == 4).all()
    assert (result[:N] == 3).all()
    view = result[:1]
    with pytest.raises(ValueError, match="resize"):
        result.resize(2 * N)
    assert (view == 3).all()


def test_pythons_memory_tracer_sees_it(fill):
    fill(0)
    tracemalloc.start()
    try:
        result = fill(1)
        assert tracemalloc.get_traced_memory()[0] >= LARGE
        del result
        assert tracemalloc.get_traced_memory()[0] < LARGE
    finally:
        tracemalloc.stop()


# ------------------------------------------------------------------------------------------------ when it comes back
@pytest.mark.parametrize("n", SIZES)
def test_the_pages_of_a_result_that_is_dropped_are_those_of_the_next(n):
    fill = filling(n=n)
    result = fill(1)
    where = place(result)
    del result
    assert 8 * n <= large_alloc.kept() <= 10 * n
    result = fill(2)
    assert place(result) == where
    assert large_alloc.kept() == 0


def test_results_that_live_share_no_memory(fill):
    kept = [fill(i) for i in range(6)]
    random.Random(0).shuffle(kept)
    for step in range(30):
        kept[step % 6] = None
        kept[step % 6] = fill(100 + step)
        for a, b in itertools.combinations(kept, 2):
            assert abs(place(a) - place(b)) >= LARGE
        assert len({float(x[0]) for x in kept}) == 6
        assert all((x == x[0]).all() for x in kept)


VIEWS = {
    "slice": lambda x: x[10:20],
    "turned": lambda x: x.reshape(2, -1).T,
    "buffer": memoryview,
    "of a view": lambda x: x[::2][3:],
    "field": lambda x: x.view(np.complex128).imag,
    "iterator": lambda x: x.flat,
}


@pytest.mark.some(2)
@pytest.mark.parametrize("seed", range(4))
def test_the_last_view_keeps_it(fill, seed):
    result = fill(7)
    where = place(result)
    views = [make(result) for make in VIEWS.values()] + [result]
    del result
    random.Random(seed).shuffle(views)
    while views:
        others = fill(8)
        assert place(others) != where
        assert np.asarray(views[0]).ravel()[0] in (0, 7)
        del others
        views.pop()
    assert where in {place(x) for x in [fill(9), fill(9)]}


def test_threads_may_drop_each_others_results(fill):
    wrong, handed = [], [fill(0)]
    start = threading.Barrier(4)

    def work(number):
        start.wait()
        for i in range(25):
            value = 100 * number + i
            mine = fill(value)
            handed[:] = [mine[5:]]  # another thread's result dies here
            if not (mine == value).all():
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_calls_without_the_lock_write_apart():
    fill = filling(release_gil=True)
    wrong = []

    def work(number):
        for _ in range(20):
            if not (fill(number) == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_the_end_of_the_process_comes_before_that_of_results():
    code = """
        fill = filling()
        class Holder:
            def __del__(self, fill=fill, np=np):
                self.more = fill(5)
        held = [fill(1), fill(2)[3:]]
        cycle = [held, Holder()]; cycle.append(cycle)
        sys.modules["numpy"].kept_by_another = fill(3)
        threading.Thread(target=lambda kept: None, args=(fill(4),)).start()
        print("ends")
    """
    assert run(code) == ["ends"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_after_a_fork_both_go_on():
    code = """
        import warnings
        warnings.simplefilter("ignore")
        fill = filling()
        mine, free = fill(1), fill(2)
        del free
        child = os.fork()
        for value in range(3, 20):
            value += 100 * (child == 0)
            a = fill(value)
            b = fill(-value)
            assert (a == value).all() and (b == -value).all() and (mine == 1).all()
            del a
        del mine, b
        large_alloc.release()
        assert (fill(30) == 30).all()
        if child == 0:
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run(code) == ["7"]


# ------------------------------------------------------------------------------------------------ how much is kept
def test_those_free_for_longest_go_first(fill):
    results = [fill(i) for i in range(3)]
    places = [place(x) for x in results]
    while results:
        results.pop(0)
    block = large_alloc.kept() // 3
    large_alloc.set_limit(2 * block)
    assert large_alloc.kept() == 2 * block
    found = {place(x) for x in [fill(1), fill(1)]}
    assert found == set(places[1:])


def test_nothing_is_kept_where_nothing_may_be(fill):
    large_alloc.set_limit(0)
    for i in range(3):
        assert (fill(i) == i).all()
        assert large_alloc.kept() == 0


@pytest.mark.parametrize("unit", SIZES)
def test_blocks_serve_results_of_nearly_their_size(unit):
    large = filling(n=5 * unit)(1)
    where = place(large)
    del large
    assert place(filling(n=3 * unit)(1)) != where
    assert place(filling(n=9 * unit // 2)(1)) == where


def test_the_limit_is_a_setting():
    code = """
        fill = filling(n=1 << 20)
        kept = [fill(i) for i in range(4)]
        del kept
        print(large_alloc.kept() // (1 << 20))
    """
    assert run(code, AC_POOL_SIZE="20M") == ["16"]
    assert run(code, AC_POOL_SIZE="0") == ["0"]


def test_without_a_setting_an_eighth_of_the_machine_is_kept():
    (limit,) = run("filling(); print(large_alloc.set_limit(0))", AC_POOL_SIZE="")
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < int(limit) <= machine // 8


def test_a_limit_that_says_nothing_is_refused():
    code = """
        import os
        os.environ["AC_POOL_SIZE"] = "lots"  # at the start the import says it
        fill = filling
        try:
            fill()(1)
        except ValueError as error:
            print(str(error).replace(" ", "_"))
    """
    assert run(code)[0].startswith("the_environment_variable_AC_POOL_SIZE_is_'lots'")


@pytest.mark.some(3)
@pytest.mark.parametrize("name", ["AC_POOL_SIZE", "AC_CACHE_SIZE"])
@pytest.mark.parametrize("text", ["17179869184G", "8589934592G", "9223372036854775808"])
def test_a_limit_that_64_bits_do_not_hold_is_refused(monkeypatch, name, text):
    """The first is 2**64, which was a limit of nothing; the others are 2**63, which was a negative one."""
    monkeypatch.setenv(name, text)
    with pytest.raises(ValueError, match=f"{name} is '{text}'; it can be 9223372036854775807 bytes at most"):
        check_environment()
    monkeypatch.setenv(name, "9223372036854775807")
    check_environment()
    assert amount(name) == 2**63 - 1


@pytest.mark.parametrize("limit", [2**63, 2**64, -1])
def test_a_limit_that_is_set_is_one_that_there_can_be(limit):
    before = large_alloc.set_limit(2**63 - 1)
    try:
        with pytest.raises(ValueError, match=f"{limit} bytes cannot be kept"):
            large_alloc.set_limit(limit)
    finally:
        assert large_alloc.set_limit(before) == 2**63 - 1


def mapped():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def test_results_of_many_sizes_do_not_add_up():
    """Twice as much as was in use, and 64 MB."""
    code = """
        for i in range(40):
            filling(n=(1 << 17) + 20_000 * i)(1)
        print(large_alloc.kept() >> 20)
    """
    sizes = [8 * ((1 << 17) + 20_000 * i) / (1 << 20) for i in range(40)]
    (kept,) = run(code, AC_POOL_SIZE="1G")
    assert sum(sizes) > 150
    assert 55 < int(kept) <= 64 + 2 * 1.25 * sizes[-1]


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(3))
def test_blocks_come_and_go_in_any_order(seed):
    """Blocks of all sizes, each full of its number, with a limit that is often reached."""
    take = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(large_alloc.functions().address("pages_take"))
    give = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(large_alloc.functions().address("pages_give"))
    rng, limit = random.Random(seed), 24 << 20
    large_alloc.set_limit(limit)
    live = []
    for step in range(3000):
        if rng.random() < 0.5 or not live:
            bytes = rng.choice([1, LARGE, LARGE + 1, HUGE - 1, HUGE, rng.randrange(1, 4 * HUGE)])
            before, block = large_alloc.kept(), take(bytes)
            assert block % 64 == 0
            room = before - large_alloc.kept()
            assert room == 0 or LARGE <= room <= 1.6 * max(bytes, LARGE) + (1 << 15)
            live.append((block, bytes, step % 251))
            ctypes.memset(block, step % 251, bytes)
            if len(live) > 12:
                give(live.pop(rng.randrange(len(live)))[0])
        else:
            block, bytes, mark = live.pop(rng.randrange(len(live)))
            places = [0, bytes // 2, bytes - 1, *(rng.randrange(bytes) for _ in range(20))]
            assert {ctypes.c_uint8.from_address(block + i).value for i in places} == {mark}
            before = large_alloc.kept()
            give(block)
            assert large_alloc.kept() <= limit
            assert large_alloc.kept() != before or before > limit - 8 * HUGE
    for block, _, _ in live:
        give(block)
    hal.empty_cache()
    assert large_alloc.kept() == 0


@pytest.mark.some(2)
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the pages of the process")
@pytest.mark.parametrize("bytes", [LARGE, LARGE + 8, HUGE // 2 + 8, HUGE + 8, 5 * HUGE // 2 + 8])
def test_a_block_takes_the_memory_of_its_result(bytes):
    """And a page for its header, whatever room it has."""
    small = os.sysconf("SC_PAGE_SIZE")
    fill = filling(n=bytes // 8)
    kept = [fill(0)]
    before = resident()
    kept += [fill(i) for i in range(20)]
    assert 0.95 * bytes < (resident() - before) / 20 < bytes + 4 * small


def told():
    """Bytes that the system may take when it needs some."""
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("LazyFree"))


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="asks Linux for the pages of the process")
@pytest.mark.parametrize("mib", [1, 8])
def test_the_system_may_take_blocks_that_are_free_for_long(mib):
    code = f"""
        fill = filling(n={mib} << 17)
        kept = [fill(i) for i in range(96 // {mib})]
        while len(kept) > 32 // {mib}:
            del kept[0]
        few = told()
        kept.clear()
        print(few >> 20, told() >> 20)
        kept = [fill(i) for i in range(96 // {mib})]
        print(all((x == i).all() for i, x in enumerate(kept)))
    """
    few, many, right = run(code, AC_POOL_SIZE="1G")
    assert (int(few), right) == (0, "True")
    assert 28 <= int(many) <= 32


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the size of the process")
def test_empty_cache_gives_all_that_is_free_back(fill):
    live = fill(1)
    before = mapped()
    results = [fill(i) for i in range(4)]
    results.clear()
    assert mapped() - before >= 4 * LARGE
    hal.empty_cache()
    assert mapped() - before < LARGE
    assert large_alloc.kept() == 0
    assert (live == 1).all()


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the size of the process")
def test_calls_leave_nothing_behind(fill):
    fill(0)
    held = [np.dtype(np.float64), np.ndarray]
    fill(0)
    before, counts = mapped(), [sys.getrefcount(x) for x in held]
    for i in range(300):
        fill(i)
    assert mapped() - before < LARGE
    assert [sys.getrefcount(x) for x in held] == counts


# ------------------------------------------------------------------------------------------------ no room
@pytest.mark.parametrize("kind", sorted(ENTRIES))
def test_absurd_sizes_are_a_memory_error(kind):
    main = "define i32 @main(ptr %f, ptr %o) {\n  ret i32 0\n}"
    for n in (1 << 42, 1 << 50, 1 << 62):
        made = Made(kind, Signature((), (Result(uint8, (n,)),), bare=True), main)
        counts = []
        for _ in range(3):
            with pytest.raises(MemoryError):
                made()
            counts.append(sys.getrefcount(np.dtype(np.uint8)))
        assert counts[1] == counts[2]  # each with one exception alive
        assert get_handler_name() != MINE
    assert (filling(kind)(1) == 1).all()


def test_free_blocks_make_room_for_others():
    code = """
        import resource
        unit = 1 << 20
        fill, other = filling(n=10 * unit), filling(n=15 * unit)
        fill(1), other(1)
        large_alloc.release()
        room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 20 * 8 * unit
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        for i in range(3):
            assert (fill(i)[::1000] == i).all()
            assert (other(i)[::1000] == i).all()  # there is no room for both
        print("fits")
    """
    if sys.platform != "linux":
        pytest.skip("limits the size of the process as Linux does")
    assert run(code, AC_POOL_SIZE="100G") == ["fits"]


# ------------------------------------------------------------------------------------------------ no faults
def faults(call):
    """Pages that the system had to find in the last of a few calls."""
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        result = call()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        del result
    return after - before


@pytest.mark.parametrize("n", SIZES)
def test_a_recycled_result_is_there_already(n):
    fill = filling(n=n)
    old = faults(lambda: fill(1))
    assert old < 16
    large_alloc.set_limit(0)
    assert faults(lambda: fill(1)) > old  # the page of the header, and one that may be huge


def squared_twice(x):
    y = ms.ops.cumsum(x * x, 0)
    return ms.ops.cumsum(y * x, 0).sum()


def test_the_frame_of_a_call_is_there_already():
    before = ms.get_context("backend")
    ms.set_context(backend="native")
    try:
        f, x = ms.jit(squared_twice), ms.Tensor(np.linspace(0.0, 1e-3, HUGE // 4))
        assert faults(lambda: f(x)) < 16
        expected = np.cumsum(np.cumsum(x.asnumpy() ** 2) * x.asnumpy()).sum()
        np.testing.assert_allclose(float(f(x).asnumpy()), expected, rtol=1e-9)
    finally:
        ms.set_context(backend=before)
    assert frame_pool.POOL.value
    hal.empty_cache()
    assert not frame_pool.POOL.value
    assert large_alloc.kept() == 0
