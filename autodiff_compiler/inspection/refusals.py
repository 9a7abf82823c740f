"""What names and calls of a function tell without running it: unknown names, calls that compiled code cannot make,
changes of containers from outside, constant expressions that always raise."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator
from typing import Any

import gast

from ..errors import CompileError, MissingAttributeError, SideEffectError, UnsupportedCallError, did_you_mean
from ..frontend import lower as _rules  # noqa: F401  (which functions have rules of their own)
from ..frontend.calls import may_be_made
from ..frontend.foreign import CONTAINER_WRITING, refuse_call
from ..frontend.scope import bind_arguments
from ..frontend.source_tree import SourceTree, unknown_name
from ..runtime.parameter import Parameter
from .scopes import MISSING, Container, Scopes, container_of

__all__ = ["Reader"]

_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
#: Of these, constants can be computed without much work.
_CONSTANT = (
    gast.Constant, gast.List, gast.Tuple, gast.Dict, gast.Set, gast.UnaryOp, gast.USub, gast.BinOp, gast.Add, gast.Sub,
    gast.Div, gast.FloorDiv, gast.Mod, gast.Subscript, gast.Load, gast.Call, gast.Name,
)  # fmt: skip
#: Statements after which the next one is reached.
_STRAIGHT = (gast.Expr, gast.Assign, gast.AugAssign, gast.AnnAssign, gast.Return, gast.Global, gast.Nonlocal, gast.Pass)
_CONSTANT_CALLS = {"len", "int", "float", "abs", "min", "max", "sum", "sorted", "tuple", "list", "set"}


class Reader:
    """Reads one function that is compiled, with the functions inside it.

    `attributes` are the containers that the class of a method makes in `__init__`, `is_cell` says whether a class of
    the file is a Cell.  `mentioned` gets the functions of the file that it mentions.
    """

    def __init__(self, scopes: Scopes, attributes: dict[str, Container], is_cell: Callable[[str], bool]) -> None:
        self._outside = len(scopes.chain)
        self._scopes, self._attributes, self._is_cell = scopes, attributes, is_cell
        self.mentioned: list[Any] = []
        self._errors: list[CompileError] = []

    def read(self, tree: SourceTree) -> list[CompileError]:
        """The errors of the function, in no order."""
        self._body(tree.node, self._scopes.inside(tree.node), tree)
        body = tree.node.body
        for statement in body if isinstance(body, list) else [gast.Expr(body)]:
            if not isinstance(statement, _STRAIGHT):
                break  # what comes after may not be reached
            self._errors += _constants(statement, tree)
            if isinstance(statement, gast.Return):
                break
        return self._errors

    def _body(self, function: Any, scopes: Scopes, tree: SourceTree) -> None:
        for node in function.body if isinstance(function.body, list) else [function.body]:
            self._visit(node, scopes, tree)

    def _visit(self, node: Any, scopes: Scopes, tree: SourceTree) -> None:
        match node:
            case gast.ClassDef() | gast.AsyncFunctionDef():
                return  # refused as a whole
            case gast.FunctionDef() | gast.Lambda():
                for part in (*getattr(node, "decorator_list", ()), *node.args.defaults, *node.args.kw_defaults):
                    if part is not None:
                        self._visit(part, scopes, tree)
                self._body(node, scopes.inside(node), tree.inner(node))
                return
            case gast.If(test=gast.Constant(value=test)) | gast.IfExp(test=gast.Constant(value=test)):
                taken = node.body if test else node.orelse
                for part in taken if isinstance(taken, list) else [taken]:
                    self._visit(part, scopes, tree)
                return
            case gast.AnnAssign():
                parts = [node.target, *([node.value] if node.value is not None else [])]
                for part in parts:
                    self._visit(part, scopes, tree)
                return
            case gast.Name(ctx=gast.Load()):
                self._name(node, scopes, tree)
            case gast.Attribute(ctx=gast.Load()):
                self._attribute(node, scopes, tree)
            case gast.Call():
                self._call(node, scopes, tree)
                if _is_host_call(node):
                    return  # what it is given runs outside of compiled code
            case gast.Subscript(ctx=gast.Store() | gast.Del()):
                self._change(node.value, node, "", scopes, tree)
        inner = scopes
        if isinstance(node, _COMPREHENSIONS):
            targets = [n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name)]
            inner = scopes.with_names(dict.fromkeys(targets))
        for child in gast.iter_child_nodes(node):
            self._visit(child, inner, tree)

    # ------------------------------------------------------------------------------------------- names
    def _name(self, node: Any, scopes: Scopes, tree: SourceTree) -> None:
        depth, meaning = scopes.find(node.id)
        if meaning is MISSING:
            self._errors.append(unknown_name(node.id, scopes.visible()).at(tree.loc(node)))
        elif depth >= 0 and isinstance(meaning, gast.FunctionDef) and depth < self._outside:
            self.mentioned.append(meaning)

    def _attribute(self, node: Any, scopes: Scopes, tree: SourceTree) -> None:
        if scopes.resolve(node) is not MISSING:
            return
        owner = scopes.resolve(node.value)
        if isinstance(owner, types.ModuleType):
            hint = did_you_mean(node.attr, [n for n in dir(owner) if not n.startswith("_")])
            text = f"module {owner.__name__!r} has no attribute '{node.attr}'"
            self._errors.append(MissingAttributeError(text, loc=tree.loc(node), hint=hint))

    # ------------------------------------------------------------------------------------------- calls
    def _call(self, node: Any, scopes: Scopes, tree: SourceTree) -> None:
        if isinstance(node.func, gast.Attribute) and node.func.attr in CONTAINER_WRITING:
            owner = node.func.value
            kind = scopes.resolve(owner)
            if node.args and any(kind is k for k in _KINDS.values()):  # `list.append(items, x)`
                owner = node.args[0]
            self._change(owner, node, node.func.attr, scopes, tree)
        fn = scopes.resolve(node.func)
        try:
            if isinstance(fn, gast.FunctionDef) and not fn.decorator_list:
                _check_arguments(fn, node, tree)
            elif isinstance(fn, gast.ClassDef):
                self._check_class(fn)
            elif isinstance(fn, type):
                _check_creation(fn)
            elif callable(fn):
                refuse_call(fn)
        except CompileError as error:
            self._errors.append(error.at(tree.loc(node)))

    def _check_class(self, cls: Any) -> None:
        if self._is_cell(cls.name):
            raise _created(cls.name)
        if not (cls.bases or cls.keywords or cls.decorator_list):
            raise UnsupportedCallError(
                f"an instance of the class {cls.name} is created in compiled code",
                code="AC1804",
                hint="mark the class with `jit_class`, use a NamedTuple or a frozen dataclass, or create it outside",
            )

    def _change(self, owner: Any, node: Any, method: str, scopes: Scopes, tree: SourceTree) -> None:
        """Notes the change of a container that was made outside."""
        found = None
        match owner:
            case gast.Name(id=name):
                depth, found = scopes.find(name)
                found = found if 0 <= depth < self._outside else None
                hint = f"change a copy under another name (`new_{name} = {name}.copy()`), and return that"
            case gast.Attribute(value=gast.Name(id="self"), attr=attribute):
                found, name = self._attributes.get(attribute), f"self.{attribute}"
                hint = f"bind a new one (`{name} = [*{name}, ...]`), or return the new value"
                if found is not None and found.kind != "list":
                    hint = f"change a copy under another name (`new = {name}.copy()`), and return that"
        if isinstance(found, Container) and (not method or hasattr(_KINDS[found.kind], method)):
            text = f"the {found.kind} `{name}`, which came from outside, cannot be changed in compiled code"
            self._errors.append(SideEffectError(text, code="AC1602", loc=tree.loc(node), hint=hint))


_KINDS: dict[str, type] = {"list": list, "dict": dict, "set": set}


def _is_host_call(call: Any) -> bool:
    return getattr(call.func, "attr", getattr(call.func, "id", "")) in ("py_call", "constexpr")


def _check_arguments(function: Any, call: Any, tree: SourceTree) -> None:
    """Raises where the arguments of a call do not fit the function that it names."""
    if any(isinstance(a, gast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return
    parameters = function.args
    by_name = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    bind_arguments(
        function,
        function.name,
        list(call.args),
        {k.arg: k.value for k in call.keywords},
        tuple(parameters.defaults),
        {p.id: d for p, d in by_name if d is not None},
        tree.loc(call),
        SourceTree(function, tree.file, function.name),
    )


def _check_creation(cls: type) -> None:
    makes = hasattr(cls, "__graph_state__") and not getattr(cls, "__jit_class__", False) and not may_be_made(cls)
    if makes or issubclass(cls, Parameter):
        raise _created(cls.__name__)


def _created(name: str) -> CompileError:
    text = f"a {name} is created in compiled code, which would make new weights at each call"
    return UnsupportedCallError(text, code="AC1803", hint="create it in `__init__`")


# ---------------------------------------------------------------------------------------------------- constants
def _constants(statement: Any, tree: SourceTree) -> Iterator[CompileError]:
    """What Python raises for the constant expressions of a statement, which is reached for sure."""
    todo = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, (gast.Lambda, gast.IfExp, gast.BoolOp, *_COMPREHENSIONS)):
            continue  # parts of it may never be computed
        raised = _raised_by(node) if isinstance(node, gast.expr) and not isinstance(node, gast.Name) else None
        if raised is not None:
            kind = type(raised)
            shown: Any = type(kind.__name__, (CompileError, kind), {})
            hint = "correct the expression: Python raises this without `jit`, too"
            yield shown(str(raised), code="", loc=tree.loc(node), hint=hint)
        else:
            todo += gast.iter_child_nodes(node)


def _raised_by(node: Any) -> Exception | None:
    """The exception that a constant expression raises; None if it has none, or is none."""
    if not isinstance(node, gast.BinOp | gast.Subscript | gast.Call | gast.Set | gast.Dict):
        return None
    hashed = node.elts if isinstance(node, gast.Set) else node.keys if isinstance(node, gast.Dict) else []
    for part in hashed:
        made = container_of(part)
        if made is not None:
            return TypeError(f"unhashable type: '{made.kind}'")
    parts = list(gast.walk(node))
    names = [p for p in parts if isinstance(p, gast.Name)]
    called = [p.func for p in parts if isinstance(p, gast.Call)]
    simple = all(isinstance(p, _CONSTANT) for p in parts) and all(any(n is f for f in called) for n in names)
    if not simple or any(n.id not in _CONSTANT_CALLS for n in names):
        return None
    try:
        eval(compile(ast.fix_missing_locations(ast.Expression(gast.gast_to_ast(node))), "<constant>", "eval"))
    except Exception as error:
        return error
    return None
