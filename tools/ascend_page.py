"""Writes docs/ascend_operators.md: what each primitive becomes on an Ascend device, and what stays on the host.

python tools/ascend_page.py            writes the page
python tools/ascend_page.py --check    fails if the page is not what the package says
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from autodiff_compiler.backends.ascend.backend import AscendBackend  # noqa: E402
from autodiff_compiler.backends.ascend.lower import CONTROL  # noqa: E402
from autodiff_compiler.backends.ascend.steps import Segment  # noqa: E402
from autodiff_compiler.backends.numpy import NumpyBackend  # noqa: E402
from autodiff_compiler.dtypes import DType, bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, uint8  # noqa: E402
from autodiff_compiler.inspection.samples import forward, samples_of  # noqa: E402
from autodiff_compiler.ir.core import Module  # noqa: E402
from autodiff_compiler.primitives import REGISTRY  # noqa: E402
from generated_pages import write_or_check  # noqa: E402

PAGE = ROOT / "docs" / "ascend_operators.md"
DTYPES = (float32, float16, bfloat16, float64, int64, int32, int16, int8, uint8, bool_)

_REASONS = {
    "random numbers are drawn on the host, the same on every device": (
        "random_uniform random_normal random_integers random_order random_gamma random_poisson"
    ),
    "it reads the device's overflow status, where results saturate": "without_overflow",
    "it looks at values on the host to raise an exception": (
        "check_index check_exponent check_solved chance_weights assert raise print host_call"
    ),
    "CANN's operators for such matrices are missing, newer than 8.1, or say nothing of singular ones": (
        "cholesky cofactor cofactor_slope det eigh eigvalsh expm expm_frechet geqrf inverse lstsq pinv qr row_order "
        "slogdet solve svd svdvals triangular_solve"
    ),
    "a special function that no operator computes": (
        "bessel_i bessel_ie bessel_j bessel_k bessel_ke bessel_y spherical_bessel_j digamma gamma_log_moment igamma "
        "igammac lgamma polygamma zeta"
    ),
    "no operator works on the bits of integers this way, and overflow is not documented": (
        "left_shift right_shift population_count"
    ),
    "no operator computes it": "gcd lcm nextafter histc run_starts",
    "programs with sizes of data are refused": (
        "as_size bind_size broadcast_size check_sizes first_places places repeated_places size_at stretched "
        "unstretched with_sizes zeros_of"
    ),
    "it is Python's own function of a number": "math_function round_digits",
}
#: Primitives that the host computes, with the reason.
HOST = {name: reason for reason, names in _REASONS.items() for name in names.split()}

#: HCCL's functions, for the collectives that it runs.
COLLECTIVES = {
    "all_gather": "HcclAllGather",
    "all_reduce": "HcclAllReduce",
    "all_to_all": "HcclAlltoAll",
    "all_to_all_v": "HcclAlltoAllV",
    "at_root": "none: the tensor, or zeros",
    "begin_all_reduce": "HcclAllReduce of a bucket",
    "end_all_reduce": "none: views of the bucket",
    "barrier": "HcclBarrier, for which the host waits, too",
    "broadcast_from": "HcclBroadcast",
    "exchange": "HcclBatchSendRecv",
    "gather_to": "HcclAlltoAllV, in which the root receives; zeros elsewhere",
    "receive_from": "HcclRecv",
    "reduce_scatter": "HcclReduceScatter",
    "reduce_to": "HcclReduce; zeros elsewhere",
    "scatter_from": "HcclScatter",
    "send_to": "HcclSend",
}

HEAD = """# Operators of the Ascend backend

Written by `python tools/ascend_page.py` from the rules of the primitives; do not edit by hand.

What each primitive becomes on the device, by the dtypes that its samples can have: dtypes on the fast cores (AI Core),
on the slow ones (AI CPU, as far as it is documented), and on the host. What the host computes is refused when a
program is compiled, unless `set_context(ascend_fallback="host")` allows it. The operators are those of all samples
together; `InplaceCopy` often stands for a view that became the result of a program, which has memory of its own.
Everything here was run on the simulator only, never on hardware.
"""


OPEN = """
## What CANN's texts leave open

Rules are written so that results do not depend on it (nan beside numbers in `Maximum`, `Amax`; which of equal elements
`ArgMax` and `Topk` name; which of several writers of a place wins; integers divided by 0 or cast to narrower ones; the
rounding of a quotient that is then floored; the dtype of sums of 16-bit floats), except for these, which the first run
on hardware has to show:

* `sign` of nan, `softmax` and `log_softmax` of rows with nan or only -inf, the place of nan in sorting;
* `mod`, `fmod` and `floordiv` of floats use `FmodTensor`: whether it is exact for large quotients;
* floats out of range cast to integers (nan becomes 0; the rest is undocumented, in NumPy too), and integers of more
  digits cast to floats;
* the sign of a zero from `maximum`, `minimum`, `clamp`, `relu`, `round`, `sign`, `xlogy`;
* integers that overflow, subnormal numbers, the last digits of transcendental functions;
* the order in which `IndexAdd`, `ScatterAdd`, `Scatter` and the convolutions add up;
* whether HCCL's sums of int8 wrap around, where it rounds sums of 16-bit floats, nan beside numbers in its `max` and
  `min`.
"""


def _telling(module: Module, dtype: DType) -> bool:
    """Whether something is computed, in no wider dtype than that."""
    types: list[Any] = [v.type for v in module.entry.outs]
    return any(math.prod(t.shape) for t in types) and (dtype is float64 or all(t.dtype is not float64 for t in types))


def _row(name: str) -> str:
    """A row of the table: operators, and dtypes by where they are computed."""
    defn = REGISTRY[name]
    operators: dict[str, None] = {}
    places: dict[str, list[str]] = {"fast": [], "slow": [], "host": []}
    backend = AscendBackend(NumpyBackend().compile)
    for dtype in DTYPES:
        found = set()
        for xs, attrs in samples_of(defn, dtype):
            if not any(x.dtype == dtype.numpy for x in xs) and (xs or dtype is not float32):
                continue
            made = forward(defn, xs, attrs)
            if made is None or not _telling(made[0], dtype):
                continue
            low, _, _ = backend._lowered(made[0])
            used = [call.operator for step in low.steps if isinstance(step, Segment) for call in step.calls]
            operators.update(dict.fromkeys(used))
            found.add("host" if low.missing else "slow" if low.slow else "fast")
        place = next((p for p in ("host", "slow", "fast") if p in found), None)
        if place:
            places[place].append(dtype.short)
    shown = ", ".join(sorted(operators)) or "a view, or a constant"
    return f"| {name} | {shown} | {' | '.join(' '.join(places[p]) for p in ('fast', 'slow', 'host'))} |"


def page() -> str:
    """The text of docs/ascend_operators.md."""
    kernels = sorted(n for n, d in REGISTRY.items() if d.samples and (d.numpy or d.scalar))
    device = [n for n in kernels if n not in HOST and n not in CONTROL]
    lines = [HEAD, "## On the device\n", "| primitive | operators | fast | slow | host |", "|---|---|---|---|---|"]
    with np.errstate(all="ignore"):
        lines += [_row(name) for name in device]
    lines += ["\n## On the host\n", "| primitives | why |", "|---|---|"]
    lines += [f"| {', '.join(sorted(names.split()))} | {reason} |" for reason, names in _REASONS.items()]
    lines += [
        "\n## Between the segments\n",
        "Control flow, tuples and sequences: steps of the host that choose and repeat segments of operators. Reading a",
        "condition copies one element from the device.\n",
        ", ".join(f"`{name}`" for name in sorted(CONTROL.keys() - COLLECTIVES.keys())) + ".",
        "\n## Collectives\n",
        "Functions of HCCL, queued on the stream between the segments. Of one process they are views.\n",
        "| primitive | functions |",
        "|---|---|",
        *[f"| {name} | {functions} |" for name, functions in sorted(COLLECTIVES.items())],
        "\nMoved: all dtypes, a bool as a byte. Reduced by HCCL: float32, float16, bfloat16 and signed integers; bool,",
        "uint8 and uint16 as int32, uint32 as int32 or int64, sums and products of uint64 as int64, products of",
        "bfloat16 as float32 and of int16 as int32; float64 and other reductions of uint64 not at all.",
    ]
    return "\n".join(lines) + "\n" + OPEN


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
