"""What of a file cannot be compiled, found from its text alone: nothing of it is imported or run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import gast

from ..errors import CompileError
from ..frontend import fence, source_tree
from ..frontend.source_tree import SourceTree

__all__ = ["Checked", "check_file"]


@dataclass
class Checked:
    """The functions that were looked at, and what is refused in them."""

    functions: list[str]
    errors: list[CompileError]


def check_file(path: str, name: str | None = None, *, everything: bool = False) -> Checked:
    """Lists the constructs of a file that no argument types can make compile.

    Looked at are the functions decorated with `jit` or given to `jit(...)`, the `construct` of every Cell, and what
    these call in the same file; with `name` (``function`` or ``Class.method``; ``Class`` is its `construct`) that one
    and what it calls; with `everything` every function.  Raises SyntaxError, and KeyError for an unknown name.
    """
    trees = {tree.function: tree for tree in source_tree.parse(path)}
    outline = _Outline(path, trees)
    if name is not None:
        roots = [n for n in (name, f"{name}.construct") if n in trees]
        if not roots:
            raise KeyError(name)
    else:
        roots = list(trees) if everything else list(outline.roots())
    chosen = outline.reached(roots)
    errors = [e for tree in trees.values() if tree.function in chosen for e in fence.check(tree)]
    return Checked([n for n in trees if n in chosen], errors)


class _Outline:
    """Which function of a file mentions which, by name."""

    def __init__(self, path: str, trees: dict[str, SourceTree]) -> None:
        self.trees = trees
        with open(path, "rb") as file:
            self.module = ast.parse(file.read(), path)
        self.bases = {
            node.name: [_last_name(b) for b in node.bases]
            for node in ast.walk(self.module)
            if isinstance(node, ast.ClassDef)
        }

    def roots(self) -> Iterator[str]:
        """The functions that are compiled for sure."""
        given = {
            _last_name(node.args[0])
            for node in ast.walk(self.module)
            if isinstance(node, ast.Call) and _last_name(node.func) == "jit" and node.args
        }
        for name, tree in self.trees.items():
            owner, _, last = name.rpartition(".")
            decorated = any("jit" in _names_of(d) for d in tree.node.decorator_list)
            if decorated or last in given or (last == "construct" and self._is_cell(owner.rpartition(".")[2])):
                yield name

    def _is_cell(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        bases = self.bases.get(name, [])
        return any(b.endswith("Cell") or (b not in seen and self._is_cell(b, seen | {name})) for b in bases)

    def reached(self, roots: Iterable[str]) -> set[str]:
        """The roots and what they mention, directly or not."""
        found: set[str] = set()
        todo = list(roots)
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += self._mentioned(name)
        return found

    def _mentioned(self, name: str) -> Iterator[str]:
        owner = name.rpartition(".")[0]
        for node in gast.walk(self.trees[name].node):
            if isinstance(node, gast.Name) and node.id in self.trees:
                yield node.id
            elif isinstance(node, gast.Attribute) and isinstance(node.value, gast.Name) and owner:
                yield from (n for n in self._methods(owner, node.attr) if node.value.id == "self")

    def _methods(self, owner: str, name: str) -> Iterator[str]:
        """A method of a class, or of the nearest of its bases in the file that has it."""
        if f"{owner}.{name}" in self.trees:
            yield f"{owner}.{name}"
            return
        for base in self.bases.get(owner.rpartition(".")[2], []):
            if base != owner:
                yield from self._methods(base, name)


def _last_name(node: Any) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _names_of(decorator: Any) -> set[str]:
    return {_last_name(n) for n in gast.walk(decorator) if isinstance(n, gast.Name | gast.Attribute)}
