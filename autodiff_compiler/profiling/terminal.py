"""Tables on a terminal, in colours if `rich` is installed and colours are wanted."""

from __future__ import annotations

import sys
from typing import IO, Literal

from ..environment import colours_wanted
from ..inspection.tabular import Tables, text_table

__all__ = ["show"]


def show(found: Tables, file: IO[str] | None = None) -> None:
    """Prints a headline, tables and notes."""
    out = file or sys.stdout
    if not (colours_wanted(out) and _in_colours(found, out)):
        print(Tables.__str__(found), end="", file=out)


def _in_colours(found: Tables, out: IO[str]) -> bool:
    """Prints them in colours; False without `rich`, which is optional."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        return False
    tables = found._tables()
    widest = [len(line) for table in tables for line in text_table(*table, found._left).splitlines()]
    # Wide enough for all lines, which a narrower terminal wraps; `colours_wanted` has decided about colours.
    console = Console(file=out, width=max(80, *widest), force_terminal=True, no_color=False)
    console.print(found._headline(), style="bold", markup=False, highlight=False)
    for head, rows in tables:
        table = Table(box=None, header_style="bold cyan", pad_edge=False)
        for name in head:
            side: Literal["left", "right"] = "left" if name in found._left else "right"
            table.add_column(name, justify=side, no_wrap=True, style=_STYLES.get(name))
        for row in rows:
            table.add_row(*[cell.replace("[", r"\[") for cell in row])
        console.print()
        console.print(table)
    for note in found._notes():
        console.print(f"\n{note}", style="dim", markup=False, highlight=False)
    return True


_STYLES = {
    "time": "bold yellow", "median": "bold yellow", "share": "yellow", "speed-up": "green", "source": "green",
    "of limit": "magenta",
}  # fmt: skip
