"""Where things stand in the user's files: locations, lines of source, carets."""

from __future__ import annotations

import itertools
import linecache
import os
import sys
import sysconfig
import time
import unicodedata
from types import FrameType
from typing import NamedTuple

from . import escape

__all__ = [
    "IMPORTED",
    "PACKAGE",
    "Loc",
    "calling_expression",
    "calling_place",
    "cell_of",
    "excerpt",
    "full_place",
    "in_library",
    "is_users",
    "line_of",
    "lines_of",
    "look_at",
    "place_looked_at",
    "place_of_frame",
    "shown_file",
    "shown_line",
    "warned_place",
]

#: When this package began to be imported, in seconds of `time.time`: files that are older have what runs.
IMPORTED = time.time()

#: How many other places of the same a place has.
_MOST_ALSO = 8

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")


def is_users(file: str) -> bool:
    """Whether a file belongs neither to this package nor to Python's own library."""
    inside = file.startswith(PACKAGE) or (file.startswith(_LIBRARY) and "-packages" not in file)
    return not inside


def in_library(name: str) -> str:
    """A path for a file of a library, none of the user's, of which only the name is known."""
    return PACKAGE + name


def shown_file(file: str) -> str:
    """What a file is called in dumps: its name without the folder, or of a notebook's cell ``In [2]``."""
    return cell_of(file) or escape.line(os.path.basename(file))


def shown_line(file: str, line: int) -> str:
    """What a line is called in messages: "model.py:14", or "In [2], line 14" in a cell of a notebook."""
    cell = cell_of(file)
    return f"{cell}, line {line}" if cell else f"{shown_file(file)}:{line}"


def full_place(file: str, line: int) -> str:
    """What a line is called where a traceback or an editor is to find it: with the path, or as a notebook has it."""
    return shown_line(file, line) if cell_of(file) else f"{file}:{line}"


def cell_of(file: str) -> str:
    """The name of a cell, ``In [2]``, if a notebook has compiled its text under this file name; else nothing."""
    notebook = sys.modules.get("IPython")
    shell = notebook.get_ipython() if notebook is not None and hasattr(notebook, "get_ipython") else None
    label = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = label(file) if label is not None else None
    # IPython has a cell twice: as "Cell In[2]" at the head of a frame, and as "In [2]" beside the cell
    return escape.line(found[1]).replace("[", " [", 1) if found is not None and found[0] == "Cell" else ""


class Loc(NamedTuple):
    """One place in the user's source.

    `line` counts from 1, `col` and `end_col` are *character* columns counted from 0.
    `caller` is the place that called the function this one lies in (a chain, innermost first).
    `tag` says which transformation made an op that has no line of its own, e.g. ``"adjoint"``.
    `uses` are the places whose shares a sum of cotangents adds up.
    `turn` is the place of the unrolled loop around it, and the number of the trip; noted under `check_nonfinite` only.
    Of a kept loop whose first trips are unrolled it is that loop itself, and how many they are.
    `also` are places on other lines where the same is written, or what was folded into it; none of them has more.
    """

    file: str
    line: int
    col: int = 0
    end_line: int = 0
    end_col: int = 0
    function: str = ""
    caller: Loc | None = None
    tag: str = ""
    uses: tuple[Loc, ...] = ()
    turn: tuple[Loc, int] | None = None
    also: tuple[Loc, ...] = ()

    def tagged(self, tag: str) -> Loc:
        """The same place, marked as made by a transformation (the first mark stays)."""
        if self.also:
            return self._replace(tag=self.tag or tag, also=tuple([place.tagged(tag) for place in self.also]))
        return self if self.tag else self._replace(tag=tag)

    @property
    def alone(self) -> Loc:
        """The place without what it shares with others."""
        return self._replace(uses=(), also=()) if self.uses or self.also else self

    @property
    def places(self) -> tuple[Loc, ...]:
        """This place, and the others where the same is written."""
        return (self.alone, *self.also) if self.also else (self,)

    def with_also(self, other: Loc) -> Loc:
        """This place, and another where the same is written; of one line only the first counts, of many some."""
        if other.line == self.line and other.file == self.file and not other.also and other.caller == self.caller:
            return self
        if len(self.also) == _MOST_ALSO:
            return self
        also = list(self.also)
        for place in other.places:
            if len(also) < _MOST_ALSO and not any(map(place.on_line_of, (self, *also))):
                also.append(place.alone)
        return self if len(also) == len(self.also) else self._replace(also=tuple(also))

    def on_line_of(self, other: Loc) -> bool:
        """Whether both lie on one line, in one call of the function."""
        return self.line == other.line and self.file == other.file and self.caller == other.caller

    def of_user(self) -> Loc:
        """The innermost call in the user's files that led here, where this place lies here or in Python's library."""
        place = self
        while not is_users(place.file) and place.caller is not None:
            place = place.caller
        return place

    @property
    def short(self) -> str:
        """The name of the file, and the line: "model.py:14"; see `shown_line`."""
        return shown_line(self.file, self.line)

    @property
    def _in_code(self) -> str:
        """The place with its column, as comments of generated code have it."""
        return f"{shown_file(self.file)}:{self.line}:{self.col}"

    def __str__(self) -> str:
        """The user's place and, if this one lies in a library, this one: ``net.py:7:9 in dense.py:70:12 adjoint``."""
        user, text = self.of_user(), self._in_code
        if user is not self:
            text = f"{user._in_code} in {text}"
        return f"{text} {escape.line(self.tag)}" if self.tag else text


def calling_place() -> Loc | None:
    """The user's line that is running now: the innermost one outside of this package and Python's library."""
    frame = _calling_frame()
    return frame and Loc(frame.f_code.co_filename, frame.f_lineno, function=frame.f_code.co_qualname)


def calling_expression() -> Loc | None:
    """The user's expression that is running now, in that line."""
    frame = _calling_frame()
    return frame and place_of_frame(frame)


def _calling_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith("<frozen "):  # what runs a module, not the user's
        return None
    return frame


_looked_at: Loc | None = None


def look_at(place: Loc | None) -> None:
    """Says which function a command looks at, calling it itself; None when it is done."""
    global _looked_at
    _looked_at = place


def place_looked_at() -> Loc | None:
    """Where the function begins that a command looks at."""
    return _looked_at


def warned_place() -> Loc | None:
    """The user's line that is running now, or else the function that is looked at."""
    return calling_place() or _looked_at


def place_of_frame(frame: FrameType, caller: Loc | None = None) -> Loc:
    """The exact expression that a frame is at."""
    code = frame.f_code
    position = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    line, end_line, col, end_col = position
    if line is None or end_line is None or col is None or end_col is None:
        return Loc(code.co_filename, frame.f_lineno, function=code.co_qualname, caller=caller)
    columns = [
        len(line_of(code.co_filename, row).encode()[:at].decode(errors="replace"))
        for row, at in ((line, col), (end_line, end_col))
    ]
    return Loc(code.co_filename, line, columns[0], end_line, columns[1], code.co_qualname, caller)


def line_of(file: str, line: int) -> str:
    """The text of one line without its newline, or an empty string where there is no source."""
    lines = lines_of(file)
    return lines[line - 1].rstrip("\n") if 0 < line <= len(lines) else ""


def lines_of(file: str) -> list[str]:
    """The lines of a file, or none where there is no source."""
    try:
        return linecache.getlines(file)
    except ValueError:  # what no file can be called
        return []


def excerpt(loc: Loc, note: str = "", width: int = 0, source: str | None = None) -> str:
    """The line at `loc` with carets under the exact expression, as compilers print it.

    `width` is the least width of the line number, so that several excerpts of one message align; `source` is the text
    of the line where it is known already.  Of an expression over several lines the first is shown, marked ``^^^...``.
    """
    text = (line_of(loc.file, loc.line) if source is None else source).rstrip()
    if not text:
        return ""
    end, more = len(text), ""
    if not (loc.col or loc.end_col):  # only the line is known
        loc = loc._replace(col=len(text) - len(text.lstrip()))
    if loc.end_line == loc.line and loc.end_col > loc.col:
        end = loc.end_col
    elif loc.end_line > loc.line:
        end = _code_end(text, loc.col)
        if text[:end].endswith(":"):  # the head of a statement that holds others
            end -= 1
        else:
            more = "..."
    # A tab stays a tab in the caret line so that the marks stand under the same cells.
    pad = "".join("\t" if c == "\t" else " " * _cells(c) for c in escape.line(text[: loc.col]))
    marks = "".join("\t" if c == "\t" else "^" * _cells(c) for c in escape.line(text[loc.col : end])) or "^"
    number = str(loc.line).rjust(width)
    gutter = " " * len(number)
    return "\n".join(
        [f"{gutter} |", f"{number} | {escape.line(text)}", f"{gutter} | {pad}{marks}{more}{' ' + note if note else ''}"]
    )


def _code_end(text: str, start: int) -> int:
    """Where the code of a line ends that goes on below: before a comment."""
    quote = ""
    for i in range(start, len(text)):
        if text[i] in "'\"":
            quote = "" if quote == text[i] else quote or text[i]
        elif text[i] == "#" and not quote:
            return len(text[:i].rstrip())
    return len(text)


def _cells(char: str) -> int:
    """How many cells of a terminal a character fills: a combining or joining mark none, a wide one two."""
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or "\u1160" <= char <= "\u11ff":  # or a part of a syllable
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
