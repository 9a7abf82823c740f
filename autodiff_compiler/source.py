"""Where things stand in the user's files: locations, lines of source, carets."""

from __future__ import annotations

import linecache
import os
import unicodedata
from typing import NamedTuple

__all__ = ["Loc", "excerpt", "line_of"]


class Loc(NamedTuple):
    """One place in the user's source.

    `line` counts from 1, `col` and `end_col` are *character* columns counted from 0.
    `caller` is the place that called the function this one lies in (a chain, innermost first).
    `tag` says which transformation made an op that has no line of its own, e.g. ``"adjoint"``.
    """

    file: str
    line: int
    col: int = 0
    end_line: int = 0
    end_col: int = 0
    function: str = ""
    caller: Loc | None = None
    tag: str = ""

    def tagged(self, tag: str) -> Loc:
        """The same place, marked as made by a transformation (the first mark stays)."""
        return self if self.tag else self._replace(tag=tag)

    def __str__(self) -> str:
        text = f"{os.path.basename(self.file)}:{self.line}:{self.col}"
        return f"{text} {self.tag}" if self.tag else text


def line_of(file: str, line: int) -> str:
    """The text of one line without its newline, or an empty string where there is no source."""
    return linecache.getline(file, line).rstrip("\n")


def excerpt(loc: Loc, note: str = "", width: int = 0) -> str:
    """The line at `loc` with carets under the exact expression, as compilers print it.

    `width` is the least width of the line number, so that several excerpts of one message align.
    """
    text = line_of(loc.file, loc.line).rstrip()
    if not text:
        return ""
    end = loc.end_col if loc.end_line == loc.line and loc.end_col > loc.col else len(text)
    # A tab stays a tab in the caret line so that the marks stand under the same cells.
    pad = "".join("\t" if c == "\t" else " " * _cells(c) for c in text[: loc.col])
    number = str(loc.line).rjust(width)
    gutter = " " * len(number)
    marks = "^" * max(1, sum(map(_cells, text[loc.col : end])))
    lines = [f"{gutter} |", f"{number} | {text}", f"{gutter} | {pad}{marks}{' ' + note if note else ''}"]
    return "\n".join(lines)


def _cells(char: str) -> int:
    """How many cells of a terminal a character fills: a combining mark none, a wide one two."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
