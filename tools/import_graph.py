"""The imports among the modules of a package, and the knots in them: modules that import one another in a circle.

All imports count: those under TYPE_CHECKING, and those inside functions.

python tools/import_graph.py            prints the knots and the imports inside functions
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from python_files import ROOT, python_files, tree_of

__all__ = ["Import", "imports_of", "knots_of"]

PACKAGE = "autodiff_compiler"


class Import(NamedTuple):
    """An import of one module by another, by their dotted names, e.g. ``autodiff_compiler.ir.core``."""

    source: str
    target: str
    path: Path
    line: int
    in_function: bool


def imports_of(root: Path, package: str) -> list[Import]:
    """The imports among the modules of a package; a statement counts once for each module that it names."""
    modules = {_name(path.relative_to(root)): path for path in python_files(root, [package])}
    found = []
    for name, path in modules.items():
        parent = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node, in_function in _statements(tree_of(path), False):
            targets = {_module(target, modules) for target in _named(node, parent)}
            lines = sorted(target for target in targets if target not in ("", name))
            found += [Import(name, target, path, node.lineno, in_function) for target in lines]
    return found


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _statements(node: ast.AST, in_function: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, in_function
        else:
            yield from _statements(child, in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


def _named(node: ast.Import | ast.ImportFrom, parent: str) -> list[str]:
    """The absolute dotted names in an import statement; the last part may be a name inside a module."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    parts = parent.split(".")
    base = parts[: len(parts) - node.level + 1] if node.level else []
    return [".".join([*base, *([node.module] if node.module else []), alias.name]) for alias in node.names]


def _module(name: str, modules: dict[str, Path]) -> str:
    """The module of the package that a dotted name means or lies in; empty if it is none."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def knots_of(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The strongly connected components of more than one node, the largest first (Tarjan's algorithm)."""
    graph: dict[str, list[str]] = {}
    for source, target in edges:
        graph.setdefault(source, []).append(target)
        graph.setdefault(target, [])
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for start in graph:
        work = [(start, iter(graph[start]))] if start not in index else []
        while work:
            node, targets = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
            target = next((t for t in targets if t not in index or t in stack), "")
            if not target:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(sorted(stack[at:]))
                    del stack[at:]
            elif target in index:
                low[node] = min(low[node], index[target])
            else:
                work.append((target, iter(graph[target])))
    return sorted((knot for knot in found if len(knot) > 1), key=lambda knot: (-len(knot), knot))


def main() -> None:
    imports = imports_of(ROOT, PACKAGE)
    for knot in knots_of((x.source, x.target) for x in imports):
        print(f"{len(knot):4} import one another: {', '.join(name.removeprefix(f'{PACKAGE}.') for name in knot)}")
    for x in imports:
        if x.in_function:
            print(f"{x.path.relative_to(ROOT).as_posix()}:{x.line}: imports {x.target} inside a function")


if __name__ == "__main__":
    main()
