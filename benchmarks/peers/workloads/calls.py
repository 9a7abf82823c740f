"""What a call costs when there is hardly anything to compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..case import Arrays, Call, Case
from ..frameworks import blocking, compiled_torch, put, vocabulary

N = 8


def given() -> Arrays:
    rng = np.random.default_rng(0)
    return [rng.uniform(-1, 1, N).astype(np.float32) for _ in range(2)]


def reference() -> Arrays:
    x, w = (a.astype(np.float64) for a in given())
    return [np.tanh(x * w)]


def by_hand(x: Any, w: Any) -> Any:
    return np.tanh(x * w)


def function(column: str) -> Any:
    tanh = vocabulary(column).tanh
    return lambda x, w: tanh(x * w)


def executable() -> Call:
    """The program that a call of the compiled function ends in: it takes and returns arrays."""
    import autodiff_compiler as ms

    artifact = ms.jit(function("numpy")).lower(*put("numpy", given()))
    return Call(artifact._call.compiled.program.executable.run, *given())


def compiled() -> Call:
    import autodiff_compiler as ms

    return Call(ms.jit(function("numpy")), *put("numpy", given()))


def eager() -> Call:
    return Call(function("eager"), *put("eager", given()))


def compiled_for_arrays() -> Call:
    import autodiff_compiler as ms

    return Call(ms.jit(function("numpy")), *given())


def numba() -> Call:
    import numba

    return Call(numba.njit(by_hand), *given())


PEERS = {
    "jax": lambda: Call(blocking(function("jax")), *put("jax", given())),
    "torch": lambda: Call(function("torch"), *put("torch", given())),
    "torch.compile": lambda: Call(compiled_torch(function("torch.compile")), *put("torch", given())),
    "numba": numba,
    "hand": lambda: Call(by_hand, *given()),
}


class Plain:
    """What no call of a Cell can be cheaper than."""

    def __call__(self, x: Any) -> Any:
        return x


def cell(factor: np.ndarray | None) -> Call:
    import autodiff_compiler as ms
    from autodiff_compiler import nn

    class Bare(nn.Cell):
        def construct(self, x: Any) -> Any:
            return x

    class Scaled(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = ms.Parameter(ms.Tensor(factor))

        def construct(self, x: Any) -> Any:
            return x * self.w

    return Call(Bare() if factor is None else Scaled(), *put("numpy", given()[:1]))


def cases() -> Iterator[Case]:
    x, w = given()
    beside = {"np.add": lambda: Call(np.add, x, w)}
    yield Case(
        "lowered executable of tanh(x * w), 2 ndarrays of 8", {"compiled": executable, **PEERS}, reference,
        {"jax": 30.0, "torch": 10.0, "np.add": 1.0}, beside=beside, threads=(1,),
    )  # fmt: skip
    yield Case(
        "jit function tanh(x * w), 2 Tensors of 8", {"compiled": compiled, "eager": eager, **PEERS}, reference,
        {"jax": 12.0, "torch": 5.0}, beside=beside, threads=(1,),
    )  # fmt: skip
    yield Case(
        "the same function called with 2 ndarrays", {"compiled": compiled_for_arrays, **PEERS}, reference,
        beside=beside, threads=(1,),
    )  # fmt: skip
    for name, factor, targets in (
        ("Cell that returns its argument", None, {"empty __call__": 0.25}),
        ("Cell that multiplies by a Parameter", w, {}),
    ):
        expected = x.astype(np.float64) * (1.0 if factor is None else factor.astype(np.float64))
        yield Case(
            name, dict.fromkeys(("compiled", "eager"), lambda f=factor: cell(f)), lambda e=expected: [e], targets,
            beside={"empty __call__": lambda: Call(Plain(), x)}, threads=(1,),
        )  # fmt: skip
