"""MindSpore's functional names of diagonals, distances, and statistics of samples."""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call
from ..primitives.family import as_tensor, require, rows, static_int

__all__ = ["accumulate_n", "addn", "intopk"]


# ------------------------------------------------------------------------------------------------ diagonals


# ------------------------------------------------------------------------------------------------ distances


# ------------------------------------------------------------------------------------------------ samples


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
    return total


accumulate_n = addn
