"""Liveness: a lower bound of the arena, over all plans that keep the order of ops.

A backward data-flow analysis over the scheduled ops.  It uses which values lie in the arena (not those inside a fused
loop, nor arguments, results, constants and scalars), but neither their offsets nor how long the plan keeps them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ...ir.core import Block, Op, Value
from ...ir.loops import Loop
from ...ir.sizes import Size, usual
from ...ir.undefined import always_raises
from ...ir.walk import free_values
from .codegen.values import Array, Buffer, Operand, roots_of, size_of
from .codegen.values import Sequence as Elements
from .fusion.grouping import VIEWS
from .lower import Lowering
from .memory.arena import aligned
from .memory.buffer_plan import Step
from .memory.overwriting import CHANGE

#: Ops whose results alias their operands, if they lie in the same buffer.
_SAME = VIEWS | {"diagonal", "to_seq", "from_seq", "without_overflow", "flatten", "check_index"}

#: Live values of the arena: one representative for each set of aliases.
_Live = frozenset[Value]
_NONE: _Live = frozenset()


def most_alive(low: Lowering) -> int:
    """The most bytes live at one step of a lowered program, with the frame's header.

    Live at a step are its operands, its results, and what later steps read.  A fused loop may write a result in place
    over an operand of the same size that dies there; an op that updates elements, over an operand that dies.  Of the
    arms of an `if` one runs, and after one that raises nothing is live; a result is one array from the end of the `if`
    on, even if an arm yields a scalar.  What a loop reads from before it is live throughout; of a carry, this version
    until its last use and the next one from its definition, one of them in memory of the result that the carry becomes.
    A `commit` reads where it runs.  Scratch memory of a kernel counts at its step.
    """
    if low.alive is None:
        low.alive = low.frame_start + _Liveness(low).entry()
    return low.alive


class _Liveness:
    def __init__(self, low: Lowering) -> None:
        self.low = low
        self._places: dict[Value, _Live] = {}
        self._sizes: dict[Value, int] = {}
        #: results whose memory holds versions of carries
        self._turning: set[int | None] = set()
        #: for results of `if`s, the values that they may be
        self._choices: dict[Value, _Live] = {}
        #: for values that may lie in memory of results, which results
        self._results: dict[Value, set[int | None]] = {}
        #: next versions of carries, which may lie in memory of results or in the arena
        self._nexts: set[Value] = set()
        #: buffers whose rows loops collect directly
        self.rows: set[Buffer] = set()
        self.work = self._work()
        self.peak = 0

    def entry(self) -> int:
        entry = self.low.module.entry
        self._enter(entry.body)
        outs = self._union(entry.outs)
        self.peak = self._bytes(outs) + self.work[self.low.tick]  # results leave
        self._block(entry.body, outs)
        return self.peak

    def _work(self) -> Counter[int]:
        """Scratch memory by tick: buffers of one step that belong to no value."""
        owned = {root for operand in self.low.env.values() for root in getattr(operand, "roots", ())}
        found: Counter[int] = Counter()
        for b in self.low.buffers:
            if b not in owned and b.first == b.last and b.result is None:
                found[b.first] += _aligned(b.nbytes)
        return found

    # ------------------------------------------------------------------------------------------- aliases
    def places(self, x: Value) -> _Live:
        """The representatives of the memory that a value aliases."""
        if x not in self._places:
            self._places[x] = self._found(x)
        return self._places[x]

    def _union(self, values: Iterable[Value]) -> _Live:
        return _NONE.union(*map(self.places, values))

    def _found(self, x: Value) -> _Live:
        op, operand = x.owner, self.low.env.get(x)
        if not isinstance(op, Op):
            return _NONE  # an argument of the program; others are known from their loop
        name = op.defn.name
        if x.constant is not None:
            return _NONE  # a number: it fills an array where one is needed, at the latest when an arm ends
        if name == "tuple_make":
            return self._union(op.operands)
        if name == "tuple_get":
            made = op.operands[0].owner
            whole = isinstance(made, Op) and made.defn.name == "tuple_make"
            return self.places(made.operands[op.attr("index")]) if whole else self.places(op.operands[0])  # type: ignore[union-attr]
        if not isinstance(operand, Array | Elements) or (isinstance(operand, Array) and 0 in operand.shape):
            return _NONE
        roots = [r for r in operand.roots if r.argument is None and not r.virtual]
        if roots and all(map(self._leaves, roots)) and self._turning.issuperset(r.result for r in roots):
            self._results[x] = {r.result for r in roots}
        else:
            roots = [r for r in roots if not self._leaves(r)]
        if not roots or (isinstance(operand, Array) and self.rows.issuperset(roots)):
            return _NONE
        if name in _SAME and getattr(self.low.env.get(op.operands[0]), "roots", None) == operand.roots:
            return self.places(op.operands[0])
        self._sizes[x] = max(_aligned(root.nbytes) for root in roots)
        return frozenset([x])

    def _leaves(self, root: Buffer) -> bool:
        return root.result is not None and root.result not in self.low.shadows

    def _bytes(self, live: _Live) -> int:
        """The bytes of live values; a result of an `if` takes none beside live values that it may be."""
        chosen = live & self._choices.keys()
        several = live.difference(chosen).union(*map(self._choices.__getitem__, chosen))
        return min(self._lying(live), self._lying(several)) if chosen else self._lying(live)

    def _lying(self, live: _Live) -> int:
        """The bytes of values in the arena; memory of each result holds one that may lie there, large ones first."""
        leaving = [x for x in live if x in self._results]
        free = len(set[int | None]().union(*map(self._results.__getitem__, leaving)))
        there = sorted((self._sizes[x] for x in leaving), reverse=True)[:free]
        return sum(self._sizes[x] for x in live) - sum(there)

    # ------------------------------------------------------------------------------------------- steps
    def _block(self, block: Block, live: _Live) -> _Live:
        """The values live before a block; `live`: after it."""
        live |= self._pending(block)
        for step in reversed(self.low.steps.get(block, ())):
            op = step.ops[0]
            if op.defn.name in ("scan", "while"):
                live = self._loop(op, live) | self._pending(op)
            elif op.defn.name == "if":
                live = self._if(op, live) | self._pending(op)
            else:
                live = self._step(step, live | self._pending(op))
        return live

    def _pending(self, place: Op | Block) -> _Live:
        """The operands of pending `commit`s, which run at an op or at the end of a block."""
        return self._union(x for commit in self.low.pending.get(place, ()) for x in commit.operands)

    def _step(self, step: Step, after: _Live) -> _Live:
        ops = step.ops
        results = [r for op in ops for r in op.results]
        operands = dict.fromkeys(x for op in ops for x in op.operands if x.owner not in ops)
        made = frozenset(r for r in results if r in self.places(r))
        read = self._union(operands)
        before = (after - made) | read
        beside = made - self._written_over(step, made, {x for x in operands if self.places(x).isdisjoint(after)})
        self.peak = max(self.peak, self._bytes(before | beside) + self.work[step.tick])
        return before

    def _written_over(self, step: Step, made: _Live, dying: set[Value]) -> set[Value]:
        """Results that may be written in place; if surely in memory of results, over an operand that may lie there."""
        if step.fused:
            shapes = {r.shape for r in made}
            spare = {y for x in dying if x.shape in shapes and self._in_order(x) for y in self.places(x)}
        else:
            (op, *_) = step.ops
            spare = set(self.places(op.operands[0])) if op.defn.name in CHANGE and op.operands[0] in dying else set()
        over = set()
        for r in sorted(made, key=self._results.__contains__, reverse=True):
            leaves = r in self._results and r not in self._nexts
            fits = [y for y in spare if self._sizes[y] == self._sizes[r] and (self._may_leave(y) or not leaves)]
            if fits:
                spare.discard(min(fits, key=self._may_leave))
                over.add(r)
        return over

    def _may_leave(self, x: Value) -> bool:
        """Whether a value, or one that it may be, may lie in memory of a result."""
        return any(y in self._results for y in self._choices.get(x, (x,)))

    def _in_order(self, x: Value) -> bool:
        operand = self.low.env.get(x)
        return isinstance(operand, Array) and operand.contiguous

    def _if(self, op: Op, after: _Live) -> _Live:
        self.peak = max(self.peak, self._bytes(after))  # scalars that an arm yields become arrays in no step of it
        through, before = after - frozenset(op.results), self.places(op.operands[0])
        for block in op.blocks:
            outs = [out for out, r in zip(block.outs, op.results, strict=True) if self.low.uses.get(r)]
            left = _NONE if always_raises(block) else through | self._union(outs)
            before |= self._block(block, left)
        return before

    def _loop(self, op: Op, after: _Live) -> _Live:
        loop = Loop(op)
        free = self._union(x for block in op.blocks for x in free_values(block))
        whole = [*[result for _, result in loop.collected], *[xs for xs, _ in loop.elements]]
        through = (after - self._union(c.result for c in loop.carries)) | free | self._union(whole)
        # Collected elements are copied where they are computed.
        self._block(loop.body, through | self._union(c.next for c in loop.carries))
        if loop.cond is not None:
            self._block(loop.cond, through | self._union(c.arg for c in loop.carries))
        return (after - self._union(op.results)) | free | self._union(op.operands)

    # ------------------------------------------------------------------------------------------- loops
    def _enter(self, block: Block) -> None:
        """Finds the memory of carries and results of `if`s of a block, before `places` is called for others."""
        for op in (op for step in self.low.steps.get(block, ()) for op in step.ops if op.blocks):
            if op.defn.name in ("scan", "while"):
                self._bind(op)
            for inner in op.blocks:
                self._enter(inner)
            if op.defn.name == "if":
                for i, result in enumerate(op.results):
                    outs = [block.outs[i] for block in op.blocks]
                    if not any(self._writes(out, block) for out, block in zip(outs, op.blocks, strict=True)):
                        found = [self._choices.get(x, frozenset([x])) for x in self._union(outs)]
                        self._choices[result] = _NONE.union(*found)

    def _writes(self, out: Value, arm: Block) -> bool:
        """Whether an arm of an `if` computes what it yields: no view, and no value that may be one of several."""
        made = out.owner
        if not isinstance(made, Op) or made.defn.name in ("const", "undef"):
            return isinstance(made, Op) and made.defn.name == "const"
        return out.block is arm and out not in self._choices and self.places(out) <= {out}

    def _bind(self, op: Op) -> None:
        loop = Loop(op)
        for _, result in loop.collected:
            self.rows.update(r for r in roots_of(self.low.env.get(result)) if not r.virtual)
        for xs, arg in loop.elements:
            self._places[arg] = self.places(xs)
        for carry in loop.carries:
            if carry.next is carry.arg:
                self._places[carry.arg] = self._places[carry.result] = self.places(carry.init)
            else:
                self._versions(carry.arg, carry.next, carry.result, loop.body)
            self._places.update(dict.fromkeys(carry.args, self._places[carry.arg]))

    def _versions(self, arg: Value, out: Value, result: Value, body: Block) -> None:
        """Gives each version of a carry its own place, unless all lie in memory of arguments or records."""
        operand, last = self.low.env.get(arg), self.low.env.get(result)
        self._places[arg] = self._places[result] = _NONE
        if not isinstance(operand, Array) or _lies_elsewhere(self.low.env.get(out)):
            return
        size = _aligned(size_of(operand.type))
        self._places[arg], self._places[result] = frozenset([arg]), frozenset([result])
        self._sizes.update({arg: size, result: size})
        roots = roots_of(last)
        if roots and all(map(self._leaves, roots)):
            self._results[arg] = self._results[result] = {r.result for r in roots}
            if out.block is body and isinstance(out.owner, Op):
                self._results[out] = self._results[arg]
                self._nexts.add(out)
            self._turning |= self._results[arg]


def _aligned(nbytes: Size) -> int:
    """The bytes that a buffer takes in the frame; of one of a size that only a call knows, what it usually takes."""
    return usual(aligned(nbytes))


def _lies_elsewhere(operand: Operand | None) -> bool:
    """Whether an operand is an array in memory of arguments or records of loops."""
    if not isinstance(operand, Array) or operand.is_iota:
        return False
    return all(root.virtual or root.argument is not None for root in operand.roots)
