"""Sizes as texts, as `repr` of a `Dim` writes them."""

from __future__ import annotations

import re
from collections.abc import Callable

from .sizes import ERASED, Size, largest, smallest


def parse(text: str, named: Callable[[str], Size]) -> list[Size]:
    """The sizes of a text, as `repr` writes them, with commas between; `named` gives those of names.

    ValueError for other texts.
    """
    reader = _Reader(_TOKEN.findall(text), named)
    sizes = [reader.sum()]
    while reader.next(","):
        sizes.append(reader.sum())
    if reader.i != len(reader.tokens):
        raise ValueError(f"a size cannot go on with {reader.tokens[reader.i]!r}")
    return sizes


_TOKEN = re.compile(r"\d+|[A-Za-z_]\w*|//|\S", re.ASCII)
#: How deep brackets may stand in each other.
_MOST_BRACKETS = 50


class _Reader:
    """Reads the sums, products, quotients and brackets of a size."""

    def __init__(self, tokens: list[str], named: Callable[[str], Size]) -> None:
        self.tokens, self.named = tokens, named
        self.i = self.depth = 0

    def next(self, *among: str) -> str:
        """The next token, which is taken if it is one of these."""
        token = self.tokens[self.i] if self.i < len(self.tokens) else ""
        self.i += token in among
        return token if token in among else ""

    def sum(self) -> Size:
        sign = self.next("-")
        size = -self.product() if sign else self.product()
        while sign := self.next("+", "-"):
            size = size + self.product() if sign == "+" else size - self.product()
        return size

    def product(self) -> Size:
        size = self.factor()
        while op := self.next("*", "//"):
            right = self.factor()
            if op == "//" and right == 0:
                raise ValueError("a size is divided by 0")
            size = size * right if op == "*" else size // right
        return size

    def factor(self) -> Size:
        token = self.tokens[self.i] if self.i < len(self.tokens) else ""
        self.i += 1
        if token.isdecimal():
            try:
                return int(token)
            except ValueError:  # Python reads no more digits than `sys.set_int_max_str_digits` allows
                raise ValueError(f"a number of {len(token)} digits is too long") from None
        if token == "(":
            return self.inside(self.sum)
        if token in ("max", "min") and self.next("("):
            return self.inside(lambda: self.pair(largest if token == "max" else smallest))
        if token == "?":
            return ERASED
        if token.isidentifier():
            return self.named(token)
        raise ValueError(f"a size cannot go on with {token!r}" if token else "a size ends too early")

    def inside(self, read: Callable[[], Size]) -> Size:
        self.depth += 1
        if self.depth > _MOST_BRACKETS:
            raise ValueError(f"a size has more than {_MOST_BRACKETS} brackets in each other")
        size = read()
        if not self.next(")"):
            raise ValueError("a bracket of a size is not closed")
        self.depth -= 1
        return size

    def pair(self, choose: Callable[[Size, Size], Size]) -> Size:
        left = self.sum()
        if not self.next(","):
            raise ValueError("max and min are of two sizes")
        return choose(left, self.sum())
