"""What there is no memory for: a MemoryError that says what was asked for, how many bytes, and where."""

from __future__ import annotations

import inspect
import textwrap

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, TooLittleMemoryError, nn, ops
from autodiff_compiler.backends.native.jit import machine
from autodiff_compiler.common import initializer
from autodiff_compiler.no_memory import told_bytes
from tests import forked

#: More elements than a process can address, than NumPy can count the bytes of, and than it can count.
SIZES = (2**47, 2**60, 2**62)
NATIVE = pytest.mark.skipif(machine.why_not() is not None, reason="no native code here")
BACKENDS = ["numpy", pytest.param("native", marks=NATIVE)]


def refused(call, shape, dtype="f64", width=8):
    """The error of a call; its text names the array."""
    with pytest.raises(TooLittleMemoryError) as raised:
        call()
    assert isinstance(raised.value, MemoryError)
    said = raised.value.message
    count = int(np.prod([1, *shape], dtype=object))
    assert f"{dtype}[{','.join(map(str, shape))}]" in said
    assert f"{count * width:,} bytes" in said
    return raised.value


X = Tensor(np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    "call",
    [
        lambda n: ops.zeros((n,), ms.float64),
        lambda n: ops.full((n,), 2.5, dtype=ms.float64),
        lambda n: Tensor(shape=(n,), dtype=ms.float64, init="zeros").init_data(),
    ],
    ids=["zeros", "full", "init"],
)
def test_new_tensors(n, call):
    refused(lambda: call(n), (n,))


def tensor_of_a_shape(n):
    return Tensor(shape=(n,), dtype=ms.float32, init=initializer.Normal())


def an_initializer(n):
    return initializer.initializer("normal", [n], ms.float32)


def a_parameter(n):
    return Parameter(initializer.initializer("zeros", [n], ms.float32), name="w")


def a_cell(n):
    return nn.Dense(n, 1)


@pytest.mark.parametrize("call", [tensor_of_a_shape, an_initializer, a_parameter, a_cell], ids=lambda f: f.__name__)
def test_constructors_say_the_line_of_the_user(call):
    error = refused(lambda: call(2**46), (1, 2**46) if call is a_cell else (2**46,), "f32", 4)
    (code,) = [line for line in inspect.getsource(call).splitlines() if "return" in line]
    assert error.loc.file == __file__
    assert error.loc.line == call.__code__.co_firstlineno + 1
    assert code.strip() in str(error)


def test_a_constructor_in_compiled_code_says_the_line_there():
    def f(x):
        return x + Tensor(shape=(2**46,), dtype=ms.float32, init=0)

    error = refused(lambda: ms.jit(f)(X), (2**46,), "f32", 4)
    assert error.loc.line == f.__code__.co_firstlineno + 1


def test_eager_operations():
    n = 2**46
    refused(lambda: ops.broadcast_to(X, (n, 3)) * 2.0, (n, 3))
    a, b = ops.broadcast_to(X[:1], (2**24,)), ops.broadcast_to(X[:1], (2**24,))
    refused(lambda: ops.outer(a, b), (2**24, 2**24))
    refused(lambda: ops.tile(X, (n,)), (n, 3))
    refused(lambda: ops.rand(n), (n,), "f32", 4)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", SIZES)
def test_results_of_compiled_code(backend, n):
    @ms.jit(backend=backend)
    def f(x):
        y = x * 2.0
        return ops.broadcast_to(y[0], (n,)) * 1.5

    for _ in range(2):
        error = refused(lambda: f(X), (n,))
        assert "return ops.broadcast_to" in str(error)  # the line


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(2**63,), (2**64,), (2**64 + 3,), (2**40, 2**40), (2**62, 0, 2**62)], ids=str)
@pytest.mark.parametrize(
    "compute",
    [
        lambda x, shape: ops.zeros(shape),
        lambda x, shape: x * ops.ones(shape),
        lambda x, shape: (x * ops.ones(shape)).sum(),
        lambda x, shape: ops.cumsum(x * ops.ones(shape), 0),
    ],
    ids=["zeros", "ones", "sum", "cumsum"],
)
def test_sizes_beyond_64_bits_in_compiled_code(backend, shape, compute):
    """They must not wrap around: 2**64 + 3 elements are not 3."""
    f = ms.jit(lambda x: compute(x, shape), backend=backend)
    with pytest.raises(TooLittleMemoryError) as raised:
        f(Tensor(2.0))
    assert f"f32[{','.join(map(str, shape))}]" in raised.value.message
    assert raised.value.loc.file == __file__


@NATIVE
@pytest.mark.parametrize("trips", [2**52 + 2, 2**62])
def test_what_a_loop_keeps_is_counted_beyond_64_bits(trips):
    """2**52 + 2 records of 4096 bytes are not two of them."""

    def f(x):
        s = x * 0
        for _ in range(trips):
            s = ops.sin(s + x)
        return s.sum()

    with pytest.raises(TooLittleMemoryError):
        ms.jit(ms.grad(f), backend="native")(Tensor(np.ones(1024, np.float32)))


@NATIVE
def test_what_a_loop_keeps_is_named():
    """Of every trip the derivative needs what the sine was taken of."""
    trips, n = 2**34, 2**12

    def f(x):
        s = x * 0
        for _ in range(trips):
            s = ops.sin(s + x)
        return s.sum()

    with pytest.raises(TooLittleMemoryError) as raised:
        ms.jit(ms.grad(f), backend="native")(Tensor(np.ones(n, np.float32)))
    said = raised.value.message
    kept = f"{4 * n * trips:,} bytes (262,144 GiB)"
    assert said.endswith(f"the largest is what a loop keeps of its trips: {kept}")
    whole = said.partition("on the way: ")[2].partition(" bytes")[0]
    assert 4 * n * trips <= int(whole.replace(",", "")) < 4 * n * trips + 2**20
    assert "for _ in range(trips)" in str(raised.value)


@pytest.mark.parametrize(
    ("nbytes", "unit"), [(1023, ""), (1024, " (1 KiB)"), (40_000_000, " (38 MiB)"), (3 * 2**30, " (3 GiB)")]
)
def test_amounts_have_fitting_units(nbytes, unit):
    assert told_bytes(nbytes) == f"{nbytes:,} bytes{unit}"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_branch_not_taken_may_be_too_large(backend):
    @ms.jit(backend=backend)
    def f(x):
        if x > 0:
            return x * 2
        return (x * ops.ones((2**64 + 3,))).sum()

    assert f(Tensor(2.0)).item() == 4.0
    refused(lambda: f(Tensor(-2.0)), (2**64 + 3,), "f32", 4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_lies_on_the_way(backend):
    n = 2**46

    @ms.jit(backend=backend)
    def f(x):
        y = ops.broadcast_to(x[:1], (n,)) * x[1]
        y = ops.cumsum(y, 0)
        return ops.cumsum(ops.sin(y), 0).sum()

    for _ in range(2):
        error = refused(lambda: f(X), (n,))
        assert "on the way" in error.message or backend == "numpy"
        assert error.loc.file == __file__


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives(backend):
    n = 2**46

    def f(x):
        return (ops.broadcast_to(x[:1], (n,)) ** 3).sum()

    with pytest.raises(TooLittleMemoryError, match=r"f64\[70368744177664\]"):
        ms.jit(ms.grad(lambda x: ops.cumsum(ops.exp(ops.broadcast_to(x[:1], (n,))), 0).sum()), backend=backend)(X)
    refused(lambda: ms.grad(f)(X), (n,))


LARGE = (2**40, 2**30)
EAGER = {
    "made": lambda x: ops.zeros(LARGE),
    "broadcast": lambda x: ops.broadcast_to(x, (2**60, 2)),
    "added": lambda x: x.reshape((2, 1)) + ops.broadcast_to(x[:1], (2**60,)),
    "drawn": lambda x: ops.randn(*LARGE),
    "in a derivative": lambda x: ms.grad(lambda v: ops.broadcast_to(v, (2**60, 2)).sum())(x),
}


@pytest.mark.parametrize("name", EAGER)
def test_errors_of_eager_code_point_at_the_users_expression(name):
    function = EAGER[name]
    with pytest.raises(TooLittleMemoryError) as caught:
        function(Tensor([1.0, 2.0]))
    ((loc, _),) = caught.value.spans
    assert (loc.file, loc.line) == (__file__, function.__code__.co_firstlineno)
    assert "^^^" in str(caught.value)


def test_errors_of_compiled_code_point_into_the_compiled_function():
    """Not at its call, which is what runs while it is compiled."""

    def f(x):
        y = x * 2.0
        return y, ops.zeros(LARGE)

    with pytest.raises(TooLittleMemoryError) as caught:
        ms.jit(f)(Tensor([1.0, 2.0]))
    assert caught.value.spans[0][0].line == f.__code__.co_firstlineno + 2


def test_a_memory_error_of_the_users_own_stays():
    class Own(ms.nn.Cell):
        def construct(self, x):
            return x * 2.0

        def bprop(self, x, out, dout):
            raise MemoryError("mine")

    with pytest.raises(MemoryError, match=r"^mine$") as raised:
        ms.grad(Own())(X)
    assert not isinstance(raised.value, TooLittleMemoryError)


def test_a_call_that_had_memory_before(tmp_path):
    """The same program in a process that may have less from now on."""
    code = """
    import os, resource
    os.environ["AC_POOL_SIZE"] = "0"  # no memory is kept for later calls
    import numpy as np
    import autodiff_compiler as ms
    from autodiff_compiler import Tensor, ops

    @ms.jit
    def f(x):
        return ops.cumsum(x, 0)

    def used():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()

    large = Tensor(np.ones(1 << 24))
    for _ in range(3):
        f(large)
    resource.setrlimit(resource.RLIMIT_AS, (used() + (50 << 20), resource.RLIM_INFINITY))
    for _ in range(2):
        try:
            f(large)
        except MemoryError as error:
            print(type(error).__name__, str(error).splitlines()[0])
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(code))
    found = forked.run(tmp_path / "program.py")
    lines = found.stdout.splitlines()
    assert len(lines) == 2, found.stderr
    for line in lines:  # short calls leave it to NumPy to say it
        assert "128. MiB for an array with shape (16777216,)" in line or "f64[16777216]: 134,217,728 bytes" in line


# ------------------------------------------------------------------------------------------------ made by NumPy itself
N = 2**20
MADE = {
    "linspace": (lambda x: ops.linspace(0, 1, 2**42) + x[0], "f64[4398046511104]"),
    "logspace": (lambda x: ops.logspace(0, 1, 2**42) + x[0], "f64[4398046511104]"),
    "hann_window": (lambda x: ops.hann_window(2**42, periodic=False) + x[0], "f64[4398046511104]"),
    "blackman_window": (lambda x: ops.blackman_window(2**42, periodic=False) + x[0], "f64[4398046511104]"),
    "tril_indices": (lambda x: ops.tril_indices(N, N) + x[0], f"bool[{N},{N}]"),
    "interpolate": (lambda x: ops.interpolate(x.reshape(1, 1, -1), size=(2**42,), mode="nearest"), "[4398046511104]"),
    "eye": (lambda x: ops.eye(N, N, ms.float64) + x[0], f"f64[{N},{N}]"),
    "rand": (lambda x: ops.rand(N, N) + x[0], f"[{N},{N}]"),
    "numpy.eye": (lambda x: ms.numpy.eye(N) + x[0], f"f64[{N},{N}]"),
    "numpy.tri": (lambda x: ms.numpy.tri(N) + x[0], f"bool[{N},{N}]"),
    "numpy.linspace": (lambda x: ms.numpy.linspace(0, 1, 2**42) + x[0], "[4398046511104]"),
    "numpy.geomspace": (lambda x: ms.numpy.geomspace(1, 2, 2**42) + x[0], "[4398046511104]"),
    "numpy.bartlett": (lambda x: ms.numpy.bartlett(2**42) + x[0], "f64[4398046511104]"),
    "numpy.tril_indices": (lambda x: ms.numpy.tril_indices(N)[0] + x[0], f"bool[{N},{N}]"),
    "positions": (lambda x: x[:1].reshape(1, 1).broadcast_to((1, N))[ops.zeros((N,), ms.int64)], f"f64[{N},{N}]"),
}


@pytest.mark.parametrize("backend", ["eager", *BACKENDS])
@pytest.mark.parametrize("name", MADE)
def test_what_numpy_makes_while_code_is_run_or_compiled(backend, name):
    f, array = MADE[name]
    call = f if backend == "eager" else ms.jit(f, backend=backend)
    with pytest.raises(TooLittleMemoryError) as raised:
        call(X)
    assert array in raised.value.message
    assert " bytes (" in raised.value.message
    if backend != "eager":
        assert raised.value.loc.file == __file__


@pytest.mark.parametrize("backend", BACKENDS)
def test_more_elements_than_numpy_counts_while_code_is_compiled(backend):
    with pytest.raises(TooLittleMemoryError, match="no memory for"):
        ms.jit(lambda x: ops.linspace(0, 1, 2**62) + x[0], backend=backend)(X)
    with pytest.raises(TooLittleMemoryError, match="no memory for"):
        ops.linspace(0, 1, 2**62)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_program_of_symbolic_sizes_says_what_they_are_in_the_call(backend, dynamic):
    def between(x):
        rows = ops.broadcast_to(x.sum(1, keepdims=True), (x.shape[0], x.shape[0]))
        return ops.cumsum(rows, 1).sum()

    def given(x):
        return ops.broadcast_to(x.sum(1, keepdims=True), (x.shape[0], x.shape[0])) + 1

    for f in (between, given):
        compiled = ms.jit(f, dynamic=dynamic, backend=backend)
        assert compiled(Tensor(np.zeros((3, 0)))).shape == f(Tensor(np.zeros((3, 0)))).shape
        n = 2**23
        error = refused(lambda call=compiled: call(Tensor(np.zeros((n, 0)))), (n, n))
        assert error.loc.file == __file__
        assert f.__code__.co_firstlineno < error.loc.line <= f.__code__.co_firstlineno + 2
