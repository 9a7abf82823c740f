"""One compilation for all sizes on the device: every op and its derivative at 0, 1, 2, 7 and 64, loops, training."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops, value_and_grad
from autodiff_compiler.backends.ascend.backend import AscendBackend
from autodiff_compiler.backends.ascend.device import current
from autodiff_compiler.backends.ascend.symbolic import KEPT, SymbolicProgram
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.compiler.pipeline import optimise
from autodiff_compiler.dtypes import float32, from_numpy
from autodiff_compiler.errors import CompileError, UnsupportedCallError
from autodiff_compiler.inspection.samples import samples_of
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.parser import parse_module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import REGISTRY
from tests.ascend.on_device import MODES, Copies, Waits, array, ascend
from tests.ascend.sampled import TOLERANCES, WITH_SAMPLES
from tests.ascend.test_training import NETWORKS
from tests.backends.test_numpy_symbolic_sizes import resized
from tests.primitives.test_symbolic_sizes import (
    VALUES,
    WITHOUT,
    WITHOUT_DERIVATIVE,
    attributes,
    derivative,
    exchanged,
    forward,
    has_sizes,
    symbolic,
)  # fmt: skip
from tests.programs.compare import assert_close
from tests.programs.test_sizes_of_calls import ROWS, SIZES, outcome, program
from tests.programs.test_sizes_of_calls import tensor as of_rows

#: Ops that are promised what operands of other sizes do not keep here: places that differ, elements in order.
PROMISED = ("add_along_axis", "searchsorted", "take_along_axis")


def compiled(module: Module) -> Any:
    return AscendBackend(NumpyBackend().compile).compile(optimise(module).opt)


def results(program: Any, args: list[Any]) -> list[Any] | str:
    """What a call gives; of one that the device cannot run, why."""
    try:
        return [np.asarray(x) for x in program(*args)]
    except UnsupportedCallError as error:
        return str(error)


def checked(name: str, make: Any) -> int:
    """How many calls of programs for all sizes gave, to the bit, what the program for one size gives, and what NumPy
    does up to rounding."""
    defn, count = REGISTRY[name], 0
    rtol, atol = TOLERANCES[float32]
    for xs, attrs in samples_of(defn, float32):
        for size in sorted({d for x in xs for d in x.shape if d > 1}):
            for module, which in symbolic(make, defn, xs, attrs, size):
                program = compiled(module)
                assert isinstance(program, SymbolicProgram)
                for n in VALUES:
                    args = [resized(x, size, n) for x in xs]
                    known = attributes(defn, attrs, exchanged(size, n), which)
                    try:
                        of_one = optimise(make(known, [tensor(from_numpy(x.dtype), x.shape) for x in args])).opt
                        on_cpu = NumpyBackend().compile(of_one)(*args)
                    except (CompileError, ValueError, IndexError, np.linalg.LinAlgError):
                        continue  # not of this size, or not of these numbers
                    expected, found = results(compiled(of_one), args), results(program, args)
                    count += 1
                    if isinstance(expected, str) or isinstance(found, str):
                        assert found == expected
                        continue
                    for got, wanted, also in zip(found, expected, on_cpu, strict=True):
                        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
                        np.testing.assert_array_equal(got, wanted)
                        if name not in PROMISED:
                            np.testing.assert_allclose(got, also, rtol=rtol, atol=atol)
    return count


@pytest.mark.some(24)
@pytest.mark.parametrize("name", [name for name in WITH_SAMPLES if name not in WITHOUT and has_sizes(REGISTRY[name])])
def test_ops(name: str, device: Any) -> None:
    with np.errstate(all="ignore"):
        assert checked(name, functools.partial(forward, name))


@pytest.mark.some(24)
@pytest.mark.parametrize(
    "name", [n for n in WITH_SAMPLES if REGISTRY[n].vjp is not None and n not in WITHOUT_DERIVATIVE]
)
def test_derivatives(name: str, device: Any) -> None:
    with np.errstate(all="ignore"):
        assert checked(name, functools.partial(derivative, name, tangents=False))


# ------------------------------------------------------------------------------------------------ functions
WEIGHTS = array(3, 4, seed=9)


def until_large(x: Any) -> Any:
    h = x + 0.1
    while (h * h).sum() < 50.0 and h.shape[0] > 0:
        h = h * 1.5 + 0.1
    return h.sum()


def over_rows(x: Any) -> Any:
    found = x.sum() * 0
    for i in range(x.shape[0]):
        found = found + ops.tanh(x[i]).sum() * (i + 1)
    return found


def recurrent(x: Any) -> Any:
    h = x[0] * 0
    for row in x:
        h = ops.tanh(h * 0.5 + row)
    return h.sum()


def either(x: Any) -> Any:
    if x.sum() > 1:
        y = x * x
    else:
        y = x * 3
    return y.sum() / (x.shape[0] + 1)


def of_shapes(x: Any) -> Any:
    n = x.shape[0]
    rows = x.reshape(n * 2, 2)[: n // 2 + 1].sum(0) * n
    return (rows @ rows) / (n + 1) ** 0.5 + len(x)


def with_an_array(x: Any) -> Any:
    return ops.relu(x @ Tensor(WEIGHTS).T).sum()


FUNCTIONS = (until_large, over_rows, recurrent, either, of_shapes, with_an_array)


@pytest.mark.some(6)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_eager_code(f: Callable[..., Any], mode: str, device: Any) -> None:
    """Compiled with its derivative, and with the derivative on the tape; the sizes come again, for what is cached."""
    run, whole = jit(f), jit(value_and_grad(f))
    sizes = [n for n in (7, 2, 64, 0, 1, 7, 1, 2, 7) if n or f is not recurrent]
    for n in sizes:
        x = array(n, 4, seed=n) + 0.3
        wanted = [w.asnumpy() for w in value_and_grad(f)(Tensor(x))]
        with ascend(ascend_mode=mode):
            found = [[w.asnumpy() for w in g(Tensor(x))] for g in (whole, value_and_grad(run))]
            np.testing.assert_allclose(run(Tensor(x)).asnumpy(), wanted[0], rtol=2e-4, atol=1e-5)
        for values in found:
            for got, want in zip(values, wanted, strict=True):
                np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-5)
    assert run.cache_info()["compiles"] <= 3  # where 0 is a case of its own
    assert whole.cache_info()["compiles"] <= 3
    assert any("n: any size" in str(c) for c in run.explain_recompiles())


@pytest.mark.some(16)
@pytest.mark.parametrize("name", ROWS)
def test_arithmetic_of_sizes(name: str, device: Any) -> None:
    """The rows of `tests/programs`, with the derivative on the tape; the host helps, as they use float64."""
    body, most = ROWS[name]
    fn = program(body)

    def total(x: Any) -> Any:
        found = fn(x)
        found = found[0] if isinstance(found, tuple) else found
        return (found * found).sum() if isinstance(found, Tensor) else x.sum() * found

    for run, of in ((fn, jit(fn)), (ms.grad(total), ms.grad(jit(total)))):
        for n in SIZES:
            expected = outcome(run, of_rows(n))
            with ascend(ascend_fallback="host"):
                found = outcome(of, of_rows(n))
                if isinstance(expected, Exception):
                    assert type(found) is type(expected)
                else:
                    assert_close(found, expected, f"n = {n}", 2e-4)
        assert not hasattr(of, "cache_info") or of.cache_info()["compiles"] <= most


@pytest.mark.some(3)
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("mode", MODES)
def test_batches_of_any_size_train_as_eager_code_on_the_cpu(name: str, mode: str, device: Any) -> None:
    make, shape, optimizer_of = NETWORKS[name]

    def losses(compiled: bool) -> tuple[list[float], int]:
        ms.set_seed(3)
        network = make()
        optimizer = optimizer_of(network.trainable_params())
        criterion = nn.CrossEntropyLoss()

        def forward(x: Any, labels: Any) -> Any:
            return criterion(network(x), labels)

        gradient = value_and_grad(forward, None, optimizer.parameters)

        def step(x: Any, labels: Any) -> Any:
            loss, gradients = gradient(x, labels)
            optimizer(gradients)
            return loss

        run = jit(step) if compiled else step
        found = []
        for n in (4, 7, 2, 7, 1, 2, 7, 64):
            labels = np.arange(n, dtype=np.int32) % 3
            found.append(run(Tensor(array(n, *shape[1:], seed=n)), Tensor(labels)).item())
        return found, run.cache_info()["compiles"] if compiled else 0

    wanted, _ = losses(compiled=False)
    with ascend(ascend_mode=mode):
        found, compiles = losses(compiled=True)
    np.testing.assert_allclose(found, wanted, rtol=5e-4)
    assert compiles == 2


# ------------------------------------------------------------------------------------------------ what is kept
def live(device: Any) -> list[str]:
    """How many objects of CANN exist, by kind, without memory."""
    return [line for line in device.leaks().splitlines() if "memory" not in line]


@pytest.mark.some(3)
@pytest.mark.parametrize("mode", MODES)
def test_a_thousand_sizes_leave_nothing_behind(mode: str, device: Any) -> None:
    """Programs, constants on the device, executors with their descriptors and memory are those of the last sizes."""
    run = jit(lambda x: (ops.tanh(x) * x.shape[0]).sum() + Tensor(WEIGHTS).sum())
    rounds = 1 if mode == "per_call" else 2
    with ascend(ascend_mode=mode):
        here, counts = None, []
        for n in range(1, 1001):
            x = Tensor(np.full(n, 0.5, np.float32))
            for _ in range(rounds):
                found = run(x)
            if n % 250 == 0:
                np.testing.assert_allclose(found.item(), n * n * np.tanh(0.5) + WEIGHTS.sum(), rtol=1e-4)
                here = here or current()
                gc.collect()
                cached = sum(len(cache.items) for cache in here.keepers.values())
                counts.append((len(here.kept), cached, live(device)))
        assert run.cache_info()["compiles"] == 2
        assert counts[1] == counts[2] == counts[3], counts
        assert counts[3][1] <= KEPT
        assert here is not None
        assert here._memory.held < 100 * 4000  # the largest array has 4,000 bytes


def test_arrays_of_a_module_are_uploaded_once(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = Copies(monkeypatch, least=50)
    run = jit(lambda x: (x @ Tensor(WEIGHTS.repeat(8, axis=0)).T).sum())
    with ascend():
        for n in (2, 3):
            run(Tensor(array(n, 4)))
        before = copies.up
        for n in (4, 5, 6, 7):
            run(Tensor(array(n, 4)))  # of 64 to 112 bytes
        assert copies.up - before == 4


def test_numbers_that_sizes_make_are_the_hosts(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop over a size does not wait for its length, and Python's functions of sizes need no operator."""
    waits = Waits(monkeypatch)
    run = jit(over_rows)
    root = jit(lambda x: x / x.shape[0] ** 0.5)
    with ascend():
        for n in (2, 3, 5):
            x = Tensor(array(n, 4))
            assert (waits.of(lambda x=x: run(x)), waits.of(lambda x=x: root(x))) == (0, 0)
            np.testing.assert_allclose(root(x).asnumpy(), array(n, 4) / np.sqrt(n), rtol=1e-6)


def test_a_size_that_an_operator_does_not_take(device: Any) -> None:
    """The call is refused with its line; others go on with the same compilation."""

    @jit
    def put(places: Any, values: Any) -> Any:
        x = ops.zeros(3)
        x[places] = values
        return x

    with ascend():
        for n in (3, 4, 5000, 5):
            places, values = Tensor(np.arange(n) % 3), Tensor(np.arange(n, dtype=np.float32))
            if n < 4096:
                expected = [max(range(k, n, 3)) for k in range(3)]
                assert put(places, values).tolist() == expected
                continue
            with pytest.raises(UnsupportedCallError, match="the last of 5000 writers of a place is not") as raised:
                put(places, values)
            assert "x[places] = values" in str(raised.value)
        assert put.cache_info()["compiles"] == 2


def test_the_same_size_again_and_again_compiles_no_more(device: Any) -> None:
    run = jit(lambda x: (x * 2).sum())
    with ascend():
        for n in (2, 3, *[4] * 40):
            assert run(Tensor(np.ones(n, np.float32))).item() == 2 * n
        assert run.cache_info()["compiles"] == 2


def test_known_sizes_are_asked_for(device: Any) -> None:
    known, opened = jit(lambda x: x + x.shape[0], dynamic=False), jit(lambda x: x + x.shape[0], dynamic=True)
    with ascend():
        for n in (2, 3, 4):
            for run in (known, opened):
                assert run(Tensor(np.ones(n, np.float32))).tolist() == [n + 1.0] * n
    assert known.cache_info()["compiles"] == 3
    assert opened.cache_info()["compiles"] == 1


def test_threads_with_sizes_of_their_own(device: Any) -> None:
    run = jit(lambda x: ops.exp(x).sum(), dynamic=True)

    def called(first: int) -> list[float]:
        return [run(Tensor(np.zeros(n, np.float32))).item() for n in range(first, first + 12)]

    with ascend(), ThreadPoolExecutor(4) as pool:
        for first, found in zip((1, 5, 9, 3), pool.map(called, (1, 5, 9, 3)), strict=True):
            assert found == list(range(first, first + 12))


def test_texts_say_for_which_size_they_are(device: Any) -> None:
    run = jit(lambda x: ops.exp(x) * 2, dynamic=True)
    with ascend():
        run(Tensor(np.zeros(3, np.float32)))
        lowered = run.lower(Tensor(np.zeros(5, np.float32)))
        assert "exp: operators" in str(lowered.coverage())
        assert lowered.code().startswith("# a sequence of operators for each size, here for n = 3\nascend program")
        assert "aclnnExp(x:f32[3], " in lowered.code()


def test_a_text_with_symbolic_sizes(device: Any) -> None:
    text = (
        "size @n {low=1, high=8} func @f(%x: f32[n], %y: f32[2*n+1]) -> (f32[3*n+1]) {"
        " %c: f32[3*n+1] = concat %x, %y {axis=-1} return %c }"
    )
    program = AscendBackend(NumpyBackend().compile).compile(parse_module(text))
    assert "x:f32[8], y:f32[17]" in program.source  # the nearest to the size of an example
    for n in (1, 3):
        x, y = np.arange(n, dtype=np.float32), -np.arange(2 * n + 1, dtype=np.float32)
        np.testing.assert_array_equal(np.asarray(program(x, y)[0]), np.concatenate([x, y]))
