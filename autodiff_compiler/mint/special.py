"""MindSpore's `mint.special`."""

from __future__ import annotations

from typing import Any

from ..ops import erfc, exp2, expm1, log1p, sinc
from ..ops import round as _round
from .nn.functional import log_softmax

__all__ = ["erfc", "exp2", "expm1", "log1p", "log_softmax", "round", "sinc"]


def round(input: Any) -> Any:
    """The nearest integers, halves to the even one."""
    return _round(input)
