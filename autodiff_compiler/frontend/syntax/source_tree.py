"""From a Python function to its syntax tree, with exact places, and to the names it can see."""

from __future__ import annotations
import __future__ as futures

import ast
import linecache
import tokenize
import types
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import gast

from ...errors import (
    CompileError,
    RecursionDepthError,
    SourceUnavailableError,
    UnboundVariableError,
    UnknownNameError,
    did_you_mean,
)
from ...locks import Lock
from ...source import Loc, full_place
from .patterns import remove_patterns

_FUTURE_FLAGS = 0
for _name in futures.all_feature_names:
    _FUTURE_FLAGS |= getattr(futures, _name).compiler_flag
_FILES_KEPT = 8

Key: TypeAlias = tuple[int, str]  # first line (decorators included) and name, as a code object has them
Span: TypeAlias = tuple[int, int, int, int]  # line, byte column, end line, end byte column


@dataclass(frozen=True, eq=False)
class SourceTree:
    """The syntax tree of one function; shared and cached, so it must not be changed.

    `node` is a `gast.FunctionDef`, `gast.AsyncFunctionDef` or `gast.Lambda` whose columns count characters;
    `function` is the qualified name, `outer` the tree a nested function was taken from.
    """

    node: Any
    file: str
    function: str
    outer: SourceTree | None = field(default=None, repr=False)

    @property
    def root(self) -> SourceTree:
        """The tree that was loaded from source, of which this one is a part."""
        return self if self.outer is None else self.outer.root

    def inner(self, node: Any) -> SourceTree:
        """The tree of a `def` or `lambda` that stands inside this function."""
        name = getattr(node, "name", "<lambda>")
        return replace(self, node=node, function=f"{self.function}.<locals>.{name}", outer=self)

    def loc(self, node: Any, caller: Loc | None = None) -> Loc:
        """The place of a node of this tree; one without a place of its own spans its parts."""
        try:
            line, col, end_line, end_col = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
        except AttributeError:
            parts = [self.loc(part) for part in gast.iter_child_nodes(node) if not isinstance(part, _PLACELESS)]
            if not parts:
                return self.loc(self.node, caller)
            first, last = min(p[1:3] for p in parts), max(p[3:5] for p in parts)
            (line, col), (end_line, end_col) = first, last
        return Loc(self.file, line, col, end_line or line, end_col or 0, self.function, caller)


_PLACELESS = (gast.expr_context, gast.operator, gast.unaryop, gast.boolop, gast.cmpop)


def load(fn: Callable[..., Any]) -> SourceTree:
    """The syntax tree of a Python function, lambda or method.

    Raises `SourceUnavailableError` where there is no source (AC1001) or it is no longer the source the
    function was made from (AC1002).
    """
    if isinstance(fn, types.MethodType):
        fn = fn.__func__
    if not isinstance(fn, types.FunctionType):
        name = getattr(fn, "__qualname__", None) or repr(fn)
        raise SourceUnavailableError(
            f"`{name}` has no Python source: it is of type {type(fn).__name__}",
            hint="call a Python function, or this one through `ms.py_call`",
        )
    code = fn.__code__
    known = _trees.get(id(code))
    if known is not None:
        return known[1]
    with _lock:
        if id(code) not in _trees:
            tree = _read(fn)
            # Keyed by identity: equal code objects of two files, or of two lambdas on a line, are different places.
            _trees[id(code)] = (weakref.ref(code, partial(_forget, id(code))), tree)
        return _trees[id(code)][1]


def parse(path: str) -> tuple[Any, list[SourceTree]]:
    """The tree of a file, and those of its functions, methods and lambdas in its order; nothing of it is run.

    A function inside another has that one as its `outer`.  Raises `SyntaxError` where Python would.
    """
    with tokenize.open(path) as file:
        lines = file.read().splitlines(keepends=True)
    tree = ast.parse("".join(lines), path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        compile(tree, path, "exec", dont_inherit=True)  # `return` outside a function is no matter of the grammar
    module = gast.ast_to_gast(tree)
    _count_characters(module, lines)
    found: list[SourceTree] = []

    def visit(nodes: Iterable[Any], prefix: str, outer: SourceTree | None) -> None:
        for node in nodes:
            if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda):
                tree = SourceTree(node, path, prefix + getattr(node, "name", "<lambda>"), outer)
                found.append(tree)
                visit(gast.iter_child_nodes(node), f"{tree.function}.<locals>.", tree)
            elif isinstance(node, gast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.", outer)
            else:  # an `if` or `try` around definitions, or an expression
                visit(gast.iter_child_nodes(node), prefix, outer)

    visit(module.body, "", None)
    return module, found


def _forget(key: int, _: object) -> None:
    _trees.pop(key, None)


_trees: dict[int, tuple[weakref.ref[types.CodeType], SourceTree]] = {}
_files: dict[tuple[str, int], _File] = {}
_lock = Lock()


def _read(fn: types.FunctionType) -> SourceTree:
    code = fn.__code__
    lines = lines_of(fn)
    if not lines:
        raise _unavailable(code)
    flags = code.co_flags & _FUTURE_FLAGS
    file = _files.get((code.co_filename, flags))
    if file is None or file.lines != lines:
        _files.pop((code.co_filename, flags), None)
        file = _File(code, lines, flags)
        _files[code.co_filename, flags] = file
        while len(_files) > _FILES_KEPT:
            _files.pop(next(iter(_files)), None)
    try:
        node = gast.ast_to_gast(file.find(code))
    except RecursionError:
        raise RecursionDepthError(
            f"`{code.co_qualname}` is nested too deeply", hint="split the function, or a long `elif` chain in it"
        ) from None
    _count_characters(node, lines)
    node = remove_patterns(node)
    return SourceTree(node, code.co_filename, code.co_qualname)


def lines_of(fn: types.FunctionType) -> list[str]:
    """The lines of the file of a function, as they are now; none where there is no such text."""
    code = fn.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    if not lines and code.co_filename in _NAMELESS:
        # From Python 3.13.1 on, what was typed is kept for each code object, as its file name is not its own.
        kept = getattr(linecache, "_getlines_from_code", None)
        lines = kept(code) if kept else []
    return lines


#: File names that stand for many texts, and where such a text came from.
_NAMELESS = {
    "<stdin>": "it was typed at the prompt",
    "<string>": "it was given to `python -c`, or made by `exec` or `eval`",
}


def _unavailable(code: types.CodeType) -> CompileError:
    reason = _NAMELESS.get(code.co_filename, f"file {code.co_filename} cannot be read")
    return SourceUnavailableError(
        f"the source of `{code.co_qualname}` is not available: {reason}",
        hint="put the function in a file (a notebook cell will do), or call it through `ms.py_call`",
    )


def _changed(code: types.CodeType) -> CompileError:
    if code.co_filename in _NAMELESS:  # Python 3.13 keeps the text of `python -c`, which need not be this one
        return _unavailable(code)
    return SourceUnavailableError(
        f"the source of `{code.co_qualname}` changed since it was imported: "
        f"{full_place(code.co_filename, code.co_firstlineno)} is not what runs",
        code="AC1002",
        hint="reload the module or restart Python",
    )


class _File:
    """One parsed file with the code objects Python makes of it, to prove that a tree is what runs."""

    def __init__(self, code: types.CodeType, lines: list[str], flags: int) -> None:
        self.lines = lines
        self.name = code.co_filename
        # A notebook cell may await at its top level; elsewhere the flag changes nothing.
        self.flags = flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        try:
            self.tree = self._parse()
            module = self._compile(self.tree)
        except (SyntaxError, ValueError) as error:
            raise _changed(code) from error
        self.codes: dict[Key, list[types.CodeType]] = {}
        for made in _code_objects(module):
            self.codes.setdefault((made.co_firstlineno, made.co_name), []).append(made)

    def _parse(self) -> Any:
        return compile("".join(self.lines), self.name, "exec", self.flags | ast.PyCF_ONLY_AST, True)

    def _compile(self, tree: Any) -> types.CodeType:
        return compile(tree, self.name, "exec", self.flags, True)

    def find(self, code: types.CodeType) -> Any:
        """The `ast` node that `code` was compiled from."""
        if not self._confirms(code):
            code = self._moved(code)
        key = (code.co_firstlineno, code.co_name)
        nodes = [n for n in _functions_at(self.tree, code.co_firstlineno) if _key(n) == key]
        if len(nodes) > 1:
            nodes = _holding(nodes, code) or self._meaning(nodes, code) or nodes
        if not nodes:
            raise _changed(code)
        if len(nodes) > 1 and len({ast.dump(n) for n in nodes}) > 1:
            place = full_place(code.co_filename, code.co_firstlineno)
            raise SourceUnavailableError(
                f"several lambdas stand on {place} and cannot be told apart",
                hint="put each lambda on a line of its own",
            )
        return nodes[0]

    def _meaning(self, nodes: list[Any], code: types.CodeType) -> list[Any]:
        """Of several functions on a line, one that compiles to what `code` does: for code that has no columns.

        Python 3.12 gives none to ``lambda: 0``, and ``-X no_debug_ranges`` to nothing.
        """
        wanted, away = _content(code), len(self.lines)
        found: list[Any] = []
        for place, node in enumerate(nodes):
            moved = self._parse()
            key = (code.co_firstlineno, code.co_name)
            # Below the end of the file, the function and those inside it are alone on their line.
            ast.increment_lineno([n for n in _functions_at(moved, key[0]) if _key(n) == key][place], away)
            there = (c for c in _code_objects(self._compile(moved)) if c.co_firstlineno == key[0] + away)
            if any(_content(c) == wanted for c in there):
                found = [node]  # the last: an outer function is met before the inner one that makes it match
        return found

    def _confirms(self, code: types.CodeType) -> bool:
        made = self.codes.get((code.co_firstlineno, code.co_name), ())
        if _rewritten(code):  # an import hook compiled another tree: only name and line can agree
            return bool(made)
        wanted = _content(code)
        return any(_content(c) == wanted for c in made)

    def _moved(self, code: types.CodeType) -> types.CodeType:
        """The same code at another line: an edit elsewhere in the file does not matter."""
        wanted = _content(code)
        same = [c for cs in self.codes.values() for c in cs if c.co_qualname == code.co_qualname]
        same = [c for c in same if _content(c) == wanted]
        if len(same) != 1:
            raise _changed(code)
        return same[0]


def _code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _code_objects(const)


def _rewritten(code: types.CodeType) -> bool:
    """Whether the code has names no source can have, as test runners that rewrite `assert` make them."""
    names = (*code.co_varnames, *code.co_names)
    return any(n.startswith("@") for n in names) or any(
        _rewritten(c) for c in code.co_consts if isinstance(c, types.CodeType)
    )


def _content(const: Any) -> Any:
    """What a code object or constant does, without places; keeps 1, 1.0, True and -0.0, 0.0 apart."""
    if isinstance(const, types.CodeType):
        return (
            const.co_name,
            const.co_code,
            const.co_names,
            const.co_varnames,
            const.co_freevars,
            const.co_cellvars,
            (const.co_argcount, const.co_posonlyargcount, const.co_kwonlyargcount),
            const.co_exceptiontable,
            tuple(map(_content, const.co_consts)),
        )
    if isinstance(const, tuple):
        return tuple(map(_content, const))
    if isinstance(const, frozenset):
        return frozenset(map(_content, const))
    return type(const), repr(const)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _start(node: Any) -> int:
    decorators = getattr(node, "decorator_list", ())
    return min((d.lineno for d in decorators), default=node.lineno)


def _key(node: Any) -> Key:
    return _start(node), getattr(node, "name", "<lambda>")


def _functions_at(tree: Any, line: int) -> Iterator[Any]:
    """The function nodes around or at one line, found without walking the whole file."""
    node: Any
    for node in ast.iter_child_nodes(tree):
        if hasattr(node, "lineno") and not _start(node) <= line <= (node.end_lineno or node.lineno):
            continue
        if isinstance(node, _FUNCTIONS):
            yield node
        yield from _functions_at(node, line)


def _holding(nodes: list[Any], code: types.CodeType) -> list[Any]:
    """Of several functions on a line, the innermost whose body holds every instruction of the code."""
    spans: list[Span] = [
        (line, col, end_line, end_col)
        for line, end_line, col, end_col in code.co_positions()
        if line is not None
        and end_line is not None
        and col is not None
        and end_col is not None
        and (line, col) != (end_line, end_col)  # entry and exit have an empty place
    ]
    if not spans:
        return []
    first, last = min(s[:2] for s in spans), max(s[2:] for s in spans)
    holding = []
    for node in nodes:
        body = node.body if isinstance(node, ast.Lambda) else node
        if (body.lineno, body.col_offset) <= first and last <= (body.end_lineno, body.end_col_offset):
            holding.append(node)
    return holding[-1:]  # the walk meets outer lambdas first


def _count_characters(tree: Any, lines: list[str]) -> None:
    """Turn the parser's byte columns into character columns, in place."""
    text = lines if isinstance(tree, gast.Module) else lines[_start(tree) - 1 : tree.end_lineno]
    if "".join(text).isascii():
        return

    def characters(line: int, col: int) -> int:
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        return col if text.isascii() else len(text.encode()[:col].decode(errors="ignore"))

    for node in gast.walk(tree):
        if getattr(node, "lineno", None) is not None and getattr(node, "end_lineno", None) is not None:
            node.col_offset = characters(node.lineno, node.col_offset)
            node.end_col_offset = characters(node.end_lineno, node.end_col_offset)


class Bindings:
    """What the names of one function that are not its own stand for: closure, globals, builtins."""

    def __init__(self, fn: types.FunctionType) -> None:
        self.globals: dict[str, Any] = fn.__globals__
        self.builtins: dict[str, Any] = getattr(fn, "__builtins__")  # noqa: B009  (typeshed does not know it)
        self.cells: dict[str, types.CellType] = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        self._locals = fn.__code__.co_varnames
        self.code = fn.__code__

    def lookup(self, name: str) -> tuple[str, Any]:
        """``("closure" | "global" | "builtin", value)`` as the name stands now.

        Raises `UnboundVariableError` (AC1202) for an enclosing variable without a value and
        `UnknownNameError` (AC1201) for a name found nowhere.
        """
        if name in self.cells:
            try:
                return "closure", self.cells[name].cell_contents
            except ValueError:
                raise UnboundVariableError(
                    f"`{name}` of the enclosing function has no value yet",
                    hint=f"assign `{name}` before the function is called",
                ) from None
        return self.lookup_global(name)

    def lookup_global(self, name: str) -> tuple[str, Any]:
        """The same for a name that a `global` statement says to be one of the module."""
        if name in self.globals:
            return "global", self.globals[name]
        if name in self.builtins:
            return "builtin", self.builtins[name]
        raise unknown_name(name, self._visible())

    def _visible(self) -> Iterable[str]:
        return {*self.cells, *self._locals, *self.globals, *self.builtins}


def unknown_name(name: str, visible: Iterable[str]) -> UnknownNameError:
    """The error for a name that is none of the visible ones."""
    hint = did_you_mean(name, visible) or f"define or import `{name}`, or pass it as an argument"
    return UnknownNameError(f"name `{name}` is not defined", hint=hint)


def bindings(fn: Callable[..., Any]) -> Bindings:
    """The bindings of a Python function or method; they are read when asked, not copied."""
    if isinstance(fn, types.MethodType):
        fn = fn.__func__
    if not isinstance(fn, types.FunctionType):
        raise TypeError(f"a Python function is needed, got {type(fn).__name__}")
    return Bindings(fn)
