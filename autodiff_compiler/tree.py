"""`tree`: nested tuples, lists, dicts, NamedTuples and dataclasses with Tensors in them, as one value.

The same functions work in eager and in compiled code.  None holds nothing; all else that is no container is a leaf.

>>> from autodiff_compiler import Tensor, grad, tree
>>> weights = {"w": Tensor([1.0, 2.0]), "b": [Tensor(3.0)]}
>>> slopes = grad(lambda p: (p["w"] * p["w"]).sum() * p["b"][0])(weights)
>>> tree.map(lambda p, g: p - 0.5 * g, weights, slopes)["w"].tolist()
[-2.0, -4.0]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .errors import UnsupportedCallError
from .frontend.variables.structure import elements, outline
from .frontend.variables.values import LocalDict, LocalList, usable
from .runtime import tree_classes
from .runtime.host import name_of
from .runtime.records import is_named_tuple_class, record_fields
from .runtime.tree_classes import holds_elements
from .transforms.parts import Call, Node, caller, container_like, contents, eagerly, node_of, object_of

__all__ = ["Structure", "flatten", "leaves", "map", "register", "structure", "unflatten"]


class Structure:
    """What is left of a tree without its leaves: of each container the class, the names of its elements, and these.

    Two that are equal are of trees that `map` goes over together.

    >>> structure({"w": 1.0, "b": (2.0, None)})
    {'w': *, 'b': (*, None)}
    """

    __slots__ = ("children", "keys", "kind", "more")

    def __init__(self, kind: Any, keys: Sequence[Any] = (), children: Sequence[Structure] = (), more: Any = None):
        self.kind, self.keys, self.children = kind, tuple(keys), tuple(children)
        #: what `flatten` of a registered class gave beside the elements
        self.more = more

    @property
    def count(self) -> int:
        """How many leaves such a tree has."""
        return 1 if self.kind is None else sum(child.count for child in self.children)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        return (self.kind, self.keys, self.children, self.more) == (other.kind, other.keys, other.children, other.more)

    def __hash__(self) -> int:
        return hash((self.kind, self.keys, self.children))

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        texts = [repr(child) for child in self.children]
        if self.kind is type(None):
            return "None"
        if self.kind is list:
            return f"[{', '.join(texts)}]"
        if self.kind is tuple:
            return f"({', '.join(texts)}{',' * (len(texts) == 1)})"
        if self.kind is dict:
            return "{" + ", ".join(f"{k!r}: {t}" for k, t in zip(self.keys, texts, strict=True)) + "}"
        return f"{self.kind.__name__}({', '.join(f'{k}={t}' for k, t in zip(self.keys, texts, strict=True))})"


# ------------------------------------------------------------------------------------------------ containers
def _node(x: Any, call: Call) -> Node | None:
    """A container; None for a leaf."""
    if x is None:
        return Node(type(None), (), ())
    found = node_of(x, call)
    if found is not None:
        return found
    items = contents(x, call)
    if items is None:
        return None
    kind, keys, _ = outline(x)
    if is_named_tuple_class(kind):
        return Node(kind, kind._fields, items)
    return Node(kind, keys, items) if kind in (list, tuple, dict) or record_fields(x) is not None else None


def _made(s: Structure | Node, items: Sequence[Any], call: Call) -> Any:
    """A container of the class of a node or structure, with these elements."""
    kind = s.kind
    if kind is tuple:
        return tuple(items)
    if kind is list:
        return list(items) if call is eagerly else LocalList(items)
    if kind is dict:
        made = dict(zip(s.keys, items, strict=True))
        return made if call is eagerly else LocalDict(made)
    if is_named_tuple_class(kind):
        return kind._make(items)
    if holds_elements(kind):
        return object_of(kind, s.keys, s.more, items, call)
    made = object.__new__(kind)
    for name, item in zip(s.keys, items, strict=True):
        object.__setattr__(made, name, item)
    return made


def _like(x: Any, node: Node, items: Sequence[Any], call: Call) -> Any:
    """A container like x with other elements."""
    if x is None:
        return None
    return _made(node, items, call) if holds_elements(node.kind) else container_like(x, items, call)


# ------------------------------------------------------------------------------------------------ functions
def map(fn: Callable[..., Any], tree: Any, *others: Any) -> Any:  # the name that it has elsewhere
    """The same containers with ``fn(leaf, ...)`` in the place of the leaves.

    With several trees `fn` gets the leaves that stand in one place.  Where the first has a leaf another may have None,
    as the gradient by a number has, or a whole container.  ValueError: the others have not the containers of the first.

    >>> map(lambda x, y: x * y, {"a": 2, "b": [3, None]}, {"b": [5, None], "a": 4})
    {'a': 8, 'b': [15, None]}
    """
    return _mapped(eagerly, fn, tree, others, "")


def _mapped(call: Call, fn: Any, x: Any, others: Sequence[Any], path: str) -> Any:
    node = _node(x, call)
    if node is None:
        return call(fn, x, *others)
    rows = [_elements_like(node, other, call, path) for other in others]
    items = [
        _mapped(call, fn, item, column, f"{path}[{key!r}]")
        for key, item, *column in zip(node.keys, node.items, *rows, strict=True)
    ]
    return _like(x, node, items, call)


def _elements_like(node: Node, x: Any, call: Call, path: str) -> Sequence[Any]:
    """The elements of a container that must be like another one, in its order."""
    other = _node(x, call)
    if other is not None and other.kind is node.kind and other.more == node.more:
        if tuple(other.keys) == tuple(node.keys):
            return other.items
        if node.kind is dict and set(other.keys) == set(node.keys):
            found = dict(zip(other.keys, other.items, strict=True))
            return [found[key] for key in node.keys]
    where = f"at {path} the first tree" if path else "the first tree"
    raise ValueError(f"the trees differ: {where} is {_told(node)}, another {_told(other)}")


def _told(node: Node | None) -> str:
    if node is None:
        return "a leaf"
    if node.kind is type(None):
        return "None"
    names = f" with the keys {list(node.keys)}" if node.kind is dict else f" of {len(node.items)}"
    return f"a {node.kind.__name__}{names}"


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree from left to right.

    >>> leaves({"w": 1.0, "b": (2.0, None)})
    [1.0, 2.0]
    """
    return list(_leaves(eagerly, tree))


def _leaves(call: Call, x: Any) -> Iterator[Any]:
    node = _node(x, call)
    if node is None:
        yield x
    else:
        for item in node.items:
            yield from _leaves(call, item)


def structure(tree: Any) -> Structure:
    """The containers of a tree without its leaves.

    >>> structure([1.0, (2.0, 3.0)]) == structure([4.0, (5.0, 6.0)])
    True
    """
    return _structure(eagerly, tree)


def _structure(call: Call, x: Any) -> Structure:
    node = _node(x, call)
    if node is None:
        return Structure(None)
    return Structure(node.kind, node.keys, [_structure(call, item) for item in node.items], node.more)


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of a tree, and its structure, of which `unflatten` makes it again.

    >>> found, form = flatten({"w": 1.0, "b": (2.0, 3.0)})
    >>> unflatten(form, [10 * x for x in found])
    {'w': 10.0, 'b': (20.0, 30.0)}
    """
    return leaves(tree), structure(tree)


def unflatten(form: Any, leaves: Sequence[Any]) -> Any:
    """A tree of this structure with these leaves, from left to right.  ValueError: there are more or fewer.

    A `PyTreeSpec` of `optree` is a structure, too.

    >>> unflatten(structure((0, [0])), [1, 2])
    (1, [2])
    """
    if not isinstance(form, Structure) and type(form).__name__ == "PyTreeSpec":
        return form.unflatten(leaves)
    return _unflattened(eagerly, form, list(leaves))


def _unflattened(call: Call, form: Any, leaves: list[Any]) -> Any:
    if not isinstance(form, Structure):
        raise TypeError(f"a tree is made of a Structure, not of a {type(form).__name__}")
    if len(leaves) != form.count:
        raise ValueError(f"{len(leaves)} leaves were given for a tree of {form.count}: {form!r}")
    return _filled(call, form, iter(leaves))


def _filled(call: Call, form: Structure, leaves: Iterator[Any]) -> Any:
    if form.kind is None:
        return next(leaves)
    items = [_filled(call, child, leaves) for child in form.children]
    return None if form.kind is type(None) else _made(form, items, call)


def register(cls: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any]) -> None:
    """Makes objects of a class containers: ``flatten(x)`` gives a pair of the elements and of anything hashable, of
    which, and of other elements, ``unflatten(more, elements)`` makes another object.

    The functions of this module take them apart then, and all derivatives and `vmap` are taken by them; compiled code
    compiles both functions.  Dataclasses need no registration.  ValueError: the class is a container already.

    >>> class Box:
    ...     def __init__(self, held):
    ...         self.held = held
    >>> register(Box, lambda box: ((box.held,), None), lambda more, held: Box(*held))
    >>> map(lambda x: x + 1, [Box(1), 2])[0].held
    2
    """
    if not isinstance(cls, type):
        raise TypeError(f"a class is registered, not a {type(cls).__name__}")
    if issubclass(cls, tuple | list | dict) or tree_classes.is_registered(cls):
        raise ValueError(f"{name_of(cls)} is a container already")
    tree_classes.register(cls, flatten, unflatten)


# ------------------------------------------------------------------------------------------------ compiled code
def _in_compiled_code(function: Callable[..., Any], compiled: Callable[..., Any]) -> None:
    def graph_call(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return compiled(caller(ctx), *args, **kwargs)

    function.__graph_call__ = graph_call  # type: ignore[attr-defined]


def _map_compiled(call: Call, fn: Any, tree: Any, *others: Any) -> Any:
    return _mapped(call, fn, tree, others, "")


def _leaves_compiled(call: Call, tree: Any) -> Any:
    return LocalList(_leaves(call, tree))


def _flatten_compiled(call: Call, tree: Any) -> Any:
    return LocalList(_leaves(call, tree)), _structure(call, tree)


def _unflatten_compiled(call: Call, form: Any, leaves: Any) -> Any:
    return _unflattened(call, form, list(elements(usable(leaves))))


def _register_compiled(call: Call, *args: Any) -> Any:
    raise UnsupportedCallError("a class is registered in compiled code", hint="register it outside, once")


_in_compiled_code(map, _map_compiled)
_in_compiled_code(leaves, _leaves_compiled)
_in_compiled_code(structure, _structure)
_in_compiled_code(flatten, _flatten_compiled)
_in_compiled_code(unflatten, _unflatten_compiled)
_in_compiled_code(register, _register_compiled)
