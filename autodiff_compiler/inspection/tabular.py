"""Tables as text and as HTML, and what is shown as a headline, tables and notes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from .. import escape


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str]) -> str:
    """A table whose columns stand under each other; those of the names in `left` begin at one edge, others end there.

    >>> print(text_table(["name", "n"], [["a", "10"], ["bc", "5"]], {"name"}))
    name   n
    a     10
    bc     5
    """
    head, rows = [*map(escape.line, head)], [[*map(escape.line, row)] for row in rows]
    left = {*map(escape.line, left)}
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = []
    for row in (head, *rows):
        cells = [f"{cell:{'<' if head[i] in left else '>'}{widths[i]}}" for i, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str]) -> str:
    """The same as HTML."""

    def cells(tag: str, row: Sequence[str]) -> str:
        looks = ["left;font-family:monospace;white-space:pre" if name in left else "right" for name in head]
        found = [
            f'<{tag} style="text-align:{look}">{escape.markup(cell)}</{tag}>'
            for look, cell in zip(looks, row, strict=True)
        ]
        return f"<tr>{''.join(found)}</tr>"

    body = "".join(cells("td", row) for row in rows)
    return f"<table><thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>"


class Cells(NamedTuple):
    """The cells of a table: the names of its columns, and its rows."""

    head: list[str]
    rows: list[list[str]]


class Tables:
    """A headline, tables and notes: `str` gives them as text, a notebook shows them as HTML.

    A subclass says what they are; the columns in `_left` begin at the left edge.
    """

    _left: Collection[str] = frozenset()

    def _headline(self) -> str:
        raise NotImplementedError

    def _tables(self, *, everything: bool = False) -> list[Cells]:
        """The tables; with `everything` also those for which a text has no room."""
        raise NotImplementedError

    def _notes(self) -> list[str]:
        raise NotImplementedError

    def __str__(self) -> str:
        tables = [text_table(*table, self._left) for table in self._tables()]
        return "\n\n".join([self._headline(), *tables, *self._notes()]) + "\n"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = [html_table(*table, self._left) for table in self._tables(everything=True)]
        headline, *notes = [f"<p>{escape.markup(text)}</p>" for text in (self._headline(), *self._notes())]
        return "".join([headline, *tables, *notes])


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters.

    >>> shortened("a long line", 8)
    'a lon...'
    """
    return text if len(text) <= most else text[: most - 3] + "..."


def listed(names: Sequence[str], most: int) -> str:
    """Names in a row, of at most so many characters: those in the middle are left out.

    >>> listed(["sub", "mul", "sum", "sqrt", "neg"], 20)
    'sub, mul, ..., neg'
    """
    text, kept = ", ".join(names), len(names)
    while len(text) > most and kept > 2:
        kept -= 1
        text = ", ".join([*names[: (kept + 1) // 2], "...", *names[len(names) - kept // 2 :]])
    return shortened(text, most)
