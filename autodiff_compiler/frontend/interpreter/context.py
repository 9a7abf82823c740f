"""What the rules of statements and expressions see of the interpreter, and the tables that they stand in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import gast

from ...errors import CompileError
from ...registration import Registrar
from ..derivatives.context import DerivativeContext
from ..guards.objects import UNBOUND
from ..variables.frames import Frame
from ..variables.structure import form_of

Rule = Callable[[Any, Any], Any]
EXPRESSIONS: dict[str, Rule] = {}
STATEMENTS: dict[str, Rule] = {}
#: Registers what gives the abstract value of these kinds of expression.
expression = Registrar(EXPRESSIONS)
#: Registers what executes these kinds of statement.
statement = Registrar(STATEMENTS)


@contextmanager
def operands(ctx: StatementContext, nodes: Sequence[Any], values: Sequence[Any]) -> Iterator[None]:
    """Meanwhile these are the operands of what is being compiled: checks of sizes say what the user calls them."""
    before, ctx.operands = ctx.operands, (ctx.frame, nodes, values)
    try:
        yield
    finally:
        ctx.operands = before


class LoopMemory:
    """What one compilation remembers of each loop, so that loops inside loops do not multiply the attempts.

    A loop inside another is met again at every trace of the outer one.  What was decided (kept, unrolled, peeled,
    restarted) stands for all loops of the same statement, number of trips and types at the entry; the types at which
    the tracing of a kept loop settled are where the next tracing from the same entry begins.
    """

    def __init__(self) -> None:
        #: by `key`: what became of a loop
        self.decisions: dict[Hashable, Any] = {}
        #: by `entry`: at which types a kept loop settled
        self.settled: dict[Hashable, Any] = {}
        self._names: dict[int, list[str]] = {}

    def key(self, node: Any, n: Any, env: dict[str, Any]) -> Hashable:
        """The loop with the types of what it mentions."""
        types = tuple([form_of(x).sort(x) for x in self._values(node, env)])
        return id(node), n if isinstance(n, int) else None, types

    def entry(self, node: Any, env: dict[str, Any]) -> Hashable:
        """The loop with the types of what it mentions, and the values where they are known."""
        return id(node), tuple([form_of(x).identity(x) for x in self._values(node, env)])

    def _values(self, node: Any, env: dict[str, Any]) -> list[Any]:
        """What the names that a loop mentions stand for."""
        names = self._names.get(id(node))
        if names is None:
            names = sorted({n.id for n in gast.walk(node) if isinstance(n, gast.Name)})
            self._names[id(node)] = names
        return [env.get(name, UNBOUND) for name in names]


class StatementContext(DerivativeContext, Protocol):
    """What statements see of the interpreter: all of it but how rules are called."""

    frame: Frame
    loops: LoopMemory
    #: how many branches chosen at run time surround the present place
    arms: int
    operands: tuple[Frame, Sequence[Any], Sequence[Any]] | None

    def block(self, stmts: Sequence[Any]) -> None: ...
    def note_return(self, node: Any) -> None: ...
    def refused(self, node: Any) -> CompileError: ...
