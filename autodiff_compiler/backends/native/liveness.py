"""Liveness: a lower bound of the memory for values that any plan of the arena needs.

A backward analysis over the ops in their scheduled order.  It knows which values lie in the arena (those inside a fused
loop do not, nor do arguments, results, constants and scalars), but neither where nor how long the plan keeps them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ...ir.core import Block, Op, Value
from ...ir.walk import free_values
from .codegen.values import Array, Buffer, roots_of, size_of
from .codegen.values import Sequence as Elements
from .fusion.deferral import VIEWS
from .lower import Lowering
from .memory.arena import aligned
from .memory.buffer_plan import Step
from .memory.overwriting import CHANGE

__all__ = ["most_alive"]

#: Ops whose results alias their operands, if they lie in the same buffer.
_SAME = VIEWS | {"diagonal", "to_seq", "from_seq", "without_overflow", "flatten"}

#: Live values of the arena: one representative for each set of aliases.
_Live = frozenset[Value]
_NONE: _Live = frozenset()


def most_alive(low: Lowering) -> int:
    """The bytes alive at the worst step of a lowered program, with the frame's header.

    No plan needs less with the ops in this order.  Alive at a step are its operands, its results, and what is read
    later.  A fused loop may write a result in place over an operand of the same size that dies there; an op that
    changes elements, over an operand that dies.  Of the arms of an `if` one runs, and a result is one array from the
    end of the `if` on, also where an arm yields a scalar.  In a loop all that it reads from before it is alive, and of
    a carry this version until its last use, the next one from where it is written.  Scratch memory of a kernel counts
    at its step.
    """
    return low.frame_start + _Liveness(low).entry()


class _Liveness:
    def __init__(self, low: Lowering) -> None:
        self.low = low
        self._places: dict[Value, _Live] = {}
        self._sizes: dict[Value, int] = {}
        #: buffers that loops collect rows into directly
        self.rows: set[Buffer] = set()
        self.work = self._work()
        self.peak = 0

    def entry(self) -> int:
        entry = self.low.module.entry
        self._enter(entry.body)
        self._block(entry.body, self._union(entry.outs))
        return self.peak

    def _work(self) -> Counter[int]:
        """By tick the bytes of scratch memory: buffers of one step that belong to no value."""
        owned = {root for operand in self.low.env.values() for root in getattr(operand, "roots", ())}
        found: Counter[int] = Counter()
        for b in self.low.buffers:
            if b not in owned and b.first == b.last and b.result is None:
                found[b.first] += aligned(b.nbytes)
        return found

    # ------------------------------------------------------------------------------------------- where values lie
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
        if name == "tuple_make":
            return self._union(op.operands)
        if name == "tuple_get":
            made = op.operands[0].owner
            whole = isinstance(made, Op) and made.defn.name == "tuple_make"
            return self.places(made.operands[op.attr("index")]) if whole else self.places(op.operands[0])  # type: ignore[union-attr]
        if not isinstance(operand, Array | Elements) or (isinstance(operand, Array) and 0 in operand.shape):
            return _NONE
        roots = [r for r in operand.roots if r.argument is None and not r.virtual and not self._leaves(r)]
        if not roots or (isinstance(operand, Array) and self.rows.issuperset(roots)):
            return _NONE
        if name in _SAME and getattr(self.low.env.get(op.operands[0]), "roots", None) == operand.roots:
            return self.places(op.operands[0])
        self._sizes[x] = aligned(max(r.nbytes for r in roots))
        if name == "if":
            outs = [b.outs[x.index] for b in op.blocks]
            if not any(y.block is b for y, b in zip(outs, op.blocks, strict=True)):
                return self._union(outs)  # nobody writes it
        return frozenset([x])

    def _leaves(self, root: Buffer) -> bool:
        return root.result is not None and root.result not in self.low.shadows

    def _bytes(self, live: _Live) -> int:
        return sum(self._sizes[x] for x in live)

    # ------------------------------------------------------------------------------------------- steps
    def _block(self, block: Block, live: _Live) -> _Live:
        """What is alive before a block; `live`: after it."""
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
        """The bytes of results that can be written in place over a dying operand."""
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
        self.peak = max(self.peak, self._bytes(after))  # scalars that an arm yields become arrays in no step of it
        through, before = after - frozenset(op.results), self.places(op.operands[0])
        for block in op.blocks:
            outs = [out for out, r in zip(block.outs, op.results, strict=True) if self.low.uses.get(r)]
            before |= self._block(block, through | self._union(outs))
        return before

    def _loop(self, op: Op, after: _Live) -> _Live:
        body, (inits, args, results) = op.blocks[-1], _carries(op)
        free = self._union(x for block in op.blocks for x in free_values(block))
        collected = self._union(x for x in op.results if x not in results)
        through = (after - self._union(results)) | free | collected | self._union(op.operands[len(inits) + 1 :])
        self._block(body, through | self._union(body.outs))
        if op.defn.name == "while":
            self._block(op.blocks[0], through | self._union(args))
        return (after - self._union(op.results)) | free | self._union(op.operands)

    # ------------------------------------------------------------------------------------------- loops
    def _enter(self, block: Block) -> None:
        """Finds the memory of the carries of a block's loops, before anybody asks for their places."""
        for op in (op for step in self.low.steps.get(block, ()) for op in step.ops if op.blocks):
            if op.defn.name in ("scan", "while"):
                self._bind(op)
            for inner in op.blocks:
                self._enter(inner)

    def _bind(self, op: Op) -> None:
        body = op.blocks[-1]
        inits, args, results = _carries(op)
        for result in op.results:
            if result not in results:
                self.rows.update(r for r in roots_of(self.low.env.get(result)) if not r.virtual)
        if op.defn.name == "scan":
            for x, arg in zip(op.operands[1 + len(args) :], body.args[1 + len(args) :], strict=True):
                self._places[arg] = self.places(x)
        for i, (init, arg, result) in enumerate(zip(inits, args, results, strict=True)):
            if body.outs[i] is arg:
                self._places[arg] = self._places[result] = self.places(init)
            else:
                self._versions(arg, body.outs[i], result)
            if op.defn.name == "while":
                self._places[op.blocks[0].args[i]] = self._places[arg]

    def _versions(self, arg: Value, out: Value, result: Value) -> None:
        """The memory of a carry's versions: one place each, or one for both where the next is written in place."""
        operand, last = self.low.env.get(arg), self.low.env.get(result)
        made = roots_of(self.low.env.get(out))
        self._places[arg] = self._places[result] = _NONE
        if not isinstance(operand, Array) or (made and all(r.virtual for r in made)):
            return
        size = aligned(size_of(operand.type))
        if not self._is_result(last):
            self._places[arg], self._places[result] = frozenset([arg]), frozenset([result])
            self._sizes.update({arg: size, result: size})
        elif not self._over(arg, out):
            self._places[arg], self._sizes[arg] = frozenset([arg]), size
        if self._is_result(last):
            self._places[out] = _NONE

    def _is_result(self, operand: object) -> bool:
        return isinstance(operand, Array) and bool(operand.roots) and all(map(self._leaves, operand.roots))

    def _over(self, arg: Value, out: Value) -> bool:
        """Whether the next version can be written in place: from there on only its own fused loop reads this one."""
        maker = out.owner
        if out is arg or not isinstance(maker, Op) or maker.parent is None:
            return out is arg
        steps = self.low.steps.get(maker.parent, ())
        found = next((n for n, step in enumerate(steps) if maker in step.ops), None)
        if found is None:
            return False
        inside = maker.defn.name == "if" and all(self._over(arg, block.outs[out.index]) for block in maker.blocks)
        if maker.blocks and not inside:
            return False
        read, todo = [arg], [arg]
        while todo:
            readers = [user for user, _ in self.low.uses.get(todo.pop(), ())]
            if any(
                isinstance(user, Block) and (user.parent is None or user.parent.defn.name != "if") for user in readers
            ):
                return False
            views = [r for op in readers if isinstance(op, Op) and op.defn.name in _SAME for r in op.results]
            read, todo = read + views, todo + views
        for step in steps[found + inside :]:
            needed = [x for op in step.ops for x in (*op.operands, *(y for b in op.blocks for y in free_values(b)))]
            fine = step is steps[found] and (step.fused or step.ops[0].defn.name in CHANGE)
            if any(x in needed and not (fine and x is arg) for x in read):
                return False
        return True


def _carries(op: Op) -> tuple[Sequence[Value], Sequence[Value], Sequence[Value]]:
    """The carries of a loop: initial values, arguments of its body, and results."""
    if op.defn.name == "while":
        return op.operands, op.blocks[-1].args, op.results[1 : 1 + len(op.operands)]
    count = op.attr("carries")
    return op.operands[1 : 1 + count], op.blocks[-1].args[1 : 1 + count], op.results[:count]
