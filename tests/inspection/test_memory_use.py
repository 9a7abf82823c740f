"""What `artifact.memory()` says, against sizes that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.inspection.memory_use import MemoryUse


def memory(f: Any, *shapes: Any, backend: str = "native") -> MemoryUse:
    arguments = [Tensor(np.ones(s, np.float32)) for s in shapes]
    return ms.jit(f, backend=backend).lower(*arguments).memory()


needs_native = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")
backends = pytest.mark.parametrize("backend", [pytest.param("native", marks=needs_native), "numpy"])


def chain(x: Any) -> Any:
    return ops.tanh(x * 2.0)


def two_products(x: Any, a: Any, b: Any) -> Any:
    return ops.matmul(ops.matmul(x, a), b)


def steps(x: Any) -> Any:
    for _ in range(50):
        x = x * ops.sin(x)
    return x.sum()


def until(x: Any) -> Any:
    while x < 10.0:
        x = x * x
    return x


@backends
def test_arguments_and_results_are_the_callers(backend: str) -> None:
    found = memory(chain, (10, 100), backend=backend)
    assert (found.arguments, found.results, found.overwritten) == (4000, 4000, 0)


@needs_native
def test_fused_ops_need_no_arena() -> None:
    found = memory(chain, (1000,))
    assert (found.arena, found.stacks, found.per_trip, found.constants) == (0, 0, 0, 0)
    assert found.code is not None
    assert found.total == 8000 + found.code


@backends
def test_the_arena_holds_what_lies_between(backend: str) -> None:
    found = memory(two_products, (10, 32), (32, 64), (64, 16), backend=backend)
    between = 4 * 10 * 64
    assert between <= found.arena <= between + 256  # a header and alignment


def test_numpy_has_no_machine_code() -> None:
    assert memory(chain, (10,), backend="numpy").code is None


@backends
def test_stacks_of_loops_whose_trips_are_known(backend: str) -> None:
    found = memory(ms.grad(steps), (100,), backend=backend)
    assert 50 * 400 <= found.stacks <= 50 * (400 + 64)  # x of each trip, aligned
    assert found.per_trip == 0


@backends
def test_stacks_that_grow_with_each_trip(backend: str) -> None:
    found = memory(ms.grad(until), (), backend=backend)
    assert (found.stacks, found.per_trip) == (0, 4)  # x
    assert "4 B for each trip of a loop" in str(found)


class Step(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.ones((64, 64), np.float32)), name="weight")

    def construct(self, x: Any) -> Any:
        self.weight = self.weight * 0.5
        return x + 1.0


@needs_native
def test_a_state_is_an_argument_that_is_overwritten() -> None:
    cell = Step()
    before = cell.weight.asnumpy().copy()
    found = ms.jit(cell, backend="native").lower(Tensor(np.ones(8, np.float32))).memory()
    assert found.arguments == found.results == 4 * 64 * 64 + 32
    assert found.overwritten == 4 * 64 * 64
    np.testing.assert_array_equal(cell.weight.asnumpy(), before)  # nothing has run


def weighted(x: Any) -> Any:
    return x * Tensor([1.0, 2.0, 5.0, 9.0])


@backends
def test_constants_are_counted_once(backend: str) -> None:
    found = memory(weighted, (4,), backend=backend)
    assert (found.arguments, found.results, found.constants) == (16, 16, 16)


@needs_native
def test_the_table_names_everything() -> None:
    found = memory(ms.grad(steps), (100,))
    text, page = str(found), found._repr_html_()
    assert text == repr(found)
    for part in ("arguments", "results", "arena", "stacks", "constants", "code", "400 B"):
        assert part in text
        assert part in page
