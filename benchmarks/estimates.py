"""The estimates of `artifact.cost()` beside what programs take, on both backends of the CPU.

    python benchmarks/estimates.py [part of a name ...]

`ratio` is the estimate divided by the measured time of the program (without the Python in front of it): below 1 the
program is slower than estimated.  Estimates aim within a factor of 2.  The limits of the machine are measured first.

There are two tables.  The constants of `inspection/estimate.py` and the weights of `primitives/flops.py` were chosen
with the first one in view, so it says how well they fit, not how well they predict.  The second one was run after that
and nothing was changed for it: it is the one to quote.  Whoever changes a constant because of it needs new programs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from _measure import interleaved, machine, np, table
from peers.workloads import rosenbrock

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.inspection.figures import duration
from autodiff_compiler.inspection.machine_limits import machine_limits

Work = tuple[str, Callable[..., Any], tuple[Any, ...], int]

ROOT_HALF = 0.7071067811865476


def gelu(x: Any) -> Any:
    return (0.5 * x * (1.0 + ops.erf(x * ROOT_HALF))).sum()


def chain(x: Any) -> Any:
    return ((x * 2.0 + 1.0) * x - 0.5) * x + 3.0


def triad(x: Any, y: Any) -> Any:
    return x + 3.0 * y


def options(spot: Any, time: Any, rate: Any, volatility: Any) -> Any:
    spread = volatility * ops.sqrt(time)
    d1 = (ops.log(spot / 100.0) + (rate + 0.5 * volatility * volatility) * time) / spread
    n1, n2 = 0.5 * (1.0 + ops.erf(d1 * ROOT_HALF)), 0.5 * (1.0 + ops.erf((d1 - spread) * ROOT_HALF))
    return (spot * n1 - 100.0 * ops.exp(-rate * time) * n2).sum()


def softmax(x: Any) -> Any:
    return ops.softmax(x, -1)


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    centred = x - x.mean(-1, keep_dims=True)
    deviation = ops.sqrt((centred * centred).mean(-1, keep_dims=True) + 1e-5)
    return ((centred / deviation * scale + shift) ** 2).sum()


def product(a: Any, b: Any) -> Any:
    return ops.matmul(a, b)


def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    return ((ops.matmul(ops.tanh(ops.matmul(x, w1) + b1), w2) + b2) ** 2).mean()


def logistic(w: Any, x: Any, y: Any) -> Any:
    z = ops.matmul(x, w)
    return (ops.log1p(ops.exp(-ops.abs(z))) + ops.relu(z) - z * y).mean()


def energy(x: Any, k: Any) -> Any:
    total = x * 0.0
    while x > 0.05:
        total = total + 0.0031 * x * x
        x = x - 0.0031 * k * ops.tanh(x)
    return total


# ------------------------------------------------------------------------------------------------ not fitted to
def attention(q: Any, k: Any, v: Any) -> Any:
    return ops.matmul(ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) * 0.125, -1), v)


def attention_sum(q: Any, k: Any, v: Any) -> Any:
    return attention(q, k, v).sum()


def recurrent(x: Any, h: Any, w: Any, u: Any) -> Any:
    for _ in range(100):
        h = ops.tanh(ops.matmul(h, w) + ops.matmul(x, u))
    return (h * h).sum()


def convolution(x: Any, w: Any) -> Any:
    return ops.conv2d(x, w)


def mixture(x: Any, means: Any, scales: Any) -> Any:
    d = (x.expand_dims(1) - means.expand_dims(0)) * ops.exp(scales).expand_dims(0)
    return ops.logsumexp(-0.5 * (d * d).sum(-1), -1).sum()


def columns(x: Any) -> Any:
    return x.sum(0)


def running(x: Any) -> Any:
    return ops.cumsum(x, -1)


def looked_up(table: Any, index: Any) -> Any:
    return ops.gather(table, index, 0).sum(0)


def waves(x: Any) -> Any:
    return ops.sin(x) * ops.cos(x * 2.0) + ops.log1p(ops.abs(x))


def turned(x: Any) -> Any:
    return x.T + 1.0


def _energy_trips() -> int:
    x, n = 3.0, 0
    while x > 0.05:
        x, n = x - 0.0031 * np.tanh(x), n + 1
    return n


def held_out() -> Iterator[Work]:
    """Programs that nothing was fitted to, as `fitted` gives them."""
    rng = np.random.default_rng(1)

    def normal(*shape: int, dtype: Any = np.float32) -> Any:
        return ms.Tensor(rng.standard_normal(shape).astype(dtype))

    heads = tuple(normal(8, 128, 64) for _ in range(3))
    yield "attention 8x128x64", attention, heads, 1
    yield "attention value and gradient", ms.value_and_grad(attention_sum, (0, 1, 2)), heads, 1
    given = (normal(16, 32), normal(16, 64), normal(64, 64), normal(32, 64))
    yield "RNN 100 steps value and gradient", ms.value_and_grad(recurrent, (2, 3)), given, 1
    yield "convolution 8x16x28x28", convolution, (normal(8, 16, 28, 28), normal(32, 16, 3, 3)), 1
    points = (normal(1000, 10), normal(25, 10), normal(25, 10))
    yield "mixture value and gradient 1000x25x10", ms.value_and_grad(mixture, (1, 2)), points, 1
    yield "column sums 2000x500", columns, (normal(2000, 500),), 1
    yield "cumsum 500x1000", running, (normal(500, 1000),), 1
    for n in (100, 100_000):
        yield (
            f"Rosenbrock f64 value and gradient {n}",
            ms.value_and_grad(rosenbrock.formula(ops)),
            (normal(n, dtype=np.float64),),
            1,
        )
    yield "gather 2000 of 50000x64", looked_up, (normal(50_000, 64), ms.Tensor(rng.integers(0, 50_000, 2000))), 1
    yield "waves f64 200000", waves, (normal(200_000, dtype=np.float64),), 1
    yield "transpose 1000x1000", turned, (normal(1000, 1000),), 1


def fitted() -> Iterator[Work]:
    """Name, function, arguments, and the trips of its loops of unknown length."""
    rng = np.random.default_rng(0)

    def normal(*shape: int, dtype: Any = np.float32) -> Any:
        return ms.Tensor(rng.standard_normal(shape).astype(dtype))

    for n in (1_000, 100_000, 4_000_000):
        yield f"gelu value and gradient {n}", ms.value_and_grad(gelu), (normal(n),), 1
    for n in (1_000, 1_000_000):
        yield f"arithmetic chain {n}", chain, (normal(n),), 1
    yield "triad f64 4000000", triad, (normal(4_000_000, dtype=np.float64), normal(4_000_000, dtype=np.float64)), 1
    for dtype in (np.float32, np.float64):
        ranges = ((50, 150), (0.1, 2), (0, 0.1), (0.1, 0.5))
        given = [ms.Tensor(rng.uniform(*ends, 100_000).astype(dtype)) for ends in ranges]
        name = f"options with Greeks 100000 {np.dtype(dtype)}"
        yield name, ms.value_and_grad(options, (0, 1, 2, 3)), tuple(given), 1
    yield "softmax 64x64", softmax, (normal(64, 64),), 1
    yield "softmax 4096x1000", softmax, (normal(4096, 1000),), 1
    for shape in ((64, 64), (4096, 768)):
        given = [normal(*shape), normal(shape[1]), normal(shape[1])]
        name = f"layer norm value and gradient {shape[0]}x{shape[1]}"
        yield name, ms.value_and_grad(layer_norm, (0, 1, 2)), tuple(given), 1
    yield "matmul 32", product, (normal(32, 32), normal(32, 32)), 1
    yield "matmul 512", product, (normal(512, 512), normal(512, 512)), 1
    for sizes in ((16, 8, 16, 1), (128, 784, 512, 10)):
        b, i, h, o = sizes
        given = [normal(b, i), normal(i, h), normal(h), normal(h, o), normal(o)]
        yield f"MLP {i}-{h}-{o} B{b} value and gradient", ms.value_and_grad(mlp, (1, 2, 3, 4)), tuple(given), 1
    given = [normal(100), normal(100_000, 100), ms.Tensor((rng.random(100_000) < 0.5).astype(np.float32))]
    yield "logistic 100000x100 value and gradient", ms.value_and_grad(logistic), tuple(given), 1
    scalars = (ms.Tensor(np.float32(3.0)), ms.Tensor(np.float32(1.0)))
    yield "while value", energy, scalars, _energy_trips()
    yield "while value and gradient", ms.value_and_grad(energy, (0, 1)), scalars, _energy_trips()


def main() -> None:
    print(machine())
    for backend in ("native", "numpy"):
        limits = machine_limits(backend, measure=True)
        print(f"{backend}: " + "; ".join(f"{name} {text}" for name, text in limits.summary().items()))
    compare("programs that constants were fitted to", fitted())
    compare("programs that nothing was fitted to", held_out())


def compare(title: str, workloads: Iterator[Work]) -> None:
    """Prints estimates beside measured times."""
    rows = []
    for name, function, arguments, trips in workloads:
        if sys.argv[1:] and not any(part in name for part in sys.argv[1:]):
            continue
        found: list[Any] = [name]
        for backend in ("native", "numpy"):
            artifact = ms.jit(function, backend=backend).lower(*arguments)
            cost = artifact.cost(trips=trips)
            run, arrays = artifact._call.compiled.program.executable.run, [x.asnumpy() for x in arguments]
            (taken,) = interleaved([lambda run=run, arrays=arrays: run(*arrays)], rounds=60, seconds=0.001)
            found += [duration(cost.seconds), duration(taken * 1e-6), cost.seconds / taken * 1e6]
            if backend == "native":
                found += [cost.flops / taken / 1e3, cost.bytes / taken / 1e3]
        rows.append(found)
    if not rows:
        return
    head = ["workload", "native", "measured", "ratio", "GFLOP/s", "GB/s", "numpy", "measured", "ratio"]
    table(title, head, rows)
    for i, backend in ((3, "native"), (8, "numpy")):
        within = sum(0.5 <= row[i] <= 2 for row in rows)
        print(f"  {backend}: {within} of {len(rows)} within a factor of 2")


if __name__ == "__main__":
    main()
