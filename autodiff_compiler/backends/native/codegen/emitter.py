"""The LLVM text of a program while it is written: its functions, and the objects of this process that they use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from ....ir.core import Module
from ....ir.walk import ops_of
from ....source import Loc
from ..jit.machine import Machine
from .arithmetic import Kernels
from .emit import Reg, Text, i64
from .maths import many


class Context:
    """The layout of a module's `@context`: pointers, by names that mean the same in every process.

    The entry fills in the names that it needs itself; `pointers` asks for the others.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._places = {name: i for i, name in enumerate(names)}

    @property
    def names(self) -> list[str]:
        """The names, in the order of their pointers."""
        return list(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def place(self, name: str) -> str:
        """The LLVM expression for the address of that name's pointer; a new name is appended.

        >>> context = Context(["none"]); context.place("ndarray"), context.names
        ('getelementptr (i8, ptr @context, i64 8)', ['none', 'ndarray'])
        """
        return f"getelementptr (i8, ptr @context, i64 {8 * self.number(name)})"

    def number(self, name: str) -> int:
        """The index of that name's pointer."""
        return self._places.setdefault(name, len(self._places))

    def pointers(self, others: Mapping[str, int], pointer: Callable[[str], int]) -> list[int]:
        """The pointers of this process: those in `others`, and what `pointer` says of the other names."""
        return [others[name] if name in others else pointer(name) for name in self._places]


class Emitter:
    """The driver of a module's entry, and the functions that it calls."""

    def __init__(self, module: Module, machine: Machine) -> None:
        self.module, self.machine = module, machine
        #: the driver
        self.text = Text("main", [], "i32")
        self.one = Kernels(self.text, 1)
        #: whether elementary functions are called instead of inlined
        self.maths_out_of_line = many(op for function in module for op in ops_of(function.body))
        #: the functions of fused loops and other kernels, and each one by its code
        self.kernels: list[Text] = []
        self._by_code: dict[tuple[object, ...], Text] = {}
        #: kernels by all that their writers went by: an equal one need not be written
        self.written_for: dict[Hashable, Text] = {}
        #: how many fused loops are inlined in the driver
        self.inlined = 0
        #: Python functions that the program calls
        self.hosts: list[Any] = []
        #: arrays of the module that the code reads
        self.constants: list[Any] = []
        #: how each op is run, by name: `NATIVE`, `FUSED` or `HOST`
        self.ways: dict[str, str] = {}
        #: which walks were written, if somebody listens
        self.told: list[str] = []
        self.context = Context()
        #: the user's line of the op that is being written
        self.loc: Loc | None = module.entry.loc
        #: estimated nanoseconds until the next look for signals, and whether the program looks for any
        self.fuel = i64(10_000_000)
        self.polls = False

    def kernel(self, text: Text) -> Text:
        """The function to call for a finished kernel: equal ones, as of equal layers, are compiled once."""
        found = self._by_code.setdefault(text.code, text)
        if found is text:
            self.kernels.append(text)
        return found

    def constant(self, array: Any) -> Reg:
        """A pointer to the data of an array, which the compiled program keeps alive."""
        self.constants.append(array)
        slot = self.context.place(f"constant {len(self.constants) - 1}")
        return self.text.let("ptr", f"load ptr, ptr {slot}, align 8")

    def shared(self, name: str, text: Text) -> Reg:
        """The address of a function that all programs share (`jit.shared`), where `text` calls it."""
        text.note(f"a function that programs share: {name}")
        return text.make("ptr", f"load ptr, ptr {self.context.place(name)}, align 8")

    def module_text(self, more: Sequence[str], declares: Iterable[str]) -> str:
        """The LLVM text of all functions, of `more`, and of their declarations."""
        texts = [*self.kernels, self.text]
        declared = set(declares).union(*(t.declares for t in texts))
        needed: dict[str, str] = {}
        for t in texts:
            needed.update(t.needs)
        return "\n\n".join([*needed.values(), *map(str, texts), *more, "\n".join(sorted(declared))]) + "\n"
