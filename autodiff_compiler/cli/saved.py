"""IR in a file, beside it an .npz with what the text has only the names of: large constants and states."""

from __future__ import annotations

import os
import re
from typing import Any

from .command import Usage, no_file

__all__ = ["read_program", "read_text", "write_report", "write_text", "write_values"]

_HEAD = re.compile(r"// stage (\w+) of (.+)")


def write_text(path: str, text: str) -> None:
    """Writes a file and the folders above it."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text if text.endswith("\n") else text + "\n")
    except OSError as error:
        raise _unwritten(path, error) from None


def write_values(path: str, text: Any) -> str | None:
    """Writes what the IR saved at this path has names of; returns the path of that, or None if there is nothing."""
    import numpy as np

    from ..inspection.irtext import IRText

    if not isinstance(text, IRText):
        return None
    found = {f"constant/{name}": x for name, x in text.constants.items()}
    found |= {f"state/{name}": x for name, x in text.states.items()}
    if not found:
        return None
    beside = _beside(path)
    try:
        np.savez(beside, **found)
    except OSError as error:
        raise _unwritten(beside, error) from None
    return beside


def write_report(path: str, artifact: Any, timing: Any = None) -> None:
    """Writes the report about what was compiled."""
    try:
        artifact.to_html(path, timing)
    except OSError as error:
        raise _unwritten(path, error) from None


def read_text(path: str) -> Any:
    """The IR in a file, with its constants if they stand beside it; Usage for what is no IR."""
    from ..errors import CompileError
    from ..inspection.irtext import Bindings, IRText
    from ..inspection.runnable import parse_ir
    from ..ir.core import Module
    from ..ir.parser import ParseError

    text, constants = _text(path), _values(path)["constant"]
    try:
        parse_ir(text, constants=constants)
    except ParseError as error:
        raise Usage(f"{path} is no IR: {str(error).partition(chr(10))[0]}") from None
    except CompileError:  # types that do not fit: it says where
        raise
    except (KeyError, ValueError, TypeError) as error:
        raise Usage(f"{_beside(path)} does not belong to {path}: {error.args[0]}") from None
    return IRText(text, text.stage, text.of, Bindings(Module(constants=constants), {}))


def _text(path: str) -> Any:
    """The text of a file, with the stage and the call that its first line names."""
    from ..inspection.irtext import IRText

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


def read_program(path: str) -> Any:
    """The program in a file of IR, with its constants and states if they stand beside it."""
    from ..inspection.runnable import parse_ir

    text, values = _text(path), _values(path)
    return parse_ir(text, constants=values["constant"], states=values["state"])


def _values(path: str) -> dict[str, dict[str, Any]]:
    """The constants and states beside a file of IR, by their names."""
    from ..inspection.saved_values import read_values

    values: dict[str, dict[str, Any]] = {"constant": {}, "state": {}}
    if os.path.isfile(_beside(path)):
        for key, array in read_values(_beside(path)).items():
            kind, _, name = key.partition("/")
            values[kind][name] = array
    return values


def _beside(path: str) -> str:
    return os.path.splitext(path)[0] + ".npz"


def _unwritten(path: str, error: OSError) -> Usage:
    return Usage(f"{path} cannot be written: {error.strerror}")
