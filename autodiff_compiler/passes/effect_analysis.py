"""Effects of blocks and functions on states: which they read or write, in the forward pass or in the backward one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..errors import InternalCompilerError
from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.types import Type
from ..ir.walk import Cloner, linearize_of, ops_of
from .inline import callees_first


@dataclass
class StateEffects:
    """The states that some code reads or writes, by name, in the order of first mention; callees' effects count.

    `forward`: read or written in the forward pass, `written`: written there.  `deferred`: read or written by blocks
    that run in the backward pass, `deferred_written`: written there, `pending`: the deferred ones that a `grad`,
    `linearize` or `pull` of this very code will run.
    """

    types: dict[str, Type] = field(default_factory=dict)
    forward: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    deferred: set[str] = field(default_factory=set)
    deferred_written: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)

    def add(self, other: StateEffects, names: dict[str, str], backward: bool = False) -> None:
        """Adds the effects of inner code, under other names; `backward` if it runs in the backward pass."""
        for name, type in other.types.items():
            self.types.setdefault(names.get(name, name), type)
        moved = {k: {names.get(n, n) for n in getattr(other, k)} for k in _SETS}
        if backward:
            self.deferred |= moved["forward"]
            self.deferred_written |= moved["written"]
        else:
            self.forward |= moved["forward"]
            self.written |= moved["written"]
            self.pending |= moved["pending"]
        self.deferred |= moved["deferred"]
        self.deferred_written |= moved["deferred_written"]


_SETS = ("forward", "written", "deferred", "deferred_written", "pending")


def effects_of(module: Module) -> dict[str, StateEffects]:
    """The effects of each function of a module."""
    known: dict[str, StateEffects] = {}
    for name in callees_first(module):
        known[name] = effects_of_blocks([module.functions[name].body], module, known)
    return known


def effects_of_blocks(blocks: list[Block], module: Module, known: dict[str, StateEffects]) -> StateEffects:
    """The effects of blocks, given those of the functions they call."""
    found = StateEffects()
    for block in blocks:
        for op in block.ops:
            name = op.defn.name
            if name in ("state_read", "state_write"):
                state = op.attr("state")
                found.types.setdefault(state, op.attr("type"))
                found.forward.add(state)
                if name == "state_write":
                    found.written.add(state)
            elif name == "call":
                callee = op.attr("fn").removeprefix("@")
                if callee in known:
                    found.add(known[callee], binding(op, known[callee]))
            for region, inner in zip(op.defn.regions, op.blocks, strict=True):
                inside = effects_of_blocks([inner], module, known)
                found.add(inside, {}, backward=region == "bwd")
                if name in ("grad", "linearize"):
                    found.pending |= inside.deferred
            if name == "pull":  # the blocks that it runs belong to its `linearize`, maybe outside of these blocks
                inside = effects_of_blocks(list(linearize_of(op).blocks), module, known)
                found.pending |= inside.deferred | inside.pending
            if name in ("grad", "linearize"):
                for state in op.attr("wrt_states"):
                    found.types.setdefault(state, module.states[state].type)
                    found.forward.add(state)
    return found


def binding(call: Op, callee: StateEffects) -> dict[str, str]:
    """The states that a call binds, by the name that the callee mentions.

    They are listed in the order in which the callee's text mentions its own names first; without a list, the names
    mean themselves.
    """
    states = call.attr("states")
    if not states:
        return {}
    if len(states) != len(callee.types):
        raise InternalCompilerError(
            f"call of {call.attr('fn')} binds {len(states)} states, it mentions {len(callee.types)}", loc=call.loc
        )
    return dict(zip(callee.types, states, strict=True))


# ------------------------------------------------------------------------------------------------ copies per binding
def with_bound_copies(module: Module) -> Module:
    """The module with a copy of its own, under the names bound, for every call that cannot share a lifted function.

    These are calls whose callee mentions states in blocks that run later (by name), or writes a state that it knows
    under two names.
    """
    known = effects_of(module)
    if not any(_needs_copy(op, known) for function in module for op in ops_of(function.body)):
        return module
    new = module.like(dict(module.functions))
    copies = _Copies(known)
    for name, function in module.functions.items():
        if any(_needs_copy(op, known) for op in ops_of(function.body)):
            _Renamer.function(function, {}, name, new, copies)
    return new


def _needs_copy(op: Op, known: dict[str, StateEffects]) -> bool:
    if op.defn.name != "call" or not op.attr("states"):
        return False
    callee = known[op.attr("fn").removeprefix("@")]
    names = binding(op, callee)
    if all(a == b for a, b in names.items()):
        return False
    aliased = len(set(names.values())) < len(names)
    return bool(callee.deferred) or (aliased and bool(callee.written))


@dataclass
class _Copies:
    """Shared by all renamers of a module: the effects of functions, and the copies made, by function and states."""

    known: dict[str, StateEffects]
    made: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)


class _Renamer(Cloner):
    """Copies a function under other names of states, and points its calls at such copies."""

    names: dict[str, str]
    copies: _Copies

    @classmethod
    def function(cls, old: Function, names: dict[str, str], name: str, module: Module, copies: _Copies) -> None:
        """Adds a copy of a function to the module as `name`."""
        body = Block.like(old.args)
        renamer = cls(Builder(body, module=module), dict(zip(old.args, body.args, strict=True)))
        renamer.names, renamer.copies = names, copies
        body.outs = renamer.clone_ops(old.body)
        module.functions[name] = Function(name, body, old.loc)
        if name not in copies.known:
            copies.known[name] = effects_of_blocks([body], module, copies.known)

    def nested(self, builder: Builder) -> _Renamer:
        inner = type(self)(builder, self.mapping)
        inner.names, inner.copies = self.names, self.copies
        return inner

    def clone_op(self, op: Op) -> None:
        names = self.names
        if op.defn.name == "state_read" or op.defn.name == "state_write":
            operands = tuple([self.mapping.get(x, x) for x in op.operands])
            self.builder.loc = op.loc
            state = op.attr("state")
            read = self.builder.emit(op.defn, operands, (names.get(state, state), op.attr("type")))
            if op.results:
                self.map_results(op, (read,))
        else:
            super().clone_op(op)

    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> list[Value]:
        attrs = op.attrs
        if op.defn.name == "call":
            attrs = self._call(op)
        elif op.defn.name in ("grad", "linearize"):
            attrs = (*attrs[:2], tuple(self.names.get(n, n) for n in attrs[2]), *attrs[3:])
        blocks = [self.clone_block(b) for b in op.blocks]
        types = [r.type for r in op.results]
        return self.builder.emit_op(op.defn, operands, attrs, blocks, types).results

    def _call(self, op: Op) -> tuple[Any, ...]:
        name, copies = op.attr("fn").removeprefix("@"), self.copies
        callee = copies.known[name]
        bound = binding(op, callee)
        actual = {n: self.names.get(bound.get(n, n), bound.get(n, n)) for n in callee.types}
        states = tuple(actual.values())
        if states == tuple(actual):
            return "@" + name, ()
        renamed = Op(op.defn, op.operands, [], ("@" + name, states))
        if not _needs_copy(renamed, copies.known):
            return renamed.attrs
        copy = copies.made.get((name, states))
        if copy is None:
            module = self.builder.module
            copy = copies.made[name, states] = module.fresh_name(name)
            self.function(module.functions[name], actual, copy, module, copies)
        return "@" + copy, ()
