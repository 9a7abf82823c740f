"""Level 1 of the disk cache: finds a program before tracing, by a fingerprint of everything that tracing read.

A record's key is what is known before: the function (its code and its source), the types and static values of the
arguments, the options, the settings.  The record lists what the frontend read beyond that, in the form in which guards
ask for it: names of globals, closures, modules, functions that were inlined.  A call finds a record, compares the
`fingerprint` of each value listed, makes guards of them, and takes the program.  Everything else (objects with
attributes, Cells, Parameters, captured Tensors, host functions, arrays) has no record here: level 2 (`programs`) finds
its program after the frontend.

Other threads may change a value meanwhile.  So each is fingerprinted twice, before and after the moment at which a
guard sees it, and a record counts only if the two agree: that is the value the guard saw.
"""

from __future__ import annotations

import hashlib
import json
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import BuiltinMethodType, ModuleType
from typing import Any

import numpy as np

from ...backends.native.jit.cache import keep_record, record, why_off
from ...backends.native.recipe import surroundings
from ...config import context
from ...data_forms import OneOf, fits, is_key, is_size
from ...frontend.guards.contents import Content, content_of
from ...frontend.guards.guards import FunctionGuard, Guard, LookupGuard
from ...frontend.guards.objects import type_of
from ...frontend.lower import Lowered, Options, Out, TensorArgument
from ...ir.core import Module
from ...runtime.hooks import any_outside
from ...runtime.tensor import Tensor, wrap
from ...source import Loc
from .fingerprint import Fingerprinter, NoFingerprintError
from .query import ProgramQuery

#: Records under one key: of the same function, with other things read.
_RECORDS = 4


class Recalled(Lowered):
    """A function that another process lowered: its module is lowered again only where somebody asks for it."""

    def __init__(self, result: Any, guards: list[Any], again: Callable[[], Lowered], program: ProgramQuery) -> None:
        self.guards, self.result, self._again = guards, result, again
        self.captures, self.states, self.writes, self.pattern = [], {}, [], None
        self.hooks, self.attributes, self.sites, self.after_host = {}, [], {}, []
        self.containers, self.standing = [], []
        #: the query that finds its program
        self.program = program

    def __getattr__(self, name: str) -> Any:
        if name not in ("module", "reasons", "argument_types"):
            raise AttributeError(name)
        found = self._again()
        self.module, self.reasons, self.argument_types = found.module, found.reasons, found.argument_types
        return getattr(self, name)

    def module_again(self) -> Module:
        """The module."""
        return self.module


@dataclass
class IndexedCall:
    """A call about to be compiled, with the key of its records."""

    key: str
    fn: Any
    args: tuple[Any, ...]
    options: Options
    name: str
    #: the fingerprint of the function that is part of the key
    function: str

    def find(self, lower: Callable[..., Lowered]) -> Recalled | None:
        """The function as it was lowered before, if all that was read then is the same now."""
        kinds = [(x.dtype.name, x.shape) for x in self.args if type(x) is Tensor]
        for found in self._records():
            result = _result(found["result"])
            count = len({x.index for x in _outs(result)})
            if found["arguments"] != len(kinds) or any(x.index >= count for x in _outs(result)):
                continue
            try:
                guards = _guards_of(found["read"], self._fingerprinter())
                again = _guards_of(found["read"], self._fingerprinter())
            except (NoFingerprintError, KeyError, IndexError, ValueError, AttributeError, RuntimeError):
                continue
            if guards is not None and again is not None:
                return Recalled(result, guards, self._again(lower), ProgramQuery(found["program"], kinds, count))
        return None

    def _records(self) -> list[dict[str, Any]]:
        """The records under the key."""
        form = {"read": [_is_read], "result": _is_result, "program": is_key, "arguments": is_size}
        found: list[dict[str, Any]] | None = record(self.key, [form])
        return found or []

    def _again(self, lower: Callable[..., Lowered]) -> Callable[[], Lowered]:
        """Lowers it again, with Tensors of the same types: those of the call must not be kept alive."""
        specs = [_stand_in(x) for x in self.args]
        fn, options, name = self.fn, self.options, self.name
        return lambda: lower(fn, specs, {}, options, name)

    def store(self, lowered: Lowered, program: str) -> None:
        """Stores a record of what was lowered, if a record can say all of it; `program`: the key of the program."""
        nothing = (lowered.captures, lowered.states, lowered.writes, lowered.hooks, lowered.sites)
        changed = lowered.attributes or lowered.standing
        if lowered.told or lowered.pattern is not None or lowered.module.callables or changed or any(nothing):
            return
        try:
            read = _read(lowered, self._fingerprinter())
            # Fingerprints are of the values of now, not of those of the compilation.
            if not all(g.holds() for g in lowered.guards) or _read(lowered, self._fingerprinter()) != read:
                return
            new = {"read": read, "result": _result_data(lowered.result), "program": program}
        except (NoFingerprintError, KeyError, ValueError, RuntimeError):  # something is gone, or changes right now
            return
        new["arguments"] = len(lowered.argument_types)
        others = [one for one in self._records() if one["read"] != read]
        keep_record(self.key, [new, *others[: _RECORDS - 1]])

    def _fingerprinter(self) -> Fingerprinter:
        made = Fingerprinter()
        if made.text(self.fn) != self.function:
            raise NoFingerprintError("a function that changes right now")
        return made


def indexed_call(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, name: str
) -> IndexedCall | None:
    """A call with its key; None if it has none."""
    around = surroundings() if not kwargs and why_off() is None else None
    if around is None:
        return None
    try:
        fingerprinter = Fingerprinter()
        function = fingerprinter.text(fn)
        text = [function, *(_argument(x, fingerprinter) for x in args)]
    except (NoFingerprintError, ValueError, RuntimeError):
        return None
    key = repr((around, "call", context.settings(), options, name, text))
    return IndexedCall(hashlib.sha256(key.encode()).hexdigest(), fn, args, options, name, function)


def _argument(x: Any, fingerprinter: Fingerprinter) -> str:
    if type(x) is Tensor:
        return f"Tensor {x.dtype.name} {x.shape}"
    if x is None or type(x) in (bool, int, float, str):
        return fingerprinter.text(x)
    raise NoFingerprintError(type(x).__name__)


def _stand_in(x: Any) -> Any:
    if type(x) is not Tensor:
        return x
    return TensorArgument(type_of(x), wrap(np.broadcast_to(np.zeros((), x._data.dtype), x.shape)))


# ------------------------------------------------------------------------------------------------ the reads
def _read(lowered: Lowered, fingerprinter: Fingerprinter) -> list[Any]:
    """The reads that guards watch, in their order, as JSON: where each is found, its fingerprint, the guard's words."""
    found: list[Any] = []
    lookups: list[Any] = []
    compiled = set()
    for guard in lowered.guards:
        if type(guard) is LookupGuard:
            lookups = list(zip(guard.entries, guard.spaces, guard.names, strict=True))
        elif type(guard) is FunctionGuard:
            compiled.add(fingerprinter.number(guard.fn))
            found.append(["function", fingerprinter.number(guard.fn), guard.loc])
        elif type(guard) is Guard:
            found.append([*_place(guard, fingerprinter), guard.what, guard.loc])
        else:
            raise NoFingerprintError("a guard")
    for (get, name, value), space, label in lookups:
        if space is None:
            raise NoFingerprintError("a class")
        if get is type:
            found.append(["module", fingerprinter.place(space)])
        elif value is True:
            found.append(["absent", fingerprinter.place(space), sorted(name), label[0]])
        else:
            found.append(
                ["found", fingerprinter.place(space), name, fingerprinter.text(value), label.removesuffix(name)]
            )
    if not fingerprinter.functions.keys() <= compiled:
        raise NoFingerprintError("a function that was called while compiling")
    return list(json.loads(json.dumps(found)))


def _is_read(data: Any) -> bool:
    """Whether data is an entry of `_read`."""
    place = (str, OneOf(is_size, str))
    guard: tuple[Any, ...] = (str, str, _is_loc)  # the fingerprint, and the guard's words
    forms = (
        ("function", is_size, _is_loc),
        ("module", place),
        ("absent", place, [str], str),
        ("found", place, str, str, str),
        ("no hooks", None, None, None, *guard[1:]),
        ("name", place, str, *guard),
        ("cell", is_size, is_size, *guard),
    )
    return fits(data, OneOf(*forms))


def _is_loc(data: Any) -> bool:
    """Whether data is a place, with those that called it."""
    own = (str, is_size, is_size, is_size, is_size, str, _is_loc, str)
    return data is None or (type(data) is list and fits(data[: len(own)], own))


def _place(guard: Guard, fingerprinter: Fingerprinter) -> list[Any]:
    if guard.fetch is any_outside:
        return ["no hooks", None, None, None]
    if guard.watched or guard.quick is None:
        raise NoFingerprintError(guard.what)
    get: Any = guard.quick[0]
    key = guard.quick[1]
    value = get(key)
    if not isinstance(guard.expected, Content) and value is not guard.expected:
        raise NoFingerprintError(guard.what)
    if type(key) is str and type(get) is BuiltinMethodType and get.__name__ == "__getitem__":
        return ["name", fingerprinter.place(get.__self__), key, fingerprinter.text(value)]
    if isinstance(get, operator.attrgetter) and repr(get) == repr(_contents):
        for number, fn in fingerprinter.functions.items():
            for i, cell in enumerate(fn.__closure__ or ()):
                if cell is key:
                    return ["cell", number, i, fingerprinter.text(value)]
    raise NoFingerprintError(guard.what)


_contents = operator.attrgetter("cell_contents")


def _guards_of(read: Sequence[Any], fingerprinter: Fingerprinter) -> list[Any] | None:
    """The guards of the reads, if every value has the fingerprint that it had."""
    guards: list[Any] = []
    lookups = LookupGuard()
    for kind, where, *rest in read:
        if kind == "function":
            guards.append(FunctionGuard(fingerprinter.functions[where], _loc(rest[0])))
        elif kind == "no hooks":
            if any_outside():
                return None
            guards.append(Guard(rest[2], any_outside, False, True, _loc(rest[3])))
        elif kind == "module":
            space: Any = fingerprinter.space(where)
            module = sys.modules[space["__name__"]]
            if type(module) is not ModuleType or vars(module) is not space:
                return None
            lookups.kind(module, space)
        elif kind == "absent":
            space = fingerprinter.space(where)
            if not space.keys().isdisjoint(rest[0]):
                return None
            for name in rest[0]:
                lookups.absence(space, name, rest[1])
        else:
            name, text, *more = rest
            space = fingerprinter.functions[where].__closure__ if kind == "cell" else fingerprinter.space(where)
            value = space[name].cell_contents if kind == "cell" else space[name]
            if fingerprinter.text(value) != text:
                return None
            if kind == "found":
                lookups.name(space, name, *more)
            else:
                quick = (_contents, space[name]) if kind == "cell" else (space.__getitem__, name)
                guards.append(_guard(quick, value, *more))
    return [lookups, *guards] if lookups.entries else guards


def _guard(quick: tuple[Callable[[Any], Any], Any], value: Any, what: str, loc: Any) -> Guard:
    get, key = quick
    return Guard(what, lambda: get(key), content_of(value), False, _loc(loc), quick)


def _loc(data: Any) -> Loc | None:
    if data is None:
        return None
    file, line, col, end_line, end_col, function, caller, tag, *_ = data
    return Loc(file, line, col, end_line, end_col, function, _loc(caller), tag)


# ------------------------------------------------------------------------------------------------ results
_NUMBERS = {"int": int, "float": float, "bool": bool}


def _result_data(template: Any) -> Any:
    if type(template) is Out:
        if template.kind is not None and template.kind.__name__ not in _NUMBERS:
            raise NoFingerprintError("a result")
        return ["out", template.index, None if template.kind is None else template.kind.__name__]
    if type(template) is tuple:
        return ["tuple", *map(_result_data, template)]
    if template is None:
        return ["none"]
    raise NoFingerprintError("a result")


def _is_result(data: Any) -> bool:
    """Whether data is what `_result_data` gives."""
    if type(data) is list and data[:1] == ["tuple"]:
        return all(map(_is_result, data[1:]))
    return fits(data, OneOf(("out", is_size, OneOf(None, *_NUMBERS)), ("none",)))


def _outs(template: Any) -> Iterator[Out]:
    if type(template) is Out:
        yield template
    for part in template if type(template) is tuple else ():
        yield from _outs(part)


def _result(data: Any) -> Any:
    kind, *rest = data
    if kind == "out":
        return Out(rest[0], None if rest[1] is None else _NUMBERS[rest[1]])
    return tuple(map(_result, rest)) if kind == "tuple" else None
