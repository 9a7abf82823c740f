"""Provenance of a value of the IR: its op, the user's line, and for a cotangent the primal value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..errors import did_you_mean
from ..ir.core import Block, Function, Value
from ..ir.remarks import times
from ..ir.text import FunctionPrinter
from ..source import Loc
from .compiled_call import CompiledCall
from .links import STAGES_OF_OPS, Place, chain_of, links_of, located, part_of, text_head
from .results import purposes
from .where import shown

#: The number of names given as examples for a misspelt one.
_EXAMPLES = 8
#: The order in which stages are searched.
_ORDER = ("adjoint", "opt", "plan", "front")
#: Name patterns of values that differentiation derives from another one (the group), with the relation; `d2_` is of
#: second order.  Copies have a number behind two underscores.
_MADE = (
    (r"%d\d*_(\w+?)_part\d+", "a share of the adjoint of"),
    (r"%d\d*_(\w+?)_so_far", "what is added up so far of the adjoint of"),
    (r"%d\d*_(\w+?)", "the adjoint of"),
    (r"%again_(\w+?)", "computed again"),
    (r"%saved_(\w+?)", "kept of every trip for the adjoint"),
    (r"%was_(\w+?)", "in the trip that the adjoint goes back through"),
)


@dataclass(frozen=True)
class ValueAt:
    """A value, by name, and the user's line that it comes from, with those of its callers."""

    value: str
    places: tuple[Place, ...]

    def __str__(self) -> str:
        return f"{self.value}  {_line(self.places)}".rstrip()


@dataclass(frozen=True)
class Origin:
    """Where a value comes from.

    `text`: its op, on the line `line` of the stage; `part`: which transformation made it; `places`: the user's line,
    then the lines of its callers.  Of an adjoint, or of what is computed again for one, `of` is the value of the
    function that it belongs to (`relation` says how), and `uses` are the lines where that value is used: each gives a
    share of the adjoint.  `purpose`: of a result of the program that is not only returned, which it is, and what for.
    """

    value: str
    stage: str
    line: int
    text: str
    part: str
    places: tuple[Place, ...]
    relation: str = ""
    of: ValueAt | None = None
    uses: tuple[Place, ...] = ()
    purpose: str = ""

    def __str__(self) -> str:
        rows = [f"{self.value} at stage {self.stage}, line {self.line}:", f"  {self.text}"]
        if self.purpose:
            rows += ["", self.purpose]
        if self.of is not None:
            rows += ["", f"{self.relation}:", f"  {self.of}"]
        elif self.part:
            rows += ["", f"made for the derivative: {self.part}"]
        if self.uses:
            rows += ["", "the sum of what its uses give:" if len(self.uses) > 1 else "from its use:"]
            rows += [f"  {_line((place,))}{times(n)}" for place, n in Counter(self.uses).items()]
        elif self.places:
            rows += ["", "from:", f"  {_line(self.places[:1])}"]
        rows += [f"  called at {_line((place,))}" for place in self.places[1:]]
        return "\n".join(rows) + "\n"

    __repr__ = __str__


def _line(places: tuple[Place, ...]) -> str:
    return f"{places[0]}  {places[0].text}" if places else ""


def origin(call: CompiledCall, value: str, stage: str | None = None) -> Origin:
    """The origin of the value with this name in the text of a stage.

    Without a stage it is looked for in adjoint, opt, plan and front, in this order.  ValueError if the name or the
    stage does not exist, TypeError for what is no name.
    """
    if not isinstance(value, str):
        raise TypeError(f"a value is named as '%x', not {value!r}")
    if stage is not None and stage not in STAGES_OF_OPS:
        raise ValueError(f"stage must be one of {', '.join(STAGES_OF_OPS)}, not {stage!r}")
    name = f"%{value.strip().removeprefix('%')}"
    known: dict[str, None] = {}
    for where in (stage,) if stage else _ORDER:
        for function, x, printed in _values(call, where):
            if printed == name:
                return _about(call, where, function, x, name)
            known[printed] = None
    hint = did_you_mean(name, known) or _examples(known)
    raise ValueError(f"no value is called {name}{f' at stage {stage}' if stage else ''}{f': {hint}' if hint else ''}")


def _examples(known: Iterable[str]) -> str:
    """Some of the names that there are: those of the user's variables, and of their derivatives."""
    names = [name for name in known if not name[1:].isdigit()]
    return f"there are {', '.join(names[:_EXAMPLES])}{' and others' if len(names) > _EXAMPLES else ''}" if names else ""


def _values(call: CompiledCall, stage: str) -> Iterator[tuple[Function, Value, str]]:
    """The values of a stage as its text names them."""
    for function in call.module(stage):
        printer = FunctionPrinter(places=False)
        printer.function(function)
        for x, name in printer.names.items():
            yield function, x, name


def _about(call: CompiledCall, stage: str, function: Function, x: Value, name: str) -> Origin:
    links, loc = links_of(call), _loc(function, x)
    maker = x.op
    text = ""
    if maker is None:
        block = x.owner
        assert isinstance(block, Block)
        maker = block.parent
        text = f"argument {x.index} of {f'@{function.name}' if maker is None else f'a block of {maker.defn.name}'}"
    lines = links.lines[stage]
    if maker is None:
        line = next(i for i, t in enumerate(lines, 1) if t.startswith(text_head(function)))
    else:
        line = next(at for at, op, _ in located(call.module(stage), links.texts[stage]) if op is maker)
    found = Origin(
        name, stage, line, text or shown(lines[line - 1]), part_of(loc), chain_of(loc),
        purpose=_purpose(call, stage, function, x),
    )  # fmt: skip
    relation, of = _relation(call, name)
    if of is None:
        return found
    uses: tuple[Place, ...] = ()
    if loc is not None and relation.endswith("adjoint of"):
        uses = tuple(chain_of(at)[0] for use in loc.uses or (loc,) for at in use.places)
    return replace(found, relation=relation, of=of, uses=uses)


def _purpose(call: CompiledCall, stage: str, function: Function, x: Value) -> str:
    """The purpose of a result that is not only returned."""
    lowered, module = call.compiled.lowered, call.module(stage)
    if function is not module.entry or x not in function.outs:
        return ""
    printer = FunctionPrinter(places=False)
    printer.function(function)
    found = purposes(lowered, [printer.names[a] for a in function.args])
    return "; ".join([f"result {i}: {found[i]}" for i, out in enumerate(function.outs) if out is x and i in found])


def _loc(function: Function, x: Value) -> Loc | None:
    """The place of the op that defines a value, or owns the block that it is an argument of."""
    owner = x.owner.parent if isinstance(x.owner, Block) else x.owner
    return function.loc if owner is None else owner.loc


def _relation(call: CompiledCall, name: str) -> tuple[str, ValueAt | None]:
    """How a derived value relates to a primal one, and to which."""
    known: dict[str, ValueAt] = {}
    for stage in ("adjoint", "front"):
        for function, x, printed in _values(call, stage):
            known[printed] = ValueAt(printed, chain_of(_loc(function, x)))
            if printed == name and stage == "front":  # the user's own
                return "", None
    for pattern, relation in _MADE:
        match = re.fullmatch(pattern + r"(?:__\d+)?", name)
        if match is not None and f"%{match[1]}" in known:
            return relation, known[f"%{match[1]}"]
    return "", None
