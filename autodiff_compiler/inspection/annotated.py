"""Generated code annotated with the user's source: below a comment that names a place stands the line itself."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator

from .. import escape
from ..ir.core import Module
from ..ir.walk import ops_of
from ..source import Loc, line_of, shown_file

_COMMENT = re.compile(r"^(\s*); (.*)$")
_PLACE = re.compile(r"([^\s:,]+\.\w+|<[^>]+>|In \[\d+\]):(\d+):\d+")
#: What begins a comment in assembly; the text behind it is escaped already, in the LLVM text.
_HASH = "#"
_LABEL = re.compile(r"^_?(k\d+|main|program|entry):")
_HEAD = re.compile(r"^; (k\d+) (.*)$")


def _files(module: Module) -> dict[tuple[str, int], dict[str, None]]:
    """Paths by the name in comments and line; several files may share both.  Includes callers' places."""
    found: dict[tuple[str, int], dict[str, None]] = {}
    for function in module:
        for op in ops_of(function.body):
            place: Loc | None = op.loc
            while place is not None:
                found.setdefault((shown_file(place.file), place.line), {})[place.file] = None
                place = place.caller
    return found


def with_lines(text: str, module: Module) -> str:
    """LLVM text in which each function shows the user's lines that its comments name, each of them once."""
    files, lines, seen = _files(module), list[str](), set[tuple[str, int]]()
    for line in text.split("\n"):
        comment = _COMMENT.match(line)
        lines.append(line)
        if line == "}":
            seen = set()
        elif comment is not None:
            for place in _PLACE.finditer(comment[2]):
                key = (place[1], int(place[2]))
                if key in files and key not in seen:
                    lines += [f"{comment[1]};   {text}" for text in _sources(files[key], *key)]
                seen.add(key)
    return "\n".join(lines)


def _sources(files: Collection[str], name: str, line: int) -> Iterator[str]:
    """The text of a line; where several files share the base name, the line of each, with its folder."""
    for file in files:
        source = line_of(file, line).strip()
        if source:
            shown = name if len(files) == 1 else os.path.join(os.path.basename(os.path.dirname(file)), name)
            yield escape.line(f"{shown}:{line} | {source}")


def with_assembly_comments(assembly: str, source: str) -> str:
    """Assembly in which each kernel says what it does: the comments in front of it in the LLVM text `source`."""
    heads: dict[str, list[str]] = {}
    name = ""
    for line in source.split("\n"):
        head = _HEAD.match(line)
        if head is not None:
            name = head[1]
            heads.setdefault(name, []).append(head[2])
        elif name and line.startswith(";"):
            heads[name].append(line[1:].rstrip())
        else:
            name = ""
    return "\n".join(_commented(assembly.split("\n"), heads))


def _commented(lines: Iterable[str], heads: dict[str, list[str]]) -> Iterable[str]:
    for line in lines:
        label = _LABEL.match(line)
        for text in heads.get(label[1], ()) if label is not None else ():
            yield f"{_HASH} {text}"
        yield line
