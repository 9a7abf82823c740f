"""The builder: value numbering within scopes, folding, constants."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from autodiff_compiler.dtypes import DType, bfloat16, bool_, float16, float32, float64, int8, int64, uint8
from autodiff_compiler.ir.build import Builder, current
from autodiff_compiler.ir.core import Block, Module, Op, Value
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import REGISTRY, F
from autodiff_compiler.source import Loc

F4 = tensor(float32, (4,))


def started(*names: str) -> Builder:
    return Builder(Block([F4] * len(names), list(names)))


# --- value numbering ----------------------------------------------------------------------------------------------


def test_an_equal_op_is_emitted_once() -> None:
    with started("x", "y") as b:
        x, y = b.block.args
        assert F.add(x, y) is F.add(x, y)
        assert F.add(x, y) is not F.add(y, x)
        assert F.cast(x, dtype=float64) is not F.cast(x, dtype=float16)
    assert [op.defn.name for op in b.block.ops] == ["add", "add", "cast", "cast"]


def test_a_block_sees_the_ops_around_it_but_not_those_of_its_sibling() -> None:
    with started("x") as b:
        (x,) = b.block.args
        outer = F.tanh(x)
        with b.nested() as then:
            assert F.tanh(x) is outer
            inner, number = F.add(outer, x), then.const(3.0, F4)
        with b.nested() as other:
            sibling = F.add(outer, x)
            assert sibling is not inner
            assert other.const(3.0, F4) is not number
        later = F.add(outer, x)
        assert later is not inner
        assert later is not sibling
        assert later.block is b.block
    assert [op.defn.name for op in then.block.ops] == ["add", "const"]
    assert [op.defn.name for op in other.block.ops] == ["add", "const"]


def test_ops_with_effects_are_never_shared() -> None:
    with started("x") as b:
        (x,) = b.block.args
        first = F.state_read(state="w", type=F4)
        F.state_write(x, state="w", type=F4)
        assert F.state_read(state="w", type=F4) is not first
        F.print(x, parts=())
        F.print(x, parts=())
    assert [op.defn.name for op in b.block.ops] == ["state_read", "state_write", "state_read", "print", "print"]


def test_the_current_builder_is_the_one_entered_last() -> None:
    with started("x") as b:
        with b.nested() as inner:
            assert current() is inner
        assert current() is b
    with pytest.raises(RuntimeError, match="no builder is active"):
        current()


# --- constants ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direct", [True, False], ids=["b.const", "F.const"])
def test_constants_are_numbered_by_type_and_bits(direct: bool) -> None:
    numbers = [
        (0.0, float32), (-0.0, float32), (1.0, float32), (1, int64), (True, bool_), (0, int64), (False, bool_),
        (math.nan, float32), (math.nan, float64), (math.inf, float32), (1.0, float64), (1, uint8),
    ]  # fmt: skip
    with started() as b:

        def make(value: float, dtype: DType) -> Value:
            return b.const(value, tensor(dtype, ())) if direct else F.const(value=value, type=tensor(dtype, ()))

        first = [make(*number) for number in numbers]
        assert len(set(first)) == len(numbers)
        assert [make(*number) for number in numbers] == first
        assert b.const(-math.nan, tensor(float32, ())) is first[7]
        assert b.const(1.0, F4) is not first[2]
    signs = [math.copysign(1, x.constant) for x in first[:2]]
    assert signs == [1, -1]
    assert [type(x.constant) for x in first[2:5]] == [float, int, bool]


@pytest.mark.parametrize(
    ("value", "dtype", "held"),
    [
        (0.1, float32, 0.100000001490116119384765625),  # the f32 nearest to a tenth, by IEEE 754
        (0.1, float64, 0.1), (1, float32, 1.0), (True, float32, 1.0), (2049.0, float16, 2048.0),
        (257.0, bfloat16, 256.0), (1e39, float32, math.inf), (2.9, int64, 2), (1, bool_, True), (-1, int8, -1),
    ],
)  # fmt: skip
def test_a_constant_holds_what_its_dtype_holds(value: float, dtype: DType, held: float) -> None:
    found = started().const(value, tensor(dtype, ())).constant
    assert found == held
    assert type(found) is type(held)


def test_arrays_are_kept_once_in_the_module_and_scalars_become_numbers() -> None:
    module, table = Module(), np.arange(4, dtype=np.float32)
    b = Builder(Block(), module=module)
    x = b.array(table, F4)
    assert b.array(table, F4) is x
    assert b.nested().array(table, F4) is x
    assert list(module.constants) == ["c0"]
    assert module.constants["c0"] is table
    assert x.constant is None
    assert b.array(np.array(2.5, np.float32), tensor(float32, ())).constant == 2.5


def test_numbers_among_the_operands_take_the_type_of_the_value() -> None:
    with started("x") as b:
        (x,) = b.block.args
        y = F.mul(2, x)
    two, product = b.block.ops
    assert (two.attr("value"), two.attr("type")) == (2.0, F4)
    assert product.results == [y]
    with b, pytest.raises(TypeError, match="cannot use a str"):
        F.mul("2", x)


# --- folding ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [float16, bfloat16, float32, float64], ids=str)
@pytest.mark.parametrize("x", [0.3, -0.0, 1e4, math.inf, math.nan])
def test_folding_gives_what_the_kernel_gives(x: float, dtype: DType) -> None:
    one = dtype.numpy.type(1.1)
    with np.errstate(all="ignore"):
        cases = [
            (lambda a: F.tanh(a), np.tanh(dtype.numpy.type(x))),
            (lambda a: F.add(a, 1.1), dtype.numpy.type(x) + one),
            (lambda a: F.mul(a, a), dtype.numpy.type(x) * dtype.numpy.type(x)),
        ]
    for fold, expected in cases:
        with Builder(Block()) as b, warnings.catch_warnings():
            warnings.simplefilter("error")  # an overflow while folding is the program's, not the compiler's
            found = fold(b.const(x, tensor(dtype, (2,))))
        assert found.type is tensor(dtype, (2,))
        assert dtype.numpy.type(found.constant).tobytes() == expected.tobytes() or (
            math.isnan(found.constant) and np.isnan(expected)
        )


def test_integers_fold_with_wrap_around() -> None:
    with Builder(Block()) as b:
        big = b.const(120, tensor(int8, ()))
        assert F.add(big, big).constant == -16


def test_arrays_are_not_folded() -> None:
    with Builder(Block()) as b:
        x = b.array(np.arange(4, dtype=np.float32), F4)
        assert F.tanh(x).made_by("tanh")


# --- ops ----------------------------------------------------------------------------------------------------------


def test_rules_run_in_order_before_an_op_is_emitted_and_reach_nested_blocks() -> None:
    seen = []

    def note(b: Builder, op: Op, x: Value, y: Value) -> None:
        seen.append(op.defn.name)

    def times_one(b: Builder, op: Op, x: Value, y: Value) -> Value | None:
        return x if y.is_const(1) else None

    block = Block([F4], ["x"])
    with Builder(block, rules={"mul": [note, times_one]}) as b:
        (x,) = block.args
        with b.nested() as inner:
            assert F.mul(x, 1.0) is x
            assert F.mul(x, x).made_by("mul")
    assert seen == ["mul", "mul"]
    assert [op.defn.name for op in inner.block.ops] == ["const", "mul"]


def test_ops_get_the_location_that_is_set_and_nested_builders_inherit_it() -> None:
    here, there = Loc("net.py", 1), Loc("net.py", 2)
    with started("x") as b:
        (x,) = b.block.args
        b.loc = here
        inner = b.nested()
        b.loc = there
        F.tanh(x)
        with inner:
            F.add(x, x)
    assert b.block.ops[0].loc is there
    assert inner.block.ops[0].loc is here


def test_an_op_with_blocks_is_inferred_from_them_and_owns_them() -> None:
    b = started("x")
    (x,) = b.block.args
    p = b.const(True, tensor(bool_, ()))
    then, other = b.nested().ret(x), b.nested().ret(x)
    op = b.emit_op(REGISTRY["if"], [p], (), [then, other])
    assert [r.type for r in op.results] == [F4]
    assert then.parent is op
    assert other.parent is op
    assert op.parent is b.block
