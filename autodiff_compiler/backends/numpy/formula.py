"""The formula of an elementwise primitive as nested NumPy calls.

A formula is a function of a kernel builder `k`; here `k` notes what is called.  Every note is also computed on one
element of the operands' dtypes, so the dtype of each intermediate value is known exactly as NumPy will make it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...dtypes import DType, from_numpy
from ...errors import InternalCompilerError
from ...ir.core import Op
from ...ir.definition import take_operators
from ...ir.types import Shape
from .syntax import call, dtype_expr, number


class Splat:
    """An operand of which every element is one known number."""

    __slots__ = ("dtype", "shape", "value")

    def __init__(self, value: bool | int | float, dtype: DType, shape: Shape) -> None:
        self.value, self.dtype, self.shape = value, dtype, shape

    def typed(self) -> ast.expr:
        return call(dtype_expr(self.dtype), number(self.value, self.dtype))


class _Node:
    """What a formula computes with; arithmetic on it is noted like the call of the ufunc."""

    __slots__ = ("sample", "shape")
    __array_ufunc__ = None
    sample: Any
    shape: Shape

    def __bool__(self) -> bool:
        raise TypeError("a formula cannot branch on its operands; use k.where")


class Leaf(_Node):
    """Operand `index` of the op."""

    __slots__ = ("index", "splat")

    def __init__(self, index: int, dtype: DType, shape: Shape, splat: Splat | None) -> None:
        self.index, self.shape, self.splat = index, shape, splat
        self.sample = np.ones(1, dtype.numpy) if splat is None else np.full(1, splat.value).astype(dtype.numpy)


class Applied(_Node):
    """A NumPy function applied to nodes and Python numbers."""

    __slots__ = ("args", "fn", "uses")

    def __init__(self, fn: str, args: tuple[Any, ...]) -> None:
        self.fn, self.args, self.uses = fn, args, 0
        function = getattr(np, fn)
        with np.errstate(all="ignore"):
            self.sample = function(*(a.sample if isinstance(a, _Node) else a for a in args))
        self.shape = _joined([a.shape for a in args if isinstance(a, _Node)])
        for a in args:
            if isinstance(a, Applied):
                a.uses += 1

    @property
    def dtype(self) -> DType:
        return from_numpy(self.sample.dtype)

    @property
    def is_ufunc(self) -> bool:
        return isinstance(getattr(np, self.fn), np.ufunc)


def _joined(shapes: list[Shape]) -> Shape:
    """Broadcasting among operands that are known to fit."""
    first = max(shapes, key=len)
    if all(s == first for s in shapes):
        return first
    out = list(first)
    for s in shapes:
        for i in range(1, len(s) + 1):
            if s[-i] != 1:
                out[-i] = s[-i]
    return tuple(out)


def _noted(fn: str) -> Callable[..., Applied]:
    def note(*args: Any) -> Applied:
        return Applied(fn, args)

    return note


take_operators(_Node, lambda node, name, *operands: Applied(name, operands))


class _Kernels:
    """The `k` of a formula: functions are noted, numbers (k.pi) are themselves."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        return _noted(name) if callable(found) else found


_K = _Kernels()


def trace_formula(op: Op, leaves: list[Leaf], attrs: dict[str, Any], formula: Callable[..., Any] | None = None) -> Any:
    """The formula of `op`, or the one given for it, applied to the leaves: a node, or a Python number."""
    formula = formula or op.defn.scalar
    assert formula is not None
    try:
        return formula(_K, *leaves, **attrs)
    except Exception as error:
        raise InternalCompilerError(f"the formula of {op.defn.name} cannot be traced: {error}", loc=op.loc) from error


def trace_whole(
    op: Op,
    operands: Sequence[tuple[Shape, Splat | None]],
    attrs: dict[str, Any],
    stretch: Callable[[int], None],
    formula: Callable[..., Any] | None = None,
) -> Any:
    """The formula of an op for operands of these shapes, which NumPy stretches.

    Where all of them together are smaller than the result, `stretch` makes one as large.
    """
    shape = op.results[0].shape
    leaves = [
        Leaf(i, x.dtype, () if splat else own, splat)
        for i, (x, (own, splat)) in enumerate(zip(op.operands, operands, strict=True))
    ]
    root = trace_formula(op, leaves, attrs, formula)
    if not isinstance(root, Applied) or root.shape == shape:
        return root
    at = next((i for i, leaf in enumerate(leaves) if leaf.splat is None), 0)
    stretch(at)
    leaves[at] = Leaf(at, op.operands[at].dtype, shape, None)
    return trace_formula(op, leaves, attrs, formula)


#: Functions that an operator spells shorter; on 0-d values the operator is also ten times as fast.
_BINARY: dict[str, type[ast.operator]] = {
    "add": ast.Add, "subtract": ast.Sub, "multiply": ast.Mult, "divide": ast.Div, "true_divide": ast.Div,
    "floor_divide": ast.FloorDiv, "remainder": ast.Mod, "power": ast.Pow,
}  # fmt: skip
_COMPARE: dict[str, type[ast.cmpop]] = {
    "less": ast.Lt, "less_equal": ast.LtE, "greater": ast.Gt, "greater_equal": ast.GtE, "equal": ast.Eq,
    "not_equal": ast.NotEq,
}  # fmt: skip


def operator_tree(fn: str, args: Sequence[ast.expr]) -> ast.expr | None:
    """The operator that does the same as a NumPy function, if there is one."""
    if fn in _BINARY:
        return ast.BinOp(left=args[0], op=_BINARY[fn](), right=args[1])
    if fn in _COMPARE:
        return ast.Compare(left=args[0], ops=[_COMPARE[fn]()], comparators=[args[1]])
    if fn == "negative":
        return ast.UnaryOp(op=ast.USub(), operand=args[0])
    return None


def argument_trees(
    node: Applied,
    trees: Mapping[Applied, ast.expr],
    operand: Callable[[int], ast.expr],
    spelt: Callable[..., ast.expr] = number,
) -> list[ast.expr]:
    """The arguments of a call: the calls inside it by `trees`, operands by their index, numbers as they are `spelt`.

    A splat is a Python number where NumPy then computes in the very same dtype, else a number of its dtype.
    """
    weak, found = weak_numbers(node), []
    for i, a in enumerate(node.args):
        if isinstance(a, Applied):
            found.append(trees[a])
        elif not isinstance(a, Leaf):
            found.append(spelt(a))
        elif a.splat is None:
            found.append(operand(a.index))
        else:
            one = spelt(a.splat.value, a.splat.dtype)
            found.append(one if i in weak else call(dtype_expr(a.splat.dtype), one))
    return found


def may_raise(node: Applied) -> bool:
    """Whether some elements are an error: integers to negative powers."""
    if node.fn == "power" and node.dtype.is_int:
        return True
    return any(isinstance(a, Applied) and may_raise(a) for a in node.args)


def weak_numbers(node: Applied) -> set[int]:
    """The positions of splat operands that may be Python numbers: NumPy then computes in the very same dtype."""
    splats = [i for i, a in enumerate(node.args) if isinstance(a, Leaf) and a.splat is not None]
    if not splats:
        return set()
    weak: set[int] = set()
    for i in splats:
        samples = [a.sample if isinstance(a, _Node) else a for a in node.args]
        for j in (*weak, i):
            samples[j] = node.args[j].splat.value
        if all(not isinstance(s, np.ndarray) for s in samples):
            continue
        with np.errstate(all="ignore"):
            if getattr(np, node.fn)(*samples).dtype == node.sample.dtype and _same_loop(node, samples):
                weak.add(i)
    return weak


def _same_loop(node: Applied, samples: list[Any]) -> bool:
    """Whether a ufunc whose result says nothing (a comparison gives bool) computes in the operands' dtype."""
    dtypes = {s.dtype for s in samples if isinstance(s, np.ndarray)}
    typed = {a.sample.dtype for a in node.args if isinstance(a, _Node)}
    return typed <= dtypes and all(d.kind != "V" and d.name != "bfloat16" for d in typed)
