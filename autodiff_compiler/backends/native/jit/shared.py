"""Functions in machine code that all programs call: each is compiled when the first program needs it.

What would be hundreds of instructions in every program, and is as fast with its sizes as parameters, is compiled once.
Programs find them in their context, under their names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from .engine import Loaded, load
from .machine import Machine, machine

#: What writes the LLVM text of each function, by name; the text defines `SYMBOL`.
_WRITERS: dict[str, Callable[[Machine], str]] = {}
#: What each of them is called in its own module.
SYMBOL = "shared"


def share(name: str, write: Callable[[Machine], str]) -> str:
    """Makes a function known under a name, which is returned."""
    _WRITERS[name] = write
    return name


def names() -> tuple[str, ...]:
    """All functions that are known."""
    return tuple(_WRITERS)


def text(name: str) -> str:
    """The LLVM text of a function for the current target, which need not be this host."""
    return _WRITERS[name](machine())


def is_shared(name: str) -> bool:
    """Whether a name in a context is that of such a function."""
    return name in _WRITERS


def address(name: str) -> int:
    """The address of a function in this process."""
    return _loaded(name, machine()).address(SYMBOL)


@cache
def _loaded(name: str, target: Machine) -> Loaded:
    return load(_WRITERS[name](target))
