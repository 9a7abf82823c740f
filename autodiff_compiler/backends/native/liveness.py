"""How much memory the values of a program need at the same time, whatever the plan of its arena is.

A backward analysis over the ops in the order in which they are written.  It knows which values lie in memory of the call
(those that stay in a fused loop do not, nor do arguments, results, constants and single numbers), but neither where nor
for how long the plan keeps them there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ...ir.core import Block, Op, Value
from ...ir.walk import free_values
from .arena import aligned
from .lower import Lowering, Step
from .overwriting import CHANGE
from .values import Array, Buffer, Sequence
from .waiting import VIEWS

__all__ = ["most_alive"]

#: Ops whose results lie where their operands do, if they lie in the same buffer.
_SAME = VIEWS | {"diagonal", "to_seq", "from_seq", "without_overflow", "flatten"}

#: Values that lie in memory of the call, each for all that lie in the same bytes.
_Live = frozenset[Value]
_NONE: _Live = frozenset()


def most_alive(low: Lowering) -> int:
    """The bytes of the values that are alive at the worst step of a written program, and of what a frame begins with.

    At a step are alive what it reads, what it makes, and what is read later.  What a fused loop makes element by
    element takes no room where as many bytes of an operand that it reads element by element are read no more; an op
    that changes elements of an operand takes none if that is not read later.  In a loop everything from before it that
    it reads is alive, and of what goes from trip to trip this version until it is read no more, the next one from where
    it is made.  Of the arms of an `if` one runs.  What a kernel works in counts at its step.
    """
    return low.frame_start + _Liveness(low).entry()


class _Liveness:
    def __init__(self, low: Lowering) -> None:
        self.low = low
        self._places: dict[Value, _Live] = {}
        self._sizes: dict[Value, int] = {}
        #: carries of which one version lies where a result does: the versions, and how many bytes that saves
        self.spared: list[tuple[_Live, int]] = []
        #: what loops collect right into an array
        self.rows: set[Buffer] = set()
        self.work = self._work()
        self.peak = 0

    def entry(self) -> int:
        entry = self.low.module.entry
        self._block(entry.body, self._union(entry.outs))
        return self.peak

    def _work(self) -> Counter[int]:
        """By tick the bytes that belong to no value, and are needed by nothing else."""
        owned = {root for operand in self.low.env.values() for root in getattr(operand, "roots", ())}
        found: Counter[int] = Counter()
        for b in self.low.buffers:
            if b not in owned and b.first == b.last and b.result is None:
                found[b.first] += aligned(b.nbytes)
        return found

    # ------------------------------------------------------------------------------------------- where values lie
    def places(self, x: Value) -> _Live:
        """What is alive if a value is."""
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
        if name == "tuple_make":
            return self._union(op.operands)
        if name == "tuple_get":
            made = op.operands[0].owner
            whole = isinstance(made, Op) and made.defn.name == "tuple_make"
            return self.places(made.operands[op.attr("index")]) if whole else self.places(op.operands[0])  # type: ignore[union-attr]
        if not isinstance(operand, Array | Sequence):
            return _NONE
        roots = [r for r in operand.roots if r.argument is None and not r.virtual and not self._leaves(r)]
        if not roots or (isinstance(operand, Array) and self.rows.issuperset(roots)):
            return _NONE
        if name in _SAME and getattr(self.low.env.get(op.operands[0]), "roots", None) == operand.roots:
            return self.places(op.operands[0])
        self._sizes[x] = aligned(max(r.nbytes for r in roots))
        return frozenset([x])

    def _leaves(self, root: Buffer) -> bool:
        return root.result is not None and root.result not in self.low.beside

    def _bytes(self, live: _Live) -> int:
        total = sum(self._sizes[x] for x in live)
        return total - sum(min(most, sum(self._sizes[x] for x in live & versions)) for versions, most in self.spared)

    # ------------------------------------------------------------------------------------------- steps
    def _block(self, block: Block, live: _Live) -> _Live:
        """What is alive before a block if that is what is alive after it."""
        for step in reversed(self.low.steps.get(block, ())):
            op = step.ops[0]
            if op.defn.name in ("scan", "while"):
                live = self._loop(op, live)
            elif op.defn.name == "if":
                live = self._if(op, live)
            else:
                live = self._step(step, live)
        return live

    def _step(self, step: Step, after: _Live) -> _Live:
        ops = step.ops
        results = [r for op in ops for r in op.results]
        operands = dict.fromkeys(x for op in ops for x in op.operands if x.owner not in ops)
        made = frozenset(r for r in results if r in self.places(r))
        read = self._union(operands)
        before = (after - made) | read
        over = self._written_over(step, made, {x for x in operands if self.places(x).isdisjoint(after)})
        self.peak = max(self.peak, self._bytes(before | made) - over + self.work[step.tick])
        return before

    def _written_over(self, step: Step, made: _Live, dying: set[Value]) -> int:
        """The bytes of what is made where an operand was."""
        if step.fused:
            shapes = {r.shape for r in made}
            full = {y for x in dying if x.shape in shapes and self._in_order(x) for y in self.places(x)}
            spare, wanted = Counter(self._sizes[y] for y in full), Counter(self._sizes[r] for r in made)
            return sum(size * min(n, spare[size]) for size, n in wanted.items())
        (op, *_) = step.ops
        changes = op.defn.name in CHANGE and made and op.operands[0] in dying and self.places(op.operands[0])
        return sum(self._sizes[r] for r in made) if changes else 0

    def _in_order(self, x: Value) -> bool:
        operand = self.low.env.get(x)
        return isinstance(operand, Array) and operand.contiguous

    def _if(self, op: Op, after: _Live) -> _Live:
        through, before = after - frozenset(op.results), self.places(op.operands[0])
        for block in op.blocks:
            outs = [out for out, r in zip(block.outs, op.results, strict=True) if self.low.uses.get(r)]
            before |= self._block(block, through | self._union(outs))
        return before

    def _loop(self, op: Op, after: _Live) -> _Live:
        body, scan = op.blocks[-1], op.defn.name == "scan"
        count = op.attr("carries") if scan else len(op.operands)
        inits, args = (op.operands[1 : 1 + count], body.args[1 : 1 + count]) if scan else (op.operands, body.args)
        results = op.results if scan else op.results[1:]
        for x, arg in zip(op.operands[1 + count :], body.args[1 + count :], strict=True) if scan else ():
            self._places[arg] = self.places(x)
        for result in results[count:]:
            self.rows.update(r for r in getattr(self.low.env.get(result), "roots", ()) if not r.virtual)
        cond = [] if scan else op.blocks[0].args
        spared = len(self.spared)
        for i, (init, arg) in enumerate(zip(inits, args, strict=True)):
            self._places[arg] = self._carry(init, arg, body.outs[i], results[i])
            if cond:
                self._places[cond[i]] = self._places[arg]
        through = (after - frozenset(op.results)) | self._union(
            x for block in op.blocks for x in free_values(block)
        )
        before = self._block(body, through | self._union(body.outs[:count]) | self._union(results[count:]))
        if not scan:
            before = self._block(op.blocks[0], before | self._union(args))
        del self.spared[spared:]
        return through | self._union(op.operands)

    def _carry(self, init: Value, arg: Value, out: Value, result: Value) -> _Live:
        """Where a version is that a trip begins with."""
        if out is arg:
            return self.places(init)
        operand = self.low.env.get(arg)
        if not isinstance(operand, Array) or not any(not r.virtual for r in operand.roots):
            return _NONE
        self._sizes[arg] = aligned(max(r.nbytes for r in operand.roots))
        last = self.low.env.get(result)
        if isinstance(last, Array) and last.roots and all(map(self._leaves, last.roots)):
            self.spared.append((frozenset([arg]) | self.places(out), self._sizes[arg]))
        return frozenset([arg])
