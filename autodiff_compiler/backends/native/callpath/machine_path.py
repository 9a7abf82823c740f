"""The call path in machine code, which reads the objects of this process by their layouts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType
from typing import Any

from ....locks import Lock
from ....runtime.tensor import Tensor
from ..codegen.context import Context
from . import memory_guards, vectorcall
from .entry import MachineEntry
from .guarded_entry import MachineGuardedEntry, guarded_signature
from .protocol import Entry, GuardedEntry, Place, Program, Word
from .signature import Form, Signature

__all__ = ["MachinePath"]


class MachinePath:
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

    def install_vectorcall(self, function: FunctionType) -> bool:
        return vectorcall.install_vectorcall(function)

    def place_read(self, get: Callable[[Any], Any], key: Any) -> Place | None:
        return memory_guards.place_read(get, key)

    def names_absent(self, get: Callable[[Any], Any]) -> list[Word] | None:
        return memory_guards.names_absent(get)

    def method(self, owner: Any, name: str) -> list[Word] | None:
        return memory_guards.method(owner, name)

    def absence(self, owner: Any, name: str) -> list[Word] | None:
        return memory_guards.absence(owner, name)

    def array(self, owner: Any, content: bytes) -> list[Word] | None:
        return memory_guards.array(owner, content)

    def element_places(self, owner: Any) -> tuple[list[Word], list[int]] | None:
        return memory_guards.element_places(owner)

    def unlocked_words(self, locks: Sequence[Lock]) -> list[Word] | None:
        return memory_guards.unlocked_words(locks)
