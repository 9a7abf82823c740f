"""Loops in the fast style, and what they collect.

Residuals are stored in an array of exactly the length of the loop, or, of a `while`, in one that grows in place by an
eighth.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ...errors import InternalCompilerError
from ...ir.core import Op, Value
from ...ir.loops import Carry
from ...ir.types import Seq, TensorType, TupleType, Type, has_erased_sizes
from .control import LoopWriter
from .formula import Splat
from .lower import LOWERINGS, UNDEF, Lowering, Operand, Pack
from .runtime import Listed, Ragged
from .syntax import Var, assign, attribute, call, constant, load, none, number, store, subscript, tuple_expr

#: The initial capacity of a growing sequence, in bytes.
_FIRST_ROOM = 1 << 16


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
        elif has_erased_sizes(elem):
            self.low.run(assign(store(var), self._listed()))
        else:
            self.low.run(assign(store(var), self._empty(room, elem)))
        return var

    def _ragged(self) -> str:
        return self.low.support.include(Ragged)

    def _listed(self) -> ast.expr:
        return call(self.low.support.include(Listed), ast.List(elts=[], ctx=ast.Load()))

    def _payload(self, elem: Type) -> ast.expr:
        if has_erased_sizes(elem):
            return self._listed()
        if isinstance(elem, Seq):
            return call(self._ragged(), self._payload(elem.elem), number(0))
        return self._empty(number(0), elem)

    def _empty(self, room: ast.expr, elem: Type) -> ast.expr:
        if not isinstance(elem, TensorType):
            raise InternalCompilerError(f"nested loops cannot collect {elem}", loc=self.low.loc)
        return call("np.empty", _dims(self.low, room, elem), self.low.dtype(elem.dtype))

    def push(self, index: Var, value: Value) -> None:
        """Copies the value of this trip to its place."""
        undefined = value in self.low.undefined
        self._push(self.low.env[value], self.operand, index, undefined)

    def _push(self, operand: Operand, into: Operand, index: Var, undefined: bool) -> None:
        low = self.low
        if operand is UNDEF:
            if isinstance(into, Var) and _is_pushed(dict(self.parts)[into]):
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
        if _is_pushed(dict(self.parts)[into]):
            low.run(ast.Expr(value=call(attribute(load(into), "push"), load(index), tree, *self._direction())))
            return
        with low.into([]) as body:
            low.run(assign(subscript(load(into), load(index), stored=True), tree))
        if undefined:
            test = ast.Compare(left=tree, ops=[ast.IsNot()], comparators=[none()])
            low.branch(test, body, [])
        else:
            low.body.extend(body)

    def close(self, trips: ast.expr) -> None:
        """After the loop: trims unused capacity."""
        for var, elem in self.parts:
            if _is_pushed(elem):
                self.low.run(ast.Expr(value=call(attribute(load(var), "trim"), trips)))
            elif self.growing:
                self.low.run(_resized(self.low, var, trips, elem))

    def grow(self, room: Var) -> None:
        for var, elem in self.parts:
            if isinstance(elem, TensorType) and not _is_pushed(elem):
                self.low.run(_resized(self.low, var, load(room), elem))

    def bind(self, result: Value) -> None:
        self.low.env[result] = self.operand
        if isinstance(self.operand, Var):
            self.operand.type = result.type


def _is_pushed(elem: Type) -> bool:
    """Whether the sequence of such elements is an object that is told each of them, and no array."""
    return isinstance(elem, Seq) or has_erased_sizes(elem)


def _dims(low: Lowering, trips: ast.expr, elem: TensorType) -> ast.expr:
    return tuple_expr([trips, *low.dims(elem.shape)])


def _resized(low: Lowering, var: Var, trips: ast.expr, elem: Type) -> ast.stmt:
    """``array.resize(..., refcheck=False)``: extends it where it lies if it can; nobody has seen the array yet."""
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
        elif isinstance(elem, TensorType) and not has_erased_sizes(elem):
            fits = max(1, min(64, _FIRST_ROOM // max(1, Var(elem).nbytes)))
            room = min(room or fits, fits)
    return room


def _element(low: Lowering, sequence: ast.expr, type: Type, index: Var) -> ast.expr:
    """The element of a sequence at this trip."""
    if isinstance(type, TupleType):
        return tuple_expr(_element(low, subscript(sequence, number(i)), t, index) for i, t in enumerate(type.elems))
    return subscript(sequence, load(index))


# ------------------------------------------------------------------------------------------------ loops
class _Loop(LoopWriter):
    low: Lowering

    def __init__(self, low: Lowering, op: Op) -> None:
        super().__init__(low, op)
        plan = self.plan
        hint = plan.count.name or "n" if plan.cond is not None else plan.body.args[0].name or "i"
        self.index = Var(None, hint, joined=plan.cond is not None)
        self.stores: dict[Value, _Store] = {}
        #: the capacity of sequences that grow, and what it is at first
        self.room, self.first = Var(None, "room", joined=True), 0
        self.trips: ast.expr = load(self.index)

    def start(self, carry: Carry) -> Var:
        low, var = self.low, Var(carry.arg.type, carry.arg.name or carry.result.name, joined=True)
        operand = low.env[carry.init]
        mine = isinstance(operand, Var) and operand.whole and not operand.foreign and len(low.uses[carry.init]) == 1
        if isinstance(operand, Var) and not mine and self.plan.may_be_overwritten(carry):
            # One copy before the loop, so that every trip can write into it.
            low.run(assign(store(var), call("np.array", low.tree(carry.init), order=constant("C"))))
        else:
            low.copy(var, operand)
        return var

    def open(self) -> None:
        low, plan = self.low, self.plan
        if plan.cond is None:
            operand = low.env[plan.count]
            known = isinstance(operand, Splat)
            self.trips = number(max(int(operand.value), 0)) if known else low.tree(plan.count)  # type: ignore[union-attr]
            room = self.trips if known else call("max", self.trips, number(0))
        else:
            self.first, room = _first_room(out.type for out, _ in plan.collected), load(self.room)
            if self.first:
                low.run(assign(store(self.room), number(self.first)))
        for _, result in plan.collected:
            self.stores[result] = _Store(low, result, room, growing=plan.cond is not None, backwards=plan.reverse)

    def head(self) -> tuple[Sequence[Var], ast.expr]:
        if not self.plan.reverse:
            return [self.index], call("range", self.trips)
        last = ast.BinOp(left=self.trips, op=ast.Sub(), right=number(1))
        return [self.index], call("range", last, number(-1), number(-1))

    def begin(self) -> None:
        """The trip's index as a value and its elements of the sequences; more room, if all of it is used."""
        low, plan = self.low, self.plan
        if plan.index is not None:
            var = Var(plan.index.type, plan.index.name or "i")
            low.env[plan.index] = var
            low.run(assign(store(var), call("np.int64", load(self.index))))
        for x, arg in plan.elements:
            var = Var(arg.type, arg.name or "x", foreign=True)
            if var.nbytes >= low.code.reuse_bytes:
                low.show(var, low.env[x])
            low.env[arg] = var
            tree = _element(low, low.tree(x), arg.type, self.index)
            if x in low.undefined:  # a condition in the loop tells whether an element is there
                test = ast.Compare(left=low.tree(x), ops=[ast.Is()], comparators=[none()])
                tree = ast.IfExp(test=test, body=none(), orelse=tree)
            low.run(assign(store(var), tree))
        if self.first:
            self._grow()

    def _grow(self) -> None:
        """Grows all sequences of a loop, which have equal capacity, by an eighth when it is used up."""
        low, room = self.low, self.room
        with low.into([]) as body:
            eighth = ast.BinOp(left=load(room), op=ast.FloorDiv(), right=number(8))
            more = ast.BinOp(left=eighth, op=ast.Add(), right=number(self.first))
            low.run(ast.AugAssign(target=store(room), op=ast.Add(), value=more))
            for sequence in self.stores.values():
                sequence.grow(room)
        test = ast.Compare(left=load(self.index), ops=[ast.Eq()], comparators=[load(room)])
        low.branch(test, body, [])

    def push(self, out: Value, result: Value) -> None:
        self.stores[result].push(self.index, out)

    def close(self) -> None:
        low, plan = self.low, self.plan
        trips = self.trips
        if plan.cond is None and not isinstance(trips, ast.Constant):
            trips = call("max", trips, number(0))
        for result, sequence in self.stores.items():
            sequence.close(trips)
            sequence.bind(result)
        if plan.cond is not None and low.uses.get(plan.count):
            low.run(assign(store(low.target(plan.count, "n")), call("np.int64", load(self.index))))


LOWERINGS.update(dict.fromkeys(("while", "scan"), lambda low, op: _Loop(low, op).write()))
