"""Questions about a Cell's parts in compiled code: ``self.trainable_params()``, ``self.cells()``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MethodType
from typing import Any

from ...runtime.parameter import Parameter
from ...runtime.precision import viewed
from ...runtime.tensor import Tensor
from .interpreter import ValueContext
from .requirements import require_static
from .values import LocalDict, LocalList

__all__ = ["answer", "part"]


def answer(ctx: ValueContext, method: MethodType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a `static_query` answers while compiling; the answer is guarded."""
    owner, name = viewed(method.__self__), method.__name__
    require_static((args, tuple(kwargs.values())), f"an argument of {name}()")

    def ask() -> Any:
        found = method.__func__(owner, *args, **kwargs)
        return found if isinstance(found, Mapping) else list(found)

    found = ask()
    what = f"{name}() of {type(owner).__name__}"

    def fetch(kept: Any = found) -> Any:  # while it is kept, no other object gets an id that stands in it
        return _identities(ask())

    ctx.outside.guard(("query", id(owner), name, repr((args, kwargs))), what, fetch, _identities(found), watched=True)
    return _abstract(ctx, found)


def part(ctx: ValueContext, owner: Any, index: slice) -> Any:
    """A slice of a container of Cells: a new container each time, but of the same Cells."""
    owner = viewed(owner)

    def fetch() -> Any:
        return _identities(tuple(owner)[index])

    bounds = ["" if x is None else str(x) for x in (index.start, index.stop, index.step)]
    what = f"the part [{':'.join(bounds if bounds[2] else bounds[:2])}] of a {type(owner).__name__}"
    ctx.outside.guard(("query", id(owner), repr(index)), what, fetch, fetch(), watched=True)
    return owner[index]


def _identities(x: Any) -> Any:
    """An answer as a tuple that compares names by content and objects by identity."""
    if isinstance(x, Mapping):
        x = list(x.items())
    if isinstance(x, list | tuple):
        return tuple([_identities(v) for v in x])
    return x if isinstance(x, str) else _Identity(id(x))


class _Identity(int):
    """Which object it is; as text it is the same in each process."""

    def __repr__(self) -> str:
        return "an object"


def _abstract(ctx: ValueContext, x: Any) -> Any:
    if isinstance(x, Mapping):
        return LocalDict({k: _abstract(ctx, v) for k, v in x.items()})
    if isinstance(x, list):
        return LocalList([_abstract(ctx, v) for v in x])
    if isinstance(x, tuple):
        return tuple([_abstract(ctx, v) for v in x])
    if isinstance(x, Parameter):
        return ctx.outside.state(x)
    if isinstance(x, Tensor):
        raise TypeError("an answer about the parts of a Cell holds no Tensors")
    return x
