"""The memory plan: last uses of values, aliases, and the dead bytes that a result may take over.

The plan is an analysis: it changes nothing, is printed behind the lines of its dump, and a backend follows as much of
it as suits it.  Values that share bytes form a class (`Primitive.view`); what came from outside (arguments, constants,
elements of sequences) is never overwritten, and what is pushed into a sequence or yielded lives on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import Effect
from ..ir.types import TensorType, dim_product
from ..ir.walk import free_values, ops_of
from .manager import Notes, module_pass

#: Ops whose results have no bytes of their own.
_SHARING = frozenset({"const", "undef", "tuple_get", "from_seq"})


@dataclass
class MemoryPlan:
    """Where the values of a function have their bytes.

    `shares`: a view to the value whose alias it is.  `dies`: an op to the values that have their last use there.
    `overwrites`: a result to the operand that dies there and that it may be computed in place of.  `takes`: a result to
    a value that died earlier in the same block and had as many bytes.  `owned`: carries of loops that are updated in
    place from trip to trip, so a loop must start from copies.
    """

    shares: dict[Value, Value] = field(default_factory=dict)
    dies: dict[Op, list[Value]] = field(default_factory=dict)
    overwrites: dict[Value, Value] = field(default_factory=dict)
    takes: dict[Value, Value] = field(default_factory=dict)
    owned: list[Value] = field(default_factory=list)

    def root(self, x: Value) -> Value:
        """The value that x is an alias of, itself if of none."""
        while x in self.shares:
            x = self.shares[x]
        return x


def memory_plan(function: Function) -> MemoryPlan:
    """The plan of one function."""
    plan = MemoryPlan()
    for op in ops_of(function.body):
        if op.defn.view is not None:
            plan.shares[op.results[0]] = _shown(op, op.defn.view)
    _plan_block(plan, function.body, set())
    return plan


def shown_by(x: Value) -> Value:
    """The value that x is a view of; itself, if it is no view."""
    while x.op is not None and x.op.defn.view is not None:
        x = _shown(x.op, x.op.defn.view)
    return x


def _shown(op: Op, view: str) -> Value:
    return op.operands[op.defn.operand_names.index(view)]


def _notes(function: Function, names: dict[Value, str]) -> Notes:
    plan = memory_plan(function)
    notes: dict[Op | Block, list[str]] = {}
    for result, x in plan.overwrites.items():
        assert isinstance(result.owner, Op)
        notes.setdefault(result.owner, []).append(f"in place of {names[x]}")
    for result, x in plan.takes.items():
        assert isinstance(result.owner, Op)
        notes.setdefault(result.owner, []).append(f"in the bytes of {names[x]}")
    for carry in plan.owned:
        assert isinstance(carry.owner, Block)
        assert carry.owner.parent is not None
        notes.setdefault(carry.owner.parent, []).append(f"{names[carry]} in place after a copy")
    for op, values in plan.dies.items():
        notes.setdefault(op, []).append(f"frees {', '.join(names[x] for x in values)}")
    return {where: "; ".join(texts) for where, texts in notes.items()}


@module_pass("plan_memory", _notes)
def plan_memory(module: Module) -> Module:
    """The module as it is: its dump shows the plan, which `memory_plan` makes for whoever asks."""
    return module


def _plan_block(plan: MemoryPlan, block: Block, owned: set[Value]) -> None:
    """Plans a block; of its arguments only `owned` ones may be overwritten, of the values around it none."""
    mine = owned | _made(block)
    last: dict[Value, Op] = {}
    for op in block.ops:
        for x in (*op.operands, *(y for inner in op.blocks for y in free_values(inner)), *op.results):
            last[plan.root(x)] = op
    escaping = _escaping(plan, block)
    ends: dict[Op, list[Value]] = {}
    for x, op in last.items():
        if x in mine and x not in escaping:
            ends.setdefault(op, []).append(x)
    outs = {plan.root(x) for x in block.outs}
    free: dict[int, list[Value]] = {}
    for op in block.ops:
        dead = ends.get(op, [])
        if op.blocks:
            _plan_inner(plan, op)
        else:
            _place(plan, op, dead, free, outs)
        taken = [plan.overwrites.get(r) for r in op.results]
        for x in dead:
            if x not in taken:
                free.setdefault(_bytes(x), []).append(x)
        if dead:
            plan.dies[op] = dead


def _made(block: Block) -> set[Value]:
    """The tensors whose bytes ops of this very block make."""
    return {
        x
        for op in block.ops
        if op.defn.view is None and op.defn.infer_blocks is None and op.defn.name not in _SHARING
        if op.defn.effect is Effect.PURE  # a host function or a check may return what it was given
        for x in op.results
        if isinstance(x.type, TensorType)
    }


def _escaping(plan: MemoryPlan, block: Block) -> set[Value]:
    """The values that escape: yielded, carried, passed on, or put into a container."""
    escaping = {plan.root(x) for x in block.outs}
    for op in block.ops:
        if op.defn.infer_blocks is not None or not all(isinstance(x.type, TensorType) for x in op.results):
            escaping.update(plan.root(x) for x in op.operands)
            for inner in op.blocks:
                escaping |= _escaping(plan, inner)
    return escaping


def _plan_inner(plan: MemoryPlan, op: Op) -> None:
    """Plans the blocks of an op; a carry is overwritten if every trip hands on bytes of its own."""
    first, count = (0, len(op.operands)) if op.defn.name == "while" else (1, op.attrs[0] if op.attrs else 0)
    for region, block in zip(op.defn.regions, op.blocks, strict=True):
        owned: set[Value] = set()
        if region == "body" and op.defn.name in ("while", "scan"):
            made, inner = _made(block), _held(plan, block)
            roots = [plan.root(x) for x in block.outs]
            for arg, out in zip(block.args[first : first + count], block.outs[:count], strict=True):
                fresh = (out in made or out is arg) and roots.count(out) == 1 and out not in inner
                if isinstance(arg.type, TensorType) and fresh:
                    owned.add(arg)
        _plan_block(plan, block, owned)
        overwritten = {plan.overwrites.get(r) for inside in block.ops for r in inside.results}
        plan.owned += [x for x in block.args if x in owned and x in overwritten]


def _held(plan: MemoryPlan, block: Block) -> set[Value]:
    """`_escaping` without what the block yields itself."""
    shell = Block()
    shell.ops = block.ops
    return _escaping(plan, shell)


def _place(plan: MemoryPlan, op: Op, dead: list[Value], free: dict[int, list[Value]], outs: set[Value]) -> None:
    """Finds a place for the result of an op: an operand that dies here, or bytes that died before."""
    if op.defn.view is not None or op.defn.name in _SHARING or len(op.results) != 1:
        return
    (result,) = op.results
    if not isinstance(result.type, TensorType):
        return
    for i, x in enumerate(op.operands):
        if x in dead and x.type is result.type and _may_overwrite(plan, op, i):
            plan.overwrites[result] = x
            return
    # A result that leaves the block lives longer than the next trip of a loop, which uses the same bytes again.
    pool = free.get(_bytes(result))
    if pool and _bytes(result) > 0 and result not in outs:
        plan.takes[result] = pool.pop()


def _may_overwrite(plan: MemoryPlan, op: Op, i: int) -> bool:
    defn, x = op.defn, op.operands[i]
    if defn.scalar is None and (defn.inplace is None or defn.operand_names[i] != defn.inplace):
        return False
    if defn.scalar is None:
        return op.operands.count(x) == 1 and all(y is x or plan.root(y) is not x for y in op.operands)
    # A view of the same bytes would be read at other places than those already written.
    return all(y is x or plan.root(y) is not x for y in op.operands)


def _bytes(x: Value) -> int:
    """How many bytes a tensor has; -1 if only run time knows."""
    assert isinstance(x.type, TensorType)
    size = dim_product(x.type.shape)
    return size * x.type.dtype.itemsize if isinstance(size, int) else -1
