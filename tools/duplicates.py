"""Finds functions whose bodies are the same text: one fact has one place."""

from __future__ import annotations

import argparse
import ast
import sys
from collections import defaultdict
from pathlib import Path

from python_files import ROOT, body_of, functions, python_files

FOLDERS = ("autodiff_compiler", "tools", "benchmarks", "examples")
#: Bodies with fewer syntax nodes (a property, one call passed on) are alike by nature.
LEAST_NODES = 40


def duplicates(root: Path) -> list[list[str]]:
    """Groups of places (``file:line: name``) with equal bodies, docstrings aside."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in python_files(root, FOLDERS):
        for name, node in functions(ast.parse(path.read_text("utf-8"), str(path))):
            body = body_of(node)
            if sum(1 for statement in body for _ in ast.walk(statement)) >= LEAST_NODES:
                key = "\n".join(ast.dump(statement) for statement in body)
                places[key].append(f"{path.relative_to(root).as_posix()}:{node.lineno}: {name}")
    return [group for group in places.values() if len(group) > 1]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    found = duplicates(parser.parse_args(arguments).root)
    for group in found:
        print("the same body:\n  " + "\n  ".join(group), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
