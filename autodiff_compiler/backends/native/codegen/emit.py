"""Writes LLVM functions as text: registers, common subexpressions, structured loops and branches.

`loop` and `branch` take functions that write their bodies, and make the phis from what these return.  Equal pure
instructions are written once per scope (`let`): a register is only found in the block that made it and in blocks
inside, so its definition dominates each use.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from .... import escape
from ....ir.sizes import Dim, Size, Symbol, size_of
from .size_code import SizeCode


class Reg(NamedTuple):
    """A register or constant as LLVM writes it, with its type."""

    text: str
    type: str

    def __str__(self) -> str:
        return f"{self.type} {self.text}"


#: An i64: a register, a number known now, or a size that the call knows.
Int: TypeAlias = Reg | Size
#: What writes an arm of a branch, and gives its results.
Arm: TypeAlias = Callable[[], Sequence[Reg]]


def vector(type: str, width: int) -> str:
    """The type of `width` lanes; of one lane it is the type itself."""
    return type if width == 1 else f"<{width} x {type}>"


def of_lane(type: str) -> str:
    """The type of one lane of a vector."""
    return type[1:-1].partition(" x ")[2] if type.startswith("<") else type


def i64(number: int) -> Reg:
    return Reg(str(number), "i64")


def known(register: Reg) -> Int:
    """The number, if the register is a constant."""
    return int(register.text) if register.text.lstrip("-").isdigit() else register


def pointer(text: str) -> Reg:
    return Reg(text, "ptr")


def float_text(number: float) -> str:
    """A float or double constant: LLVM writes both as the bits of a double."""
    return f"0x{bits_of(number):016X}"


def bits_of(number: float) -> int:
    return int.from_bytes(struct.pack(">d", number), "big")


#: Branch weights for a test that hardly ever holds: spills go to that arm.
RARE = ', !prof !{!"branch_weights", i32 1, i32 4000}'
#: The label of the block for an early return.
LEAVE = "leave"


class Text:
    """One LLVM function while it is written."""

    def __init__(
        self, name: str, params: Sequence[tuple[str, str]], result: str = "void", attributes: str = ""
    ) -> None:
        """`params`: type (with attributes) and name of each parameter."""
        self.name, self.attributes = name, attributes
        self.head = f"define {result} @{name}({', '.join(f'{t} %{n}' for t, n in params)}) {attributes}{{"
        self.lines: list[str] = ["entry:"]
        #: declarations of the functions that are called
        self.declares: set[str] = set()
        #: definitions of functions and globals that are used, by name; a module has each of them once
        self.needs: dict[str, str] = {}
        #: whether the stack is aligned for vectors: else a spilled one may straddle two cache lines, and its reload
        #: waits for the store
        self.aligned = False
        #: whether elementary functions are called instead of inlined
        self.maths_out_of_line = False
        #: whether the function has an early return
        self.leaves = False
        #: comments in front of the function
        self.about: list[str] = []
        #: the symbols of sizes that it computes with: its last parameters
        self.symbols: dict[Symbol, None] = {}
        #: where these sizes are computed, at the begin of the function
        self.prologue: list[str] = []
        self._written_early: dict[str, str] = {}
        self._sizes = SizeCode(self._early, self._symbol, self.declares)
        self._count = 0
        self._known: list[dict[tuple[str, str], Reg]] = [{}]
        self._block = "entry"

    # ------------------------------------------------------------------------------------------- lines
    @classmethod
    def kernel(cls, number: int, types: Sequence[str]) -> Text:
        """An internal function that the driver calls; its parameters are p0, p1, ..."""
        made = cls(f"k{number}", [(type, f"p{i}") for i, type in enumerate(types)], "void", "noinline ")
        made.head = made.head.replace("define ", "define internal ", 1)
        return made

    def fresh(self, hint: str = "v") -> str:
        self._count += 1
        return f"%{hint}{self._count}"

    def note(self, comment: str) -> None:
        """A comment line: which op the following code is for."""
        self.lines.append(f"  ; {escape.line(comment)}")

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text}")

    def let(self, type: str, rhs: str) -> Reg:
        """The result of a pure instruction; an equal one that is visible here is used again."""
        key = (type, rhs)
        for scope in reversed(self._known):
            if key in scope:
                return scope[key]
        made = self.make(type, rhs)
        self._known[-1][key] = made
        return made

    def make(self, type: str, rhs: str) -> Reg:
        """The result of an instruction that is written even if there is an equal one: it reads memory, or calls."""
        name = self.fresh()
        self.lines.append(f"  {name} = {rhs}")
        return Reg(name, type)

    def call(self, result: str, name: str, *args: Reg, pure: bool = True) -> Reg:
        """A call of an external function, with its declaration."""
        self.declares.add(f"declare {result} @{name}({', '.join(a.type for a in args)})")
        rhs = f"call {result} @{name}({', '.join(map(str, args))})"
        if result == "void":
            self.do(rhs)
            return Reg("", "void")
        return self.let(result, rhs) if pure else self.make(result, rhs)

    def copy(self, to: Reg, source: Reg, nbytes: Int) -> None:
        """A `memcpy`: the bytes must not overlap."""
        self.call("void", "llvm.memcpy.p0.p0.i64", to, source, self.whole(nbytes), Reg("false", "i1"))

    def shuffled(self, x: Reg, y: Reg, lanes: Sequence[int]) -> Reg:
        """A `shufflevector`: lanes of two vectors, those of `y` numbered behind those of `x`."""
        places = ", ".join(f"i32 {lane}" for lane in lanes)
        of = vector(of_lane(x.type), len(lanes))
        return self.let(of, f"shufflevector {x}, {y}, <{len(lanes)} x i32> <{places}>")

    def intrinsic(self, name: str, *args: Reg) -> Reg:
        """A pure intrinsic over operands of one type, which is the result's."""
        type = args[0].type
        return self.call(type, f"llvm.{name}.{mangled(type)}", *args)

    # ------------------------------------------------------------------------------------------- sizes and places
    def whole(self, x: Int) -> Reg:
        return x if isinstance(x, Reg) else i64(x) if isinstance(x, int) else self.size(x)

    def sizes_for(self, called: Text) -> list[Reg]:
        """The last arguments of a call of a function: the values of the symbols that it computes with."""
        return [self.whole(size_of(s)) for s in called.symbols]

    def size(self, size: Dim) -> Reg:
        """A register with a size, which is computed at the begin of the function."""
        return Reg(self._sizes.of(size), "i64")

    def _early(self, rhs: str) -> str:
        """The result of an instruction at the begin of the function; each is written once."""
        name = self._written_early.get(rhs)
        if name is None:
            name = self._written_early[rhs] = self.fresh("size")
            self.prologue.append(f"  {name} = {rhs}")
        return name

    def _symbol(self, symbol: Symbol) -> str:
        self.symbols[symbol] = None
        return size_register(symbol).text

    def add(self, a: Int, b: Int) -> Int:
        if not (isinstance(a, Reg) or isinstance(b, Reg)):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self.let("i64", f"add i64 {self.whole(a).text}, {self.whole(b).text}")

    def sub(self, a: Int, b: Int) -> Int:
        if not (isinstance(a, Reg) or isinstance(b, Reg)):
            return a - b
        return a if b == 0 else self.let("i64", f"sub i64 {self.whole(a).text}, {self.whole(b).text}")

    def mul(self, a: Int, b: Int) -> Int:
        if not (isinstance(a, Reg) or isinstance(b, Reg)):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1 or b == 1:
            return b if a == 1 else a
        return self.let("i64", f"mul i64 {self.whole(a).text}, {self.whole(b).text}")

    def left(self, start: Int, stop: Int, most: Int) -> Reg:
        """How many there are from `start` to before `stop`, at most so many."""
        return self.call("i64", "llvm.smin.i64", self.whole(most), self.whole(self.sub(stop, start)))

    def at(self, base: Reg, offset: Int) -> Reg:
        """The pointer `offset` bytes behind `base`."""
        return (
            base
            if offset == 0
            else self.let("ptr", f"getelementptr i8, ptr {base.text}, i64 {self.whole(offset).text}")
        )

    def along(self, base: Reg, i: Int, step: Int) -> Reg:
        """The pointer `i` steps of so many bytes behind `base`."""
        return self.at(base, self.mul(i, step))

    def load(self, type: str, place: Reg, align: int) -> Reg:
        return self.make(type, f"load {type}, ptr {place.text}, align {align}")

    def store(self, value: Reg, place: Reg, align: int) -> None:
        self.do(f"store {value}, ptr {place.text}, align {align}")

    def store_nontemporal(self, value: Reg, place: Reg, align: int) -> None:
        self.needs["nontemporal"] = "!9001 = !{i32 1}"
        self.do(f"store {value}, ptr {place.text}, align {align}, !nontemporal !9001")

    # ------------------------------------------------------------------------------------------- structure
    def enter(self, label: str) -> None:
        """Begins a basic block."""
        self.lines.append(f"{label}:")
        self._block = label

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")

    def loop(
        self,
        start: Int,
        stop: Int,
        step: Int,
        carried: Sequence[Reg],
        body: Callable[[Int, list[Reg]], Sequence[Reg]],
        *,
        runs: bool = False,
    ) -> list[Reg]:
        """``for i in range(start, stop, step)`` with loop-carried values; returns them as they are at the end.

        `body` writes a trip and returns the next values.  `runs`: there is at least one trip.
        """
        if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
            trips = len(range(start, stop, step))
            if trips == 0:
                return list(carried)
            if trips == 1:
                return list(body(start, list(carried)))
            runs = True
        down = isinstance(step, int) and step < 0
        head, done = self.fresh("loop")[1:], self.fresh("done")[1:]
        before = self._block
        if not runs:
            some = self.let(
                "i1", f"icmp {'sgt' if down else 'slt'} i64 {self.whole(start).text}, {self.whole(stop).text}"
            )
            self.do(f"br i1 {some.text}, label %{head}, label %{done}")
        else:
            self.jump(head)
        self.enter(head)
        i = Reg(self.fresh("i"), "i64")
        names = [Reg(self.fresh("c"), x.type) for x in carried]
        where = len(self.lines)
        self._known.append({})
        results = body(i, names)
        following = self.make("i64", f"add i64 {i.text}, {self.whole(step).text}")
        again = self.make("i1", f"icmp {'sgt' if down else 'slt'} i64 {following.text}, {self.whole(stop).text}")
        last = self._block
        self.do(f"br i1 {again.text}, label %{head}, label %{done}")
        self._known.pop()
        phis = [f"  {i.text} = phi i64 [{self.whole(start).text}, %{before}], [{following.text}, %{last}]"]
        for name, first, result in zip(names, carried, results, strict=True):
            phis.append(f"  {name.text} = phi {name.type} [{first.text}, %{before}], [{result.text}, %{last}]")
        self.lines[where:where] = phis
        self.enter(done)
        if runs:
            return list(results)
        outs = []
        for first, result in zip(carried, results, strict=True):
            rhs = f"phi {first.type} [{first.text}, %{before}], [{result.text}, %{last}]"
            outs.append(self.make(first.type, rhs))
        return outs

    def repeated(self, start: Int, stop: Int, step: Int, body: Callable[[Int], None]) -> None:
        """``for i in range(start, stop, step)``"""

        def trip(i: Int, _: list[Reg]) -> list[Reg]:
            body(i)
            return []

        self.loop(start, stop, step, [], trip)

    def repeat(
        self, carried: Sequence[Reg], test: Callable[[list[Reg]], Reg], body: Callable[[list[Reg]], Sequence[Reg]]
    ) -> list[Reg]:
        """``while test: body`` with loop-carried values; returns them as they are at the end."""
        head, inside, done = (self.fresh(x)[1:] for x in ("while", "trip", "done"))
        before = self._block
        self.jump(head)
        self.enter(head)
        names = [Reg(self.fresh("c"), x.type) for x in carried]
        where = len(self.lines)
        self._known.append({})
        holds = test(names)
        self.do(f"br i1 {holds.text}, label %{inside}, label %{done}")
        self._known.append({})
        self.enter(inside)
        results = body(names)
        last = self._block
        self.jump(head)
        self._known.pop()
        # The test dominates what follows: what it computed stays visible.
        tested = self._known.pop()
        self._known[-1].update(tested)
        self.lines[where:where] = [
            f"  {n.text} = phi {n.type} [{x.text}, %{before}], [{r.text}, %{last}]"
            for n, x, r in zip(names, carried, results, strict=True)
        ]
        self.enter(done)
        return names

    def branch(self, test: Reg, then: Arm, otherwise: Arm = lambda: (), *, rare: bool = False) -> list[Reg]:
        """``if test``; returns the phis of what the arms return.  `rare`: the test hardly ever holds."""
        labels = [self.fresh(x)[1:] for x in ("then", "else", "end")]
        self.do(f"br i1 {test.text}, label %{labels[0]}, label %{labels[1]}{RARE if rare else ''}")
        ends, values = [], []
        for label, arm in zip(labels, (then, otherwise), strict=False):
            self.enter(label)
            self._known.append({})
            values.append(list(arm()))
            self._known.pop()
            ends.append(self._block)
            self.jump(labels[2])
        self.enter(labels[2])
        return [
            self.make(a.type, f"phi {a.type} [{a.text}, %{ends[0]}], [{b.text}, %{ends[1]}]")
            for a, b in zip(*values, strict=True)
        ]

    def leave_if(self, test: Reg) -> None:
        """``if test:`` jumps to `LEAVE`, a block that whoever ends the function must write."""
        self.leaves, on = True, self.fresh("on")[1:]
        self.do(f"br i1 {test.text}, label %{LEAVE}, label %{on}")
        self.enter(on)

    def ret(self, value: str = "void") -> None:
        self.do(f"ret {value}")

    @property
    def code(self) -> tuple[object, ...]:
        """What it does, whatever its name: equal for functions that may stand for one another."""
        lines = [line for line in self.lines if not line.startswith("  ;")]
        return self.head.replace(f"@{self.name}(", "@("), self.aligned, tuple(self.symbols), *self.prologue, *lines

    def module(self) -> str:
        """A module of this function alone."""
        return "\n".join([*sorted(self.declares), *self.needs.values(), str(self)]) + "\n"

    def __str__(self) -> str:
        head = self.head
        if self.symbols:
            params, _, rest = head.rpartition(")")
            sizes = ", ".join(str(size_register(s)) for s in self.symbols)
            head = f"{params}{'' if params.endswith('(') else ', '}{sizes}){rest}"
        if self.aligned:
            head = f"{head.removesuffix('{')}alignstack(64) {{"
        about = [f"; {escape.line(f'{self.name} {said}')}" for said in self.about]
        return "\n".join([*about, head, self.lines[0], *self.prologue, *self.lines[1:], "}"])


def size_register(symbol: Symbol) -> Reg:
    """The parameter with the value of a symbol."""
    return Reg(f"%size_{escape.word(symbol.name)}", "i64")


def mangled(type: str) -> str:
    """A type as it is written in the names of intrinsics."""
    short = {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16", "ptr": "p0"}
    if type.startswith("<"):
        width, _, of = type[1:-1].partition(" x ")
        return f"v{width}{short.get(of, of)}"
    return short.get(type, type)
