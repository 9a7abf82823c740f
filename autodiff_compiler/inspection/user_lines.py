"""User lines: the key by which costs and measured times are summed up."""

from __future__ import annotations

from typing import TypeAlias

from ..source import Loc, shown_line

#: File, number, and which transformation made the ops ("adjoint"; empty for those of the line itself).
UserLine: TypeAlias = tuple[str, int, str]
NOWHERE: UserLine = ("", 0, "")
#: What is said of ops that belong to no line of the user's.
ELSEWHERE = "outside of your lines"
#: The copying of results out of a program, after its last op.
HANDED_OUT = "results handed out"
#: The place of that in tables by line.
LEAVING: UserLine = ("", 0, HANDED_OUT)


def user_line(loc: Loc | None) -> UserLine:
    """The line that an op at this place belongs to."""
    user = loc.of_user() if loc is not None else None
    return (user.file, user.line, (loc.tag if loc else "") or user.tag) if user is not None else NOWHERE


def named(file: str, line: int, part: str) -> str:
    """A line as compilers name it; empty for none.

    >>> named("/home/me/model.py", 14, "adjoint")
    'model.py:14 adjoint'
    """
    return f"{shown_line(file, line)} {part}".rstrip() if file else ""
