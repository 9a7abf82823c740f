"""One op as a NumPy expression, written as a person would write it.

Ops are written from their formula (`Primitive.scalar`) or kernel (`Primitive.numpy`), as in the NumPy backend.  The
tables here override where NumPy has an idiom: `a @ b`, `x.sum(axis=0)`, `x.T`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backends.numpy.formula import Applied, Leaf, Splat, argument_trees, operator_tree, trace_whole
from ...backends.numpy.kernels import Support, attributes, index_of, kernel_expression, slice_parts, whole
from ...backends.numpy.syntax import attribute, call, dtype_expr, literal, number, subscript, tuple_expr
from ...dtypes import DType
from ...ir.core import Op, Value
from ...ir.loops import trips_of
from ...ir.types import TensorType
from . import readable

__all__ = [
    "FORMULAS", "Written", "as_argument", "formula_of", "kernel_tree", "length", "loop_index", "negated",
    "plain_number", "single_axes", "slice_index", "splat_tree",
]  # fmt: skip

#: Formulas of ops whose kernels are made for speed.
FORMULAS: dict[str, Any] = {
    "kept": lambda k, mask, x: k.where(mask, x, 0),
    "if_converged": lambda k, converged, x: k.where(converged, x, np.nan),
}

#: Idioms, over the names of operands and attributes.
EXPRESSIONS = {"matmul": "a @ b", "stop_gradient": "x", "solve": "np.linalg.solve(a, b)", "inverse": "np.linalg.inv(x)"}

#: Reductions as methods.
REDUCTIONS = {"sum": "sum", "max": "max", "min": "min", "prod": "prod", "all": "all", "any": "any"}

#: Ops that are printed as a short function instead of their kernel: those of `readable`, by their names there.
READABLE = {name.rstrip("_"): getattr(readable, name) for name in readable.__all__}

#: NumPy functions that have an operator between bools.
_LOGIC: dict[str, type[ast.operator]] = {"logical_and": ast.BitAnd, "logical_or": ast.BitOr, "logical_xor": ast.BitXor}
_SPELT = {"absolute": "abs", "true_divide": "divide"}


def length(tree: ast.expr) -> int:
    """The characters of an expression, without the numbers of unnamed variables."""
    return len(re.sub(r"@\d+", "", ast.unparse(tree)))


def splat_tree(value: Any, type: TensorType, like: ast.expr | None = None) -> ast.expr:
    """An array of one number, exactly of that type; `like` is a variable of the same type."""
    one = _short(number(value, type.dtype))
    dtype = dtype_expr(type.dtype)
    if type.shape == ():
        return call(dtype, one)
    signed = value == 0 and bool(np.signbit(value))
    if like is not None and value in (0, 1) and not signed:
        return call("np.zeros_like" if value == 0 else "np.ones_like", like)
    shape = literal(type.shape if len(type.shape) > 1 else type.shape[0])
    assert shape is not None
    typed = () if type.dtype.name == "float64" else (dtype,)
    if value in (0, 1) and not signed:
        return call("np.zeros" if value == 0 else "np.ones", shape, *typed)
    return call("np.full", shape, one, dtype)


def plain_number(value: Any, dtype: DType) -> ast.expr:
    """A Python number that becomes `value` in that dtype."""
    return _spelt(value, dtype)


def _spelt(value: Any, dtype: DType | None = None) -> ast.expr:
    return _short(number(value, dtype))


def _short(tree: ast.expr) -> ast.expr:
    """A float that is a small integer without its point: NumPy computes the same.  A negative number has its sign."""
    if not isinstance(tree, ast.Constant) or type(tree.value) not in (int, float):
        return tree
    value: Any = tree.value
    if value < 0 or (value == 0 and np.signbit(value)):
        return ast.UnaryOp(op=ast.USub(), operand=_short(ast.Constant(value=-value)))
    if isinstance(value, float) and value.is_integer() and value < 1e6:
        return ast.Constant(value=int(value))
    return tree


# ------------------------------------------------------------------------------------------------ formulas
class Written:
    """An operand of a formula: its expression, how large that is, and its number if it is one."""

    __slots__ = ("shape", "splat", "tree")

    def __init__(self, tree: ast.expr | None, shape: tuple[Any, ...], splat: Splat | None = None) -> None:
        self.tree, self.shape, self.splat = tree, shape, splat


def formula_of(op: Op, operands: list[Written], stretch: Callable[[int], None], name_part: Any) -> ast.expr:
    """The expression of an elementwise op.

    `stretch` makes an operand as large as the result; `name_part` gives a part that is used twice a variable.
    """
    shapes = [(w.shape, w.splat) for w in operands]
    root = trace_whole(op, shapes, attributes(op), stretch, FORMULAS.get(op.defn.name))
    if not isinstance(root, Leaf):
        return _applied(root, root, operands, {}, name_part)
    if root.shape != op.results[0].shape:
        stretch(root.index)
    tree = operands[root.index].tree
    assert tree is not None
    return tree


def _applied(
    node: Applied, root: Applied, operands: list[Written], trees: dict[Applied, ast.expr], name_part: Any
) -> ast.expr:
    if node in trees:
        return trees[node]
    for a in node.args:
        if isinstance(a, Applied):
            _applied(a, root, operands, trees, name_part)
    args = argument_trees(node, trees, lambda at: operands[at].tree, _spelt)  # type: ignore[arg-type,return-value]
    tree = _operation(node, args)
    if node is not root and node.uses > 1:
        tree = name_part(tree)
    trees[node] = tree
    return tree


def _operation(node: Applied, args: list[ast.expr]) -> ast.expr:
    fn = node.fn
    if fn == "add" and _same(*args):
        return _times(ast.Constant(value=2), args[0])
    if fn == "multiply":
        return _times(*args)
    if fn == "add" and 0 in (numbers := [_number_of(a) for a in args]):
        return args[1 - numbers.index(0)]
    if (shorter := operator_tree(fn, args)) is not None:
        return shorter
    if fn in _LOGIC and all(isinstance(a, Applied | Leaf) and a.sample.dtype.kind == "b" for a in node.args):
        return ast.BinOp(left=args[0], op=_LOGIC[fn](), right=args[1])
    if fn == "where" and isinstance(args[1], ast.Call) and _is_number(args[1].args[:1], 1) and _is_number(args[2:], 0):
        return call(attribute(args[0], "astype"), args[1].func)  # the mask as zeros and ones
    return call(f"np.{_SPELT.get(fn, fn)}", *args)


def _is_number(trees: list[ast.expr], value: int) -> bool:
    return len(trees) == 1 and isinstance(trees[0], ast.Constant) and trees[0].value == value


def _same(a: ast.expr, b: ast.expr) -> bool:
    return ast.dump(a) == ast.dump(b)


def _times(a: ast.expr, b: ast.expr) -> ast.expr:
    """The product; nested constant factors are folded if one is a power of two, which changes no bit."""
    if isinstance(b, ast.BinOp) and isinstance(b.op, ast.Mult):
        first, second = _number_of(a), _number_of(b.left)
        if first is not None and second is not None and np.frexp(abs(first))[0] == 0.5:
            return _times(_short(ast.Constant(value=float(first * second))), b.right)
    if _number_of(a) == 1:
        return b
    return ast.BinOp(left=a, op=ast.Mult(), right=b)


def _number_of(tree: ast.expr) -> float | None:
    sign = 1
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        sign, tree = -1, tree.operand
    value: Any = tree.value if isinstance(tree, ast.Constant) else None
    return sign * value if type(value) in (int, float) else None


# ------------------------------------------------------------------------------------------------ kernels
def kernel_tree(op: Op, operands: list[ast.expr], support: Support) -> ast.expr:
    """The expression of an op that has a kernel, or a call of a function that `support` prints."""
    name = op.defn.name
    if name in READABLE:
        taken = inspect.signature(READABLE[name]).parameters
        written = {k: literal(v) for k, v in attributes(op).items() if k in taken}
        return call(support.include(READABLE[name], name), *operands, **written)  # type: ignore[arg-type]
    if name in _TREES:
        return _TREES[name](op, *operands)
    if name in REDUCTIONS:
        return _reduction(op, operands[0])
    if name in EXPRESSIONS:
        return _filled(EXPRESSIONS[name], op, operands)
    tree, _ = kernel_expression(op, operands, support)
    return tree


def _filled(template: str, op: Op, operands: list[ast.expr]) -> ast.expr:
    known: dict[str, ast.expr | None] = dict(zip(op.defn.operand_names, operands, strict=True))
    for name, value in zip(op.defn.schema, op.attrs, strict=True):
        known[name] = dtype_expr(value) if isinstance(value, DType) else literal(value)
    filled: ast.expr = _Filler(known).visit(ast.parse(template, mode="eval").body)
    return filled


class _Filler(ast.NodeTransformer):
    def __init__(self, known: dict[str, ast.expr | None]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.known.get(node.id) or node


def _reduction(op: Op, x: ast.expr) -> ast.expr:
    ndim = op.operands[0].ndim
    chosen = op.attr("axes") if "axes" in op.defn.schema else (op.attr("axis"),)
    axes = tuple(sorted(a % ndim for a in chosen))
    keywords: dict[str, Any] = {}
    if len(axes) != ndim or ndim == 0:
        keywords["axis"] = literal(axes[0] if len(axes) == 1 else axes)
    if op.attr("keepdims"):
        keywords["keepdims"] = ast.Constant(value=True)
    return call(attribute(x, REDUCTIONS[op.defn.name]), **keywords)


def _transpose(op: Op, x: ast.expr) -> ast.expr:
    ndim = op.operands[0].ndim
    axes = [a % ndim for a in op.attr("axes")]
    if axes == list(reversed(range(ndim))):
        return attribute(x, "T")
    moved = [i for i, a in enumerate(axes) if i != a]
    if len(moved) == 2:
        return call(attribute(x, "swapaxes"), *(number(i) for i in moved))
    return call(attribute(x, "transpose"), *(number(a) for a in axes))


def _reshape(op: Op, x: ast.expr) -> ast.expr:
    shape = op.attr("shape")
    if len(shape) == 1 and op.operands[0].ndim > 1:
        return call(attribute(x, "reshape"), ast.UnaryOp(op=ast.USub(), operand=number(1)))
    if not shape:
        return call(attribute(x, "reshape"), tuple_expr([]))
    return call(attribute(x, "reshape"), *map(literal, shape))  # type: ignore[arg-type]


def _cast(op: Op, x: ast.expr) -> ast.expr:
    dtype = dtype_expr(op.results[0].dtype)
    if op.operands[0].type.shape == ():  # type: ignore[attr-defined]
        return call(dtype, x)
    return call(attribute(x, "astype"), dtype)


def _slice(op: Op, x: ast.expr) -> ast.expr:
    return subscript(x, slice_index(op))


_TREES: dict[str, Any] = {"slice": _slice, "transpose": _transpose, "reshape": _reshape, "cast": _cast}


def negated(tree: ast.expr, times: int = 1) -> ast.expr:
    """The negation of a condition; `times` 2: the condition itself, with `np.logical_not` spelt ``not``."""
    inner = tree.args[0] if isinstance(tree, ast.Call) and ast.unparse(tree.func) == "np.logical_not" else None
    if times == 2:
        return tree if inner is None else ast.UnaryOp(op=ast.Not(), operand=negated(inner, 2))
    return ast.UnaryOp(op=ast.Not(), operand=tree) if inner is None else negated(inner, 2)


def single_axes(op: Op) -> set[int]:
    """The axes along which `slice` takes, or `slice_update` changes, one element."""
    ranges = zip(*(op.attr(n) for n in ("axes", "starts", "stops", "steps")), strict=True)
    return {axis for axis, start, stop, step in ranges if step == 1 and stop == start + 1}


def slice_index(op: Op, *, elements: bool = False) -> ast.expr:
    """The index of the part that `slice` takes and `slice_update` changes; of one `elements` without their axes."""
    ranges: dict[str, Any] = {name: op.attr(name) for name in ("axes", "starts", "stops", "steps")}
    parts = slice_parts(op.operands[0].shape, **ranges, short=True)
    for axis, start in zip(ranges["axes"], ranges["starts"], strict=True):
        if elements and axis in single_axes(op):
            parts[axis] = literal(start)  # type: ignore[assignment]
    return index_of(parts)


def as_argument(index: ast.expr) -> ast.expr:
    """An index as the argument of a function, which knows no colons."""
    if isinstance(index, ast.Tuple):
        return tuple_expr([as_argument(part) for part in index.elts])
    return call("slice", ast.Constant(value=None)) if whole(index) else index


def loop_index(x: Value) -> Value | None:
    """The index of a loop that a checked position always is, as there are no more trips than elements."""
    op = x.op
    if op is None or op.defn.name != "check_index":
        return None
    index = op.operands[0]
    block = index.block
    loop = block.parent if block is not None else None
    if block is None or loop is None or loop.defn.name != "scan" or index is not block.args[0]:
        return None
    trips, size = trips_of(loop), op.attr("size")
    if isinstance(trips, int) and isinstance(size, int):
        return index if trips <= size else None
    return index if trips is not None and trips is size else None
