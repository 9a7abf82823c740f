"""Peak speeds of one thread on this machine (roofline), measured once in less than a second and cached on disk.

Estimates of time (`cost`) are made of these figures.  They are measured where they are first asked for; busy
processors give lower ones, so ``python -m autodiff_compiler env --measure`` measures again.
"""

from __future__ import annotations

import functools
import json
import os
import platform
from bisect import bisect_left
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from math import exp, log
from time import perf_counter
from typing import Any

import numpy as np

from ..backends.native.jit import cache
from ..backends.native.jit.machine import machine, versions, why_not
from ..compiler.pipeline import named_backend
from ..dtypes import float32, float64
from ..ir.build import Builder
from ..ir.core import Block, Function, Module
from ..ir.primitive import REGISTRY, F, kernel_of
from ..ir.types import TensorType, tensor
from ..primitives.flops import flops_of_functions
from ..whole_files import write_text
from .kernel_speeds import measured_kernels

__all__ = ["MachineLimits", "known_limits", "machine_limits"]

_DTYPES = {"f32": float32, "f64": float64}
#: Working sets, in bytes, at which bandwidth is measured.
_SIZES = (24 << 10, 96 << 10, 384 << 10, 1536 << 10, 6 << 20, 24 << 20, 96 << 20)
_PRODUCTS = (64, 256)
#: Functions that are no ufuncs of NumPy's, by the names of their ops.
_KERNELS = ("erf", "erfc", "lgamma", "digamma")
_FORMAT = 2


@dataclass(frozen=True)
class MachineLimits:
    """Figures of one thread, in seconds, bytes and operations per second.

    `call`: of a program that does nearly nothing, and of one function of NumPy's inside the NumPy backend.
    `operations`: of fused multiply-adds, each counted as two; `product`: of matrix products.  `latency`: what a
    multiply-add takes whose operand is the result of the one before.  `bandwidth`: pairs of bytes that are in use
    together and bytes per second.  `fresh`: what a byte of memory costs more that the process has just been given.
    `functions`: by dtype and name, what a function of NumPy's takes for an element, or the kernel of an op; `kernels`:
    by dtype and class what those that Python runs on either backend take (see `kernel_speeds`).
    """

    backend: str
    processor: str
    call: float
    operations: Mapping[str, float]
    product: Mapping[str, float]
    latency: float
    bandwidth: tuple[tuple[int, float], ...]
    fresh: float
    functions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    kernels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def bandwidth_of(self, nbytes: int) -> float:
        """Bytes per second for a working set of so many bytes."""
        sizes = [size for size, _ in self.bandwidth]
        i = bisect_left(sizes, nbytes)
        if i in (0, len(sizes)):
            return self.bandwidth[min(i, len(sizes) - 1)][1]
        (a, x), (b, y) = self.bandwidth[i - 1], self.bandwidth[i]
        return exp(log(x) + (log(y) - log(x)) * (log(nbytes) - log(a)) / (log(b) - log(a)))

    def summary(self) -> dict[str, str]:
        """The figures as users read them."""
        cached, memory = self.bandwidth[0][1], self.bandwidth[-1][1]
        peaks = [f"{x / 1e9:.0f} GFLOP/s in {name}" for name, x in self.operations.items()]
        products = [f"{x / 1e9:.0f} GFLOP/s in {name}" for name, x in self.product.items()]
        return {
            "processor": self.processor,
            "multiply-adds": ", ".join(peaks),
            "matrix products": ", ".join(products),
            "bandwidth": f"{cached / 1e9:.0f} GB/s in cache, {memory / 1e9:.0f} GB/s in memory",
            "a call": f"{self.call * 1e9:.0f} ns",
        }


# ------------------------------------------------------------------------------------------------ kept
_known: dict[str, MachineLimits] = {}


def machine_limits(backend: str, *, measure: bool = False) -> MachineLimits:
    """The limits that programs of the backend "native" or "numpy" meet here; `measure`: measured anew."""
    found = None if measure else known_limits(backend)
    if found is None:
        found = _of_native() if backend == "native" else _of_numpy()
        _write(_key(backend), found)
    _known[_key(backend)] = found
    return found


def known_limits(backend: str) -> MachineLimits | None:
    """The limits that were measured before, in this process or in another one; None if they never were."""
    key = _key(backend)
    return _known.get(key) or _read(key)


def _key(backend: str) -> str:
    target = f"{machine()} {versions()}" if backend == "native" else ""
    parts = (str(_FORMAT), backend, target, processor(), np.__version__)
    return sha256("\n".join(parts).encode()).hexdigest()[:32]


def processor() -> str:
    """What the processor is called."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return machine().cpu if why_not() is None else platform.processor() or platform.machine()


def _path(key: str) -> str | None:
    """The file beside the object code, or None where nothing is kept on disk."""
    if cache.why_off() is not None:
        return None
    return os.path.join(os.path.dirname(cache.folder()), f"limits-{key}.json")


def _read(key: str) -> MachineLimits | None:
    path = _path(key)
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        pairs = tuple((int(size), float(speed)) for size, speed in data.pop("bandwidth"))
        found = MachineLimits(bandwidth=pairs, **data)
        figures = (found.call, found.latency, *found.operations.values(), *found.product.values())
        return found if pairs and all(x > 0 for x in (*figures, *[speed for _, speed in pairs])) else None
    except (OSError, ValueError, TypeError, AttributeError, KeyError):  # not there, or not sound
        return None


def _write(key: str, limits: MachineLimits) -> None:
    path = _path(key)
    if path is None:
        return
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_text(path, json.dumps(asdict(limits), indent=1))


# ------------------------------------------------------------------------------------------------ measured
def _least(run: Callable[[], Any], least: int = 3, seconds: float = 0.006) -> float:
    """Seconds of the fastest of several rounds: the one that other processes disturbed least."""
    best, end, n = float("inf"), perf_counter() + seconds, 0
    while n < least or perf_counter() < end:
        start = perf_counter()
        run()
        best, n = min(best, perf_counter() - start), n + 1
    return best


def _of_native() -> MachineLimits:
    from ..backends.native.measuring import probes  # needs llvmlite, which is optional

    operations = {}
    for name in _DTYPES:
        run, each = probes.multiply_adds(name)
        run(20_000)  # the core needs some time to reach its clock rate
        operations[name] = 50_000 * each / _least(lambda run=run: run(50_000))  # type: ignore[misc]
    chain, triad = probes.chain(), probes.triad()

    def rounds(n: int) -> tuple[Callable[[Any, Any, Any], None], int]:
        times = max(1, (2 << 20) // (24 * n))
        return (lambda a, b, c: triad(a, b, c, times)), times

    return MachineLimits(
        "native",
        processor(),
        _least(_repeated(_program(_small(), "native").run, 1000, np.ones(8, np.float32))) / 1000,
        operations,
        _products("native"),
        _least(lambda: chain(100_000)) / 100_000,
        _bandwidths(rounds),
        _fresh(),
        kernels=_kernels(),
    )


def _of_numpy() -> MachineLimits:
    def rounds(n: int) -> tuple[Callable[[Any, Any, Any], None], int]:
        times = max(1, (2 << 20) // (24 * n))

        def run(a: Any, b: Any, c: Any) -> None:
            for _ in range(times):
                np.add(a, b, out=c)

        return run, times

    one, product = np.ones(1), _products("numpy")
    call = _least(_repeated(np.add, 1000, one, one)) / 1000
    return MachineLimits(
        "numpy",
        processor(),
        call,
        product,
        product,
        1e-7,
        _bandwidths(rounds),
        _fresh(),
        {name: _functions(dtype.numpy, call) for name, dtype in _DTYPES.items()},
        _kernels(),
    )


def _repeated(run: Callable[..., Any], times: int, *arrays: Any) -> Callable[[], None]:
    def all_of_them() -> None:
        for _ in range(times):
            run(*arrays)

    return all_of_them


def _bandwidths(rounds: Callable[[int], tuple[Callable[[Any, Any, Any], None], int]]) -> tuple[tuple[int, float], ...]:
    """`rounds` gives what goes over three arrays of n numbers of f64 some times, and how often."""
    found = []
    whole = [np.ones(max(_SIZES) // 24) for _ in range(3)]
    for size in _SIZES:
        n = size // 24 // 64 * 64
        run, times = rounds(n)
        a, b, c = (x[:n] for x in whole)
        run(a, b, c)
        seconds = 0.006 if size < 16 << 20 else 0.06  # others may be at the memory, too
        best = _least(lambda run=run, a=a, b=b, c=c: run(a, b, c), seconds=seconds)  # type: ignore[misc]
        found.append((size, 24 * n * times / best))
    return tuple(found)


def _fresh() -> float:
    """Extra seconds per byte of memory that the system has just mapped (page faults)."""
    size = 34 << 20  # larger than what allocators keep
    used = np.ones(size, np.uint8)
    new = _least(lambda: np.empty(size, np.uint8).fill(1), seconds=0.1)
    return max(0.0, new - _least(lambda: used.fill(1), seconds=0.02)) / size


def _products(backend: str) -> dict[str, float]:
    """The best of two sizes."""
    found = {}
    for name, dtype in _DTYPES.items():
        speeds = []
        for n in _PRODUCTS:
            run = _program(_product(tensor(dtype, (n, n))), backend).run
            a = np.ones((n, n), dtype.numpy)
            run(a, a)
            speeds.append(2 * n**3 / _least(lambda run=run, a=a: run(a, a), seconds=0.03))  # type: ignore[misc]
        found[name] = max(speeds)
    return found


def _program(module: Module, backend: str) -> Any:
    return named_backend(backend).compile(module)


def _small() -> Module:
    with Builder(Block([tensor(float32, (8,))])) as builder:
        (x,) = builder.block.args
        builder.ret(F.add(x, x))
    return Module({"small": Function("small", builder.block)})


def _product(type: TensorType) -> Module:
    with Builder(Block([type, type])) as builder:
        builder.ret(F.matmul(*builder.block.args))
    return Module({"product": Function("product", builder.block)})


def _kernels() -> dict[str, dict[str, float]]:
    return {name: measured_kernels(dtype.numpy, _least) for name, dtype in _DTYPES.items()}


def _functions(dtype: Any, call: float) -> dict[str, float]:
    """Seconds per element of functions of NumPy's in the cache, and of additions."""
    n, found = 4096, {}
    x = np.linspace(0.1, 0.9, n).astype(dtype)
    out = np.empty_like(x)
    for name in ("add", "divide", "sqrt", *flops_of_functions()):
        function = getattr(np, name)
        operands = (x + 1 if name == "arccosh" else x,) * function.nin
        run = functools.partial(function, *operands, out=out)
        run()
        found[name] = max(1e-12, _least(run, 3, 0.0005) - call) / n
    for name in _KERNELS:
        found[name] = _least(functools.partial(kernel_of(REGISTRY[name]), x), 3, 0.0005) / n
    return found
