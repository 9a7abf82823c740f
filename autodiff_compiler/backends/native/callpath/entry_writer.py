"""LLVM text of a function that CPython calls: its lines, its blocks, and calls of CPython and NumPy."""

from __future__ import annotations

from .... import escape
from ..codegen.context import Context
from . import abi
from .objects import tensor_slots
from .signature import Signature

__all__ = ["RARE", "EntryWriter"]

#: What is unusual is rare: for the order of blocks.
RARE = "!9000"


class EntryWriter:
    """Writes the function of one signature line by line."""

    def __init__(self, signature: Signature, context: Context) -> None:
        self.signature, self.context = signature, context
        self.layout = abi.layout()
        self.lines: list[str] = []
        self.constants: list[str] = []
        self.declares: set[str] = set()
        self._count = 0
        if signature.tensors:
            self.slots = tensor_slots()

    def do(self, line: str) -> None:
        self.lines.append(line)

    def note(self, text: str) -> None:
        """A comment above what follows."""
        self.do(f"  ; {escape.line(text)}")

    def fresh(self, hint: str = "v") -> str:
        self._count += 1
        return f"{hint}.{self._count}"

    def let(self, rhs: str) -> str:
        name = f"%{self.fresh()}"
        self.do(f"  {name} = {rhs}")
        return name

    def on_stack(self, type: str) -> str:
        """A place for one thing, as long as the function runs."""
        name = f"%{self.fresh('stack')}"
        self.lines.insert(1, f"  {name} = alloca {type}")  # where the function begins: there it costs nothing
        return name

    def at(self, base: str, offset: int) -> str:
        return self.let(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base

    def load(self, type: str, place: str) -> str:
        return self.let(f"load {type}, ptr {place}")

    def known(self, name: str) -> str:
        """A pointer of the context."""
        return self.load("ptr", self.context.place(name))

    def call(self, result: str, name: str, *args: tuple[str, str]) -> str:
        """A call of a function of CPython or NumPy; "" where it has no result."""
        self.declares.add(f"declare {result} @{name}({', '.join(type for type, _ in args)})")
        rhs = f"call {result} @{name}({', '.join(map(' '.join, args))})"
        if result != "void":
            return self.let(rhs)
        self.do(f"  {rhs}")
        return ""

    def keep(self, thing: str) -> str:
        """One reference more."""
        self.call("void", "Py_IncRef", ("ptr", thing))
        return thing

    def block(self, label: str) -> None:
        self.do(f"{label}:")

    def good(self, test: str, otherwise: str) -> None:
        """What follows runs where the test holds."""
        on = self.fresh("on")
        self.do(f"  br i1 {self.let(f'xor i1 {test}, true')}, label %{otherwise}, label %{on}, !prof {RARE}")
        self.block(on)

    def usual(self, test: str) -> None:
        """What follows runs where the test holds; else Python takes the call."""
        self.good(test, "slow")

    def is_(self, a: str, b: str) -> str:
        return self.let(f"icmp eq ptr {a}, {b}")
