"""MindSpore's operator classes for special functions, diagonals, distances and plain values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import dtype_of
from ..ir.primitive import call
from ..surface.table import public
from . import aliases, matrices, special
from .operation import constant, operation

__all__: list[str] = []

_Function = Callable[..., Any]
_MAKERS: dict[str, Callable[..., _Function]] = {
    "ApproximateEqual": lambda tolerance=1e-5: lambda x, y: public.approximate_equal(x, y, tolerance),
    "Cdist": lambda p=2.0: lambda x, y: public.cdist(x, y, p),
    "DynamicShape": lambda dtype="int64": lambda x: call.cast(aliases.dyn_shape(x), dtype_of(dtype)),
    "Histogram": lambda bins=100, min=0.0, max=0.0: lambda x: call.cast(public.histc(x, bins, min, max), "int32"),
    "InTopK": lambda k: lambda x1, x2: matrices.intopk(x1, x2, k),
    "MatrixDiagPartV3": lambda align="RIGHT_LEFT": (
        lambda x, k, padding_value: public.matrix_diag_part(x, k, padding_value, align)
    ),
    "MatrixDiagV3": lambda align="RIGHT_LEFT": (
        lambda x, k, num_rows, num_cols, padding_value: public.matrix_diag(
            x, k, num_rows, num_cols, padding_value, align
        )
    ),
    "MatrixSetDiagV3": lambda align="RIGHT_LEFT": lambda x, diagonal, k: public.matrix_set_diag(x, diagonal, k, align),
    "Pdist": lambda p=2.0: lambda x: public.pdist(x, p),
    "Renorm": lambda p, dim, maxnorm: lambda x: public.renorm(x, p, dim, maxnorm),
}
#: Classes without constants.
_FUNCTIONS: dict[str, _Function] = {
    "AccumulateNV2": matrices.accumulate_n, "AddN": matrices.addn, "BesselI0": public.bessel_i0,
    "BesselI0e": public.bessel_i0e, "BesselI1": public.bessel_i1, "BesselI1e": public.bessel_i1e,
    "BesselJ0": public.bessel_j0, "BesselJ1": public.bessel_j1, "BesselK0": public.bessel_k0,
    "BesselK0e": public.bessel_k0e, "BesselK1": public.bessel_k1, "BesselK1e": public.bessel_k1e,
    "BesselY0": public.bessel_y0, "BesselY1": public.bessel_y1, "Conj": public.conj, "DType": aliases.dtype,
    "Depend": aliases.depend, "Eps": special.eps, "Gcd": public.gcd, "Identity": lambda x: call.mul(x, 1),
    "Igamma": public.igamma, "Igammac": public.igammac, "Imag": public.imag, "Inv": public.inv,
    "Invert": public.invert, "Lcm": public.lcm, "MatrixBandPart": public.matrix_band_part,
    "NextAfter": public.nextafter, "PopulationCount": public.population_count, "Print": aliases.print_,
    "Real": public.real,
    "ScalarCast": aliases.scalar_cast, "ScalarToArray": aliases.scalar_to_array,
    "ScalarToTensor": aliases.scalar_to_tensor, "Sinc": public.sinc, "TensorAdd": public.add,
    "TensorShape": aliases.dyn_shape, "TupleToArray": aliases.tuple_to_array, "Xdivy": public.xdivy,
    "Zeta": public.zeta,
}  # fmt: skip


_MAKERS |= {name: constant(function) for name, function in _FUNCTIONS.items()}
for _name, _make in _MAKERS.items():
    globals()[_name] = operation(_name, _make, __name__)
__all__ += _MAKERS
