"""Static refusals in a function: unknown names, unsupported calls, mutation of containers and objects from outside."""

from __future__ import annotations

import collections
import functools
import random
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import gast
import numpy as np

from ..errors import CompileError, MissingAttributeError, SideEffectError, did_you_mean
from ..frontend import lower as _rules  # noqa: F401  (which functions have rules of their own)
from ..frontend.guards.objects import is_ours
from ..frontend.interpreter.expressions import outside_class
from ..frontend.interpreter.loops import endless
from ..frontend.interpreter.managers import refused
from ..frontend.syntax.scope import bind_arguments
from ..frontend.syntax.source_tree import SourceTree, unknown_name
from ..frontend.variables.calls import plain_class, refuse_class
from ..frontend.variables.cells import created
from ..frontend.variables.containers import without_order
from ..frontend.variables.elements import unordered
from ..frontend.variables.foreign import CONTAINER_WRITING, refuse_call
from ..frontend.variables.iterators import with_sentinel
from ..frontend.variables.requirements import refuse_data, refuse_environment
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from .classes import Attributes
from .reached import ends, ruled_out, truth
from .scopes import MISSING, UNKNOWN, Container, Made, Scopes, container_of

_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
#: Builtins that iterate over their first argument.
_GOING_THROUGH = (list, tuple, iter, enumerate, reversed, sum, min, max, zip)


class Reader:
    """Reads one function that is compiled, with the functions inside it.

    `attributes` has what is known of those of `self` and of other objects, `is_cell` says whether a class of the file
    is a Cell.  `mentioned` gets the functions of the file that it mentions, `of_self` the
    attributes of `self`, and `skipped` the parts that constants rule out, and the bodies of functions inside it that
    it never mentions: of these nothing is said.
    """

    def __init__(self, scopes: Scopes, attributes: Attributes, is_cell: Callable[[str], bool]) -> None:
        self._outside = len(scopes.chain)
        self._scopes, self._attributes, self._is_cell = scopes, attributes, is_cell
        self.mentioned: list[Any] = []
        self.of_self: list[str] = []
        self.skipped: list[Any] = []
        #: nested functions that were not mentioned yet, by the scope that binds their name
        self._waiting: dict[tuple[int, str], list[tuple[Any, Scopes, SourceTree]]] = {}
        #: names of the function and those inside it that were read, by their scopes, which are kept
        self._read: dict[tuple[int, str], Any] = {}
        self._errors: list[CompileError] = []

    def read(self, tree: SourceTree) -> list[CompileError]:
        """The errors of the function, in no order."""
        self._body(tree.node, self._scopes.inside(tree.node), tree)
        self.skipped += [part for waiting in self._waiting.values() for node, *_ in waiting for part in _body(node)]
        return self._errors

    def _body(self, function: Any, scopes: Scopes, tree: SourceTree) -> None:
        self._block(_body(function), scopes, tree)

    def _block(self, nodes: list[Any], scopes: Scopes, tree: SourceTree) -> None:
        for place, node in enumerate(nodes):
            self._visit(node, scopes, tree)
            if ends(node, lambda test: truth(test, scopes, self._attributes)):
                self.skipped += nodes[place + 1 :]
                return

    def _visit(self, node: Any, scopes: Scopes, tree: SourceTree) -> None:
        match node:
            case gast.ClassDef() | gast.AsyncFunctionDef():
                return  # refused as a whole
            case gast.FunctionDef(name=name, decorator_list=decorators):
                self._function(node, "" if decorators else name, scopes, tree)
                return
            case gast.Lambda():
                self._function(node, "", scopes, tree)
                return
            case gast.Assign(targets=[gast.Name(id=name)], value=gast.Lambda() as function):
                self._function(function, name, scopes, tree)
                return
            case gast.AnnAssign():
                parts = [node.target, *([node.value] if node.value is not None else [])]
                for part in parts:
                    self._visit(part, scopes, tree)
                return
        self._look(node, scopes, tree)
        if isinstance(node, gast.Call) and _is_host_call(node, scopes):
            return  # what it is given runs outside of compiled code
        inner = scopes
        if isinstance(node, _COMPREHENSIONS):
            targets = [n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name)]
            inner = scopes.with_names(dict.fromkeys(targets))
        dead = ruled_out(node, lambda test: truth(test, scopes, self._attributes))
        self.skipped += dead
        for _, child in gast.iter_fields(node):
            parts = [n for n in (child if isinstance(child, list) else [child]) if isinstance(n, gast.AST)]
            reached = [n for n in parts if not any(n is d for d in dead)]
            self._block(reached, inner, tree)

    def _function(self, node: Any, name: str, scopes: Scopes, tree: SourceTree) -> None:
        """Reads a nested function: decorators and defaults at once, its body once its name is read."""
        for part in (*getattr(node, "decorator_list", ()), *node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self._visit(part, scopes, tree)
        depth, _ = scopes.find(name)
        if depth >= self._outside:
            key = (id(scopes.chain[depth]), name)
            if key not in self._read:
                self._waiting.setdefault(key, []).append((node, scopes, tree))
                return
        self._body(node, scopes.inside(node), tree.inner(node))

    def _look(self, node: Any, scopes: Scopes, tree: SourceTree) -> None:
        """Notes the errors of a node itself, without its children."""
        match node:
            case gast.Attribute(value=gast.Name(id="self"), attr=name):
                self.of_self.append(name)
        match node:
            case gast.Name(ctx=gast.Load()):
                self._name(node, scopes, tree)
            case gast.Attribute(ctx=gast.Load()):
                self._attribute(node, scopes, tree)
            case gast.Call():
                self._call(node, scopes, tree)
            case gast.Subscript(ctx=gast.Store() | gast.Del()):
                self._change(node.value, node, "", scopes, tree)
            case gast.Subscript(ctx=gast.Load()):
                self._raised(refuse_environment, scopes.resolve(node.value), node, tree)
            case gast.For(iter=gast.Name() as items) | gast.comprehension(iter=gast.Name() as items) if _is_set(
                items, scopes
            ):
                self._refuse(unordered(), items, tree)
            case gast.Assign(targets=[gast.Tuple() | gast.List(), *_], value=items) if _is_set(items, scopes):
                self._refuse(unordered(), node, tree)
            case gast.While(test=gast.Constant(value=test)) if test and not any(map(_may_end, _parts(node.body))):
                self._refuse(endless(tree.loc(node.test)), node, tree)
            case gast.withitem(context_expr=manager):
                if isinstance(self._object(manager, scopes), _LOCKS):
                    self._refuse(refused("of a lock object"), manager, tree)

    def _refuse(self, error: CompileError, node: Any, tree: SourceTree) -> None:
        self._errors.append(error.at(tree.loc(node)))

    def _raised(self, rule: Callable[[Any], None], given: Any, node: Any, tree: SourceTree) -> None:
        """Notes the error that a rule of the compiler raises."""
        try:
            rule(given)
        except CompileError as error:
            self._refuse(error, node, tree)

    # ------------------------------------------------------------------------------------------- names
    def _name(self, node: Any, scopes: Scopes, tree: SourceTree) -> None:
        depth, meaning = scopes.find(node.id)
        key = (id(scopes.chain[depth]), node.id)
        if depth >= self._outside and key not in self._read:
            self._read[key] = scopes.chain[depth]
            for function, around, outer in self._waiting.pop(key, ()):
                self._body(function, around.inside(function), outer.inner(function))
        if meaning is MISSING:
            self._refuse(unknown_name(node.id, scopes.visible()), node, tree)
        elif isinstance(meaning, gast.FunctionDef | gast.Lambda) and 0 <= depth < self._outside:
            self.mentioned.append(meaning)

    def _attribute(self, node: Any, scopes: Scopes, tree: SourceTree) -> None:
        owner = scopes.resolve(node.value)
        known: Any = owner
        text = ""
        if isinstance(owner, Container) or isinstance(node.value, gast.Constant):
            known = CONTAINERS[owner.kind] if isinstance(owner, Container) else node.value.value
            text = (
                "" if hasattr(known, node.attr) else f"{type(known).__name__!r} object has no attribute '{node.attr}'"
            )
        elif isinstance(owner, types.ModuleType) and scopes.resolve(node) is MISSING:
            text = f"module {owner.__name__!r} has no attribute '{node.attr}'"
        if text:
            lacking = vars(known).get("__lacking__", lambda name: None) if isinstance(known, types.ModuleType) else None
            hint = lacking and lacking(node.attr)
            hint = hint or did_you_mean(node.attr, [n for n in dir(known) if not n.startswith("_")])
            self._refuse(MissingAttributeError(text, hint=hint), node, tree)

    def _object(self, node: Any, scopes: Scopes) -> Any:
        """The object that a (dotted) name stands for, or an example of its class; `UNKNOWN` where that is not known.

        Of a class of the file it is the node of the class.
        """
        found = None
        match node:
            case gast.Name(id=name):
                depth, found = scopes.find(name)
                found, scopes = (found if 0 <= depth < self._outside else None), scopes.up_to(max(depth, 0))
            case gast.Attribute(value=gast.Name(id="self")):
                found, scopes = self._attributes.find(node, scopes)
        if isinstance(found, Container):
            return CONTAINERS[found.kind] if scopes.sure(found) else UNKNOWN
        if isinstance(found, Made):
            maker = scopes.resolve(found.maker)
            made = maker if isinstance(maker, gast.ClassDef) else example(maker)
            return UNKNOWN if made is None else made
        owner = scopes.resolve(node)
        return UNKNOWN if isinstance(owner, gast.AST | Made | types.ModuleType) or owner is MISSING else owner

    # ------------------------------------------------------------------------------------------- calls
    def _call(self, node: Any, scopes: Scopes, tree: SourceTree) -> None:
        fn, changed = scopes.resolve(node.func), False
        if isinstance(node.func, gast.Attribute):
            owner, method = node.func.value, node.func.attr
            if method == "pop" and _is_set(owner, scopes):
                self._refuse(without_order(), node, tree)
                return
            if method in CONTAINER_WRITING:
                kind = scopes.resolve(owner)
                if node.args and any(kind is type(k) for k in CONTAINERS.values()):  # `list.append(items, x)`
                    owner = node.args[0]
                changed = self._change(owner, node, method, scopes, tree)
            of = self._object(owner, scopes)
            if isinstance(of, Tensor):
                self._raised(refuse_data, method, node.func, tree)
            elif fn is UNKNOWN and of is not UNKNOWN and not isinstance(of, gast.AST):
                fn = getattr(of, method, UNKNOWN)
        if not changed:
            self._raised(lambda fn: self._check_call(fn, node, tree), fn, node, tree)
        if fn is super and not node.args and not _in_class(tree):
            self._refuse(outside_class(), node, tree)
        elif fn is iter and len(node.args) == 2:
            self._refuse(with_sentinel(), node, tree)
        elif node.args and any(fn is each for each in _GOING_THROUGH) and _is_set(node.args[0], scopes):
            self._refuse(unordered(), node, tree)

    def _check_call(self, fn: Any, node: Any, tree: SourceTree) -> None:
        """Raises for a call that is refused whatever its arguments, or that has the wrong number of them."""
        called = node.func if isinstance(node.func, gast.Lambda) else fn
        if isinstance(called, gast.FunctionDef | gast.Lambda) and not getattr(called, "decorator_list", ()):
            _check_arguments(called, node, tree)
        elif isinstance(fn, gast.ClassDef):
            self._check_class(fn)
        elif isinstance(fn, type):
            _check_creation(fn)
        elif callable(fn):
            refuse_call(fn)

    def _check_class(self, cls: Any) -> None:
        if self._is_cell(cls.name):
            inits = [n for n in cls.body if isinstance(n, gast.FunctionDef) and n.name == "__init__"]
            calls = [n for init in inits for n in gast.walk(init) if isinstance(n, gast.Call)]
            if any(_makes_weights(self._scopes.resolve(call.func)) for call in calls):
                raise created(cls.name)
            return
        if _is_plain(cls):
            raise plain_class(cls.name)

    # ------------------------------------------------------------------------------------------- changes
    def _change(self, owner: Any, node: Any, method: str, scopes: Scopes, tree: SourceTree) -> bool:
        """Notes the mutation of an array or of a container of a special class; returns whether it comes from outside.

        Plain lists, dicts and sets may be changed.
        """
        found = self._object(owner, scopes)
        match owner:
            case gast.Name(id=name):
                hint = f"change a copy under another name (`new_{name} = {name}.copy()`), and return that"
            case gast.Attribute(value=gast.Name(id="self"), attr=attribute):
                name = f"self.{attribute}"
                hint = f"change a copy under another name (`new = {name}.copy()`), and return that"
            case _:
                return False
        kinds = (list, dict, set) if method else (list, dict, set, np.ndarray)
        if not isinstance(found, kinds) or not hasattr(found, method or "copy"):
            return False
        if type(found) in (list, dict, set):
            return True
        text = f"the {type(found).__name__} `{name}`, which came from outside, cannot be changed in compiled code"
        self._refuse(SideEffectError(text, code="AC1602", hint=hint), node, tree)
        return True


#: What `threading` gives has no class with a name.
_LOCKS = (type(threading.Lock()), type(threading.RLock()))


def _is_plain(cls: Any) -> bool:
    """Whether a class of the file is neither a Cell nor a record nor marked in any way."""
    return not (cls.bases or cls.keywords or cls.decorator_list)


def _is_set(node: Any, scopes: Scopes) -> bool:
    """Whether an expression is a set: a display, or a name bound once to one."""
    made = scopes.find(node.id)[1] if isinstance(node, gast.Name) else container_of(node)
    return isinstance(made, Container) and made.kind == "set" and scopes.sure(made)


def _in_class(tree: SourceTree) -> bool:
    """Whether a function, or one around it, stands in the body of a class."""
    return any("." in part for part in tree.function.split(".<locals>."))


def _body(function: Any) -> list[Any]:
    return function.body if isinstance(function.body, list) else [function.body]


def _parts(body: list[Any]) -> Iterator[Any]:
    return (node for statement in body for node in gast.walk(statement))


def _may_end(node: Any) -> bool:
    """Whether a part of a loop's body may end the loop: by a jump, or by an exception of what it calls."""
    return isinstance(node, gast.Break | gast.Return | gast.Raise | gast.Assert | gast.Call | gast.Subscript)


def _is_host_call(call: Any, scopes: Scopes) -> bool:
    return scopes.real_name(call.func) in ("py_call", "constexpr")


def _check_arguments(function: Any, call: Any, tree: SourceTree) -> None:
    """Raises where the arguments of a call do not fit the function that it names."""
    if any(isinstance(a, gast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return
    parameters = function.args
    by_name = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    name = getattr(function, "name", "lambda")
    bind_arguments(
        function,
        name,
        list(call.args),
        {k.arg: k.value for k in call.keywords},
        tuple(parameters.defaults),
        {p.id: d for p, d in by_name if d is not None},
        tree.loc(call),
        SourceTree(function, tree.file, name),
    )


#: Where the package's Cells are whose objects have weights.
_WITH_WEIGHTS = ("attention", "combined", "convolution", "dense", "embedding", "normalization", "recurrent")


def _check_creation(cls: type) -> None:
    if _makes_weights(cls):
        raise created(cls.__name__)
    refuse_class(cls)


def _makes_weights(x: Any) -> bool:
    """Whether it is Parameter, or a class of Cells of this package whose objects have Parameters."""
    if not isinstance(x, type) or issubclass(x, Parameter):
        return isinstance(x, type)
    cell = hasattr(x, "__graph_state__") and not getattr(x, "__jit_class__", False)
    _, in_nn, module = f"{x.__module__}.".partition(".nn.")
    return cell and is_ours(x) and (not in_nn or module.rstrip(".") in _WITH_WEIGHTS)


#: The containers that displays, comprehensions and calls of these classes make.
CONTAINERS: dict[str, Any] = {"list": [], "dict": {}, "set": set()}
_ARRAYS = ("array", "zeros", "ones", "full", "eye", "arange", "linspace", "zeros_like", "ones_like", "full_like")


def example(maker: Any) -> Any:
    """An object of the class that calls of a function or class give; None where that is not known.

    Nothing that a user wrote is called.

    >>> type(example(np.random.default_rng)).__name__
    'Generator'
    """
    if isinstance(maker, type) and issubclass(maker, Tensor):
        return _tensor(maker)
    try:
        make = _makers().get(maker)
    except TypeError:  # unhashable
        return None
    return None if make is None else make()


def _tensor(cls: type) -> Any:
    return Parameter(Tensor(0.0), name="example") if issubclass(cls, Parameter) else Tensor(0.0)


@functools.cache
def _makers() -> dict[Any, Callable[[], Any]]:
    """What makes an example, by what users call."""
    drawing = (np.random.default_rng, np.random.RandomState, random.Random)
    holding = (collections.deque, collections.Counter, collections.OrderedDict, collections.defaultdict)
    found: dict[Any, Callable[[], Any]] = dict.fromkeys([getattr(np, n) for n in _ARRAYS], lambda: np.zeros(1))
    return found | {fn: fn for fn in (*drawing, *holding, threading.Lock, threading.RLock)}
