"""Aliasing: results and writes of a written function share no memory, and nothing is written before it is read."""

from __future__ import annotations

import ast

from ...backends.numpy.program import Node, Step
from ...backends.numpy.syntax import Var, assign, attribute, call, load, store, tuple_expr, variables
from ...ir.core import Value
from ...ir.types import TensorType
from .lowering import Lowering
from .memory import Memory


def unaliased(tree: ast.expr, memory: Memory, given: set[str], scalar: bool = False) -> ast.expr:
    """The expression, or a copy if it aliases an argument or a result in `given`."""
    if scalar and isinstance(tree, ast.Subscript) and not isinstance(getattr(tree.slice, "value", None), str):
        return tree  # an element is no view
    made = memory.of(tree)
    if memory.is_own(made) and made.isdisjoint(given):
        given |= made
        return tree
    return call("np.array", tree) if memory.is_truth(tree) else call(attribute(tree, "copy"))


def _store(statement: Node) -> tuple[ast.expr, ast.expr]:
    """The target and the value of a write."""
    assert isinstance(statement, Step)
    assert isinstance(statement.node, ast.Assign)
    return statement.node.targets[0], statement.node.value


def _overwrites(target: ast.expr) -> bool:
    """Whether ``x[...] = y`` puts numbers into an array; ``states["x"] = y`` puts another array into a dict."""
    return isinstance(target, ast.Subscript) and getattr(target.slice, "value", None) is ...


def writes_arguments(updates: list[Node]) -> bool:
    """Whether one of the writes changes an array of the caller's."""
    return any(_overwrites(_store(u)[0]) for u in updates)


def simultaneous(updates: list[Node], memory: Memory, given: set[str]) -> list[Node]:
    """The writes as if all happened at once: none reads what another has written."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    clash, written = False, set[str]()
    for target, value in map(_store, updates):
        clash = clash or any(not memory.of(load(var)).isdisjoint(written) for var, _ in variables(value))
        if _overwrites(target):
            written |= memory.of(target)
            pairs.append((target, value))
        else:
            pairs.append((target, unaliased(value, memory, given)))
    if clash:
        values = [v if not _overwrites(t) else unaliased(v, memory, set()) for t, v in pairs]
        targets = tuple_expr((t for t, _ in pairs), stored=True)
        return [Step(assign(targets, tuple_expr(values)), updates[0].loc)]
    return [Step(assign(t, v), u.loc) for (t, v), u in zip(pairs, updates, strict=True)]


class Results:
    """The results of the entry without aliases; with `before` they are computed before arguments are written."""

    def __init__(self, low: Lowering, memory: Memory, given: set[str], before: bool) -> None:
        self._low, self._memory, self._given, self._before = low, memory, given, before
        self._trees: dict[int, ast.expr] = {}

    def tree(self, index: int) -> ast.expr:
        """The result of that number; two numbers never alias, even for one value."""
        if index not in self._trees:
            value: Value = self._low.function.outs[index]
            scalar = isinstance(value.type, TensorType) and value.type.shape == ()
            tree = unaliased(self._low.tree(value), self._memory, self._given, scalar)
            if self._before and not isinstance(tree, ast.Name | ast.Constant):
                var = Var(None, self._low.hint(value), fallback="result")
                self._low.body.append(Step(assign(store(var), tree), None))
                tree = load(var)
            self._trees[index] = tree
        return self._trees[index]
