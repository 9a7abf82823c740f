"""Names of values: one value, one name, in the dumps of all stages.

A name is a hint for printing, and passes hand it on.  The hints are made unique once in a function, and every later
dump shows these: `%h`, `%h_1`, `%h_2` for the versions of the user's `h`, a fixed number for a value without a name.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import escape
from .core import Block, Function, Module, Op, Value
from .types import Seq, scan_types


class Namer:
    """Gives out the names of one function: a value's hint where it is free, else one with a number behind it.

    Of two values that want one name, the first gets it.  Fresh numbers begin behind all that are spoken for.
    """

    __slots__ = ("_copies", "_taken", "between", "next")

    def __init__(self, spoken_for: Iterable[Value] = (), between: str = "_", first: int = 0) -> None:
        self._taken: set[str | int] = set()
        self._copies: dict[str, int] = {}
        #: the next fresh number
        self.next = max([x.number + 1 for x in spoken_for if x.number is not None], default=0)
        self.next = max(self.next, first)
        self.between = between

    def name(self, hint: str) -> str:
        """A name that nothing has yet."""
        first = name = hint if hint.isidentifier() and hint.isascii() else escape.name(hint)
        if name in self._taken:
            k = self._copies.get(first, 0)
            while name in self._taken:
                k += 1
                name = f"{first}{self.between}{k}"
            self._copies[first] = k
        self._taken.add(name)
        return name

    def number(self, wanted: int | None) -> int:
        """The number wanted, or a fresh one."""
        if wanted is None or wanted in self._taken:
            wanted = self.next
            self.next += 1
        self._taken.add(wanted)
        return wanted


def name_values(module: Module, between: str = "_") -> Module:
    """Gives every value of a module a name or a number that no other one of its function has; returns the module.

    They are those that its text shows already.  `between` stands before the number that tells apart values which want
    one name: copies that the compiler made should not look like the versions of a user's variable.
    """
    numbered = module.numbered
    for function in module:
        values = definitions(function)
        namer = Namer(values, between, numbered)
        for x in values:
            if x.name:
                x.name = namer.name(x.name)
            else:
                x.number = namer.number(x.number)
        module.numbered = max(module.numbered, namer.next)
    return module


def definitions(function: Function) -> list[Value]:
    """The values of a function in the order in which its text defines them."""
    found = list(function.args)
    _inside(function.body, found)
    return found


def _inside(block: Block, found: list[Value]) -> None:
    for op in block.ops:
        found += op.results
        if op.blocks:
            _of_blocks(op, found)


def _of_blocks(op: Op, found: list[Value]) -> None:
    carries = carries_of(op)
    if carries is None:
        for block in op.blocks:
            found += block.args
            _inside(block, found)
        return
    body = op.blocks[-1]
    if op.defn.name == "while":  # its condition knows the carries by the names that the body has for them
        found += body.args
        _inside(op.blocks[0], found)
    else:
        found += body.args[1:]
        found.append(body.args[0])
    _inside(body, found)


def carries_of(op: Op) -> int | None:
    """How many carries a well-formed loop has; None for another op, or one that needs the general form."""
    types = [x.type for x in op.operands]
    if op.defn.name == "while":
        carries, expected = len(types), [types, types]
    elif op.defn.name == "scan" and types and op.attrs and type(op.attrs[0]) is int and 0 <= op.attrs[0] < len(types):
        carries = op.attrs[0]
        if not all(isinstance(t, Seq) for t in types[1 + carries :]):
            return None
        expected = [scan_types(types, carries)]
    else:
        return None
    return carries if [[x.type for x in b.args] for b in op.blocks] == expected else None
