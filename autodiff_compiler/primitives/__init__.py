"""The primitives: every op of the IR, one class each.  Importing this package registers them all."""

from __future__ import annotations

from typing import Any

from ..ir.core import Value
from ..ir.primitive import REGISTRY, F, call
from . import (
    activation,
    arithmetic,
    autodiff,
    banded,
    bessel,
    blocks,
    buckets,
    collective,
    compare,
    container,
    control,
    conversion,
    convolution,
    create,
    ctc,
    data_sized,
    decompositions,
    dense,
    determinant,
    distance,
    effect,
    einsum,
    elementwise,
    incomplete_gamma,
    index,
    interpolation,
    linalg,
    losses,
    lu,
    neural,
    normalization,
    number_theory,
    padding,
    placement,
    pooling,
    pooling_forms,
    powers,
    python_numbers,
    random,
    rearrange,
    reduce,
    rounding,
    scan,
    scatter,
    shape,
    sizes_of_data,
    solve,
    sorting,
    special,
    statistics,
    subscript,
    summaries,
    transcendental,
    unfold,
    update,
    vision,
    zeta,
)

from . import method_names as method_names  # isort: skip  # after all others: it renames what they made
from . import method_forms as method_forms  # isort: skip  # after the names

__all__ = ["REGISTRY", "F", "call"]


def _attach_operators() -> None:
    """Arithmetic of Values in derivative rules: strict, between equal types (a number becomes a constant)."""

    def binary(name: str) -> tuple[Any, Any]:
        return (lambda x, y: getattr(F, name)(x, y)), (lambda x, y: getattr(F, name)(y, x))

    for slot, name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div")):
        forward, reflected = binary(name)
        setattr(Value, f"__{slot}__", forward)
        setattr(Value, f"__r{slot}__", reflected)
    setattr(Value, "__neg__", lambda x: F.neg(x))  # noqa: B010  (a plain assignment to a slot confuses mypy)


_attach_operators()
