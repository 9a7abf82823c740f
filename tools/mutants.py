"""Mutations of the compiler's code: one change of one function, and how it gets into a process.

Nothing is written into the source tree: modules are loaded from changed text, or functions that exist get changed code.
"""

from __future__ import annotations

import ast
import copy
import gc
import hashlib
import importlib.machinery
import linecache
import types
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from python_files import ROOT, python_files

PACKAGE = "autodiff_compiler"
NATIVE = tuple(f"backends/native/{room}" for room in ("codegen", "kernels", "loops", "fusion", "control"))
ROOMS = ("primitives", "passes/rules", "autodiff", *NATIVE)
#: Functions whose results are words for people, or what ops are tested with.
NO_CODE = frozenset({"__repr__", "__str__", "samples"})
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
#: Functions whose arguments may change places, or of which nobody needs to know that they may not.
SYMMETRIC = frozenset({"max", "min", "isinstance", "getattr", "hasattr"})
AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Named = tuple[str, AnyFunction]
#: What has a place in the text.
Place = ast.expr | ast.stmt


@dataclass
class Mutation:
    """One change of one function, and what the tests made of it."""

    function: str
    path: str
    line: int
    span: tuple[int, int]
    before: str
    after: str
    outcome: str = "untested"
    test: str = ""
    tried: int = 0

    @property
    def room(self) -> str:
        return next(room for room in ROOMS if self.path.startswith(f"{PACKAGE}/{room}/"))

    def applied(self, text: str) -> str:
        """The file's text with the change; lines keep their numbers."""
        start, end = self.span
        old = text.encode()
        more = "\n" * (old[start:end].count(b"\n") - self.after.count("\n"))
        new = f"pass{more}" if self.after == "pass" else f"({self.after}{more})"
        return (old[:start] + new.encode() + old[end:]).decode()


# --- What can be changed ----------------------------------------------------------------------------------------------


def named_functions(tree: ast.AST, prefix: str) -> Iterator[Named]:
    """Functions and lambdas with their names in the file; equal names are numbered."""
    seen: Counter[str] = Counter()

    def visit(node: ast.AST, name: str) -> Iterator[Named]:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.Assign) and isinstance(child.targets[0], ast.Name):
                inner = f"{name}.{child.targets[0].id}"
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}"
            if isinstance(child, AnyFunction):
                seen[inner] += 1
                yield inner if seen[inner] == 1 else f"{inner}#{seen[inner]}", child
            yield from visit(child, inner)

    return visit(tree, prefix)


def nodes_of(function: AnyFunction) -> Iterator[ast.AST]:
    """What is executed in a function itself: no inner functions, annotations, messages, docstrings."""
    todo: list[ast.AST] = list(reversed(function.body)) if isinstance(function.body, list) else [function.body]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, ast.AnnAssign):
            todo.extend([node.value] if node.value else [])
        elif not isinstance(node, AnyFunction | ast.ClassDef | ast.Raise | ast.JoinedStr | ast.Assert):
            todo.extend(reversed(list(ast.iter_child_nodes(node))))


def changes(node: ast.AST) -> Iterator[tuple[Place, ast.AST]]:
    """Pairs of a node at or below this one and what may stand in its place."""
    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OPERATORS:
            yield node, changed(node, op=OPERATORS[type(op)]())
        case ast.Compare(ops=[op, *rest]) if type(op) in OPERATORS:
            yield node, changed(node, ops=[OPERATORS[type(op)](), *rest])
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, operand
        case ast.Constant(value=bool() as value):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int() | float() as number):
            yield node, ast.Constant(number + 1)
        case ast.Call(func=called, args=[a, b, *rest]) if ast.unparse(called) not in SYMMETRIC:
            if ast.dump(a) != ast.dump(b) and not any(isinstance(x, ast.Starred) for x in (a, b)):
                yield node, changed(node, args=[b, a, *rest])
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, ast.UnaryOp(ast.Not(), test)
            if isinstance(node, ast.If):
                yield test, ast.Constant(False)
        case ast.comprehension(ifs=[condition]):
            yield condition, ast.Constant(True)
        case (
            ast.Return(value=ast.Call(args=[operand, *_]) as result)
            | ast.Return(value=ast.BinOp(left=operand) as result)
        ):
            if not isinstance(operand, ast.Starred | ast.GeneratorExp):
                yield result, operand
        case ast.Raise() | ast.AugAssign() | ast.Expr(value=ast.Call()) | ast.Continue() | ast.Break():
            yield node, ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, ast.Pass()


def changed(node: ast.AST, **fields: Any) -> ast.AST:
    result = copy.copy(node)
    for name, value in fields.items():
        setattr(result, name, value)
    return result


def rank(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def mutations(root: Path, count: int, seed: int) -> list[Mutation]:
    """At most one change in a function, chosen by hashes of names: it stays when others come and go."""
    found = []
    for path in python_files(root, [f"{PACKAGE}/{room}" for room in ROOMS]):
        text, name = path.read_text("utf-8"), path.relative_to(root).as_posix()
        starts = [0]
        for line in text.encode().splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        for function, node in named_functions(ast.parse(text), name):
            if not NO_CODE.isdisjoint(function.split(".")):
                continue
            pairs = [pair for part in nodes_of(node) for pair in changes(part)]
            if pairs:
                index = min(range(len(pairs)), key=lambda i: rank(seed, function, i))
                old, new = pairs[index]
                assert old.end_lineno is not None
                assert old.end_col_offset is not None
                start, end = starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset
                found.append(Mutation(function, name, old.lineno, (start, end), ast.unparse(old), ast.unparse(new)))
    return sorted(found, key=lambda m: rank(seed, m.function))[:count]


# --- The package with a note in each function -------------------------------------------------------------------------


def noted(text: str, path: str) -> types.CodeType:
    """The code of a module whose functions say that they are entered."""
    tree = ast.parse(text, path)
    for name, node in named_functions(tree, Path(path).relative_to(ROOT).as_posix()):
        note = ast.parse(f"_entered_.add({name!r})").body[0]
        if isinstance(node, ast.Lambda):
            pair = ast.Tuple([note.value, node.body], ast.Load())  # type: ignore[attr-defined]
            node.body = ast.copy_location(ast.Subscript(pair, ast.Constant(1), ast.Load()), node.body)
        else:
            node.body.insert(1 if ast.get_docstring(node) is not None else 0, ast.copy_location(note, node.body[0]))
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of the package: noted where it is in a room, mutated where it is the mutation's."""

    mutation: Mutation | None = None
    entered: ClassVar[set[str]] = set()
    #: Functions that are called while the package is imported.
    at_import: ClassVar[set[str]] = set()

    def get_code(self, fullname: str) -> types.CodeType | None:
        place = Path(self.path).relative_to(ROOT).as_posix()
        if not place.startswith(tuple(f"{PACKAGE}/{room}/" for room in ROOMS)):
            return super().get_code(fullname)
        text = Path(self.path).read_text("utf-8")
        if self.mutation and self.mutation.path == place:
            text = self.mutation.applied(text)
            show(self.path, text)
        return noted(text, self.path)

    def exec_module(self, module: types.ModuleType) -> None:
        before = set(self.entered)
        self.entered.clear()
        super().exec_module(module)
        self.at_import.update(self.entered)
        self.entered.update(before)


class Finder:
    """Finds the modules of the package for `Loader`."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> Any:
        if name.partition(".")[0] != PACKAGE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def show(path: str, text: str) -> None:
    """Makes `inspect` give this text for a file: NumPy kernels are printed from their source."""
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from codes(inner)


def put_in(mutation: Mutation) -> bool:
    """Gives the functions that are there the mutated code; False if that does not fit."""
    path = ROOT / mutation.path
    text = path.read_text("utf-8")
    after = mutation.applied(text)
    old, new = list(codes(noted(text, str(path)))), list(codes(noted(after, str(path))))
    pairs = {a: b for a, b in zip(old, new, strict=False) if a != b}
    if len(old) != len(new) or any(a.co_freevars != b.co_freevars for a, b in pairs.items()):
        return False
    gc.unfreeze()
    for function in gc.get_objects():
        if type(function) is types.FunctionType and function.__code__ in pairs:
            function.__code__ = pairs[function.__code__]
    show(str(path), after)
    return True
