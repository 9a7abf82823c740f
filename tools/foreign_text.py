"""Finds places where text that is not ours enters generated text other than by `autodiff_compiler.escape`.

    python tools/foreign_text.py [--root FOLDER]

In the folders that write code, pictures, pages and dumps, two things must be arguments of a function of `escape` (or of
`repr`, `json.dumps`, or a conversion ``!r``):

- what a user's program is called and says: names of files and tags of places, lines of source, what callables tell,
  where they become part of a string;
- whatever stands behind the beginning of a comment (``# ``, ``; ``, ``// ``) or between tags of HTML in an f-string.

A place that is right as it is stands in pyproject.toml, under `tool.foreign_text.allow`, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from python_files import ROOT, python_files

#: Attributes and functions that give text of the user's: of places, of callables.
ATTRIBUTES = {"file", "tag", "tells", "co_filename", "co_qualname"}
FUNCTIONS = {"line_of", "lines_of"}
#: What an f-string may say before a text that must be escaped.
OPENERS = re.compile(r"(?:\n\s*|  )(?:#|//) $|  ; $|<.*>$")
#: Functions whose result is spelt for where it goes.
SPELLING = {"repr", "ascii", "len", "int", "bool", "shown_file", "shown_line"}


class _Function(ast.NodeVisitor):
    """The findings in one function: (line, what)."""

    def __init__(self, node: ast.AST) -> None:
        self.found: list[tuple[int, str]] = []
        #: variables that hold foreign text, and those that hold pieces of text of ours, escaped where they were made
        self._foreign: set[str] = set()
        self._ours: set[str] = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Assign) and self._is_foreign(inner.value):
                for target in inner.targets:
                    self._assigned(target, inner.value)
            if isinstance(inner, ast.Assign | ast.AugAssign) and _is_piece(inner.value):
                targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
                self._ours |= {target.id for target in targets if isinstance(target, ast.Name)}
        self.generic_visit(node)

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._foreign.add(target.id)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                if self._is_foreign(other):
                    self._assigned(one, other)

    def _is_foreign(self, node: ast.AST) -> bool:
        """Whether an expression is, or holds, text of the user's that nothing has spelt yet."""
        if isinstance(node, ast.Call):
            if _spells(node):
                return False
            if isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
                return True
            parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
            return any(map(self._is_foreign, parts))
        if isinstance(node, ast.Compare | ast.Dict | ast.Lambda | ast.DictComp | ast.Subscript):
            return False
        if isinstance(node, ast.IfExp):
            return self._is_foreign(node.body) or self._is_foreign(node.orelse)
        if isinstance(node, ast.Attribute):
            return node.attr in ATTRIBUTES
        if isinstance(node, ast.Name):
            return node.id in self._foreign
        if isinstance(node, ast.FormattedValue) and node.conversion in (ord("r"), ord("a")):
            return False
        return any(map(self._is_foreign, ast.iter_child_nodes(node)))

    def visit_Call(self, node: ast.Call) -> None:
        if not _spells(node):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        before = "\n"
        for part in node.values:
            if isinstance(part, ast.Constant):
                before += str(part.value)
                continue
            assert isinstance(part, ast.FormattedValue)
            if self._is_foreign(part):
                self.found.append((node.lineno, f"{ast.unparse(part.value)} is text of the user's"))
            elif OPENERS.search(before) and not self._is_spelt(part):
                self.found.append((node.lineno, f"{ast.unparse(part.value)} stands behind {before[-8:]!r}"))
            before = ""
        self.generic_visit(node)

    def _is_spelt(self, part: ast.FormattedValue) -> bool:
        """Whether an interpolation is escaped, is a number, or is made of pieces that are looked at themselves."""
        value = part.value
        if part.conversion in (ord("r"), ord("a")) or part.format_spec is not None or _is_piece(value):
            return True
        if isinstance(value, ast.Name):
            return value.id in self._ours or value.id.lstrip("_").isupper()
        return isinstance(value, ast.Call) and _spells(value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = [isinstance(x, ast.Constant) and isinstance(x.value, str) for x in (node.left, node.right)]
        if (
            isinstance(node.op, ast.Add)
            and any(texts)
            and (self._is_foreign(node.left) or self._is_foreign(node.right))
        ):
            self.found.append((node.lineno, f"{ast.unparse(node)} holds text of the user's"))
        self.generic_visit(node)


def _spells(node: ast.Call) -> bool:
    """Whether a call makes foreign text fit for where it goes."""
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.value.id == "escape" or (function.value.id, function.attr) == ("json", "dumps")
    return isinstance(function, ast.Name) and function.id in SPELLING


def _is_piece(node: ast.AST) -> bool:
    """Whether an expression is text of ours, whose interpolations are looked at where it stands: markup in parts."""
    if isinstance(node, ast.IfExp):
        return _is_piece(node.body) and _is_piece(node.orelse)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in ("join", "_repr_html_", "html_table") or _spells(node)
    return isinstance(node, ast.JoinedStr | ast.Constant)


def findings(path: Path) -> Iterator[tuple[str, int, str]]:
    """The name of the function, the line and what is wrong there."""
    tree = ast.parse(path.read_text("utf-8"), str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for line, what in _Function(node).found:
                yield node.name, line, what


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    root = parser.parse_args(arguments).root
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["foreign_text"]
    allowed, used, failed = settings.get("allow", {}), set(), False
    for path in python_files(root, settings["folders"]):
        name = path.relative_to(root).as_posix()
        for function, line, what in findings(path):
            if f"{name}:{function}" in allowed:
                used.add(f"{name}:{function}")
                continue
            failed = True
            print(f"{name}:{line}: {what}: put it through a function of `escape`", file=sys.stderr)
    for place in sorted(allowed.keys() - used):
        failed = True
        print(f"{place}: allowed to write foreign text, but it does not", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
