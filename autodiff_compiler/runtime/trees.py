"""Trees: nested tuples, lists, dicts, objects of dataclasses, registered and `jit_class` classes; Tensors are leaves.

Eager code uses them for arguments and results, `frontend.variables.values` does the same for compiled code.  Objects of
other classes are opaque.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .mutable import Mutable
from .parameter import Parameter, ParameterTuple
from .records import held_besides, record_fields, with_fields
from .tensor import Tensor
from .tree_classes import fields_first, is_data_class, registered

__all__ = ["attributes_of", "containers", "exchanged", "leaves", "mapped", "parts", "replaced", "with_parts"]


def attributes_of(x: Any) -> dict[str, Any] | None:
    """The attributes of an object: of a `jit_class` class in the order of their assignment, of a dataclass that is not
    frozen with the fields first; None for all else.
    """
    cls = type(x)
    if is_data_class(cls):
        held = dict(held_besides(x))
        return {name: held[name] for name in fields_first(cls, held)}
    if not getattr(cls, "__jit_class__", False):
        return None
    slots = [name for c in reversed(cls.__mro__) for name in _slots(c) if hasattr(x, name)]
    return {name: getattr(x, name) for name in slots} | getattr(x, "__dict__", {})


def _slots(cls: type) -> Sequence[str]:
    names: Any = cls.__dict__.get("__slots__", ())
    return [n for n in ((names,) if isinstance(names, str) else names) if n not in ("__dict__", "__weakref__")]


def parts(x: Any) -> Sequence[Any] | None:
    """The elements of a container in order; None for a leaf."""
    if isinstance(x, tuple | list):
        return x
    if isinstance(x, dict):
        return list(x.values())
    if (found := registered(type(x))) is not None:
        return list(found.flatten(x)[0])
    names = record_fields(x)
    if names is not None:
        return [getattr(x, n) for n in names]
    held = attributes_of(x)
    return None if held is None else list(held.values())


def leaves(tree: Any, _inside: tuple[int, ...] = ()) -> Iterator[Tensor]:
    """The Tensors in a tree, in order."""
    if isinstance(tree, Tensor):
        yield tree
    elif id(tree) not in _inside:  # an object may contain itself
        for item in parts(tree) or ():
            yield from leaves(item, (*_inside, id(tree)))


def mapped(
    fn: Callable[[Any], Any], tree: Any, kind: type | tuple[type, ...] = (), _inside: tuple[int, ...] = ()
) -> Any:
    """The same structure with ``fn(leaf)`` in place of the leaves; objects of `kind` are leaves, too."""
    items = None if isinstance(tree, kind) or id(tree) in _inside else parts(tree)
    if items is None:
        return fn(tree)
    return with_parts(tree, [mapped(fn, x, kind, (*_inside, id(tree))) for x in items])


def with_parts(x: Any, items: Sequence[Any]) -> Any:
    """A container like x with other elements; a ParameterTuple becomes a tuple if some are no Parameters."""
    if isinstance(x, dict):
        return dict(zip(x, items, strict=True))
    if isinstance(x, tuple | list):
        cls = type(x).__mro__[2] if isinstance(x, Mutable) else type(x)
        if cls is ParameterTuple and not all(isinstance(item, Parameter) for item in items):
            return tuple(items)
        return cls._make(items) if hasattr(cls, "_make") else cls(items)
    if (found := registered(type(x))) is not None:
        return found.unflatten(found.flatten(x)[1], tuple(items))
    held = attributes_of(x)
    if held is None:
        return with_fields(x, items)
    made = copy.copy(x)
    for name, item in zip(held, items, strict=True):
        object.__setattr__(made, name, item)
    return made


def replaced(tree: Any, leaf: Callable[[Any], Any], kind: type | tuple[type, ...] = Tensor) -> Any:
    """The same structure with ``leaf(t)`` in place of its Tensors (or leaves of another `kind`)."""
    return mapped(lambda x: leaf(x) if isinstance(x, kind) else x, tree, kind)


def exchanged(tree: Any, leaf: Callable[[Tensor], Any], changed: dict[int, Any], _inside: tuple[int, ...] = ()) -> Any:
    """The same structure with ``leaf(t)`` in place of each of its Tensors.

    Lists, dicts and objects whose ids are keys of `changed` are changed in place, and entered there (by id) once that
    is done, so that it is done once.  Other containers are copied where an element changes.
    """
    if isinstance(tree, Tensor):
        return leaf(tree)
    known = id(tree) in changed
    if (known and changed[id(tree)] is not None) or id(tree) in _inside:
        return tree
    items = parts(tree)
    if items is None:
        return tree
    if known:
        changed[id(tree)] = tree
    found = [exchanged(x, leaf, changed, (*_inside, id(tree))) for x in items]
    if all(x is y for x, y in zip(items, found, strict=True)):
        return tree
    if not known:
        return with_parts(tree, found)
    if isinstance(tree, list):
        tree[:] = found
    elif isinstance(tree, dict):
        tree.update(zip(tree, found, strict=True))
    else:
        for name, item in zip(attributes_of(tree) or (), found, strict=True):
            object.__setattr__(tree, name, item)
    return tree


def containers(tree: Any) -> Iterator[Any]:
    """The mutable containers of a tree (lists, dicts, objects), each once."""
    seen: set[int] = set()
    stack = [tree]
    while stack:
        x = stack.pop()
        if isinstance(x, Tensor) or id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, list | dict) or attributes_of(x) is not None:
            yield x
        stack.extend(parts(x) or ())
