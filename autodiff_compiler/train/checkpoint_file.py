"""Checkpoint files by format: read as a whole, written whole or not at all."""

from __future__ import annotations

import importlib
import io
from typing import Any

from ..whole_files import replacing
from .checkpoint_content import CheckpointError, Content

__all__ = ["FORMATS", "MissingCheckpointError", "read", "write"]

#: The formats, which are the endings of their files, too.
FORMATS = ("ckpt", "safetensors", "npz")


class MissingCheckpointError(CheckpointError, FileNotFoundError):
    """A checkpoint file that does not exist."""


def _codec(format: str) -> Any:
    return importlib.import_module(f".{format}_format", __package__)


def read(source: str | io.BytesIO, format: str, crc: bool) -> Content:
    """The content of a checkpoint; CheckpointError if it is missing, truncated or malformed.

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
    except Exception as error:  # the libraries of the other formats may raise anything
        raise CheckpointError(f"{name} is no valid .{format} file: {type(error).__name__}: {error}") from error
    return content


def write(path: str, format: str, content: Content, crc: bool) -> None:
    """Writes a checkpoint beside `path` and moves it there; whatever fails, the old file stays as it was.

    A new file has the default permissions of the process, one that replaces another keeps those of the old one.
    """
    codec = _codec(format)
    with replacing(path, durable=True) as file:
        codec.write(file, content, crc)
