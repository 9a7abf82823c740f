"""The call path in machine code, which reads objects by their layouts, and the choice between it and the plain one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....environment import choice
from ..codegen.emitter import Context
from . import abi, memory_guards, objects, vectorcall
from .dicts import dicts_are_known
from .entry import MachineEntry, MachineGuardedEntry, guarded_signature
from .instances import attributes_are_known, slots_are_known
from .memory_guards import fields_are_known, lists_are_known, locks_are_known
from .plain import PlainPath
from .protocol import BoundProgram, CallPath, Entry, GuardedEntry
from .signature import Signature
from .vectorcall import vectorcall_is_known


class MachinePath(CallPath):
    """Machine code checks calls, compares guard tables, and makes the results."""

    name = "machine code"

    def entry(self, signature: Signature, context: Context) -> Entry:
        return MachineEntry(signature, context)

    def refusal(self, bound: BoundProgram) -> str:
        found = guarded_signature(bound)
        return found if isinstance(found, str) else ""

    def guarded(self, bound: BoundProgram, constants: Mapping[str, Any], kept: object) -> GuardedEntry | None:
        found = guarded_signature(bound)
        return None if isinstance(found, str) else MachineGuardedEntry(bound, found, constants, kept)

    install_vectorcall = staticmethod(vectorcall.install_vectorcall)
    place_read = staticmethod(memory_guards.place_read)
    names_absent = staticmethod(memory_guards.names_absent)
    method = staticmethod(memory_guards.method)
    absence = staticmethod(memory_guards.absence)
    array = staticmethod(memory_guards.array)
    element_places = staticmethod(memory_guards.element_places)
    unlocked_words = staticmethod(memory_guards.unlocked_words)


_MACHINE, _PLAIN = MachinePath(), PlainPath()
#: Optional layouts and their self-tests: without one some guards are Python predicates, or `__call__` begins in Python.
_OPTIONAL: dict[str, Callable[[], bool]] = {
    "dicts": dicts_are_known,
    "attributes of objects": attributes_are_known,
    "slots": slots_are_known,
    "lists": lists_are_known,
    "fields of functions, classes and cells": fields_are_known,
    "locks": locks_are_known,
    "vectorcall of functions": vectorcall_is_known,
}


def call_path() -> CallPath:
    """The call path for programs that are made now."""
    return _MACHINE if why_plain() is None else _PLAIN


def why_plain() -> str | None:
    """Why the call path is the plain one; None if it is machine code."""
    if choice("AC_CALLPATH") == "plain":
        return "AC_CALLPATH=plain"
    return abi.why_not() or objects.why_not()


def unknown_layouts() -> list[str]:
    """The optional layouts whose self-tests failed."""
    return [name for name, known in _OPTIONAL.items() if not known()]
