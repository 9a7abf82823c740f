"""MindSpore's functional names for images: blocks, further forms of pooling, boxes, deformable convolution.

As everything in `ops` they promote as `Tensor` operators do and run in eager mode and in compiled code.
"""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call
from ..primitives.window import per_dimension
from .random import rand
from .state import compiled_from_source

# fmt: off
__all__ = [
    "batch_to_space_nd", "bounding_box_decode", "bounding_box_encode", "channel_shuffle", "check_valid",
    "crop_and_resize", "deformable_conv2d", "fractional_max_pool2d", "fractional_max_pool3d", "iou", "lp_pool1d",
    "lp_pool2d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "pixel_shuffle", "pixel_unshuffle",
    "space_to_batch_nd",
]
# fmt: on


# ------------------------------------------------------------------------------------------------ blocks
def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """[..., channels * r * r, height, width] as [..., channels, height * r, width * r]; r is the factor.

    >>> from autodiff_compiler import Tensor
    >>> pixel_shuffle(Tensor([[[1]], [[2]], [[3]], [[4]]]), 2).tolist()
    [[[1, 2], [3, 4]]]
    """
    return call.pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """The inverse of `pixel_shuffle`."""
    return call.pixel_unshuffle(input, downscale_factor)


def channel_shuffle(x: Any, groups: int) -> Any:
    """[..., channels, height, width] with the channels of all groups interleaved."""
    return call.channel_shuffle(x, groups)


def space_to_batch_nd(input_x: Any, block_size: Any, paddings: Any) -> Any:
    """Blocks of the last dimensions, padded with zeros first, spread over the batch.

    >>> from autodiff_compiler import Tensor
    >>> space_to_batch_nd(Tensor([[1, 2, 3]]), 2, [[0, 1]]).tolist()
    [[1, 3], [2, 0]]
    """
    return call.space_to_batch_nd(input_x, block_size, paddings)


def batch_to_space_nd(input_x: Any, block_shape: Any, crops: Any) -> Any:
    """The inverse of `space_to_batch_nd`: the batch gathered to blocks, the borders of the result cropped."""
    return call.batch_to_space_nd(input_x, block_shape, crops)


# ------------------------------------------------------------------------------------------------ pooling
def lp_pool1d(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The root of the sum of the powers `norm_type` in every window of [batch, channels, length].

    >>> from autodiff_compiler import Tensor
    >>> lp_pool1d(Tensor([[3.0, 4.0]]), 2, 2).tolist()
    [[5.0]]
    """
    return call.lp_pooling(x, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The root of the sum of the powers `norm_type` in every window of [batch, channels, height, width]."""
    return call.lp_pooling(x, norm_type, kernel_size, stride, ceil_mode, 2)


def max_unpool1d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Zeros with the elements of x where a max pooling found them; IndexError for a position outside.

    >>> from autodiff_compiler import Tensor
    >>> max_unpool1d(Tensor([[5.0, 7.0]]), Tensor([[1, 2]]), 2).tolist()
    [[0.0, 5.0, 7.0, 0.0]]
    """
    return call.max_unpooling(x, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Zeros with the elements of x where `max_pool2d` found them; `output_size` chooses one of the possible sizes."""
    return call.max_unpooling(x, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Zeros with the elements of x where `max_pool3d` found them; `output_size` chooses one of the possible sizes."""
    return call.max_unpooling(x, indices, kernel_size, stride, padding, output_size, 3)


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


# ------------------------------------------------------------------------------------------------ boxes
def crop_and_resize(
    image: Any, boxes: Any, box_indices: Any, crop_size: Any, method: str = "bilinear", extrapolation_value: float = 0.0
) -> Any:
    """Parts of images [batch, height, width, channels], each resized to `crop_size`: [boxes, ..., ..., channels].

    A box (y1, x1, y2, x2) has 0 at the centres of the first and 1 at those of the last elements; outside lies
    `extrapolation_value`.  With the method "bilinear_v2" a box holds whole elements, those that lie at its ends
    included, which are resized as `interpolate` does; nothing lies outside.  "nearest" takes the nearest element.
    UnsupportedCallError: another method.
    """
    return call.crop_and_resize(image, boxes, box_indices, crop_size, method, extrapolation_value)


def iou(anchor_boxes: Any, gt_boxes: Any, mode: str = "iou") -> Any:
    """Overlaps [gt boxes, anchor boxes] of boxes (x0, y0, x1, y1), whose last elements belong to them.

    >>> from autodiff_compiler import Tensor
    >>> iou(Tensor([[0.0, 0.0, 1.0, 1.0]]), Tensor([[0.0, 0.0, 1.0, 3.0]])).tolist()
    [[0.5]]
    """
    return call.iou(anchor_boxes, gt_boxes, mode)


def bounding_box_encode(
    anchor_box: Any, groundtruth_box: Any, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0)
) -> Any:
    """How anchors [boxes, 4] must be moved to become other boxes: (dx, dy, dw, dh) minus `means`, divided by `stds`.

    Moves of the centres are in widths and heights, those of the sizes are logarithms of factors.
    """
    return call.bounding_box_encode(anchor_box, groundtruth_box, means, stds)


def bounding_box_decode(
    anchor_box: Any,
    deltas: Any,
    max_shape: Any,
    means: Any = (0.0, 0.0, 0.0, 0.0),
    stds: Any = (1.0, 1.0, 1.0, 1.0),
    wh_ratio_clip: float = 0.016,
) -> Any:
    """Anchors [boxes, 4] moved by `deltas`, as `bounding_box_encode` makes them, and cut off at an image's borders.

    `max_shape` is (height, width) of the image; no size grows or shrinks by a factor beyond 1 / `wh_ratio_clip`.
    """
    return call.bounding_box_decode(anchor_box, deltas, max_shape, means, stds, wh_ratio_clip)


def check_valid(bboxes: Any, img_metas: Any) -> Any:
    """Which boxes (x0, y0, x1, y1) lie in an image of the sizes (height, width), each times the third number."""
    return call.check_valid(bboxes, img_metas)


# ------------------------------------------------------------------------------------------------ convolution
def deformable_conv2d(
    x: Any,
    weight: Any,
    offsets: Any,
    kernel_size: Any,
    strides: Any,
    padding: Any,
    bias: Any = None,
    dilations: Any = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> Any:
    """Convolution of [batch, channels, height, width] whose taps read at positions moved by `offsets`, times a mask.

    `offsets` [batch, 3 * deformable_groups * taps, ...] holds all moves to the right, all moves down and all masks;
    unless `modulated` there are no masks, and 2 instead of 3 parts.
    `strides` and `dilations` have 4 numbers, the first two 1; `padding` is (top, bottom, left, right).
    """
    return call.deformable_conv2d(
        x, weight, offsets, kernel_size, strides, padding, bias, dilations, groups, deformable_groups, modulated
    )
