"""Figures of the package's structure that must not get worse: `size_report` compares them with pyproject.toml's."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from import_graph import Import, imports_of, knots_of
from python_files import python_files, tree_of

__all__ = ["Figures", "figures", "worse_or_stale"]

#: By name; of imports inside functions, by folder or module of the package, as ``imports_in_functions:cli``.
Figures = dict[str, float]

#: What a figure counts, and how to find the places; `{0}` is the part of its name behind the colon.
MEANING = {
    "files_in_knots": "files that import one another in a circle (python tools/import_graph.py shows them)",
    "imports_in_functions": "imports inside functions in {0} (python tools/import_graph.py shows them)",
    "type_tests_in_frontend": "tests of a value's class in frontend/ (isinstance, issubclass, match, type(x) is)",
    "files_naming_an_op": "files that name an elementwise op outside its class, on average",
}
#: A figure may be better by this part of the allowed one before the limit has to be lowered.
SLACK = 0.05

_COMPARED = (ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.In, ast.NotIn)
#: Words that are an op's name and something else of Python's.
_PYTHON = {name for kind in (builtins, str, list, dict, set, float, int) for name in dir(kind)}


def figures(root: Path, package: str) -> Figures:
    """The figures of today."""
    imports = imports_of(root, package)
    knots = knots_of((x.source, x.target) for x in imports)
    inside = Counter(f"imports_in_functions:{x.source.split('.')[1]}" for x in imports if _is_inside(x))
    tests = sum(type_tests(tree_of(path)) for path in python_files(root, [f"{package}/frontend"]))
    return {
        "files_in_knots": sum(map(len, knots)),
        **inside,
        "type_tests_in_frontend": tests,
        "files_naming_an_op": files_naming_an_op(root, package),
    }


def _is_inside(x: Import) -> bool:
    return x.in_function and "." in x.source


def type_tests(tree: ast.AST) -> int:
    """How often a tree tests the class of a value."""
    return sum(map(_is_type_test, ast.walk(tree)))


def _is_type_test(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass")
    if isinstance(node, ast.Compare):
        return isinstance(node.ops[0], _COMPARED) and any(map(_is_type_of, [node.left, node.comparators[0]]))
    return isinstance(node, ast.MatchClass)


def _is_type_of(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def files_naming_an_op(root: Path, package: str) -> float:
    """In how many files of the package an elementwise op has its name, besides its own, on average over the ops.

    Elementwise are the classes with a formula `scalar`; left out are those whose names are Python's, too (`abs`).
    """
    own: dict[str, Path] = {}
    for path in python_files(root, [f"{package}/primitives"]):
        own |= dict.fromkeys(_elementwise(tree_of(path)), path)
    count: Counter[str] = Counter()
    for path in python_files(root, [package]):
        count.update(name for name in own.keys() & _words(tree_of(path)) if own[name] != path)
    return round(count.total() / len(own), 2) if own else 0.0


def _elementwise(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not any(k.arg == "abstract" for k in node.keywords):
            given = {n.targets[0].id: n.value for n in node.body if _sets_a_name(n)}  # type: ignore[attr-defined]
            rules = {n.name for n in node.body if isinstance(n, ast.FunctionDef)} | given.keys()
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", node.name.rstrip("_")).lower()
            if "scalar" in rules:
                name = getattr(given.get("name"), "value", name)
                if name not in _PYTHON:
                    yield name


def _sets_a_name(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)


def _words(tree: ast.AST) -> set[str]:
    """The names and the texts of one word in a file."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.alias):
            found.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


def worse_or_stale(allowed: Figures, found: Figures) -> list[str]:
    """What is worse than allowed, and what is so much better that the limit is to be lowered; one sentence each."""
    problems = []
    for key in sorted({*allowed, *found}):
        limit, count = allowed.get(key, 0), found.get(key, 0)
        name, _, part = key.partition(":")
        what = f"{count} {MEANING[name].format(part)}"
        if count > limit:
            problems.append(f"{what}, the limit is {limit}")
        elif limit - count > SLACK * limit:
            problems.append(f"{what}: lower the limit of {limit} (python tools/size_report.py --lower)")
    return problems
