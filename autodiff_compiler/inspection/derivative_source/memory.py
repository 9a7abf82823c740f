"""Alias analysis of a written function: results must be fresh, writable arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ...backends.numpy.program import Loop, Node, Step, nodes_of
from ...backends.numpy.syntax import Var

#: NumPy functions and methods that may return their operand or a view of it.
_VIEWS = {
    "asarray", "ascontiguousarray", "atleast_1d", "broadcast_to", "diagonal", "expand_dims", "flip", "imag", "moveaxis",
    "ravel", "real", "reshape", "reversed", "rollaxis", "squeeze", "swapaxes", "transpose", "view", "zip",
}  # fmt: skip
_READ_ONLY = "memory that cannot be written"


class Memory:
    """May-alias sets of expressions; `handing_on` are functions that may return an operand."""

    def __init__(self, body: list[Node], handing_on: Iterable[str] = ()) -> None:
        self._views = {*_VIEWS, *handing_on}
        #: all that a variable is assigned, and what lists are given
        self._assigned: dict[str, list[ast.expr]] = {}
        #: variables that get their values from one call
        self._together: dict[str, str] = {}
        for node in nodes_of(body):
            if isinstance(node, Loop):
                self._assign(node.targets, node.test)
            elif isinstance(node, Step) and isinstance(node.node, ast.Assign):
                self._assign(node.writes, node.node.value)
            elif isinstance(node, Step) and isinstance(node.node, ast.Expr) and isinstance(node.node.value, ast.Call):
                added = node.node.value
                if isinstance(added.func, ast.Attribute) and added.func.attr == "append":
                    assert isinstance(added.func.value, ast.Name)
                    self._assigned.setdefault(added.func.value.id, []).extend(added.args)

    def _assign(self, targets: list[Var], value: ast.expr) -> None:
        parts = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(targets) > 1 else None
        for i, t in enumerate(targets):
            self._assigned.setdefault(t, []).append(value if parts is None else parts[i])
            if parts is None and isinstance(value, ast.Call) and self._name(value) in self._views:
                self._together[t] = targets[0]

    def of(self, tree: ast.expr) -> set[str]:
        """The variables that the expression may alias; none if it is fresh."""
        return self._of(tree, set())

    def is_own(self, made: set[str]) -> bool:
        """Whether all of it was allocated by the function."""
        return made <= self._assigned.keys()

    def is_truth(self, tree: ast.expr) -> bool:
        """Whether it may be a bool of Python's, which has no methods of an array."""
        if isinstance(tree, ast.Name):
            return any(self.is_truth(v) for v in self._assigned.get(tree.id, ()) if not isinstance(v, ast.Name))
        return isinstance(tree, ast.BoolOp) or (isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not))

    def _of(self, tree: ast.AST | None, asked: set[str]) -> set[str]:
        if isinstance(tree, ast.Name):
            return self._of_name(tree.id, asked)
        if isinstance(tree, ast.Subscript):
            if isinstance(tree.slice, ast.Constant) and isinstance(tree.slice.value, str):
                return {ast.unparse(tree)}  # an array in a dict
            return self._of(tree.value, asked)
        if isinstance(tree, ast.Attribute):
            return self._of(tree.value, asked)
        if isinstance(tree, ast.Call):
            if self._name(tree) not in self._views:
                return set()
            parts: list[ast.AST] = [tree.func, *tree.args] if isinstance(tree.func, ast.Attribute) else [*tree.args]
            made = {name for p in parts for name in self._of(p, asked)} - {"np"}
            return made | {_READ_ONLY} if self._name(tree) == "broadcast_to" else made
        if isinstance(tree, ast.IfExp | ast.BoolOp | ast.Tuple | ast.List | ast.Starred):
            return {name for part in ast.iter_child_nodes(tree) for name in self._of(part, asked)}
        if isinstance(tree, ast.ListComp):
            return self._of(tree.elt, asked)
        return set()

    def _of_name(self, name: str, asked: set[str]) -> set[str]:
        if name in asked:
            return set()
        asked.add(name)
        values = self._assigned.get(name)
        if values is None:
            return {name}
        made = {self._together[name]} if name in self._together else set()
        for value in values:
            made |= self._of(value, asked) or {name}
        return made

    @staticmethod
    def _name(tree: ast.Call) -> str:
        """The name of the function, or method, that is called."""
        return tree.func.attr if isinstance(tree.func, ast.Attribute) else getattr(tree.func, "id", "")
