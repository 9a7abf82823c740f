"""A line that shows how far a long compilation or measurement is.

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


class _Work:
    """What is done, and how far it is; `ops` counts the operations, where that is known."""

    def __init__(self, what: str) -> None:
        self.what, self.step, self.ops = what, "", None
        self.began, self.done = time.monotonic(), threading.Event()

    ops: Callable[[], int] | int | None

    def __str__(self) -> str:
        ops = self.ops() if callable(self.ops) else self.ops
        parts = [self.step, "" if ops is None else f"{ops:,} operations", f"{time.monotonic() - self.began:.0f} s"]
        return f"{self.what}: {', '.join(filter(None, parts))}"


#: Of this thread, and of those that work for it.
_current: ContextVar[_Work | None] = ContextVar("work", default=None)


def at(step: str, ops: Callable[[], int] | int | None = None) -> None:
    """Says what the work that is shown here has come to."""
    now = _current.get()
    if now is not None:
        now.step, now.ops = step, ops


@contextmanager
def shown(what: str) -> Iterator[None]:
    """While something is done, e.g. "compiling f": shows how far it is, if it takes long and somebody can see it.

    What is done in the course of it has no line of its own.
    """
    out = sys.stderr
    kind = _kind(out)
    if kind is None or _current.get() is not None:
        yield
        return
    work = _Work(what)
    token = _current.set(work)
    thread = threading.Thread(target=_show, args=(work, out, kind == "terminal"), daemon=True)
    thread.start()
    try:
        yield
    finally:
        _current.reset(token)
        work.done.set()
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


def _show(work: _Work, out: Any, live: bool) -> None:
    if work.done.wait(AFTER) or not _lock.acquire(blocking=False):
        return  # it is quick, or another one is shown
    width, pause = 0, EVERY if live else AFTER
    try:
        while True:
            text = str(work)
            if live:
                text = text[: shutil.get_terminal_size().columns - 1]
                out.write(f"\r{text:<{width}}")
                width = len(text)
            else:
                out.write(f"{text}\n")
            out.flush()
            if work.done.wait(pause):
                return
            pause *= 1 if live else 2
    except (OSError, ValueError):  # nobody reads it any more
        return
    finally:
        if width:
            out.write(f"\r{' ' * width}\r")
            out.flush()
        _lock.release()
