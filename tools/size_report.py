"""Lines per file and folder, and figures of the structure; fails where one is over what pyproject.toml allows.

python tools/size_report.py --lower     writes today's figures, where they are better, into pyproject.toml
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from figures import Figures, figures, worse_or_stale
from python_files import ROOT, Function, body_of, functions, python_files, tree_of


def function_lines(function: Function) -> int:
    """Lines from `def` to the end without the docstring: explaining more must not cost code."""
    node = function.node
    docstring = 0
    if body_of(node) is not node.body:
        docstring = (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


def too_long(name: str, tree: ast.AST, lines: int, limits: dict[str, Any]) -> list[str]:
    """What in the file `name` breaks a limit, one sentence each; removes the allow-list entries it uses."""
    allow: dict[str, str] = limits.get("allow", {})
    found = []
    if lines > limits["file"] and allow.pop(name, None) is None:
        found.append(f"{name}: {lines} lines, the limit is {limits['file']}: split it by meaning")
    for function in functions(tree):
        size = function_lines(function)
        if size > limits["function"] and allow.pop(f"{name}:{function.name}", None) is None:
            where = f"{name}:{function.node.lineno}: {function.name}"
            found.append(f"{where} has {size} lines, the limit is {limits['function']}")
    return found


def report(root: Path) -> tuple[list[str], list[str]]:
    """The table of sizes and the list of what breaks a limit."""
    limits = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["size_report"]
    files: dict[str, int] = {}
    folders: Counter[str] = Counter()
    problems: list[str] = []
    for path in python_files(root, limits["folders"]):
        name = path.relative_to(root).as_posix()
        files[name] = path.read_text("utf-8").count("\n")
        problems += too_long(name, tree_of(path), files[name], limits)
        for parent in path.relative_to(root).parents[:-1]:
            folders[parent.as_posix() + "/"] += files[name]
    problems += [f"{name}: allowed to be longer, but it is not" for name in limits.get("allow", {})]
    allowed: Figures = limits.get("figures", {})
    if allowed:
        problems += worse_or_stale(allowed, figures(root, limits["package"]))
    table = [f"{count:7}  {name}" for name, count in sorted({**files, **folders}.items())]
    return [*table, f"{sum(files.values()):7}  lines in {len(files)} files"], problems


def lower(root: Path) -> None:
    """Writes the figures of today into pyproject.toml where they are below the limits; a limit of 0 needs no line."""
    path = root / "pyproject.toml"
    text = path.read_text("utf-8")
    limits = tomllib.loads(text)["tool"]["size_report"]
    before, start, rest = text.partition("[tool.size_report.figures]\n")
    found = figures(root, limits["package"])
    for key, limit in limits["figures"].items():
        now = found.get(key, 0)
        if now < limit:
            rest = re.sub(rf'^("?{key}"?) = .*\n', rf"\1 = {now}\n" if now else "", rest, count=1, flags=re.MULTILINE)
    path.write_text(before + start + rest, "utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quiet", action="store_true", help="print only what is too long")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    parser.add_argument("--lower", action="store_true", help="write better figures into pyproject.toml")
    options = parser.parse_args(arguments)
    if options.lower:
        lower(options.root)
    table, problems = report(options.root)
    if not options.quiet:
        print("\n".join(table))
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
