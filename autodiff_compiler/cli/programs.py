"""Programs read from files of IR, with the constants and states in the .npz beside them.

Commands load this module when they need it: it loads the compiler.
"""

from __future__ import annotations

import os
import re
from typing import Any

from .. import whole_files
from ..errors import CompileError
from ..inspection.irtext import Bindings, IRText, parse_ir
from ..inspection.saved_values import UNREADABLE, read_values
from ..ir.core import Module
from ..ir.parser import ParseError
from .command import Usage, no_file

_HEAD = re.compile(r"// stage (\w+) of (.+)")


def read_text(path: str) -> Any:
    """The IR in a file, with its constants if they stand beside it; Usage for what is no IR."""
    text, constants = _text(path), _values(path)["constant"]
    _program(path, text, constants=constants)
    return IRText(text, text.stage, text.of, Bindings(Module(constants=constants), {}))


def read_program(path: str) -> Any:
    """The program in a file of IR, with its constants and states if they stand beside it; Usage for what is no IR."""
    text, values = _text(path), _values(path)
    return _program(path, text, constants=values["constant"], states=values["state"])


def _program(path: str, text: Any, **values: Any) -> Any:
    """The program that a text is, with these values."""
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
