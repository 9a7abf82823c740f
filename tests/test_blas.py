"""Threads of BLAS: how many a product gets, and that the library's number is afterwards what it was before."""

from __future__ import annotations

import ctypes
import inspect
import os
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, blas, ops
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.backends.native.kernels import blas as native
from autodiff_compiler.blas import LARGE_PRODUCT, STATE, Library, products
from autodiff_compiler.config import context
from autodiff_compiler.ir.primitive import REGISTRY
from tests import forked

SMALL, LARGE = 10**6, LARGE_PRODUCT
compiled = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
openblas = pytest.mark.skipif(blas.gemm_library() is None, reason="no OpenBLAS with threads of its own here")


class Fake(Library):
    """A library that keeps what it is told."""

    def __init__(self, number: int = 8) -> None:
        self.number, self.told = number, []
        super().__init__(None, lambda: self.number, self._set)

    def _set(self, number: int) -> None:
        self.told.append(number)
        self.number = number


@pytest.fixture
def fake(monkeypatch):
    """Two libraries, as those of NumPy and SciPy, on a machine of 8 free cores."""
    found = Fake(), Fake()
    monkeypatch.setattr(blas, "libraries", lambda: found)
    idle(8)
    yield found
    STATE.most, STATE.when = context.num_threads, 0


def idle(free):
    """The machine has been looked at just now."""
    STATE.most = STATE.free = free
    STATE.when = time.monotonic_ns() + 10**12


@pytest.fixture
def two():
    """The libraries that are loaded, each told to use two threads by the user."""
    found = blas.libraries()
    before = [library.get() for library in found]
    for library in found:
        library.set(2)
    yield found
    for library, number in zip(found, before, strict=True):
        library.set(number)


# ------------------------------------------------------------------------------------------------ around a product
@pytest.mark.parametrize(
    ("operations", "free", "most", "expected"),
    [
        (SMALL, 8, 8, 1),
        (LARGE - 1, 8, 8, 1),
        (LARGE, 8, 8, 8),
        (LARGE, 100, 100, 8),  # the user's number is never exceeded
        (LARGE, 3, 8, 3),
        (LARGE, 8, 2, 2),
        (LARGE, 1, 8, 1),
        (blas.SINGLE, 1, 1, 8),  # for which the library takes one thread by itself: it is not asked
    ],
)
def test_how_many_threads_a_product_gets(fake, operations, free, most, expected):
    idle(free)
    STATE.most = most
    with products(operations):
        assert [x.number for x in fake] == [expected] * 2
    assert [x.number for x in fake] == [8, 8]


def test_the_users_one_thread_stays(fake):
    for library in fake:
        library.number = 1
    with products(SMALL):
        pass
    with products(LARGE):
        pass
    assert [x.told for x in fake] == [[], []]


def test_what_the_user_says_meanwhile_holds(fake):
    with products(SMALL):
        fake[0].number = 3
    assert [x.number for x in fake] == [3, 8]


def test_a_product_within_another_of_the_thread(fake):
    """As a handler of signals may have one."""
    with products(LARGE):
        with products(SMALL):
            assert fake[0].number == 1
    assert fake[0].number == 8
    with products(SMALL), products(LARGE):
        assert fake[0].number == 8
    assert fake[0].number == 8
    assert (STATE.python, blas._claims) == (0, {})


def test_of_two_threads_one_changes_the_number(fake):
    seen = []

    def other():
        with products(LARGE):
            seen.append(fake[0].number)

    with products(SMALL):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert fake[0].number == 1
    assert (seen, fake[0].told) == ([1], [1, 8])


def test_machine_code_that_has_changed_the_number_is_not_disturbed(fake):
    STATE.native = 1
    try:
        with products(LARGE):
            pass
    finally:
        STATE.native = 0
    assert fake[0].told == []
    assert STATE.python == 0


def test_an_interrupt_at_any_line_leaves_the_number_as_it_was(fake):
    """It is raised at the first line of the module that is run, then at the second, and so on to the end.

    One that comes when the block has been left, and nothing is done yet, is made good by the next product.
    """

    class _Interrupt(BaseException):
        pass

    late = 0
    for place in range(1000):
        left = [place]

        def trace(frame, event, argument, left=left):
            if frame.f_code.co_filename != blas.__file__:
                return None
            if event == "line":
                left[0] -= 1
                if left[0] == -1:
                    raise _Interrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            with products(LARGE - 1):
                pass
        except _Interrupt:
            pass
        finally:
            sys.settrace(before)
        late += fake[0].number != 8
        with products(SMALL):
            pass
        assert ([x.number for x in fake], STATE.python, blas._claims) == ([8, 8], 0, {}), place
        if left[0] >= 0:
            break
    assert late <= 1
    assert 10 < place < 1000


def test_an_error_leaves_the_number_as_it_was(fake):
    with pytest.raises(np.linalg.LinAlgError):
        ops.cholesky(Tensor(-np.eye(100, dtype=np.float32)))
    assert [x.told for x in fake] == [[1, 8]] * 2


def test_threads_of_python_and_machine_code_at_the_same_time(two):
    x = Tensor(np.ones((160, 160), np.float32))
    run = ms.jit(lambda x: ops.matmul(x, x).sum())
    run(x)
    wrong = []

    def work():
        for _ in range(100):
            if run(x).item() != 160.0**3 or (x @ x).asnumpy()[0, 0] != 160:
                wrong.append(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert [library.get() for library in two] == [2] * len(two)
    assert (STATE.python, STATE.native) == (0, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_child_of_a_fork_has_the_users_number(fake):
    inside, over = threading.Event(), threading.Event()

    def hold():
        with products(SMALL):
            inside.set()
            over.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(30)
    child = os.fork()
    if not child:
        with products(SMALL):
            fine = [x.number for x in fake] == [1, 1]
        os._exit(0 if fine and [x.number for x in fake] == [8, 8] else 1)
    over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [x.number for x in fake] == [8, 8]


# ------------------------------------------------------------------------------------------------ who asks for it
def _square(n=200):
    return np.eye(n, dtype=np.float32) * 2


_X, _W = Tensor(np.ones((4, 8, 32, 32), np.float32)), Tensor(np.ones((8, 8, 3, 3), np.float32))
CALLS = {
    "operator": lambda: Tensor(_square()) @ Tensor(_square()),
    "function": lambda: ops.matmul(Tensor(_square()[None]), Tensor(_square()[None])),
    "of a vector": lambda: ops.matmul(Tensor(_square()), Tensor(_square()[0])),
    "16-bit floats": lambda: ops.matmul(Tensor(_square().astype(np.float16)), Tensor(_square().astype(np.float16))),
    "convolution": lambda: ops.conv2d(_X, _W),
    "norm": lambda: ops.norm(Tensor(np.ones(20_000, np.float32))),
    "solve": lambda: ops.solve(Tensor(_square()), Tensor(_square())),
    "inverse": lambda: ops.inverse(Tensor(_square())),
    "svd": lambda: ops.svd(Tensor(_square(100))),
    "matrix_exp": lambda: ops.matrix_exp(Tensor(_square(100))),
}


@pytest.mark.parametrize("name", CALLS)
def test_small_work_has_one_thread_in_eager_mode(fake, name):
    CALLS[name]()
    told = fake[0].told
    assert told
    assert told == [1, 8] * (len(told) // 2)


@pytest.mark.parametrize("backend", ["numpy", pytest.param("native", marks=compiled)])
def test_what_numpy_computes_in_compiled_code_has_one_thread(fake, backend):
    x = Tensor(_square())
    run = ms.jit(lambda x: ops.inverse(x).sum(), backend=backend)
    assert run(x).item() == 100.0
    assert fake[0].told == [1, 8]


def test_products_of_the_numpy_backend_have_one_thread(fake):
    program = ms.jit(lambda x: ops.matmul(x, x), backend="numpy")
    assert program(Tensor(_square())).asnumpy()[0, 0] == 4.0
    assert fake[0].told == [1, 8]
    fake[0].told.clear()
    idle(8)
    program(Tensor(_square(400)))
    assert fake[0].told == []


def test_a_saved_program_needs_numpy_only(tmp_path):
    program = ms.jit(lambda x: ops.matmul(x, x), backend="numpy").lower(Tensor(_square()))
    path = tmp_path / "alone.py"
    path.write_text(program.code())
    name = re.search(r"^def (\w+)\(x\)", program.code(), re.MULTILINE)[1]
    code = f"import numpy as np, alone; print(alone.{name}(np.eye(200, dtype=np.float32))[0].sum())"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "200.0\n"
    assert "with PRODUCTS(16000000):" in program.code()


def test_all_kernels_that_use_blas_say_so():
    word = re.compile(r"np\.(linalg|matmul|dot|vdot|inner|tensordot)\b|scipy\.linalg|attempted\(")
    using = {name for name, op in REGISTRY.items() if op.numpy is not None and word.search(inspect.getsource(op.numpy))}
    silent = {name for name in using if not REGISTRY[name].blas}
    assert not silent - {"check_solved"}  # which only raises what NumPy would
    assert all(callable(op.flops) for op in REGISTRY.values() if op.blas)


# ------------------------------------------------------------------------------------------------ machine code
@pytest.fixture
def seen(two):
    """The numbers of threads while machine code called the library."""
    found, (library, *_) = [], two
    types = [ctypes.c_int] * 3 + [ctypes.c_int64] * 3 + [ctypes.c_float, ctypes.c_void_p, ctypes.c_int64]
    types += [ctypes.c_void_p, ctypes.c_int64, ctypes.c_float, ctypes.c_void_p, ctypes.c_int64]
    real = ctypes.CFUNCTYPE(None, *types)(library.gemm("s"))

    def called(*arguments):
        found.append(library.get())
        real(*arguments)

    callback = ctypes.CFUNCTYPE(None, *types)(called)
    pointers = native.functions().context
    before = pointers[7]
    pointers[7] = ctypes.cast(callback, ctypes.c_void_p).value
    yield found
    pointers[7] = before
    STATE.most, STATE.when = context.num_threads, 0


@compiled
@openblas
@pytest.mark.parametrize(("size", "free", "most", "expected"), [
    (128, 2, 2, 1), (290, 2, 2, 1), (300, 2, 2, 2), (300, 1, 2, 1), (300, 2, 1, 1),
])  # fmt: skip
def test_how_many_threads_a_product_of_machine_code_gets(seen, two, size, free, most, expected):
    idle(free)
    STATE.most = most
    x = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    found = ms.jit(lambda x: ops.matmul(x, x), backend="native")(Tensor(x)).asnumpy()
    assert seen == [expected]
    assert [library.get() for library in two] == [2] * len(two)
    exact = x.astype(np.float64) @ x.astype(np.float64)
    np.testing.assert_allclose(found, exact, rtol=0, atol=4 * size * np.finfo(np.float32).eps)


@compiled
@openblas
def test_machine_code_leaves_the_number_that_python_has_changed(seen, two):
    idle(2)
    run = ms.jit(lambda x: ops.matmul(x, x), backend="native")
    with products(SMALL):
        run(Tensor(_square(300)))
        assert two[0].get() == 1
    assert (seen, two[0].get(), STATE.native) == ([1], 2, 0)


@compiled
@openblas
def test_machine_code_leaves_the_users_one_thread(seen, two):
    two[0].set(1)
    ms.jit(lambda x: ops.matmul(x, x), backend="native")(Tensor(_square(300)))
    assert (seen, two[0].get()) == ([1], 1)


#: OpenBLAS hands what its threads are to do to a function of ours, which notes that and lets other threads do it.
WAKES = """
import ctypes, threading
import numpy as np
import autodiff_compiler as ms
from autodiff_compiler import Tensor, blas, ops
library = blas.gemm_library()
names = [f"{p}openblas_set_threads_callback_function{s}" for p in ("scipy_", "") for s in ("", "64_", "_64")]
watch = next(filter(None, (getattr(library.handle, name, None) for name in names)), None)
job = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
kind = ctypes.CFUNCTYPE(
    None, ctypes.c_int, job, ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
)
woken = []

@kind
def noted(sync, do, count, size, data, more):
    woken.append(count)
    threads = [threading.Thread(target=do, args=(i, data + i * size, more)) for i in range(count)]
    [t.start() for t in threads]
    [t.join() for t in threads]

if watch is None:
    raise SystemExit(print("no way to see it"))
library.set(2)
watch(noted)
x = np.eye(128, dtype=np.float32)
assert (x @ x)[0, 0] == 1.0 and woken == [2], woken
woken.clear()

@ms.jit(backend="numpy")
def interpreted(x):
    return ops.matmul(x, x)

@ms.jit(backend="auto")
def compiled(x):
    return ops.inverse(ops.matmul(x, x))

SQUARE = [(n, n) for n in (28, 65, 80, 128, 140)]
rng = np.random.default_rng(0)
for shape in [*SQUARE, (2, 512), (512, 2), (10, 100), (8, 4096), (1, 9999)]:
    x, row = Tensor(rng.standard_normal(shape)), Tensor(rng.standard_normal(shape[1]))
    works = [lambda: x @ x.T, lambda: ops.matmul(x, row), lambda: ops.norm(x), lambda: ops.svd(x), lambda: ops.qr(x)]
    if shape in SQUARE:
        works += [lambda: interpreted(x), lambda: compiled(x), lambda: ops.solve(x, x), lambda: ops.eigh(x)]
    for work in works:
        work()
        assert not woken, (shape, works.index(work), woken)
x = Tensor(rng.standard_normal((290, 290)))
x @ x, interpreted(x), ms.jit(ops.matmul)(x, x)
assert not woken, woken
assert library.get() == 2
print("nobody")
"""


@openblas
def test_no_small_work_wakes_a_thread(tmp_path):
    """The library itself is the witness; a product by NumPy alone, which wakes one, is what it is asked about first."""
    path = tmp_path / "wakes.py"
    path.write_text(WAKES)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = forked.run(path, env=environment)
    assert (done.stdout, done.stderr) in {("nobody\n", ""), ("no way to see it\n", "")}


# ------------------------------------------------------------------------------------------------ the machine
#: How long cores have worked, ours and all, in the time of the second look, and what is left of 4 cores.
LOOKS = {
    "nobody": (0.0, 0.0, 4),
    "this process only": (2.0, 2.0, 4),
    "one other": (0.0, 1.0, 3),
    "one other beside this process": (2.0, 3.0, 3),
    "little": (1.0, 1.4, 4),
    "more than half": (1.0, 1.6, 3),
    "all": (0.5, 4.0, 1),
    "counted late": (2.0, 1.0, 4),
}


@pytest.mark.parametrize("who", ["python", pytest.param("machine code", marks=[compiled, openblas])])
@pytest.mark.parametrize("name", LOOKS)
def test_cores_that_others_leave_free(monkeypatch, tmp_path, name, who):
    own, everyone, expected = LOOKS[name]
    path = tmp_path / "stat"
    ticks = round(1000 + 100 * everyone)
    path.write_text(f"cpu  {ticks - 6} 1 1 77777 8888 1 1 2 999 999\ncpu0 5 5 5 5\n")
    stat = ctypes.create_string_buffer(os.fsencode(path))
    monkeypatch.setattr(blas, "STAT", stat)
    before = {field: getattr(STATE, field) for field, _ in blas.State._fields_}
    STATE.cores, STATE.tick, STATE.free = 4, 10_000_000, 4
    STATE.when = time.monotonic_ns() - 10**9
    STATE.worked, STATE.own = 10 * 10**9, time.process_time_ns() - round(own * 10**9)
    look = blas.free_cores
    if who == "machine code":
        look = ctypes.CFUNCTYPE(ctypes.c_int64)(native.functions().address("free_cores"))
        pointers = native.functions().context
        real, pointers[6] = pointers[6], ctypes.addressof(stat)
    try:
        assert look() == expected
        assert STATE.worked == ticks * 10_000_000
        STATE.free = 2
        assert look() == 2  # known for a tenth of a second
        path.unlink()
        STATE.when = 1
        assert look() == 4  # not told: all of them
    finally:
        if who == "machine code":
            pointers[6] = real
        for field, value in before.items():
            setattr(STATE, field, value)


# ------------------------------------------------------------------------------------------------ the setting
def test_the_setting_bounds_what_large_products_get(fake):
    before = ms.get_context("num_threads")
    assert isinstance(before, int)
    assert before >= 1
    try:
        ms.set_context(num_threads=1)
        assert ms.get_context("num_threads") == 1
        ops.matmul(Tensor(_square(400)), Tensor(_square(400)))
        assert fake[0].told == [1, 8]
    finally:
        ms.set_context(num_threads=before)
    assert STATE.most == before


def test_the_number_of_threads_may_be_of_numpy():
    before = ms.get_context("num_threads")
    try:
        ms.set_context(num_threads=np.int64(2))
        assert ms.get_context("num_threads") == 2
        assert type(ms.get_context("num_threads")) is int
        assert STATE.most == 2
    finally:
        ms.set_context(num_threads=before)
    with pytest.raises(TypeError, match="num_threads is an int, not bool"):
        ms.set_context(num_threads=np.True_)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0, ValueError, "num_threads is at least 1, not 0"),
        (-2, ValueError, "num_threads is at least 1, not -2"),
        (1.5, TypeError, "num_threads is an int, not float"),
        (True, TypeError, "num_threads is an int, not bool"),
        ("2", TypeError, "num_threads is an int, not str"),
        (None, TypeError, "num_threads is an int, not NoneType"),
    ],
)
def test_numbers_of_threads_that_cannot_be(value, error, text):
    before = STATE.most
    with pytest.raises(error, match=text):
        ms.set_context(num_threads=value)
    assert (ms.get_context("num_threads"), STATE.most) == (before, before)


# ------------------------------------------------------------------------------------------------ values
@pytest.mark.parametrize("backend", ["numpy", pytest.param("native", marks=compiled)])
def test_results_of_one_and_two_threads_agree(two, backend):
    """Up to roundings: who adds up what depends on how many there are."""
    rng = np.random.default_rng(0)
    x, w = (Tensor(rng.standard_normal((500, 500)).astype(np.float32)) for _ in range(2))
    run = ms.jit(ms.value_and_grad(lambda x, w: (ops.tanh(ops.matmul(x, w)) ** 2).sum(), (0, 1)), backend=backend)
    idle(2)
    many = run(x, w)
    STATE.most = 1
    one = run(x, w)
    STATE.most, STATE.when = context.num_threads, 0
    for a, b in zip((many[0], *many[1]), (one[0], *one[1]), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-3)
