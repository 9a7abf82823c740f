"""Lines per file and folder; fails where a file or function is longer than pyproject.toml allows."""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from python_files import ROOT, Function, body_of, functions, python_files


def function_lines(function: Function) -> int:
    """Lines from `def` to the end without the docstring: explaining more must not cost code."""
    node = function.node
    docstring = 0
    if body_of(node) is not node.body:
        docstring = (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


def too_long(name: str, text: str, limits: dict[str, Any]) -> list[str]:
    """What in the file `name` breaks a limit, one sentence each; removes the allow-list entries it uses."""
    allow: dict[str, str] = limits.get("allow", {})
    found = []
    lines = text.count("\n")
    if lines > limits["file"] and allow.pop(name, None) is None:
        found.append(f"{name}: {lines} lines, the limit is {limits['file']}: split it by meaning")
    for function in functions(ast.parse(text, name)):
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
        text = path.read_text("utf-8")
        problems += too_long(name, text, limits)
        files[name] = text.count("\n")
        for parent in path.relative_to(root).parents[:-1]:
            folders[parent.as_posix() + "/"] += files[name]
    problems += [f"{name}: allowed to be longer, but it is not" for name in limits.get("allow", {})]
    table = [f"{count:7}  {name}" for name, count in sorted({**files, **folders}.items())]
    return [*table, f"{sum(files.values()):7}  lines in {len(files)} files"], problems


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quiet", action="store_true", help="print only what is too long")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    options = parser.parse_args(arguments)
    table, problems = report(options.root)
    if not options.quiet:
        print("\n".join(table))
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
