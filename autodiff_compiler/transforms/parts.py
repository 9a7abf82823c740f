"""Objects of users' classes as containers of Tensors: transforms work on their parts.

A transform T of a function f of objects is ``made_again . T(taken_apart . f . made_again) . taken_apart``: between them
stands, for each object, a NamedTuple of what it holds, whose class says what the object was.
"""

from __future__ import annotations

import functools
import operator
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..errors import GradientError, shown_as
from ..frontend.variables.structure import elements, flatten, rebuild
from ..frontend.variables.values import LocalDict, LocalList, LocalObject, class_of, usable
from ..runtime.records import held_besides, record_fields
from ..runtime.tensor import Tensor
from ..runtime.tree_classes import fields_first, is_data_class, registered
from .maps import LinearMap, belongs_to_run
from .memo import memoised

__all__ = [
    "Call", "Node", "OfParts", "at_positions", "caller", "container_like", "contents", "cotangents_in",
    "cotangents_like", "eagerly", "is_tensor", "made_again", "node_of", "object_of", "of_objects",
    "of_objects_compiled", "of_parts", "taken_apart",
]  # fmt: skip

#: Calls a function: in compiled code the body of a user's function is compiled there.
Call = Callable[..., Any]
#: Classes whose objects are leaves or containers of their own, which calls hold most often.
_PLAIN = frozenset((Tensor, bool, int, float, str, type(None), tuple, list, dict))


def eagerly(fn: Any, *args: Any) -> Any:
    """How eager code calls a function."""
    return fn(*args)


def is_tensor(x: Any) -> bool:
    """Whether an object of eager code is a Tensor."""
    return isinstance(x, Tensor)


class Node(NamedTuple):
    """A container: its class, the names of its elements, these, and what a registered class has beside them."""

    kind: Any
    keys: Sequence[Any]
    items: Sequence[Any]
    more: Any = None


def node_of(x: Any, call: Call) -> Node | None:
    """An object as a container: of a registered class, or of a dataclass that is not frozen; None for all else."""
    if type(x) in _PLAIN:
        return None
    cls = class_of(x)
    found = registered(cls)
    if found is not None:
        items, more = call(found.flatten, x)
        return Node(cls, range(len(items)), list(items), more)
    if not is_data_class(cls):
        return None
    held = x.slots if type(x) is LocalObject else [name for name, _ in held_besides(x)]
    names = fields_first(cls, held)
    return Node(cls, names, [call(getattr, x, name) for name in names])


def contents(x: Any, call: Call) -> Any:
    """The elements of a container that is no object, None of a leaf; compiled code reads those of one from outside."""
    items = elements(usable(x))
    if items is None or call is eagerly or isinstance(x, LocalList | LocalDict | LocalObject):
        return items
    if isinstance(x, dict):
        return [call(operator.getitem, x, key) for key in call(list, x)]
    if isinstance(x, tuple | list):
        return list(call(list, x))
    return [call(getattr, x, name) for name in record_fields(x) or ()]


def container_like(x: Any, items: Sequence[Any], call: Call) -> Any:
    """A container like x, which is no object, with other elements."""
    if call is eagerly or type(x) not in (list, dict):
        return rebuild(x, list(items))
    return LocalList(items) if type(x) is list else LocalDict(zip(x, items, strict=True))


def object_of(kind: Any, keys: Sequence[Any], more: Any, items: Sequence[Any], call: Call) -> Any:
    """An object of the class of a `Node`, with these elements; the `__init__` of a dataclass does not run."""
    found = registered(kind)
    if found is not None:
        return call(found.unflatten, more, tuple(items))
    if call is not eagerly:
        return LocalObject(kind, zip(keys, items, strict=True))
    made = object.__new__(kind)
    for name, item in zip(keys, items, strict=True):
        object.__setattr__(made, name, item)
    return made


# ------------------------------------------------------------------------------------------------ parts
@functools.lru_cache(512)
def _parts_class(kind: type, keys: Sequence[Any], more: Any, kinds: Any) -> Any:
    """The class of the parts of objects that differ in their elements only."""
    make: Any = namedtuple  # whose fields no type checker can know
    made = make(kind.__name__, [str(key) for key in keys], rename=True)
    made.__parts_of__ = kind, keys, more
    return made


def _kinds(x: Any) -> Any:
    """The classes in a hashable value: equal numbers of other classes are other values."""
    return (type(x), *map(_kinds, x)) if isinstance(x, tuple) else type(x)


def _parts(node: Node, items: Sequence[Any]) -> Any:
    keys = node.keys if isinstance(node.keys, range) else tuple(node.keys)
    try:
        cls = _parts_class(node.kind, keys, node.more, _kinds(node.more))
    except TypeError as error:
        kind = type(node.more).__name__
        raise TypeError(
            f"what `flatten` of {node.kind.__name__} gives beside the elements must be hashable, not a {kind}"
        ) from error
    return cls(*items)


def taken_apart(x: Any, call: Call = eagerly, tensor: Callable[[Any], bool] = is_tensor) -> Any:
    """A value with parts in the place of the objects that hold Tensors; itself if there are none."""
    return _apart(x, call, tensor, ())[0]


def _apart(x: Any, call: Call, tensor: Callable[[Any], bool], inside: tuple[int, ...]) -> tuple[Any, bool]:
    """The same, and whether there are Tensors in it; an object that holds itself is a leaf."""
    if tensor(x) or hasattr(type(x), "__parts_of__"):
        return x, True
    if id(x) in inside:
        return x, False
    node = node_of(x, call)
    items = contents(x, call) if node is None else node.items
    if items is None:
        return x, False
    found = [_apart(item, call, tensor, (*inside, id(x))) for item in items]
    holds, parts = any(holds for _, holds in found), [part for part, _ in found]
    if node is not None:
        return (_parts(node, parts), True) if holds else (x, False)
    return _with(x, elements(x), parts, call), holds


def at_positions(
    args: Sequence[Any], positions: Iterable[int], call: Call = eagerly, tensor: Callable[[Any], bool] = is_tensor
) -> list[Any] | None:
    """The arguments with those at some positions taken apart; None if there are no objects."""
    made = list(args)
    for p in positions:
        if p < len(made) and type(made[p]) is not Tensor:
            made[p] = taken_apart(made[p], call, tensor)
    return None if all(a is b for a, b in zip(args, made, strict=True)) else made


def cotangents_like(
    main: Any, v: Any, call: Call = eagerly, tensor: Callable[[Any], bool] = is_tensor
) -> list[Any] | None:
    """The cotangents in a container like a result, in the order of its Tensors; None if that holds no object."""
    same = class_of(v) is class_of(main)
    return _beside(main, v, call, tensor) if same and _holds_objects(main, call) else None


def cotangents_in(v: Any, call: Call = eagerly, tensor: Callable[[Any], bool] = is_tensor) -> Any:
    """Cotangents with a tuple of their Tensors in the place of a container that holds objects."""
    if not _holds_objects(v, call):
        return v
    return tuple([leaf for leaf in flatten(taken_apart(v, call, tensor)) if tensor(leaf)])


def _holds_objects(x: Any, call: Call) -> bool:
    if type(x) is LocalObject or node_of(x, call) is not None or record_fields(x) is not None:
        return True
    return any(_holds_objects(item, call) for item in contents(x, call) or ())


def _beside(main: Any, v: Any, call: Call, tensor: Callable[[Any], bool]) -> list[Any]:
    if tensor(main):
        return [v]
    if type(main) is LocalObject:
        pairs = [(main.slots[name], call(getattr, v, name)) for name in sorted(main.slots)]
    else:
        items, others = _items(main, call), _items(v, call)
        if items is None:
            return []
        if others is None or len(others) != len(items):
            raise GradientError("the cotangent of a result must be a container of the same structure")
        pairs = list(zip(items, others, strict=True))
    return [found for x, of_x in pairs for found in _beside(x, of_x, call, tensor)]


def _items(x: Any, call: Call) -> Any:
    node = node_of(x, call)
    return contents(x, call) if node is None else node.items


def made_again(x: Any, call: Call = eagerly) -> Any:
    """A value with objects in the place of their parts."""
    items = elements(usable(x))
    if items is None:
        return x
    made = [made_again(item, call) for item in items]
    parts_of = getattr(type(x), "__parts_of__", None)
    if parts_of is None:
        return _with(x, items, made, call)
    kind, keys, more = parts_of
    return object_of(kind, keys, more, made, call)


def _with(x: Any, items: Sequence[Any], others: list[Any], call: Call) -> Any:
    return x if all(a is b for a, b in zip(items, others, strict=True)) else container_like(x, others, call)


class OfParts:
    """A function of objects as one of their parts, which returns parts, too."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn
        self.__name__ = getattr(fn, "__name__", type(fn).__name__)
        if hasattr(fn, "__run__"):
            self.__run__ = fn.__run__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return taken_apart(self.fn(*made_again(args), **made_again(kwargs)))

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        call = caller(ctx)
        given = {name: made_again(x, call) for name, x in kwargs.items()}
        result = ctx.call(self.fn, [made_again(x, call) for x in args], given)
        return taken_apart(result, call, ctx.is_tensor)


def caller(ctx: Any) -> Call:
    """How compiled code calls a function."""
    return lambda fn, *args: ctx.call(fn, list(args), {})


def of_parts(fn: Any) -> Any:
    """A function of objects as one of their parts: the same for all calls, which find its compiled form again."""
    return fn if isinstance(fn, OfParts) else memoised(fn, ("parts",), lambda: OfParts(fn))


# ------------------------------------------------------------------------------------------------ transforms
def of_objects(transform: Callable[..., Any]) -> Callable[..., Any]:
    """A transform ``(fn, inputs, ...)`` of functions of Tensors as one of functions of objects."""

    @functools.wraps(transform)
    def transformed(fn: Any, *args: Any, **kwargs: Any) -> Any:
        given = args, kwargs
        apart = taken_apart(given)
        if apart is given:
            return transform(fn, *args, **kwargs)
        return _objects(transform(of_parts(fn), *apart[0], **apart[1]))

    return transformed


def _objects(x: Any) -> Any:
    """What a transform returned, with objects for their parts; a linear map takes and gives objects."""
    if type(x) is tuple:
        return tuple(map(_objects, x))
    if not belongs_to_run(x):
        return made_again(x)

    def of_objects(*v: Any) -> Any:
        return made_again(x(*taken_apart(v)))

    of_objects.__dict__.update(x.__dict__)
    return of_objects


def of_objects_compiled(transform: Callable[..., Any]) -> Callable[..., Any]:
    """The same for what a transform does in compiled code."""

    def transformed(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        call = caller(ctx)
        fn, *inputs = [kwargs["fn"], *args] if "fn" in kwargs else args
        named = {name: x for name, x in kwargs.items() if name != "fn"}
        apart = [taken_apart(x, call, ctx.is_tensor) for x in inputs]
        apart_named = {name: taken_apart(x, call, ctx.is_tensor) for name, x in named.items()}
        if all(a is b for a, b in zip([*inputs, *named.values()], [*apart, *apart_named.values()], strict=True)):
            return transform(ctx, args, kwargs)
        return _compiled_objects(transform(ctx, [OfParts(fn), *apart], apart_named), call)

    return transformed


def _compiled_objects(x: Any, call: Call) -> Any:
    if type(x) is tuple:
        return tuple([_compiled_objects(item, call) for item in x])
    return _MapOfObjects(x) if isinstance(x, LinearMap) else made_again(x, call)


@shown_as("function")
class _MapOfObjects(LinearMap):
    """A linear map of parts, as one of objects."""

    def __init__(self, map: Any) -> None:
        self.map = map

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        call = caller(ctx)
        apart = [taken_apart(x, call, ctx.is_tensor) for x in args]
        return made_again(self.map.__graph_call__(ctx, apart, kwargs), call)
