"""Amounts of memory, as settings name them."""

from __future__ import annotations

import re

__all__ = ["parse_size"]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str) -> int | None:
    """The bytes that a text names, or None where it names none.

    >>> parse_size("500M"), parse_size("2 GiB"), parse_size("4096"), parse_size("many")
    (524288000, 2147483648, 4096, None)
    """
    found = re.fullmatch(r"(\d+)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    return None if found is None else int(found[1]) * _UNITS[found[2].upper()]
