"""What became of each loop and branch while it was compiled, and why; `artifact.explain()` tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import gast

from ...source import Loc, is_users

if TYPE_CHECKING:
    from .interpreter import Lowering

__all__ = ["KEPT", "Decision", "note_branch"]

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


def note_branch(lw: Lowering, node: Any, condition: Any) -> None:
    """Notes what becomes of an `if` or a conditional expression, by the truth value of its condition."""
    if any(isinstance(part, gast.Name) and "#" in part.id for part in gast.walk(node.test)):
        return  # a flag that stands for a `break`, `continue` or `return`, and no branch of the user's
    loc = lw.frame.tree.loc(node, lw.frame.caller)
    if isinstance(condition, bool):
        way = Decision(loc, "if", "one branch only", f"its condition is known while compiling: {condition}")
    else:
        way = Decision(loc, "if", "both branches", "its condition is known only at run time", condition)
    lw.reasons.decisions.append(way)
