"""What the rules of statements and expressions see of the interpreter, and the tables that they stand in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...errors import CompileError
from ..derivatives.context import DerivativeContext
from ..variables.frames import Frame
from .loop_memory import LoopMemory

__all__ = ["EXPRESSIONS", "STATEMENTS", "StatementContext", "expression", "statement"]

Rule = Callable[[Any, Any], Any]
EXPRESSIONS: dict[str, Rule] = {}
STATEMENTS: dict[str, Rule] = {}


def expression(*kinds: str) -> Callable[[Rule], Rule]:
    """Registers what gives the abstract value of these kinds of expression."""

    def register(rule: Rule) -> Rule:
        EXPRESSIONS.update(dict.fromkeys(kinds, rule))
        return rule

    return register


def statement(*kinds: str) -> Callable[[Rule], Rule]:
    """Registers what executes these kinds of statement."""

    def register(rule: Rule) -> Rule:
        STATEMENTS.update(dict.fromkeys(kinds, rule))
        return rule

    return register


class StatementContext(DerivativeContext, Protocol):
    """What statements see of the interpreter: all of it but how rules are called."""

    frame: Frame
    loops: LoopMemory
    #: how many branches chosen at run time surround the present place
    arms: int

    def block(self, stmts: Sequence[Any]) -> None: ...
    def note_return(self, node: Any) -> None: ...
    def refused(self, node: Any) -> CompileError: ...
