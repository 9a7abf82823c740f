"""How text that is not ours enters text that we write: comments, strings, names, markup, names of files.

Names of files, functions, Parameters and values, lines of the user's source and attributes in a text of IR may hold any
character.  Whoever writes code, a picture or a page puts them through a function of this module; where a whole literal
is wanted, `repr` (Python) and `json.dumps` (JSON and the IR) do the same.  `tools/foreign_text.py` looks for text that
went another way.
"""

from __future__ import annotations

import html
import re

__all__ = [
    "ascii_line",
    "docstring",
    "dot",
    "file_name",
    "has_controls",
    "line",
    "lines",
    "markup",
    "mermaid",
    "name",
    "word",
]

#: What is no text on a line: control characters except for tabs, line separators, signs that turn the direction of
#: writing, halves of surrogate pairs (which no file can hold) and what XML does not allow.
_CONTROLS = "\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff"
_CONTROL = re.compile(f"[{_CONTROLS}]")
_BESIDE_NEWLINE = re.compile(rf"(?!\n)[{_CONTROLS}]")
_NOT_ASCII = re.compile(r"[^ -~]")
_NOT_IN_WORD = re.compile(r"\W", re.ASCII)
_NOT_IN_FILE_NAME = re.compile(r"[^\w.<>+-]|^\.+")
_NOT_IN_MERMAID = re.compile(r"[&\"<>`#\\]")
#: On most file systems a name has at most 255 bytes, up to four for a character.
_LONGEST_FILE_NAME = 48


def _spelt(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def has_controls(text: str) -> bool:
    """Whether a text holds what `line` spells differently."""
    return _CONTROL.search(text) is not None


def line(text: str) -> str:
    r"""A text on one line, as in a comment of Python, LLVM or assembly, or in a message: controls as Python's escapes.

    >>> print(line("a\n import os\x1b[2J é"))
    a\n import os\x1b[2J é
    """
    return _CONTROL.sub(_spelt, text)


def lines(text: str) -> str:
    """A text of several lines, of which each is as `line` has it."""
    return _BESIDE_NEWLINE.sub(_spelt, text)


def ascii_line(text: str) -> str:
    r"""A text on one line and of ASCII, as in a comment of the IR: the rest as Python's escapes.

    >>> print(ascii_line("é, Ω\n"))
    \xe9, \u03a9\n
    """
    return _NOT_ASCII.sub(_spelt, text)


def docstring(text: str) -> str:
    r'''A text on one line between the quotes of a docstring of Python's, behind and in front of anything.

    >>> print(docstring('""" and \\'))
    \"\"" and \\
    '''
    text = line(text).replace("\\", "\\\\").replace('""', '\\"\\"')
    return text[:-1] + '\\"' if text.endswith('"') and not text.endswith('\\"') else text


def dot(text: str) -> str:
    """A text as a string of Graphviz's language, quotes included, in which newlines stay newlines."""
    text = lines(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\n", "\\n") + '"'


def mermaid(*texts: str) -> str:
    """Lines as a label of Mermaid's, quotes included; what Markdown, HTML or YAML would read stands by its number."""
    return '"' + "<br>".join(_NOT_IN_MERMAID.sub(lambda c: f"#{ord(c[0])};", line(text)) for text in texts) + '"'


def markup(text: str) -> str:
    """A text as content or as an attribute, between quotes, of HTML or XML."""
    return html.escape(lines(text))


def word(text: str) -> str:
    """A text with an underscore for each character that names in programs do not have; it may begin with a digit."""
    return _NOT_IN_WORD.sub("_", text)


def name(text: str) -> str:
    """A text as a name in a program: a word that begins with no digit.

    >>> name("2nd value")
    '_2nd_value'
    """
    written = word(text)
    return f"_{written}" if written[:1].isdigit() else written


def file_name(text: str) -> str:
    """A text as a name of a file, or as a part of one: no folder, none that is hidden, not too long.

    >>> file_name("../a b")
    '__a_b'
    """
    return _NOT_IN_FILE_NAME.sub("_", text)[:_LONGEST_FILE_NAME]
