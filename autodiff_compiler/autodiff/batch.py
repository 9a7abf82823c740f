"""Batching: the ops of a `vmap` emitted once, for all examples together.

A value that depends on the operands gets a leading dimension with one entry per example; any other is computed once, as
it stands, unless it has a derivative rule of a user's.  Axes are counted from the end, so most ops accept one more
leading dimension as they are; the type of their result tells whether they did.  The others have a `batch` rule.  Where
that gives up too, or examples take different branches, the op runs example by example in a `scan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import CompileError
from ..ir.build import Builder
from ..ir.core import Block, Module, Op, Value
from ..ir.primitive import REGISTRY, Context, Effect, F
from ..ir.types import Seq, Size, TensorType, Type, seq
from ..ir.walk import Cloner, callee_of, free_values, inline, late_ops, unpack
from ..primitives.autodiff import OF_USERS, with_leading
from ..primitives.control import COUNT, Scan

#: Ops with an effect that run once for all examples: they stop the program or read a status; no order matters.
_CHECKS = frozenset({"check_exponent", "check_index", "check_solved", "without_overflow"})


class _Unbatchable(Exception):
    """An op that can neither take a leading dimension nor run alone in a loop over the examples."""


def changes_something(op: Op) -> bool:
    """Whether running an op has an effect that users see, so that one run per example must stay one run per example."""
    return any(
        each.defn.effect > Effect.READ and each.defn.name not in _CHECKS and not each.defn.collective
        for each in (op, *late_ops(op))
    )


def _has_rules(op: Op, module: Module) -> bool:
    """Whether an op, or a function it calls, holds users' derivative rules: they are batched even for shared operands.

    A user's rule need not be linear: for the cotangent summed over the examples it may give another result.
    """
    called = set[str]()
    todo = [op]
    while todo:
        op = todo.pop()
        if op.defn.name in OF_USERS:
            return True
        callee = callee_of(op)
        if callee is not None and callee not in called:
            called.add(callee)
            todo += module.functions[callee].body.ops
        todo += [inner for block in op.blocks for inner in block.ops]
    return False


def batched(builder: Builder, block: Block, operands: Sequence[Value], size: Size) -> list[Value]:
    """Emits what a block computes for every slice of the operands along their first dimension; the results stacked."""
    attempt = builder.nested()
    run = _Batcher(attempt, size)
    run.mapping.update(zip(block.args, operands, strict=True))
    run.examples.update(block.args)
    try:
        run.clone_ops(block)
        outs = [run.lifted(x) for x in block.outs]
    except _Unbatchable:
        return one_by_one(builder, operands, lambda inner, slices: inline(inner, block, slices), size)
    unpack(builder, attempt.block, ())
    return outs


def one_by_one(
    builder: Builder, operands: Sequence[Value], emit: Callable[[Builder, Sequence[Value]], Sequence[Value]], size: Size
) -> list[Value]:
    """A loop over the examples: `emit` gets the builder of its body and the slices of the operands."""
    with builder:
        count = builder.const(size, COUNT) if isinstance(size, int) else F.shape_of(operands[0], axis=-operands[0].ndim)
        sequences = [F.to_seq(x) for x in operands]
    body = builder.nested([COUNT, *(s.type.elem for s in sequences)], ["i", *(x.name for x in operands)])
    body.ret(*emit(body, body.block.args[1:]))
    results = builder.emit_op(Scan, (count, *sequences), (0, False), (body.block,)).results
    with builder:
        return [F.from_seq(r, length=size) for r in results]


class _OneByOne(Cloner):
    """Copies an op that runs example by example: all its results are stacked, so `undef` needs bytes here."""

    def clone_op(self, op: Op) -> None:
        if op.defn.name == "undef" and isinstance(op.attrs[0], TensorType):
            self.mapping[op.results[0]] = self.builder.const(0, op.attrs[0])
        else:
            super().clone_op(op)


class _Batcher(Cloner):
    """Copies ops; `examples` are the old values whose copies have the leading dimension."""

    def __init__(self, builder: Builder, size: Size) -> None:
        super().__init__(builder)
        self.size = size
        self.examples: set[Value] = set()

    def nested(self, builder: Builder) -> _Batcher:
        inner: _Batcher = object.__new__(_Batcher)
        Cloner.__init__(inner, builder, self.mapping)
        inner.size, inner.examples = self.size, self.examples
        return inner

    # ------------------------------------------------------------------------------------------------ values
    def lifted(self, x: Value) -> Value:
        """The copy of an old value, with the leading dimension whether it depends on the example or not."""
        found = self.mapping.get(x, x)
        return found if x in self.examples else self._stretched(self.builder, found)

    def _stretched(self, builder: Builder, x: Value) -> Value:
        type = self._type(x.type)
        with builder:
            if x.op is not None and x.op.defn.name in ("undef", "no_cotangent", "missing_cotangent"):  # of any type
                return builder.emit(x.op.defn, (), (type, *x.op.attrs[1:]))  # type: ignore[no-any-return]
            if isinstance(x.type, TensorType):
                return F.broadcast_to(x, shape=type.shape)  # type: ignore[no-any-return,attr-defined]
            trip = builder.nested([COUNT, x.type.elem], ["i", "x"])  # type: ignore[attr-defined]
            trip.ret(self._stretched(trip, trip.block.args[1]))
            return builder.emit_op(Scan, (F.seq_len(x), x), (0, False), (trip.block,)).results[0]

    def _type(self, type: Type) -> Type:
        """The type with the leading dimension; a sequence holds one element of all examples per trip."""
        if isinstance(type, TensorType):
            return with_leading(type, self.size)
        if isinstance(type, Seq):
            return seq(self._type(type.elem))
        raise _Unbatchable

    def _mark(self, values: Sequence[Value], flags: Sequence[bool]) -> None:
        """Notes which values have the leading dimension; the body of a loop is copied again until that is stable."""
        self.examples.difference_update(values)
        self.examples.update(v for v, flag in zip(values, flags, strict=True) if flag)

    def _ends(self, outs: Sequence[Value], flags: Sequence[bool]) -> list[Value]:
        return [self.lifted(x) if flag else self.mapping.get(x, x) for x, flag in zip(outs, flags, strict=True)]

    # ------------------------------------------------------------------------------------------------ plain ops
    def clone_op(self, op: Op) -> None:
        if op.defn.collective and op.results:
            self._together(op)
            return
        if op.defn.infer_blocks is not None or not any(x in self.examples for x in op.operands):
            self.examples.difference_update(op.results)
            super().clone_op(op)
            return
        if changes_something(op):
            raise _Unbatchable
        builder = self.builder
        builder.loc = op.loc
        container = _CONTAINERS.get(op.defn.name)
        found = container(self, op) if container is not None else self._all_at_once(op)
        if found is None:
            found = self._one_by_one(op)
        self.map_results(op, found)
        self._mark(op.results, [v.type is not self.renamed(r.type) for v, r in zip(found, op.results, strict=True)])

    def _together(self, op: Op) -> None:
        """A collective, with examples in all operands: in another process they may depend on the example."""
        self.builder.loc = op.loc
        operands = [self.lifted(x) for x in op.operands]
        defn, attrs = op.defn, self.renamed(op.attrs)
        if defn.batch is None:
            found = self.builder.emit(defn, tuple(operands), attrs)
        else:
            context = Context(defn, attrs, op.results, tuple([True for _ in operands]))
            found = defn.batch(context, self.size, *operands)
        self.map_results(op, found if isinstance(found, tuple | list) else (found,))
        self._mark(op.results, [True for _ in op.results])

    def _all_at_once(self, op: Op) -> Sequence[Value] | None:
        """The op applied to all examples at once; None if it refuses, or its results are not stacked."""
        defn = op.defn
        try:
            if defn.batch is not None:
                flags = tuple([x in self.examples for x in op.operands])
                operands = [self.mapping.get(x, x) for x in op.operands]
                found = defn.batch(Context(defn, self.renamed(op.attrs), op.results, flags), self.size, *operands)
            else:
                attrs = self.renamed(op.attrs)
                wanted = tuple([self._type(self.renamed(r.type)) for r in op.results])
                given = tuple([self._type(self.renamed(x.type)) for x in op.operands])
                if defn.infer_types(given, attrs) != wanted:
                    return None
                found = self.builder.emit(defn, tuple(map(self.lifted, op.operands)), attrs)
        except CompileError:  # the op refuses the larger operands
            return None
        return found if found is None or isinstance(found, tuple | list) else (found,)

    def _one_by_one(self, op: Op) -> list[Value]:
        """A loop over the examples around one op."""
        mentioned = dict.fromkeys([*op.operands, *(v for block in op.blocks for v in free_values(block))])
        sliced = [x for x in mentioned if x in self.examples]
        if not all(isinstance(x.type, TensorType) for x in [*sliced, *op.results]):
            raise _Unbatchable
        if not sliced and not isinstance(self.size, int):
            raise _Unbatchable  # nothing here tells how many examples there are

        def emit(inner: Builder, slices: Sequence[Value]) -> list[Value]:
            plain = _OneByOne(inner, self.mapping | dict(zip(sliced, slices, strict=True)))
            with inner:
                plain.clone_op(op)
            return [plain.mapping[r] for r in op.results]

        return one_by_one(self.builder, [self.mapping.get(x, x) for x in sliced], emit, self.size)

    # ------------------------------------------------------------------------------------------------ structured ops
    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        inner = (v for block in op.blocks for v in free_values(block))
        if not any(x in self.examples for x in (*op.operands, *inner)) and not _has_rules(op, self.builder.module):
            return super().clone_structured(op, operands)
        rules = {
            "if": self._if, "while": self._while, "scan": self._scan,
            "custom_vjp": self._custom_rule, "grad_map": self._custom_rule,
        }  # fmt: skip
        rule = rules.get(op.defn.name)
        try:
            found = None if rule is None else rule(op, operands)
        except _Unbatchable:
            found = None
        if found is None:
            found = self._one_by_one(op)
            self.examples.update(op.results)
        return found

    def _block(self, args: Sequence[Value], flags: Sequence[bool]) -> _Batcher:
        """The batcher of a block whose arguments have the leading dimension where flagged."""
        own = [self.renamed(a.type) for a in args]
        types = [self._type(t) if flag else t for t, flag in zip(own, flags, strict=True)]
        inner = self.nested(self.builder.nested(types, [a.name for a in args]))
        self.mapping.update(zip(args, inner.builder.block.args, strict=True))
        self._mark(args, flags)
        return inner

    def _if(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if op.operands[0] in self.examples:
            return None
        arms = [self._block((), ()) for _ in op.blocks]
        for arm, block in zip(arms, op.blocks, strict=True):
            arm.clone_ops(block)
        flags = [any(x in self.examples for x in ends) for ends in zip(*(b.outs for b in op.blocks), strict=True)]
        blocks = [arm.builder.ret(*arm._ends(b.outs, flags)) for arm, b in zip(arms, op.blocks, strict=True)]
        self._mark(op.results, flags)
        return self.builder.emit_op(op.defn, operands, op.attrs, blocks).results

    def _carried(self, body: Block, first: list[bool], count: int, rest: list[bool]) -> tuple[list[bool], _Batcher]:
        """Which carries of a loop come to depend on the example, and the body copied accordingly.

        The body takes the index, if it has one, between no carries and the carries: `first` flags the carries to
        begin with, `rest` the elements.
        """
        at = len(body.args) - count - len(rest)
        flags = first
        while True:
            trip = self._block(body.args, [False] * at + flags + rest)
            trip.clone_ops(body)
            following = [flag or x in self.examples for flag, x in zip(flags, body.outs, strict=False)]
            if following == flags:
                return flags, trip
            flags = following

    def _while(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        cond, body = op.blocks
        k = len(operands)
        flags, trip = self._carried(body, [x in self.examples for x in op.operands], k, [])
        test = self._block(cond.args, flags)
        test.clone_ops(cond)
        if cond.outs[0] in self.examples:
            return None
        test.builder.ret(*test._ends(cond.outs, [False]))
        collected = [x in self.examples for x in body.outs[k:]]
        trip.builder.ret(*trip._ends(body.outs, flags + collected))
        blocks = (test.builder.block, trip.builder.block)
        self._mark(op.results, [False, *flags, *collected])
        return self.builder.emit_op(op.defn, self._ends(op.operands, flags), op.attrs, blocks).results

    def _scan(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        (body,), k = op.blocks, op.attrs[0]
        given = [x in self.examples for x in op.operands]
        if given[0]:
            return None
        flags, trip = self._carried(body, given[1 : 1 + k], k, given[1 + k :])
        collected = [x in self.examples for x in body.outs[k:]]
        trip.builder.ret(*trip._ends(body.outs, flags + collected))
        ins = self._ends(op.operands, [False, *flags, *given[1 + k :]])
        self._mark(op.results, flags + collected)
        return self.builder.emit_op(op.defn, ins, op.attrs, (trip.builder.block,)).results

    def _custom_rule(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        """A user's derivative rule: every operand and result of its blocks gets the leading dimension."""
        blocks = []
        for block in op.blocks:
            run = self._block(block.args, [True] * len(block.args))
            run.clone_ops(block)
            blocks.append(run.builder.ret(*map(run.lifted, block.outs)))
        self._mark(op.results, [True] * len(op.results))
        return self.builder.emit_op(op.defn, tuple(map(self.lifted, op.operands)), op.attrs, blocks).results


# ---------------------------------------------------------------------------------------------------- sequences
def _swapped_axes(x: Value) -> Value:
    n = x.ndim
    return F.transpose(x, axes=(1 - n, -n, *range(2 - n, 0)))  # type: ignore[no-any-return]


def _to_seq(run: _Batcher, op: Op) -> list[Value]:
    return [F.to_seq(_swapped_axes(run.lifted(op.operands[0])))]


def _from_seq(run: _Batcher, op: Op) -> list[Value]:
    return [_swapped_axes(F.from_seq(run.lifted(op.operands[0]), length=op.attr("length")))]


def _seq_len(run: _Batcher, op: Op) -> list[Value]:
    return [F.seq_len(run.mapping[op.operands[0]])]


def _seq_add(run: _Batcher, op: Op) -> list[Value]:
    return [F.seq_add(*map(run.lifted, op.operands))]


def _again(run: _Batcher, op: Op) -> Sequence[Value]:
    """As `_custom_rule` batches what it stands for: every operand and result gets the leading dimension."""
    label, types = op.attrs
    batched_types = tuple([run._type(run.renamed(t)) for t in types])
    return run.builder.emit(op.defn, tuple(map(run.lifted, op.operands)), (label, batched_types))  # type: ignore[no-any-return]


_CONTAINERS: dict[str, Callable[[_Batcher, Op], Sequence[Value]]] = {
    "to_seq": _to_seq, "from_seq": _from_seq, "seq_len": _seq_len, "seq_add": _seq_add,
    "again": _again,
}  # fmt: skip
assert _CONTAINERS.keys() <= REGISTRY.keys()
