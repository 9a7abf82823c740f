"""Dead code elimination: ops, results of control flow, carries that feed only themselves, functions never called.

Liveness goes backwards from what a function returns and from its effects, one value at a time, so each value is
visited once however deep the loops are.  Reading a state and pure ops are dropped when unread; a loop without effects
is dropped even if it would not end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import Effect
from ..ir.sizes import symbol_of
from ..ir.walk import effect_of, ops_of, symbols_at
from .manager import module_pass


@module_pass("dce")
def dce(module: Module) -> Module:
    """The module without dead code; a function that has none is not copied."""
    memo: dict[str, Effect] = {}
    new = module.like()
    for name in _reachable(module):
        function = module.functions[name]
        live = _Liveness(function, module, memo)
        new.add(function if live.everything else _Copy(live).function(function))
    return new


def _reachable(module: Module) -> list[str]:
    """The names of the functions that the entry may call, in the order of the module."""
    names = {module.entry.name}
    pending = [module.entry]
    while pending:
        for op in ops_of(pending.pop().body):
            if op.defn.name == "call":
                name = op.attrs[0].removeprefix("@")
                if name not in names:
                    names.add(name)
                    pending.append(module.functions[name])
    return [name for name in module.functions if name in names]


class _Liveness:
    """Which ops and values of a function matter; `everything` if all ops, results and arguments of blocks do."""

    def __init__(self, function: Function, module: Module, memo: dict[str, Effect]) -> None:
        self.module, self.memo = module, memo
        self.values: set[Value] = set()
        self.ops: set[Op] = set()
        self.total = 0
        self.structured: list[Op] = []
        self._stack: list[Value] = []
        self._binders: list[Op] = []
        self._need(function.outs)
        self._effects(function.body)
        self._propagate()
        self._bind()
        self.everything = len(self.ops) == self.total and all(map(self._whole, self.structured))

    def _effects(self, block: Block) -> None:
        """Keeps the ops with effects, and counts them all."""
        self.total += len(block.ops)
        for op in block.ops:
            if op.defn.infer_blocks is not None:
                self.structured.append(op)
                for inner in op.blocks:
                    self._effects(inner)
                if op.defn.name not in ("call", "pull"):
                    continue
                if effect_of(op, self.module, self.memo) <= Effect.READ:
                    continue
            elif op.defn.effect <= Effect.READ:
                continue
            elif op.defn.name == "bind_size":
                self._binders.append(op)
                continue
            self._keep_with_owners(op)

    def _bind(self) -> None:
        """Keeps the ops that bind the symbols of data which live ops mention."""
        while self._binders:
            mentioned = {symbol for op in self.ops for symbol in symbols_at(op)}
            wanted = [op for op in self._binders if symbol_of(op.attrs[0]) in mentioned and op not in self.ops]
            if not wanted:
                return
            for op in wanted:
                self._keep_with_owners(op)
            self._propagate()

    def _keep_with_owners(self, op: Op | None) -> None:
        while op is not None and op not in self.ops:
            self._keep(op)
            op = op.parent.parent if op.parent is not None else None

    def _need(self, values: Iterable[Value]) -> None:
        for x in values:
            if x not in self.values:
                self.values.add(x)
                self._stack.append(x)

    def _keep(self, op: Op) -> None:
        self.ops.add(op)
        name = op.defn.name
        if name == "while":
            self._need(op.blocks[0].outs)
        elif name == "scan":
            self._need(op.operands[:1])
        else:
            self._need(op.operands)
            if name != "if":  # a derivative or call is an interface: its blocks keep all they yield
                for block in op.blocks:
                    self._need(block.outs)

    def _propagate(self) -> None:
        stack, values, ops = self._stack, self.values, self.ops
        while stack:
            x = stack.pop()
            owner = x.owner
            if not isinstance(owner, Op):
                if owner.parent is not None and owner.parent.defn.name in _LOOPS:
                    self._carry(owner.parent, x.index)
                continue
            if owner.defn.infer_blocks is None:
                if owner not in ops:
                    ops.add(owner)
                    for y in owner.operands:
                        if y not in values:
                            values.add(y)
                            stack.append(y)
                continue
            if owner not in ops:
                self._keep(owner)
            self._result(owner, x.index)

    def _result(self, op: Op, index: int) -> None:
        name = op.defn.name
        if name == "if":
            self._need([block.outs[index] for block in op.blocks])
        elif name == "while" and index > 0:
            self._trip(op.blocks[1], op.operands, index - 1)
        elif name == "scan":
            self._trip(op.blocks[0], op.operands[1 : 1 + op.attrs[0]], index)

    def _trip(self, body: Block, inits: Sequence[Value], index: int) -> None:
        """What result `index` (after the trip count) of a loop needs."""
        self._need(body.outs[index : index + 1])
        if index < len(inits):
            self._need((inits[index],))

    def _carry(self, op: Op, index: int) -> None:
        """What argument `index` of a loop's block needs."""
        if op.defn.name == "while":
            self._trip(op.blocks[1], op.operands, index)
        elif index > op.attrs[0]:
            self._need((op.operands[index],))
        elif index > 0:
            self._trip(op.blocks[0], op.operands[1 : 1 + op.attrs[0]], index - 1)

    # ------------------------------------------------------------------------------------------- what remains
    def results(self, op: Op) -> list[int]:
        """Which results of an op with blocks remain."""
        name, values = op.defn.name, self.values
        if name == "if":
            return [i for i, x in enumerate(op.results) if x in values]
        if name not in _LOOPS:
            return list(range(len(op.results)))
        first = _LOOPS[name]
        kept = [] if first else [0]
        for i, x in enumerate(op.results[1 - first :]):
            carried = i < _carries(op)
            if x in values or (carried and any(b.args[first + i] in values for b in op.blocks)):
                kept.append(i + 1 - first)
        return kept

    def elements(self, op: Op) -> list[int]:
        """Which of the sequences that a scan reads remain, as numbers of body arguments."""
        first = 1 + _carries(op)
        return [i for i, x in enumerate(op.blocks[0].args[first:], first) if x in self.values]

    def _whole(self, op: Op) -> bool:
        if len(self.results(op)) < len(op.results):
            return False
        return op.defn.name != "scan" or len(self.elements(op)) == len(op.blocks[0].args) - 1 - _carries(op)


#: Ops that carry values from trip to trip, and where the carries start among the arguments of their blocks.
_LOOPS = {"while": 0, "scan": 1}


def _carries(op: Op) -> int:
    return len(op.operands) if op.defn.name == "while" else int(op.attrs[0])


class _Copy:
    """Copies what is live, op by op: nothing is inferred or numbered again."""

    def __init__(self, live: _Liveness) -> None:
        self.live = live
        self.mapping: dict[Value, Value] = {}

    def function(self, function: Function) -> Function:
        return Function(function.name, self.block(function.body, function.args, function.outs), function.loc)

    def block(self, old: Block, args: Sequence[Value], outs: Sequence[Value]) -> Block:
        new = Block.like(args)
        mapping, live = self.mapping, self.live.ops
        mapping.update(zip(args, new.args, strict=True))
        append = new.ops.append
        for op in old.ops:
            if op not in live:
                continue
            if op.defn.infer_blocks is not None:
                copy = self._structured(op, new)
            else:
                operands = tuple([mapping[x] for x in op.operands])
                copy = Op(op.defn, operands, [x.type for x in op.results], op.attrs, (), op.loc, new)
                for x, y in zip(op.results, copy.results):  # noqa: B905 - the inner loop of every compilation
                    y.name, y.number = x.name, x.number
                    mapping[x] = y
            append(copy)
        new.outs = [mapping[x] for x in outs]
        return new

    def _map(self, old: Sequence[Value], new: Sequence[Value]) -> None:
        for x, y in zip(old, new, strict=True):
            y.name, y.number = x.name, x.number
            self.mapping[x] = y

    def _structured(self, op: Op, parent: Block) -> Op:
        name, attrs, operands = op.defn.name, op.attrs, op.operands
        results = self.live.results(op)
        if name == "if":
            blocks = [self.block(b, b.args, [b.outs[i] for i in results]) for b in op.blocks]
        elif name == "while":
            carries = [i - 1 for i in results[1:] if i <= len(operands)]
            cond, body = op.blocks
            blocks = [
                self.block(cond, [cond.args[i] for i in carries], cond.outs),
                self.block(body, [body.args[i] for i in carries], [body.outs[i - 1] for i in results[1:]]),
            ]
            operands = tuple(operands[i] for i in carries)
        elif name == "scan":
            carries = [i + 1 for i in results if i < attrs[0]]
            (body,) = op.blocks
            ins = [0, *carries, *self.live.elements(op)]
            blocks = [self.block(body, [body.args[i] for i in ins], [body.outs[i] for i in results])]
            operands = tuple(operands[i] for i in ins)
            attrs = (len(carries), *attrs[1:])
        else:
            blocks = [self.block(b, b.args, b.outs) for b in op.blocks]
        old = [op.results[i] for i in results]
        inputs = tuple([self.mapping[x] for x in operands])
        copy = Op(op.defn, inputs, [x.type for x in old], attrs, tuple(blocks), op.loc, parent)
        self._map(old, copy.results)
        return copy
