"""The text of a written function: indented, wrapped at 100 columns, with the user's lines as comments."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable

from ... import escape
from ...backends.numpy.program import Branch, Exit, Loop, Node, Step, Try
from ...source import Loc, cell_of, line_of
from .expressions import negated

WIDTH = 100
_INDENT = 4


class Layout:
    """Collects the lines of one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._said: tuple[str, int, str, tuple[str, ...]] | None = None

    def body(self, statements: list[Node], depth: int, around: Loc | None = None) -> None:
        """The statements, each group under a comment with the line that it comes from, if not that `around` them."""
        for s in statements:
            if isinstance(s, Branch):
                self._branch(s, depth)
                continue
            if s.loc is None or around is None or _key(s.loc) != _key(around):
                self._comment(s.loc, depth)
            if isinstance(s, Step):
                self.add(_without_parentheses(s.node, WIDTH - depth * _INDENT), depth)
            elif isinstance(s, Loop):
                self.add(_head_of(s, WIDTH - depth * _INDENT), depth)
                self.body(s.body, depth + 1, s.loc)
                if not s.body:
                    self.add("pass", depth + 1)
            elif isinstance(s, Try):
                self.add("try:", depth)
                self.body(s.body, depth + 1, s.loc)
                self.add("except Exception:", depth)
                self.body(s.leaving, depth + 1, s.loc)
                self.add("raise", depth + 1)
            elif isinstance(s, Exit):
                self.add(f"if {_unparsed(negated(s.test))}:", depth)
                self.add("break", depth + 1)

    def _branch(self, s: Branch, depth: int) -> None:
        (then, other), test = s.arms, negated(s.test, 2)
        if not then and not other:
            return
        self._comment(s.loc, depth)
        if not then:
            then, other, test = other, [], ast.UnaryOp(op=ast.Not(), operand=test)
        self.add(f"if {_unparsed(test)}:", depth)
        self.body(then, depth + 1, s.loc)
        if other:
            self.add("else:", depth)
            self.body(other, depth + 1, s.loc)
        if self._said is not None and s.loc is not None and self._said != _key(s.loc):
            self._said = "", 0, self._said[2], ()  # what was said inside holds no longer

    def add(self, text: str, depth: int) -> None:
        self.lines += wrapped(quoted(text), depth * _INDENT)

    def _comment(self, loc: Loc | None, depth: int) -> None:
        """Says which line of the user's comes next, if it is another one than before."""
        if loc is None:
            return
        place, key = loc.of_user(), _key(loc)
        if key == self._said:
            return
        if loc.tag == "adjoint" and self._said is not None and self._said[2] == "" and depth == 1:
            self.lines.append("")  # here the backward pass begins
        self._said = key
        text = line_of(place.file, place.line).strip()
        said = {"adjoint": "backward of ", "recomputed": "once more: "}.get(loc.tag, "")
        where = place.short if not place.file.startswith("<") or cell_of(place.file) else place.file
        where = ", ".join(dict.fromkeys([where, *key[3]]))
        comment = " " * (depth * _INDENT) + f"# {escape.line(f'{said}{where}' + (f': {text}' if text else ''))}"
        self.lines.append(comment if len(comment) <= WIDTH else comment[: WIDTH - 4] + " ...")


def _key(loc: Loc) -> tuple[str, int, str, tuple[str, ...]]:
    """The line of a place, what was made of it, and the other lines that the same is written on."""
    place = loc.of_user()
    return place.file, place.line, loc.tag, tuple([at.of_user().short for at in loc.also])


def _unparsed(tree: ast.expr) -> str:
    text = ast.unparse(tree)
    return text[1:-1] if isinstance(tree, ast.Tuple) and len(tree.elts) > 1 else text


def _without_parentheses(node: ast.stmt, room: int) -> str:
    """``return a, b``, if there is room for it; within parentheses a line can be broken."""
    text = ast.unparse(node)
    if isinstance(node, ast.Return) and node.value is not None and len(text) - 2 <= room:
        return f"return {_unparsed(node.value)}"
    return text


def _head_of(loop: Loop, room: int) -> str:
    if not loop.targets:
        return f"while {_unparsed(negated(loop.test, 2))}:"
    targets, head = ", ".join(map(str, loop.targets)), _unparsed(loop.test)
    text = f"for {targets} in {head}:"
    return text if len(text) <= room or len(loop.targets) == 1 else f"for ({targets}) in {head}:"


# ------------------------------------------------------------------------------------------------ long lines
def docstring(text: str, indent: int) -> list[str]:
    """A docstring as lines that fit, its paragraphs kept apart."""
    pad = " " * indent
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        lines += ["", *map(escape.docstring, textwrap.wrap(" ".join(paragraph.split()), WIDTH - indent - 6))]
    lines[:1] = []
    if len(lines) == 1:
        return [f'{pad}"""{lines[0]}"""']
    return [f'{pad}"""{lines[0]}', *(pad + line if line else "" for line in lines[1:]), f'{pad}"""']


def quoted(text: str) -> str:
    """The statement with texts between double quotes, where they need no others."""
    return text if '"' in text or "\\" in text else re.sub(r"'([^'\n]*)'", r'"\1"', text)


def wrapped(text: str, indent: int) -> list[str]:
    """A statement as lines that fit, broken inside brackets; what has none on its right side gets parentheses."""
    pad = " " * indent
    if len(text) + indent <= WIDTH or "\n" in text:
        return [pad + line for line in text.splitlines()]
    places = list(_places(text))
    lines: list[str] = []
    start, more = 0, pad
    while len(text) - start + len(more) > WIDTH:
        room = start + WIDTH - len(more)
        fitting = [(depth, -at) for at, depth in places if start < at <= room]
        if not fitting:
            if not lines and (split := _parenthesised(text)) is not None:
                return wrapped(split, indent)
            break
        least = min(depth for depth, _ in fitting)
        at = max(-where for depth, where in fitting if depth == least)
        lines.append(more + text[start:at].rstrip())
        start, more = at, pad + " " * _INDENT
    return [*lines, more + text[start:]]


def _parenthesised(text: str) -> str | None:
    """``x = (...)`` around a right side without brackets where it can be broken."""
    head, found, value = text.partition(" = ")
    if found and not value.startswith("("):
        return f"{head} = ({value})"
    return None


def _places(text: str) -> Iterable[tuple[int, int]]:
    """Where a line may be broken, and inside how many brackets: behind spaces outside of texts."""
    depth, quote, skipped = 0, "", False
    for i, c in enumerate(text):
        if skipped:
            skipped = False
        elif quote:
            quote, skipped = "" if c == quote else quote, c == "\\"
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
            if c != "[" or text[i - 1 : i] in (" ", "(", ""):
                yield i + 1, depth + (1 if i + 1 < len(text) and text[i + 1] != ")" else 9)
        elif c in ")]}":
            depth -= 1
        elif c == " " and depth:
            yield i + 1, depth
