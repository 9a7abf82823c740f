"""Checks for NaN and infinities behind every op that may make one, where `check_nonfinite` asks for it.

The check is part of the program: ``all(isfinite(x))``, and where that is false a call of a function that finds the
element and raises (`runtime.nonfinite`).  This pass runs last, so the ops that really run are checked, forward and
backward, in blocks and functions alike.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..dtypes import int64
from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import REGISTRY, F
from ..ir.types import TensorType, tensor
from ..ir.walk import Cloner, ops_of
from ..runtime.nonfinite import MOVING, Operand, Origin, any_of, error_of, found
from ..source import Loc, line_of
from .manager import module_pass

_COUNT = tensor(int64, ())
#: How many steps of the way back to an operand a message shows.
_STEPS = 6
#: The ops of Python's operators.
_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.MatMult: "matmul",
    ast.Mod: "mod", ast.FloorDiv: "floordiv",
}  # fmt: skip


class FiniteCheck:
    """The host function that looks at the results and operands of one op, and raises if it is to blame.

    It is called with them, and then with the numbers of the trips that the loops around the op are in.
    """

    #: How a program that was saved spells it: nobody checks there.
    text = "None"

    def __init__(self, op: Op, module: Module, loops: Sequence[Op], results: int, nan_only: bool) -> None:
        self._op, self._module, self._loops = op, module, tuple(loops)
        self._operands = [x for x in op.operands if isinstance(x.type, TensorType)]
        self._results, self._nan_only = results, nan_only

    def __call__(self, *arrays: Any) -> None:
        op, m, n = self._op, self._results, self._results + len(self._operands)
        results, operands, trips = arrays[:m], arrays[m:n], arrays[n:]
        finding = found(results, operands, op.defn.name, self._nan_only)
        if finding is None:
            return
        known = [Operand(_name(x, op.loc), _origin(x, self._module)) for x in self._operands]
        facts = [_trip(loop, int(i)) for loop, i in zip(self._loops, trips, strict=True)]
        steps, facts = tuple(_back(op)), [*_turns(op.loc), *facts[::-1]]
        origin = Origin(op.defn.name, op.loc, self._result(), self._forward(), steps, tuple(facts))
        raise error_of(finding, results, operands, known, origin)

    def _result(self) -> str:
        """The name of the result; of a part of an adjoint that has none, of the cotangent that it becomes."""
        x = next((r for r in self._op.results if isinstance(r.type, TensorType)), None)
        readers = _readers(self._module)
        for _ in range(_STEPS):
            if x is None or (name := _name(x, self._op.loc)):
                break
            op = next(iter(readers.get(x, ())), None)
            here = op is not None and _alone(op) == _alone(self._op)
            x = op.results[0] if op is not None and here and op.results else None
        return "" if x is None else name

    def _forward(self) -> str:
        """Of an adjoint: the op whose derivative it is a part of, by the user's text or the ops of the same place."""
        loc = self._op.loc
        if loc is None or not loc.tag or loc.function.endswith("bprop"):  # that is a derivative itself
            return ""
        named = _applied(loc)
        if named in REGISTRY:
            return named
        plain = loc.alone._replace(tag="")
        ops = [op for function in self._module for op in ops_of(function.body) if op.loc and plain in op.loc.places]
        return next((op.defn.name for op in ops if op.defn.name != "const"), "")


@module_pass("check_nonfinite")
def check_nonfinite(module: Module) -> Module:
    """The module with a check behind every op that may be the first to make a NaN or an infinity."""
    made = replace(module, functions={}, callables=dict(module.callables))
    for name, function in module.functions.items():
        body = Block([x.type for x in function.args], [x.name for x in function.args])
        checker = _Checker(Builder(body, module=made), dict(zip(function.args, body.args, strict=True)))
        checker.module, checker.trips = module, []
        body.outs = checker.clone_ops(function.body)
        made.functions[name] = Function(name, body, function.loc)
    return made


class _Checker(Cloner):
    """Copies ops and puts the checks behind them; `trips` are the loops around, with the numbers of their trips."""

    module: Module
    trips: list[tuple[Op, Value]]

    def nested(self, builder: Builder) -> _Checker:
        inner = type(self)(builder, self.mapping, self.relocate)
        inner.module, inner.trips = self.module, self.trips
        return inner

    def clone_op(self, op: Op) -> None:
        super().clone_op(op)
        if op.defn.infer_blocks is None and op.defn.name not in MOVING:
            results = [self.mapping[r] for r in op.results if isinstance(r.type, TensorType) and r.dtype.is_float]
            results = [r for r in results if not r.made_by("const")]
            if results:
                self._check(op, results)

    def _check(self, op: Op, results: list[Value]) -> None:
        builder, nan_only = self.builder, self.module.check_nonfinite == "nan"
        callables = builder.module.callables
        with builder:
            fine = [_all_fine(r, nan_only) for r in results]
            good = fine[0]
            for other in fine[1:]:
                good = F.logical_and(good, other)
            loops = [loop for loop, _ in self.trips]
            name = f"check{len(callables)}"
            callables[name] = FiniteCheck(op, self.module, loops, len(results), nan_only)
            operands = [self.mapping.get(x, x) for x in op.operands if isinstance(x.type, TensorType)]
            failing = builder.nested()
            failing.emit(REGISTRY["host_call"], (*results, *operands, *(i for _, i in self.trips)), (name, ()))
            builder.emit_op(REGISTRY["if"], (good,), (), (builder.nested().ret(), failing.ret()))

    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        if op.defn.name == "while":
            return self._while(op, operands)
        if op.defn.name == "scan":
            return self._scan(op, operands)
        return super().clone_structured(op, operands)

    def _loop_block(self, op: Op, block: Block, trip: int) -> Block:
        """The copy of a block of a loop, whose argument number `trip` counts: a new one for a `while`."""
        types, names = [x.type for x in block.args], [x.name for x in block.args]
        added = op.defn.name == "while"
        if added:
            types.insert(trip, _COUNT)
            names.insert(trip, "trip")
        builder = self.builder.nested(types, names)
        args = list(builder.block.args)
        counter = args.pop(trip) if added else args[trip]
        self.mapping.update(zip(block.args, args, strict=True))
        inner = self.nested(builder)
        inner.trips = [*self.trips, (op, counter)]
        outs = inner.clone_ops(block)
        if added and block is op.blocks[1]:
            with builder:
                outs.insert(trip, F.add(counter, builder.const(1, _COUNT)))
        return builder.ret(*outs)

    def _scan(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        block = self._loop_block(op, op.blocks[0], 0)
        return self.builder.emit_op(op.defn, operands, op.attrs, (block,)).results

    def _while(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        k = len(operands)
        blocks = [self._loop_block(op, block, k) for block in op.blocks]
        ins = (*operands, self.builder.const(0, _COUNT))
        results = list(self.builder.emit_op(op.defn, ins, op.attrs, blocks).results)
        del results[1 + k]
        return results


def _all_fine(x: Value, nan_only: bool) -> Value:
    fine: Value = F.logical_not(F.isnan(x)) if nan_only else F.isfinite(x)
    if x.ndim:
        fine = F.all(fine, axes=tuple(range(-x.ndim, 0)), keepdims=False)
    return fine


# ------------------------------------------------------------------------------------------------ the account
def _name(x: Value, loc: Loc | None) -> str:
    """What the user calls a value: its name without the number that tells it from others of that name."""
    name = "" if x.made_by("const") else (x.name or "").removeprefix("global_")
    prefix, name = ("d_", name[2:]) if name.startswith("d_") else ("", name)
    base = re.sub(r"_\d+$", "", name)
    if loc is not None and base != name:
        place = loc.of_user()
        text = line_of(place.file, place.line)
        name = name if re.search(rf"\b{re.escape(name)}\b", text) else base
    return prefix + name if name and not name[0].isdigit() else ""


def _origin(x: Value, module: Module) -> str:
    """What gives the value if no op computes it: an input, a constant, what moves elements of such things.

    Where several are moved, it is those that may hold a NaN: what an op computed holds none, for it was looked at.
    """
    if x.made_by("const"):
        return "a constant"
    found: dict[str, None] = {}
    values, seen = [x], {x}
    for v in values:
        given: str | None
        if v.op is None:
            given = _given(v, module)
        elif v.made_by("const"):
            given = "a constant" if _holds_nan(v, module) else None
        elif v.op.defn.name in MOVING and v.op.operands:
            moved = [o for o in v.op.operands if not isinstance(o.type, TensorType) or o.dtype.is_float]
            values += [o for o in moved if o not in seen]
            seen.update(moved)
            given = "a constant" if any(isinstance(a, float) and a != a for a in v.op.attrs) else None
        else:
            known = v.op.defn.infer_blocks is None and v.op.defn.name not in MOVING
            given = None if known and isinstance(v.type, TensorType) else ""
        if given == "":
            return ""
        if given is not None:
            found[given] = None
    return any_of(found)


def _holds_nan(x: Value, module: Module) -> bool:
    held = x.op.attrs[0]  # type: ignore[union-attr]
    return bool(np.isnan(module.constants[held[1:]] if isinstance(held, str) else held).any())


def _given(x: Value, module: Module) -> str:
    """What an argument of the program is called; empty for those of blocks and other functions."""
    entry = module.entry
    if x.owner is not entry.body:
        return ""
    states = dict(zip(entry.args[len(entry.args) - len(module.inputs) :], module.inputs, strict=True))
    if x in states:
        return f"Parameter `{states[x]}`" if module.states[states[x]].kind == "parameter" else f"state `{states[x]}`"
    return f"input `{x.name.removeprefix('global_')}`" if x.name else "an input"


def _applied(loc: Loc) -> str:
    """The outermost function or operator of the user's expression, if that stands on one line."""
    if loc.end_line != loc.line:
        return ""
    try:
        tree = ast.parse(line_of(loc.file, loc.line)[loc.col : loc.end_col].strip(), mode="eval").body
    except SyntaxError:
        return ""
    if isinstance(tree, ast.BinOp):
        return _OPERATORS.get(type(tree.op), "")
    called = tree.func if isinstance(tree, ast.Call) else None
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _alone(op: Op) -> Loc | None:
    return None if op.loc is None else op.loc.alone


def _trip(loop: Op, number: int) -> str:
    loc = loop.loc
    if loc is None:
        return f"in trip {number} (the first is 0) of a loop"
    backward = " run backward" if loc.tag == "adjoint" else ""
    if loc.turn is not None and not backward and loc.turn[0][:6] == loc[:6]:
        number += loc.turn[1]
    return f"in trip {number} (the first is 0) of the loop at {loc.of_user().short}{backward}"


def _turns(loc: Loc | None) -> Iterator[str]:
    """The trips of unrolled loops that an op was made in, the innermost first."""
    while loc is not None:
        place = loc
        while place.turn is not None:
            place, number = place.turn
            yield f"in trip {number} (the first is 0) of the loop at {place.short}, which is unrolled"
        loc = loc.caller


def _readers(module: Module) -> dict[Value, list[Op]]:
    readers: dict[Value, list[Op]] = {}
    for function in module:
        for op in ops_of(function.body):
            for x in op.operands:
                readers.setdefault(x, []).append(op)
    return readers


def _back(op: Op) -> Iterator[Loc]:
    """The places of the ops that made what an op is given, along the first operand that something computed."""
    seen: set[tuple[Any, ...]] = set()
    last: Loc | None = op.loc
    for _ in range(100):
        source = next((s for s in map(_source, op.operands) if s is not None), None)
        if source is None:
            return
        op = source
        if op.loc is None or op.loc == last:
            continue
        last = op.loc
        key = (op.loc.file, op.loc.line, op.loc.tag)
        if key not in seen:
            seen.add(key)
            yield op.loc
            if len(seen) == _STEPS:
                return


def _source(x: Value) -> Op | None:
    """The op that made a value; of what a loop carries, the loop."""
    if x.op is not None:
        return None if x.made_by("const") else x.op
    block = x.owner
    return block.parent if isinstance(block, Block) else None
