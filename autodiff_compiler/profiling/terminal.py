"""Tables on a terminal: in colours where `rich` is installed and they are wanted, else as plain text."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import IO, Literal

from ..environment import colours_wanted
from ..inspection.tabular import text_table

__all__ = ["show"]


def show(
    headline: str,
    tables: Sequence[tuple[str, list[str], list[list[str]]]],
    notes: Sequence[str],
    left: Collection[str],
    file: IO[str] | None = None,
) -> None:
    """Prints tables, each with what it is by, its head and its rows."""
    out = file or sys.stdout
    texts = [text_table(head, rows, left) for _, head, rows in tables]
    if colours_wanted(out):
        try:  # optional
            from rich.console import Console
            from rich.table import Table
        except ImportError:
            pass
        else:
            widest = [len(line) for text in texts for line in text.splitlines()]
            # On a narrower terminal lines wrap, and lose nothing.  Whether there are colours is settled already.
            console = Console(file=out, width=max(80, *widest), force_terminal=True, no_color=False)
            console.print(headline, style="bold", markup=False, highlight=False)
            for _, head, rows in tables:
                table = Table(box=None, header_style="bold cyan", pad_edge=False)
                for name in head:
                    side: Literal["left", "right"] = "left" if name in left else "right"
                    table.add_column(name, justify=side, no_wrap=True, style=_STYLES.get(name))
                for row in rows:
                    table.add_row(*[cell.replace("[", r"\[") for cell in row])
                console.print()
                console.print(table)
            for note in notes:
                console.print(f"\n{note}", style="dim", markup=False, highlight=False)
            return
    print("\n\n".join([headline, *texts, *notes]), file=out)


_STYLES = {
    "time": "bold yellow", "median": "bold yellow", "share": "yellow", "speed-up": "green", "source": "green",
    "of limit": "magenta",
}  # fmt: skip
