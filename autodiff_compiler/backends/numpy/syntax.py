"""Short names for the pieces of Python syntax that generated modules consist of.

Trees are made of plain `ast` nodes.  A variable appears as an `ast.Name` whose `id` is the `Var` itself: its printed
name is decided last, when all variables of a function are known.
"""

from __future__ import annotations

import ast
import functools
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import astunparse
import numpy as np

from ... import escape
from ...dtypes import DType, from_numpy
from ...ir.open_shapes import definitions
from ...ir.sizes import Atom, Dim, Size, Symbol, usual
from ...ir.types import TensorType, Type, dim_product

_numbers = itertools.count()
#: The largest array, in elements, that is written into the text.
_SMALL = 64


class Var(str):
    """A variable of a generated function: its type, and the set of variables that it may alias.

    It is a str, so that a tree can be printed, to see how long it is, before variables have names.
    `foreign` (kept at the root of the alias set): bytes that the program must not overwrite, as those of arguments.
    `states` (likewise): the arguments in the set that are states, which only their next versions may overwrite.
    `ordered`: the array is in C order, so far as is known yet, and so is what is computed from it; `whole`: and it is
    contiguous.  `joined`: several statements may assign it.
    `hint`: the name the user's program suggests; `fallback`: one for where it suggests none.  `fixed`: its name is its
    hint.
    """

    number: int
    type: Type | None
    nbytes: int
    hint: str | None
    fallback: str
    fixed: bool
    joined: bool
    ordered: bool
    whole: bool
    #: The variable whose bytes this one shows, if it is a view of one.
    base: Var | None
    #: Variables laid out like this one, and whether they are views of it.
    _followers: list[tuple[Var, bool]]
    _foreign: bool
    _name: str
    _named_by: Var | None
    _root: Var | None
    _states: frozenset[Var]

    __slots__ = (
        "_followers", "_foreign", "_name", "_named_by", "_root", "_states",
        "base", "fallback", "fixed", "hint", "joined", "nbytes", "number", "ordered", "type", "whole",
    )  # fmt: skip

    def __new__(
        cls,
        type: Type | None,
        hint: str | None = None,
        *,
        fallback: str = "t",
        foreign: bool = False,
        joined: bool = False,
        fixed: bool = False,
    ) -> Var:
        number = next(_numbers)
        self = str.__new__(cls, f"{hint or fallback}@{number}")
        self.number, self.type, self.nbytes = number, type, size_of(type)
        self.hint, self.fallback, self.fixed = hint, fallback, fixed
        self.joined, self.ordered, self.whole = joined, True, True
        self.base = self._root = self._named_by = None
        self._followers, self._foreign, self._name, self._states = [], foreign, "", frozenset()
        return self

    def root(self) -> Var:
        """The representative of the alias set."""
        here = self
        while here._root is not None:
            if here._root._root is not None:
                here._root = here._root._root
            here = here._root
        return here

    @property
    def foreign(self) -> bool:
        return self.root()._foreign

    def set_foreign(self) -> None:
        self.root()._foreign = True

    @property
    def states(self) -> frozenset[Var]:
        return self.root()._states

    def become_state(self) -> None:
        """An argument whose bytes belong to the program until it has made the next version of them."""
        self.root()._states |= {self}

    def share(self, other: Var) -> None:
        """From now on the two may alias."""
        a, b = self.root(), other.root()
        if a is not b:
            b._root = a
            a._foreign = a._foreign or b._foreign
            a._states |= b._states

    def namesake(self) -> Var:
        """The variable whose name this one has: itself unless the plan made several variables one."""
        here = self
        while here._named_by is not None:
            if here._named_by._named_by is not None:
                here._named_by = here._named_by._named_by
            here = here._named_by
        return here

    def rename(self, other: Var) -> None:
        """From now on the two have one name: their lives do not overlap."""
        mine, theirs = self.namesake(), other.namesake()
        if mine is not theirs:
            mine._named_by = theirs
            theirs.hint = theirs.hint or mine.hint
            theirs.fallback = mine.fallback

    @property
    def name(self) -> str:
        return self.namesake()._name

    @name.setter
    def name(self, name: str) -> None:
        self.namesake()._name = name

    def __str__(self) -> str:
        return self.name

    def lose_order(self) -> None:
        """The array may not be in C order, nor those whose layout follows it."""
        stack = [self]
        while stack:
            here = stack.pop()
            if here.ordered:
                here.ordered = here.whole = False
                stack += [var for var, _ in here._followers]

    def become_part(self) -> None:
        """The array may be a part of a larger one, and with it its views."""
        stack = [self]
        while stack:
            here = stack.pop()
            if here.whole:
                here.whole = False
                stack += [var for var, view in here._followers if view]

    def follow(self, other: Var, view: bool = False) -> None:
        """This variable's arrays are laid out as those of `other`, or are views of them."""
        other._followers.append((self, view))
        if not other.ordered:
            self.lose_order()
        elif view and not other.whole:
            self.become_part()


def size_of(type: Type | None) -> int:
    """The bytes of an array of that type, with symbolic sizes as they usually are; 0 where it may be a NumPy scalar."""
    if not isinstance(type, TensorType) or not type.shape:
        return 0
    return usual(dim_product(type.shape)) * type.dtype.itemsize


# ------------------------------------------------------------------------------------------------ expressions
def load(var: Var | str) -> ast.expr:
    return ast.Name(id=var, ctx=ast.Load())


def store(var: Var | str) -> ast.Name:
    return ast.Name(id=var, ctx=ast.Store())


def targets_of(vars: Sequence[Var]) -> ast.expr:
    """What an assignment to one or several variables has on its left."""
    return store(vars[0]) if len(vars) == 1 else tuple_expr(map(store, vars), stored=True)


def attribute(value: ast.expr, name: str) -> ast.expr:
    return ast.Attribute(value=value, attr=name, ctx=ast.Load())


def dotted(path: str) -> ast.expr:
    """``np.linalg.solve`` as a tree."""
    first, *rest = path.split(".")
    tree = load(first)
    for name in rest:
        tree = attribute(tree, name)
    return tree


def call(fn: str | ast.expr, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    return ast.Call(
        func=dotted(fn) if isinstance(fn, str) else fn,
        args=list(args),
        keywords=[ast.keyword(arg=k, value=v) for k, v in keywords.items()],
    )


def subscript(value: ast.expr, index: ast.expr, *, stored: bool = False) -> ast.expr:
    return ast.Subscript(value=value, slice=index, ctx=ast.Store() if stored else ast.Load())


def tuple_expr(elems: Iterable[ast.expr], *, stored: bool = False) -> ast.expr:
    return ast.Tuple(elts=list(elems), ctx=ast.Store() if stored else ast.Load())


def assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[target], value=value, lineno=0)


def dtype_expr(dtype: DType) -> ast.expr:
    """``np.float32``, as a scalar type that makes numbers and names the dtype of arrays."""
    if dtype.name == "bfloat16":
        return dotted("ml_dtypes.bfloat16")
    return dotted("np.bool_" if dtype.is_bool else f"np.{dtype.name}")


def constant(value: Any) -> ast.Constant:
    return ast.Constant(value=value, kind=None)


def none() -> ast.Constant:
    return constant(None)


def number(value: bool | int | float, dtype: DType | None = None) -> ast.expr:
    """A Python number; what has no literal is spelt ``np.nan`` and ``np.inf``.

    With `dtype` it is what becomes `value` when that dtype is made of it: 0.1 for the float32 next to it.
    """
    if isinstance(value, float):
        if dtype is not None and dtype.bits < 64 and np.isfinite(value):
            short = float(str(dtype.numpy.type(value)))
            value = short if float(dtype.numpy.type(short)) == value else value
        if value != value:
            return dotted("np.nan")
        if value in (np.inf, -np.inf):
            return dotted("np.inf") if value > 0 else ast.UnaryOp(op=ast.USub(), operand=dotted("np.inf"))
    return constant(value)


def size(value: Size) -> ast.expr:
    """A size: its number, or a formula of the variables of its symbols, see `size_variable`."""
    if not isinstance(value, Dim):
        return number(value)
    total: ast.expr | None = None
    for monomial, factor in value.terms:
        parts = [*([] if abs(factor) == 1 and monomial else [number(abs(factor))]), *map(_atom, monomial)]
        product = functools.reduce(lambda a, b: ast.BinOp(left=a, op=ast.Mult(), right=b), parts)
        if total is None:
            total = product if factor > 0 else ast.UnaryOp(op=ast.USub(), operand=product)
        else:
            total = ast.BinOp(left=total, op=ast.Add() if factor > 0 else ast.Sub(), right=product)
    assert total is not None
    return total


def _atom(atom: Symbol | Atom) -> ast.expr:
    if isinstance(atom, Symbol):
        return load(size_variable(atom))
    left, right = size(atom.left), size(atom.right)
    return ast.BinOp(left=left, op=ast.FloorDiv(), right=right) if atom.op == "//" else call(atom.op, left, right)


def size_definitions(arrays: Iterable[tuple[Type, ast.expr]]) -> dict[Symbol, ast.expr]:
    """What each symbol in the types of some arrays is, by the sizes of these."""
    listed = list(arrays)
    found: dict[Symbol, ast.expr] = {}
    shapes = [type_.shape if isinstance(type_, TensorType) else () for type_, _ in listed]
    for symbol, (i, axis, factor, more) in definitions(shapes).items():
        size = subscript(attribute(listed[i][1], "shape"), number(axis))
        rest = ast.BinOp(left=size, op=ast.Sub(), right=number(more)) if more else size
        found[symbol] = ast.BinOp(left=rest, op=ast.FloorDiv(), right=number(factor)) if factor > 1 else rest
    return found


def size_variable(symbol: Symbol) -> str:
    """The variable of each function that holds what a symbol is in this call."""
    return f"size_{escape.word(symbol.name)}"


def literal(value: Any) -> ast.expr | None:
    """An attribute's value as an expression; None where it cannot be written down."""
    if value is None or value is Ellipsis:
        return constant(value)
    if isinstance(value, bool | int | float):
        return number(value)
    if isinstance(value, Dim):
        return size(value)
    if isinstance(value, str):
        return constant(value)
    if isinstance(value, np.dtype):
        return call("np.dtype", dtype_expr(from_numpy(value)))
    if isinstance(value, np.generic):
        return call("np." + type(value).__name__, number(value.item()))
    if isinstance(value, slice):
        parts = [literal(v) for v in (value.start, value.stop, value.step)]
        return None if None in parts else call("slice", *parts)  # type: ignore[arg-type]
    if isinstance(value, tuple | list):
        elems = [literal(v) for v in value]
        if None in elems:
            return None
        return tuple_expr(elems) if isinstance(value, tuple) else ast.List(elts=elems, ctx=ast.Load())  # type: ignore[arg-type]
    return None


def array_tree(array: Any) -> ast.expr | None:
    """A small array as an expression; None for a larger one."""
    if array.size > _SMALL:
        return None
    dtype = from_numpy(array.dtype)
    content = literal((array.astype(np.float32) if dtype.name == "bfloat16" else array).tolist())
    if content is None:
        return None
    typed = () if dtype.name in ("float64", "int64", "bool") and array.size else (dtype_expr(dtype),)
    tree = call("np.array", content, *typed)
    return tree if array.size else call(attribute(tree, "reshape"), tuple_expr(map(number, array.shape)))


def variables(node: ast.AST) -> Iterator[tuple[Var, bool]]:
    """The variables in a tree, each with whether it is assigned there."""
    stack = [node]
    while stack:
        here = stack.pop()
        if type(here) is ast.Name:
            var: Any = here.id
            if type(var) is Var:
                yield var, type(here.ctx) is ast.Store
        else:
            for field in here._fields:
                value = getattr(here, field, None)
                if isinstance(value, ast.AST):
                    stack.append(value)
                elif type(value) is list:
                    stack.extend(v for v in reversed(value) if isinstance(v, ast.AST))


class _Unparser(astunparse.Unparser):  # type: ignore[misc]
    """Prints ``x[:, 0]``, where `astunparse` prints the tuple as one of Python 3.8: ``x[(:, 0)]``."""

    def _Subscript(self, tree: ast.Subscript) -> None:
        parts = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else []
        if len(parts) < 2:
            super()._Subscript(tree)
            return
        self.dispatch(tree.value)
        self.write("[")
        for i, part in enumerate(parts):
            self.write(", " if i else "")
            self.dispatch(part)
        self.write("]")


def printed(node: ast.AST) -> str:
    """The text of one statement or expression, without the parentheses `astunparse` puts around everything."""
    file = io.StringIO()
    _Unparser(node, file=file)
    text = file.getvalue().strip()
    start = text.find(" = (") + 3 if isinstance(node, ast.Assign) else 0
    if start == 2 or text[start : start + 1] != "(" or text[-1] != ")":
        return text
    value = node.value if isinstance(node, ast.Assign | ast.Expr) else node
    if not isinstance(value, ast.BinOp | ast.Compare | ast.UnaryOp | ast.BoolOp):
        return text
    return text[:start] + text[start + 1 : -1]
