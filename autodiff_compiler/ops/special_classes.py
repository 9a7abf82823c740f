"""MindSpore's operator classes for special functions, diagonals, distances and plain values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import dtype_of
from ..ir.primitive import call
from . import aliases, basic, matrices, special
from .operation import constant, operation

__all__: list[str] = []

_Function = Callable[..., Any]
_MAKERS: dict[str, Callable[..., _Function]] = {
    "ApproximateEqual": lambda tolerance=1e-5: lambda x, y: aliases.approximate_equal(x, y, tolerance),
    "Cdist": lambda p=2.0: lambda x, y: matrices.cdist(x, y, p),
    "DynamicShape": lambda dtype="int64": lambda x: call.cast(aliases.dyn_shape(x), dtype_of(dtype)),
    "Histogram": lambda bins=100, min=0.0, max=0.0: lambda x: call.cast(matrices.histc(x, bins, min, max), "int32"),
    "InTopK": lambda k: lambda x1, x2: matrices.intopk(x1, x2, k),
    "MatrixDiagPartV3": lambda align="RIGHT_LEFT": (
        lambda x, k, padding_value: matrices.matrix_diag_part(x, k, padding_value, align)
    ),
    "MatrixDiagV3": lambda align="RIGHT_LEFT": (
        lambda x, k, num_rows, num_cols, padding_value: matrices.matrix_diag(
            x, k, num_rows, num_cols, padding_value, align
        )
    ),
    "MatrixSetDiagV3": lambda align="RIGHT_LEFT": (
        lambda x, diagonal, k: matrices.matrix_set_diag(x, diagonal, k, align)
    ),
    "Pdist": lambda p=2.0: lambda x: matrices.pdist(x, p),
    "Renorm": lambda p, dim, maxnorm: lambda x: matrices.renorm(x, p, dim, maxnorm),
}
#: Classes without constants.
_FUNCTIONS: dict[str, _Function] = {
    "AccumulateNV2": matrices.accumulate_n, "AddN": matrices.addn, "BesselI0": special.bessel_i0,
    "BesselI0e": special.bessel_i0e, "BesselI1": special.bessel_i1, "BesselI1e": special.bessel_i1e,
    "BesselJ0": special.bessel_j0, "BesselJ1": special.bessel_j1, "BesselK0": special.bessel_k0,
    "BesselK0e": special.bessel_k0e, "BesselK1": special.bessel_k1, "BesselK1e": special.bessel_k1e,
    "BesselY0": special.bessel_y0, "BesselY1": special.bessel_y1, "Conj": special.conj, "DType": aliases.dtype,
    "Depend": aliases.depend, "Eps": special.eps, "Gcd": special.gcd, "Identity": lambda x: call.mul(x, 1),
    "Igamma": special.igamma, "Igammac": special.igammac, "Imag": special.imag, "Inv": special.inv,
    "Invert": special.invert, "Lcm": special.lcm, "MatrixBandPart": matrices.matrix_band_part,
    "NextAfter": special.nextafter, "PopulationCount": special.population_count, "Print": aliases.print_,
    "Real": special.real,
    "ScalarCast": aliases.scalar_cast, "ScalarToArray": aliases.scalar_to_array,
    "ScalarToTensor": aliases.scalar_to_tensor, "Sinc": special.sinc, "TensorAdd": basic.add,
    "TensorShape": aliases.dyn_shape, "TupleToArray": aliases.tuple_to_array, "Xdivy": special.xdivy,
    "Zeta": special.zeta,
}  # fmt: skip


_MAKERS |= {name: constant(function) for name, function in _FUNCTIONS.items()}
for _name, _make in _MAKERS.items():
    globals()[_name] = operation(_name, _make, __name__)
__all__ += _MAKERS
