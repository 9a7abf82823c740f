"""NumPy kernels of primitives as code: a one-expression kernel is written in place, others become functions.

What a kernel mentions besides its operands is resolved where it is defined: modules are imported by the generated file,
constants written down, our own functions printed with their source.
"""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dtypes import DType, from_numpy
from ...errors import CompileError, InternalCompilerError
from ...ir.core import Op, Value
from ...ir.primitive import Ints
from ...ir.sizes import Dim, Size, is_at_most
from ...ir.types import Shape, TensorType
from ...no_memory import is_refusal
from .kernel_source import source_of
from .syntax import (
    attribute,
    call,
    constant,
    dotted,
    dtype_expr,
    literal,
    load,
    none,
    number,
    printed,
    size,
    subscript,
    tuple_expr,
)

#: Nodes that `astunparse` prints right and that bind no names.
_PLAIN = (
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.IfExp, ast.List, ast.Name, ast.Slice,
    ast.Starred, ast.Subscript, ast.Tuple, ast.UnaryOp, ast.keyword, ast.operator, ast.cmpop, ast.boolop, ast.unaryop,
    ast.expr_context,
)  # fmt: skip


def attributes(op: Op) -> dict[str, Any]:
    """An op's attributes as kernels get them: dtypes as NumPy's."""
    return {
        name: value.numpy if isinstance(value, DType) else value
        for name, value in zip(op.defn.schema, op.attrs, strict=True)
    }


@dataclass(frozen=True)
class _Kernel:
    """The source of a kernel: its definition, and its one expression if it has no more than that."""

    fn: Callable[..., Any]
    text: str
    params: tuple[str, ...]
    vararg: str | None
    body: ast.expr | None
    names: dict[str, Any]


@functools.lru_cache(maxsize=1024)
def _parsed(fn: Callable[..., Any]) -> _Kernel:
    text = source_of(fn)
    tree = ast.parse(text)
    closure = inspect.getclosurevars(fn)
    names = {**closure.builtins, **closure.globals, **closure.nonlocals}
    found = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda))
    args = found.args
    params = tuple(a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs))
    body: ast.expr | None = None
    if args.kwarg is None:
        if isinstance(found, ast.Lambda):
            body = found.body
        else:
            rest = found.body[1:] if ast.get_docstring(found) is not None else found.body
            if len(rest) == 1 and isinstance(rest[0], ast.Return):
                body = rest[0].value
    if body is not None and not all(isinstance(n, _PLAIN) for n in ast.walk(body)):
        body = None
    if isinstance(found, ast.Lambda) and body is None:
        raise InternalCompilerError(f"the kernel {text.strip()!r} must be written with def")
    return _Kernel(fn, text, params, args.vararg.arg if args.vararg else None, body, names)


#: An error class of ours in a generated file, which does not import this package: without hints and source lines.
_ERROR = """class {name}({base}):
    def __init__(self, message, **more):
        super().__init__(message)"""


class Support:
    """Imports of a generated module, and functions of this package that are printed into it."""

    def __init__(self) -> None:
        self.imports: dict[str, str] = {"np": "import numpy as np"}
        self.sources: dict[str, str] = {}
        self._names: dict[Any, str] = {}

    def include(
        self, thing: Callable[..., Any] | type, name: str | None = None, change: tuple[str, str] = ("", "")
    ) -> str:
        """Prints a function or class of ours into the module; returns the name it has there.

        `change` replaces one piece of the source by another.
        """
        known = self._names.get((thing, change))
        if known is not None:
            return known
        name = name or thing.__name__
        if name in self.sources or name in self.imports:
            raise InternalCompilerError(f"two functions called {name} are needed in one generated module")
        self._names[thing, change] = name
        self.sources[name] = ""  # takes its place in the order before what it mentions is included
        text = source_of(thing).replace(*change)
        functions = [f for f in vars(thing).values() if inspect.isfunction(f)] if isinstance(thing, type) else [thing]
        for fn in functions:
            for free, value in _free_names(fn).items():
                if value is not thing:
                    self._provide(free, value)
        if not isinstance(thing, type):
            text = text.replace(f"def {thing.__name__}(", f"def {name}(", 1)
        self.sources[name] = _without_decorators(text)
        return name

    def _provide(self, name: str, value: Any) -> None:
        """Makes a name that printed source mentions mean the same in the module."""
        if isinstance(value, types.ModuleType):
            self.module(name, value)
        elif inspect.isclass(value) and issubclass(value, CompileError):
            builtin = next(c for c in value.__mro__ if c.__module__ == "builtins")
            self.sources.setdefault(name, _ERROR.format(name=name, base=builtin.__name__))
        elif inspect.isfunction(value) or (inspect.isclass(value) and value.__module__.startswith(__package__ or "")):
            if self.include(value) != name:
                raise InternalCompilerError(f"{name} is another name of {value!r}")
        else:
            path = _public_path(value)
            tree = dotted(path) if path else literal(value)
            if tree is None:
                raise InternalCompilerError(f"a kernel mentions {name} = {value!r}, which cannot be written down")
            self.sources.setdefault(name, f"{name} = {printed(tree)}")

    def module(self, name: str, module: types.ModuleType) -> None:
        line = f"import {module.__name__}" if module.__name__ == name else f"import {module.__name__} as {name}"
        if self.imports.setdefault(name, line) != line:
            raise InternalCompilerError(f"{name} would mean two modules")

    def dtype(self, dtype: DType) -> None:
        """Imports what the name of a dtype needs."""
        if dtype.name == "bfloat16":
            self.imports.setdefault("ml_dtypes", "import ml_dtypes")

    def dtypes(self, op: Op) -> None:
        """Imports what the dtypes of an op need."""
        for x in (*op.operands, *op.results):
            if isinstance(x.type, TensorType):
                self.dtype(x.type.dtype)

    def mentioned(self, texts: Iterable[str], sources: Mapping[str, str] | None = None) -> dict[str, str]:
        """Those of the sources that the texts mention, directly or through each other, in the order of the module."""
        sources = self.sources if sources is None else sources
        found, waiting = set[str](), list(texts)
        while waiting:
            for name in set(re.findall(r"\w+", waiting.pop())) & sources.keys() - found:
                found.add(name)
                waiting.append(sources[name])
        return {name: source for name, source in sources.items() if name in found}

    def expression_of(self, name: str, value: Any) -> ast.expr | None:
        """A global of a kernel as an expression of the module."""
        if getattr(builtins, name, None) is value:
            return load(name)
        if isinstance(value, types.ModuleType):
            self.module(name, value)
            return load(name)
        path = _public_path(value)
        if path is not None:
            return dotted(path)
        if inspect.isfunction(value):
            return load(self.include(value))
        return literal(value)


def _free_names(fn: Callable[..., Any]) -> dict[str, Any]:
    if isinstance(fn, staticmethod | classmethod):
        fn = fn.__func__
    known = {name: fn.__globals__[name] for name in sorted(_loaded(fn.__code__)) if name in fn.__globals__}
    return {**known, **inspect.getclosurevars(fn).nonlocals}


@functools.lru_cache(maxsize=1024)  # disassembling was an eighth of a compilation
def _loaded(code: types.CodeType) -> frozenset[str]:
    """The global names that code reads; `getclosurevars` would add names of attributes and miss comprehensions."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= _loaded(inner)
    return frozenset(found)


def _public_path(value: Any) -> str | None:
    """``np.sum`` for what NumPy itself exports under that name."""
    name = getattr(value, "__name__", None)
    if isinstance(name, str) and getattr(np, name, None) is value:
        return f"np.{name}"
    return None


def _without_decorators(text: str) -> str:
    """Source from its `def` or `class` on: decorators such as `staticmethod` belong to where it was defined."""
    lines = text.rstrip().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(("def ", "class ")))
    return "\n".join(lines[start:])


# ------------------------------------------------------------------------------------------------ indexing
def whole(part: ast.expr) -> bool:
    """Whether an index takes a whole dimension."""
    return isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None


def index_of(parts: list[ast.expr]) -> ast.expr:
    """The index of these parts, without the whole dimensions at the end."""
    while len(parts) > 1 and whole(parts[-1]):
        parts.pop()
    if not parts:
        return ast.Constant(...)  # an index of () makes a scalar of an array without dimensions
    return tuple_expr(parts) if len(parts) > 1 else parts[0]


def slice_parts(
    shape: Shape, axes: Ints, starts: Shape, stops: Shape, steps: Ints, *, short: bool = False
) -> list[ast.expr]:
    """The index of the op `slice`, a part for each dimension; `short`: bounds at the ends are left out."""
    parts: list[ast.expr] = [ast.Slice(lower=None, upper=None, step=None) for _ in shape]
    for axis, start, stop, step in zip(axes, starts, stops, steps, strict=True):
        if step < 0:
            lower, upper = _downwards(start, stop, shape[axis], short)
        else:
            lower = None if start == 0 else size(start)
            upper = None if short and is_at_most(shape[axis], stop) else size(stop)
        parts[axis] = ast.Slice(lower=lower, upper=upper, step=None if step == 1 else number(step))
    return parts


def _downwards(start: Size, stop: Size, length: Size, short: bool) -> tuple[ast.expr | None, ast.expr | None]:
    """The bounds of a slice of negative step along an axis of that length.

    Python takes -1, the place before the first element, for that of the last one.  So a stop there is left out, and
    with a start there nothing is taken.
    """
    from_place = is_at_most(0, start) or start == length - 1  # without a last element there are none
    lower = None if start == length - 1 and (short or isinstance(start, Dim)) else size(start)
    rest: ast.expr = none()
    if not from_place:
        lower, rest = call("max", size(start), number(0)), _if_place(start, none(), number(0))
    if stop == -1:
        return lower, None if from_place else rest
    return lower, size(stop) if is_at_most(0, stop) else _if_place(stop, size(stop), rest)


def _if_place(position: Size, then: ast.expr, otherwise: ast.expr) -> ast.expr:
    is_place = ast.Compare(left=size(position), ops=[ast.GtE()], comparators=[number(0)])
    return ast.IfExp(test=is_place, body=then, orelse=otherwise)


def _slices(shape: Shape, **ranges: Any) -> ast.expr:
    return index_of(slice_parts(shape, **ranges))


def _new_dimensions(shape: Shape, axes: Ints) -> ast.expr:
    """The index of the op `expand_dims`."""
    rest = range(-len(shape) - len(axes), 0)
    return index_of([none() if i in axes else ast.Slice(lower=None, upper=None, step=None) for i in rest])


#: Ops that are an index, by the function that makes it.
_INDICES: dict[str, Callable[..., ast.expr]] = {"slice": _slices, "expand_dims": _new_dimensions}


# ------------------------------------------------------------------------------------------------ kernels
def kernel_expression(op: Op, operands: list[ast.expr], support: Support) -> tuple[ast.expr, bool]:
    """A call of the op's NumPy kernel, and whether it was written in place (then its outermost call is NumPy's own)."""
    fn = op.defn.numpy
    assert fn is not None
    attrs = attributes(op)
    if op.defn.name in _INDICES:
        return subscript(operands[0], _INDICES[op.defn.name](op.operands[0].shape, **attrs)), True
    path = _public_path(fn)
    if path is not None:
        return call(path, *operands, **_written(op, attrs)), True
    kernel = _parsed(fn)
    if kernel.body is not None and not op.defn.collective:
        fixed = len(op.operands) if kernel.vararg is None else len(kernel.params) - len(attrs)
        operand_of = dict(zip(kernel.params, operands[:fixed], strict=False))
        if kernel.vararg is not None:
            operand_of[kernel.vararg] = tuple_expr(operands[fixed:])
        inlined = _Inliner(kernel, operand_of, attrs, support).visit(kernel.body)
        if inlined is not None:
            return inlined, True
    name = support.include(fn, f"_{op.defn.name}")
    # A value without dimensions may be a NumPy scalar, which a kernel could not write to.
    operands = [
        call("np.asarray", tree) if isinstance(x.type, TensorType) and x.type.shape == () else tree
        for tree, x in zip(operands, op.operands, strict=True)
    ]
    return call(name, *operands, **_written(op, attrs)), False


def widened(op: Op, operands: list[ast.expr]) -> tuple[list[ast.expr], DType | None]:
    """The operands of a kernel that computes 16-bit floats in float32, and the dtype of its results (None: its own)."""
    narrow = op.operands[0].dtype if op.defn.widen and op.operands else None
    if narrow is None or not narrow.is_float or narrow.bits != 16:
        return operands, None
    wide = [
        call(attribute(tree, "astype"), dotted("np.float32")) if x.dtype is narrow else tree
        for tree, x in zip(operands, op.operands, strict=True)
    ]
    return wide, narrow


def overwriting_kernel(op: Op, support: Support) -> str | None:
    """The op's kernel as a function that writes into the operand `inplace` names, if it starts from a copy of it."""
    fn, name = op.defn.numpy, op.defn.inplace
    assert fn is not None
    if not starts_from_copy(op):
        return None
    return support.include(fn, f"_{op.defn.name}_into", (f"= {name}.copy()", f"= {name}"))


def starts_from_copy(op: Op) -> bool:
    """Whether the op's kernel writes into a copy, in C order, of the operand `inplace` names."""
    fn = op.defn.numpy
    assert fn is not None
    return _parsed(fn).text.count(f"= {op.defn.inplace}.copy()") == 1


def _written(op: Op, attrs: dict[str, Any]) -> dict[str, ast.expr]:
    out = {}
    for name, value in attrs.items():
        tree = literal(value)
        if tree is None:
            raise InternalCompilerError(f"{op.defn.name}: {name}={value!r} cannot be written down", loc=op.loc)
        out[name] = tree
    return out


class _Inliner:
    """Copies a kernel's expression with operands and attributes in place; attribute arithmetic is computed now."""

    def __init__(self, kernel: _Kernel, operands: dict[str, ast.expr], attrs: dict[str, Any], support: Support) -> None:
        self.kernel, self.operands, self.attrs, self.support = kernel, operands, attrs, support

    def visit(self, node: ast.AST) -> Any:
        """The copy, or None where something in it cannot be written down."""
        if isinstance(node, ast.expr):
            folded = self._folded(node)
            if folded is not None:
                return folded
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.IfExp):
            test = self.visit(node.test)
            if isinstance(test, ast.Constant):
                return self.visit(node.body if test.value else node.orelse)
        fields: dict[str, Any] = {}
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                copied = self.visit(value)
                if copied is None:
                    return None
            elif isinstance(value, list):
                copied = [self.visit(v) if isinstance(v, ast.AST) else v for v in value]
                if any(c is None and v is not None for c, v in zip(copied, value, strict=True)):
                    return None
            else:
                copied = value
            fields[field] = copied
        return type(node)(**fields)

    def _name(self, name: str) -> ast.expr | None:
        if name in self.operands:
            return self.operands[name]
        if name in self.attrs:
            value = self.attrs[name]
            if isinstance(value, np.dtype):  # as an argument the scalar type is shorter
                return dtype_expr(from_numpy(value))
            return literal(value)
        if name not in self.kernel.names:
            return None
        return self.support.expression_of(name, self.kernel.names[name])

    def _folded(self, node: ast.expr) -> ast.expr | None:
        """The value of an expression over attributes only."""
        if isinstance(node, ast.Name | ast.Constant | ast.Slice | ast.Starred):
            return None
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if not names & self.attrs.keys() or names & self.operands.keys():
            return None
        if any(_is_open(self.attrs[name]) for name in names & self.attrs.keys()):
            return None
        scope = {**self.kernel.names, **self.attrs}
        try:
            value = eval(compile(ast.Expression(body=node), "<kernel>", "eval"), scope)
        except Exception as error:
            if is_refusal(error):  # too large to compute now: left to the run, whose MemoryError names the call
                return None
            raise InternalCompilerError(f"the kernel {self.kernel.fn.__qualname__} fails: {error}") from error
        return literal(value)


def _is_open(value: Any) -> bool:
    """Whether a value of an attribute is symbolic somewhere, so that the call computes with it."""
    return isinstance(value, Dim) or (isinstance(value, tuple) and any(map(_is_open, value)))


def print_call(op: Op, support: Support, shown: Callable[[Value, str], ast.expr]) -> ast.Call:
    """``print(...)`` as the op `print` has it; `shown` gives an operand for the way in which it is printed."""
    ways = op.attr("ways")

    def part(what: Any) -> ast.expr:
        if isinstance(what, str):
            return constant(what)
        if isinstance(what, tuple | list):
            form, *arguments = what
            return call(attribute(constant(form), "format"), *map(part, arguments))
        return shown(op.operands[what], ways[what] if ways else "str")

    parts = [part(what) for what in op.attr("parts")]
    defaults = {"sep": " ", "end": "\n", "flush": False}
    extra: dict[str, ast.expr] = {k: constant(op.attr(k)) for k, default in defaults.items() if op.attr(k) != default}
    if op.attr("stream") != "stdout":
        support.module("sys", sys)
        extra["file"] = dotted(f"sys.{op.attr('stream')}")
    return call("print", *parts, **extra)


def result_call(tree: ast.expr) -> str | None:
    """The name of the NumPy function whose result the expression is: ``add.reduce`` for ``np.add.reduce(...)``."""
    if not isinstance(tree, ast.Call):
        return None
    path: list[str] = []
    here = tree.func
    while isinstance(here, ast.Attribute):
        path.append(here.attr)
        here = here.value
    return ".".join(reversed(path)) if isinstance(here, ast.Name) and here.id == "np" and path else None
