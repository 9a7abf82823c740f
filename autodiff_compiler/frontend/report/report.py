"""What the user is told of one compilation: reasons, warnings, and where it failed."""

from __future__ import annotations

from ...errors import AutodiffWarning, warn_once
from ...ir.build import Builder
from ...source import Loc
from .reasons import Reasons

__all__ = ["Report"]


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
        #: the last exception, the builder it left and the place of the node it came from (see `failed`)
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
