"""Lowers structured ops to `if`, `while` and `for` statements.

A loop carry is one variable that the body reassigns.  Values collected per trip are stored as soon as they exist: with
a known trip count into an array of exactly that length, else into arrays that grow in place by an eighth.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Sequence

from ...errors import InternalCompilerError
from ...ir.core import Block, Op, Value
from ...ir.types import Seq, TensorType, TupleType, Type
from .formula import Splat
from .lower import LOWERINGS, UNDEF, Lowering, Operand, Pack
from .program import Branch, Exit, Loop, Node, Step
from .runtime import Ragged
from .syntax import Var, assign, attribute, call, constant, load, none, number, store, subscript, tuple_expr, variables

__all__: list[str] = []

#: Ops that are inlined into their consumers, so that their operands stay live until there.
_LATE = {"broadcast_to", "tuple_make"}
#: The initial capacity of a growing sequence, in bytes.
_FIRST_ROOM = 1 << 16


# ------------------------------------------------------------------------------------------------ if
def lower_if(low: Lowering, op: Op) -> None:
    test = low.value(op.operands[0])
    results = [Var(r.type, r.name, joined=True) for r in op.results]
    arms: list[list[Node]] = []
    for block in op.blocks:
        with low.into([]) as body:
            _want(low, block, zip(block.outs, results, strict=True))
            low.lower_block(block)
            low.loc = op.loc or low.loc
            for var, value in zip(results, block.outs, strict=True):
                if low.env[value] is not var:
                    low.copy(var, low.env[value])
                low.wanted.pop(value, None)
        arms.append(body)
    low.block.append(Branch(test, (arms[0], arms[1]), low.loc))
    low.env.update(zip(op.results, results, strict=True))


def _want(low: Lowering, block: Block, pairs: Iterable[tuple[Value, Var]]) -> None:
    """Makes values of the block that become a result be assigned to the result's variable at once."""
    for value, var in pairs:
        if value.block is block and isinstance(value.owner, Op) and value not in low.wanted:
            low.wanted[value] = var


# ------------------------------------------------------------------------------------------------ carries
class _Carries:
    """Loop carries."""

    def __init__(
        self, low: Lowering, inits: Sequence[Value], body: Block, args: Sequence[Value], results: Sequence[Value]
    ) -> None:
        self.low, self.body = low, body
        self.vars: list[Var] = []
        for init, arg, result in zip(inits, args, results, strict=True):
            var = Var(arg.type, arg.name or result.name, joined=True)
            self.vars.append(var)
            operand = low.env[init]
            mine = isinstance(operand, Var) and operand.whole and not operand.foreign and len(low.uses[init]) == 1
            if isinstance(operand, Var) and not mine and self._overwritten(arg):
                # One copy before the loop, so that every trip can write into it.
                order = constant("C")
                low.run(assign(store(var), call("np.array", low.expr(operand), order=order)))
            else:
                low.copy(var, operand)
            low.env[arg] = var
            low.env[result] = var
        self.args = list(args)

    def _overwritten(self, arg: Value) -> bool:
        """Whether an op that may overwrite its operand takes the carry."""
        users = (user for user, i in self.low.uses.get(arg, ()) if isinstance(user, Op))
        return any(u.defn.inplace and u.operands[u.defn.operand_names.index(u.defn.inplace)] is arg for u in users)

    def want(self) -> None:
        """The next value is assigned to the carry at once where the old one is not needed any more."""
        low, body = self.low, self.body
        position = {op: i for i, op in enumerate(body.ops)}
        nexts = body.outs[: len(self.vars)]
        for arg, var, value in zip(self.args, self.vars, nexts, strict=True):
            made = value.owner
            if not isinstance(made, Op) or value.block is not body or value in low.wanted or made.blocks:
                continue
            users = [user for user, _ in low.uses.get(arg, ())]
            if arg not in nexts and all(self._over(user, position, position[made]) for user in users):
                low.wanted[value] = var

    def _over(self, user: Op | Block, position: dict[Op, int], end: int) -> bool:
        """Whether a use of the carry comes before the position `end`, and is not inlined later."""
        if isinstance(user, Block):
            if user is self.body:
                return True  # collected at the start of the trip; `want` excludes the next carries
            user = user.parent  # type: ignore[assignment]
        here = user
        if not isinstance(here, Op) or here.defn.name in _LATE:
            return False
        while here.parent is not self.body:
            if here.parent is None or here.parent.parent is None:
                return False
            here = here.parent.parent
        return position[here] <= end

    def advance(self) -> None:
        """``carry = next`` for all carries at once."""
        low = self.low
        for value in self.body.outs:
            low.wanted.pop(value, None)
        pairs = [(var, low.env[v]) for var, v in zip(self.vars, self.body.outs, strict=False) if low.env[v] is not var]
        written = {var for var, _ in pairs}
        reads = [{v for v, _ in variables(low.expr(operand))} for _, operand in pairs]
        if all(not (r & (written - {var})) for r, (var, _) in zip(reads, pairs, strict=True)):
            for var, operand in pairs:
                low.copy(var, operand)
            return
        trees = [low.expr(operand) for _, operand in pairs]
        for var, operand in pairs:
            low.share(var, operand)
            low.order(var, [operand], view=True)
        low.run(assign(tuple_expr((store(var) for var, _ in pairs), stored=True), tuple_expr(trees)))


# ------------------------------------------------------------------------------------------------ sequences
class _Store:
    """A sequence while a loop fills it: with room for all trips from the start, or `growing`."""

    def __init__(self, low: Lowering, value: Value, room: ast.expr, *, growing: bool = False, backwards: bool = False):
        self.low, self.backwards, self.growing = low, backwards, growing
        assert isinstance(value.type, Seq)
        #: The variables of a sequence of tuples are one per element.
        self.parts: list[tuple[Var, Type]] = []
        self.operand = self._open(value.type.elem, value.name, room)

    def _open(self, elem: Type, hint: str | None, room: ast.expr) -> Operand:
        if isinstance(elem, TupleType):
            if not elem.elems:
                raise InternalCompilerError("a loop cannot collect empty tuples", loc=self.low.loc)
            return Pack([self._open(t, hint, room) for t in elem.elems])
        var = Var(None, hint or "saved", foreign=True)
        self.parts.append((var, elem))
        if isinstance(elem, Seq):
            trips = number(0) if self.growing else room
            self.low.run(assign(store(var), call(self._ragged(), self._payload(elem.elem), trips)))
        else:
            self.low.run(assign(store(var), self._empty(room, elem)))
        return var

    def _ragged(self) -> str:
        return self.low.support.include(Ragged)

    def _payload(self, elem: Type) -> ast.expr:
        if isinstance(elem, Seq):
            return call(self._ragged(), self._payload(elem.elem), number(0))
        return self._empty(number(0), elem)

    def _empty(self, room: ast.expr, elem: Type) -> ast.expr:
        if not isinstance(elem, TensorType):
            raise InternalCompilerError(f"nested loops cannot collect {elem}", loc=self.low.loc)
        return call("np.empty", _dims(self.low, room, elem), self.low.dtype(elem.dtype))

    def push(self, index: Var, value: Value) -> None:
        """Copies the value of this trip to its place."""
        undefined = value in self.low.code.undefined
        self._push(self.low.env[value], self.operand, index, undefined)

    def _push(self, operand: Operand, into: Operand, index: Var, undefined: bool) -> None:
        low = self.low
        if operand is UNDEF:
            if isinstance(into, Var) and isinstance(dict(self.parts)[into], Seq):
                low.run(ast.Expr(value=call(attribute(load(into), "push"), load(index), none(), *self._direction())))
            return
        if isinstance(into, Pack):
            for i, part in enumerate(into.elems):
                if isinstance(operand, Pack):
                    self._push(operand.elems[i], part, index, undefined)
                else:
                    self._store(subscript(low.expr(operand), number(i)), part, index, undefined)
            return
        tree = number(operand.value, operand.dtype) if isinstance(operand, Splat) else low.expr(operand)
        self._store(tree, into, index, undefined)

    def _direction(self) -> list[ast.expr]:
        return [constant(True)] if self.backwards else []

    def _store(self, tree: ast.expr, into: Operand, index: Var, undefined: bool) -> None:
        low = self.low
        if isinstance(into, Pack):
            for i, part in enumerate(into.elems):
                self._store(subscript(tree, number(i)), part, index, undefined)
            return
        assert isinstance(into, Var)
        if isinstance(dict(self.parts)[into], Seq):
            low.run(ast.Expr(value=call(attribute(load(into), "push"), load(index), tree, *self._direction())))
            return
        with low.into([]) as body:
            low.run(assign(subscript(load(into), load(index), stored=True), tree))
        if undefined:
            test = ast.Compare(left=tree, ops=[ast.IsNot()], comparators=[none()])
            low.block.append(Branch(test, (body, []), low.loc))
        else:
            low.block.extend(body)

    def close(self, trips: ast.expr) -> None:
        """After the loop: trims unused capacity."""
        for var, elem in self.parts:
            if isinstance(elem, Seq):
                self.low.run(ast.Expr(value=call(attribute(load(var), "trim"), trips)))
            elif self.growing:
                self.low.run(_resized(self.low, var, trips, elem))

    def grow(self, room: Var) -> None:
        for var, elem in self.parts:
            if isinstance(elem, TensorType):
                self.low.run(_resized(self.low, var, load(room), elem))

    def bind(self, result: Value) -> None:
        self.low.env[result] = self.operand
        if isinstance(self.operand, Var):
            self.operand.type = result.type


def _dims(low: Lowering, trips: ast.expr, elem: TensorType) -> ast.expr:
    return tuple_expr([trips, *low.dims(elem.shape)])


def _resized(low: Lowering, var: Var, trips: ast.expr, elem: Type) -> ast.stmt:
    """``array.resize(..., refcheck=False)``: extends the array in place if it can; nothing else refers to it yet."""
    assert isinstance(elem, TensorType)
    resize = attribute(load(var), "resize")
    return ast.Expr(value=call(resize, _dims(low, trips, elem), refcheck=constant(False)))


def _first_room(types: Iterable[Type]) -> int:
    """The initial capacity of growing sequences, in trips: fewer where elements are large; 0 without sequences."""
    room, stack = 0, list(types)
    while stack:
        elem = stack.pop()
        if isinstance(elem, TupleType):
            stack.extend(elem.elems)
        elif isinstance(elem, TensorType):
            fits = max(1, min(64, _FIRST_ROOM // max(1, Var(elem).nbytes)))
            room = min(room or fits, fits)
    return room


def _element(low: Lowering, sequence: ast.expr, type: Type, index: Var) -> ast.expr:
    """The element of a sequence at this trip."""
    if isinstance(type, TupleType):
        return tuple_expr(_element(low, subscript(sequence, number(i)), t, index) for i, t in enumerate(type.elems))
    return subscript(sequence, load(index))


def _plan_pushes(low: Lowering, block: Block, stores: list[tuple[Value, _Store]], index: Var) -> None:
    """At the start of a trip: stores the values that exist already, and registers the others for when they do."""
    for value, sequence in stores:
        if isinstance(value.owner, Op) and value.block is block:
            low.pushes.setdefault(value, []).append(functools.partial(sequence.push, index, value))
        else:
            sequence.push(index, value)


# ------------------------------------------------------------------------------------------------ scan
def lower_scan(low: Lowering, op: Op) -> None:
    k, backwards = op.attr("carries"), op.attr("reverse")
    body = op.blocks[0]
    count, inits, xs = op.operands[0], op.operands[1 : 1 + k], op.operands[1 + k :]
    carries = _Carries(low, inits, body, body.args[1 : 1 + k], op.results[:k])
    trips = _trip_count(low, count)
    room = trips if isinstance(trips, ast.Constant) else call("max", trips, number(0))
    stores = [
        (out, _Store(low, r, room, backwards=backwards)) for out, r in zip(body.outs[k:], op.results[k:], strict=True)
    ]
    index = Var(None, body.args[0].name or "i")
    with low.into([]) as inside:
        _trip_values(low, body, k, xs, index)
        _plan_pushes(low, body, stores, index)
        carries.want()
        low.lower_block(body)
        low.loc = op.loc or low.loc
        carries.advance()
    test = call("range", trips)
    if backwards:
        last = ast.BinOp(left=trips, op=ast.Sub(), right=number(1))
        test = call("range", last, number(-1), number(-1))
    low.block.append(Loop(test, index, inside, low.loc))
    for result, (_, sequence) in zip(op.results[k:], stores, strict=True):
        sequence.close(room)
        sequence.bind(result)


def _trip_count(low: Lowering, count: Value) -> ast.expr:
    operand = low.env[count]
    if isinstance(operand, Splat):
        return number(max(int(operand.value), 0))
    return low.expr(operand)


def _trip_values(low: Lowering, body: Block, k: int, xs: Sequence[Value], index: Var) -> None:
    """The trip's index as a value (if anything computes with it) and its elements of the sequences."""
    i = body.args[0]
    if low.uses.get(i):
        var = Var(i.type, i.name or "i")
        low.env[i] = var
        low.run(assign(store(var), call("np.int64", load(index))))
    for arg, x in zip(body.args[1 + k :], xs, strict=True):
        if not low.uses.get(arg):
            continue
        var = Var(arg.type, arg.name or "x", foreign=True)
        if var.nbytes >= low.code.reuse_bytes:
            low.show(var, low.env[x])
        low.env[arg] = var
        low.run(assign(store(var), _element(low, low.value(x), arg.type, index)))


# ------------------------------------------------------------------------------------------------ while
def lower_while(low: Lowering, op: Op) -> None:
    cond, body = op.blocks
    k = len(op.operands)
    carries = _Carries(low, op.operands, body, body.args, op.results[1 : 1 + k])
    for arg, var in zip(cond.args, carries.vars, strict=True):
        low.env[arg] = var
    counted = bool(low.uses.get(op.results[0])) or len(op.results) > 1 + k
    trips = Var(None, op.results[0].name or "n", joined=True)
    if counted:
        low.run(assign(store(trips), number(0)))
    room = Var(None, "room", joined=True)
    first = _first_room(v.type for v in body.outs[k:])
    if first:
        low.run(assign(store(room), number(first)))
    stores = [
        (o, _Store(low, r, load(room), growing=True)) for o, r in zip(body.outs[k:], op.results[1 + k :], strict=True)
    ]
    with low.into([]) as inside:
        test = _loop_test(low, cond)
        if first:
            _grow(low, [s for _, s in stores], trips, room, first)
        _plan_pushes(low, body, stores, trips)
        carries.want()
        low.lower_block(body)
        low.loc = op.loc or low.loc
        carries.advance()
        if counted:
            low.run(ast.AugAssign(target=store(trips), op=ast.Add(), value=number(1)))
    low.block.append(Loop(test, None, inside, low.loc))
    for result, (_, sequence) in zip(op.results[1 + k :], stores, strict=True):
        sequence.close(load(trips))
        sequence.bind(result)
    if low.uses.get(op.results[0]):
        low.run(assign(store(low.target(op.results[0], "n")), call("np.int64", load(trips))))


def _loop_test(low: Lowering, cond: Block) -> ast.expr:
    """The condition as the expression of `while`, or `True` and a `break` where it takes several statements."""
    with low.into([]) as before:
        low.lower_block(cond)
    value = cond.outs[0]
    if not before:
        return low.value(value)
    step = before[-1]
    alone = len(before) == 1 and len(low.uses[value]) == 1
    if alone and isinstance(step, Step) and isinstance(step.node, ast.Assign) and step.writes == [low.env[value]]:
        (target,) = step.node.targets
        if isinstance(target, ast.Name):  # and not a tuple of one
            return step.node.value
    low.block.extend(before)
    low.block.append(Exit(low.value(value), low.loc))
    return constant(True)


def _grow(low: Lowering, stores: list[_Store], trips: Var, room: Var, first: int) -> None:
    """Grows all sequences of a loop, which have equal capacity, by an eighth when it is used up."""
    with low.into([]) as body:
        eighth = ast.BinOp(left=load(room), op=ast.FloorDiv(), right=number(8))
        more = ast.BinOp(left=eighth, op=ast.Add(), right=number(first))
        low.run(ast.AugAssign(target=store(room), op=ast.Add(), value=more))
        for sequence in stores:
            sequence.grow(room)
    test = ast.Compare(left=load(trips), ops=[ast.Eq()], comparators=[load(room)])
    low.block.append(Branch(test, (body, []), low.loc))


LOWERINGS.update({"if": lower_if, "while": lower_while, "scan": lower_scan})
