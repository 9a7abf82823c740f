"""Diff of two texts of IR up to renumbering of values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .. import escape
from .highlight import PLACE

_STRING = r'"(?:[^"\\]|\\.)*"'
#: A line of IR: op, place, remark.
_LINE = re.compile(
    rf"(?P<body>(?:{_STRING}|[^\"])*?)"
    rf"(?P<place>\s+@ (?:{_STRING}|[\w.<>+-]+):\d+:\d+(?:(?!\s+//)(?:{_STRING}|[^\"]))*)?"
    r"(?P<note>\s*//.*)?"
)
#: A line of generated code, whose comments give only its place or name Python that runs there.
_CODE = re.compile(
    r"""(?P<body>(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^"';#]|(?<!\s)[;#]|^\s*; Python runs: .*)*?)"""
    r"""(?P<place>(?:^|\s)\s*(?!; Python runs: )[;#].*)?(?P<note>$)"""
)
_QUOTED_FILE = re.compile(rf" (?:@|in) ({_STRING}):\d+:\d+")
_FILE = r"[^\s:,;()]*\.\w+|<[^>\n]+>"
_LINE_OF_CELL = r"In \[\d+\], line \d+"
#: Between the lines of a remark that is wrapped in the footer.
_WRAPPED = re.compile(r"\n// {7}(?=\S)")
#: Text of the user's, in which nothing is a name.
_QUOTED = rf"""{_STRING}|(?<!\w)'(?:[^'\\]|\\.)*'"""
_NAME = re.compile(rf"{_QUOTED}|(?P<name>%\w+)")
_FUNCTION = re.compile(r"(?m)^func @([\w.<>-]+)")
_SYMBOL = re.compile(rf"{_QUOTED}|@(?P<name>[\w.<>-]+)")
#: What an argument is, and the place of the call that gave it.
_CALLED = re.compile(rf"(argument `[^`]*` is an? \w+) \((?:{PLACE.pattern})\)")
_ANSI = {"-": "\x1b[31m", "+": "\x1b[32m", "@": "\x1b[36m"}
#: The number of lines up to which frequent lines are matched, too.
_THOROUGH = 3000


@dataclass
class _Line:
    """A line to be compared: `body` and `note` as they stand, `function` counts from 1.

    `words` are what counts of it, with functions named by their positions; `key` is that without numbers.
    """

    body: str
    note: str
    place: str
    words: str
    key: str
    function: int

    @property
    def shown(self) -> str:
        return f"{self.body}{'  ' + self.place if self.place else ''}{'  ' + self.note if self.note else ''}"


class Text(NamedTuple):
    """A text to be compared: its stage, what the diff calls it, and the large constants that it names."""

    text: str
    stage: str = ""
    title: str = "text"
    constants: Mapping[str, Any] = MappingProxyType({})


def difference(before: Text, after: Text, context: int, colour: bool) -> str:
    """The changes as a unified diff; see `IRText.diff`."""
    a, b, edits, names = _matched(before, after)
    out = [*_hunks(a, b, edits, names, max(0, context)), *_constants(before.constants, after.constants)]
    if out:
        out = [f"--- {before.title}", f"+++ {after.title}", *out]
    if colour:
        out = [f"{_ANSI[line[0]]}{line}\x1b[0m" if line[:1] in _ANSI else line for line in out]
    return "\n".join(out)


def side_by_side(before: Text, after: Text) -> Iterator[tuple[str, str | None, str | None]]:
    """The lines of both texts in pairs: " " for equal ones; "-" and "+" for those that only one of them has."""
    a, b, edits, _ = _matched(before, after)
    for kind, i, j in edits:
        yield kind, None if kind == "+" else a[i].shown, None if kind == "-" else b[j].shown


def with_places(line: str, moved: Mapping[str, str]) -> str:
    """A line of an explanation as two are compared: places renamed, and without that of the call."""
    return PLACE.sub(lambda found: moved.get(found[0], found[0]), _CALLED.sub(r"\1", line))


def _matched(before: Text, after: Text) -> tuple[list[_Line], list[_Line], list[tuple[str, int, int]], _Names]:
    """The lines of both texts, the steps through them, and the renamings of values."""
    notes = before.stage == after.stage
    functions = [_FUNCTION.findall(x.text) for x in (before, after)]
    if len(functions[0]) != len(functions[1]):  # it is not known which is which: they are told apart by their names
        functions = [[], []]
    a, b = _lines(before, notes, functions[0]), _lines(after, notes, functions[1])
    junk = max(len(a), len(b)) > _THOROUGH
    matcher = SequenceMatcher(None, [x.key for x in a], [x.key for x in b], autojunk=junk)
    names = _Names()
    same = {}
    for block in matcher.get_matching_blocks():
        for i, j in zip(range(block.a, block.a + block.size), range(block.b, block.b + block.size), strict=True):
            if names.agree(a[i], b[j]):
                same[i] = j
    same = _again(a, b, same, names)
    return a, b, list(_edits(len(a), len(b), same)), names


def _again(a: list[_Line], b: list[_Line], same: dict[int, int], names: _Names) -> dict[int, int]:
    """A second matching between the first matches, now that renamings are known."""
    found, i, j = dict(same), 0, 0
    for p, q in [*same.items(), (len(a), len(b))]:
        old, new = ([names.translated(x, x.words) for x in a[i:p]], [x.words for x in b[j:q]])
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            for k in range(block.size):
                if names.agree(a[i + block.a + k], b[j + block.b + k]):
                    found[i + block.a + k] = j + block.b + k
        i, j = p + 1, q + 1
    return dict(sorted(found.items()))


def _constants(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Constants of equal name and type, of which the text has a summary only, whose elements differ."""
    for name in [name for name in old if name in new]:
        a, b = old[name], new[name]
        if (a.dtype, a.shape) != (b.dtype, b.shape):  # the text says so
            continue
        apart = np.argwhere((_bits(a) != _bits(b)).any(-1))
        if len(apart):
            first = tuple(apart[0])
            index = list(map(int, first))
            yield f"@@ constant @{name}: {len(apart)} of {a.size} elements differ, first {index} @@"
            yield f"- {index} {a[first].item()!r}"
            yield f"+ {index} {b[first].item()!r}"


def _bits(array: Any) -> Any:
    """The bytes of each element: NaN is NaN, and a negative zero is no zero."""
    return np.frombuffer(array.tobytes(), np.uint8).reshape(*array.shape, array.itemsize)


def _lines(compared: Text, notes: bool, functions: list[str]) -> list[_Line]:
    """The lines that are compared; the names of `functions` do not count."""
    positions = {name: f"@#{i}" for i, name in enumerate(functions)}
    text = compared.text
    places = _places_in_remarks(text)
    form = _CODE if compared.stage == "code" else _LINE
    found, function = [], 0
    for line in _WRAPPED.sub(" ", text).splitlines():
        match = form.fullmatch(line)
        body, place, note = match.group("body", "place", "note") if match is not None else (line, "", "")
        body, place, note = body.rstrip(), (place or "").strip(), (note or "").strip() if notes else ""
        if not body and (not note or note.startswith("// stage ")):
            continue
        function += body.startswith("func ")
        note_words = places.sub(lambda m: m[0] if m[0].startswith('"') else "@", note)
        words = _SYMBOL.sub(lambda m: positions.get(m["name"], m[0]), f"{body} {note_words}")
        found.append(_Line(body, note, place, words, _NAME.sub(_without_number, words), function))
    return found


def _places_in_remarks(text: str) -> re.Pattern[str]:
    """A pattern for lists of the user's lines in remarks: ``net.py:7, net.py:9 (twice) and 3 more lines``."""
    quoted = {escape.ascii_line(json.loads(name)) for name in _QUOTED_FILE.findall(text)}
    files = "|".join([*map(re.escape, sorted(quoted, key=len, reverse=True)), _FILE])
    place = rf"(?:(?:{files}):\d+|{_LINE_OF_CELL})(?: recomputed)?(?: \(twice\)| \(\d+ times\))?"
    return re.compile(rf"{_STRING}|{place}(?:, {place})*(?: and \d+ more lines)?")


def _without_number(match: re.Match[str]) -> str:
    name = match["name"]
    if name is None:
        return match[0]
    return "%#" if name[1:].isdecimal() else re.sub(r"_\d+$", "", name)


def _names_in(words: str) -> list[str]:
    return [match["name"] for match in _NAME.finditer(words) if match["name"]]


class _Names:
    """Renamings of values between the texts, by pairs of functions."""

    def __init__(self) -> None:
        self.new: dict[tuple[int, int], dict[str, str]] = {}
        self.old: dict[tuple[int, int], dict[str, str]] = {}

    def agree(self, a: _Line, b: _Line) -> bool:
        """Whether two lines are equal up to a consistent renaming; new names are recorded."""
        pair = a.function, b.function
        new, old = self.new.setdefault(pair, {}), self.old.setdefault(pair, {})
        pairs = list(zip(_names_in(a.words), _names_in(b.words), strict=True))
        first = dict(pairs)
        back = {q: p for p, q in pairs}
        if any(first[p] != q or back[q] != p or new.get(p, q) != q or old.get(q, p) != p for p, q in pairs):
            return False
        new.update(first)
        old.update(back)
        return True

    def translated(self, line: _Line, text: str) -> str:
        """A line in the names of the new text; a name with another meaning there gets a prime."""
        found = [names for (function, _), names in self.new.items() if function == line.function and names]
        names = max(found, key=len, default={})
        taken = set(names.values())

        def one(match: re.Match[str]) -> str:
            name = match["name"]
            if name is None:
                return match[0]
            return names.get(name) or (f"{name}'" if name in taken else name)

        return _NAME.sub(one, text)


def _edits(m: int, n: int, same: dict[int, int]) -> Iterator[tuple[str, int, int]]:
    """Steps through both texts: a line is kept (" "), removed ("-") or added ("+"), with its numbers in both."""
    i = j = 0
    for p, q in [*same.items(), (m, n)]:
        for k in range(i, p):
            yield "-", k, j
        for k in range(j, q):
            yield "+", p, k
        if p < m:
            yield " ", p, q
        i, j = p + 1, q + 1


def _hunks(
    a: list[_Line], b: list[_Line], edits: list[tuple[str, int, int]], names: _Names, context: int
) -> Iterator[str]:
    near = {k + d for k, edit in enumerate(edits) if edit[0] != " " for d in range(-context, context + 1)}
    last = None
    for k, (kind, i, j) in enumerate(edits):
        if k not in near:
            continue
        if last != k - 1:
            head = next((x.body for x in reversed(b[: j + 1]) if x.body.startswith("func ")), "")
            yield f"@@ {head.partition('(')[0] or 'declarations'} @@"
        last = k
        yield f"{kind} {names.translated(a[i], a[i].shown) if kind == '-' else b[j].shown}"
