"""Control flow: known conditions, results that both arms yield, loop-invariant carries."""

from __future__ import annotations

from ...ir.build import scalar_key
from ...ir.core import Block
from .registry import inactive, same, structured


@structured("if")
def if_constant(sweep, op, operands):
    """if True then {a} else {b} => a"""
    b = sweep.builder
    known = operands[0].constant
    if known is None: return None
    return [same(b, x) for x in sweep.clone_ops(op.blocks[0 if known else 1])]


@structured("if")
def if_equal(sweep, op, operands):
    """if p then {.. yield x, y} else {.. yield x, z} => x outside of it"""
    b = sweep.builder
    arms = [_arm(sweep, op, operands[0], known) for known in (True, False)]
    results = [_either(b, arms, x, y) for x, y in zip(arms[0].outs, arms[1].outs, strict=True)]
    kept = [i for i, x in enumerate(results) if x is None]
    for arm in arms:
        arm.outs = [arm.outs[i] for i in kept]
    new = b.emit_op(op.defn, operands, op.attrs, arms)
    for i, x in zip(kept, new.results, strict=True):
        results[i] = x
    return results


def _arm(sweep, op, predicate, known: bool):
    """The copy of one arm, in which the condition is known."""
    b = sweep.builder
    if inactive(predicate):
        sweep.mapping[op.operands[0]] = b.const(known, predicate.type)
    arm = sweep.clone_block(op.blocks[0 if known else 1])
    sweep.mapping[op.operands[0]] = predicate
    return arm


def _either(b, arms, x, y):
    """What both arms yield, as a value outside of them; None if they differ."""
    if x is y: return same(b, x)
    if x.made_by("const") and y.made_by("const"):
        (v, t), (w, u) = x.op.attrs, y.op.attrs
        return b.emit(x.op.defn, (), x.op.attrs) if t is u and scalar_key(v) == scalar_key(w) else None
    # Nobody reads the result where it is undefined, so the other arm may always speak.
    if x.made_by("undef") and y.block is not arms[1]: return same(b, y)
    if y.made_by("undef") and x.block is not arms[0]: return same(b, x)
    return None


@structured("while")
def while_loop(sweep, op, operands):
    """while (c = x) {.. yield c} => x for c, inside and outside;  while .. cond {yield False} .. => no trip"""
    b = sweep.builder
    body, fixed = _body(sweep, op.blocks[1], operands, 0)
    cond = _copy(sweep, op.blocks[0], fixed, 0)
    if cond.outs[0].is_const(False) and len(op.results) == 1 + len(operands):
        inits = [same(b, x) for x in operands]
        sweep.mapping.update(zip(op.blocks[0].args, inits, strict=True))
        sweep.clone_ops(op.blocks[0])  # once: it may have effects
        return [b.const(0, op.results[0].type), *inits]
    ins = [x for i, x in enumerate(operands) if i not in fixed]
    count, *results = b.emit_op(op.defn, ins, op.attrs, (cond, body)).results
    return [count, *_merged(fixed, results)]


@structured("scan")
def scan_short(sweep, op, operands):
    """scan 0 (c = x) .. => x;  scan 1 (c = x) body => body(0, x), when neither reads nor makes sequences"""
    b = sweep.builder
    k, n = op.attrs[0], operands[0].constant
    if n is None or n > 1 or len(op.results) > k: return None
    inits = [same(b, x) for x in operands[1 : 1 + k]]
    if n <= 0: return inits
    (body,) = op.blocks
    if len(body.args) > 1 + k: return None
    sweep.mapping.update(zip(body.args, [b.const(0, operands[0].type), *inits], strict=True))
    return [same(b, x) for x in sweep.clone_ops(body)]


@structured("scan")
def scan_loop(sweep, op, operands):
    """scan n (c = x) {.. yield c} => x for c, inside and outside"""
    b = sweep.builder
    k, reverse = op.attrs
    inits = operands[1 : 1 + k]
    body, fixed = _body(sweep, op.blocks[0], inits, 1)
    ins = [operands[0], *(x for i, x in enumerate(inits) if i not in fixed), *operands[1 + k :]]
    results = b.emit_op(op.defn, ins, (k - len(fixed), reverse), (body,)).results
    return _merged(fixed, results)


def _body(sweep, block: Block, inits, first: int):
    """The copy of a loop's body without the carries that never change, and by number what stands for those."""
    b = sweep.builder
    fixed = {i: same(b, x) for i, x in enumerate(inits) if block.outs[i] is block.args[first + i]}
    body = _copy(sweep, block, fixed, first, yields=True)
    kept = [i for i in range(len(inits)) if i not in fixed]
    late = [i for j, i in enumerate(kept) if body.outs[j] is body.args[first + j]]
    if late:  # what the rules uncovered; uncovered once more, it waits for the next sweep
        fixed.update((i, same(b, inits[i])) for i in late)
        body = _copy(sweep, block, fixed, first, yields=True)
    return body, fixed


def _copy(sweep, block: Block, fixed, first: int, yields: bool = False):
    """The copy of a loop's block without the arguments of the fixed carries (nor their next values)."""
    builder = sweep.builder.nested()
    for i, arg in enumerate(block.args, -first):
        sweep.mapping[arg] = fixed[i] if i in fixed else builder.block.add_arg(arg.type, arg.name)
    outs = sweep.nested(builder).clone_ops(block)
    return builder.ret(*(x for i, x in enumerate(outs) if not (yields and i in fixed)))


def _merged(fixed, results):
    """The old loop's results after its trip count: the new loop's, and what stands for the fixed carries."""
    rest = iter(results)
    return [fixed[i] if i in fixed else next(rest) for i in range(len(fixed) + len(results))]
