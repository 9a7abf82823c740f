"""Refuses, with reason and advice, what compiled code cannot contain and syntax alone can tell.

Only code that is reached must be supported: lowering asks `reject` when it meets a node, while `check`
lists everything in a function, reached or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gast

from ...errors import CompileError, UnsupportedSyntaxError
from ...source import Loc
from .source_tree import SourceTree

_SCOPES = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)


def reject(node: Any, tree: SourceTree) -> CompileError | None:
    """The error for a node that is refused, else None."""
    rule = _RULES.get(type(node))
    return rule(node, tree) if rule is not None else None


def check(tree: SourceTree) -> list[CompileError]:
    """All refusals of a function and the functions inside it, in the order of the source."""
    return sorted(_all_errors(tree.node, tree), key=lambda e: e.spans[0][0][1:3])


def _all_errors(node: Any, tree: SourceTree) -> Iterator[CompileError]:
    error = reject(node, tree)
    if error is not None:
        yield error
        if isinstance(node, gast.ClassDef | gast.AsyncFunctionDef):
            return  # once it is moved out, its inside is no matter of this function
    if isinstance(node, _SCOPES) and node is not tree.node:
        tree = tree.inner(node)
    for child in gast.iter_child_nodes(node):
        if not (isinstance(node, gast.Compare) and complex_literal(child) is not None):
            yield from _all_errors(child, tree)


def complex_literal(node: Any) -> complex | None:
    """The number that ``2j``, ``-2j`` or ``1 + 2j`` is; None for what else is written, other numbers too.

    It may be compared: what is no number here is equal to no Tensor.
    """
    found = _literal(node)
    return found if isinstance(found, complex) else None


def _literal(node: Any) -> Any:
    if isinstance(node, gast.Constant):
        return node.value if type(node.value) in (int, float, complex) else None
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.USub):
        found = _literal(node.operand)
        return None if found is None else -found
    if isinstance(node, gast.BinOp) and isinstance(node.op, gast.Add | gast.Sub):
        left, right = _literal(node.left), complex_literal(node.right)
        if left is not None and right is not None:
            return left + right if isinstance(node.op, gast.Add) else left - right
    return None


def missing(node: Any, tree: SourceTree) -> CompileError:
    """The error for a construct that is planned but that lowering does not know yet (AC1103)."""
    name = _WORDS.get(type(node).__name__, type(node).__name__)
    return _refusal("AC1103", f"{name} cannot be compiled yet", tree.loc(node), "", "write it another way")


_WORDS = {
    "With": "'with'",
    "Set": "a set display",
    "SetComp": "a set comprehension",
    "DictComp": "a dict comprehension",
    "ListComp": "a list comprehension",
    "JoinedStr": "an f-string",
    "FormattedValue": "an f-string",
    "NamedExpr": "':='",
    "Import": "'import'",
    "ImportFrom": "'import'",
    "Delete": "'del'",
    "Assert": "'assert'",
    "Raise": "'raise'",
    "Starred": "'*'",
    "Lambda": "'lambda'",
    "FunctionDef": "a decorated 'def'",
    "Slice": "a slice",
}


def _refusal(code: str, message: str, place: Loc, why: str, hint: str) -> CompileError:
    return UnsupportedSyntaxError(message, code=code, spans=[(place, why)], hint=hint)


def _cannot(code: str, what: str, place: Loc, why: str, hint: str) -> CompileError:
    return _refusal(code, f"{what} cannot be used in compiled code", place, why, hint)


def _keyword(node: Any, tree: SourceTree, word: str) -> Loc:
    """The place of the word a statement begins with, not of all its lines."""
    loc = tree.loc(node)
    return loc._replace(end_line=loc.line, end_col=loc.col + len(word))


# -- one rule per refused construct -----------------------------------------------------------------------


def _statement(code: str, word: str, why: str, hint: str) -> Callable[[Any, SourceTree], CompileError]:
    """The rule of a statement that is refused whatever it holds; `word` is the one that it begins with."""
    return lambda node, tree: _cannot(code, f"'{word}'", _keyword(node, tree, word), why, hint)


_try = _statement(
    "AC1101",
    "try",
    "a graph cannot catch exceptions",
    "test before, e.g. `if (y == 0).any(): ...`, or move the call out of the compiled function",
)


def _constant(node: Any, tree: SourceTree) -> CompileError | None:
    if not isinstance(node.value, complex):
        return None
    hint = "compute with the real and the imaginary part as two values"
    return _cannot("AC1103", "a complex number", tree.loc(node), "not supported yet", hint)


def _raise(node: Any, tree: SourceTree) -> CompileError | None:
    if node.exc is not None:
        return None
    why = "a graph has no exception in flight to raise again"
    return _cannot(
        "AC1104", "'raise' without an exception", tree.loc(node), why, "give it one: `raise ValueError(...)`"
    )


def _for(node: Any, tree: SourceTree) -> CompileError | None:
    if not isinstance(node.iter, gast.Set | gast.SetComp):
        return None
    hint = "loop over a tuple, or over `sorted(...)` of the set"
    return _refusal("AC1105", "a set has no order to loop in", tree.loc(node.iter), "this set", hint)


def _comprehension(node: Any, tree: SourceTree) -> CompileError | None:
    return _async(node, tree) if node.is_async else _for(node, tree)


def _yield(node: Any, tree: SourceTree) -> CompileError:
    word = "yield from" if isinstance(node, gast.YieldFrom) else "yield"
    hint = "collect the values in a list and return it, or `ops.stack` them"
    return _cannot("AC1107", f"'{word}'", _keyword(node, tree, word), "a graph cannot pause and resume", hint)


def _async(node: Any, tree: SourceTree) -> CompileError:
    word = "await" if isinstance(node, gast.Await) else "async"
    place = tree.loc(node.target) if isinstance(node, gast.comprehension) else _keyword(node, tree, word)
    hint = "await outside and pass the result as an argument"
    return _cannot("AC1107", f"'{word}'", place, "a graph cannot pause and resume", hint)


def pausing(tree: SourceTree) -> CompileError | None:
    """The error for a function that is a generator or a coroutine, else None."""
    if isinstance(tree.node, gast.AsyncFunctionDef):
        return _async_def(tree.node, tree)
    todo = list(tree.node.body) if isinstance(tree.node.body, list) else [tree.node.body]
    found = []
    while todo:
        node = todo.pop()
        if isinstance(node, gast.Yield | gast.YieldFrom):
            found.append(node)
        elif not isinstance(node, (*_SCOPES, gast.ClassDef)):
            todo += gast.iter_child_nodes(node)
    first = min(found, key=lambda n: (n.lineno, n.col_offset), default=None)
    return _yield(first, tree) if first is not None else None


def _class(node: Any, tree: SourceTree) -> CompileError:
    why = "each call would make a new class"
    place = _keyword(node, tree, f"class {node.name}")
    return _cannot("AC1109", "'class'", place, why, "move the class to module level")


def _async_def(node: Any, tree: SourceTree) -> CompileError:
    place = _keyword(node, tree, "async def")
    if node is tree.node:
        hint = "make it a plain `def`: await what it needs outside, and pass the results as arguments"
        return _cannot("AC1107", "'async def'", place, "a graph cannot pause and resume", hint)
    return _cannot("AC1109", "'async def'", place, "a graph cannot pause and resume", "move it to module level")


def _function(node: Any, tree: SourceTree) -> CompileError | None:
    refused = [d for d in node.decorator_list if _last_name(d) not in _DECORATORS]
    return decorated(node, refused[0], tree) if refused and node is not tree.node else None


_DECORATORS = frozenset(["custom_vjp", "defbwd", "jit", "partial", "wraps"])


def _last_name(decorator: Any) -> str:
    target = decorator.func if isinstance(decorator, gast.Call) else decorator
    return str(getattr(target, "attr", getattr(target, "id", "")))


def decorated(node: Any, decorator: Any, tree: SourceTree) -> CompileError:
    """The error for a nested function with a decorator that compiled code does not know."""
    return _cannot(
        "AC1109",
        "a decorator on a nested function",
        tree.loc(decorator),
        f"`{node.name}` is defined anew at each call",
        f"move `{node.name}` to module level, or leave the decorator out",
    )


_RULES: dict[type, Callable[[Any, SourceTree], CompileError | None]] = {
    gast.Try: _try,
    gast.TryStar: _try,
    gast.TypeAlias: _statement("AC1103", "type", "not supported", "move it to module level"),
    gast.Constant: _constant,
    gast.Raise: _raise,
    gast.For: _for,
    gast.comprehension: _comprehension,
    gast.Yield: _yield,
    gast.YieldFrom: _yield,
    gast.Await: _async,
    gast.AsyncFor: _async,
    gast.AsyncWith: _async,
    gast.ClassDef: _class,
    gast.AsyncFunctionDef: _async_def,
    gast.FunctionDef: _function,
}
