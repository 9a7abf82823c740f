"""Arrays by name in an .npz file, bfloat16 among them."""

from __future__ import annotations

from typing import Any
from zipfile import BadZipFile

import ml_dtypes
import numpy as np

#: What NumPy raises for a file that holds no arrays.
UNREADABLE = (ValueError, TypeError, OSError, EOFError, BadZipFile)


def read_values(path: str) -> dict[str, Any]:
    """The arrays in a file, each with its dtype."""
    with np.load(path, allow_pickle=False) as found:
        # .npz knows bfloat16 as two bytes only
        return {k: x.view(ml_dtypes.bfloat16) if x.dtype.kind == "V" else x for k, x in found.items()}
