"""The project's Python files and functions, as the other tools of this folder walk them."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["ROOT", "Function", "body_of", "functions", "python_files", "tree_of"]

ROOT = Path(__file__).resolve().parent.parent


class Function(NamedTuple):
    """A function with its dotted name inside the file, e.g. ``Builder.emit``."""

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef


def python_files(root: Path, folders: Iterable[str]) -> list[Path]:
    """Every Python file under these folders of `root`, sorted."""
    found = (path for folder in folders for path in (root / folder).rglob("*.py"))
    return sorted(path for path in found if "__pycache__" not in path.parts)


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    tree = ast.parse(path.read_text("utf-8"), str(path))
    gc.freeze()  # it stays as long as the process: collections need not look at it
    return tree


def functions(tree: ast.AST, prefix: str = "") -> Iterator[Function]:
    """All functions of a tree, the enclosing ones first."""
    for node in ast.iter_child_nodes(tree):
        name = prefix
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{node.name}" if prefix else node.name
            if not isinstance(node, ast.ClassDef):
                yield Function(name, node)
        yield from functions(node, name)


def body_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """The statements of a function without its docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
