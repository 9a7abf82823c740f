"""Colours in a terminal: of errors, of dumps and of differences."""

from __future__ import annotations

import re
from typing import Any

_BOLD, _FAINT, _RED, _GREEN, _YELLOW, _BLUE, _CYAN = "1", "2", "31", "32", "33", "34", "36"


def error(text: str) -> str:
    """The class red, places blue, the marks below the code yellow."""
    text = re.sub(r"(?m)^(\w+(?: \[AC\d+\])?:)(?= )", _styled(f"{_BOLD};{_RED}"), text)
    text = re.sub(r"(?m)^( *--> .*)$", _styled(_BLUE), text)
    return re.sub(r"(?m)(?<=\| )( *\^+.*)$", _styled(_YELLOW), text)


def dump(text: str) -> str:
    """Values cyan, where a line begins what it does; comments, and places in the source, faint."""
    return "\n".join(map(_dump_line, text.split("\n")))


def _dump_line(line: str) -> str:
    parts = re.match(r"(.*?)(\s@ \S.*|//.*|)$", line)
    assert parts is not None
    code = re.sub(r"\b(func|return|yield|cond|body|then|else)\b", _styled(_BOLD), parts[1])
    code = re.sub(r"(%[\w.]+)", _styled(_CYAN), code)
    return code + (_style(_FAINT, parts[2]) if parts[2] else "")


def comparison(text: str) -> str:
    """What is gone red, what is new green, places cyan."""
    text = re.sub(r"(?m)^(-.*)$", _styled(_RED), text)
    text = re.sub(r"(?m)^(\+.*)$", _styled(_GREEN), text)
    return re.sub(r"(?m)^(@@.*)$", _styled(_CYAN), text)


def verdict(text: str) -> str:
    """How a check ended: the last line green or red."""
    before, last = text.rpartition("\n")[::2]
    return f"{before}\n" + _style(f"{_BOLD};{_GREEN if last == 'passed' else _RED}", last)


def _style(codes: str, text: str) -> str:
    return f"\x1b[{codes}m{text}\x1b[0m"


def _styled(codes: str) -> Any:
    return lambda found: _style(codes, found[1])
