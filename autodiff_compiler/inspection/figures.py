"""Counts, bytes and durations as text with three digits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from ..ir.sizes import Dim, Size


def amount(n: Size) -> str:
    """A count with three digits, or a formula.

    >>> amount(999), amount(1536), amount(2_400_000)
    ('999', '1.54 k', '2.40 M')
    """
    if isinstance(n, Dim):
        return formula(n)
    return _scaled(float(n), 1000.0, ("", "k", "M", "G", "T", "P"))


def size(nbytes: Size) -> str:
    """Bytes with three digits, or as a formula.

    >>> size(640), size(6144), size(3 << 20)
    ('640 B', '6.00 KiB', '3.00 MiB')
    """
    if isinstance(nbytes, Dim):
        return f"{formula(nbytes)} B" if len(nbytes.terms) == 1 else f"({formula(nbytes)}) B"
    return _scaled(float(nbytes), 1024.0, ("B", "KiB", "MiB", "GiB", "TiB"))


def formula(n: Dim) -> str:
    """A formula of symbolic sizes, its summands apart.

    >>> from autodiff_compiler.ir.sizes import symbol
    >>> formula(2 * symbol("n") * symbol("m") - 1)
    '2*m*n - 1'
    """
    return re.sub(r"(?<=[^(,])[+-]", lambda sign: f" {sign[0]} ", str(n))


def duration(seconds: float) -> str:
    """A time with three digits.

    >>> duration(2.5e-7), duration(1.234e-3)
    ('250 ns', '1.23 ms')
    """
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{_digits(seconds * factor)} {unit}"
    return f"{_digits(seconds * 1e9)} ns"


def times(factor: float) -> str:
    """How many times as much, with three digits.

    >>> times(2664.0), times(1.0), times(0.0000123)
    ('2,660x', '1x', '0.0000123x')
    """
    return f"{Decimal(f'{factor:.3g}'):,f}x"


def quartiles(seconds: Sequence[float]) -> tuple[float, float]:
    """Between these lies the middle half of the times.

    >>> quartiles([1.0, 2.0, 3.0, 4.0, 5.0])
    (2.0, 4.0)
    """
    low, high = np.percentile(seconds, (25, 75))
    return float(low), float(high)


def _scaled(x: float, step: float, units: tuple[str, ...]) -> str:
    i = 0
    while x >= step and i < len(units) - 1:
        x, i = x / step, i + 1
    return f"{_digits(x) if i else round(x)} {units[i]}".rstrip()


def _digits(x: float) -> str:
    return f"{x:.2f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:.0f}"
