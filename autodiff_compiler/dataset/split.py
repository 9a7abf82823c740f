"""The lengths of the parts of `Dataset.split`."""

from __future__ import annotations

from typing import Any

from ..errors import kind_of

__all__ = ["lengths_of"]


def lengths_of(sizes: Any, rows: int) -> list[int]:
    """The lengths of the parts; TypeError, ValueError for what are no sizes, RuntimeError if they do not fit.

    >>> lengths_of([0.5, 0.25, 0.25], 7)
    [3, 2, 2]
    >>> lengths_of([0.125] * 8, 10)
    [3, 1, 1, 1, 1, 1, 1, 1]
    """
    if not isinstance(sizes, list | tuple):
        raise TypeError(f"`sizes` must be a list of ints or of floats, not {kind_of(sizes)}")
    if not sizes:
        raise ValueError("`sizes` is empty")
    if all(isinstance(n, int) and not isinstance(n, bool) for n in sizes):
        if min(sizes) < 1:
            raise ValueError(f"`sizes` must be positive, not {min(sizes)}")
        if sum(sizes) != rows:
            raise RuntimeError(f"`sizes` {list(sizes)} make {sum(sizes)} rows, and the dataset has {rows}")
        return list(sizes)
    if not all(isinstance(share, float) for share in sizes):
        raise ValueError("`sizes` must be all ints or all floats")
    if not all(0 < share <= 1 for share in sizes) or abs(sum(sizes) - 1) > 1e-9:
        raise ValueError(f"the shares {list(sizes)} must be positive and make up 1, not {sum(sizes)}")
    lengths = [round(share * rows) for share in sizes]
    missing = rows - sum(lengths)
    # MindSpore 2.10: of rounded shares the first part gets the rows that are missing; those too many come from the
    # first part that keeps a row.
    first = next((i for i, n in enumerate(lengths) if n + min(missing, 0) > 0), None)
    if min(lengths) < 1 or first is None:
        raise RuntimeError(f"of {rows} rows, a part of {list(sizes)} gets none")
    lengths[first] += missing
    return lengths
