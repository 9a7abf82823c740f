"""Files of IR, each with an .npz beside it for large constants and states."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import whole_files
from ..errors import CompileError
from ..ir.core import Module
from .command import Usage, no_file
from .values import array_files

__all__ = ["read_program", "read_text", "write_report", "write_text", "write_with_arrays", "writing"]

_HEAD = re.compile(r"// stage (\w+) of (.+)")


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
    """What a file is called among those that are read, whatever the path that is to be written calls it."""
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


def read_text(path: str) -> Any:
    """The IR in a file, with its constants if they stand beside it; Usage for what is no IR."""
    from ..inspection.irtext import Bindings, IRText  # not for --help: it loads the compiler

    text, constants = _text(path), _values(path)["constant"]
    _program(path, text, constants=constants)
    return IRText(text, text.stage, text.of, Bindings(Module(constants=constants), {}))


def read_program(path: str) -> Any:
    """The program in a file of IR, with its constants and states if they stand beside it; Usage for what is no IR."""
    text, values = _text(path), _values(path)
    return _program(path, text, constants=values["constant"], states=values["state"])


def _program(path: str, text: Any, **values: Any) -> Any:
    """The program that a text is, with these values."""
    # Not for --help: they load the compiler.
    from ..inspection.irtext import parse_ir
    from ..ir.parser import ParseError

    try:
        return parse_ir(text, **values)
    except ParseError as error:
        raise Usage(f"{path} is no IR: {str(error).partition(chr(10))[0]}") from None
    except CompileError:  # types that do not fit: it says where
        raise
    except (KeyError, ValueError, TypeError) as error:
        raise Usage(f"{whole_files.beside(path)} does not belong to {path}: {error.args[0]}") from None


def _text(path: str) -> Any:
    """The text of a file, with the stage and the call that its first line names."""
    from ..inspection.irtext import IRText  # not for --help: it loads the compiler

    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError:
        raise Usage(f"{path} holds no text") from None
    except FileNotFoundError:
        raise no_file(path) from None
    except OSError as error:
        raise Usage(f"{path} cannot be read: {error.strerror}") from None
    head = _HEAD.match(text)
    return IRText(text, head[1] if head else "text", head[2] if head else path)


def _values(path: str) -> dict[str, dict[str, Any]]:
    """The constants and states beside a file of IR, by their names."""
    from ..inspection.saved_values import UNREADABLE, read_values  # not for --help: it loads zipfile

    values: dict[str, dict[str, Any]] = {"constant": {}, "state": {}}
    beside = whole_files.beside(path)
    try:
        found = read_values(beside) if os.path.isfile(beside) else {}
    except UNREADABLE:
        raise Usage(f"{beside}, which belongs to {path}, holds no arrays") from None
    for key, array in found.items():
        kind, _, name = key.partition("/")
        values.setdefault(kind, {})[name] = array
    return values
