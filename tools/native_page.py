"""Writes docs/native_operators.md: what each primitive becomes in machine code, and what NumPy computes inside of it.

python tools/native_page.py            writes the page
python tools/native_page.py --check    fails if the page is not what the package says
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from autodiff_compiler.backends.native.backend import NativeBackend  # noqa: E402
from autodiff_compiler.backends.native.codegen.values import FUSED, HOST, NATIVE  # noqa: E402
from autodiff_compiler.backends.native.lower import OPS  # noqa: E402
from autodiff_compiler.backends.numpy import NumpyBackend  # noqa: E402
from autodiff_compiler.dtypes import (  # noqa: E402
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint64,
)
from autodiff_compiler.inspection.samples import forward, samples_of  # noqa: E402
from autodiff_compiler.primitives import REGISTRY  # noqa: E402
from generated_pages import write_or_check  # noqa: E402

PAGE = ROOT / "docs" / "native_operators.md"
DTYPES = (float32, float64, float16, bfloat16, int64, int32, int16, int8, uint64, uint8, bool_)

_REASONS = {
    "programs with sizes that only data know run on NumPy": "run_starts size_at stretched unstretched",
    "linear algebra is LAPACK's work": (
        "cholesky cofactor cofactor_slope det eigh eigvalsh expm expm_frechet geqrf inverse lstsq pinv qr row_order "
        "slogdet solve svd svdvals triangular_solve check_solved"
    ),
    "sorting and searching": "argsort histc median_of msort searchsorted sort topk",
    "special functions are SciPy's": (
        "bessel_i bessel_ie bessel_j bessel_k bessel_ke bessel_y digamma erfinv gamma_log_moment igamma igammac lgamma "
        "polygamma spherical_bessel_j zeta"
    ),
    "these distributions are drawn by methods of NumPy's generator with tables and rejection": (
        "random_gamma random_normal random_order random_poisson"
    ),
    "loops of NumPy": "alignment_scores banded_recurrence",
    "it looks at values to raise an exception": "chance_weights check_exponent",
    "it is Python's own function of a number": "math_function round_digits",
}
#: Primitives that NumPy computes, with the reason.
REASONS = {name: reason for reason, names in _REASONS.items() for name in names.split()}

HEAD = """# Operators of the native CPU backend

Written by `python tools/native_page.py` from what the backend makes of the samples of the primitives; do not edit by
hand. `NativeBackend.coverage(module)` says the same of one module.

* *inside walks*: in a fused loop, which computes many ops in one pass over memory, without arrays in between;
* *native*: a kernel of its own, a copy, or a view;
* *NumPy kernel*: run by Python, which machine code calls, on the same memory.
"""


def ways(name: str) -> dict[str, list[DType]]:
    """The dtypes of operands by the way they are computed, the slowest of all samples."""
    defn = REGISTRY[name]
    backend = NativeBackend(NumpyBackend)
    found: dict[str, list[DType]] = defaultdict(list)
    for dtype in DTYPES:
        usual: set[str] = set()
        small: set[str] = set()
        for xs, attrs in samples_of(defn, dtype):
            made = forward(defn, xs, attrs) if any(x.dtype == dtype.numpy for x in xs) or dtype is float32 else None
            if made is not None:
                seen = usual if all(x.size and x.ndim for x in xs) else small  # numbers are registers
                seen.add(backend.coverage(made[0]).ways[name])
        way = next((w for w in (HOST, NATIVE, FUSED) if w in (usual or small)), None)
        if way is not None:
            found[way].append(dtype)
    return found


def _row(name: str) -> str:
    found = ways(name)
    cells = [" ".join(d.short for d in found.get(way, ())) for way in (FUSED, NATIVE, HOST)]
    return f"| {name} | {' | '.join(cells)} |"


def page() -> str:
    """The text of docs/native_operators.md."""
    kernels = sorted(n for n, d in REGISTRY.items() if d.samples and (d.numpy or d.scalar) and n not in REASONS)
    lines = [HEAD, "## Machine code\n", "| primitive | inside walks | native | NumPy kernel |", "|---|---|---|---|"]
    with np.errstate(all="ignore"):
        lines += [_row(name) for name in kernels]
    lines += ["\n## NumPy kernels\n", "| primitives | why |", "|---|---|"]
    lines += [f"| {', '.join(sorted(names.split()))} | {reason} |" for reason, names in _REASONS.items()]
    control = sorted(n for n, d in REGISTRY.items() if n in OPS and not (d.numpy or d.scalar))
    lines += ["\n## Control flow, tuples and effects\n", ", ".join(f"`{n}`" for n in control) + ": native."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
