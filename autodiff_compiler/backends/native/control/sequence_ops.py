"""The ops of sequences, one value per trip: `seq_add`, `seq_len`, `to_seq`, `from_seq`; and copies of sequences.

Their layout and reads are in `memory/sequences`, how loops fill them in `collecting`.
"""

from __future__ import annotations

from typing import Any

from ....dtypes import int64
from ....errors import InternalCompilerError
from ....ir.build import Builder
from ....ir.core import Block, Op, Value
from ....ir.primitive import F
from ....ir.types import Seq, TensorType, TupleType, seq
from ....ir.walk import uses
from ....primitives.control import COUNT, Scan
from ..codegen.emit import Int, Reg, known
from ..codegen.values import Array, Part, Rows, Sequence, Spread, Undefined
from ..lower import OPS, Lowering
from ..memory.sequences import element, is_ordered


def anchored(low: Lowering, xs: Sequence, *, escapes: bool) -> Sequence:
    """The sequence with its tensors in C order; if it `escapes` from a trip, where no later trip overwrites them."""
    if is_ordered(xs.part) and (not escapes or all(root.virtual for root in xs.roots)):
        return xs
    return _combined(low, [xs])


def _combined(low: Lowering, sources: list[Sequence]) -> Sequence:
    """A copy of a sequence, or the sum of two: what a `scan` over them collects."""
    elem = sources[0].elem
    operands = [low.stand_in(COUNT, _length(low, sources[0])), *[low.stand_in(seq(elem), xs) for xs in sources]]
    with Builder(Block([COUNT, *[elem] * len(sources)])) as b:
        args = b.block.args[1:]
        b.ret(args[0] if len(sources) == 1 else _sum(args[0], args[1]))
    op = Op(Scan, tuple(operands), (seq(elem),), (0, False), (b.block,))
    low.uses.update(uses(b.block))
    low.uses.update({x: [(op, i)] for i, x in enumerate(operands)})
    low.uses[op.results[0]] = [(b.block, 0)]
    OPS["scan"](low, op)
    found = low.env[op.results[0]]
    assert isinstance(found, Sequence)
    return found


def require_elements(low: Lowering, xs: Sequence, count: Int) -> None:
    """Emits an IndexError for a sequence with fewer elements than are read of it.

    Compiled programs have enough, mostly provably, and then no code is emitted; IR from a file may have fewer.
    """
    text, length = low.text, xs.length.text
    wanted = text.whole(count).text
    if isinstance(xs.part, Spread | Undefined) or length == wanted:
        return
    text.needs["sequence.short"] = _SHORT.replace("<IndexError>", low.context.place("IndexError"))
    text.declares |= _DECLARES
    text.leave_if(text.make("i1", f"call i1 @sequence.short(i64 {length}, i64 {wanted})"))


_DECLARES = {
    "declare i32 @PyGILState_Ensure()",
    "declare void @PyGILState_Release(i32)",
    "declare void @PyErr_SetString(ptr, ptr)",
}
_MESSAGE = "a sequence has fewer elements than are read of it"
_SHORT = f"""
@sequence.message = private constant [{len(_MESSAGE) + 1} x i8] c"{_MESSAGE}\\00"

define internal i1 @sequence.short(i64 %length, i64 %count) {{
  %short = icmp slt i64 %length, %count
  br i1 %short, label %raise, label %done
raise:
  %state = call i32 @PyGILState_Ensure()
  %error = load ptr, ptr <IndexError>, align 8
  call void @PyErr_SetString(ptr %error, ptr @sequence.message)
  call void @PyGILState_Release(i32 %state)
  br label %done
done:
  ret i1 %short
}}
"""


def _length(low: Lowering, xs: Sequence) -> Spread:
    number = known(xs.length)
    return Spread(COUNT, number if isinstance(number, int) else low.one.lane(low.text.whole(number), int64))


def _sum(x: Value, y: Value) -> Any:
    if isinstance(x.type, TensorType):
        return F.add(x, y)
    if isinstance(x.type, Seq):
        return F.seq_add(x, y)
    assert isinstance(x.type, TupleType)
    return F.tuple_make(*[_sum(F.tuple_get(x, index=i), F.tuple_get(y, index=i)) for i in range(len(x.type.elems))])


def _seq_add(low: Lowering, op: Op) -> None:
    found = [x for x in (low.env[y] for y in op.operands) if isinstance(x, Sequence)]
    low.env[op.results[0]] = _combined(low, found) if len(found) == 2 else found[0] if found else Undefined()


def _seq_len(low: Lowering, op: Op) -> None:
    xs = low.env[op.operands[0]]
    low.env[op.results[0]] = _length(low, xs) if isinstance(xs, Sequence) else Spread(COUNT, 0)


def _to_seq(low: Lowering, op: Op) -> None:
    """The rows of a tensor, where they lie."""
    (x,) = op.operands
    operand = low.env[x]
    type = op.results[0].type
    assert isinstance(type, Seq)
    assert isinstance(type.elem, TensorType)
    if isinstance(operand, Array) and operand.is_iota:  # numbers that lie nowhere yet
        operand = low.in_memory(x)
    length = low.text.whole(x.shape[0])
    if isinstance(operand, Array):
        base = low.text.at(operand.base, operand.offset)
        part: Part = Rows(type.elem, base, operand.strides[0], operand.strides[1:])
        low.env[op.results[0]] = Sequence(type.elem, length, part, operand.roots)
    elif isinstance(operand, Spread):
        low.env[op.results[0]] = Sequence(type.elem, length, Spread(type.elem, operand.number))
    else:
        low.env[op.results[0]] = Undefined()


def _from_seq(low: Lowering, op: Op) -> None:
    """The elements as rows, where they lie if they lie as far apart as is known."""
    (result,) = op.results
    type = result.type
    assert isinstance(type, TensorType)
    xs = low.env[op.operands[0]]
    if not isinstance(xs, Sequence):
        low.env[result] = Undefined()
    elif isinstance(xs.part, Spread):
        low.env[result] = Spread(type, xs.part.number)
    elif isinstance(xs.part, Rows) and not isinstance(xs.part.step, Reg):
        require_elements(low, xs, type.shape[0])
        low.env[result] = Array(type, xs.part.base, (xs.part.step, *xs.part.strides), 0, xs.roots)
    elif isinstance(xs.part, Rows):
        require_elements(low, xs, type.shape[0])
        target, part = low.target(result), xs.part
        low.touch(xs)

        def row(i: Int, carried: list[Reg]) -> list[Reg]:
            to = low.at_pointer(part.type, low.text.at(target.base, low.text.mul(i, target.strides[0])), target.roots)
            low.copy_operand(element(low, xs, i), to)
            return carried

        low.text.loop(0, type.shape[0], 1, [], row)
    else:
        raise InternalCompilerError(f"from_seq of {xs.elem}", loc=op.loc)


OPS.update({"seq_add": _seq_add, "seq_len": _seq_len, "to_seq": _to_seq, "from_seq": _from_seq})
