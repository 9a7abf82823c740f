"""How often the rows of a profile ran, and what they are called: by counts known by hand and by bounds on shares."""

from __future__ import annotations

import inspect
import threading
import time

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops

HANDED_OUT, WAITING = "results handed out", "waiting for other threads"


def doubled(x):
    i = 0
    while x.sum() < 1000.0:
        x = x * 2.0
        i += 1
    return x, i


def numbers(x):
    n, total = x.sum() * 0.0, x.sum()
    while n < 50.0:
        total = total * 0.5 + 1.0
        n = n + 1.0
    return total


def number_before(x):
    n = x.sum() * 0.0
    while n < 7.0:
        x = ops.tanh(x)
        n = n + 1.0
    return x


def arms(x):
    k = x.sum() * 0.0
    for i in range(12):
        if i < k + 4.0:
            x = ops.sin(x)
        else:
            k = k * 0.5
    return x, k


def nested(x):
    k = x.sum() * 0.0
    for _ in range(30):
        while k < 5.0:
            k = k + 1.0
        for _ in range(20):
            if k > 6.5:
                k = k - 2.0
            else:
                k = k + 2.0
        x = ops.sin(x)
    return x, k


#: What `nested` computes with k, by hand: 0 to 5 in 5 steps, once; in each of 30 trips then ten times 7 and 5.
PROGRAMS = {
    doubled: {"x = x": {"mul": 4}, "i += 1": {"add": 4}, "while": {"sum": 5, "less": 5, "greater": 5}},
    numbers: {"while": {"less": 51, "greater": 51}, "* 0.5": {"mul": 50, "add": 50}, "n = n": {"add": 50}},
    number_before: {"while": {"less": 8, "greater": 8}, "tanh": {"tanh": 7}, "n = n": {"add": 7}},
    arms: {"sin": {"sin": 4}, "k = k": {"mul": 8}, "if i": {"less": 12, "greater": 12}},
    nested: {
        "while": {"less": 35, "greater": 35},
        "k = k + 1.0": {"add": 5},
        "if k": {"greater": 600, "less": 600},
        "k = k - 2.0": {"sub": 300, "add": 300},
        "k = k + 2.0": {"add": 300},
        "sin": {"sin": 30},
    },
}


def calls(profile, function):
    """Of the ops of each line that are asked for, how often they ran."""
    lines, first = inspect.getsourcelines(function)
    for text, wanted in PROGRAMS[function].items():
        number = first + next(i for i, line in enumerate(lines) if text in line)
        rows = [row for row in profile.by("op") if row.line == number and set(row.ops) & wanted.keys()]
        yield text, {row.ops[0]: row.calls for row in rows}, {row.ops[0]: wanted[row.ops[0]] for row in rows}


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_numbers_count_as_often_as_they_run(backend, function):
    x = ms.Tensor(np.full(4096, 1 / 64, np.float32))  # whose sum is 64: doubled four times it is 1024
    f = ms.jit(function)
    with ms.profile(f) as p:
        for _ in range(2):
            f(x)
    for text, found, wanted in calls(p, function):
        assert found, text
        assert found == {name: 2 * count for name, count in wanted.items()}, text


def test_what_is_computed_counts_as_often(backend):
    """Of additions to a number, one operation each."""
    f = ms.jit(numbers)
    with ms.profile(f) as p:
        f(ms.Tensor(np.ones(10, np.float32)))
    (row,) = [row for row in p.by("line") if row.text == "n = n + 1.0"]
    assert (row.calls, row.flops) == (50, 50)


# ------------------------------------------------------------------------------------------------ exceptions
def raising(x, n):
    i = 0
    while i < n:
        x = ops.sin(x)
        if i == 2:
            raise ValueError("enough")
        i += 1
    return x


def unless_four(x):
    if x[0] == 4.0:
        raise ValueError("enough")
    return 2.0 * x


def hosted(x, n):
    i, total = 0, 0
    while i < n:
        total = total + i
        x = ms.py_call(unless_four, x, out=x)
        i += 1
    return x, total


def deep(x, n):
    i = 0
    while i < n + 3:
        j = 0
        while j < n:
            if i * j > 7:
                raise ValueError("enough")
            j += 1
        x = ops.sin(x * j)
        i += 1
    return x


#: Of a call that raises with the first number, and one that does not with the second: what lines count together, and
#: how often each loop begins, the outermost first.
LEFT = {
    # the third trip raises; two trips
    raising: (10, 2, {"while": 3 + 3, "ops.sin": 3 + 2, "if i": 3 + 2, "raise": 1, "i += 1": 2 + 2}, [2]),
    # 1, 2, 4: so does the third
    hosted: (10, 2, {"while": 3 + 3, "total = total": 3 + 2, "py_call": 3 + 2, "i += 1": 2 + 2}, [2]),
    # 2 * 4 is reached in the third trip of the outer loop, in the fifth of the inner one
    deep: (
        6,
        2,
        {
            "while i": 3 + 6,
            "while j": (7 + 7 + 5) + 5 * 3,
            "if i": (6 + 6 + 5) + 5 * 2,
            "raise": 1,
            "j += 1": (6 + 6 + 4) + 5 * 2,
            "ops.sin": 2 + 5,
            "i += 1": 2 + 5,
        },
        [1 + 1, 3 + 5],
    ),
}


@pytest.mark.parametrize("function", LEFT, ids=lambda f: f.__name__)
def test_what_ran_before_an_exception_counts_and_nothing_else(backend, function):
    many, few, wanted, loops = LEFT[function]
    x = ms.Tensor(np.ones(4096, np.float32))
    f = ms.jit(function)
    with ms.profile(f) as p:
        for _ in range(3):
            with pytest.raises(ValueError, match="enough"):
                f(x, ms.Tensor(many))
            f(x, ms.Tensor(few))
    lines, first = inspect.getsourcelines(function)
    numbers = {text: first + next(i for i, line in enumerate(lines) if text in line) for text in wanted}
    found = {row.line: row.calls for row in p.by("line") if row.file}
    assert {text: found.get(number) for text, number in numbers.items()} == {t: 3 * n for t, n in wanted.items()}
    for kind in ("op", "kernel"):
        assert sorted(row.calls for row in p.by(kind) if "while" in row.ops) == [3 * n for n in loops]


# ------------------------------------------------------------------------------------------------ several programs
def line_calls(profile, text):
    return [row.calls for row in profile.by("line") if row.text == text]


def waves(x):
    return ops.sin(x) + ops.cos(x)


def test_a_line_counts_in_all_programs(backend):
    f = ms.jit(waves)
    with ms.profile(f) as p:
        for n, times in ((30, 5), (70, 7)):
            for _ in range(times):
                f(ms.Tensor(np.ones(n, np.float32)))
    assert p.calls == 12
    assert line_calls(p, "return ops.sin(x) + ops.cos(x)") == [12]


def test_a_line_counts_in_eager_mode_too(backend):
    """There each op is called by itself: three of five calls, which are five runs of the line."""
    x = ms.Tensor(np.ones(30, np.float32))
    f = ms.jit(waves)
    with ms.profile() as p:
        for _ in range(5):
            waves(x)
        for _ in range(3):
            f(x)
    assert line_calls(p, "return ops.sin(x) + ops.cos(x)") == [8]


def wave(x):
    return ops.sin(x) * 2.0


def of_three(x, y):
    return wave(x) + wave(y) + wave(y * x)


def test_a_line_counts_for_each_place_that_calls_its_function(backend):
    f = ms.jit(of_three)
    x, y = (ms.Tensor(np.full(30, number, np.float32)) for number in (1, 2))
    with ms.profile(f) as p:
        for _ in range(4):
            f(x, y)
    assert line_calls(p, "return ops.sin(x) * 2.0") == [12]
    assert line_calls(p, "return wave(x) + wave(y) + wave(y * x)") == [4]


def either(x, first):
    if first:
        return ops.sin(x)
    return ops.exp(x)


def test_kernels_of_several_programs_are_rows_of_their_own(backend):
    f = ms.jit(either)
    x = ms.Tensor(np.ones(30, np.float32))
    with ms.profile(f) as p:
        for first, times in ((True, 5), (False, 7)):
            for _ in range(times):
                f(x, first)
    assert sorted((row.ops, row.calls) for row in p.by("kernel") if row.file) == [(("exp",), 7), (("sin",), 5)]


# ------------------------------------------------------------------------------------------------ results
def turned(x):
    t = x.T
    s = x[0, 0] + 1.0
    return t, s * 2.0


@pytest.mark.parametrize("kind", ["line", "kernel", "op"])
def test_results_are_handed_out_in_a_row_of_its_own(backend, kind):
    """A result that is a view is copied there: 16 MB, beside two sums of numbers; what is behind them adds nothing."""
    x = ms.Tensor(np.ones((2000, 2000), np.float32))
    f = ms.jit(turned)
    f(x)
    leaving, others = [], []
    for _ in range(4):  # other work on the machine may come between
        with ms.profile(f) as p:
            for _ in range(3):
                f(x)
        rows = [row for row in p.by(kind) if row.calls]
        assert {row.calls for row in rows if row.name == HANDED_OUT} == {3}
        leaving.append(sum(row.share for row in rows if row.name == HANDED_OUT))
        others.append(sum(row.share for row in rows if row.name != HANDED_OUT))
    assert max(leaving) > 0.5
    assert min(others) < 0.1


def test_timing_and_estimates_say_so_too(backend):
    artifact = ms.jit(turned).lower(ms.TensorSpec("f32[2000,2000]"))
    timing = artifact.timing(5)
    for rows in (timing.lines, timing.kernels, timing.ops):
        (row,) = [row for row in rows if row.name == HANDED_OUT]
        others = [r.share for r in rows if r is not row and r.name != "the call itself"]
        assert row.calls == 1
        assert sum(others) < 0.5 * row.share
    if backend == "native":  # whose estimates are of what copies results, too
        (line,) = [line for line in artifact.cost().lines if line.text == HANDED_OUT]
        assert (line.read, line.written, line.place) == (16_000_000, 16_000_000, "-")


# ------------------------------------------------------------------------------------------------ threads
def heavy(x):
    for _ in range(30):
        x = ops.tanh(x) + x * 0.1
    return x.sum()


def in_threads(n, work):
    threads = [threading.Thread(target=work) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("of_one", [True, False])
def test_rows_of_several_threads_are_shares_of_their_sum(backend, of_one):
    x = ms.Tensor(np.full((200, 200), 0.5, np.float32))
    f = ms.jit(heavy)

    def work():
        for _ in range(5):
            f(x)

    with ms.profile(f):  # which compiles it
        f(x)
    with ms.profile(f if of_one else None) as p:
        in_threads(3, work)
    assert p.calls == 15
    for kind in ("line", "kernel", "op"):
        assert sum(row.share for row in p.by(kind)) == pytest.approx(1)
        assert sum(row.seconds for row in p.by(kind)) == pytest.approx(p.seconds)
        assert all(0 <= row.share <= 1 for row in p.by(kind))
    assert "\n3 threads ran, within " in str(p)
    assert " in 15 calls of 3 threads, " in str(p).splitlines()[0]
    (percent,) = [part for part in str(p).splitlines()[0].split(", ") if "kernels" in part]
    assert 0 < int(percent.split(" %")[0]) <= 100
    with ms.profile(f) as alone:
        f(x)
    assert "threads" not in str(alone)


def test_waiting_for_others_is_no_conversion():
    """Small programs keep Python's lock, for which two of three threads wait that do nothing but call them."""
    f = ms.jit(heavy)
    x = ms.Tensor(np.full((100, 100), 0.5, np.float32))
    with ms.profile(f):
        f(x)
    together = threading.Barrier(3)

    def work():
        together.wait()
        for _ in range(100):
            f(x)

    with ms.profile(f) as p:
        in_threads(3, work)
    found = {row.name: row.share for row in p.by("kernel")}
    assert found[WAITING] > 0.2
    assert found.get("entering programs: conversions, new arrays", 0.0) < 0.1


def test_time_between_calls_is_that_in_which_none_runs(backend):
    """A thread that waits for others is not beside them: two that wait for 0.2 s each, and then the block does."""
    f = ms.jit(lambda x: ms.py_call(slowly, x, out=x))
    x = ms.Tensor(np.ones(3, np.float32))
    together = threading.Barrier(2)

    def slowly(x):
        together.wait()  # so that the calls of both are at one time
        time.sleep(0.2)
        return x

    with ms.profile():
        in_threads(2, lambda: f(x))
    began = time.perf_counter()
    with ms.profile() as p:
        in_threads(2, lambda: f(x))
        time.sleep(0.2)
    block = time.perf_counter() - began
    between = next(row.seconds for row in p.by("kernel") if row.name.startswith("Python between"))
    assert 0.2 <= between <= block - 0.2
    assert p.seconds - between >= 0.4
