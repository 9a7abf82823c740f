"""What became of each loop and branch while it was compiled, and why; `artifact.explain()` tells it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...source import Loc, is_users

__all__ = ["KEPT", "Decision"]

#: How the outcome of a loop begins that the program has.
KEPT = "kept as a loop"


class Decision(NamedTuple):
    """`statement` ("for", "while" or "if") at a place: its `outcome` in words, and why.

    `because_of` is a value of run time that decided over it; why that is not known, `Reasons.why` tells.
    """

    loc: Loc
    statement: str
    outcome: str
    why: str
    because_of: Any = None

    @property
    def about(self) -> str:
        """What it is about, for the user; nothing where it is a matter of this package alone.

        Of code that a user's line calls, and did not write, only the loops that stay are told: the program has them.
        """
        if is_users(self.loc.file):
            return self.statement
        return f"{self.statement} inside a call" if self.outcome.startswith(KEPT) else ""
