"""Loops as `for` and `while`; residuals are appended to lists."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from ...backends.loop_plan import LoopPlan
from ...backends.numpy.control import LoopWriter
from ...backends.numpy.program import Step
from ...backends.numpy.syntax import Var, assign, attribute, call, load, number, store, subscript
from ...ir.core import Block, Op, Value
from ...ir.loops import Carry
from .expressions import loop_index
from .in_place import versions
from .lowering import SPECIAL, Lowering

__all__: list[str] = []


class _Loop(LoopWriter):
    low: Lowering

    def __init__(self, low: Lowering, op: Op) -> None:
        super().__init__(low, op)
        self.index = Var(None, fallback="n")
        self.walks = _walks_elements(self.plan)
        self.lists: dict[Value, Var] = {}
        #: the sequences whose elements are taken by the index
        self.sequences: dict[Value, ast.expr] = {}

    def start(self, carry: Carry) -> Var:
        low = self.low
        var = Var(None, low.hint(carry.arg) or low.hint(carry.result), fallback="c")
        rewritten = versions(self.plan, carry, low.uses)
        low.rewritten.update(dict.fromkeys(rewritten, var))
        init = low.start(carry.init, carry.result) if rewritten else low.tree(carry.init)
        low.run(assign(store(var), init))
        return var

    def open(self) -> None:
        shared: dict[Value, Value] = {}
        for out, result in self.plan.collected:
            index = loop_index(out)
            first = shared.setdefault(out if index is None else index, result)
            if first is not result:
                self.low.bind(result, self.lists[first])
                continue
            var = self.lists[result] = Var(None, self.low.hint(result), fallback="collected")
            self.low.run(assign(store(var), ast.List(elts=[], ctx=ast.Load())))
            self.low.bind(result, var)
        for x, _ in () if self.walks else self.plan.elements:
            self.sequences[x] = self.low.named(self.low.tree(x))

    def head(self) -> tuple[Sequence[Var], ast.expr]:
        """``x, y in zip(xs, ys)``, or ``i in range(n)``: over NumPy's integers where the index is computed with."""
        low, plan = self.low, self.plan
        trees: list[ast.expr] = []
        targets: list[Var] = []
        if plan.index is not None or not self.walks:
            trips = low.tree(plan.count) if plan.trips is None else number(plan.trips)
            trees.append(call("range" if plan.index is None else "np.arange", trips))
            if plan.index is None and not plan.elements:
                return [Var(None, "_")], trees[0]
            self.index = Var(None, low.hint(plan.body.args[0]) or "i")
            targets.append(self.index)
        shared: dict[Any, Var] = {}
        for x, arg in plan.elements if self.walks else ():
            tree = low.tree(x)
            key = tree.id if isinstance(tree, ast.Name) else x
            if key not in shared:
                shared[key] = low.new_variable(arg)
                trees.append(tree)
                targets.append(shared[key])
            low.bind(arg, shared[key])
        if plan.reverse:
            trees = [call("reversed", t) for t in trees]
        return targets, trees[0] if len(trees) == 1 else call("zip", *trees)

    def begin(self) -> None:
        low, plan = self.low, self.plan
        if plan.index is not None:
            low.bind(plan.index, self.index)
        for x, arg in () if self.walks else plan.elements:
            var = low.new_variable(arg)
            low.run(assign(store(var), subscript(self.sequences[x], load(self.index))))
            low.bind(arg, var)

    def push(self, out: Value, result: Value) -> None:
        if result not in self.lists:
            return
        added = call(attribute(load(self.lists[result]), "append"), self.low.tree(out))
        self.low.body.append(Step(ast.Expr(value=added), None))  # no line of the user's

    def close(self) -> None:
        low, plan = self.low, self.plan
        for var in self.lists.values() if plan.reverse else ():
            low.run(ast.Expr(value=call(attribute(load(var), "reverse"))))
        if plan.cond is not None and self.is_counted:
            low.bind(plan.count, self.index)
            if any(not _is_trip_count(user, at) for user, at in low.uses.get(plan.count, ())):
                low.trees[plan.count] = call("np.int64", load(self.index))

    @property
    def is_counted(self) -> bool:
        """Whether the trip count is read, other than as the length of a loop over the collected elements."""
        low = self.low
        users = low.uses.get(self.plan.count, ())
        return any(not (_is_trip_count(u, at) and _needs_no_count(LoopPlan(u, low.uses))) for u, at in users)  # type: ignore[arg-type]


def _is_trip_count(user: Op | Block, at: int) -> bool:
    return isinstance(user, Op) and user.defn.name == "scan" and at == 0


def _walks_elements(plan: LoopPlan) -> bool:
    """Whether a scan goes through sequences that have one element per trip."""
    return bool(plan.elements) and all(_has_length(x, plan.count) for x, _ in plan.elements)


def _needs_no_count(plan: LoopPlan) -> bool:
    return plan.index is None and _walks_elements(plan)


def _has_length(sequence: Value, count: Value) -> bool:
    made = sequence.op
    if made is None:
        return False
    if made.defn.name == "scan":
        trips = made.operands[0]
        return trips is count or (trips.constant is not None and trips.constant == count.constant)
    if made.defn.name == "while":
        return made.results[0] is count
    if made.defn.name != "to_seq":
        return False
    size, counted = made.operands[0].shape[0], count.op
    if counted is not None and counted.defn.name == "size_value":
        return counted.attr("size") is size
    return isinstance(size, int) and count.constant == size


SPECIAL.update(dict.fromkeys(("while", "scan"), lambda low, op: _Loop(low, op).write()))
