"""Makes a program smaller as long as it fails: delta debugging over its statements, then over its expressions."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator

Fails = Callable[[str], bool]


def shrunk(source: str, fails: Fails, seconds: float = 60.0) -> str:
    """The smallest text found for which `fails` holds as it does for `source`; the same for the same `fails`."""
    end = time.monotonic() + seconds
    best = ast.unparse(ast.parse(source)) + "\n"
    if not fails(best):
        return source
    seen = {best}
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for change in (_statements, _compounds, _expressions):
            start = 0
            while time.monotonic() < end:
                for number, text in _from(change(best), start):
                    if time.monotonic() > end:
                        break
                    if text in seen or (len(text) >= len(best) and change is not _compounds):
                        continue
                    seen.add(text)
                    if fails(text):
                        best, start, smaller = text, number, True
                        break
                else:
                    break
    return best


def _from(texts: Iterator[str], start: int) -> Iterator[tuple[int, str]]:
    """Numbered from `start` on: what was tried before the last success is tried again in the next round only."""
    for number, text in enumerate(texts):
        if number >= start:
            yield number, text


def _bodies(tree: ast.AST) -> list[tuple[ast.AST, str]]:
    """The places of lists of statements, the outermost first."""
    return [
        (node, name)
        for node in ast.walk(tree)
        for name in ("body", "orelse")
        if isinstance(getattr(node, name, None), list) and getattr(node, name) and not isinstance(node, ast.Lambda)
    ]


def _variants(source: str, places: Callable, edits: Callable) -> Iterator[str]:
    """Texts of the program with one edit at one place."""
    tree = ast.parse(source)
    for number in range(len(places(tree))):
        for edit in edits(places(tree)[number]):
            changed = copy.deepcopy(tree)
            edit(places(changed)[number])
            try:
                text = ast.unparse(ast.fix_missing_locations(changed)) + "\n"
                ast.parse(text)
            except (SyntaxError, ValueError, RecursionError):
                continue
            yield text


def _statements(source: str) -> Iterator[str]:
    """Without runs of statements: long runs first."""

    def edits(place):
        node, name = place
        count = len(getattr(node, name))
        size = count
        while size:
            for at in range(0, count, size):
                yield lambda place, at=at, size=size: cut(place, at, size)
            size //= 2

    def cut(place, at, size):
        node, name = place
        rest = getattr(node, name)
        del rest[at : at + size]
        if not rest and name == "body":
            rest.append(ast.Pass())

    return _variants(source, _bodies, edits)


def _compounds(source: str) -> Iterator[str]:
    """With the body of an `if` or loop in its place."""

    def places(tree):
        return [
            (node, name, at)
            for node, name in _bodies(tree)
            for at, statement in enumerate(getattr(node, name))
            if isinstance(statement, ast.If | ast.For | ast.While)
        ]

    def edits(place):
        yield lambda place: hoist(place, "body")
        yield lambda place: hoist(place, "orelse")

    def hoist(place, which):
        node, name, at = place
        inner = getattr(getattr(node, name)[at], which)
        getattr(node, name)[at : at + 1] = inner or [ast.Pass()]

    return _variants(source, places, edits)


def _expressions(source: str) -> Iterator[str]:
    """With a part of an expression in its place, or a short name or number."""

    def places(tree):
        found = []
        for node in ast.walk(tree):
            for name, value in ast.iter_fields(node):
                if isinstance(value, ast.expr) and not isinstance(node, ast.FormattedValue):
                    found.append((node, name, None))
                elif isinstance(value, list):
                    found += [(node, name, i) for i, v in enumerate(value) if isinstance(v, ast.expr)]
        return found

    def read(place):
        node, name, at = place
        return getattr(node, name) if at is None else getattr(node, name)[at]

    def write(place, value):
        node, name, at = place
        if at is None:
            setattr(node, name, value)
        else:
            getattr(node, name)[at] = value

    def edits(place):
        value = read(place)
        if isinstance(value, ast.Name | ast.Constant | ast.JoinedStr) or isinstance(
            getattr(value, "ctx", None), ast.Store
        ):
            return
        for text in ("x", "1", "0.5", "True"):
            yield lambda place, text=text: write(place, ast.parse(text, mode="eval").body)
        for number in range(len([c for c in ast.walk(value) if isinstance(c, ast.expr)]) - 1):
            yield lambda place, number=number: write(
                place, [c for c in ast.walk(read(place)) if isinstance(c, ast.expr)][number + 1]
            )

    return _variants(source, places, edits)
