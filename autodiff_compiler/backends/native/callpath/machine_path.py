"""The call path in machine code, which reads the objects of this process by their layouts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ....runtime.tensor import Tensor
from ..codegen.context import Context
from . import memory_guards, vectorcall
from .entry import MachineEntry
from .guarded_entry import MachineGuardedEntry, guarded_signature
from .protocol import CallPath, Entry, GuardedEntry, Program
from .signature import Form, Signature

__all__ = ["MachinePath"]


class MachinePath(CallPath):
    """Machine code checks calls, compares guard tables, and makes the results."""

    name = "machine code"

    def entry(self, signature: Signature, context: Context) -> Entry:
        return MachineEntry(signature, context)

    def refusal(
        self, program: Program, states: Sequence[Tensor], written: Sequence[int], arrays: Collection[int], form: Form
    ) -> str:
        found = guarded_signature(program, states, written, arrays, form)
        return found if isinstance(found, str) else ""

    def guarded(
        self,
        program: Program,
        states: Sequence[Tensor],
        written: Sequence[int],
        arrays: Collection[int],
        form: Form,
        constants: Mapping[str, Any],
        kept: object,
    ) -> GuardedEntry | None:
        found = guarded_signature(program, states, written, arrays, form)
        return None if isinstance(found, str) else MachineGuardedEntry(program, found, states, constants, kept)

    install_vectorcall = staticmethod(vectorcall.install_vectorcall)
    place_read = staticmethod(memory_guards.place_read)
    names_absent = staticmethod(memory_guards.names_absent)
    method = staticmethod(memory_guards.method)
    absence = staticmethod(memory_guards.absence)
    array = staticmethod(memory_guards.array)
    element_places = staticmethod(memory_guards.element_places)
    unlocked_words = staticmethod(memory_guards.unlocked_words)
