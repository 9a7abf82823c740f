"""How a process ends that has others: in order, or with all of them."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import traceback
from types import FrameType, TracebackType
from typing import Any

from ..errors import CollectiveError, leave_user_frames
from ..source import is_users, shown_line
from .board import GIVEN_UP, LEFT
from .group import Group
from .waiting import pending, state, timeout_now

__all__ = ["prepare"]

_INTERRUPTED = 130
#: How often the line that runs is written down, and how often an unfinished collective is moved on, in seconds.
_NOTED, _MOVED = 1.0, 1e-3
#: How long each process leaves it to those before it to say what all of them see, in seconds, and at most; longer than
#: `_READ`.
_TURN, _TURNS = 0.6, 1.8
#: How long the launcher has to read what was written, in seconds: what it has not read when MPI aborts is lost.
_READ = 0.3
#: How long a process at its end sleeps before it looks again whether the others have come.
_AT_END = 5e-3


def prepare(world: Group) -> None:
    """From now on an exception ends all processes, the end of one waits for the others, and lines are written whole."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # the launcher mixes what processes write as it comes
            stream.reconfigure(line_buffering=True, write_through=False)
    inner = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if state.forked:
            inner(kind, error, trace)
        else:
            _end_all(world, kind, error, trace)

    sys.excepthook = hook
    atexit.register(_leave, world, state.mpi.COMM_WORLD.Dup())
    os.register_at_fork(after_in_child=_forked)
    main = threading.main_thread().ident
    threading.Thread(target=_note, args=(main,), name="autodiff_compiler places", daemon=True).start()


def _forked() -> None:
    state.forked = True


def _end_all(world: Group, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints what nobody caught, with this process's number, and ends all processes."""
    state.board.now(GIVEN_UP)
    if isinstance(error, CollectiveError):  # others may have the same to say, and one is enough
        time.sleep(min(_TURN * world.rank, _TURNS))
        leave_user_frames(error)
        trace = error.__traceback__
    text = "".join(traceback.format_exception(kind, error, trace))
    head = f"[process {world.rank}] "
    with_number = "".join(head + line for line in text.splitlines(keepends=True))
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            if stream is sys.stderr:
                stream.write(with_number)
            stream.flush()
    time.sleep(_READ)
    state.mpi.COMM_WORLD.Abort(_INTERRUPTED if issubclass(kind, KeyboardInterrupt) else 1)


def _leave(world: Group, at_end: Any) -> None:
    """The end of the program: what has begun is ended, the others are told, and MPI ends when all have come.

    `at_end` is a communicator for nothing else: others may be anywhere.
    """
    if state.forked:
        return
    try:
        for handle in list(pending):
            handle.wait()
        state.board.now(LEFT)
        request = at_end.Ibarrier()
        began, told = time.monotonic(), False
        while not request.Test():
            time.sleep(_AT_END)
            told = told or _told(world, began)
    except CollectiveError:
        _end_all(world, *sys.exc_info())
    state.mpi.Finalize()


def _told(world: Group, began: float) -> bool:
    """Says after a time who keeps this process from ending; ends all where one has died."""
    board: Any = state.board
    dead = [rank for rank in world.ranks if board.died(rank)]
    if dead:
        sys.stderr.write(f"[process {world.rank}] process {dead[0]} has died without a word\n")
        sys.stderr.flush()
        state.mpi.COMM_WORLD.Abort(1)
    if not timeout_now() or time.monotonic() - began < timeout_now():
        return False
    late = [rank for rank in world.ranks if (place := board.of(rank)) is None or place.state != LEFT]
    lines = [f"process {rank}, which runs {getattr(board.of(rank), 'line', '') or 'on'}" for rank in late]
    sys.stderr.write(f"[process {world.rank}] has ended and waits for {'; '.join(lines)}\n")
    sys.stderr.flush()
    return True


def _note(main: int | None) -> None:
    """Writes down the line that the program runs; and calls MPI, so that what has begun moves on by itself."""
    noted = 0.0
    while not state.forked:
        if pending:
            state.mpi.COMM_SELF.Iprobe()
        now = time.monotonic()
        if now - noted >= _NOTED:
            noted = now
            state.board.line(_users_line(sys._current_frames().get(main or 0)))
        time.sleep(_MOVED if pending else _NOTED / 4)


def _users_line(frame: FrameType | None) -> str:
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return "" if frame is None else shown_line(frame.f_code.co_filename, frame.f_lineno)
