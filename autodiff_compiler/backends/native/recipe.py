"""Recipes: all of a program but its object code, as data for the disk cache, and the cache keys of modules."""

from __future__ import annotations

import base64
import binascii
import ctypes
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ... import config
from ...data_forms import OneOf, is_key, is_size
from ...dtypes import BY_NAME
from ...ir.core import Module
from ...ir.size_text import parse
from ...ir.sizes import Dim, Size, symbol, usual
from ...ir.text import print_module
from ...ir.types import Shape, TensorType, Type
from ...locks import importing
from ...version import __version__
from .callpath.choose import call_path
from .callpath.signature import Argument, Result, Signature
from .codegen.emitter import Context
from .jit.engine import Loaded, load_cached
from .jit.machine import machine, versions
from .lower import Lowering
from .memory.sequences import descriptor_type

#: The form of `Recipe.data`, which is checked when it is read.
FORM = {
    "code": is_key,
    "sizes": [(str, is_size, OneOf(None, is_size))],
    "arguments": [(str, [OneOf(is_size, str)])],
    "results": [(str, [OneOf(is_size, str)], OneOf(None, is_size))],
    "numbers": (OneOf(is_size, str), bool, bool),
    "context": [str],
    "constants": [(str, [is_size], str)],
}
#: The symbol in object code that holds the digest of its recipe.
_MADE_WITH = "made_with"

#: Programs that touch so many bytes release the interpreter's lock.
_LONG = 1 << 18
#: The most bytes of constants in a recipe on disk.
_CONSTANTS = 1 << 20
_PACKAGE = os.path.dirname(os.path.abspath(config.__file__))
#: Variables of this package about caches and logs, which do not change programs.
_OF_KEPT = ("AC_CACHE", "AC_CACHE_DIR", "AC_CACHE_SIZE", "AC_LOG", "AC_POOL_SIZE")


@dataclass
class Recipe:
    """How a program is called, and the objects of this process that its code needs.

    `hosts`: the Python functions that it calls.  `sequences`: the types of its arguments and results, if they are not
    all arrays.
    """

    signature: Signature
    context: Context
    constants: list[Any]
    hosts: list[Any]
    sequences: tuple[list[Type], list[Type]] | None = None

    @classmethod
    def of(cls, low: Lowering) -> Recipe:
        """The recipe of a lowered module."""
        entry = low.module.entry
        arguments = tuple(_argument(x.type) for x in entry.args)
        kinds = [_argument(x.type) for x in low.outs]
        results = tuple(Result(a.dtype, a.shape, low.versions.next_of.get(i)) for i, a in enumerate(kinds))
        python = bool(low.hosts) or low.polls
        touched = usual(low.frame_bytes) + sum(usual(a.nbytes) for a in (*arguments, *results))
        # Other threads must not see a half-written state.  Poisoned memory is checked with the lock held.
        alone = not low.hosts and not low.versions.next_of and not low.poisoned
        signature = Signature(
            arguments,
            results,
            low.frame_bytes,
            calls_python=python,
            resumes=low.polls or any(host.returns for host in low.hosts),
            release_gil=alone and touched >= _LONG,
            poison=low.poisoned,
        )
        types = [x.type for x in entry.args], [x.type for x in entry.outs]
        plain = all(isinstance(t, TensorType) for side in types for t in side)
        constants = [np.ascontiguousarray(array) for array in low.constants]
        return cls(signature, low.context, constants, low.hosts, None if plain else types)

    @property
    def text(self) -> str:
        """An LLVM constant with the digest of the recipe, so that object code and recipe can be matched."""
        written = "".join(f"\\{byte:02x}" for byte in _digest([self._facts(), _kinds(self.constants)]))
        return f'@{_MADE_WITH} = constant [32 x i8] c"{written}"\n'

    def _facts(self) -> dict[str, Any]:
        """What the code relies on, as JSON."""
        s = self.signature
        return {
            "sizes": [
                [x.name, x.low, None if x.high is None else _shape_data([x.high])[0]] for x in s.shapes.definitions
            ],
            "arguments": [[a.dtype.name, _shape_data(a.shape)] for a in s.arguments],
            "results": [[r.dtype.name, _shape_data(r.shape), r.argument] for r in s.results],
            "numbers": [*_shape_data([s.frame_bytes]), s.calls_python, s.release_gil],
            "context": self.context.names,
        }

    def data(self, loaded: Loaded) -> dict[str, Any] | None:
        """The recipe and the key of its object code as JSON; None if it holds what cannot lie on disk."""
        s = self.signature
        large = sum(array.nbytes for array in self.constants) > _CONSTANTS
        if s.poison or self.hosts or self.sequences is not None:
            return None
        if any(isinstance(symbol.high, Dim) for symbol in s.shapes.definitions):
            return None
        if large or any(x.dtype.hasobject for x in self.constants):
            return None
        return {"code": loaded.key, **self._facts(), "constants": [_array_data(x) for x in self.constants]}

    @classmethod
    def restored(cls, data: dict[str, Any]) -> tuple[Recipe, Loaded] | None:
        """The recipe of `data` (of this `FORM`) with its code; None if that is gone or belongs to another recipe."""
        context = Context(data["context"])
        loaded = load_cached(data["code"], context_size=len(context))
        constants = [_array(x) for x in data["constants"]]
        facts = {name: data[name] for name in ("sizes", "arguments", "results", "numbers", "context")}
        if loaded is None or not loaded.has(_MADE_WITH) or any(x is None for x in constants):
            return None
        if ctypes.string_at(loaded.address(_MADE_WITH), 32) != _digest([facts, _kinds(constants)]):
            return None
        frame_bytes, calls_python, release_gil = data["numbers"]
        symbols = {name: symbol(name, low, high) for name, low, high in data["sizes"]}

        def shape_of(sizes: Sequence[int | str]) -> Shape:
            return tuple([d if isinstance(d, int) else parse(d, symbols.__getitem__)[0] for d in sizes])

        signature = Signature(
            tuple(Argument(BY_NAME[name], shape_of(shape)) for name, shape in data["arguments"]),
            tuple(Result(BY_NAME[name], shape_of(shape), argument) for name, shape, argument in data["results"]),
            shape_of([frame_bytes])[0],
            calls_python=calls_python,
            resumes=calls_python,  # without hosts only looks for signals call Python
            release_gil=release_gil,
        )
        return cls(signature, context, constants, []), loaded


def _argument(type: Type) -> Argument:
    described = descriptor_type(type)
    return Argument(described.dtype, described.shape)


def _shape_data(sizes: Sequence[Size]) -> list[int | str]:
    """A shape as JSON: sizes that only a call knows are texts; the digest vouches that they can be read again."""
    return [size if isinstance(size, int) else str(size) for size in sizes]


def _array_data(x: Any) -> list[Any]:
    return [x.dtype.name, x.shape, base64.b64encode(x.tobytes()).decode()]


def _array(data: list[Any]) -> Any:
    """The array of an `_array_data`; None if that is malformed."""
    name, shape, content = data
    try:
        dtype = BY_NAME[name].numpy if name in BY_NAME else np.dtype(name)
        found = np.frombuffer(base64.b64decode(content, validate=True), dtype).reshape(shape)
    except (TypeError, ValueError, binascii.Error):
        return None
    return found.copy()


def _kinds(arrays: list[Any]) -> list[Any]:
    return [[x.dtype.name, list(x.shape)] for x in arrays]


def _digest(data: Any) -> bytes:
    return hashlib.sha256(json.dumps(data).encode()).digest()


# ------------------------------------------------------------------------------------------------ keys
def module_key(module: Module, *more: Any) -> str | None:
    """The cache key of a module's program; None where that depends on more than text, constants and surroundings.

    `more`: other parts of the key, as values whose `repr` is stable.
    """
    around = surroundings()
    if around is None or module.callables:
        return None
    try:
        text = print_module(module, places=False)
    except ValueError:  # an attribute that is no literal
        return None
    digest = hashlib.sha256(repr((around, module.optimize, module.backend, more)).encode())
    digest.update(text.encode())
    for name, constant in module.constants.items():
        array = np.asarray(constant)
        if array.dtype.hasobject:
            return None
        digest.update(repr((name, array.dtype.name, array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def surroundings() -> tuple[Any, ...] | None:
    """The parts of a key that are the process's: versions, our sources, machine, call path, environment.

    None where the sources of this package are missing or newer than the imported ones.
    """
    sources = _sources()
    if sources is None:
        return None
    variables = {k: v for k, v in os.environ.items() if k.startswith("AC_") and k not in _OF_KEPT}
    return __version__, sources, _versions(), machine(), call_path().name, sorted(variables.items())


@cache
def _versions() -> tuple[Any, ...]:
    flags = tuple(sys.flags), sys.implementation.cache_tag
    with importing:  # `platform` imports what it asks for the name of the processor
        return sys.version, flags, platform.platform(), np.__version__, versions()


@cache
def _sources() -> str | None:
    """A digest of the files of this package; None where one was changed after the import."""
    digest, count = hashlib.sha256(), 0
    try:
        for path in _files(_PACKAGE):
            with open(path, "rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_mtime >= config.IMPORTED:
                    return None
                content = file.readall()
            digest.update(repr((path[len(_PACKAGE) :], len(content))).encode())
            digest.update(content)
            count += 1
    except OSError:
        return None
    return digest.hexdigest() if count else None  # none: they lie in an archive


def _files(folder: str) -> Iterator[str]:
    for at, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(at, name) for name in sorted(names) if name.endswith(".py"))
