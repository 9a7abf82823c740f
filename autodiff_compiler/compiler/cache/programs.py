"""Level 2 of the disk cache: finds a program by the printed IR of the frontend, before passes and code generation.

Only what that text says completely has a key: no module with host functions, none with constants that have no bytes.
Records are JSON, read only where `backends.native.cache` vouches for the file; a damaged record counts as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from ...backends.base import Executable
from ...backends.native.backend import NativeProgram
from ...backends.native.jit.cache import keep_record, record, why_off
from ...backends.native.recipe import FORM, module_key
from ...config import context
from ...data_forms import is_size
from ...ir.core import Module
from ...ir.types import TensorType
from .query import Interface, ProgramQuery


def query(module: Module, in_place: Collection[str]) -> ProgramQuery | None:
    """The query for a frontend's module; None if it has no key, as one that calls Python's checks."""
    if module.check_nonfinite or why_off() is not None:
        return None
    types = [x.type for x in module.entry.args]
    key = module_key(module, "program", context.optimize, sorted(in_place))
    if key is None or not all(isinstance(t, TensorType) for t in types):
        return None
    tensors = [t for t in types if isinstance(t, TensorType)]
    arguments = [(t.dtype.name, tuple([d if isinstance(d, int) else str(d) for d in t.shape])) for t in tensors]
    return ProgramQuery(key, arguments, len(module.entry.outs), module.states)


def find(wanted: ProgramQuery, source: Callable[[], str]) -> tuple[Executable, Interface] | None:
    """The program stored under the key, if it matches the query; `source` makes its text."""
    form = ([str], [str], is_size, bool, bool)
    data = record(wanted.key, {"name": str, "form": form, "program": FORM})
    if data is None:
        return None
    inputs, outputs, *rest = data["form"]
    found = Interface(tuple(inputs), tuple(outputs), *rest)
    if not wanted.matches(found, data["program"]):
        return None
    program = NativeProgram.restored(data["program"], source, data["name"])
    return None if program is None else (program, found)


def store(key: str, executable: Executable, interface: Interface, name: str) -> bool:
    """Stores a program; whether it is of a kind that can lie on disk."""
    data: Any = executable.data if isinstance(executable, NativeProgram) else None
    if data is not None:
        keep_record(key, {"name": name, "form": interface, "program": data})
    return data is not None
