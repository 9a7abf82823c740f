"""The choice of the call path, by the environment and the self-tests of layouts."""

from __future__ import annotations

from collections.abc import Callable

from ....environment import choice
from . import abi, objects
from .dicts import dicts_are_known
from .instances import attributes_are_known, slots_are_known
from .machine_path import MachinePath
from .memory_guards import fields_are_known, lists_are_known, locks_are_known
from .plain import PlainPath
from .protocol import CallPath
from .vectorcall import vectorcall_is_known

__all__ = ["call_path", "unknown_layouts", "why_plain"]

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
