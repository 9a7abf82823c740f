"""The writer of LLVM functions that CPython calls: lines, blocks, guards, and calls of CPython and NumPy."""

from __future__ import annotations

from .... import escape
from ....ir.sizes import Size, Symbol
from ..codegen.emitter import Context
from ..codegen.size_code import LARGEST, SizeCode, estimate, most_without_overflow
from . import abi
from .objects import tensor_slots
from .signature import Signature

#: The metadata of branch weights for branches that are rarely taken.
RARE = "!9000"
#: More elements than an array has along an axis, unless it has none along another one.
_MOST_ELEMENTS = 1 << 48


class EntryWriter:
    """Writes the function of one signature line by line."""

    def __init__(self, signature: Signature, context: Context) -> None:
        self.signature, self.context = signature, context
        self.layout = abi.layout()
        self.lines: list[str] = []
        self.constants: list[str] = []
        self.declares: set[str] = set()
        self._count = 0
        #: the value of each symbol, once the arguments are checked
        self.symbols: dict[Symbol, str] = {}
        self.sizes = SizeCode(self.let, self.symbols.__getitem__, self.declares)
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
        """A stack slot."""
        name = f"%{self.fresh('stack')}"
        self.lines.insert(1, f"  {name} = alloca {type}")  # in the first block: one of the frame, at no cost
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
        """Takes a reference."""
        self.call("void", "Py_IncRef", ("ptr", thing))
        return thing

    def block(self, label: str) -> None:
        self.do(f"{label}:")

    def require(self, test: str, otherwise: str) -> None:
        """Branches to `otherwise` where the test does not hold."""
        on = self.fresh("on")
        self.do(f"  br i1 {self.let(f'xor i1 {test}, true')}, label %{otherwise}, label %{on}, !prof {RARE}")
        self.block(on)

    def guard(self, test: str) -> None:
        """Takes the slow path where the test does not hold."""
        self.require(test, "slow")

    def is_(self, a: str, b: str) -> str:
        return self.let(f"icmp eq ptr {a}, {b}")

    def estimated(self, size: Size) -> str:
        """A size as a double: its number of 64 bits may have overflowed."""
        values = {symbol: self.let(f"sitofp i64 {value} to double") for symbol, value in self.symbols.items()}
        return estimate(size, self.let, values)

    def at_most_largest(self, size: Size) -> str:
        """A size, or the largest number of 64 bits where these do not hold it: NumPy makes no array of that."""
        if most_without_overflow([size]) >= _MOST_ELEMENTS:
            return self.sizes.of(size)
        fits = self.let(f"fcmp olt double {self.estimated(size)}, {float(1 << 62)}")
        return self.let(f"select i1 {fits}, i64 {self.sizes.of(size)}, i64 {LARGEST}")
