"""How many operations ops count: against formulas of textbooks, and something for every op with a sample."""

from __future__ import annotations

from typing import Any

import pytest

from autodiff_compiler.dtypes import float32, float64, int64
from autodiff_compiler.inspection.samples import forward, module_of, samples_of
from autodiff_compiler.ir.core import Op
from autodiff_compiler.ir.primitive import REGISTRY, F
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives.flops import flops_of, flops_of_functions, functions_of

WITH_SAMPLES = sorted(name for name, defn in REGISTRY.items() if defn.samples is not None)


def made(name: str, *types: Any, **attrs: Any) -> Op:
    """The op of that name on operands of these types."""
    module = module_of(list(types), lambda *vs: [getattr(F, name)(*vs, **attrs)])
    return next(op for op in module.entry.body.ops if op.defn.name == name)


A, X = tensor(float32, (6, 4)), tensor(float32, (5,))
FUNCTIONS = flops_of_functions()
EXP, LOG = FUNCTIONS["exp"], FUNCTIONS["log"]


@pytest.mark.parametrize(
    ("op", "wanted"),
    [
        (made("add", A, A), 24),
        (made("div", A, A), 24),
        (made("exp", A), 24 * EXP),
        (made("sigmoid", X), 5 * (EXP + 3)),  # 1 / (1 + exp(-x))
        (made("relu", X), 5),
        (made("sum", A, axes=(-1,)), 24),
        (made("max", A, axes=(-2, -1)), 24),
        (made("cumsum", A, axis=-1), 24),
        (made("log_softmax", A, axis=-1), 24 * (EXP + 4) + 6 * LOG),
        (made("matmul", tensor(float64, (2, 3, 4)), tensor(float64, (2, 4, 5))), 2 * 2 * 3 * 4 * 5),
        (made("cholesky", tensor(float64, (30, 30))), 9000),  # n^3 / 3
        (made("inverse", tensor(float64, (2, 10, 10))), 4000),  # 2 n^3 for each
        (made("solve", tensor(float64, (30, 30)), tensor(float64, (30, 2))), 18000 + 3600),  # 2/3 n^3 + 2 n^2 k
        (made("reshape", A, shape=(24,)), 0),
        (made("transpose", A, axes=(-1, -2)), 0),
        (made("cast", A, dtype=float64), 0),
        (made("gather", A, tensor(int64, (3,)), axis=-2), 0),
    ],
    ids=lambda x: x.defn.name if isinstance(x, Op) else "",
)
def test_operations_of_an_op(op: Op, wanted: int) -> None:
    assert flops_of(op) == wanted


def test_a_convolution_with_groups_stride_and_padding() -> None:
    geometry = {"stride": (2, 2), "padding": (1, 1, 1, 1), "dilation": (1, 1), "groups": 2}
    op = made("conv", tensor(float32, (3, 4, 9, 9)), tensor(float32, (6, 2, 3, 3)), **geometry)
    assert op.results[0].shape == (3, 6, 5, 5)
    assert flops_of(op) == 2 * (3 * 6 * 5 * 5) * (2 * 3 * 3)
    g = tensor(float32, (3, 6, 5, 5))
    back = made("conv_input", g, tensor(float32, (6, 2, 3, 3)), size=(9, 9), **geometry)
    weights = made("conv_filter", tensor(float32, (3, 4, 9, 9)), g, kernel=(3, 3), **geometry)
    assert flops_of(back) == flops_of(weights) == flops_of(op)


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_every_op_can_be_counted(name: str) -> None:
    for arrays, attrs in samples_of(REGISTRY[name], float32):
        found = forward(REGISTRY[name], arrays, attrs)
        for op in found[0].entry.body.ops if found is not None else ():
            assert flops_of(op) >= 0
            assert functions_of(op) or op.defn.numpy is None


#: Ops that move elements, make them, or look at them, and compute nothing.
MOVES = {
    "as_size", "at_root", "bitcast", "broadcast_size", "broadcast_to", "cast", "chance_weights", "check_exponent",
    "check_index",
    "check_sizes", "check_solved", "concat", "const", "diag_embed", "diagonal", "expand_dims", "extend", "eye",
    "first_places", "gather", "iota", "math_function", "one_hot", "pad", "places", "repeat_elements",
    "repeated_places", "reshape", "roll", "row_order", "run_starts", "scatter_update", "shape_of", "size_at",
    "size_value", "slice", "slice_update", "squeeze", "stack", "stop_gradient", "stretched", "take_along_axis",
    "transpose", "tril", "triu", "windows", "with_sizes", "without_overflow", "zeros_of",
}  # fmt: skip


def test_what_computes_says_how_much() -> None:
    silent = {
        name
        for name, defn in REGISTRY.items()
        if defn.numpy is not None and defn.flops is None and defn.scalar is None and defn.decomposed is None
        if not defn.collective  # what they take is bytes on the way
    }
    assert silent == MOVES
