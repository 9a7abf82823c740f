"""Cross-references between the user's lines, the ops of every stage, and lines and kernels of generated code.

Ops carry the place they come from, and generated code names such places in its comments; here both are put together,
by the user's line and by what a transformation made of it (its *part*: nothing, "adjoint", "recomputed").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

from .. import escape
from ..ir.core import Function, Module, Op
from ..ir.text import FunctionPrinter, global_name
from ..ir.walk import ops_of
from ..locks import remembered
from ..source import Loc, is_users, line_of
from .compiled_call import CompiledCall

__all__ = [
    "STAGES_OF_OPS",
    "CodeLine",
    "Kernel",
    "Links",
    "OpLine",
    "Part",
    "Place",
    "Span",
    "chain_of",
    "links_of",
    "located",
    "part_of",
    "text_head",
]

#: The stages whose text consists of ops.
STAGES_OF_OPS = ("front", "adjoint", "opt", "plan")


class Place(NamedTuple):
    """A line of the user's; `str` gives it as compilers name it.

    >>> str(Place("/home/me/model.py", 14))
    'model.py:14'
    """

    file: str
    line: int

    @property
    def text(self) -> str:
        """What stands there, without the space around it."""
        return line_of(self.file, self.line).strip()

    def __str__(self) -> str:
        return Loc(self.file, self.line).short


class Part(NamedTuple):
    """A line's own ops (`name` is empty), or those that a transformation derived from them ("adjoint")."""

    place: Place
    name: str = ""

    def __str__(self) -> str:
        return f"{self.place} {self.name}".rstrip()


class Span(NamedTuple):
    """Lines of a text, counted from 1; both belong to it."""

    first: int
    last: int


@dataclass(frozen=True)
class OpLine:
    """An op in the text of a stage, on the line `line`, with the names of its results there.

    `places`: the user's line that it comes from, then the line which called the function that this one lies in, and so
    on; nothing where it comes from no line of the user's.  `columns`: where the expression begins in the first of these
    lines, and ends, counted from 0; of one that goes on below both are 0.  `also`: the op as it belongs to other lines
    that the same is written on.
    """

    line: int
    op: str
    values: tuple[str, ...]
    part: str
    places: tuple[Place, ...]
    columns: tuple[int, int] = (0, 0)
    also: tuple[OpLine, ...] = ()

    @property
    def all(self) -> tuple[OpLine, ...]:
        """The op as it belongs to each of the lines that it is written on."""
        return (self, *self.also)


@dataclass(frozen=True)
class CodeLine:
    """A line of generated code, and the parts that it belongs to."""

    line: int
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Kernel:
    """A function of generated code: its lines and parts; `is_loop`: a kernel, which the driver calls."""

    name: str
    span: Span
    parts: tuple[Part, ...]
    is_loop: bool = False


@dataclass(frozen=True)
class Links:
    """The texts of all stages, the ops in them, and the lines and kernels of the code."""

    texts: Mapping[str, str]
    ops: Mapping[str, tuple[OpLine, ...]]
    code: tuple[CodeLine, ...]
    kernels: tuple[Kernel, ...]

    @remembered
    def lines(self) -> Mapping[str, list[str]]:
        """The lines of the texts."""
        return {stage: lines_of(text) for stage, text in self.texts.items()}

    @remembered
    def places(self) -> frozenset[Place]:
        """All lines of the user's that ops come from, those of callers included."""
        return frozenset(place for ops in self.ops.values() for op in ops for at in op.all for place in at.places)

    @property
    def files(self) -> list[str]:
        """The files of these lines; the one of the user's that most ops come from is the first."""
        counts = Counter(op.places[0].file for op in self.ops["front"] if op.places)
        return sorted({place.file for place in self.places}, key=lambda file: (not is_users(file), -counts[file], file))


_known: WeakKeyDictionary[CompiledCall, Links] = WeakKeyDictionary()


def links_of(call: CompiledCall) -> Links:
    """The cross-references of a compiled call."""
    found = _known.get(call)
    if found is None:
        texts = {stage: call.ir(stage) for stage in (*STAGES_OF_OPS, "code")}
        modules = {stage: call.module(stage) for stage in STAGES_OF_OPS}
        ops = {stage: tuple(_ops(module, texts[stage])) for stage, module in modules.items()}
        code = _Code(texts["code"], modules["opt"])
        found = _known[call] = Links(texts, ops, tuple(code.lines), tuple(code.kernels))
    return found


def lines_of(text: str) -> list[str]:
    """The lines of a text as editors count them."""
    return text.removesuffix("\n").split("\n")


def chain_of(loc: Loc | None) -> tuple[Place, ...]:
    """The user's line that a place belongs to, then those of its callers."""
    found: list[Place] = []
    while loc is not None:
        user = loc.of_user()
        place = Place(user.file, user.line)
        if not found or found[-1] != place:
            found.append(place)
        loc = user.caller
    return tuple(found)


def part_of(loc: Loc | None) -> str:
    return loc.tag if loc is not None else ""


# ------------------------------------------------------------------------------------------------- ops of a stage
def _ops(module: Module, text: str) -> Iterator[OpLine]:
    for line, op, names in located(module, text):
        places = op.loc.places if op.loc is not None else (None,)
        first, *also = [OpLine(line, op.defn.name, names, part_of(loc), chain_of(loc), _columns(loc)) for loc in places]
        yield replace(first, also=tuple(also)) if also else first


def _columns(loc: Loc | None) -> tuple[int, int]:
    user = loc.of_user() if loc is not None else None
    return (user.col, user.end_col) if user is not None and user.end_line == user.line else (0, 0)


def located(module: Module, text: str) -> Iterator[tuple[int, Op, tuple[str, ...]]]:
    """Each op of a module with the line of its text that it stands on, and the names of its results there.

    The text may hold comments of its own between the lines of the ops.
    """
    lines = lines_of(text)
    at = 0
    for function in module:
        printer = FunctionPrinter(places=False)
        printer.function(function)
        at = _following(lines, at, text_head(function))
        for op in ops_of(function.body):
            names = tuple([printer.names[x] for x in op.results])
            at = _following(lines, at + 1, f"{names[0]}: " if names else op.defn.name)
            yield at + 1, op, names


def text_head(function: Function) -> str:
    """The start of a function's first line in a text."""
    return f"func {global_name(function.name)}("


def _following(lines: list[str], at: int, start: str) -> int:
    """The next line with this start."""
    while not lines[at].lstrip().startswith(start):
        at += 1
    return at


# ------------------------------------------------------------------------------------------------- generated code
_HEAD = re.compile(r"^define .*?@([\w.]+)\(")
_ABOUT = re.compile(r"^; ([\w.]+) (.*)$")
_NOTE = re.compile(r"^  ; (?!  )(.*)$")  # not the text of a user's line, which begins with more space
_JOIN = re.compile(r"^(?:else|end|done)\d+:")
_KERNEL = re.compile(r"^k\d+$")
_DEF = re.compile(r"^(?:def|ascend program) (\w+)\(")


class _Code:
    """Parses the comments of generated code into `lines` and `kernels`.

    Comments name a file without its folder: where two files of one name have ops on lines of the same number, what is
    computed there belongs to both.
    """

    def __init__(self, text: str, module: Module) -> None:
        self.lines: list[CodeLine] = []
        self.kernels: list[Kernel] = []
        self._parts: dict[str, dict[Part, None]] = {}
        for function in module:
            for op in ops_of(function.body):
                self._enter(op)
        lines = lines_of(text)
        if any(map(_HEAD.match, lines)):
            self._llvm(lines)
        else:
            self._commented(lines)

    def _enter(self, op: Op) -> None:
        """Registers an op under the places that comments may name it by; scalar constants may stand anywhere."""
        loc = op.loc
        if loc is None:
            return
        parts = [Part(chain_of(at)[0], part_of(at)) for at in (loc.places if op.defn.name != "const" else (loc,))]
        places = dict.fromkeys([loc.of_user(), loc])
        short = " in ".join([place.short for place in places])
        for name in (str(loc), f"{short} {escape.line(loc.tag)}".rstrip()):
            self._parts.setdefault(name, {}).update(dict.fromkeys(parts))

    def _named(self, places: str) -> list[Part]:
        """The parts that a list of places names."""
        found: dict[Part, None] = {}
        for place in (places, *places.split(", ")):
            found.update(self._parts.get(place, {}))
        return list(found)

    def _llvm(self, lines: list[str]) -> None:
        """LLVM text: comments above a function say what it computes, those within what follows."""
        about: list[tuple[str, str]] = []
        for start, line in enumerate(lines):
            comment, head = _ABOUT.match(line), _HEAD.match(line)
            if comment is not None:
                about.append((comment[1], comment[2]))
            elif head is not None:
                places = [what.rpartition(": ")[2] for name, what in about if name == head[1]]
                self._function(lines, start, head[1], [p for place in places for p in self._named(place)])
            elif line == "}":
                about = []

    def _function(self, lines: list[str], start: int, name: str, parts: list[Part]) -> None:
        """One function; notes of a kernel that follow each other are about the same code, those of the driver not."""
        first, last = start, lines.index("}", start)
        while first > 0 and lines[first - 1].startswith(";"):
            first -= 1
        kernel = _KERNEL.match(name) is not None
        inner, now, noted = dict.fromkeys(parts), parts, False
        for at in range(start + 1, last):
            note = _NOTE.match(lines[at])
            if note is not None:
                named = self._named(note[1].rpartition(": ")[2])
                now = [*now, *named] if noted and kernel else named
                inner.update(dict.fromkeys(named))
            elif not kernel and _JOIN.match(lines[at]):
                now = []
            noted = note is not None
            if now:
                self.lines.append(CodeLine(at + 1, tuple(dict.fromkeys(now))))
        if kernel or name in ("main", "program"):
            self.kernels.append(Kernel(name, Span(first + 1, last + 1), tuple(inner), kernel))

    def _commented(self, lines: list[str]) -> None:
        """Statements with a comment behind each that names its line."""
        name, first, parts = "", 0, dict[Part, None]()
        for at, line in enumerate([*lines, ""]):
            head = _DEF.match(line)
            if name and line and not line.startswith(" "):
                self._def(name, first, at, parts)
                name = ""
            if head is not None:
                name, first, parts = head[1], at, {}
            found = self._comment(line)
            if found:
                self.lines.append(CodeLine(at + 1, tuple(found)))
                parts.update(dict.fromkeys(found))
        if name:
            self._def(name, first, len(lines), parts)

    def _def(self, name: str, first: int, end: int, parts: dict[Part, None]) -> None:
        if parts:
            self.kernels.append(Kernel(name, Span(first + 1, end), tuple(parts)))

    def _comment(self, line: str) -> list[Part]:
        """What the comment behind a statement names; the text of the user's line follows the place."""
        _, *comments = line.split("  # ")
        for comment in comments:
            found = self._parts.get(comment.partition(": ")[0])
            if found:
                return list(found)
        return []
