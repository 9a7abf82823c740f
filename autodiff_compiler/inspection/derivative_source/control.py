"""Structured ops as `if`, `for` and `while`; residuals of a loop are appended to lists."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence

from ...backends.numpy.syntax import attribute, call, number, subscript, tuple_expr
from ...ir.core import Block, Op, Value
from .lowering import SPECIAL, Lowering
from .statements import Assign, Do, Exit, If, Loop, Statement, Var, reads, tree_of

__all__: list[str] = []


# ------------------------------------------------------------------------------------------------ if
def lower_if(low: Lowering, op: Op) -> None:
    here = low.loc
    test = low.tree(op.operands[0])
    results = [low.new_variable(r) for r in op.results]
    arms: list[list[Statement]] = []
    for block in op.blocks:
        arm: list[Statement] = []
        low.into(arm, functools.partial(_arm, low, block, results, op))
        arms.append(arm)
    low.loc = here
    joined = _logic(test, results, arms)
    if joined is not None:
        low.define(op.results[0], joined)
        return
    low.trees.update({r: tree_of(v) for r, v in zip(op.results, results, strict=True)})
    low.body.append(If(negated(test, 2), arms[0], arms[1], here))


def _logic(test: ast.expr, results: list[Var], arms: list[list[Statement]]) -> ast.expr | None:
    """``test and other`` or ``test or other``, where a branch is no more than that."""
    if len(results) != 1 or any(len(arm) != 1 or not isinstance(arm[0], Assign) for arm in arms):
        return None
    then, other = (arm[0].value for arm in arms)  # type: ignore[union-attr]
    if _is_truth(other, False):
        return ast.BoolOp(op=ast.And(), values=[negated(test, 2), negated(then, 2)])
    if _is_truth(then, True):
        return ast.BoolOp(op=ast.Or(), values=[negated(test, 2), negated(other, 2)])
    return None


def _is_truth(tree: ast.expr, value: bool) -> bool:
    return isinstance(tree, ast.Call) and ast.unparse(tree) == f"np.bool_({value})"


def negated(tree: ast.expr, times: int = 1) -> ast.expr:
    """The negation of a condition; `times` 2: the condition itself, with `np.logical_not` spelt ``not``."""
    inner = tree.args[0] if isinstance(tree, ast.Call) and ast.unparse(tree.func) == "np.logical_not" else None
    if times == 2:
        return tree if inner is None else ast.UnaryOp(op=ast.Not(), operand=negated(inner, 2))
    return ast.UnaryOp(op=ast.Not(), operand=tree) if inner is None else negated(inner, 2)


def _arm(low: Lowering, block: Block, results: list[Var], op: Op) -> None:
    low.block(block)
    low.loc = op.loc
    for var, value, result in zip(results, block.outs, op.results, strict=True):
        if low.places(result):
            low.body.append(
                Assign([var], low.tree(value), value.op.loc if value.op is not None and low.is_part(value) else None)
            )


# ------------------------------------------------------------------------------------------------ carries
class _Carries:
    """Loop carries: variables that each trip assigns again."""

    def __init__(self, low: Lowering, inits: Sequence[Value], args: Sequence[Value], results: Sequence[Value]) -> None:
        self.low, self.vars = low, []
        for init, arg, result in zip(inits, args, results, strict=True):
            var = Var(low.hint(arg) or low.hint(result), "c")
            self.vars.append(var)
            low.body.append(Assign([var], low.tree(init), low.loc))
            low.trees[arg] = low.trees[result] = tree_of(var)

    def advance(self, values: Sequence[Value]) -> None:
        """``carry = next``, for all carries at once where one reads another."""
        low = self.low
        pairs = [(v, low.tree(x), x) for v, x in zip(self.vars, values, strict=True)]
        pairs = [(v, tree, x) for v, tree, x in pairs if not (isinstance(tree, ast.Name) and tree.id is v)]
        written: set[Var] = set()
        clash = False
        for v, tree, _ in pairs:
            clash = clash or any(name.id in written for name in reads(tree))
            written.add(v)
        if clash:
            low.body.append(Assign([v for v, _, _ in pairs], tuple_expr(tree for _, tree, _ in pairs), low.loc))
            return
        for v, tree, value in pairs:
            low.body.append(Assign([v], tree, value.op.loc if value.op is not None and low.is_part(value) else None))


# ------------------------------------------------------------------------------------------------ lists
def _lists(low: Lowering, results: Sequence[Value]) -> list[Var | None]:
    """Empty lists for what a loop collects."""
    made: list[Var | None] = []
    for r in results:
        if not low.uses.get(r):
            made.append(None)
            continue
        hint = low.hint(r)
        var = Var(hint, "collected")
        low.body.append(Assign([var], ast.List(elts=[], ctx=ast.Load()), low.loc))
        low.trees[r] = tree_of(var)
        made.append(var)
    return made


def _collect(low: Lowering, lists: Sequence[Var | None], values: Sequence[Value], body: Block) -> None:
    """Appends to the lists: values that exist at the start of a trip at once, the others once they are computed."""
    for var, value in zip(lists, values, strict=True):
        if var is None:
            continue
        push = functools.partial(_append, low, var, value)
        if value.op is not None and value.block is body:
            low.pushes.setdefault(value, []).append(push)
        else:
            push()


def _append(low: Lowering, var: Var, value: Value) -> None:
    low.body.append(Do(ast.Expr(value=call(attribute(tree_of(var), "append"), low.tree(value)))))


# ------------------------------------------------------------------------------------------------ scan
def lower_scan(low: Lowering, op: Op) -> None:
    here = low.loc
    k, backwards = op.attr("carries"), op.attr("reverse")
    body = op.blocks[0]
    inits, xs = op.operands[1 : 1 + k], op.operands[1 + k :]
    carries = _Carries(low, inits, body.args[1 : 1 + k], op.results[:k])
    lists = _lists(low, op.results[k:])
    targets, head = _zipped(low, op, xs) or _counted(low, op, xs)
    inside: list[Statement] = []

    def trip() -> None:
        _collect(low, lists, body.outs[k:], body)
        low.block(body)
        low.loc = op.loc
        carries.advance(body.outs[:k])

    low.into(inside, trip)
    low.loc = here
    low.body.append(Loop(targets, head, inside, here))
    for var in lists:
        if var is not None and backwards:
            low.body.append(Do(ast.Expr(value=call(attribute(tree_of(var), "reverse"))), here))


def walks_elements(low: Lowering, op: Op) -> bool:
    """Whether a scan needs no index: it goes through sequences that have one element per trip."""
    k, count = op.attr("carries"), op.operands[0]
    xs = op.operands[1 + k :]
    return bool(xs) and not low.uses.get(op.blocks[0].args[0]) and all(_has_length(x, count) for x in xs)


def _has_length(sequence: Value, count: Value) -> bool:
    made = sequence.op
    if made is None:
        return False
    if made.defn.name == "scan":
        trips = made.operands[0]
        return trips is count or (trips.constant is not None and trips.constant == count.constant)
    if made.defn.name == "while":
        return made.results[0] is count
    return made.defn.name == "to_seq" and count.constant == made.operands[0].shape[0]


def _zipped(low: Lowering, op: Op, xs: Sequence[Value]) -> tuple[list[Var], ast.expr] | None:
    """``for x, y in zip(xs, ys)``"""
    if not walks_elements(low, op):
        return None
    k, body = op.attr("carries"), op.blocks[0]
    read = [(arg, x) for arg, x in zip(body.args[1 + k :], xs, strict=True) if low.uses.get(arg)]
    if not read:
        return None
    trees = [low.tree(x) for _, x in read]
    if op.attr("reverse"):
        trees = [call("reversed", t) for t in trees]
    targets = [low.new_variable(arg) for arg, _ in read]
    low.trees.update({arg: tree_of(t) for (arg, _), t in zip(read, targets, strict=True)})
    return targets, trees[0] if len(trees) == 1 else call("zip", *trees)


def _counted(low: Lowering, op: Op, xs: Sequence[Value]) -> tuple[list[Var], ast.expr]:
    """``for i in range(n)``; over NumPy's integers where something is computed from the index."""
    k, body = op.attr("carries"), op.blocks[0]
    index, trips = body.args[0], _trips(low, op.operands[0])
    computed = bool(low.uses.get(index))
    head = call("np.arange" if computed else "range", trips)
    read = [(arg, x) for arg, x in zip(body.args[1 + k :], xs, strict=True) if low.uses.get(arg)]
    if op.attr("reverse") and (computed or read):
        head = call("reversed", head)
    var = Var(low.hint(index) or "i") if computed or read else Var("_")
    low.trees[index] = tree_of(var)
    for arg, x in read:
        low.trees[arg] = subscript(low.tree(x), tree_of(var))
    return [var], head


def _trips(low: Lowering, count: Value) -> ast.expr:
    constant = count.constant
    return low.tree(count) if constant is None else number(max(int(constant), 0))


# ------------------------------------------------------------------------------------------------ while
def lower_while(low: Lowering, op: Op) -> None:
    here = low.loc
    cond, body = op.blocks
    k = len(op.operands)
    carries = _Carries(low, op.operands, body.args, op.results[1 : 1 + k])
    low.trees.update({c: low.trees[b] for c, b in zip(cond.args, body.args, strict=True)})
    lists = _lists(low, op.results[1 + k :])
    trips = Var(None, "n") if _is_counted(low, op) else None
    if trips is not None:
        low.body.append(Assign([trips], number(0), here))
        low.trees[op.results[0]] = tree_of(trips)
    inside: list[Statement] = []

    def trip() -> ast.expr:
        low.block(cond)
        test = low.tree(cond.outs[0])
        if inside:
            low.body.append(If(negated(test), [Exit(here)], [], here))
            test = ast.Constant(value=True)
        _collect(low, lists, body.outs[k:], body)
        low.block(body)
        low.loc = op.loc
        carries.advance(body.outs[:k])
        if trips is not None:
            more = ast.BinOp(left=tree_of(trips), op=ast.Add(), right=number(1))
            low.body.append(Assign([trips], more, here))
        return test

    test = low.into(inside, trip)
    low.loc = here
    low.body.append(Loop([], negated(test, 2), inside, here))
    if trips is not None and any(not _is_trip_count(user, at) for user, at in low.uses.get(op.results[0], ())):
        low.trees[op.results[0]] = call("np.int64", tree_of(trips))


def _is_trip_count(user: Op | Block, at: int) -> bool:
    return isinstance(user, Op) and user.defn.name == "scan" and at == 0


def _is_counted(low: Lowering, op: Op) -> bool:
    """Whether the trip count is read, other than as the length of a loop over the collected elements."""
    users = low.uses.get(op.results[0], ())
    return any(not (_is_trip_count(user, at) and walks_elements(low, user)) for user, at in users)  # type: ignore[arg-type]


SPECIAL.update({"if": lower_if, "while": lower_while, "scan": lower_scan})
