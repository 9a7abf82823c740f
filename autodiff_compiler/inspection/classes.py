"""Classes of a file from its text alone: which are Cells, and the values of attributes that are bound once."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import gast

from .scopes import Made, Scopes, Value, last_name, made_of

__all__ = ["Attributes", "Classes", "own_nodes"]

_PACKAGE = __name__.partition(".")[0]

#: A binding (as in a `Scope`) and the scopes in which it is evaluated.
Bound: TypeAlias = tuple[Any, Scopes]


class Classes:
    """The classes of a file, which are given with the scopes around each."""

    def __init__(self, module: Any, placed: Iterable[tuple[Any, Scopes]]) -> None:
        self._placed: dict[str, tuple[Any, Scopes]] = {}
        #: names that several classes have, in different functions
        self._several: set[str] = set()
        for node, scopes in placed:
            if node.name in self._placed:
                self._several.add(node.name)
            self._placed[node.name] = node, scopes
        #: attributes that are bound, with the class where that is done by `self`
        self._bound = list(_bound_attributes(module, ""))
        # `setattr(net, "w", value)`: a text given to a call may be the name of an attribute, and a computed one any.
        calls = [node for node in gast.walk(module) if isinstance(node, gast.Call)]
        given = (a for call in calls for a in call.args)
        self._texts = {a.value for a in given if isinstance(a, gast.Constant) and isinstance(a.value, str)}
        flags = (call for call in calls if last_name(call.func) in ("add_flags", "add_flags_recursive"))
        self._texts |= {k.arg for call in flags for k in call.keywords if k.arg is not None}
        self._known: dict[tuple[str, str, bool], Bound | None] = {}
        self._hidden = any(map(_binds_any_attribute, gast.walk(module)))

    def bases(self, name: str) -> list[str]:
        """The base classes by the last part of their names; none where the file has no such class."""
        if name not in self._placed:
            return []
        node, scopes = self._placed[name]
        return [scopes.real_name(base) for base in node.bases]

    def is_cell(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a class of the file derives from Cell, or from a class of the package that does."""
        node, scopes = self._placed.get(name, (None, None))
        if node is None or scopes is None:
            return False
        for base in node.bases:
            known = scopes.real_name(base)
            if _package_cell(scopes.path(base)) or (known.endswith("Cell") and scopes.perhaps_ours(base)):
                return True
            if known not in seen and self.is_cell(known, seen | {name}):
                return True
        return False

    def family(self, name: str) -> set[str]:
        """A class with its bases and subclasses in the file."""
        bases = {name: set(self.bases(name)) & self._placed.keys() for name in self._placed}
        above, below = {name}, {name}
        for _ in bases:
            above |= {b for c in above for b in bases[c]}
            below |= {c for c in bases if bases[c] & below}
        return above | below

    def attribute(self, name: str, attribute: str, of_object: bool) -> Bound | None:
        """The binding of an attribute of a class or its objects.

        It is bound once: in `__init__`, or, to what may be a constant, in the body of the class.  Of one that a
        subclass, a base in the file, or other code may bind as well nothing is known.
        """
        key = (name, attribute, of_object)
        if key not in self._known:
            self._known[key] = self._attribute(*key) if name in self._placed and not self._hidden else None
        return self._known[key]

    def _attribute(self, name: str, attribute: str, of_object: bool) -> Bound | None:
        family = self.family(name)
        bodies = [n for member in family for n in _names_in_body(self._placed[member][0]) if n == attribute]
        bound = [a for a, owner in self._bound if a == attribute and (not owner or owner in family)]
        if len(bodies) + len(bound) != 1 or attribute in self._texts:
            return None
        if bodies:
            return self._in_body(name, attribute) if family.isdisjoint(self._several) else None
        meaning = self._in_init(name).get(attribute)
        return (meaning, self._placed[name][1]) if of_object and meaning is not None else None

    def _in_init(self, name: str) -> dict[str, Any]:
        """What `__init__` binds the attributes of `self` to, in any of its statements."""
        cls, scopes = self._placed[name]
        found: dict[str, Any] = {}
        for method in (m for m in cls.body if getattr(m, "name", "") == "__init__"):
            local = scopes.inside(method).chain[-1]
            for node in gast.walk(method):
                match node:
                    case gast.Assign(targets=targets, value=value) | gast.AnnAssign(target=targets, value=value):
                        names = {n.id for n in gast.walk(getattr(value, "func", value)) if isinstance(n, gast.Name)}
                        made = None if value is None or names & local.keys() else made_of(value)
                        for target in targets if isinstance(targets, list) else [targets]:
                            if isinstance(target, gast.Attribute) and getattr(target.value, "id", "") == "self":
                                found[target.attr] = made
        return found

    def _in_body(self, name: str, attribute: str) -> Bound | None:
        """The binding of a name in the body of a class or a base, if nothing else may bind it."""
        line = [name]
        for member in line:
            line += [base for base in self.bases(member) if base in self._placed and base not in line]
        if not all(self._leaves_alone(*self._placed[member], attribute) for member in line):
            return None
        for cls, scopes in (self._placed[member] for member in line):
            for node in cls.body:
                match node:
                    case (
                        gast.Assign(targets=[gast.Name(id=target)], value=value)
                        | gast.AnnAssign(target=gast.Name(id=target), value=gast.expr() as value)
                    ) if target == attribute:
                        mentioned = {n.id for n in gast.walk(value) if isinstance(n, gast.Name)}
                        made = made_of(value)
                        sure = isinstance(made, Value) and mentioned.isdisjoint(_names_in_body(cls))
                        return (made, scopes) if sure else None
        return None

    def _leaves_alone(self, cls: Any, scopes: Scopes, attribute: str) -> bool:
        """Whether only the bodies of a class and its bases bind an attribute."""
        if cls.decorator_list or cls.keywords or "__getattribute__" in _names_in_body(cls):
            return False
        for base in cls.bases:
            meaning, cell = scopes.resolve(base), _package_cell(scopes.path(base))
            if cell is not None and _has_attribute(cell, attribute):
                return False
            if cell is None and meaning is not object and scopes.real_name(base) not in self._placed:
                return False
        return True


class Attributes:
    """Lookup of attributes: of `self` in a method of the class `own`, and of objects of classes of the file."""

    def __init__(self, classes: Classes, own: str = "") -> None:
        self._classes, self._own = classes, own

    def outside(self) -> Attributes:
        """The same outside of any method."""
        return Attributes(self._classes)

    def find(self, node: Any, scopes: Scopes) -> Bound:
        """The binding of ``owner.name`` with its scopes; None where it is not known."""
        if not isinstance(node, gast.Attribute):
            return None, scopes
        cls, of_object = self._class_of(node.value, scopes)
        return self._classes.attribute(cls, node.attr, of_object) or (None, scopes)

    def _class_of(self, owner: Any, scopes: Scopes) -> tuple[str, bool]:
        """The name of the class of an expression and whether that is an object of it, or the class itself."""
        if self._own and isinstance(owner, gast.Name) and owner.id == "self":
            return self._own, True
        if isinstance(owner, gast.Name):
            depth, meaning = scopes.find(owner.id)
            around = scopes.up_to(max(depth, 0))
        else:
            meaning, around = self.find(owner, scopes)
        cls = around.resolve(meaning.maker) if isinstance(meaning, Made) else meaning
        named = isinstance(cls, gast.ClassDef) and not cls.decorator_list
        return (cls.name if named else "", isinstance(meaning, Made))


def _package_cell(path: str | None) -> type | None:
    """The Cell of this package to which a dotted path, which may begin with MindSpore's name, leads."""
    root, *parts = (path or "").split(".")
    if root not in ("mindspore", _PACKAGE) or not parts:
        return None
    package: Any = sys.modules[_PACKAGE]
    # MindSpore's inner modules (`mindspore.nn.optim.optimizer`) are not ours: the last name counts.
    for names in (parts, ["nn", parts[-1]]):
        found = functools.reduce(lambda owner, name: getattr(owner, name, None), names, package)
        if isinstance(found, type) and hasattr(found, "__graph_state__"):
            return found
    return None


def _has_attribute(cell: type, name: str) -> bool:
    """Whether a Cell of this package has an attribute, or its objects may have it."""
    for cls in cell.__mro__:
        codes = [getattr(vars(cls).get(method), "__code__", None) for method in ("__init__", "_make")]
        if name in inspect.get_annotations(cls) or any(code is not None and name in code.co_names for code in codes):
            return True
    return hasattr(cell, name)


def own_nodes(scope: Any) -> Iterator[Any]:
    """The nodes of a module, class or function, those of functions inside left out."""
    todo = list(gast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda):
            todo += gast.iter_child_nodes(node)


def _bound_attributes(node: Any, cls: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, gast.Attribute) and not isinstance(node.ctx, gast.Load):
        yield node.attr, cls if getattr(node.value, "id", "") == "self" else ""
    inside = node.name if isinstance(node, gast.ClassDef) else cls
    for child in gast.iter_child_nodes(node):
        yield from _bound_attributes(child, inside)


def _names_in_body(cls: Any) -> list[str]:
    """The names that the body of a class binds, with repetitions."""
    stored = [n.id for n in own_nodes(cls) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store | gast.Del)]
    return stored + [s.name for s in cls.body if isinstance(s, gast.FunctionDef | gast.ClassDef)]


def _binds_any_attribute(node: Any) -> bool:
    """Whether a call binds an attribute whose name stands in no text of its own, or may do so."""
    if isinstance(node, gast.Attribute):
        return node.attr in ("__dict__", "__setattr__")
    called = last_name(node.func) if isinstance(node, gast.Call) else ""
    return called == "vars" or (called == "setattr" and not isinstance(node.args[1:2] and node.args[1], gast.Constant))
