"""Checkpoint files by format: read as a whole, written whole or not at all."""

from __future__ import annotations

import importlib
import io
import os
import secrets
import stat
from typing import Any

from .checkpoint_content import CheckpointError, Content

__all__ = ["FORMATS", "MissingCheckpointError", "read", "write"]

#: The formats, which are the endings of their files, too.
FORMATS = ("ckpt", "safetensors", "npz")


class MissingCheckpointError(CheckpointError, FileNotFoundError):
    """A checkpoint file that does not exist."""


def _codec(format: str) -> Any:
    return importlib.import_module(f".{format}_format", __package__)


def read(source: str | io.BytesIO, format: str, crc: bool) -> Content:
    """What a checkpoint holds; CheckpointError if it is missing, truncated or malformed.

    The arrays may be views of the file's bytes.
    """
    name = "the checkpoint" if isinstance(source, io.BytesIO) else source
    try:
        if isinstance(source, io.BytesIO):
            data = source.getvalue()
        else:
            with open(source, "rb") as file:
                data = file.read()
    except FileNotFoundError:
        raise MissingCheckpointError(f"{name} does not exist") from None
    try:
        content: Content = _codec(format).decode(data, crc)
    except (ImportError, MemoryError, Warning):
        raise
    except CheckpointError as error:
        raise CheckpointError(f"{name} is no valid .{format} file: {error}") from None
    except Exception as error:  # what the libraries of the other formats raise is theirs to choose
        raise CheckpointError(f"{name} is no valid .{format} file: {type(error).__name__}: {error}") from error
    return content


def write(path: str, format: str, content: Content, crc: bool) -> None:
    """Writes a checkpoint beside `path` and moves it there; whatever fails, the old file stays as it was.

    A new file has the permissions that the process gives to files, one that takes the place of another has its own.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")
    codec = _codec(format)
    try:
        with open(temporary, "xb") as file:
            codec.write(file, content, crc)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
