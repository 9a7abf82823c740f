"""Why a value is known only at run time: the way from an argument, a loop or a branch to it.

Nothing is recorded for that while compiling: the ops that made a value say it, by their operands and their places.
Only what an argument of a block stands for is noted here, as the op that will own the block does not exist yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import gast

from ...errors import CompileError
from ...ir.core import Block, Function, Op, UnknownValueError, Value
from ...source import Loc, is_users, line_of
from ..variables.arithmetic import kind_of_number
from ..variables.frames import Closure, Frame
from ..variables.structure import elements, flatten, is_static
from ..variables.values import describe, is_dynamic, is_parameter, is_tensor, is_unbound

#: How many values a chain follows at most, and how many steps of it are shown.
_FOLLOWED = 2000
_SHOWN = 7
_WIDTH = 60
_ELEMENTS = 4
#: Codes of errors that say that some value must be known.
_ABOUT_A_VALUE = ("AC1302", "AC1303", "AC1305", "AC1306")


#: How the outcome of a loop begins that the program has.
KEPT = "kept as a loop"


class Decision(NamedTuple):
    """`statement` ("for", "while" or "if") at a place: its `outcome` in words, and why.

    `because_of` is a value of run time that decided over it; why that is not known, `Reasons.why` tells.
    """

    loc: Loc
    statement: str
    outcome: str
    why: str
    because_of: Any = None

    @property
    def about(self) -> str:
        """What it is about, for the user; nothing where it is a matter of this package alone.

        Of code that a user's line calls, and did not write, only the loops that stay are told: the program has them.
        """
        if is_users(self.loc.file):
            return self.statement
        return f"{self.statement} inside a call" if self.outcome.startswith(KEPT) else ""


class Reasons:
    """The reasons of one compilation.

    `called_from` is the user's line that calls the compiled function, `boxes` and `captured` are those of the inputs,
    `captures` what the captured ones are.
    """

    def __init__(
        self, called_from: Loc | None, entry: Function, boxes: list[Any], captured: list[Value], captures: list[Any]
    ) -> None:
        self._called_from, self._entry, self._boxes = called_from, entry, boxes
        self._captured, self._captures = captured, captures
        self._loops: dict[Block, tuple[Loc | None, int]] = {}
        self._operands: dict[Block, Sequence[Value]] = {}
        #: what became of loops and branches, in the order in which they were met; of what is given up nothing stays
        self.decisions: list[Decision] = []
        #: the parameters and local variables of the outermost function, as it left them
        self.variables: dict[str, Any] = {}

    # ------------------------------------------------------------------------------------------- notes
    def loop(self, block: Block, loc: Loc | None, first: int) -> None:
        """Notes a block as the body of a kept loop, of whose arguments the first ones count the trips."""
        self._loops[block] = loc, first

    def inner(self, block: Block, operands: Sequence[Value]) -> None:
        """Notes the operands that the arguments of a block stand for."""
        self._operands[block] = operands

    def leave(self, env: dict[str, Any]) -> None:
        """Notes the names of the outermost function when it ends."""
        kept = {name: x for name, x in env.items() if "#" not in name and name != "return"}
        self.variables = {name: x for name, x in kept.items() if not (is_unbound(x) or type(x) is Closure)}

    # ------------------------------------------------------------------------------------------- answers
    def add_to(self, error: CompileError, frame: Frame, node: Any) -> None:
        """Gives an error at a node the reason why the value it is about is not known; it lets go of the value."""
        loc = frame.tree.loc(node, frame.caller)
        if loc.of_user() is not loc:
            return  # the names are ours: the user's call will be met
        parts = _names_in(frame, node)
        if error.code == "AC1410":
            self.name_operands(error, frame, [part for part, _ in parts], [x for _, x in parts])
            return
        names = {part.id: x for part, x in parts}
        if error.subject is None and error.code in _ABOUT_A_VALUE and not error.notes:
            numbers = [x for x in names.values() if kind_of_number(_dynamic_leaf(x))]
            error.subject = next(iter([*numbers, *names.values()]), None)
        self.conclude(error, names)

    def conclude(self, error: CompileError, names: dict[str, Any]) -> None:
        """Gives an error the reason why its value is not known, and takes the value from it; `names`: of the place."""
        error.explained = True
        subject, error.subject = error.subject, None
        if isinstance(error, UnknownValueError):
            error.value = None
        leaf = _dynamic_leaf(subject)
        steps = self.why(leaf)
        if steps:
            value = _value(leaf)
            called = next((n for n, x in names.items() if x is subject or _value(_dynamic_leaf(x)) is value), None)
            called = called or ((value.name or "").rpartition(" ")[2] if value is not None else None)  # of "global n"
            error.notes = (*error.notes, f"{f'`{called}`' if called else 'it'} is dynamic because: {steps}")

    def name_operands(self, error: CompileError, frame: Frame, nodes: Sequence[Any], values: Sequence[Any]) -> None:
        """Gives an error about the types of operands what the user calls them, and their types."""
        if error.code != "AC1410" or error.explained or not nodes:
            return
        places = [frame.tree.loc(node, frame.caller) for node in nodes]
        if any(loc.of_user() is not loc for loc in places):
            return  # these are names of ours: the user's call will be met
        error.explained = True
        told = [
            f"`{text_of(loc)}` is {_described(x)}"
            for loc, node, x in zip(places, nodes, values, strict=True)
            if text_of(loc) and not isinstance(node, gast.Constant) and _is_data(x)
        ]
        if told:
            error.notes = (*error.notes, ", ".join(dict.fromkeys(told)))

    @staticmethod
    def known(frame: Frame, node: Any) -> list[str]:
        """What the user's names in an expression, if there are few, stand for where Python raised an exception."""
        loc = frame.tree.loc(node, frame.caller)
        if loc.of_user() is not loc or not isinstance(node, gast.expr):
            return []
        found = {}
        for part in gast.walk(node):
            if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Load) and "#" not in part.id:
                holder = frame.holder(part.id)
                x = holder.env.get(part.id) if holder is not None else None
                if x is not None and not is_unbound(x) and not callable(x):
                    keys = ", ".join(map(repr, list(x)[:_SHOWN])) if isinstance(x, dict) else ""
                    found[part.id] = f"`{part.id}` is {f'a dict of the keys {keys}' if keys else _described(x)}"
        return [", ".join(found.values())] if 0 < len(found) <= _ELEMENTS else []

    def why(self, x: Any) -> str:
        """The steps that lead to a value, the first one first; empty for a static one."""
        leaf = _dynamic_leaf(x)
        if is_parameter(leaf):
            return f"`{leaf.name}` is a Parameter"
        value = _value(leaf)
        if value is None:
            return ""
        steps: list[str] = []
        for step in self._back(value):
            if not steps or steps[-1] != step:
                steps.append(step)
        steps.reverse()
        left_out = len(steps) - _SHOWN
        if left_out > 0:
            steps[_SHOWN // 2 : _SHOWN // 2 + left_out] = ["..."]
        return " → ".join(steps)

    def table(self) -> list[str]:
        """Parameters and variables, one a line: static with the value, or dynamic with the reason."""
        lines = []
        for name, x in self.variables.items():
            leaf = _dynamic_leaf(x)
            if leaf is None:
                lines.append(f"{name}: static, {describe(x)}")
            else:
                lines.append(f"{name}: dynamic, {describe(x)}: {self.why(leaf)}")
        return lines

    # ------------------------------------------------------------------------------------------- steps
    def _back(self, value: Value | None) -> Iterator[str]:
        """The steps from a value back to where it comes from."""
        for _ in range(_FOLLOWED):
            if value is None:
                return
            owner = value.owner
            if type(owner) is Op:
                yield _step(owner)
                value = _cause(owner)
            elif owner in self._operands and value.index < len(self._operands[owner]):
                value = self._operands[owner][value.index]
            else:
                yield from self._argument(value, owner)
                return

    def _argument(self, value: Value, block: Any) -> Iterator[str]:
        loc, first = self._loops.get(block, (None, 0))
        if block in self._loops:
            what = "the index" if value.index < first else "carried from trip to trip"
            yield f"{what} of the kept loop{_at(loc)}" if value.index < first else f"{what} by the kept loop{_at(loc)}"
        elif block is self._entry.body:
            place = next((i for i, v in enumerate(self._captured) if v is value), None)
            if place is not None:
                kind = "a Tensor" if is_tensor(self._box(value, place)) else "a number of run time"
                yield f"{self._captures[place].what} is {kind}"
            else:
                kind = "a Tensor" if is_tensor(self._boxes[value.index]) else "mutable"
                yield f"argument `{value.name}` is {kind}{_at(self._called_from)}"

    def _box(self, value: Value, place: int) -> Any:
        return self._boxes[len(self._boxes) - len(self._captured) + place]


def _names_in(frame: Frame, node: Any) -> list[tuple[Any, Any]]:
    """The local names in an expression that stand for something known at run time only, with their values."""
    found: dict[str, tuple[Any, Any]] = {}
    for part in gast.walk(node):
        if isinstance(part, gast.Name) and part.id not in found:
            holder = frame.holder(part.id)
            x = holder.env.get(part.id) if holder is not None else None
            if x is not None and _dynamic_leaf(x) is not None:
                found[part.id] = part, x
    return list(found.values())


def text_of(loc: Loc) -> str:
    """The user's text of an expression on one line, unless it is long."""
    if loc.end_line != loc.line:
        return ""
    text = line_of(loc.file, loc.line)[loc.col : loc.end_col]
    return text if len(text) <= _WIDTH else ""


def _described(x: Any) -> str:
    """A value with its article; of a short container the elements."""
    text, items = describe(x), elements(x)
    if items is not None and 0 < len(items) <= _ELEMENTS:
        text = f"{text.partition(' of ')[0]} of {', '.join(map(describe, items))}"
    return text if x is None else f"a{'n' * (text[0] in 'aeiou')} {text}"


def _is_data(x: Any) -> bool:
    """Whether something is a Tensor or a number, or holds Tensors."""
    return isinstance(x, int | float) or x is None or _dynamic_leaf(x) is not None


def _value(leaf: Any) -> Value | None:
    """The Value that a leaf is or stands for; None for a Parameter, which is read anew at every use."""
    if isinstance(leaf, Value):
        return leaf
    return leaf.value if is_dynamic(leaf) and not is_parameter(leaf) else None


def _dynamic_leaf(x: Any) -> Any:
    """The first part of a value that is known only at run time; None if there is none."""
    return next((leaf for leaf in flatten(x) if not is_static(leaf)), None)


def _cause(op: Op) -> Value | None:
    """The operand that makes the results of an op known only at run time; None where the way back ends."""
    if op.defn.name in ("while", "scan"):
        return None
    return next((x for x in op.operands if not x.made_by("const")), None)


def _step(op: Op) -> str:
    loc = op.loc.of_user() if op.loc is not None else None
    name = op.defn.name
    if name == "if":
        return f"it differs between the branches of the `if`{_at(loc)}"
    if name in ("while", "scan"):
        return f"it is a result of the kept loop{_at(loc)}"
    if name == "state_read":
        return f"`{op.attr('state')}` is a Parameter"
    code = line_of(loc.file, loc.line).strip() if loc is not None else ""
    if not code:
        return f"the result of {name}{_at(loc)}"
    return f"`{code if len(code) <= _WIDTH else code[: _WIDTH - 3] + '...'}`{_at(loc)}"


def _at(loc: Loc | None) -> str:
    """A place, if its line can be looked up; that of a program from standard input cannot."""
    return f" ({loc.short})" if loc is not None and line_of(loc.file, loc.line) else ""
