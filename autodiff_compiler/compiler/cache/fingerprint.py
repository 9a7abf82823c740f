"""Stable fingerprints of Python objects: texts that agree across processes only if the objects mean the same.

An object without one raises `NoFingerprintError`: better one compilation too many than code for something else.
"""

from __future__ import annotations

import builtins
import hashlib
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...dtypes import DType
from ...frontend.guards.objects import is_ours, module_name
from ...frontend.syntax.source_tree import lines_of


class NoFingerprintError(Exception):
    """No text says all that compiled code may know of this object."""


#: Pure builtins.
_BUILTINS = {
    "abs", "all", "any", "callable", "divmod", "getattr", "hasattr", "isinstance", "issubclass", "len", "max", "min",
    "pow", "round", "sorted", "sum",
}  # fmt: skip
_TYPES = {bool, dict, enumerate, filter, float, int, list, map, range, reversed, slice, str, tuple, zip}
#: Parts of this package whose functions are pure.
_OURS = {"mint", "numpy", "ops", "transforms"}
_PACKAGE = __name__.partition(".")[0]
#: Modules, besides those of this package, whose names compiled code may read.
_MODULES = {"math", "numpy"}


class Fingerprinter:
    """Fingerprints objects one after the other; an object that came before is its number, so aliases show.

    `functions`: users' Python functions that it has met, by their numbers; the namespaces that it has met are known,
    too, with how they are found (`place`).
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # whose ids are in the dicts
        self._sources: dict[int, str] = {}
        self.functions: dict[int, types.FunctionType] = {}
        self._spaces: dict[int, tuple[str, Any]] = {id(vars(builtins)): ("builtins", 0)}

    def text(self, x: Any) -> str:
        """The fingerprint of an object."""
        kind = type(x)
        if x is None or kind in (bool, int, str, bytes):
            return f"{kind.__name__} {x!r}"
        if kind is float:
            return f"float {x.hex()}{math.copysign(1.0, x)}"
        if kind is DType:
            return f"dtype {x.name}"
        if id(x) in self._numbers:
            return f"#{self._numbers[id(x)]}"
        self._numbers[id(x)] = len(self._kept)
        self._kept.append(x)
        if kind in (tuple, list):
            return f"{kind.__name__}({', '.join(map(self.text, x))})"
        if kind is dict:
            return f"dict({', '.join(f'{self.text(k)}: {self.text(v)}' for k, v in x.items())})"
        return self._object(x)

    def _object(self, x: Any) -> str:
        kind: Any = type(x)
        if kind is types.ModuleType:
            return self._module(x)
        if kind is types.FunctionType:
            return self._own_function(x) if is_ours(x) else self._function(x)
        if kind is types.BuiltinFunctionType:
            name = str(getattr(x, "__name__", ""))
            if vars(math).get(name) is x or (name in _BUILTINS and vars(builtins).get(name) is x):
                return f"builtin {name}"
        elif isinstance(x, type):
            if x in _TYPES or (issubclass(x, np.generic) and getattr(np, x.__name__, None) is x):
                return f"type {x.__module__}.{x.__name__}"
        elif (parts := kind.__dict__.get("__compiled_from__")) and is_ours(kind):
            return f"{kind.__qualname__}({', '.join(self.text(getattr(x, name)) for name in parts)})"
        raise NoFingerprintError(kind.__name__)

    def _module(self, x: types.ModuleType) -> str:
        name = module_name(x)
        if sys.modules.get(name) is not x or not (name in _MODULES or name.partition(".")[0] == _PACKAGE):
            raise NoFingerprintError(name)
        self._spaces[id(vars(x))] = "module", name
        return f"module {name}"

    def _own_function(self, fn: types.FunctionType) -> str:
        """A function of this package; the key covers the source of the whole package."""
        module = fn.__module__ or ""
        if module.split(".")[1:2] == [] or module.split(".")[1] not in _OURS:
            raise NoFingerprintError(f"{module}.{fn.__qualname__}")
        found: Any = sys.modules.get(module)
        for name in fn.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is fn:
            return f"ours {module}.{fn.__qualname__}"
        inner = [self.text(cell.cell_contents) for cell in fn.__closure__ or ()]
        return f"ours {module}.{fn.__qualname__} {_digest(fn.__code__)} {inner} {self._defaults(fn)}"

    def _function(self, fn: types.FunctionType) -> str:
        """A function of the user's: its bytecode, its source, its defaults and attributes."""
        number = self._numbers[id(fn)]
        self.functions[number] = fn
        self._spaces.setdefault(id(fn.__globals__), ("globals", number))
        own = {k: v for k, v in fn.__dict__.items() if not is_ours(type(v))}  # what this package remembers about it
        more = self.text(own) if own else ""
        source = self._source(fn)
        return f"function {fn.__module__}.{fn.__qualname__} {_digest(fn.__code__)} {source} {self._defaults(fn)} {more}"

    def _defaults(self, fn: types.FunctionType) -> str:
        return f"{self.text(fn.__defaults__)} {self.text(fn.__kwdefaults__)}"

    def _source(self, fn: types.FunctionType) -> str:
        lines = lines_of(fn)
        if not lines:
            raise NoFingerprintError(fn.__qualname__)
        found = self._sources.get(id(lines))
        if found is None:
            found = self._sources[id(lines)] = hashlib.sha256("".join(lines).encode()).hexdigest()
            self._kept.append(lines)
        return found

    # ------------------------------------------------------------------------------------------- namespaces
    def place(self, space: Any) -> tuple[str, Any]:
        """Where a namespace (a dict of names) is found."""
        found = self._spaces.get(id(space))
        if found is None:
            raise NoFingerprintError("an unknown namespace")
        return found

    def space(self, place: tuple[str, Any]) -> Any:
        """The namespace at a place that `place` gave."""
        kind, which = place
        if kind == "builtins":
            return vars(builtins)
        if kind == "globals":
            return self.functions[which].__globals__
        return vars(sys.modules[which])

    def number(self, x: Any) -> int:
        """The number of a function of the user's that it has met."""
        found = self._numbers.get(id(x))
        if found is None or found not in self.functions:
            raise NoFingerprintError("a function")
        return found


def _digest(code: types.CodeType) -> str:
    digest = hashlib.sha256()
    _add(code, digest.update)
    return digest.hexdigest()


def _add(code: types.CodeType, update: Callable[[bytes], object]) -> None:
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_firstlineno
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    update(repr((code.co_filename, code.co_qualname, counts, names)).encode())
    update(code.co_code)
    update(code.co_exceptiontable)
    update(code.co_linetable)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _add(constant, update)
        elif isinstance(constant, frozenset):  # in an order that differs from process to process
            update(repr(sorted(map(repr, constant))).encode())
        else:
            update(repr(constant).encode())
