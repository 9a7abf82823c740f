"""All rows by name, and the functions that are made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import creation, elementwise, indexing, matrices, mint, neural, operators, reductions, shapes, special, vision
from .row import Operator, Row, function, names_of, renamed

__all__ = ["MINT", "OPERATORS", "ROWS", "SUBJECTS", "of_mint", "public"]

SUBJECTS = (elementwise, special, reductions, shapes, creation, indexing, matrices, neural, vision)

#: The rows of `ops` by each of their names.
ROWS: dict[str, Row] = {name: row for subject in SUBJECTS for row in subject.ROWS for name in names_of(row)}


#: The rows of `mint` by each of their names: those of `ops`, or the same with the parameters of `mint`.
MINT: dict[str, Row] = {}
for _row in {row.signature: row for row in ROWS.values()}.values():
    if "(" in _row.mint:
        MINT[_row.mint.partition("(")[0]] = _row
    else:
        MINT |= dict.fromkeys(_row.mint.split(), _row)
MINT |= {row.name: row for row in mint.ROWS}

#: The rows of operator classes by name: their own, or that of the function which a class without constants applies.
OPERATORS: dict[str, Operator | Row] = {row.name: row for row in operators.OPERATORS}
OPERATORS |= {name: row for row in ROWS.values() for name in row.op.split()}


class _Public:
    """`public.name` is the function of a row, made at the first access."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        row = ROWS.get(name)
        if row is None:
            raise AttributeError(f"no row is called {name!r}")
        made: Callable[..., Any] = vars(self).setdefault(row.name, function(row, "autodiff_compiler.ops"))
        for each in names_of(row):
            setattr(self, each, made)
        return made


public: Any = _Public()


def of_mint(name: str) -> Callable[..., Any]:
    """The function of `mint` of this name, one of `MINT`."""
    row = MINT[name]
    if row in mint.ROWS:
        return function(row, "autodiff_compiler.mint")
    if "(" not in row.mint:
        return getattr(public, name)  # type: ignore[no-any-return]
    return function(renamed(row, row.mint), "autodiff_compiler.mint")
