"""The first level of what is kept on disk: a call finds its program by what was read when that was compiled.

A note is kept under what is known before anything is traced: the function (its code and its source), the types and
static values of the arguments, the options, the settings.  The note lists all that the frontend read beyond that, in
the form in which guards would ask for it: names of globals, closures, modules, functions that were inlined.  A call
finds a note, looks whether all of that is there and described by the same text (`described`), makes guards of what it
looked at, and takes the program.  Whatever is of another kind (objects with attributes, Cells, Parameters, captured
Tensors, host functions, arrays) is not kept here; the second level (`kept`) finds its program after the frontend.

Other threads may change what is read meanwhile.  So everything is described twice, before and after the moment at which
guards see it, and a note is kept or taken only if both give the same text: that is what the guards saw.
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

from ...config import context
from ...data_forms import OneOf, fits, is_key, is_size
from ...frontend.guards import Content, FunctionGuard, Guard, LookupGuard, content_of
from ...frontend.lower import Lowered, Options, Out, TensorArgument
from ...ir.core import Module
from ...runtime.hooks import any_outside
from ...runtime.tensor import Tensor, wrap
from ...source import Loc
from .fingerprint import Describer, UndescribedError
from .programs import Expected, possible

__all__ = ["Call", "Recalled", "call_of"]

#: Notes under one name: of the same function, with other things read.
_NOTES = 4


class Recalled(Lowered):
    """A function that was lowered in another process: its module is made again where somebody asks for it."""

    def __init__(self, result: Any, guards: list[Any], again: Callable[[], Lowered], program: Expected) -> None:
        self.guards, self.result, self._again = guards, result, again
        self.captures, self.states, self.writes, self.pattern = [], {}, [], None
        self.hooks, self.attributes, self.sites, self.after_host = {}, [], {}, []
        self.containers, self.standing = [], []
        #: what is known of its program
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
class Call:
    """A call that is about to be compiled, and the name of the notes about it."""

    key: str
    fn: Any
    args: tuple[Any, ...]
    options: Options
    name: str
    #: the function as it was described for the key
    function: str

    def recalled(self, lower: Callable[..., Lowered]) -> Recalled | None:
        """The function as it was lowered before, if all that was read then is the same now."""
        kinds = [(x.dtype.name, x.shape) for x in self.args if type(x) is Tensor]
        for note in self._notes():
            result = _result(note["result"])
            count = len({x.index for x in _outs(result)})
            if note["arguments"] != len(kinds) or any(x.index >= count for x in _outs(result)):
                continue
            try:
                guards = _guards_of(note["read"], self._describer())
                again = _guards_of(note["read"], self._describer())
            except (UndescribedError, KeyError, IndexError, ValueError, AttributeError, RuntimeError):
                continue
            if guards is not None and again is not None:
                return Recalled(result, guards, self._again(lower), Expected(note["program"], kinds, count))
        return None

    def _notes(self) -> list[dict[str, Any]]:
        """What was kept about calls like this one."""
        from ...backends.native.cache import record

        form = {"read": [_is_read], "result": _is_result, "program": is_key, "arguments": is_size}
        found: list[dict[str, Any]] | None = record(self.key, [form])
        return found or []

    def _again(self, lower: Callable[..., Lowered]) -> Callable[[], Lowered]:
        """How it is lowered again; Tensors of these types stand for those of the call, which must not be kept."""
        specs = [_stand_in(x) for x in self.args]
        fn, options, name = self.fn, self.options, self.name
        return lambda: lower(fn, specs, {}, options, name)

    def keep(self, lowered: Lowered, program: str) -> None:
        """Keeps a note about what was lowered, if that says all; `program`: its name among the programs kept."""
        from ...backends.native.cache import keep_record

        nothing = (lowered.captures, lowered.states, lowered.writes, lowered.hooks, lowered.sites)
        changed = lowered.attributes or lowered.standing
        if lowered.told or lowered.pattern is not None or lowered.module.callables or changed or any(nothing):
            return
        try:
            read = _read(lowered, self._describer())
            # What is described is as it is now, and not as it was when it was compiled.
            if not all(g.holds() for g in lowered.guards) or _read(lowered, self._describer()) != read:
                return
            note = {"read": read, "result": _result_data(lowered.result), "program": program}
        except (UndescribedError, KeyError, ValueError, RuntimeError):  # something is gone, or changes right now
            return
        note["arguments"] = len(lowered.argument_types)
        others = [n for n in self._notes() if n["read"] != read]
        keep_record(self.key, [note, *others[: _NOTES - 1]])

    def _describer(self) -> Describer:
        describer = Describer()
        if describer.text(self.fn) != self.function:
            raise UndescribedError("a function that changes right now")
        return describer


def call_of(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, name: str) -> Call | None:
    """A call as something that notes can be about; None if they cannot."""
    if kwargs or not possible(options.backend):
        return None
    from ...backends.native.recipe import surroundings

    around = surroundings()
    if around is None:
        return None
    try:
        describer = Describer()
        function = describer.text(fn)
        text = [function, *(_argument(x, describer) for x in args)]
    except (UndescribedError, ValueError, RuntimeError):
        return None
    key = repr((around, "call", context.settings(), options, name, text))
    return Call(hashlib.sha256(key.encode()).hexdigest(), fn, args, options, name, function)


def _argument(x: Any, describer: Describer) -> str:
    if type(x) is Tensor:
        return f"Tensor {x.dtype.name} {x.shape}"
    if x is None or type(x) in (bool, int, float, str):
        return describer.text(x)
    raise UndescribedError(type(x).__name__)


def _stand_in(x: Any) -> Any:
    if type(x) is not Tensor:
        return x
    from ...frontend.outside import type_of

    return TensorArgument(type_of(x), wrap(np.broadcast_to(np.zeros((), x._data.dtype), x.shape)))


# ------------------------------------------------------------------------------------------------ what was read
def _read(lowered: Lowered, describer: Describer) -> list[Any]:
    """What guards ask for, in their order, as JSON has it: how it is found, what it is, and what the guard says."""
    found: list[Any] = []
    lookups: list[Any] = []
    compiled = set()
    for guard in lowered.guards:
        if type(guard) is LookupGuard:
            lookups = list(zip(guard.entries, guard.spaces, guard.names, strict=True))
        elif type(guard) is FunctionGuard:
            compiled.add(describer.number(guard.fn))
            found.append(["function", describer.number(guard.fn), guard.loc])
        elif type(guard) is Guard:
            found.append([*_place(guard, describer), guard.what, guard.loc])
        else:
            raise UndescribedError("a guard")
    for (get, name, value), space, label in lookups:
        if space is None:
            raise UndescribedError("a class")
        if get is type:
            found.append(["module", describer.place(space)])
        elif value is True:
            found.append(["absent", describer.place(space), sorted(name), label[0]])
        else:
            found.append(["found", describer.place(space), name, describer.text(value), label.removesuffix(name)])
    if not describer.functions.keys() <= compiled:
        raise UndescribedError("a function that was called while compiling")
    return list(json.loads(json.dumps(found)))


def _is_read(data: Any) -> bool:
    """Whether data is an entry of `_read`."""
    place = (str, OneOf(is_size, str))
    guard: tuple[Any, ...] = (str, str, _is_loc)  # what the value is, and what the guard says
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


def _place(guard: Guard, describer: Describer) -> list[Any]:
    if guard.fetch is any_outside:
        return ["no hooks", None, None, None]
    if guard.watched or guard.quick is None:
        raise UndescribedError(guard.what)
    get: Any = guard.quick[0]
    key = guard.quick[1]
    value = get(key)
    if not isinstance(guard.expected, Content) and value is not guard.expected:
        raise UndescribedError(guard.what)
    if type(key) is str and type(get) is BuiltinMethodType and get.__name__ == "__getitem__":
        return ["name", describer.place(get.__self__), key, describer.text(value)]
    if isinstance(get, operator.attrgetter) and repr(get) == repr(_contents):
        for number, fn in describer.functions.items():
            for i, cell in enumerate(fn.__closure__ or ()):
                if cell is key:
                    return ["cell", number, i, describer.text(value)]
    raise UndescribedError(guard.what)


_contents = operator.attrgetter("cell_contents")


def _guards_of(read: Sequence[Any], describer: Describer) -> list[Any] | None:
    """The guards of what was read, if all of that is what it was."""
    guards: list[Any] = []
    lookups = LookupGuard()
    for kind, where, *rest in read:
        if kind == "function":
            guards.append(FunctionGuard(describer.functions[where], _loc(rest[0])))
        elif kind == "no hooks":
            if any_outside():
                return None
            guards.append(Guard(rest[2], any_outside, False, True, _loc(rest[3])))
        elif kind == "module":
            space: Any = describer.space(where)
            module = sys.modules[space["__name__"]]
            if type(module) is not ModuleType or vars(module) is not space:
                return None
            lookups.kind(module, space)
        elif kind == "absent":
            space = describer.space(where)
            if not space.keys().isdisjoint(rest[0]):
                return None
            for name in rest[0]:
                lookups.absence(space, name, rest[1])
        else:
            name, text, *more = rest
            space = describer.functions[where].__closure__ if kind == "cell" else describer.space(where)
            value = space[name].cell_contents if kind == "cell" else space[name]
            if describer.text(value) != text:
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
            raise UndescribedError("a result")
        return ["out", template.index, None if template.kind is None else template.kind.__name__]
    if type(template) is tuple:
        return ["tuple", *map(_result_data, template)]
    if template is None:
        return ["none"]
    raise UndescribedError("a result")


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
