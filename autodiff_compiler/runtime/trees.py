"""Nested tuples, lists, dicts and frozen dataclasses with Tensors in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .records import record_fields, with_fields
from .tensor import Tensor

__all__ = ["leaves", "parts", "replaced"]


def parts(x: Any) -> Sequence[Any] | None:
    """The elements of a container in order; None for a leaf."""
    if isinstance(x, tuple | list):
        return x
    if isinstance(x, dict):
        return list(x.values())
    names = record_fields(x)
    return None if names is None else [getattr(x, n) for n in names]


def leaves(tree: Any) -> Iterator[Tensor]:
    """The Tensors in it, in order."""
    if isinstance(tree, Tensor):
        yield tree
    else:
        for item in parts(tree) or ():
            yield from leaves(item)


def replaced(tree: Any, leaf: Callable[[Any], Any], kind: type = Tensor) -> Any:
    """The same structure with something else in the place of its Tensors (or leaves of another kind)."""
    if isinstance(tree, kind):
        return leaf(tree)
    if isinstance(tree, dict):
        return {k: replaced(v, leaf, kind) for k, v in tree.items()}
    if isinstance(tree, tuple | list):
        items = [replaced(v, leaf, kind) for v in tree]
        return type(tree)._make(items) if hasattr(tree, "_make") else type(tree)(items)
    names = record_fields(tree)
    return tree if names is None else with_fields(tree, [replaced(getattr(tree, n), leaf, kind) for n in names])
