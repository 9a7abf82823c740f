"""Processes that a program starts by `multiprocessing`: ``import mindspore`` means there what it means in the program.

A process that is forked has the mapping anyway.  One that is spawned, or asked from a fork server, begins with what
`multiprocessing` sends it and then runs the program's main module once more: the mapping must be there before.
"""

from __future__ import annotations

import os
import runpy
from typing import Any

from .importer import as_mindspore

__all__ = ["begin", "tell_children"]

_BEGINNING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "in_child.py")


class _Beginning:
    """What `multiprocessing` sends first: when a child unpickles it, in_child.py runs there."""

    def __reduce__(self) -> tuple[Any, ...]:
        return runpy.run_path, (_BEGINNING,)


def tell_children() -> None:
    """Sends the mapping to all processes that `multiprocessing` starts from now on."""
    from multiprocessing import spawn

    prepare = spawn.get_preparation_data
    if prepare.__module__ == __name__:
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {"mindspore": _Beginning(), **prepare(name)}  # `multiprocessing` passes over keys it does not know

    spawn.get_preparation_data = get_preparation_data


def begin() -> None:
    """The mapping in a child, and in the processes that it starts."""
    as_mindspore()
    tell_children()
