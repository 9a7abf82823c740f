"""Blocks and windows of images, boxes."""

from __future__ import annotations

from .row import Row

__all__ = ["ROWS"]

# fmt: off
ROWS = (
    Row("pixel_shuffle(input, upscale_factor: int)", doc="""
    [..., channels * r * r, height, width] as [..., channels, height * r, width * r]; r is the factor.

    >>> ops.pixel_shuffle(Tensor([[[1]], [[2]], [[3]], [[4]]]), 2).tolist()
    [[[1, 2], [3, 4]]]
    """),
    Row("pixel_unshuffle(input, downscale_factor: int)", doc="The inverse of `pixel_shuffle`."),
    Row("channel_shuffle(x, groups: int)",
        doc="[..., channels, height, width] with the channels of all groups interleaved."),
    Row("space_to_batch_nd(input_x, block_size, paddings)", doc="""
    Blocks of the last dimensions, padded with zeros first, spread over the batch.

    >>> ops.space_to_batch_nd(Tensor([[1, 2, 3]]), 2, [[0, 1]]).tolist()
    [[1, 3], [2, 0]]
    """),
    Row("batch_to_space_nd(input_x, block_shape, crops)",
        doc="The inverse of `space_to_batch_nd`: the batch gathered to blocks, the borders of the result cropped."),
    Row("lp_pool1d(x, norm_type: float, kernel_size, stride=None, ceil_mode=False)",
        calls="call.lp_pooling(x, norm_type, kernel_size, stride, ceil_mode, 1)", doc="""
    The root of the sum of the powers `norm_type` in every window of [batch, channels, length].

    >>> ops.lp_pool1d(Tensor([[3.0, 4.0]]), 2, 2).tolist()
    [[5.0]]
    """),
    Row("lp_pool2d(x, norm_type: float, kernel_size, stride=None, ceil_mode=False)",
        calls="call.lp_pooling(x, norm_type, kernel_size, stride, ceil_mode, 2)",
        doc="The root of the sum of the powers `norm_type` in every window of [batch, channels, height, width]."),
    Row("max_unpool1d(x, indices, kernel_size, stride=None, padding=0, output_size=None)",
        calls="call.max_unpooling(x, indices, kernel_size, stride, padding, output_size, 1)", doc="""
    Zeros with the elements of x where a max pooling found them; IndexError for a position outside.

    >>> ops.max_unpool1d(Tensor([[5.0, 7.0]]), Tensor([[1, 2]]), 2).tolist()
    [[0.0, 5.0, 7.0, 0.0]]
    """),
    Row("max_unpool2d(x, indices, kernel_size, stride=None, padding=0, output_size=None)",
        calls="call.max_unpooling(x, indices, kernel_size, stride, padding, output_size, 2)",
        doc="Zeros with the elements of x where `max_pool2d` found them; `output_size` chooses one of the possible "
        "sizes."),
    Row("max_unpool3d(x, indices, kernel_size, stride=None, padding=0, output_size=None)",
        calls="call.max_unpooling(x, indices, kernel_size, stride, padding, output_size, 3)",
        doc="Zeros with the elements of x where `max_pool3d` found them; `output_size` chooses one of the possible "
        "sizes."),
    Row("crop_and_resize(image, boxes, box_indices, crop_size, method='bilinear', extrapolation_value=0.0)", doc="""
    Parts of images [batch, height, width, channels], each resized to `crop_size`: [boxes, ..., ..., channels].

    A box (y1, x1, y2, x2) has 0 at the centres of the first and 1 at those of the last elements; outside lies
    `extrapolation_value`.  With the method "bilinear_v2" a box holds whole elements, those that lie at its ends
    included, which are resized as `interpolate` does; nothing lies outside.  "nearest" takes the nearest element.
    UnsupportedCallError: another method.
    """),
    Row("iou(anchor_boxes, gt_boxes, mode='iou')", doc="""
    Overlaps [gt boxes, anchor boxes] of boxes (x0, y0, x1, y1), whose last elements belong to them.

    >>> ops.iou(Tensor([[0.0, 0.0, 1.0, 1.0]]), Tensor([[0.0, 0.0, 1.0, 3.0]])).tolist()
    [[0.5]]
    """),
    Row("bounding_box_encode(anchor_box, groundtruth_box, means=(0.0, 0.0, 0.0, 0.0), stds=(1.0, 1.0, 1.0, 1.0))",
        doc="""
    How anchors [boxes, 4] must be moved to become other boxes: (dx, dy, dw, dh) minus `means`, divided by `stds`.

    Moves of the centres are in widths and heights, those of the sizes are logarithms of factors.
    """),
    Row("bounding_box_decode(anchor_box, deltas, max_shape, means=(0.0, 0.0, 0.0, 0.0), stds=(1.0, 1.0, 1.0, 1.0), "
        "wh_ratio_clip=0.016)", doc="""
    Anchors [boxes, 4] moved by `deltas`, as `bounding_box_encode` makes them, and cut off at an image's borders.

    `max_shape` is (height, width) of the image; no size grows or shrinks by a factor beyond 1 / `wh_ratio_clip`.
    """),
    Row("check_valid(bboxes, img_metas)",
        doc="Which boxes (x0, y0, x1, y1) lie in an image of the sizes (height, width), each times the third number."),
    Row("deformable_conv2d(x, weight, offsets, kernel_size, strides, padding, bias=None, dilations=(1, 1, 1, 1), "
        "groups=1, deformable_groups=1, modulated=True)", doc="""
    Convolution of [batch, channels, height, width] whose taps read at positions moved by `offsets`, times a mask.

    `offsets` [batch, 3 * deformable_groups * taps, ...] holds all moves to the right, all moves down and all masks;
    unless `modulated` there are no masks, and 2 instead of 3 parts.
    `strides` and `dilations` have 4 numbers, the first two 1; `padding` is (top, bottom, left, right).
    """),
)
