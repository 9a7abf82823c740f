"""Inlines small unnamed results into their only use, so that a statement reads like the user's line.

Only elementwise results move, within one block and one line of the program, and only past statements that do not write
to their operands.  Large arrays keep statements of their own, so that the buffer plan can reuse memory.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ...source import Loc
from .program import Branch, Exit, FunctionCode, Loop, Node, Step, Try, nodes_of
from .syntax import Var, variables

#: How far apart a statement and its use may be, and how many operations one statement may hold.
_WINDOW, _OPERATIONS = 16, 10


def nest_small(function: FunctionCode, results: Iterable[Var | None], reuse_bytes: int) -> None:
    """Moves statements whose result one later statement of the block uses, once, into that statement."""
    reads = Counter(v for v in results if v is not None)
    for node in nodes_of(function.body):
        reads.update(node.reads)
    _nest(function.body, reads, reuse_bytes)


def _nest(body: list[Node], reads: Counter[Var], reuse_bytes: int) -> None:
    gone: set[int] = set()
    for i, node in enumerate(body):
        if isinstance(node, Branch):
            for arm in node.arms:
                _nest(arm, reads, reuse_bytes)
        elif isinstance(node, Loop):
            _nest(node.body, reads, reuse_bytes)
        elif isinstance(node, Step) and _movable(node, reads, reuse_bytes):
            user = _user(body, i, node)
            if user is not None:
                _move(node, user)
                gone.add(i)
    if gone:
        body[:] = [node for i, node in enumerate(body) if i not in gone]


def _movable(step: Step, reads: Counter[Var], reuse_bytes: int) -> bool:
    if not step.elementwise or not isinstance(step.node, ast.Assign) or isinstance(step.node.value, ast.Name):
        return False
    (var,) = step.writes
    return not var.hint and not var.joined and var.nbytes < reuse_bytes and reads[var] == 1


def _user(body: list[Node], i: int, step: Step) -> Step | Branch | Exit | None:
    """The node that uses the result, if the statement may move there."""
    (var,), needed = step.writes, set(step.reads)
    for node in body[i + 1 : i + 1 + _WINDOW]:
        if isinstance(node, Loop | Try):
            return None
        if var in node.reads:
            same_line = node.loc is step.loc or (node.loc and step.loc and _lines(node.loc) == _lines(step.loc))
            return node if same_line and _operations(step) + _operations(node) <= _OPERATIONS else None
        if not isinstance(node, Step) or needed.intersection(node.writes):
            return None
    return None


def _lines(loc: Loc) -> tuple[str, int, str, int]:
    """The line of a place, and the user's line that it belongs to: what a comment names."""
    user = loc.of_user()
    return user.file, user.line, loc.file, loc.line


def _operations(node: Step | Branch | Exit) -> int:
    tree = node.node if isinstance(node, Step) else node.test
    return sum(isinstance(n, ast.Call | ast.BinOp | ast.Compare | ast.UnaryOp) for n in ast.walk(tree))


def _move(step: Step, user: Step | Branch | Exit) -> None:
    """Puts the value of the statement in the place of its variable."""
    assert isinstance(step.node, ast.Assign)
    (var,), value = step.writes, step.node.value
    user.ops = (*step.ops, *user.ops)
    if isinstance(user, Step):
        _replace(user.node, var, value)
        user.reads = [v for v, stored in variables(user.node) if not stored]
        if isinstance(user.node, ast.AugAssign):
            user.reads += user.writes
    else:
        if _names(user.test, var):
            user.test = value
        else:
            _replace(user.test, var, value)
        user.reads = [v for v, _ in variables(user.test)]


def _names(tree: ast.AST, var: Var) -> bool:
    name: Any = tree.id if isinstance(tree, ast.Name) else None
    return name is var


def _replace(tree: ast.AST, var: Var, value: ast.expr) -> None:
    """Replaces the one mention of the variable below a tree."""
    stack: list[ast.AST] = [tree]
    while stack:
        here = stack.pop()
        for field in here._fields:
            child = getattr(here, field, None)
            if isinstance(child, list):
                for k, item in enumerate(child):
                    if _names(item, var):
                        child[k] = value
                    elif isinstance(item, ast.AST):
                        stack.append(item)
            elif isinstance(child, ast.AST):
                if _names(child, var):
                    setattr(here, field, value)
                else:
                    stack.append(child)
