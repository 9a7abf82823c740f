"""Speeds of the kernels of NumPy, LAPACK and SciPy, measured by one representative op of each class.

The ops of a class differ from the measured one, and sizes from its size, so what is estimated so is right within a
factor of about four.  Of kernels without a class only the amount of arithmetic is known: their estimates are lower
bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..backends.base import Piece
from ..dtypes import float32
from ..ir.build import Builder
from ..ir.core import Block, Op
from ..ir.primitive import REGISTRY, kernel_of
from ..ir.sizes import usual
from ..ir.types import TensorType, tensor
from ..primitives.flops import flops_of, size_of_type

#: The classes, each with the op that is measured for it.
_CLASSES: dict[str, frozenset[str]] = {
    "msort": frozenset({"msort", "histc", "searchsorted", "topk"}),
    "argsort": frozenset({"argsort", "sort"}),
    "inverse": frozenset({"inverse", "solve", "det", "slogdet", "cofactor", "cholesky", "triangular_solve", "expm"}),
    "eigh": frozenset({"eigh", "eigvalsh", "svd", "svdvals", "qr", "geqrf", "lstsq", "pinv"}),
    "lgamma": frozenset({
        "bessel_i", "bessel_ie", "bessel_j", "bessel_k", "bessel_ke", "bessel_y", "digamma", "erfinv",
        "gamma_log_moment", "igamma", "igammac", "lgamma", "polygamma", "spherical_bessel_j", "zeta",
    }),
}  # fmt: skip
_CLASS_OF = {name: measured for measured, names in _CLASSES.items() for name in names}
#: Classes that stream over memory once.
_PASSES = dict.fromkeys(("check_solved", "check_exponent", "chance_weights"), "")
#: Classes whose time grows with the elements; that of the others grows with the operations.
_BY_ELEMENT = frozenset({"lgamma"})


def measured_kernels(dtype: Any, least: Callable[[Callable[[], Any]], float]) -> dict[str, float]:
    """By class: seconds per operation or element, where `least` gives the seconds of a call."""
    rng = np.random.default_rng(0)
    rows, matrix = rng.random((4, 1024)).astype(dtype), (rng.random((96, 96)) + 96 * np.eye(96)).astype(dtype)
    comparisons, cubes = rows.size * 10, 96**3
    found = {}
    for name in _CLASSES:
        x = matrix if name in ("inverse", "eigh") else rows
        attrs: dict[str, Any] = {"axis": -1, "descending": False} if name.endswith("sort") else {}
        kernel = kernel_of(REGISTRY[name])
        seconds = least(lambda kernel=kernel, x=x, attrs=attrs: kernel(x, **attrs))  # type: ignore[misc]
        operations = comparisons if attrs else x.size if name in _BY_ELEMENT else _per_cube(name) * cubes
        found[name] = seconds / operations
    return found


def _per_cube(name: str) -> float:
    """Operations divided by the cube of the matrix size."""
    with Builder(Block([tensor(float32, (96, 96))])) as builder:
        builder.emit(REGISTRY[name], tuple(builder.block.args), REGISTRY[name].attrs_of({}))
    return usual(flops_of(builder.block.ops[-1])) / 96**3


def kernel_seconds(op: Op, speeds: Mapping[str, float]) -> float | None:
    """Seconds of an op's kernel; None if it has no class."""
    measured = _CLASS_OF.get(op.defn.name)
    if measured is None or measured not in speeds:
        return None
    if measured in _BY_ELEMENT:
        sizes = [usual(size_of_type(x.type)) for x in op.results if isinstance(x.type, TensorType)]
        return max(sizes, default=0) * speeds[measured]
    return usual(flops_of(op)) * speeds[measured]


def times_unknown(piece: Piece) -> list[str]:
    """The ops of a piece that Python runs and whose speed is not known."""
    names = [op.defn.name for op in piece.ops]
    return [name for name in names if name == "host_call" or (piece.calls and name not in _CLASS_OF | _PASSES)]
