"""The folder of `save_graphs`: one that no other process writes to, and the errors where it cannot be written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..config import context
from ..locks import Lock

if sys.platform != "win32":
    import fcntl


class _Held(NamedTuple):
    """The folder asked for; which of those in it this process has, and that as an open file."""

    asked: str
    process: int
    name: str
    file: int


_held: _Held | None = None
_lock = Lock()


def graphs_folder() -> Path | None:
    """The folder that was asked for, or, while another process has that, the first of `process_1`, `process_2`, ... in
    it that is free; None if `save_graphs` is off.
    """
    if not context.save_graphs:
        return None
    asked = Path(context.save_graphs_path or "graphs")
    with _lock, writing_graphs():
        return asked / _own(asked)


@contextmanager
def writing_graphs() -> Iterator[None]:
    """An OSError that `save_graphs` meets says whose it is, and what can be done."""
    try:
        yield
    except OSError as error:
        if not context.save_graphs:
            raise
        problem = f"save_graphs cannot write there ({error.strerror or error}): set another save_graphs_path"
        raise OSError(error.errno, f"{problem}, or save_graphs=0", error.filename) from None


def _own(asked: Path) -> str:
    """The name of this process's folder, which is its own as long as it lives and uses no other."""
    global _held
    if _held is not None:
        if _held[:2] == (os.path.realpath(asked), os.getpid()) and _is_still(asked / _held.name, _held.file):
            return _held.name
        if _held.file >= 0:
            os.close(_held.file)  # a forked process had it from its parent, which keeps it
        _held = None
    name, number = ".", 0
    while True:
        (asked / name).mkdir(parents=True, exist_ok=True)
        file = _locked(asked / name)
        if file is not None:
            _held = _Held(os.path.realpath(asked), os.getpid(), name, file)
            return name
        number += 1
        name = f"process_{number}"


def _locked(folder: Path) -> int | None:
    """The folder, open and locked; None if another process has it, -1 where there are no such locks."""
    if sys.platform == "win32":
        return -1
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    except OSError:  # of some network file systems
        os.close(file)
        return -1
    return file


def _is_still(folder: Path, file: int) -> bool:
    """Whether the folder is the one that was opened, and not removed since."""
    try:
        return file < 0 or os.path.samestat(os.stat(folder), os.fstat(file))
    except FileNotFoundError:
        return False
