"""A line that shows how far a long compilation or measurement is.

On a terminal it comes after two seconds and is gone in the end; where the work was kept, a last line says so.  In a
notebook, and with ``AC_LOG=progress`` elsewhere, there are a few lines of plain text instead.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from .logs import asked

__all__ = ["at", "kept", "shown"]

#: When the line comes, and how often it changes, in seconds.
AFTER, EVERY = 2.0, 0.2

_lock = threading.Lock()


class _Work:
    """What is done, and how far it is; `ops` counts the operations, where that is known."""

    def __init__(self, what: str) -> None:
        self.what, self.step, self.ops = what, "", None
        self.began, self.done = time.monotonic(), threading.Event()
        #: the seconds that it will take in all, where that can be estimated
        self.expected = 0.0
        #: where its result is kept for other processes
        self.place = ""

    ops: Callable[[], int] | int | None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def __str__(self) -> str:
        ops, seconds = self.ops() if callable(self.ops) else self.ops, self.seconds
        time_left = f" of about {self.expected:.0f} s" if self.expected > seconds + 1 else " s"
        parts = [self.step, "" if ops is None else f"{ops:,} operations", f"{seconds:.0f}{time_left}"]
        return f"{self.what}: {', '.join(filter(None, parts))}"


#: Of this thread, and of those that work for it.
_current: ContextVar[_Work | None] = ContextVar("work", default=None)


def at(step: str, ops: Callable[[], int] | int | None = None, *, done: float = 0.0) -> None:
    """Says what the work that is shown here has come to; `done`: the share of its time that is usually over here."""
    now = _current.get()
    if now is not None:
        now.step, now.ops = step, ops
        if done:
            now.expected = now.seconds / done


def kept(place: str) -> None:
    """Says that the result of the work is kept for other processes, and where."""
    now = _current.get()
    if now is not None:
        now.place = place


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
    except BaseException:
        work.place = ""
        raise
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
        work.place = ""
    finally:
        _end(work, out, width)
        _lock.release()


def _end(work: _Work, out: Any, width: int) -> None:
    """Removes the line, of this width; instead there is one that stays where the result is kept."""
    with suppress(OSError, ValueError):
        if width:
            out.write(f"\r{' ' * width}\r")
        if work.place:
            out.write(f"{work.what} took {work.seconds:.0f} s; other processes find the machine code in {work.place}\n")
        out.flush()
