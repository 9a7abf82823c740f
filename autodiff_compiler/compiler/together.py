"""The collectives that the compiled programs of several processes run, and where these first differ."""

from __future__ import annotations

import hashlib

from ..collectives import agree, world
from ..collectives.check import exchanged
from ..errors import CollectiveError
from ..ir.core import Block, Module
from ..ir.printer import attributes_text
from ..ir.walk import ops_of

__all__ = ["collectives_of", "tell_difference"]

_DIFFERENT = "AC3002"
#: These stand in one program and not in the other, or with other numbers, where all is right.
_OWN = frozenset({"send_to", "receive_from", "exchange", "all_to_all_v"})


def collectives_of(module: Module) -> str:
    """The collectives of a program that all processes run, a line each, inside of the branches and loops they are in.

    Processes may differ in all else that they compute.
    """
    return "".join(f"{line}\n" for function in module for line in _lines(function.body, ""))


def _lines(block: Block, indent: str) -> list[str]:
    found = []
    for op in block.ops:
        if op.defn.collective and op.defn.name not in _OWN:
            operands = ", ".join(str(x.type) for x in op.operands)
            found.append(f"{indent}{op.defn.name} {operands} {attributes_text(op)}".rstrip())
        elif any(each.defn.collective for inner in op.blocks for each in ops_of(inner)):
            for region, inner in zip(op.defn.regions, op.blocks, strict=True):
                found += [f"{indent}{op.defn.name} {region}:", *_lines(inner, indent + "  ")]
    return found


def tell_difference(error: BaseException, module: Module) -> None:
    """Adds to the error about calls that differ where the programs of the processes do, if all run compiled ones."""
    if not isinstance(error, CollectiveError) or error.code != _DIFFERENT:
        return
    text, group = collectives_of(module), world.group(world.WORLD_NAMES[0])
    if not text:
        return
    mine = f"program {hashlib.sha256(text.encode()).hexdigest()}"
    said = exchanged(group, mine)
    if all(each.startswith("program ") for each in said) and len(set(said)) > 1:
        try:
            agree("collectives of the compiled programs", text, group)
        except CollectiveError as told:
            error.notes = (*error.notes, told.message, *told.notes)
