"""Figures of the package's structure that must not get worse: `size_report` compares them with pyproject.toml's."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterable, Iterator
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
    "type_tests_in_frontend": "tests of any object's class in frontend/ (isinstance, issubclass, match, type(x) is)",
    "value_tests_in_frontend": "tests in frontend/ for a class of values of compiled code",
    "files_naming_an_op": "files that name an elementwise op outside its class, on average",
}
#: A figure may be better by this part of the allowed one before the limit has to be lowered.
SLACK = 0.05

#: Bases of what stands in compiled code for an object, and of what knows the operations of a kind of objects.
VALUES = ("Abstract", "Unknown", "Variable")

_COMPARED = (ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.In, ast.NotIn)
#: Words that are an op's name and something else of Python's.
_PYTHON = {name for kind in (builtins, str, list, dict, set, float, int) for name in dir(kind)}


def figures(root: Path, package: str) -> Figures:
    """The figures of today."""
    imports = imports_of(root, package)
    knots = knots_of((x.source, x.target) for x in imports)
    inside = Counter(f"imports_in_functions:{x.source.split('.')[1]}" for x in imports if _is_inside(x))
    tests = [test for path in python_files(root, [f"{package}/frontend"]) for test in type_tests(tree_of(path))]
    values = value_classes(map(tree_of, python_files(root, [package])))
    return {
        "files_in_knots": sum(map(len, knots)),
        **inside,
        "type_tests_in_frontend": len(tests),
        "value_tests_in_frontend": sum(not values.isdisjoint(_words(test)) for test in tests),
        "files_naming_an_op": files_naming_an_op(root, package),
    }


def _is_inside(x: Import) -> bool:
    return x.in_function and "." in x.source


def type_tests(tree: ast.AST) -> list[ast.AST]:
    """The expressions of a tree that name the classes which a value is tested for."""
    return [tested for node in ast.walk(tree) if (tested := _tested(node)) is not None]


def _tested(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Call):
        is_test = isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass")
        return node.args[1] if is_test else None
    if isinstance(node, ast.Compare):
        is_test = isinstance(node.ops[0], _COMPARED) and any(map(_is_type_of, [node.left, node.comparators[0]]))
        return node if is_test else None
    return node.cls if isinstance(node, ast.MatchClass) else None


def value_classes(trees: Iterable[ast.AST]) -> set[str]:
    """The names of the classes of values: `VALUES` and what derives from them."""
    bases: dict[str, set[str]] = {}
    for node in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        bases.setdefault(node.name, set()).update(*map(_words, node.bases))
    found: set[str] = set()
    new = set(VALUES)
    while new:
        found |= new
        new = {name for name, of in bases.items() if of & found} - found
    return found


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
    """The names and the texts of one word, or of a signature, in a file."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.alias):
            found.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value.partition("(")[0])  # a row of the surface begins with a signature
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
