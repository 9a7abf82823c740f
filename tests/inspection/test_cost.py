"""What `artifact.cost()` counts: operations against formulas, bytes of fused loops against counts by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.inspection import compiled_call, machine_limits
from autodiff_compiler.inspection.cost import Cost
from autodiff_compiler.primitives.flops import flops_of_functions

FUNCTIONS = flops_of_functions()
EXP, TANH, SIN = FUNCTIONS["exp"], FUNCTIONS["tanh"], FUNCTIONS["sin"]


def limits(backend: str) -> machine_limits.MachineLimits:
    """Of a machine that was thought up: nothing is measured in tests."""
    rates = {name: 1e-9 for name in ("add", *FUNCTIONS)}
    speeds = {"f32": 1e11, "f64": 5e10}
    pairs = ((1 << 14, 1e11), (1 << 24, 1e10))
    kernels = {"msort": 1e-9, "argsort": 3e-9, "inverse": 2e-9, "eigh": 5e-9, "lgamma": 4e-8}
    by_dtype = [{"f32": each, "f64": each} for each in (rates, kernels)]
    return machine_limits.MachineLimits(backend, "made up", 1e-7, speeds, speeds, 1e-9, pairs, 0.0, *by_dtype)


@pytest.fixture(autouse=True)
def _known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_call, "machine_limits", limits)


def cost(f: Callable[..., Any], *shapes: Any, backend: str = "native", trips: int = 1) -> Cost:
    arguments = [Tensor(np.ones(s, np.float32)) for s in shapes]
    return ms.jit(f, backend=backend).lower(*arguments).cost(trips=trips)


needs_native = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")
backends = pytest.mark.parametrize("backend", [pytest.param("native", marks=needs_native), "numpy"])


# ------------------------------------------------------------------------------------------------ operations
def product(a: Any, b: Any) -> Any:
    return ops.matmul(a, b)


def network(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    hidden = ops.tanh(ops.matmul(x, w1) + b1)
    error = ops.matmul(hidden, w2) + b2
    return (error * error).mean()


def convolution(x: Any, w: Any) -> Any:
    return ops.conv2d(x, w)


def convolved(x: Any, w: Any) -> Any:
    return (ops.conv2d(x, w) * 2.0).sum()


def softmax(x: Any) -> Any:
    return ops.softmax(x, -1)


@backends
def test_a_product_counts_two_operations_for_each_multiplication(backend: str) -> None:
    assert cost(product, (5, 7), (7, 3), backend=backend).flops == 2 * 5 * 7 * 3
    assert cost(product, (4, 5, 7), (4, 7, 3), backend=backend).flops == 4 * 2 * 5 * 7 * 3


B, I, H = 16, 8, 12
SIZES = [(B, I), (I, H), (H,), (H, 1), (1,)]
FORWARD = 2 * B * I * H + B * H + TANH * B * H + 2 * B * H + B + B + B + 1
#: Of the error: 2 / B times it (as a product and a sum); of each bias a sum; of tanh 1 - t * t times what comes.
BACKWARD = 2 * B + B + 2 * B * H + 2 * B * H + 3 * B * H + B * H + 2 * B * I * H


@backends
def test_a_network_forward_and_backward(backend: str) -> None:
    assert cost(network, *SIZES, backend=backend).flops == FORWARD
    both = cost(ms.value_and_grad(network, (1, 2, 3, 4)), *SIZES, backend=backend)
    assert both.flops == FORWARD + BACKWARD


def test_a_convolution_and_its_derivatives_count_as_much_each() -> None:
    once = 2 * (2 * 4 * 6 * 6) * (3 * 3 * 3)  # every element of the result takes a window of every channel
    sizes = ((2, 3, 8, 8), (4, 3, 3, 3))
    assert cost(convolution, *sizes, backend="numpy").flops == once
    found = cost(ms.value_and_grad(convolved, (0, 1)), *sizes, backend="numpy")
    rest = 2 * 4 * 6 * 6 * 2  # times 2 and the sum; the cotangent is a constant
    assert found.flops == 3 * once + rest


@backends
def test_softmax(backend: str) -> None:
    # the maximum, the difference, exp, the sum, the quotient
    assert cost(softmax, (10, 7), backend=backend).flops == 70 * (EXP + 4)


def steps(x: Any) -> Any:
    for _ in range(50):
        x = x * ops.sin(x)
    return x.sum()


def until(x: Any) -> Any:
    while x < 10.0:
        x = x * 2.0
    return x


def arms(x: Any) -> Any:
    if x.sum() > 0:
        return ops.exp(x)
    return x * 2.0


@backends
def test_loops_count_their_trips(backend: str) -> None:
    found = cost(steps, (100,), backend=backend)
    assert found.flops == 50 * (SIN + 1) * 100 + 100
    assert found.per_trip == ()


@backends
def test_loops_of_unknown_length_count_as_asked(backend: str) -> None:
    once, often = cost(until, (), backend=backend), cost(until, (), backend=backend, trips=10)
    assert once.flops == 1 + 2  # the condition is computed once more
    assert often.flops == 10 + 11
    (loop,) = often.per_trip
    assert loop.startswith("test_cost.py:")
    assert "10 trips of loops counted" in str(often)
    with pytest.raises(ValueError, match="trips must not be negative"):
        cost(until, (), trips=-1)


@backends
def test_the_slower_arm_counts(backend: str) -> None:
    assert cost(arms, (100,), backend=backend).flops == 100 + 1 + 100 * EXP


# ------------------------------------------------------------------------------------------------ bytes
N = 1000


def chain(x: Any) -> Any:
    return ((x * 2.0 + 1.0) * x - 0.5) * x


def with_sum(x: Any) -> Any:
    doubled = x * 2.0
    return doubled + 1.0, doubled.sum()


def shifted(x: Any, row: Any) -> Any:
    return x * 2.0 + row


def swapped(x: Any) -> Any:
    return ops.transpose(x, (1, 0))


def gathered(table: Any, index: Any) -> Any:
    return ops.gather(table, index, 0)


@needs_native
def test_a_fused_chain_goes_through_memory_once() -> None:
    found = cost(chain, (N,))
    assert (found.flops, found.read, found.written) == (5 * N, 4 * N, 4 * N)
    assert found.intensity == 5 / 8


def test_numpy_goes_through_memory_for_every_function() -> None:
    found = cost(chain, (N,), backend="numpy")
    # x alone for the first, two arrays for the two products by x, one for each other
    assert (found.read, found.written) == ((1 + 1 + 2 + 1 + 2) * 4 * N, 5 * 4 * N)


@needs_native
def test_two_results_of_one_loop_share_what_it_reads() -> None:
    found = cost(with_sum, (N,))
    assert (found.read, found.written) == (4 * N, 4 * N + 4)


@needs_native
def test_what_is_broadcast_is_read_once() -> None:
    found = cost(shifted, (50, 8), (8,))
    assert (found.read, found.written) == (4 * 50 * 8 + 4 * 8, 4 * 50 * 8)


@needs_native
def test_rows_are_read_once_however_often_a_kernel_goes_over_them() -> None:
    found = cost(softmax, (64, 500))
    assert (found.read, found.written) == (4 * 64 * 500, 4 * 64 * 500)


@needs_native
def test_a_result_in_another_order_is_a_copy() -> None:
    found = cost(swapped, (30, 40))
    assert (found.flops, found.read, found.written) == (0, 4 * 1200, 4 * 1200)


@needs_native
@pytest.mark.parametrize("joined", [ops.concat, ops.stack])
def test_what_is_put_together_is_copied_once(joined: Any) -> None:
    """The product is read and written, and then both arrays are: 10,000 numbers of 4 bytes three times each way."""
    found = cost(lambda x: joined([x, x * 2.0], 0), (10_000,))
    assert (found.read, found.written) == (120_000, 120_000)


@backends
def test_of_a_table_only_the_rows_are_read_that_are_asked_for(backend: str) -> None:
    given = Tensor(np.ones((1000, 8), np.float32)), Tensor(np.arange(5))
    found = ms.jit(gathered, backend=backend).lower(*given).cost()
    assert found.written >= 4 * 5 * 8
    assert found.read < 1000  # of 32,000


# ------------------------------------------------------------------------------------------------ estimates
@backends
@pytest.mark.parametrize(
    ("fn", "shape", "expected"),
    [
        (lambda x: ops.sort(x)[0], (16, 1024), 16 * 1024 * 10 * 1e-9),
        (lambda x: ops.sort(x), (16, 1024), 16 * 1024 * 10 * 3e-9),
        (lambda x: ops.lgamma(x), (50, 40), 50 * 40 * 4e-8),
        (lambda x: ops.inverse(x), (200, 200), 2 * 200**3 * 2e-9),
    ],
)
def test_kernels_of_other_libraries_take_what_the_measured_one_of_their_class_does(
    backend: str, fn: Any, shape: tuple[int, ...], expected: float
) -> None:
    found = cost(fn, shape, backend=backend)
    assert found.seconds is not None
    assert expected <= found.seconds < 1.2 * expected
    assert found.at_least == ()


@needs_native
def test_where_a_function_of_python_runs_the_estimate_is_a_lower_bound() -> None:
    found = cost(lambda x: ms.py_call(np.sin, x, out=x), (3,))
    assert found.at_least == ("host_call",)
    assert "a lower bound for what Python runs at a speed that is not known: host_call" in str(found)


@backends
def test_the_lines_add_up(backend: str) -> None:
    found = cost(ms.value_and_grad(network, (1, 2, 3, 4)), *SIZES, backend=backend)
    assert sum(x.flops for x in found.lines) == found.flops
    assert sum(x.read for x in found.lines) == found.read
    assert sum(x.written for x in found.lines) == found.written
    assert found.seconds is not None
    assert sum(x.seconds or 0.0 for x in found.lines) == pytest.approx(found.seconds)
    assert sum(x.share for x in found.lines) == pytest.approx(1)
    assert (found.lines[-1].text, found.lines[-1].seconds) == ("the call itself", 1e-7)
    hidden = next(x for x in found.lines if x.text.startswith("hidden =") and not x.part)
    assert hidden.ops.count("tanh") == hidden.ops.count("matmul") == 1
    assert hidden.flops == 2 * B * I * H + B * H + TANH * B * H
    assert any(x.part == "adjoint" and x.text.startswith("error =") for x in found.lines)


@needs_native
def test_what_bounds_a_program() -> None:
    assert cost(chain, (1_000_000,)).bound == "memory"
    assert cost(product, (256, 256), (256, 256)).bound == "compute"
    assert cost(chain, (4,)).bound == "calls"


@needs_native
def test_an_estimate_is_the_slower_of_arithmetic_and_memory() -> None:
    seconds = cost(product, (256, 256), (256, 256)).seconds
    assert seconds == pytest.approx(2 * 256**3 / 1e11, rel=0.01)
    seconds = cost(chain, (4_000_000,)).seconds
    assert seconds == pytest.approx(32e6 / 1e10, rel=0.01)


def test_bandwidth_between_two_measured_sizes() -> None:
    found = limits("native")
    assert found.bandwidth_of(100) == 1e11
    assert found.bandwidth_of(1 << 30) == 1e10
    assert found.bandwidth_of(1 << 19) == pytest.approx(10**10.5)  # half way, on a scale of powers


@needs_native
def test_the_table_has_the_lines_of_the_user() -> None:
    found = cost(ms.value_and_grad(network, (1, 2, 3, 4)), *SIZES)
    text, page = str(found), found._repr_html_()
    assert text == repr(found)
    for part in ("hidden = ops.tanh(ops.matmul(x, w1) + b1)", "test_cost.py:", "adjoint", "matmul"):
        assert part in text
        assert part in page
    assert text.isascii()
    assert "<table>" in page
    with pytest.raises(AttributeError):
        found.flops = 0  # type: ignore[misc]
