"""Branches, loops, exceptions and prints as statements, in both styles.

A carry is one variable that the body assigns again.  A residual is stored as soon as it exists.
"""

from __future__ import annotations

import ast
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ...ir.core import Block, Op, Value
from ...ir.loops import Carry
from ..loop_plan import LoopPlan
from .kernels import print_call
from .program import Exit, Loop, Node, Step
from .syntax import Var, assign, constant, number, store, variables
from .writer import Writer

#: Ops that are inlined into their consumers, so that their operands stay live until there.
_LATE = {"broadcast_to", "tuple_make"}


def write_if(low: Writer, op: Op) -> None:
    here, test = low.loc, low.tree(op.operands[0])
    results = [low.joined(r) for r in op.results]
    arms: list[list[Node]] = []
    for block in op.blocks:
        with low.into([]) as arm:
            for var, value in zip(results, block.outs, strict=True):
                if value.block is block:
                    low.prefer(value, var)
            low.lower_block(block)
            low.loc = op.loc or low.loc
            for var, value, result in zip(results, block.outs, op.results, strict=True):
                if low.is_read(result):
                    low.give(var, value)
        arms.append(arm)
    low.loc = here
    low.join(op, test, results, arms)


def write_raise(low: Writer, op: Op) -> None:
    low.fail(op, op.operands)


def write_print(low: Writer, op: Op) -> None:
    low.run(ast.Expr(value=print_call(op, low.support, low.printed)))


def write_assert(low: Writer, op: Op) -> None:
    condition, *operands = op.operands
    test = ast.UnaryOp(op=ast.Not(), operand=low.tree(condition))
    with low.into([]) as failing:
        low.fail(op, operands)
    low.branch(test, failing, [])


#: How both styles write these ops.
SHARED: dict[str, Callable[[Any, Op], None]] = {
    "if": write_if, "raise": write_raise, "assert": write_assert, "print": write_print,
}  # fmt: skip


class LoopWriter(ABC):
    """Writes one loop.  `index`: the variable of a trip's index, or of the trips of a `while` so far."""

    low: Writer
    index: Var

    def __init__(self, low: Writer, op: Op) -> None:
        self.low, self.plan = low, LoopPlan(op, low.uses)

    # ------------------------------------------------------------------------------------------- what styles say
    @abstractmethod
    def start(self, carry: Carry) -> Var:
        """The variable of a carry, which gets the initial value."""

    @abstractmethod
    def open(self) -> None:
        """Room for the residuals."""

    @abstractmethod
    def head(self) -> tuple[Sequence[Var], ast.expr]:
        """What ``for targets in head`` consists of."""

    @abstractmethod
    def begin(self) -> None:
        """The first statements of a trip."""

    @abstractmethod
    def push(self, out: Value, result: Value) -> None:
        """Stores the residual of a trip."""

    @abstractmethod
    def close(self) -> None:
        """After the loop: the residuals, and the trips of a `while`, are what the results are."""

    @property
    def is_counted(self) -> bool:
        """Whether the trips of a `while` have a variable."""
        return self.plan.counted

    # ------------------------------------------------------------------------------------------- the loop
    def write(self) -> None:
        low, plan, here = self.low, self.plan, self.low.loc
        vars = [self.start(carry) for carry in plan.carries]
        for carry, var in zip(plan.carries, vars, strict=True):
            for value in (*carry.args, carry.result):
                low.bind(value, var)
        self.open()
        counted = plan.cond is not None and self.is_counted
        if counted:
            low.run(assign(store(self.index), number(0)))
        targets, head = self.head() if plan.cond is None else ((), constant(True))
        with low.into([]) as inside:
            if plan.cond is not None:
                head = self._test(plan.cond)
            self.begin()
            for out, result in plan.collected:
                push = functools.partial(self.push, out, result)
                if out in plan.early:
                    push()
                else:
                    low.pushes.setdefault(out, []).append(push)
            for carry, var in zip(plan.carries, vars, strict=True):
                if plan.is_replaced(carry, _LATE):
                    low.prefer(carry.next, var)
            low.lower_block(plan.body)
            low.loc = plan.op.loc or low.loc
            self._advance(vars)
            if counted:
                low.run(ast.AugAssign(target=store(self.index), op=ast.Add(), value=number(1)))
        low.loc = here
        low.body.append(Loop(head, targets, inside, here))
        self.close()

    def _test(self, cond: Block) -> ast.expr:
        """The condition as the expression of `while`, or `True` and a `break` where it takes several statements."""
        low, value = self.low, cond.outs[0]
        with low.into([]) as before:
            low.lower_block(cond)
        test = low.tree(value)
        if not before:
            return test
        step, alone = before[-1], len(before) == 1 and len(low.uses[value]) == 1
        if alone and isinstance(step, Step) and step.value is not None and _is_name(test, step.writes[0]):
            return step.value
        low.body.extend(before)
        low.body.append(Exit(test, low.loc))
        return constant(True)

    def _advance(self, vars: Sequence[Var]) -> None:
        """``carry = next`` for all carries; at once where one reads what another has been given."""
        low = self.low
        trees = [(var, low.tree(carry.next), carry.next) for carry, var in zip(self.plan.carries, vars, strict=True)]
        trees = [(var, tree, value) for var, tree, value in trees if not _is_name(tree, var)]
        given: set[Var] = set()
        clash = False
        for var, tree, _ in trees:
            clash = clash or any(read in given for read, _ in variables(tree))
            given.add(var)
        pairs = [(var, value) for var, _, value in trees]
        if clash:
            low.give_together(pairs)
            return
        for var, value in pairs:
            low.give(var, value)


def _is_name(tree: ast.expr, var: Var) -> bool:
    return isinstance(tree, ast.Name) and tree.id is var
