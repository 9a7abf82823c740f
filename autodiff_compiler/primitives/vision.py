"""Boxes in images, and convolution at learned offsets (deformable)."""

from __future__ import annotations

import math

import numpy as np

from ..errors import UnsupportedCallError
from ..ir.primitive import F, call, composite
from .convolution import convolution, resolved_padding
from .family import as_tensor, broadcast_to, cast, promoted_dtype
from .index import checked
from .interpolation import sampled
from .normalization import wide
from .requirements import known_sizes, require, static_int
from .window import per_dimension, window_counts


def _columns(x, axis=-1):
    """The slices along an axis, one by one."""
    n = x.shape[axis]
    parts = [F.slice(x, axes=(axis,), starts=(i,), stops=(i + 1,), steps=(1,)) for i in range(n)]
    return [F.squeeze(p, axes=(axis,)) for p in parts]


def _bilinear(x, places):
    """x [batch, channels, height, width] interpolated at coordinates (y, x), each [batch, ...]; zeros outside."""
    axes = []
    for c in places:
        low = call.floor(c)
        part = call.sub(c, low)
        axes.append([(low, call.sub(1, part)), (call.add(low, 1), part)])
    return sampled(x, axes)


# ------------------------------------------------------------------------------------------------ boxes
@composite()
def crop_and_resize(image, boxes, box_indices, crop_size, method="bilinear", extrapolation_value=0.0):
    """Parts of images [batch, height, width, channels], each resized to `crop_size`: [boxes, ..., ..., channels].

    A box (y1, x1, y2, x2) has 0 at the centres of the first and 1 at those of the last elements; outside lies
    `extrapolation_value`.  Methods: "bilinear", "nearest", and "bilinear_v2", where a box holds whole elements.
    """
    image, dtype = wide(image)
    boxes = cast(as_tensor(boxes, "boxes"), image.dtype)
    methods = ("bilinear", "nearest", "bilinear_v2")
    if method not in methods:
        raise UnsupportedCallError(f"crop_and_resize has no method {method!r}", hint=f"use one of {methods}")
    require(image.ndim == 4, f"crop_and_resize takes [batch, height, width, channels], not {list(image.shape)}")
    require(boxes.ndim == 2 and boxes.shape[1] == 4, f"boxes have the shape [boxes, 4], not {list(boxes.shape)}")
    index, count = checked(box_indices, image.shape[0], negative=False), boxes.shape[0]
    require(index.shape == (count,), f"{count} boxes have as many box_indices, not {list(index.shape)}")
    new = per_dimension(crop_size, 2, "crop_size")
    refused = f"images of {list(image.shape[1:3])} cannot be resized"
    sizes = known_sizes(image.shape[1:3], refused)
    require(min(sizes) > 0, refused)
    y1, x1, y2, x2 = _columns(boxes)
    places, inside = [], None
    for i, (first, last) in enumerate(((y1, y2), (x1, x2))):
        first, last = F.expand_dims(first, axes=(-1,)), F.expand_dims(last, axes=(-1,))
        c = (_among_elements if method == "bilinear_v2" else _between_centres)(first, last, sizes[i], new[i])
        c = broadcast_to(F.expand_dims(c, axes=(-2,) if i else (-1,)), (count, *new))
        met = F.logical_and(F.greater_equal(c, 0), F.less_equal(c, sizes[i] - 1))
        inside = met if inside is None else F.logical_and(inside, met)
        places.append(call.floor(call.add(c, 0.5)) if method == "nearest" else c)
    images = F.gather(F.transpose(image, axes=(-4, -1, -3, -2)), index, axis=-4)
    out = F.transpose(_bilinear(images, places), axes=(-4, -2, -1, -3))
    inside = broadcast_to(F.expand_dims(inside, axes=(-1,)), out.shape)
    return cast(F.select(inside, out, float(extrapolation_value)), dtype)


def _between_centres(first, last, size, new):
    """`new` places between both ends of each box, where 1 is the centre of the last of `size` elements."""
    at = np.linspace(0, 1, new) if new > 1 else np.full(1, 0.5)
    return call.mul(call.add(first, call.mul(call.sub(last, first), at.astype(first.dtype.numpy))), size - 1)


def _among_elements(first, last, size, new):
    """The centres of `new` equal parts of the elements that each box touches, at most as far out as their centres."""
    start = call.trunc(call.mul(first, size))
    most = call.maximum(call.sub(call.trunc(call.mul(last, size)), start), 0)
    parts = ((np.arange(new) + 0.5) / new).astype(first.dtype.numpy)
    place = call.sub(call.mul(call.add(most, 1), parts), 0.5)
    return call.clamp(call.add(start, call.maximum(call.minimum(place, most), 0)), 0, size - 1)


@composite()
def iou(anchor_boxes, gt_boxes, mode="iou"):
    """Overlaps [gt boxes, anchor boxes] of boxes (x0, y0, x1, y1), whose last elements belong to them.

    The area of the intersection divided by that of the union, with mode "iof" by that of the gt box.
    """
    anchors, truths = promoted_dtype(as_tensor(anchor_boxes), as_tensor(gt_boxes), floating=True)
    if mode not in ("iou", "iof"):
        raise ValueError(f"mode must be 'iou' or 'iof', not {mode!r}")
    for x in (anchors, truths):
        require(x.ndim == 2 and x.shape[1] == 4, f"boxes have the shape [boxes, 4], not {list(x.shape)}")
    (anchors, dtype), (truths, _) = wide(anchors), wide(truths)
    a = [F.expand_dims(x, axes=(-2,)) for x in _columns(anchors)]
    b = [F.expand_dims(x, axes=(-1,)) for x in _columns(truths)]
    common = None
    for i in (0, 1):
        side = call.sub(call.minimum(a[i + 2], b[i + 2]), call.maximum(a[i], b[i]))
        side = call.maximum(call.add(side, 1), 0)
        common = side if common is None else call.mul(common, side)
    whole = _area(b) if mode == "iof" else call.sub(call.add(_area(a), _area(b)), common)
    return cast(call.div(common, call.add(whole, 1e-10)), dtype)


def _area(box):
    return call.mul(call.add(call.sub(box[2], box[0]), 1), call.add(call.sub(box[3], box[1]), 1))


# ------------------------------------------------------------------------------------------------ moves of boxes
def _centre_and_size(box):
    """Both per direction, of boxes whose last elements belong to them."""
    sides = [(box[i], box[i + 2]) for i in (0, 1)]
    return [(call.div(call.add(a, b), 2), call.add(call.sub(b, a), 1)) for a, b in sides]


def _boxes(*xs):
    """Operands [boxes, 4] of one shape as floats of at least 32 bits, column by column; and their dtype."""
    xs = promoted_dtype(*xs, floating=True)
    for x in xs:
        same = x.ndim == 2 and x.shape[1] == 4 and x.shape == xs[0].shape
        require(same, f"boxes have one shape [boxes, 4], not {list(xs[0].shape)} and {list(x.shape)}")
    return [_columns(wide(x)[0]) for x in xs], xs[0].dtype


def _four(numbers, parameter):
    if not isinstance(numbers, tuple | list) or len(numbers) != 4:
        raise ValueError(f"`{parameter}` must hold 4 numbers, not {numbers!r}")
    return numbers


@composite()
def bounding_box_encode(anchor_box, groundtruth_box, means=(0.0,) * 4, stds=(1.0,) * 4):
    """How anchors [boxes, 4] must be moved to become other boxes, minus `means`, divided by `stds`.

    Moves (dx, dy, dw, dh) of the centres are in widths and heights, those of the sizes logarithms of factors.
    """
    (anchors, truths), dtype = _boxes(anchor_box, groundtruth_box)
    means, stds = _four(means, "means"), _four(stds, "stds")
    pairs = list(zip(_centre_and_size(anchors), _centre_and_size(truths), strict=True))
    moves = [call.div(call.sub(g, p), size) for (p, size), (g, _) in pairs]
    moves += [call.log(call.div(new, old)) for (_, old), (_, new) in pairs]
    scaled = [call.div(call.sub(m, mean), std) for m, mean, std in zip(moves, means, stds, strict=True)]
    return cast(F.stack(*scaled, axis=-1), dtype)


@composite()
def bounding_box_decode(
    anchor_box, deltas, max_shape, means=(0.0,) * 4, stds=(1.0,) * 4, wh_ratio_clip=0.016
):  # fmt: skip
    """Anchors [boxes, 4] moved by `deltas`, as `bounding_box_encode` makes them, and cut off at an image's borders.

    `max_shape` is (height, width) of the image; no size grows or shrinks by a factor beyond 1 / `wh_ratio_clip`.
    """
    (anchors, deltas), dtype = _boxes(anchor_box, deltas)
    means, stds = _four(means, "means"), _four(stds, "stds")
    if not isinstance(max_shape, tuple | list) or len(max_shape) != 2:
        raise ValueError(f"`max_shape` must be (height, width), not {max_shape!r}")
    moves = [call.add(call.mul(d, std), mean) for d, mean, std in zip(deltas, means, stds, strict=True)]
    most, ends = abs(math.log(wh_ratio_clip)), ([], [])
    for i, (centre, size) in enumerate(_centre_and_size(anchors)):
        middle = call.add(centre, call.mul(size, moves[i]))
        half = call.div(call.mul(size, call.exp(call.clamp(moves[i + 2], -most, most))), 2)
        for listed, end in zip(ends, (call.add(call.sub(middle, half), 0.5), call.sub(call.add(middle, half), 0.5)),
                               strict=True):  # fmt: skip
            listed.append(call.clamp(end, 0, max_shape[1 - i] - 1))
    return cast(F.stack(*ends[0], *ends[1], axis=-1), dtype)


@composite()
def check_valid(bboxes, img_metas):
    """Which boxes [boxes, 4] lie in an image of the sizes (height, width), each times the third number."""
    boxes, metas = promoted_dtype(as_tensor(bboxes), as_tensor(img_metas))
    require(boxes.ndim == 2 and boxes.shape[1] == 4, f"boxes have the shape [boxes, 4], not {list(boxes.shape)}")
    require(metas.shape == (3,), f"`img_metas` is (height, width, ratio), not of shape {list(metas.shape)}")
    x0, y0, x1, y1 = _columns(boxes)
    height, width, ratio = _columns(metas)
    inside = call.logical_and(call.greater_equal(x0, 0), call.greater_equal(y0, 0))
    for end, size in ((x1, width), (y1, height)):
        inside = call.logical_and(inside, call.less_equal(end, call.sub(call.mul(size, ratio), 1)))
    return inside


# ------------------------------------------------------------------------------------------------ convolution
@composite()
def deformable_conv2d(
    x, weight, offsets, kernel_size, strides, padding, bias=None, dilations=(1, 1, 1, 1), groups=1,
    deformable_groups=1, modulated=True,
):  # fmt: skip
    """Convolution of [batch, channels, height, width] whose taps read at positions moved by `offsets`, times a mask.

    `offsets` [batch, 3 * deformable_groups * taps, ...] holds all moves to the right, all moves down and all masks
    (2 parts without masks unless `modulated`).  Between elements x is interpolated linearly, outside lie zeros.
    X. Zhu et al., Deformable ConvNets v2 (2019).
    """
    x, weight, offsets = promoted_dtype(as_tensor(x), as_tensor(weight, "weight"), as_tensor(offsets, "offsets"))
    require(x.ndim == weight.ndim == offsets.ndim == 4, "deformable_conv2d takes tensors of 4 dimensions")
    kernel, dg = per_dimension(kernel_size, 2, "kernel_size"), static_int(deformable_groups, "deformable_groups")
    stride, dilation = _inner(strides, "strides"), _inner(dilations, "dilations")
    n, channels, *sizes = x.shape
    pairs = resolved_padding("pad", tuple(padding), sizes, kernel, stride, dilation)
    counts, taps = window_counts(sizes, kernel, stride, pairs, dilation), kernel[0] * kernel[1]
    require(dg > 0 and channels % dg == 0, f"{channels} channels do not split into {dg} deformable groups")
    parts = 3 if modulated else 2
    wanted = (n, parts * dg * taps, *counts)
    require(offsets.shape == wanted, f"offsets have the shape {list(wanted)}, not {list(offsets.shape)}")
    require(weight.shape[2:] == kernel, f"the weight {list(weight.shape)} has no taps {list(kernel)}")
    (x, dtype), (offsets, _), (weight, _) = wide(x), wide(offsets), wide(weight)
    moves = F.reshape(offsets, shape=(n, parts, dg, *kernel, *counts))
    right, down, *mask = [F.reshape(m, shape=(n * dg, *kernel, *counts)) for m in _columns(moves, -6)]
    places = []
    for i, move in enumerate((down, right)):
        tap, window = np.arange(kernel[i]) * dilation[i] - pairs[2 * i], np.arange(counts[i]) * stride[i]
        grid = tap[:, None, None, None] + window[:, None] if i == 0 else tap[:, None, None] + window
        places.append(call.add(move, grid.astype(x.dtype.numpy)))
    read = _bilinear(F.reshape(x, shape=(n * dg, channels // dg, *sizes)), places)
    if modulated:
        read = call.mul(read, F.expand_dims(mask[0], axes=(-5,)))
    read = F.transpose(read, axes=(-6, -5, -2, -4, -1, -3))  # every window's taps side by side
    read = F.reshape(read, shape=(n, channels, counts[0] * kernel[0], counts[1] * kernel[1]))
    bias = None if bias is None else cast(as_tensor(bias, "bias"), x.dtype)
    return cast(convolution(read, weight, bias, kernel, groups=groups), dtype)


def _inner(four, parameter):
    """The last two of four numbers, of which the first two must be 1."""
    values = per_dimension(four, 4, parameter)
    if values[:2] != (1, 1):
        raise ValueError(f"`{parameter}` of the batch and the channels must be 1: {list(values)}")
    return values[2:]
