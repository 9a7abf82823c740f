"""The layouts of images: channels last (NHWC) to channels first (NCHW), which ops take, and back."""

from __future__ import annotations

from typing import Any

from .. import ops

__all__ = ["first", "last"]


def first(x: Any, data_format: str) -> Any:
    """[N, H, W, C] as [N, C, H, W]; x itself if the `data_format` is not NHWC."""
    return ops.permute(x, (0, 3, 1, 2)) if data_format == "NHWC" else x


def last(x: Any, data_format: str) -> Any:
    """[N, C, H, W] as [N, H, W, C]; x itself if the `data_format` is not NHWC."""
    return ops.permute(x, (0, 2, 3, 1)) if data_format == "NHWC" else x
