"""Statements of a written program; variables have no names yet.

Expressions are plain `ast` trees.  A variable stands in them as an `ast.Name` whose `id` is the `Var`, so that a tree
can be printed, to see how long it is, before names are given.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ...source import Loc

__all__ = ["Assign", "Do", "Exit", "If", "Loop", "Statement", "Try", "Var", "reads", "store", "tree_of"]

_numbers = itertools.count()


class Var(str):
    """A variable: as a text, what stands for it until it has a name.

    `hint` is the name the user's program suggests; of a variable without one, `fallback` begins a name that no other
    variable shares.  A `fixed` one is an argument: its name is its hint.
    """

    hint: str | None
    fallback: str
    fixed: bool

    def __new__(cls, hint: str | None, fallback: str = "t", *, fixed: bool = False) -> Var:
        var = super().__new__(cls, f"{hint or fallback}@{next(_numbers)}")
        var.hint, var.fallback, var.fixed = hint, fallback, fixed
        return var


@dataclass
class Assign:
    """``targets = value``; a `copy` only gives what another variable holds to the target."""

    targets: list[Var]
    value: ast.expr
    loc: Loc | None = None

    @property
    def copied(self) -> Var | None:
        """The variable that is copied, if that is all that happens."""
        value = self.value
        if len(self.targets) == 1 and isinstance(value, ast.Name) and isinstance(value.id, Var):
            return value.id
        return None


@dataclass
class Do:
    """A statement that assigns no variable: an update, a call, an exception."""

    node: ast.stmt
    loc: Loc | None = None


@dataclass
class If:
    """A branch."""

    test: ast.expr
    then: list[Statement]
    other: list[Statement]
    loc: Loc | None = None


@dataclass
class Loop:
    """``for targets in head``, or ``while head`` where there are no targets."""

    targets: list[Var]
    head: ast.expr
    body: list[Statement]
    loc: Loc | None = None


@dataclass
class Try:
    """Statements, and what is done before an exception leaves them."""

    body: list[Statement]
    leaving: list[Statement]
    loc: Loc | None = None


@dataclass
class Exit:
    """``break``"""

    loc: Loc | None = field(default=None)


Statement: TypeAlias = Assign | Do | If | Loop | Try | Exit


def tree_of(var: str) -> ast.expr:
    """A variable or a name that is read."""
    return ast.Name(id=var, ctx=ast.Load())


def store(targets: Iterable[str]) -> ast.expr:
    """What an assignment to one or several variables has on its left."""
    names: list[ast.expr] = [ast.Name(id=t, ctx=ast.Store()) for t in targets]
    return names[0] if len(names) == 1 else ast.Tuple(elts=names, ctx=ast.Store())


def reads(tree: ast.AST) -> Iterator[ast.Name]:
    """The places of a tree where variables stand that have no names yet."""
    stack: list[ast.AST] = [tree]
    while stack:
        here = stack.pop()
        if isinstance(here, ast.Name):
            if isinstance(here.id, Var):
                yield here
        else:
            stack.extend(ast.iter_child_nodes(here))
