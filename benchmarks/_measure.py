"""What the benchmarks share: times of alternating rounds, tables, and the machine they ran on."""

from __future__ import annotations

import os
import pathlib
import platform
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

# One thread: those of BLAS wait for each other on a busy machine, for a hundred times what they compute.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402  (reads the number of threads when it is loaded)

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # runs from a checkout that is not installed


def machine() -> str:
    """Processor, cores, load and versions: what a reader needs to compare numbers."""
    name = platform.processor() or platform.machine()
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{name}, {os.cpu_count()} cores{load}; Python {platform.python_version()}, NumPy {np.__version__}"


def rounds_of(functions: Sequence[Callable[[], Any]], rounds: int = 15, seconds: float = 0.02) -> list[list[float]]:
    """The times per call of each function in microseconds, one per round; rounds alternate: drift hits all alike."""
    counts = []
    for f in functions:
        f()
        start = time.perf_counter()
        f()
        counts.append(max(1, int(seconds / max(time.perf_counter() - start, 1e-7))))
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for f, count, taken in zip(functions, counts, times, strict=True):
            start = time.perf_counter()
            for _ in range(count):
                f()
            taken.append(1e6 * (time.perf_counter() - start) / count)
    return times


def interleaved(functions: Sequence[Callable[[], Any]], rounds: int = 15, seconds: float = 0.02) -> list[float]:
    """The best time per call of each function in microseconds."""
    return [min(taken) for taken in rounds_of(functions, rounds, seconds)]


def once(prepare: Callable[[], Any], run: Callable[[Any], Any], rounds: int = 5) -> float:
    """The best processor time of ``run(prepare())`` in milliseconds, without the preparation."""
    best = float("inf")
    for _ in range(rounds):
        given = prepare()
        start = time.process_time()
        run(given)
        best = min(best, time.process_time() - start)
    return 1e3 * best


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Prints a table; floats get two decimals."""
    texts = [[f"{x:.2f}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(head), *texts]) for i in range(len(head))]
    print(f"\n{title}")
    for line in [list(head), *texts]:
        cells = [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        print("  " + "  ".join(cells).rstrip())
