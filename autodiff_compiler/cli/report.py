"""Nested data as indented lines."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

_WIDTH = 120
#: Amounts of memory in reports, by their names.
_BYTES = ("bytes", "limit", "removed bytes")


def lines(found: Mapping[str, Any], indent: str = "") -> list[str]:
    """Nested dicts and lists as indented lines."""
    from ..inspection.figures import size  # not for --help

    out = []
    for name, value in found.items():
        if isinstance(value, dict) and value:
            out += [f"{indent}{name}:", *lines(value, indent + "  ")]
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list | dict) else value
            shown = size(value) if name in _BYTES and isinstance(value, int) else shown
            line = f"{indent}{name}: {shown if shown != '' else 'none'}"
            out += (
                textwrap.wrap(line, _WIDTH, subsequent_indent=f"{indent}  ", break_long_words=False)
                if len(line) > _WIDTH
                else [line]
            )
    return out


def count(n: int, what: str) -> str:
    """A number of things.

    >>> count(0, "problem"), count(1, "problem"), count(2, "problem")
    ('no problems', '1 problem', '2 problems')
    """
    return f"{n or 'no'} {what}{'s' * (n != 1)}"
