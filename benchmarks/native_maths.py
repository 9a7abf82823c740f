"""The native backend's mathematical functions beside NumPy's and SciPy's: nanoseconds per element, in turns.

    python benchmarks/native_maths.py [NAME ...]

One thread, 65,536 elements in the second-level cache. A ratio above 1 says that ours is faster. What is left slower
than NumPy on AVX-512, where it has its own vectors of 4 ULP: functions of f32 that are computed in f64 here to be right
to half a ULP (power, the inverse hyperbolic ones), and log2 and log10, which give whole numbers exactly.
"""

from __future__ import annotations

import pathlib
import sys
from typing import Any

from _measure import interleaved, machine, np, table

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tools"))

from accuracy_page import BINARY, kernel, peer
from autodiff_compiler.backends.native.codegen.maths import FUNCTIONS
from autodiff_compiler.backends.native.jit.machine import machine as host

SIZE = 65_536
#: Arguments from the first to the second.
RANGES = {
    "arccos": (-1, 1), "arccosh": (1, 10), "arcsin": (-1, 1), "arctanh": (-1, 1), "erfc": (-3, 8), "log": (0.01, 10),
    "log10": (0.01, 10), "log1p": (-0.9, 5), "log2": (0.01, 10), "power": (0.01, 10), "rsqrt": (0.01, 10),
}  # fmt: skip


def aligned(array: Any) -> Any:
    """A copy that begins where a vector may."""
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype)
    copy[:] = array
    return copy


def row(name: str, dtype: Any) -> list[str]:
    random = np.random.default_rng(0)
    low, high = RANGES.get(name, (-8, 8))
    args = [aligned(random.uniform(low, high, SIZE).astype(dtype))]
    if name in BINARY:
        args.append(aligned(random.uniform(-5, 5, SIZE).astype(dtype)))
    out, theirs = aligned(np.empty(SIZE, dtype)), aligned(np.empty(SIZE, dtype))
    run = kernel(name, host().lanes(dtype().itemsize), single=dtype is np.float32)
    places = [a.ctypes.data for a in (out, *args)]
    call = peer(name)
    theirs_run = (lambda: call(*args, out=theirs)) if isinstance(call, np.ufunc) else (lambda: call(*args))
    # one call a round: short enough to fall between the turns of other processes
    ours, other = interleaved([lambda: run(SIZE, *places), theirs_run], rounds=150, seconds=0.0)
    each = 1e3 / SIZE
    return [f"{name} {np.dtype(dtype).name}", f"{ours * each:.3f}", f"{other * each:.3f}", f"{other / ours:.2f}"]


def main(names: list[str]) -> None:
    print(machine())
    rows = [row(name, dtype) for name in names or sorted(FUNCTIONS) for dtype in (np.float32, np.float64)]
    table("nanoseconds per element", ["function", "ours", "NumPy, SciPy", "ratio"], rows)


if __name__ == "__main__":
    main(sys.argv[1:])
