"""Files that are there whole or not at all: whatever fails while one is written, what was there before stays."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
from numpy.lib.format import write_array

__all__ = ["beside", "replacing", "write_text", "write_with_arrays"]


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
    """Where the arrays are that belong to a file of text: no other file of text has that name for its own."""
    return f"{os.fspath(path)}.npz"


def write_with_arrays(path: str | os.PathLike[str], text: str, arrays: Mapping[str, Any]) -> list[str]:
    """Writes a file of text and beside it the arrays that it names, or takes away those of an earlier text.

    Returns the paths of what was written.  Both files are complete before the first takes its place.
    """
    if not arrays:
        write_text(path, text)
        with suppress(FileNotFoundError):
            os.unlink(beside(path))
        return [os.fspath(path)]
    content = text.encode()
    with replacing(path) as file, replacing(beside(path)) as stored:
        file.write(content)
        with ZipFile(stored, "w") as archive:
            for name, array in arrays.items():  # `numpy.savez` takes none whose name is "file"
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    write_array(member, np.asarray(array), allow_pickle=False)
    return [os.fspath(path), beside(path)]
