"""Steps of networks while another process keeps one of two cores busy, beside what they take on an idle machine.

    python benchmarks/busy.py

Milliseconds of a value and its gradient as compiled code: with one thread of BLAS and an idle machine, and with the
threads that BLAS takes by itself while one of the two cores is busy.  `ratio` is the last divided by the first, for
which the target is 1.3; the last line is a product of 256 rows by NumPy itself, which asks nobody.  Two
processes, one for each number of threads, take turns, and so do idle and busy times; all are bound to two cores.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

ROUNDS, SECONDS = 7, 0.25
#: Seconds of running before it is timed: how busy the machine is, is looked at every 0.1 seconds.
BEFORE = 0.2
TARGET = 1.3


# ------------------------------------------------------------------------------------------------ networks
def swin() -> Callable[[], Any]:
    """A block of a Swin transformer: attention in windows of 7 by 7, and two dense layers."""
    import autodiff_compiler as ms
    from autodiff_compiler import nn, ops

    width, heads, window, size = 96, 3, 7, 28

    class Block(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
            self.qkv, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)
            self.up, self.down, self.gelu = nn.Dense(width, 4 * width), nn.Dense(4 * width, width), nn.GELU()

        def construct(self, x: Any) -> Any:
            n, count = x.shape[0], size // window
            h = self.norm1(x).reshape(n, count, window, count, window, width).transpose(0, 1, 3, 2, 4, 5)
            h = self.qkv(h.reshape(n * count * count, window * window, width))
            h = h.reshape(-1, window * window, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
            weights = ops.softmax(ops.matmul(h[0], h[1].swapaxes(-2, -1)) * (width // heads) ** -0.5, -1)
            h = ops.matmul(weights, h[2]).transpose(0, 2, 1, 3).reshape(n, count, count, window, window, width)
            x = x + self.out(h.transpose(0, 1, 3, 2, 4, 5).reshape(n, size, size, width))
            return x + self.down(self.gelu(self.up(self.norm2(x))))

    return _step(Block(), ops.ones((2, size, size, width), ms.float32))


def convnext() -> Callable[[], Any]:
    """A block of ConvNeXt: a depthwise convolution and two dense layers."""
    import autodiff_compiler as ms
    from autodiff_compiler import nn, ops

    width = 96

    class Block(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.depthwise = nn.Conv2d(width, width, 7, pad_mode="pad", padding=3, group=width, has_bias=True)
            self.norm, self.gelu = nn.LayerNorm((width,)), nn.GELU()
            self.up, self.down = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)

        def construct(self, x: Any) -> Any:
            h = self.norm(self.depthwise(x).transpose(0, 2, 3, 1))
            return x + self.down(self.gelu(self.up(h))).transpose(0, 3, 1, 2)

    return _step(Block(), ops.ones((2, width, 14, 14), ms.float32))


def gru() -> Callable[[], Any]:
    """A GRU over eight steps."""
    import autodiff_compiler as ms
    from autodiff_compiler import nn, ops

    class Network(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(128, 128)

        def construct(self, xs: Any) -> Any:
            h = ops.zeros((64, 128), ms.float32)
            for x in xs:
                h = self.cell(x, h)
            return h

    return _step(Network(), ops.ones((8, 64, 128), ms.float32))


def product() -> Callable[[], Any]:
    """A product by NumPy, after as long a pause as its threads need to fall asleep."""
    import numpy as np

    x = np.ones((256, 256), np.float32)
    return lambda: x @ x


def _step(network: Any, x: Any) -> Callable[[], Any]:
    import autodiff_compiler as ms

    derivative = ms.value_and_grad(lambda x: (network(x) ** 2).sum(), None, network.trainable_params())
    run = ms.jit(derivative)
    return lambda: run(x)


NETWORKS = {"Swin block": swin, "ConvNeXt block": convnext, "GRU": gru, "product by NumPy": product}


# ------------------------------------------------------------------------------------------------ measuring
def serve() -> None:
    """Times what is asked for, one name a line, until there are no more."""
    ready = {name: make() for name, make in NETWORKS.items()}
    for run in ready.values():
        for _ in range(5):
            run()
    print("ready", flush=True)
    for line in sys.stdin:
        run = ready[line.strip()]
        timed(run, BEFORE)
        print(1e3 * statistics.mean(timed(run, SECONDS)), flush=True)


def timed(run: Callable[[], Any], seconds: float) -> list[float]:
    taken, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return taken


def worker(threads: str | None) -> subprocess.Popen[str]:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= dict.fromkeys(names, threads) if threads else {}
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # runs from a checkout that is not installed
    environment["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [environment.get("PYTHONPATH")])])
    command = [sys.executable, __file__, "serve"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: subprocess.Popen[str], name: str) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(name + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    started = [worker("1"), worker(None), subprocess.Popen([sys.executable, "-c", "while True: pass"])]
    one, many, spinner = started
    taken: dict[tuple[str, str], list[float]] = {}
    try:
        spinner.send_signal(signal.SIGSTOP)
        for process in (one, many):
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for _ in range(ROUNDS):
            for name in NETWORKS:
                taken.setdefault((name, "one, idle"), []).append(ask(one, name))
                taken.setdefault((name, "idle"), []).append(ask(many, name))
                spinner.send_signal(signal.SIGCONT)
                taken.setdefault((name, "busy"), []).append(ask(many, name))
                taken.setdefault((name, "one, busy"), []).append(ask(one, name))
                spinner.send_signal(signal.SIGSTOP)
    finally:
        for process in started:
            process.kill()
            process.wait()
    show(taken)


def show(taken: dict[tuple[str, str], list[float]]) -> None:
    from _measure import machine, table

    rows = []
    for name in NETWORKS:
        kinds = "one, idle", "idle", "one, busy", "busy"
        base, *others = (statistics.median(taken[name, kind]) for kind in kinds)
        target = "" if name == "product by NumPy" else f"<= {TARGET}"
        rows.append((name, base, *others, others[-1] / base, target))
    print(machine())
    head = ("", "idle, one thread: ms", "idle", "busy, one thread", "busy", "ratio", "target")
    table(f"A value and its gradient, medians of {ROUNDS} rounds", head, rows)


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
