"""A line that shows how far a long compilation is.

On a terminal it comes after two seconds and is gone in the end.  In a notebook, and with ``AC_LOG=progress`` elsewhere,
there are a few lines of plain text instead.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .logs import asked

__all__ = ["at", "shown"]

#: When the line comes, and how often it changes, in seconds.
AFTER, EVERY = 2.0, 0.2

_lock = threading.Lock()


class _Compilation:
    """What is compiled, and how far it is; `ops` counts the operations, where that is known."""

    def __init__(self, what: str) -> None:
        self.what, self.step, self.ops = what, "", None
        self.began, self.done = time.monotonic(), threading.Event()

    ops: Callable[[], int] | int | None

    def __str__(self) -> str:
        ops = self.ops() if callable(self.ops) else self.ops
        parts = [self.step, "" if ops is None else f"{ops:,} operations", f"{time.monotonic() - self.began:.0f} s"]
        return f"compiling {self.what}: {', '.join(filter(None, parts))}"


#: Of this thread, and of those that work for it.
_current: ContextVar[_Compilation | None] = ContextVar("compilation", default=None)


def at(step: str, ops: Callable[[], int] | int | None = None) -> None:
    """Says what the compilation at work here has come to."""
    now = _current.get()
    if now is not None:
        now.step, now.ops = step, ops


@contextmanager
def shown(what: str) -> Iterator[None]:
    """While something is compiled: shows how far it is, if that takes long and somebody can see it."""
    out = sys.stderr
    kind = _kind(out)
    if kind is None or _current.get() is not None:
        yield
        return
    compilation = _Compilation(what)
    token = _current.set(compilation)
    thread = threading.Thread(target=_show, args=(compilation, out, kind == "terminal"), daemon=True)
    thread.start()
    try:
        yield
    finally:
        _current.reset(token)
        compilation.done.set()
        thread.join()


def _kind(out: Any) -> str | None:
    """What lines would be written to: a terminal, something that takes plain text, or nothing."""
    if out is None:
        return None
    if type(out).__module__.startswith("ipykernel"):
        return "text"
    try:
        terminal = out.isatty()
    except (AttributeError, ValueError):  # it is closed
        return None
    if terminal and os.environ.get("TERM") != "dumb":
        return "terminal"
    return "text" if terminal or asked("progress") else None


def _show(compilation: _Compilation, out: Any, live: bool) -> None:
    if compilation.done.wait(AFTER) or not _lock.acquire(blocking=False):
        return  # it is quick, or another one is shown
    width, pause = 0, EVERY if live else AFTER
    try:
        while True:
            text = str(compilation)
            if live:
                text = text[: shutil.get_terminal_size().columns - 1]
                out.write(f"\r{text:<{width}}")
                width = len(text)
            else:
                out.write(f"{text}\n")
            out.flush()
            if compilation.done.wait(pause):
                return
            pause *= 1 if live else 2
    except (OSError, ValueError):  # nobody reads it any more
        return
    finally:
        if width:
            out.write(f"\r{' ' * width}\r")
            out.flush()
        _lock.release()
