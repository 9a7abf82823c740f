"""MindSpore's operator classes for images: blocks, resizing, sampling, boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..ir.primitive import call
from ..primitives.family import as_tensor
from ..primitives.requirements import static_int
from ..primitives.window import per_dimension
from ..surface.table import public
from .operation import operation

__all__: list[str] = []

_Function = Callable[..., Any]


# ------------------------------------------------------------------------------------------------ blocks
def _depth_to_space(block_size: int) -> _Function:
    def run(x: Any) -> Any:
        x = as_tensor(x)
        n, c, h, w = x.shape
        parts = call.reshape(x, (n, block_size, block_size, c // block_size**2, h, w))
        return call.reshape(
            call.transpose(parts, (0, 3, 4, 1, 5, 2)), (n, c // block_size**2, h * block_size, w * block_size)
        )

    return run


def _space_to_depth(block_size: int) -> _Function:
    def run(x: Any) -> Any:
        x = as_tensor(x)
        n, c, h, w = x.shape
        parts = call.reshape(x, (n, c, h // block_size, block_size, w // block_size, block_size))
        return call.reshape(
            call.transpose(parts, (0, 3, 5, 1, 2, 4)), (n, c * block_size**2, h // block_size, w // block_size)
        )

    return run


def _im2col(ksizes: Any, strides: Any = 1, dilations: Any = 1, pads: Any = 0) -> _Function:
    places = int(np.prod(per_dimension(ksizes, 2, "ksizes")))

    def run(x: Any) -> Any:
        columns = public.unfold(x, ksizes, dilations, pads, strides)
        n, rows, windows = columns.shape
        return call.reshape(columns, (n, rows // places, places, windows))

    return run


# ------------------------------------------------------------------------------------------------ resizing
def _places(source: int, target: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """The coordinates of the target's elements in the source."""
    steps = np.arange(target)
    if align_corners:
        return steps * ((source - 1) / (target - 1) if target > 1 else 0.0)
    scale = source / target
    return (steps + 0.5) * scale - 0.5 if half_pixel_centers else steps * scale


def _linear_weights(source: int, target: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """The matrix [target, source] of linear interpolation: the weights of the source in each element of the target."""
    at = np.clip(_places(source, target, align_corners, half_pixel_centers), 0, source - 1)
    low = np.floor(at).astype(int)
    weights = np.zeros((target, source))
    np.add.at(weights, (np.arange(target), low), 1 - (at - low))
    np.add.at(weights, (np.arange(target), np.minimum(low + 1, source - 1)), at - low)
    return weights


def _nearest(source: int, target: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """The source element nearest to each element of the target."""
    if align_corners:
        at = np.floor(_places(source, target, True, False) + 0.5)
    else:
        at = np.floor((np.arange(target) + (0.5 if half_pixel_centers else 0.0)) * (source / target))
    return np.minimum(at, source - 1).astype(np.int32)


def _one_convention(name: str, align_corners: bool, half_pixel_centers: bool) -> None:
    if align_corners and half_pixel_centers:
        raise ValueError(f"{name}: align_corners and half_pixel_centers exclude each other")


def _image(name: str, x: Any, size: Any) -> tuple[Any, int, int]:
    x = as_tensor(x)
    if x.ndim != 4:
        raise ShapeError(f"{name} takes [batch, channels, height, width], not {list(x.shape)}")
    height, width = (static_int(s, "size") for s in size)
    return x, height, width


def _bilinear(align_corners: bool = False, half_pixel_centers: bool = False) -> _Function:
    _one_convention("ResizeBilinearV2", align_corners, half_pixel_centers)

    def run(x: Any, size: Any) -> Any:
        x, height, width = _image("ResizeBilinearV2", x, size)
        how = (align_corners, half_pixel_centers)
        rows = _linear_weights(x.shape[2], height, *how).astype(x.dtype.numpy)
        columns = _linear_weights(x.shape[3], width, *how).T.astype(x.dtype.numpy)
        return call.matmul(call.matmul(rows, x), columns)

    return run


def _nearest_neighbour(align_corners: bool = False, half_pixel_centers: bool = False) -> _Function:
    _one_convention("ResizeNearestNeighborV2", align_corners, half_pixel_centers)

    def run(x: Any, size: Any) -> Any:
        x, height, width = _image("ResizeNearestNeighborV2", x, size)
        how = (align_corners, half_pixel_centers)
        rows = call.gather(x, as_tensor(_nearest(x.shape[2], height, *how)), 2, 0)
        return call.gather(rows, as_tensor(_nearest(x.shape[3], width, *how)), 3, 0)

    return run


def _bicubic(align_corners: bool, half_pixel_centers: bool) -> _Function:
    _one_convention("ResizeBicubic", align_corners, half_pixel_centers)
    if not (align_corners or half_pixel_centers):
        raise ValueError("ResizeBicubic resizes with align_corners or half_pixel_centers here: say one of them")
    return lambda images, size: public.interpolate(images, tuple(size), mode="bicubic", align_corners=align_corners)


def _of_size(make: Callable[..., _Function]) -> Callable[..., _Function]:
    """The maker of a class that has the size among its constants."""

    def sized(size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> _Function:
        run = make(align_corners, half_pixel_centers)
        return lambda x: run(x, size)

    return sized


def _linear1d(coordinate_transformation_mode: str = "align_corners") -> _Function:
    if coordinate_transformation_mode not in ("align_corners", "half_pixel"):
        raise ValueError(
            "coordinate_transformation_mode must be 'align_corners' or 'half_pixel', "
            f"not {coordinate_transformation_mode!r}"
        )
    corners = coordinate_transformation_mode == "align_corners"

    def run(x: Any, size: Any) -> Any:
        x = as_tensor(x)
        (target,) = per_dimension(size, 1, "size")
        return call.matmul(x, _linear_weights(x.shape[-1], target, corners, not corners).T.astype(x.dtype.numpy))

    return run


# ------------------------------------------------------------------------------------------------ classes
_MAKERS: dict[str, tuple[Callable[..., _Function], str]] = {
    "DepthToSpace": (
        _depth_to_space,
        "``DepthToSpace(block_size)(x)``: channels [N, C, H, W] moved into blocks of the image.",
    ),
    "Im2Col": (
        _im2col,
        "``Im2Col(ksizes, strides=1, dilations=1, pads=0)(x)``: the windows of images as [N, C, elements, windows].",
    ),
    "ResizeBicubic": (
        lambda align_corners=False, half_pixel_centers=False: _bicubic(align_corners, half_pixel_centers),
        (
            "``ResizeBicubic(align_corners=False, half_pixel_centers=False)(images, size)``: one of the flags"
            " must be set."
        ),
    ),
    "ResizeBilinear": (
        _of_size(_bilinear),
        """``ResizeBilinear(size, ...)(x)``: images [batch, channels, height, width] resized by linear interpolation.

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.ResizeBilinear((2, 2))(ops.ones((1, 1, 4, 4))).shape
    (1, 1, 2, 2)
    """,
    ),
    "ResizeBilinearV2": (
        _bilinear,
        """``ResizeBilinearV2(...)(x, size)``: images [batch, channels, height, width] resized by linear interpolation.

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.ResizeBilinearV2()(ops.ones((1, 1, 4, 4)), (2, 2)).shape
    (1, 1, 2, 2)
    """,
    ),
    "ResizeLinear1D": (
        _linear1d,
        '``ResizeLinear1D(coordinate_transformation_mode="align_corners")(x, size)``: the last dimension resized.',
    ),
    "ResizeNearestNeighbor": (
        _of_size(_nearest_neighbour),
        (
            "``ResizeNearestNeighbor(size, ...)(x)``: images [batch, channels, height, width] resized to "
            "nearest elements."
        ),
    ),
    "ResizeNearestNeighborV2": (
        _nearest_neighbour,
        "``ResizeNearestNeighborV2(...)(x, size)``: images [N, C, H, W] resized to nearest elements.",
    ),
    "SpaceToDepth": (
        _space_to_depth,
        "``SpaceToDepth(block_size)(x)``: blocks of images [N, C, H, W] moved into the channels.",
    ),
}
for _name, (_make, _doc) in _MAKERS.items():
    globals()[_name] = operation(_name, _make, __name__, _doc)
__all__ += _MAKERS
