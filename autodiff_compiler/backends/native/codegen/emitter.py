"""The LLVM text of a program while it is written: its functions, what they call, and what of this process they read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ....ir.core import Module
from ....ir.walk import ops_of
from ....source import Loc
from ..jit.machine import Machine
from .arithmetic import Kernels
from .context import Context
from .emit import Reg, Text, i64
from .maths.out_of_line import many

__all__ = ["Emitter"]


class Emitter:
    """The driver of a module's entry and the functions that it calls, as LLVM text."""

    def __init__(self, module: Module, machine: Machine) -> None:
        self.module, self.machine = module, machine
        #: the driver
        self.text = Text("main", [], "i32")
        self.one = Kernels(self.text, 1)
        #: whether elementary functions are called, and not written in place
        self.sparing = many(op for function in module for op in ops_of(function.body))
        #: the functions of fused loops and other kernels
        self.kernels: list[Text] = []
        #: ops run by Python: what is called, with which pointers
        self.hosts: list[Any] = []
        #: arrays of the module that the code reads
        self.constants: list[Any] = []
        #: how ops are run, by name
        self.ways: dict[str, str] = {}
        #: which walks were written, if somebody listens
        self.told: list[str] = []
        self.context = Context()
        #: the user's line whose ops are being written
        self.loc: Loc | None = module.entry.loc
        #: estimated nanoseconds until the next look at signals, and whether there are any
        self.fuel = i64(10_000_000)
        self.polls = False

    def constant(self, array: Any) -> Reg:
        """The place of an array that the module keeps."""
        self.constants.append(array)
        slot = self.context.place(f"constant {len(self.constants) - 1}")
        return self.text.let("ptr", f"load ptr, ptr {slot}, align 8")

    def module_text(self, more: Sequence[str], declares: Iterable[str]) -> str:
        """All functions, `more` ones, and declarations of what they call."""
        texts = [*self.kernels, self.text]
        declared = set(declares).union(*(t.declares for t in texts))
        needed: dict[str, str] = {}
        for t in texts:
            needed.update(t.needs)
        return "\n\n".join([*needed.values(), *map(str, texts), *more, "\n".join(sorted(declared))]) + "\n"
