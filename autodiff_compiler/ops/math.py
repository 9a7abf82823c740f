"""MindSpore's functions of numbers that have a body: questions, quotients, sums, places among the greatest.

As everything in `ops` they promote and broadcast as `Tensor` operators do and run in eager mode and in compiled code.
"""

from __future__ import annotations

from typing import Any, Never

from ..ir.primitive import call, distinct
from ..keywords import answering, refuse_unknown
from ..primitives.family import all_if_none, as_tensor, is_tensor, promoted, rows
from ..primitives.requirements import require, require_dtype, static_int

__all__ = [
    "accumulate_n", "addn", "eps", "intopk", "is_complex", "is_floating_point", "reduce_prod", "truncate_div",
]  # fmt: skip


def is_floating_point(input: Any) -> bool:
    """Whether the elements of a tensor are floats."""
    return bool(input.dtype.is_float)


def is_complex(input: Any) -> bool:
    """False: there are no complex tensors."""
    return False


def eps(x: Any) -> Any:
    """The distance from 1 to the next float of x's dtype, in x's shape.  DTypeError: no floats.

    >>> from autodiff_compiler import Tensor
    >>> eps(Tensor([3.0, 4.0])).tolist() == [2.0**-23] * 2
    True
    """
    x = as_tensor(x)
    require_dtype(x.dtype.is_float, f"eps is defined for floats, not for {x.dtype.name}")
    return call.full_like(x, {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}[x.dtype.short])


def truncate_div(x: Any, y: Any) -> Any:
    """Quotient rounded towards 0; integers keep their dtype."""
    x, y = promoted(x, y)
    if (x if is_tensor(x) else y).dtype.is_float:
        return call.trunc(call.div(x, y))
    # The floor of a quotient of different signs is one less, unless nothing remains.
    exact = call.logical_or(call.equal(call.mod(x, y), 0), call.equal(call.less(x, 0), call.less(y, 0)))
    floor = call.floordiv(x, y)
    return call.where(exact, floor, call.add(floor, 1))


@answering
def reduce_prod(x: Any, axis: Any = (), **unknown: Never) -> Any:
    """Product over axes, all for an empty tuple; integers keep their dtype."""
    if unknown:
        refuse_unknown(reduce_prod, unknown)
    x = as_tensor(x)
    return call.prod(x, all_if_none(axis), dtype=None if x.dtype.is_bool else x.dtype)


def addn(x: Any) -> Any:
    """The sum of several tensors of one shape.

    >>> from autodiff_compiler import Tensor
    >>> addn([Tensor([1, 2]), Tensor([3, 4]), Tensor([5, 6])]).tolist()
    [9, 12]
    """
    tensors = [as_tensor(t) for t in rows(x)]
    require(len(tensors) > 0, "a sum of tensors needs at least one")
    same = all(t.shape == tensors[0].shape for t in tensors)
    require(same, f"a sum of tensors needs one shape, not {', '.join(str(list(t.shape)) for t in tensors)}")
    total = tensors[0]
    for t in tensors[1:]:
        total = call.add(total, t)
    return distinct(total, *tensors[:1])


accumulate_n = addn


def intopk(x1: Any, x2: Any, k: int) -> Any:
    """Whether the class x2 of each row of x1 is among its k greatest: fewer than k are greater.

    False where the class does not exist or its number is not finite.

    >>> from autodiff_compiler import Tensor
    >>> intopk(Tensor([[1.0, 3.0, 2.0], [1.0, 3.0, 2.0]]), Tensor([2, 0]), 2).tolist()
    [True, False]
    """
    scores, labels, k = as_tensor(x1, "x1"), as_tensor(x2, "x2"), static_int(k, "k")
    fit = scores.ndim == 2 and labels.shape == scores.shape[:1]
    require(fit, f"intopk takes rows and a class for each, not {list(scores.shape)} and {list(labels.shape)}")
    scores, classes = call.stop_gradient(scores), scores.shape[1]
    exists = call.logical_and(call.greater_equal(labels, 0), call.less(labels, classes))
    own = call.gather_elements(scores, 1, call.expand_dims(call.where(exists, labels, 0), 1))
    above = call.count_nonzero(call.greater(scores, own), 1)
    known = call.logical_and(exists, call.isfinite(call.squeeze(own, 1)))
    return call.logical_and(known, call.less(above, k))
