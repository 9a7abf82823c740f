"""Random numbers by Philox4x64-10 (Salmon et al., 2011), bit for bit NumPy's.

A block of four 64-bit words is a function of its number.  Of a word the lower half is used first; integers are drawn by
Lemire's multiplication, which rejects some words.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ....dtypes import DType, bfloat16, float16, float32, float64, int64
from ....ir.core import Op
from ....ir.sizes import Size
from ..codegen.emit import Int, Reg, Text, float_text, i64
from ..codegen.lanes import Lane
from ..codegen.values import Array
from ..loops.loop_nest import LoopNest
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan

_FACTORS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_ROUNDS = 10


class _Philox:
    """Blocks of the stream that a state [seed, stream, count] stands for."""

    def __init__(self, text: Text, state: Reg) -> None:
        self.text = text
        seed, stream, self.count = (text.load("i64", text.at(state, 8 * i), 8) for i in range(3))
        self.keys = [(seed, stream)]
        for _ in range(_ROUNDS - 1):
            a, b = self.keys[-1]
            self.keys.append((self._op("add", a, _STEPS[0]), self._op("add", b, _STEPS[1])))

    def _op(self, op: str, x: Reg, y: Reg | int) -> Reg:
        return self.text.let("i64", f"{op} {x}, {y.text if isinstance(y, Reg) else y - (1 << 64) * (y >> 63)}")

    def _product(self, x: Reg, factor: int) -> tuple[Reg, Reg]:
        """The upper and the lower half of the 128-bit product."""
        text = self.text
        wide = text.let("i128", f"zext {x} to i128")
        whole = text.let("i128", f"mul {wide}, {factor}")
        upper = text.let("i128", f"lshr {whole}, 64")
        return text.let("i64", f"trunc {upper} to i64"), text.let("i64", f"trunc {whole} to i64")

    def block(self, number: Int) -> list[Reg]:
        """The four words of a block; as in NumPy the counter is incremented before the first."""
        zero = i64(0)
        words = [self.text.whole(self.text.add(number, 1)), self.count, zero, zero]
        for a, b in self.keys:
            upper, lower = self._product(words[0], _FACTORS[0])
            upper2, lower2 = self._product(words[2], _FACTORS[1])
            words = [
                self._op("xor", self._op("xor", upper2, words[1]), a),
                lower2,
                self._op("xor", self._op("xor", upper, words[3]), b),
                lower,
            ]
        return words

    def halves(self, number: Int) -> list[Reg]:
        """The same block as eight numbers of 32 bits."""
        found = []
        for word in self.block(number):
            found.append(self.text.let("i32", f"trunc {word} to i32"))
            found.append(self.text.let("i32", f"trunc {self._op('lshr', word, 32)} to i32"))
        return found


# ------------------------------------------------------------------------------------------------ uniform
def _uniform(nest: LoopNest, word: Reg, dtype: DType) -> Lane:
    """A uniform number in [0, 1) from a word (f64) or half a word."""
    text, k = nest.text, nest.one
    if dtype is float64:
        upper = text.let("i64", f"lshr {word}, 11")
        real = text.let("double", f"uitofp {upper} to double")
        return k.lane(text.let("double", f"fmul {real}, {float_text(2.0**-53)}"), dtype)
    upper = text.let("i32", f"lshr {word}, 8")
    real = text.let("float", f"sitofp {upper} to float")
    found = k.lane(text.let("float", f"fmul {real}, {float_text(2.0**-24)}"), float32)
    if dtype is float32:
        return found
    steps = 2048.0 if dtype is float16 else 256.0
    assert dtype in (float16, bfloat16)
    return k.cast(k.divide(k.floor(k.multiply(found, steps)), steps), dtype)


def _random_uniform(low: BufferPlan, op: Op) -> None:
    nest, target, count = _begin(low, op)
    text, dtype = nest.text, target.dtype
    philox = _Philox(text, nest.places[0])
    each = 4 if dtype is float64 else 8

    def some(number: Int, take: int) -> None:
        words = philox.block(number) if dtype is float64 else philox.halves(number)
        place = text.at(nest.places[1], text.mul(number, each * dtype.itemsize))
        for i, word in enumerate(words[:take]):
            nest.one.store(_uniform(nest, word, dtype), text.at(place, i * dtype.itemsize))

    def rest() -> tuple[()]:
        """Less than a block, how many only the call knows."""
        number = count // each
        words = philox.block(number) if dtype is float64 else philox.halves(number)
        place = text.at(nest.places[1], text.mul(number, each * dtype.itemsize))
        for i, word in enumerate(words[: each - 1]):

            def store(i: int = i, word: Reg = word) -> tuple[()]:
                nest.one.store(_uniform(nest, word, dtype), text.at(place, i * dtype.itemsize))
                return ()

            text.branch(text.let("i1", f"icmp sgt {text.whole(count % each)}, {i}"), store)
        return ()

    text.repeated(0, count // each, 1, lambda i: some(i, each))
    left = count % each
    if not isinstance(left, int):
        text.branch(text.let("i1", f"icmp sgt {text.whole(left)}, 0"), rest)
    elif left:
        some(count // each, left)
    _end(low, op, nest, target)


def _begin(low: BufferPlan, op: Op) -> tuple[LoopNest, Array, Size]:
    state, target = low.in_memory(op.operands[0]), low.target_in_memory(op.results[0])
    return LoopNest(low, [state, target]), target, prod(target.shape)


def _end(low: BufferPlan, op: Op, nest: LoopNest, target: Array) -> None:
    nest.call()
    low.load_scalar(op.results[0], target)


# ------------------------------------------------------------------------------------------------ integers
def _random_integers(low: BufferPlan, op: Op) -> None:
    first, span = op.attr("low"), op.attr("high") - op.attr("low")
    nest, target, count = _begin(low, op)
    text = nest.text
    stop = text.whole(count).text
    philox = _Philox(text, nest.places[0])
    bits = 32 if span <= 1 << 32 else 64
    words = 8 if bits == 32 else 4
    drawn = text.make("ptr", "alloca [4 x i64], align 8")
    kind, wide = f"i{bits}", f"i{2 * bits}"

    def refill(number: Reg) -> tuple[()]:
        block = philox.halves(number) if bits == 32 else philox.block(number)
        for i, word in enumerate(block):
            text.store(word, text.at(drawn, i * bits // 8), bits // 8)
        return ()

    def trip(now: list[Reg]) -> list[Reg]:
        i, used = now
        inside = text.let("i64", f"and {used}, {words - 1}")
        number = text.let("i64", f"lshr {used}, {words.bit_length() - 1}")
        text.branch(text.let("i1", f"icmp eq {inside}, 0"), lambda: refill(number))
        word = text.load(kind, text.at(drawn, text.mul(inside, bits // 8)), bits // 8)
        value, kept = _bounded(text, word, span, bits, kind, wide)
        found = text.let("i64", f"zext {value} to i64") if bits == 32 else value
        shifted = text.let("i64", f"add {found}, {first}")
        nest.one.store(nest.one.lane(shifted, int64), text.at(nest.places[1], text.mul(i, 8)))
        step = text.let("i64", f"zext {kept} to i64") if isinstance(kept, Reg) else 1
        return [text.whole(text.add(i, step)), text.whole(text.add(used, 1))]

    if span == 1:
        one = nest.one.number(first, int64)
        text.repeated(0, count, 1, lambda i: nest.one.store(one, text.at(nest.places[1], text.mul(i, 8))))
    else:
        text.repeat([i64(0), i64(0)], lambda now: text.let("i1", f"icmp slt {now[0]}, {stop}"), trip)
    _end(low, op, nest, target)


def _bounded(text: Text, word: Reg, span: int, bits: int, kind: str, wide: str) -> tuple[Reg, Any]:
    """A number below `span`, and whether it is accepted: rejection makes all numbers equally likely."""
    if span == 1 << bits:
        return word, True
    long = text.let(wide, f"zext {word} to {wide}")
    product = text.let(wide, f"mul {long}, {span}")
    rest = text.let(kind, f"trunc {product} to {kind}")
    upper = text.let(wide, f"lshr {product}, {bits}")
    value = text.let(kind, f"trunc {upper} to {kind}")
    least = ((1 << bits) - span) % span
    return value, text.let("i1", f"icmp uge {rest}, {least - (1 << bits) * (least >> (bits - 1))}")


OPS["random_uniform"] = _random_uniform
OPS["random_integers"] = _random_integers
