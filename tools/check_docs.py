"""Runs the code of README.md and docs/, and compares what it prints with what stands there.

    python tools/check_docs.py [--write] [FILE ...]

The blocks of one document run in order, each document in a process and an empty working folder of its own:

- ```python with ``>>>`` as doctests, other ```python as programs; they share one namespace;
- ```python title="model.py" becomes that file of the folder;
- ```console runs what stands behind ``$`` there; below it stands what it prints, where ``...`` is anything;
- ```console title="Times of one machine" runs it, which must succeed, and compares nothing.

Blocks in other languages (```sh, ```text) are not run.  ``--write`` puts what was printed in the place of what differs.
"""

from __future__ import annotations

import argparse
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from python_files import ROOT

FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,}|~{3,})(?P<language>[^`\s]*)(?P<options>[^`]*)$")
TITLE = re.compile(r'title="([^"]+)"')


class Block(NamedTuple):
    """One fenced block; `line` is the line of the file its first line stands in, counted from 1."""

    language: str
    line: int
    text: str
    #: The file that it is.
    title: str = ""
    indent: str = ""


class Difference(NamedTuple):
    """What was printed instead of the lines from `line` to before `end`, and how that is told."""

    line: int
    end: int
    printed: str
    told: str


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text; ValueError for one that is never closed."""
    opening: re.Match[str] | None = None
    start, body = 0, [""]
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if opening is None:
            if fence:
                opening, start, body = fence, number + 1, []
        elif fence and fence["marks"].startswith(opening["marks"]) and not fence["language"]:
            title = TITLE.search(opening["options"])
            code = textwrap.dedent("\n".join(body) + "\n")
            yield Block(opening["language"], start, code, title[1] if title else "", opening["indent"])
            opening = None
        else:
            body.append(line)
    if opening is not None:
        raise ValueError(f"line {start - 1}: the block is never closed")


def remember(name: str, text: str) -> None:
    """Makes `inspect.getsource` find functions of a block after it has run (no mtime: never checked against a file)."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


# ------------------------------------------------------------------------------------------------ kinds of blocks
class _Runner(doctest.DocTestRunner):
    """Keeps what differs."""

    def __init__(self, block: Block) -> None:
        super().__init__(verbose=False, optionflags=doctest.ELLIPSIS)
        self.block, self.found = block, list[Difference]()

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        told: list[str] = []
        super().report_failure(told.append, test, example, got)
        line = self.block.line + example.lineno + example.source.count("\n")
        printed = re.sub(r"(?m)^$(?=\n)", "<BLANKLINE>", got)
        self.found.append(Difference(line, line + example.want.count("\n"), printed, "".join(told)))

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        told: list[str] = []
        super().report_unexpected_exception(told.append, test, example, exc_info)
        self.found.append(Difference(0, 0, "", "".join(told)))


def run_doctest(block: Block, name: str, namespace: dict[str, Any]) -> list[Difference]:
    """What the block's examples print differently."""
    title = f"{name}:{block.line}"  # each block has sources of its own
    test = doctest.DocTestParser().get_doctest(block.text, namespace, title, name, block.line - 1)
    test.globs = namespace  # get_doctest copies; blocks share theirs
    for number, example in enumerate(test.examples):
        remember(f"<doctest {test.name}[{number}]>", example.source)
    runner = _Runner(block)
    runner.run(test, out=lambda text: None, clear_globs=False)
    return runner.found


def run_program(block: Block, name: str, namespace: dict[str, Any]) -> list[Difference]:
    """The traceback if the block raises, with line numbers of the document."""
    text = "\n" * (block.line - 1) + block.text
    source = f"<{name}:{block.line}>"
    remember(source, text)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, source, "exec", dont_inherit=True), namespace)
    except Exception:
        return [Difference(0, 0, "", f"{name}:{block.line}: the block fails\n{traceback.format_exc()}")]
    return []


def run_console(block: Block, name: str) -> list[Difference]:
    """What the block's commands print differently, errors included."""
    # `python` is this one, and a terminal is as wide as the pages are.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    environment = {**os.environ, "PATH": path, "COLUMNS": "120", "NO_COLOR": "1"}
    found = []
    for part in re.finditer(r"(?m)^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ ).*\n)*)", block.text):
        done = subprocess.run(
            part["command"], shell=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, text=True, check=False, timeout=300,
        )  # fmt: skip
        printed = re.sub(r"(?m)[ \t]+$", "", done.stdout)
        if block.title:
            right = done.returncode == 0
        else:
            right = doctest.OutputChecker().check_output(part["output"], printed, doctest.ELLIPSIS)
        if not right:
            line = block.line + block.text.count("\n", 0, part.start("output"))
            told = f"{name}:{line}: $ {part['command']}\nExpected:\n{textwrap.indent(part['output'], '    ')}"
            told += f"Got:\n{textwrap.indent(printed, '    ')}"
            found.append(Difference(line, line + part["output"].count("\n"), printed, told))
    return found


def write_file(block: Block) -> None:
    """Makes the file that a block is."""
    path = Path(block.title)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, "utf-8")


# ------------------------------------------------------------------------------------------------ documents
def run_file(path: Path, write: bool) -> int:
    """Runs one document here; prints what fails and returns 1 if anything did."""
    module = types.ModuleType(re.sub(r"\W", "_", path.name))
    sys.modules[module.__name__] = module
    ran = failed = 0
    found: list[Difference] = []
    text = path.read_text("utf-8")
    try:
        for block in blocks(text):
            before = len(found)
            if block.title and block.language != "console":
                write_file(block)
            elif block.language == "python":
                run = run_doctest if re.search(r"^>>> ", block.text, re.MULTILINE) else run_program
                found += run(block, path.name, module.__dict__)
            elif block.language == "console":
                found += run_console(block, path.name)
            ran += block.language in ("python", "console")
            failed += len(found) > before
            if write:
                found[before:] = [d._replace(printed=textwrap.indent(d.printed, block.indent)) for d in found[before:]]
    except ValueError as error:
        failed += 1
        found.append(Difference(0, 0, "", f"{path.name}: {error}\n"))
    if write and (changes := [difference for difference in found if difference.line]):
        lines = text.splitlines(keepends=True)
        for line, end, printed, _ in sorted(changes, reverse=True):
            lines[line - 1 : end - 1] = [printed]
        path.write_text("".join(lines), "utf-8")
        found = [difference for difference in found if not difference.line]
        print(f"{path.name}: {len(changes)} outputs written")
    print(f"{path.name}: {ran} blocks, {failed} failed")
    print("".join(difference.told for difference in found), end="", file=sys.stderr)
    return 1 if found else 0


def documents(root: Path) -> list[Path]:
    """README.md and every Markdown file under docs/."""
    return [path for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))] if path.exists()]


def run_apart(path: Path, write: bool) -> subprocess.CompletedProcess[str]:
    """Runs one document in a process and a folder of its own."""
    # The working folder is elsewhere, so the package of this checkout is named outright.
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(Path(__file__).resolve()), "--here", *["--write"] * write, str(path)]
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": search}, capture_output=True, text=True, check=False
        )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write what is printed where it differs")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # what documents' processes are
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args(arguments)
    if options.here:
        return run_file(options.files[0], options.write)
    paths = [path.resolve() for path in options.files] or documents(ROOT)
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(run_apart, paths, [options.write] * len(paths)):
            print(done.stdout, end="", flush=True)
            print(done.stderr, end="", file=sys.stderr)
            failed |= done.returncode
    if failed:
        print("where the new output is right: python tools/check_docs.py --write FILE", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
