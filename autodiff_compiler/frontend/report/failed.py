"""What a function leaves behind that the frontend could not compile: the IR made so far, and a note that names it."""

from __future__ import annotations

import itertools

from ... import escape
from ...config import context
from ...errors import CompileError
from ...ir.build import Builder
from ...ir.core import Block
from ...ir.failure import history_of, internal_error, is_ours, leave, unfinished
from ...ir.graphs_folder import graphs_folder
from ...source import PACKAGE
from ..variables.interpreter import Program
from .report import Report

__all__ = ["point_at_user", "report_failure"]

_numbers = itertools.count()


def point_at_user(error: CompileError) -> None:
    """Moves the place of an error that lies in Python's library or in this package to the user's call."""
    found = error.loc
    if found is None or found.of_user() is found:
        return
    whose = "this package" if found.file.startswith(PACKAGE) else "Python's own library"
    error.spans = ((found.of_user(), ""), *[span for span in error.spans[1:] if span[0].of_user() is span[0]])
    error.notes += (f"it is met in {found.function}, line {found.line}, of {whose}",)
    error.hint = "call it outside of the compiled function, or write in your own code what you need of it"


def report_failure(program: Program, report: Report, error: Exception) -> Exception:
    """The exception that tells the user of a failure: the same one, or InternalCompilerError where the mistake is ours.

    With `save_graphs`, and for our mistakes always, the IR made so far goes to a file.
    """
    ours = is_ours(error)
    if not ours and not context.save_graphs:
        return error
    folder = graphs_folder()
    what = error.message if isinstance(error, CompileError) else f"{type(error).__name__}: {error}"
    blocks: list[Block] = []
    loc = getattr(error, "loc", None)
    if report.failure is not None and report.failure[0] is error:
        loc = loc or report.failure[2]
        builder: Builder | None = report.failure[1]
        while builder is not None and builder is not program.builder:
            blocks.insert(0, builder.block)
            builder = builder.parent
    text = unfinished(program.module, program.entry, blocks, what)
    text += "\n" + history_of(error) if ours else ""
    path = leave(folder, f"failed_{next(_numbers):03d}_{escape.file_name(program.entry.name)}.ir", text)
    if ours:
        return internal_error(error, "the frontend failed", "front", [path], loc)
    note = f"the program as far as it was compiled: {path}"
    if isinstance(error, CompileError):
        error.notes += (note,)
    else:
        error.add_note(f"  {note}")
    return error
