"""Errors that NumPy raises in programs where eager mode has its own: the same, with the user's line."""

from __future__ import annotations

from ..errors import ShapeError
from ..ir.core import Module
from ..ir.walk import ops_of
from .out_of_memory import in_users_code

#: How NumPy's ValueErrors begin that say that no elements have no greatest or smallest one.
_NO_ELEMENTS = ("zero-size array to reduction operation", "attempt to get arg")


def of_no_elements(error: BaseException, line: str, module: Module) -> ShapeError | None:
    """The error for the greatest or smallest of no elements, of which data said how many; None for another error.

    `line`: the user's line as the program shows it.  An error of users' code stays as it is.
    """
    if type(error) is not ValueError or not str(error).startswith(_NO_ELEMENTS) or in_users_code(error):
        return None
    places = [op.loc for function in module for op in ops_of(function.body) if op.loc is not None]
    here = [loc for loc in places if line.startswith(f"{loc.short}:")]
    return ShapeError("an empty tensor has no extreme element", loc=here[-1] if here else None)
