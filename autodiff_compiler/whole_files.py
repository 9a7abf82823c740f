"""Atomic writes of files: whatever fails while one is written, the old file stays."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
from numpy.lib.format import write_array

fcntl: Any
try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

__all__ = ["beside", "has_arrays", "replacing", "write_text", "write_with_arrays"]

#: The comment of an archive with the arrays of a text: others of that name are not ours to replace.
_MARK = b"the arrays of a text of autodiff_compiler"
#: How the names of temporary files end: `.net.ckpt.0123456789abcdef.tmp` will be `net.ckpt`.
_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp$")
#: Bytes of a target's name that stand in those of its temporary files.
_LONGEST = 200
#: The age in seconds from which a temporary file counts as abandoned, where files cannot be locked.
_OLD = 3600.0


@contextmanager
def replacing(path: str | os.PathLike[str], *, durable: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of the one at `path` in the end; OSError names `path`.

    A new file has the default permissions of the process, one that replaces another keeps those of the old one.
    Devices and pipes are written as they are.  `durable`: it is on disk before it takes the place.  What processes that
    were killed had begun to write for this path is removed.
    """
    target = os.path.realpath(path)
    with _naming(path):
        if os.path.lexists(target) and not os.path.isfile(target):
            with open(path, "wb") as as_it_is:
                yield as_it_is
            return
        _remove_abandoned(target)
        file = _begun(target)
        try:
            with file:
                yield file
                file.flush()
                if durable:
                    os.fsync(file.fileno())
                if fcntl is not None:
                    _take_place(file.name, target)  # while the lock is held: nobody believes it abandoned
            if fcntl is None:  # there, no file that is open can be moved
                _take_place(file.name, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(file.name)
            raise


def _take_place(temporary: str, target: str) -> None:
    if os.path.exists(target):
        os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
    os.replace(temporary, target)


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """An OSError that names no file, as that of a full disk, gets the name of the one that is written."""
    try:
        yield
    except OSError as error:
        ours = isinstance(error.filename, str) and os.path.dirname(error.filename) and _TEMPORARY.search(error.filename)
        if error.filename is not None and not ours:
            raise
        number = errno.EIO if error.errno is None else error.errno  # NumPy says how much it wrote, and not why no more
        raise OSError(number, error.strerror or str(error), os.fspath(path)) from None


# ------------------------------------------------------------------------------------------------ temporary files
def _stem(target: str) -> str:
    """How the names of temporary files for a target begin."""
    name = os.fsencode(os.path.basename(target))[:_LONGEST]  # there is a limit to names
    return f".{os.fsdecode(name)}."


def _begun(target: str) -> IO[bytes]:
    """A new temporary file for a target, locked as long as it is open."""
    while True:
        name = f"{_stem(target)}{secrets.token_hex(8)}.tmp"
        file = open(os.path.join(os.path.dirname(target), name), "xb")  # noqa: SIM115  (who asks closes it)
        if fcntl is not None:
            with suppress(OSError):  # there are file systems without locks
                fcntl.flock(file, fcntl.LOCK_EX)
        if os.path.exists(file.name):  # or somebody took it for abandoned before it was locked
            return file
        file.close()


def _remove_abandoned(target: str) -> None:
    """Removes the temporary files of a target that no process has open to write any more."""
    folder, stem = os.path.dirname(target), _stem(target)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(stem) and _TEMPORARY.fullmatch(entry.name[len(stem) - 1 :]):
                with suppress(OSError):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    """Removes a temporary file if nobody holds its lock; where there are no locks, if it is old.

    It is removed under its lock: who has just begun it waits for the lock, and then sees that it is gone (`_begun`).
    """
    if fcntl is not None:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
            return
        except BlockingIOError:
            return
        except OSError:
            pass
        finally:
            os.close(file)
    if time.time() - os.stat(path).st_mtime > _OLD:
        os.unlink(path)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file of text."""
    content = text.encode()
    with replacing(path) as file:
        file.write(content)


def beside(path: str | os.PathLike[str]) -> str:
    """Where the arrays that belong to a file of text are written; what is there may be somebody else's."""
    return f"{os.fspath(path)}.npz"


def has_arrays(path: str | os.PathLike[str]) -> bool:
    """Whether `write_with_arrays` wrote what is beside a file of text."""
    if not os.path.isfile(beside(path)):  # a pipe, say, would be waited for
        return False
    try:
        with open(beside(path), "rb") as file:
            file.seek(-len(_MARK), os.SEEK_END)  # the comment of an archive is the end of its file
            return file.read() == _MARK
    except OSError:
        return False


def write_with_arrays(path: str | os.PathLike[str], text: str, arrays: Mapping[str, Any]) -> list[str]:
    """Writes a file of text and beside it the arrays that it names, or takes away those of an earlier text.

    Returns the paths of what was written.  Both files are complete before the first takes its place.  A file beside it
    that is somebody else's stays: FileExistsError if arrays were to take its place, and then nothing is written.
    """
    content, stored_at, ours = text.encode(), beside(path), has_arrays(path)
    if not arrays:
        with replacing(path) as file:
            file.write(content)
            if ours:
                with suppress(FileNotFoundError):
                    os.unlink(stored_at)
        return [os.fspath(path)]
    if os.path.isfile(stored_at) and not ours:
        problem = f"its arrays would take the place of {stored_at}, which does not belong to it"
        raise FileExistsError(errno.EEXIST, problem, os.fspath(path))
    with replacing(path) as file, replacing(stored_at) as stored:
        file.write(content)
        with ZipFile(stored, "w") as archive:
            archive.comment = _MARK
            for name, array in arrays.items():  # `numpy.savez` takes none whose name is "file"
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    write_array(member, np.asarray(array), allow_pickle=False)
    return [os.fspath(path), stored_at]
