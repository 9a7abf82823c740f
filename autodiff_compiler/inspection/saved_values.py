"""Arrays by name in an .npz file, bfloat16 among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["read_values", "write_values"]


def write_values(path: str, arrays: Mapping[str, Any]) -> None:
    """Writes the arrays to the file."""
    np.savez(path, **arrays)


def read_values(path: str) -> dict[str, Any]:
    """The arrays in a file, each with its dtype."""
    with np.load(path, allow_pickle=False) as found:
        # .npz knows bfloat16 as two bytes only
        return {k: x.view(ml_dtypes.bfloat16) if x.dtype.kind == "V" else x for k, x in found.items()}
