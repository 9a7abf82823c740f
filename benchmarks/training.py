"""Whole train steps (forward, derivative, optimizer) compiled into one program beside eager mode, in turns.

    python benchmarks/training.py [part of a name ...]

Times are processor time of one thread, which a busy machine changes least.  `ratio` is the median of eager rounds
divided by that of compiled ones: above 1 compiled code is faster.  `compile`: what the first call took.  `peak`: the
most memory that a later step takes for itself, beyond Parameters and data, as `tracemalloc` sees it: all its scratch
memory is new.

`Python`: the part of a compiled step that is spent outside of kernels: in the call, its guards, the statements between
kernels and what is written back.  For this the program runs with a clock around every call of a NumPy function or
printed kernel: the part is 1 - (all these calls) / (the step), both without what the clocks take.  Operators on scalars
and methods (views, casts) have no clock and count as Python.  Target: below 10 % for the MLPs.
"""

from __future__ import annotations

import gc
import itertools
import sys
import time
import tracemalloc
import types
from collections.abc import Callable
from typing import Any

from _measure import machine, np, table

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn
from autodiff_compiler.backends.numpy.scratch import BLOCKS

Step = Callable[..., Any]


class LeNet(nn.Cell):
    """LeNet-5 for images of 32 x 32."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.SequentialCell(
            nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.SequentialCell(
            nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10)
        )  # fmt: skip

    def construct(self, x: Any) -> Any:
        return self.head(self.features(x))


class Characters(nn.Cell):
    """A language model: embedded characters through an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm, self.head = (
            nn.Embedding(64, 32),
            nn.LSTM(32, 128, batch_first=True),
            nn.Dense(128, 64),
        )

    def construct(self, x: Any) -> Any:
        y, _ = self.lstm(self.embedding(x))
        return self.head(y).reshape(-1, 64)


class Block(nn.Cell):
    """One transformer block and a projection."""

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
        self.head = nn.Dense(128, 64)

    def construct(self, x: Any) -> Any:
        return self.head(self.block(x)).reshape(-1, 64)


def mlp() -> nn.Cell:
    sizes = (784, 512, 256, 10)
    layers = [nn.Dense(a, b, activation="relu" if b > 10 else None) for a, b in itertools.pairwise(sizes)]
    return nn.SequentialCell(*layers)


def floats(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(0).standard_normal(shape, np.float32))


def classes(n: int, *shape: int) -> Tensor:
    return Tensor(np.random.default_rng(1).integers(0, n, shape).astype(np.int32))


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda ps: nn.SGD(ps, 0.01),
    "Momentum": lambda ps: nn.Momentum(ps, 0.01, 0.9),
    "Adam": lambda ps: nn.Adam(ps, 0.001),
}
#: Name, network, optimizer, input and labels.
CASES: list[tuple[str, Callable[[], nn.Cell], str, Tensor, Tensor]] = [
    *[(f"MLP 784-512-256-10 B128 {name}", mlp, name, floats(128, 784), classes(10, 128)) for name in OPTIMIZERS],
    ("LeNet B32 Momentum", LeNet, "Momentum", floats(32, 1, 32, 32), classes(10, 32)),
    ("LSTM 128 T32 B32 Adam", Characters, "Adam", classes(64, 32, 32), classes(64, 1024)),
    ("transformer 128 H4 T32 B16 Adam", Block, "Adam", floats(16, 32, 128), classes(64, 512)),
]


def train_step(make: Callable[[], nn.Cell], optimizer: str) -> Step:
    ms.set_seed(1)
    network, loss = make(), nn.CrossEntropyLoss()
    network.set_train()
    update = OPTIMIZERS[optimizer](network.trainable_params())
    derivative = ms.value_and_grad(lambda x, y: loss(network(x), y), None, update.parameters)

    def step(x: Any, y: Any) -> Any:
        value, gradients = derivative(x, y)
        update(gradients)
        return value

    return step


# ------------------------------------------------------------------------------------------------ the clock
class Clock:
    """Stands for a module or kernel of a generated program: what it is called for takes its time down."""

    def __init__(self, wrapped: Any, calls: list[float], inside: list[bool]) -> None:
        self._wrapped, self._calls, self._inside = wrapped, calls, inside

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._wrapped, name)
        if isinstance(found, type) or not callable(found):
            return found
        clock = Clock(found, self._calls, self._inside)
        setattr(self, name, clock)
        return clock

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._inside[0]:  # a part of a kernel that is timed already
            return self._wrapped(*args, **kwargs)
        self._inside[0] = True
        start = time.perf_counter()
        found = self._wrapped(*args, **kwargs)
        self._calls.append(time.perf_counter() - start)
        self._inside[0] = False
        return found


def rounds_of(steps: list[Step], x: Tensor, y: Tensor, rounds: int = 31) -> list[list[float]]:
    """The seconds of each step, one per round; rounds alternate: drift hits all alike."""
    times: list[list[float]] = [[] for _ in steps]
    for i in range(rounds + 2):
        for step, taken in zip(steps, times, strict=True):
            start = time.thread_time()
            step(x, y)
            if i >= 2:
                taken.append(time.thread_time() - start)
    return times


def python_part(compiled: Any, x: Tensor, y: Tensor, rounds: int = 31) -> float:
    """The part of a step that lies outside of kernels: the median over steps with a clock around every kernel."""
    program = compiled.lower(x, y)._call.compiled.program
    executable = program.executable
    calls: list[float] = []
    inside = [False]
    names: dict[str, Any] = dict(executable.namespace)
    exec(compile(executable.source, "<timed program>", "exec"), names)
    for name, value in list(names.items()):
        if isinstance(value, types.FunctionType) and name not in (names["__name__"], "leased", "give_back"):
            names[name] = Clock(value, calls, inside)
    names["np"] = Clock(np, calls, inside)
    empty = Clock(int, calls, inside)
    plain, program._pure = program._pure, names[names["__name__"]].__wrapped__
    parts = []
    for i in range(rounds + 2):
        calls.clear()
        start = time.perf_counter()
        compiled(x, y)
        step, kernels, count = time.perf_counter() - start, sum(calls), len(calls)
        start = time.perf_counter()
        for _ in range(count):
            empty()
        clocks = time.perf_counter() - start  # what they add to the step, and inside of that to the kernels
        kernels -= sum(calls[count:])
        if i >= 2:
            parts.append(1 - kernels / (step - clocks))
    program._pure = plain
    return float(np.median(parts))


def peak(step: Step, x: Tensor, y: Tensor) -> float:
    """Mebibytes."""
    BLOCKS.clear()
    gc.collect()
    tracemalloc.start()
    step(x, y)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found / 2**20


def measured(make: Callable[[], nn.Cell], optimizer: str, x: Tensor, y: Tensor) -> list[Any]:
    """Milliseconds compiled and eager, their ratio, the part of Python, the peaks, and the time to compile."""
    eager, compiled = train_step(make, optimizer), ms.jit(train_step(make, optimizer))
    start = time.thread_time()
    compiled(x, y)
    compile_ms = 1e3 * (time.thread_time() - start)
    ours, theirs = rounds_of([compiled, eager], x, y)
    part = python_part(compiled, x, y)
    medians = float(np.median(ours)), float(np.median(theirs))
    return [
        1e3 * medians[0], 1e3 * medians[1], medians[1] / medians[0], f"{100 * part:.1f} %",
        peak(compiled, x, y), peak(eager, x, y), f"{compile_ms:.0f}",
    ]  # fmt: skip


def main() -> None:
    print(machine())
    wanted = sys.argv[1:]
    rows = [
        [name, *measured(make, optimizer, x, y)]
        for name, make, optimizer, x, y in CASES
        if not wanted or any(part in name for part in wanted)
    ]
    head = ["", "compiled ms", "eager ms", "ratio", "Python", "peak MiB", "eager MiB", "compile ms"]
    table("Train steps: medians of alternating rounds", head, rows)


if __name__ == "__main__":
    main()
