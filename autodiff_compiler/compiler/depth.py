"""Room for programs with deeply nested blocks: the passes recurse over them, several frames a level."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ..errors import RecursionDepthError
from ..locks import Lock

__all__ = ["deep"]

P = ParamSpec("P")
R = TypeVar("R")

#: Frames for a compilation.  Each takes about half a KiB of the thread's stack, which has megabytes.
_FRAMES = 6000

_lock = Lock()
_running = 0
_before = 0


def deep(fn: Callable[P, R]) -> Callable[P, R]:
    """`fn` with more room for recursion; RecursionDepthError where that does not suffice either."""

    @functools.wraps(fn)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        _enter()
        try:
            return fn(*args, **kwargs)
        except RecursionError as error:
            if isinstance(error, RecursionDepthError):
                raise
            raise RecursionDepthError(
                "the program is nested too deeply to be compiled",
                hint="split the function, or a long chain of `if`s in it",
            ) from None
        finally:
            _leave()

    return run


def _enter() -> None:
    """Raises the limit, which is one for all threads; the last to leave restores it."""
    global _running, _before
    with _lock:
        if not _running:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, _FRAMES))
        _running += 1


def _leave() -> None:
    global _running
    with _lock:
        _running -= 1
        if not _running:
            sys.setrecursionlimit(_before)
