"""Files that are there whole or not at all: whatever fails while one is written, what was there before stays."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
from numpy.lib.format import write_array

__all__ = ["beside", "has_arrays", "replacing", "write_text", "write_with_arrays"]

#: The comment of an archive with the arrays of a text: others of that name are not ours to replace.
_MARK = b"the arrays of a text of autodiff_compiler"


@contextmanager
def replacing(path: str | os.PathLike[str], *, durable: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of the one at `path` in the end; OSError names `path`.

    A new file has the permissions that the process gives to files, one that takes the place of another has its own.
    Devices and pipes are written as they are.  `durable`: it is on disk before it takes the place.
    """
    target = os.path.realpath(path)
    if os.path.lexists(target) and not os.path.isfile(target):
        with open(path, "wb") as file:
            yield file
        return
    temporary = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.tmp")
    try:
        file = open(temporary, "xb")  # noqa: SIM115  (errors of those who write are not to be renamed)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if os.path.exists(target):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


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
