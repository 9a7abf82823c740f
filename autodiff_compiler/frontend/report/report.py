"""What the user is told of one compilation: reasons, warnings, where it failed, and the IR of what was compiled."""

from __future__ import annotations

import itertools

from ... import escape
from ...config import context
from ...errors import AutodiffWarning, CompileError, warn_once
from ...ir.build import Builder
from ...ir.core import Block
from ...ir.failure import history_of, internal_error, is_ours, leave, unfinished
from ...ir.graphs_folder import graphs_folder
from ...source import PACKAGE, Loc
from ..variables.interpreter import Program
from .reasons import Reasons

_numbers = itertools.count()


class Report:
    """Reasons, warnings and failures of one compilation."""

    def __init__(self, called_from: Loc | None, reasons: Reasons) -> None:
        #: the user's line whose call is being compiled
        self.called_from = called_from
        self.reasons = reasons
        #: where Python raised an exception, and the builder of the path that always gets there
        self.certain: tuple[Loc, Builder] | None = None
        #: the place of the last `return` of the outermost function
        self.returned_at: Loc | None = None
        #: the last exception, the builder it left and the place of the node it came from (see `report_failure`)
        self.failure: tuple[Exception, Builder, Loc] | None = None
        #: warnings with their places, for the end: a part that is given up warns of nothing
        self.warnings: list[tuple[AutodiffWarning, Loc | None]] = []

    def warn(self, warning: AutodiffWarning, place: Loc | None) -> None:
        """Warns at the user's line and not at one of ours, when all is compiled."""
        self.warnings.append((warning, place and place.of_user()))

    def flush_warnings(self) -> None:
        """Gives the warnings collected, each once per place."""
        for warning, place in self.warnings:
            warn_once(warning, place)

    def note_failure(self, error: Exception, builder: Builder, place: Loc) -> None:
        """Notes where compilation stood when this was raised; the innermost node that it passes counts."""
        if self.failure is None or self.failure[0] is not error:
            self.failure = error, builder, place


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
