"""Writes the files that a command line names: texts, reports, IR with its arrays."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import whole_files
from .command import Usage
from .values import array_files


@contextmanager
def writing(options: Namespace, path: str) -> Iterator[None]:
    """Guards the writing of an output file; Usage if it cannot be written, or is one that the command reads.

    Those are the files of all modules imported, the program's among them, and the arrays of ``--args``.
    """
    try:
        taken = _read_as(options, os.stat(path))
    except OSError:  # there is nothing that could be lost
        taken = None
    if taken is not None:
        raise Usage(f"{path} is not written: it would take the place of {taken}, which this command reads")
    try:
        yield
    except OSError as error:
        raise Usage(f"{path} cannot be written: {error.strerror}") from None


def _read_as(options: Namespace, written: os.stat_result) -> str | None:
    """The path under which the file to be written is read, if it is."""
    modules = [getattr(module, "__dict__", {}).get("__file__") for module in list(sys.modules.values())]
    for file in (*modules, *array_files(getattr(options, "args", None) or "")):
        try:
            if isinstance(file, str) and os.path.samestat(os.stat(file), written):
                return file
        except OSError:  # it is in an archive, or gone
            continue
    return None


def write_text(options: Namespace, path: str, text: str) -> None:
    """Writes a file and the folders above it."""
    with writing(options, path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        whole_files.write_text(path, text if text.endswith("\n") else text + "\n")


def write_with_arrays(options: Namespace, path: str, text: Any) -> list[str]:
    """Writes IR or a derivative's source, and beside it the arrays that it names; returns the paths."""
    with writing(options, path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        text.save(path)
    return [path, *([whole_files.beside(path)] if whole_files.has_arrays(path) else [])]


def write_report(options: Namespace, path: str, artifact: Any, timing: Any = None) -> None:
    """Writes the report about what was compiled."""
    with writing(options, path):
        artifact.to_html(path, timing)
