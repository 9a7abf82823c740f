"""MindSpore's functional names for images: blocks, further forms of pooling, boxes, deformable convolution.

As everything in `ops` they promote as `Tensor` operators do and run in eager mode and in compiled code.
"""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call
from ..primitives.window import per_dimension
from .random import rand
from .state import compiled_from_source

__all__ = ["fractional_max_pool2d", "fractional_max_pool3d"]


# ------------------------------------------------------------------------------------------------ pooling


@compiled_from_source
def fractional_max_pool2d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The greatest elements of `output_size` random regions (or `output_ratio` times the size).

    `_random_samples` [batch, channels, 2], from 0 to 1, decide where they lie; without them they are drawn.
    """
    return _fractional(input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 2)


@compiled_from_source
def fractional_max_pool3d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The greatest elements of random regions over the last 3 dimensions; see `fractional_max_pool2d`."""
    return _fractional(input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 3)


@compiled_from_source
def _fractional(
    x: Any, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool, samples: Any, n: int
) -> Any:
    sizes = _output_sizes(tuple(x.shape), output_size, output_ratio, n)
    if samples is None:
        samples = rand(*x.shape[:-n], n)
    return call.fractional_max_pooling(x, samples, kernel_size, sizes, return_indices, n)


def _output_sizes(shape: tuple[int, ...], output_size: Any, output_ratio: Any, n: int) -> tuple[int, ...]:
    if (output_size is None) == (output_ratio is None):
        raise ValueError("fractional_max_pool needs either `output_size` or `output_ratio`")
    if output_size is not None:
        return tuple(per_dimension(output_size, n, "output_size"))
    ratios = output_ratio if isinstance(output_ratio, tuple | list) else (output_ratio,) * n
    if len(ratios) != n or not all(0 < r < 1 for r in ratios):
        raise ValueError(f"`output_ratio` must be one number or {n} between 0 and 1, not {output_ratio}")
    return tuple([int(d * r) for d, r in zip(shape[-n:], ratios, strict=True)])
