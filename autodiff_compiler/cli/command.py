"""Commands of the command line, and their results."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import nearest


class Usage(Exception):
    """The command line is wrong, or names something that does not exist: exit status 2."""


def advice(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """The end of a message about an unknown name: similar names, or else `otherwise`.

    >>> advice("dmp", ["run", "dump"]), advice("x", ["run", "dump"], "there are run and dump")
    ('; did you mean dump?', '; there are run and dump')
    """
    near = nearest(name, names)
    return f"; did you mean {' or '.join(near)}?" if near else otherwise and f"; {otherwise}"


def no_file(path: str) -> Usage:
    """The error for a missing file, with similar names in its folder."""
    folder, name = os.path.split(path)
    ending = os.path.splitext(name)[1]
    try:
        names = [n for n in os.listdir(folder or ".") if n.endswith(ending)]
    except OSError:
        return Usage(f"there is no file {path}: there is no folder {folder}")
    return Usage(f"there is no file {path}{advice(name, names)}")


class Result(NamedTuple):
    """What a command prints: `text`, or with ``--json`` the plain `data`; `paint` colours the text for a terminal."""

    text: str
    data: Any
    #: 0: done; 1: the program was refused, a check failed, or two things differ.
    status: int = 0
    paint: Callable[[str], str] | None = None


class Argument:
    """An argument of a command, as `argparse` takes it."""

    def __init__(self, *names: str, **options: Any) -> None:
        self.names, self.options = names, options


@dataclass(frozen=True)
class Command:
    """One command: what its ``--help`` says, its arguments, and the function that does it."""

    name: str
    help: str
    run: Callable[[Namespace], Result]
    arguments: Sequence[Argument] = ()
    #: The paragraph below the help.
    description: str = ""
    #: Command lines behind ``python -m autodiff_compiler``.
    examples: Sequence[str] = ()
    usage: str | None = None
    #: Takes the words behind the command as they are and returns the exit status, or None if they are not for it;
    #: Usage if they say what does not exist.
    direct: Callable[[Sequence[str]], int | None] | None = None
