"""Whether gradients overflowed."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...config import context
from ...dtypes import bool_
from ...ir.primitive import call

__all__ = ["all_finite"]


def all_finite(inputs: Any, status: Any = None) -> Any:
    """Whether all elements of all Tensors in a tuple or list are finite: a bool Tensor without dimensions.

    Inside of it may be more tuples and lists.  `status`, which MindSpore once needed, is ignored.  On a device whose
    results saturate instead of becoming infinite, it is False also where anything overflowed since it was last asked.
    TypeError: something else than Tensors.

    >>> from autodiff_compiler import Tensor
    >>> all_finite((Tensor([1.0]), Tensor([2.0]))).item(), all_finite([Tensor([1.0, float("inf")])]).item()
    (True, False)
    """
    found = ops.scalar_to_tensor(1, bool_)
    for x in _tensors(inputs):
        found = ops.logical_and(found, ops.all(ops.isfinite(x)))
    return found if context.device_target == "CPU" else call.without_overflow(found)


def _tensors(x: Any) -> list[Any]:
    if isinstance(x, tuple | list):
        return [t for item in x for t in _tensors(item)]
    if not ops.is_tensor(x):
        raise TypeError(f"all_finite takes Tensors in a tuple or list, not a {type(x).__name__}")
    return [x]
