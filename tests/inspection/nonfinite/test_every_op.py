"""No op of the package, nor its derivative, passes through a NaN or an infinity on the way to finite results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.dtypes import float32
from autodiff_compiler.eager import differentiate, leaves
from autodiff_compiler.inspection.samples import samples_of
from autodiff_compiler.ir.primitive import REGISTRY, F

#: Where operands are all alike, ops are near their edges.
EDGES = (0.0, 1.0, -1.0, 50.0)
#: Their derivative is the exponential of a logarithm, which is -inf at 0.
THROUGH_INFINITY = {"igamma", "igammac"}
OPS = sorted(name for name, defn in REGISTRY.items() if defn.samples is not None and name != "chance_weights")


def operands_of(name: str) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    defn = REGISTRY[name]
    for number, (operands, attrs) in enumerate(samples_of(defn, float32)):
        yield operands, attrs
        if number and defn.scalar is not None and not attrs:
            continue  # of a formula all samples are the same, but for their shapes
        for i, x in enumerate(operands):
            if x.dtype.kind == "f" and name not in THROUGH_INFINITY:
                yield from (([*operands[:i], np.full_like(x, v), *operands[i + 1 :]], attrs) for v in EDGES)


def computed(name: str, operands: list[Any], attrs: dict[str, Any]) -> list[Any]:
    """The results and all gradients."""
    fixed = [Tensor(x) for x in operands]
    free = [i for i, x in enumerate(operands) if x.dtype.kind == "f"]

    def run(*xs: Tensor) -> Any:
        given = dict(zip(free, xs, strict=True))
        return getattr(F, name)(*[given.get(i, x) for i, x in enumerate(fixed)], **attrs)

    if REGISTRY[name].vjp is None or not free:
        return leaves(run(*[fixed[i] for i in free]))
    out, gradients, _ = differentiate(run, [fixed[i] for i in free])
    return [*leaves(out), *gradients]


def is_finite(x: Any) -> bool:
    array = np.asarray(x.asnumpy() if isinstance(x, Tensor) else x)
    return array.dtype.kind in "biu" or bool(np.isfinite(array).all())


@pytest.mark.some(3)
@pytest.mark.parametrize("name", OPS)
@pytest.mark.filterwarnings("ignore::autodiff_compiler.GradientWarning")
def test_what_is_healthy_raises_nothing(name: str) -> None:
    tried = 0
    for operands, attrs in operands_of(name):
        if not all(map(is_finite, operands)):
            continue
        try:
            found = computed(name, operands, attrs)
        except (ValueError, ms.NotDifferentiableError):  # the edge is no operand for it
            continue
        if all(map(is_finite, found)):
            tried += 1
            with ms.check_nonfinite():
                computed(name, operands, attrs)
    assert tried
