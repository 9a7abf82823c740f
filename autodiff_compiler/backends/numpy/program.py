"""A generated function as statements, branches and loops, before it is text.

The lowering makes it, the plan adds `out=` and `del`, the printer writes it.  Readable source consists of the same
statements: there names are given and lines wrapped instead.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from ...ir.core import Op
from ...source import Loc
from .syntax import Var, variables


class Step:
    """One statement.

    `call` is the call that can write its result into a given array (`out=`), if there is one; `elementwise` says that
    it reads an element of its operands only before it writes the same element of the result.  `into`: an operand that
    the call may overwrite, and what makes it do so.  `safe`: no exception leaves it.  `ops`: those that it computes.
    """

    __slots__ = ("call", "dies", "donor", "elementwise", "into", "loc", "node", "ops", "reads", "safe", "writes")

    def __init__(self, node: ast.stmt, loc: Loc | None, call: ast.Call | None = None, elementwise: bool = False):
        self.node, self.loc, self.call, self.elementwise = node, loc, call, elementwise
        self.ops: tuple[Op, ...] = ()
        self.safe = elementwise
        self.reads: list[Var] = []
        self.writes: list[Var] = []
        for var, stored in variables(node):
            (self.writes if stored else self.reads).append(var)
        if isinstance(node, ast.AugAssign):
            self.reads += self.writes
        self.into: tuple[Var, Callable[[], None]] | None = None
        self.donor: Var | None = None
        self.dies: list[Var] = []

    @property
    def value(self) -> ast.expr | None:
        """What a variable is assigned, if the statement does that and no more."""
        if isinstance(self.node, ast.Assign) and self.writes and isinstance(self.node.targets[0], ast.Name):
            return self.node.value
        return None

    @property
    def copied(self) -> Var | None:
        """The variable that a variable is assigned."""
        return self.reads[0] if isinstance(self.value, ast.Name) and self.reads else None


class Branch:
    """``if test: ... else: ...``"""

    __slots__ = ("arms", "dies", "loc", "ops", "reads", "test")

    def __init__(self, test: ast.expr, arms: tuple[list[Node], list[Node]], loc: Loc | None) -> None:
        self.test, self.arms, self.loc = test, arms, loc
        self.ops: tuple[Op, ...] = ()
        self.reads = [v for v, _ in variables(test)]
        #: Variables whose last use lies in the other arm (or in the test), per arm.
        self.dies: tuple[list[Var], list[Var]] = ([], [])


class Loop:
    """``for targets in test: ...``, or ``while test: ...`` where there are no targets."""

    __slots__ = ("body", "dies", "loc", "ops", "reads", "targets", "test")

    def __init__(self, test: ast.expr, targets: Sequence[Var], body: list[Node], loc: Loc | None) -> None:
        self.test, self.targets, self.body, self.loc = test, list(targets), body, loc
        self.ops: tuple[Op, ...] = ()
        self.reads = [v for v, _ in variables(test)]
        #: Variables the loop needs until it ends.
        self.dies: list[Var] = []


class Exit:
    """``if not test: break``: the end of a loop whose condition needs several statements."""

    __slots__ = ("loc", "ops", "reads", "test")

    def __init__(self, test: ast.expr, loc: Loc | None) -> None:
        self.test, self.loc = test, loc
        self.ops: tuple[Op, ...] = ()
        self.reads = [v for v, _ in variables(test)]


class Try:
    """``try: body``, ``except: leaving``, which raises again; in readable source only."""

    __slots__ = ("body", "leaving", "loc", "ops", "reads")

    def __init__(self, body: list[Node], leaving: list[Node], loc: Loc | None) -> None:
        self.body, self.leaving, self.loc = body, leaving, loc
        self.ops: tuple[Op, ...] = ()
        self.reads: list[Var] = []


Node: TypeAlias = Step | Branch | Loop | Exit | Try


class FunctionCode:
    """One `def` of the generated module."""

    __slots__ = ("args", "body", "is_entry", "loc", "name", "returns")

    def __init__(self, name: str, args: list[Var], loc: Loc | None, is_entry: bool) -> None:
        self.name, self.args, self.loc, self.is_entry = name, args, loc, is_entry
        self.body: list[Node] = []
        #: What each result is: an expression, with the variable it came from if there is one.
        self.returns: list[tuple[ast.expr, Var | None]] = []


def nodes_of(body: list[Node]) -> Iterator[Node]:
    """All nodes in the order of the text, nested ones included."""
    todo = body[::-1]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, Branch):
            for arm in reversed(node.arms):
                todo += arm[::-1]
        elif isinstance(node, Loop):
            todo += node.body[::-1]
        elif isinstance(node, Try):
            todo += [*node.body, *node.leaving][::-1]


def trees_of(body: list[Node]) -> Iterator[ast.AST]:
    """All expressions and statements of Python's."""
    for node in nodes_of(body):
        if isinstance(node, Step):
            yield node.node
        elif not isinstance(node, Try):
            yield node.test
