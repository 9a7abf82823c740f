"""Runs the ```python blocks of README.md and docs/: those with ``>>>`` as doctests, the others as programs.

The blocks of one file run in order and share one namespace; each file has a process and an empty working folder of its
own.  Blocks in other languages (```console, ```text) are not run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import linecache
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from python_files import ROOT

FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,}|~{3,})(?P<language>[^`\n]*)$")


class Block(NamedTuple):
    """One fenced block; `line` is the line of the file its first line stands in, counted from 1."""

    language: str
    line: int
    text: str


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text; ValueError for one that is never closed."""
    opening: re.Match[str] | None = None
    start, body = 0, [""]
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if opening is None:
            if fence:
                opening, start, body = fence, number + 1, []
        elif fence and fence["marks"].startswith(opening["marks"]) and not fence["language"].strip():
            yield Block(opening["language"].strip(), start, textwrap.dedent("\n".join(body) + "\n"))
            opening = None
        else:
            body.append(line)
    if opening is not None:
        raise ValueError(f"line {start - 1}: the block is never closed")


def remember(name: str, text: str) -> None:
    """Makes `inspect.getsource` find functions of a block after it has run (no mtime: never checked against a file)."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


def run_doctest(block: Block, name: str, namespace: dict[str, Any]) -> str:
    """What the block's examples print differently, or an empty string."""
    title = f"{name}:{block.line}"  # each block has sources of its own
    test = doctest.DocTestParser().get_doctest(block.text, namespace, title, name, block.line - 1)
    test.globs = namespace  # get_doctest copies; blocks share theirs
    for number, example in enumerate(test.examples):
        remember(f"<doctest {test.name}[{number}]>", example.source)
    out = io.StringIO()
    doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(test, out=out.write, clear_globs=False)
    return out.getvalue()


def run_program(block: Block, name: str, namespace: dict[str, Any]) -> str:
    """The traceback if the block raises, with line numbers of the document, or an empty string."""
    text = "\n" * (block.line - 1) + block.text
    source = f"<{name}:{block.line}>"
    remember(source, text)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(text, source, "exec", dont_inherit=True), namespace)
    except Exception:
        return f"{name}:{block.line}: the block fails\n{traceback.format_exc()}"
    return ""


def run_file(path: Path) -> int:
    """Runs one document here; prints what fails and returns 1 if anything did."""
    module = types.ModuleType(re.sub(r"\W", "_", path.name))
    sys.modules[module.__name__] = module
    ran = 0
    failures = []
    try:
        for block in blocks(path.read_text("utf-8")):
            if block.language == "python":
                run = run_doctest if re.search(r"^>>> ", block.text, re.MULTILINE) else run_program
                failures.append(run(block, path.name, module.__dict__))
                ran += 1
    except ValueError as error:
        failures.append(f"{path.name}: {error}\n")
    failures = [failure for failure in failures if failure]
    print(f"{path.name}: {ran} blocks, {len(failures)} failed")
    print("".join(failures), end="", file=sys.stderr)
    return 1 if failures else 0


def documents(root: Path) -> list[Path]:
    """README.md and every Markdown file under docs/."""
    return [path for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))] if path.exists()]


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--here"]:
        return run_file(Path(arguments[1]))
    paths = [Path(argument).resolve() for argument in arguments] or documents(ROOT)
    failed = 0
    # The working folder is elsewhere, so the package of this checkout is named outright.
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(Path(__file__).resolve()), "--here", str(path)]
            environment = {**os.environ, "PYTHONPATH": search}
            failed |= subprocess.run(command, cwd=folder, env=environment, check=False).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
