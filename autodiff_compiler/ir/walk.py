"""Going over the IR: uses, nested ops, effects, free values; and copying it into a builder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ..source import Loc
from .build import Builder, Rules
from .core import Block, Function, Module, Op, Value
from .definition import Effect
from .sizes import Dim, Size, Symbol, fresh, substitute, symbol_of, symbols_of
from .types import Link, Seq, TensorType, TupleType, link, seq, tensor, tuple_of

#: Who mentions a value (an op as an operand, a block among its outs) and at which position.
Use: TypeAlias = "tuple[Op | Block, int]"


def ops_of(block: Block) -> Iterator[Op]:
    """All ops of a block and of the blocks inside it; an op comes before its contents, in the order of the text."""
    stack = [iter(block.ops)]
    while stack:
        for op in stack[-1]:
            yield op
            if op.blocks:
                stack.extend(iter(b.ops) for b in reversed(op.blocks))
                break
        else:
            stack.pop()


def linearize_of(pull: Op) -> Op:
    """The op that made the link of a `pull`."""
    owner = pull.operands[0].owner
    assert isinstance(owner, Op)
    return owner


def late_ops(op: Op) -> Iterator[Op]:
    """The ops of the users' backward blocks that a `pull` runs, and no other op: those inside its `linearize`."""
    if op.defn.name != "pull":
        return
    for inner in ops_of(linearize_of(op).blocks[0]):
        yield from late_ops(inner)
        for region, block in zip(inner.defn.regions, inner.blocks, strict=True):
            if region == "bwd":
                yield from ops_of(block)


def count_ops(function: Function) -> int:
    """The number of ops, nested ones included."""
    return sum(1 for _ in ops_of(function.body))


def callee_of(op: Op) -> str | None:
    """The name of the function that a `call` calls; None for other ops."""
    if op.defn.name != "call":
        return None
    name: str = op.attrs[0]
    return name.removeprefix("@")


def reachable(module: Module) -> Iterator[str]:
    """The names of the functions that the entry reaches; a callee comes before its callers."""
    if not module.functions:
        return
    seen = {module.entry.name}
    stack = [(module.entry.name, callees(module.entry))]
    while stack:
        name, called = stack[-1]
        for callee in called:
            if callee not in seen:
                seen.add(callee)
                stack.append((callee, callees(module.functions[callee])))
                break
        else:
            stack.pop()
            yield name


def callees(function: Function) -> Iterator[str]:
    """The names of the functions that a function calls, once per call."""
    for op in ops_of(function.body):
        callee = callee_of(op)
        if callee is not None:
            yield callee


def uses(function: Function | Block) -> dict[Value, list[Use]]:
    """Who mentions each value, in the order of the text; a value nobody mentions has no entry."""
    found: dict[Value, list[Use]] = {}

    def visit(block: Block) -> None:
        for op in block.ops:
            for i, x in enumerate(op.operands):
                if x in found:
                    found[x].append((op, i))
                else:
                    found[x] = [(op, i)]
            for inner in op.blocks:
                visit(inner)
        for i, x in enumerate(block.outs):
            found.setdefault(x, []).append((block, i))

    visit(function.body if isinstance(function, Function) else function)
    return found


def free_values(block: Block) -> list[Value]:
    """The values a block mentions (or a block inside it) that are defined around it, in order of first mention."""
    known: set[Value] = set()  # defined inside, or already found
    free: list[Value] = []

    def mention(values: Sequence[Value]) -> None:
        for x in values:
            if x not in known:
                known.add(x)
                free.append(x)

    def visit(block: Block) -> None:
        known.update(block.args)
        for op in block.ops:
            mention(op.operands)
            for inner in op.blocks:
                visit(inner)
            known.update(op.results)
        mention(block.outs)

    visit(block)
    return free


def effect_of(op: Op, module: Module, memo: dict[str, Effect]) -> Effect:
    """What running an op does: the union of its own effect, its blocks' and those of the functions it calls.

    `memo` keeps the effects of functions by name; the caller owns it and drops it when the module changes.
    """
    if not op.blocks and op.defn.infer_blocks is None:
        return op.defn.effect
    effect = op.defn.effect
    for each in (op, *(inner for block in op.blocks for inner in ops_of(block))):
        effect = max(effect, each.defn.effect)
        if each.defn.name == "call":
            effect = max(effect, _effect_of_function(each.attrs[0].removeprefix("@"), module, memo))
        elif each.defn.name == "pull":  # what it may run stands in its `linearize`
            effect = max(effect, effect_of(linearize_of(each), module, memo))
    return effect


def _effect_of_function(name: str, module: Module, memo: dict[str, Effect]) -> Effect:
    known = memo.get(name)
    if known is not None:
        return known
    effect = Effect.PURE
    pending, seen = [name], {name}
    while pending:
        for op in ops_of(module.functions[pending.pop()].body):
            effect = max(effect, op.defn.effect)
            callee = callee_of(op)
            if callee is None:
                continue
            if callee in memo:
                effect = max(effect, memo[callee])
            elif callee not in seen:
                seen.add(callee)
                pending.append(callee)
    memo[name] = effect
    return effect


def is_met(op: Op) -> bool:
    """Whether an op is a collective of floats, whose derivative all processes take (`Definition.collective`)."""
    return op.defn.collective and any(
        isinstance(x.type, TensorType) and x.type.dtype.is_float for x in (*op.operands, *op.results)
    )


def meets(op: Op, module: Module) -> bool:
    """Whether an op is a collective of floats, or holds or calls one."""
    if not op.blocks and op.defn.name != "call":
        return op.defn.collective and is_met(op)
    called, pending = set[str](), [op]
    while pending:
        one = pending.pop()
        for each in (one, *(inner for block in one.blocks for inner in ops_of(block))):
            if is_met(each):
                return True
            callee = callee_of(each)
            if callee is not None and callee not in called:
                called.add(callee)
                pending += module.functions[callee].body.ops
    return False


# ------------------------------------------------------------------------------------------------------------ copying
class Cloner:
    """Emits copies of ops into a builder, which infers, folds, numbers and rewrites them again.

    `mapping` leads from old values to new ones; a value it does not know stands for itself (it lies around the copy).
    At `SIZES` it has the sizes that symbols of data have become.
    Names and locations are kept, `relocate` may change the latter.  Passes override `clone_op` or `clone_structured`
    for the ops they treat differently; nested blocks are copied by a cloner of the same class (`nested`).
    """

    def __init__(
        self,
        builder: Builder,
        mapping: dict[Any, Any] | None = None,
        relocate: Callable[[Loc | None], Loc | None] | None = None,
    ) -> None:
        self.builder = builder
        self.mapping: dict[Any, Any] = {} if mapping is None else mapping
        self.relocate = relocate

    def nested(self, builder: Builder) -> Cloner:
        """The cloner of a block inside; it shares the mapping."""
        return type(self)(builder, self.mapping, self.relocate)

    def clone_ops(self, block: Block) -> list[Value]:
        """Copies every op of a block; returns the new values of its outs."""
        builder, clone_op = self.builder, self.clone_op
        before = builder.loc
        with builder:
            for op in block.ops:
                clone_op(op)
        builder.loc = before
        mapping = self.mapping
        return [mapping.get(x, x) for x in block.outs]

    def clone_op(self, op: Op) -> None:
        """Copies one op and maps its results."""
        builder, mapping = self.builder, self.mapping
        builder.loc = op.loc if self.relocate is None else self.relocate(op.loc)
        operands = tuple([mapping.get(x, x) for x in op.operands])
        if op.defn.infer_blocks is not None:
            self.map_results(op, self.clone_structured(op, operands))
            return
        if op.defn.name == "bind_size":
            self._bind(op, *operands)
            return
        found = builder.emit(op.defn, operands, self.renamed(op.attrs))
        if found.__class__ is Value:
            old = op.results[0]
            mapping[old] = found
            if found.name is None and found.owner.__class__ is Op:
                found.named_after(old)
        elif found is not None:
            self.map_results(op, found)

    def _bind(self, op: Op, n: Value) -> None:
        """Binds a symbol of data in the copy: another one where this one is bound around it."""
        size, text = op.attrs
        symbol, sizes = symbol_of(size), self.mapping.get(SIZES, {})
        assert symbol is not None
        wanted = size
        if self.builder.binder_text(symbol) is not None:
            wanted = fresh(symbol.low, None if symbol.high is None else substitute(symbol.high, sizes))
        found: Size
        if n.constant is not None:
            found = int(n.constant)
        else:
            found = n.op.attrs[0] if n.made_by("size_value") else self.builder.bind_as(n, wanted, text)  # type: ignore[union-attr]
        self.mapping[op.results[0]] = n
        if found is not size or symbol in sizes:
            self.mapping[SIZES] = {**sizes, symbol: found}

    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        """Copies an op that owns blocks, or a call; returns the results of the copy."""
        blocks = [self.clone_block(b) for b in op.blocks]
        # A call cannot be inferred while the new module lacks its callee; the types follow from the operands'.
        unchanged = not blocks and all(x.type is y.type for x, y in zip(op.operands, operands, strict=True))
        types = [r.type for r in op.results] if unchanged else None
        return self.builder.emit_op(op.defn, operands, self.renamed(op.attrs), blocks, types).results

    def renamed(self, attrs: Any) -> Any:
        """Attributes, or a type, with the sizes that symbols of data have become in the copy."""
        return _replaced(attrs, self.mapping[SIZES]) if SIZES in self.mapping else attrs

    def clone_block(self, block: Block) -> Block:
        """The copy of a block inside the op being copied, to be owned by the new op."""
        builder = self.inner_builder(block)
        return builder.ret(*self.nested(builder).clone_ops(block))

    def inner_builder(self, block: Block) -> Builder:
        """The builder of the copy of a block inside, with its arguments."""
        builder = self.builder.nested_like(block.args)
        self.mapping.update(zip(block.args, builder.block.args, strict=True))
        for arg in builder.block.args:
            arg.type = self.renamed(arg.type)
        return builder

    def map_results(self, op: Op, results: Sequence[Value]) -> None:
        """Says which new values stand for the results of `op`; they inherit its names."""
        for old, new in zip(op.results, results, strict=True):
            self.mapping[old] = new
            if new.name is None and new.owner.__class__ is Op:
                new.named_after(old)


#: Where the mapping of a `Cloner` has the sizes that symbols of data have become.
SIZES = "sizes"


def _replaced(value: Any, by: Mapping[Symbol, Size]) -> Any:
    """An attribute, several, or a type, with other sizes in the place of symbols."""
    if isinstance(value, Dim):
        return substitute(value, by)
    if isinstance(value, tuple):
        return tuple([_replaced(part, by) for part in value])
    if isinstance(value, TensorType):
        known = all(d.__class__ is int for d in value.shape)
        return value if known else tensor(value.dtype, _replaced(value.shape, by))
    if isinstance(value, TupleType):
        return tuple_of(_replaced(value.elems, by))
    if isinstance(value, Seq):
        return seq(_replaced(value.elem, by))
    if isinstance(value, Link):
        return link(_replaced(value.ins, by), _replaced(value.outs, by))
    return value


def symbols_in(op: Op) -> Iterator[Symbol]:
    """The symbols of data that the attributes and result types of an op mention, not those of its blocks."""
    for value in (*op.attrs, *(x.type for x in op.results)):
        yield from symbols_of_type(value)


def symbols_at(op: Op) -> Iterator[Symbol]:
    """The symbols of data that an op mentions, or an argument of a block of it."""
    yield from symbols_in(op)
    for block in op.blocks:
        for arg in block.args:
            yield from symbols_of_type(arg.type)


def symbols_of_type(value: Any) -> Iterator[Symbol]:
    """The symbols of data in a type, or in an attribute."""
    if isinstance(value, Dim):
        yield from (s for s in symbols_of(value) if s.of_data)
    elif isinstance(value, tuple):
        for part in value:
            yield from symbols_of_type(part)
    elif isinstance(value, TensorType):
        for d in value.shape:
            if d.__class__ is Dim:
                yield from symbols_of_type(d)
    elif isinstance(value, TupleType | Link):
        for part in value.elems if isinstance(value, TupleType) else (*value.ins, *value.outs):
            yield from symbols_of_type(part)
    elif isinstance(value, Seq):
        yield from symbols_of_type(value.elem)


def inline(
    builder: Builder,
    block: Block,
    operands: Sequence[Value],
    mapping: dict[Any, Any] | None = None,
    caller: Loc | None = None,
) -> list[Value]:
    """Copies a block's ops into a builder with `operands` for its arguments; returns what it yields.

    With `caller`, every copied location gets that place at the outer end of its chain of calls.
    """
    mapping = {} if mapping is None else mapping
    mapping.update(zip(block.args, operands, strict=True))
    return Cloner(builder, mapping, None if caller is None else _called_from(caller)).clone_ops(block)


def splice(block: Block, target: Block, mapping: Mapping[Value, Value]) -> list[Value]:
    """Moves a block's ops, uncopied, to the end of another one, with other values in the place of some.

    Returns what the block yielded, so replaced; nothing else may own the block.
    """
    if mapping:
        for op in ops_of(block):
            op.operands = tuple([mapping.get(x, x) for x in op.operands])
            for inner in op.blocks:
                inner.outs = [mapping.get(x, x) for x in inner.outs]
    for op in block.ops:
        op.parent = target
    target.ops += block.ops
    return [mapping.get(x, x) for x in block.outs]


def unpack(builder: Builder, block: Block, values: Sequence[Value]) -> list[Value]:
    """Moves a block's ops, uncopied, to the end of a builder's block; returns what it yielded.

    `values`, results of an op that nobody uses yet, become its arguments; the block is no block of anything.
    """
    for arg, value in zip(block.args, values, strict=True):
        op = value.owner
        assert isinstance(op, Op)
        arg.owner, arg.index = op, value.index
        op.results[value.index] = arg
    return splice(block, builder.block, {})


def _called_from(caller: Loc) -> Callable[[Loc | None], Loc | None]:
    known: dict[Loc | None, Loc | None] = {None: caller}

    def extended(loc: Loc | None) -> Loc | None:
        if loc not in known:
            assert loc is not None
            known[loc] = loc._replace(caller=extended(loc.caller), also=each(loc.also), uses=each(loc.uses))
        return known[loc]

    def each(places: tuple[Loc, ...]) -> tuple[Loc, ...]:
        return tuple([place for place in map(extended, places) if place is not None])

    return extended


def clone_function(function: Function, module: Module | None = None, rules: Rules | None = None) -> Function:
    """A copy of a function, built anew (so folded, numbered and rewritten by `rules`)."""
    body = Block.like(function.args)
    builder = Builder(body, module=module, rules=rules)
    builder.ret(*inline(builder, function.body, body.args))
    return Function(function.name, body, function.loc)


def dependencies(block: Block) -> tuple[dict[Op, int], dict[Op, list[Op]]]:
    """For how many ops of the block each op waits, and which wait for it."""
    waits: dict[Op, int] = {}
    readers: dict[Op, list[Op]] = {op: [] for op in block.ops}
    effect: Op | None = None
    for op in block.ops:
        needed = {x.owner: None for x in _mentioned(op) if isinstance(x.owner, Op) and x.owner in readers}
        if op.blocks or op.defn.infer_blocks is not None or op.defn.effect is not Effect.PURE:
            # Control flow may hold effects; keeping all of it in order costs groups nothing.
            if effect is not None:
                needed[effect] = None
            effect = op
        waits[op] = len(needed)
        for source in needed:
            assert isinstance(source, Op)
            readers[source].append(op)
    return waits, readers


def _mentioned(op: Op) -> Iterable[Value]:
    if not op.blocks:
        return op.operands
    return [*op.operands, *(x for inner in op.blocks for x in free_values(inner))]
