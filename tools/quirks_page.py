"""Writes docs/quirks.md: ways of MindSpore that are kept because scripts and checkpoints depend on them.

python tools/quirks_page.py            writes the page
python tools/quirks_page.py --check    fails if the page is not what the comments say

Each stands in the code as a comment that begins with "MindSpore 2.10:", where the code does so.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from generated_pages import write_or_check
from python_files import ROOT

PACKAGE = ROOT / "autodiff_compiler"
PAGE = ROOT / "docs" / "quirks.md"
MARK = "# MindSpore 2.10: "

HEAD = """# MindSpore's quirks that are kept

Written by `python tools/quirks_page.py` from comments in the package; do not edit by hand.

Scripts and checkpoints depend on these, though mathematics or habit would decide otherwise. Each was measured on
MindSpore 2.10 (CPU) and stands in one place, with the fact as a comment beside it. What differs from MindSpore on
purpose is in [migration.md](migration.md).

| where | MindSpore 2.10 and `autodiff_compiler` |
|---|---|
"""


def quirks(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The number of the line below each marked comment, and what the comment says."""
    said = ""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith(MARK):
            said = text.removeprefix(MARK)
        elif said and text.startswith("# "):
            said += text.removeprefix("#")
        elif said:
            yield number, said
            said = ""


def scope(tree: ast.Module, line: int) -> str:
    """The dotted name of the function or class that a line is in, or of what it assigns; empty if there is none."""
    names: list[str] = []
    body: list[ast.stmt] = tree.body
    while found := [node for node in body if node.lineno <= line <= (node.end_lineno or node.lineno)]:
        node = found[0]
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
            body = node.body
            continue
        if not names and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.append(node.targets[0].id)
        break
    return ".".join(names)


def rows() -> Iterator[str]:
    """The table's lines."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if MARK in text:
            name = path.relative_to(PACKAGE).as_posix()
            yield from _of_file(name, text, path)


def _of_file(name: str, text: str, path: Path) -> Iterator[str]:
    tree = ast.parse(text)
    for line, said in quirks(text.splitlines()):
        place = scope(tree, line)
        link = f"[{name}](../{path.relative_to(ROOT).as_posix()})"
        yield f"| {link}{f' `{place}`' if place else ''} | {said[0].upper()}{said[1:]} |\n"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, HEAD + "".join(rows())))
