"""Texts as HTML in colours: IR, generated code, explanations, and differences line by line."""

from __future__ import annotations

import keyword
import re
from typing import Any

from .. import escape

#: Colours that can be read on white and on black; where a notebook has its own for code, those.
_COLOURS = {
    "comment": "var(--jp-mirror-editor-comment-color, #7a7a7a)",
    "place": "var(--jp-mirror-editor-comment-color, #7a7a7a)",
    "adjoint": "#c2600c",
    "value": "var(--jp-mirror-editor-variable-color, #2f7fd0)",
    "symbol": "#8a63d2",
    "type": "#1d8a6b",
    "string": "var(--jp-mirror-editor-string-color, #c2463a)",
    "op": "font-weight:bold",
    "word": "font-weight:bold",
    "minus": "#d1433a",
    "plus": "#238a3e",
    "hunk": "#8a63d2",
}
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*)
      | (?P<place>@[ ](?:"[^"\n]*"|[\w.<>+-]+):\d+:\d+(?:(?![ ]+//)[^\n])*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<adjoint>%d\d*_\w+) | (?P<value>%\w+) | (?P<symbol>@[\w.<>-]+)
      | (?P<type>\b(?:bool|[uif]\d+|bf16)\[[^\]\n]*\]|\bseq<)
      | (?P<op>(?<==[ ])[a-z]\w*|\b(?:func|return|yield|body|cond|then|else|state|constant|callable)\b)""",
    re.VERBOSE,
)
_PYTHON = re.compile(
    rf"""(?P<comment>\#[^\n]*)
      | (?P<string>\"{{3}}(?:[^\\]|\\.)*?\"{{3}}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<word>\b(?:{"|".join(keyword.kwlist)})\b)""",
    re.VERBOSE | re.DOTALL,
)
_LLVM = re.compile(
    r"""(?P<comment>;[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<value>%[\w.]+) | (?P<symbol>@[\w.]+)
      | (?P<word>\b(?:define|declare|internal|call|ret|br|phi|load|store|getelementptr|select|label)\b)
      | (?P<type>\b(?:void|ptr|float|double|half|bfloat|i\d+)\b)""",
    re.VERBOSE,
)
#: A line of the user's as messages name it; a name of a file may hold what does not match.
PLACE = re.compile(r"\bIn \[\d+\], line \d+|[\w.<>+-]+:\d+\b")
_EXPLANATION = re.compile(
    rf"(?P<op>^\S[^\n]*$)|(?P<place>(?:{PLACE.pattern})(?: (?:adjoint|recomputed))?)", re.MULTILINE
)
_DIFF_LINES = {"-": "minus", "+": "plus", "@": "hunk"}


class ShownText(str):
    """A text that IPython shows as it is at the end of a cell, not between quotes; a notebook in colours."""

    def _repr_html_(self) -> str:
        raise NotImplementedError

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def ir_html(text: str) -> str:
    """A text of IR, its tokens in colours."""
    return _coloured(text, _TOKEN)


def code_html(text: str) -> str:
    """A text of Python or, where functions are defined by LLVM, of that."""
    return _coloured(text, _LLVM if re.search(r"(?m)^define ", text) else _PYTHON)


def explanation_html(text: str) -> str:
    """An explanation: the titles of its sections, and places."""
    return _coloured(text, _EXPLANATION)


def _coloured(text: str, tokens: re.Pattern[str]) -> str:
    parts, end = [], 0
    for found in tokens.finditer(text):
        parts += [escape.markup(text[end : found.start()]), _span(found.lastgroup or "", found[0])]
        end = found.end()
    return _page("".join(parts) + escape.markup(text[end:]))


def difference_html(text: str) -> str:
    """A unified diff: lines that are gone, new, or the head of a hunk."""
    return _page("\n".join([_span(_DIFF_LINES.get(line[:1], ""), line) for line in text.split("\n")]))


def _span(kind: str, text: str) -> str:
    if not kind:
        return escape.markup(text)
    style = _COLOURS[kind]
    return f'<span style="{style if ":" in style else "color:" + style}">{escape.markup(text)}</span>'


def _page(inner: str) -> str:
    return f'<pre style="line-height:1.35;overflow-x:auto;background:transparent;color:inherit">{inner}</pre>'
