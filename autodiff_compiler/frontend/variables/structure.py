"""Values as trees: how each kind holds others, and what is made of all leaves or parts of a value.

Every class of values that hold others has a `Form`, registered with `@form(...)`; all else is a leaf.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from ...errors import StaticValueError
from ...ir.abstract import abstract
from ...ir.core import Value
from ...ir.types import Dim
from ...primitives.requirements import SymScalar
from ...runtime.mutable import kind_of
from ...runtime.records import filled_like, is_named_tuple, record_fields, with_fields
from ...runtime.tensor import Tensor
from .values import (
    ARRAY,
    ArrayVar,
    BoundMethod,
    Held,
    LocalDict,
    LocalList,
    LocalObject,
    LocalSet,
    LocalSuper,
    MaybeUnbound,
    NewException,
    Rows,
    StateVar,
    TensorVar,
    Text,
    describe,
    usable,
)


class Outline(NamedTuple):
    """What two values that hold others must have in common where paths meet: all but what their elements are."""

    kind: Any
    keys: Sequence[Any]
    #: whether the keys are names of attributes
    named: bool = False

    def labels(self, name: str) -> list[str]:
        """What error messages call the elements of the value `name`."""
        return [f"{name}.{key}" if self.named else f"{name}[{key!r}]" for key in self.keys]


class Form:
    """How the values of a class hold others: a leaf of Python's, or a user's frozen dataclass with its fields."""

    #: whether values of classes that inherit hold others in the same way
    inherited = True
    #: whether the values are known while compiling if their elements are
    known = True
    #: whether somebody may change them, so that of two equal ones neither stands for the other
    changes = False
    #: the code of the error where paths meet with values of other outlines
    code = "AC1403"

    def elements(self, x: Any) -> Any:
        """The elements in order; None for a leaf."""
        names = record_fields(x)
        return None if names is None else [getattr(x, name) for name in names]

    def rebuilt(self, x: Any, items: list[Any]) -> Any:
        """A value like x with other elements."""
        return with_fields(x, items)

    def holds(self, x: Any) -> Sequence[Any]:
        """All values that it holds: its elements, or what a function or an iterator needs."""
        return self.elements(x) or ()

    def in_order(self, x: Any) -> Any:
        """The elements in the order of their assignment, in which eager code meets them."""
        return self.elements(x)

    def rebuilt_in_order(self, x: Any, items: list[Any]) -> Any:
        """A value like x with other elements, in that order."""
        return self.rebuilt(x, items)

    def outline(self, x: Any) -> Outline:
        """What a value must have in common with x."""
        return Outline(kind_of(x), record_fields(x) or (), named=True)

    def copied(self, x: Any) -> Any:
        """A static value as Python's own containers have it."""
        return x

    def check_leaving(self, x: Any) -> None:
        """Refuses what no call can return."""

    def sort(self, x: Any) -> Any:
        """The type of x and of what it holds; lists whose elements are of the same sorts are alike at any length."""
        items = self.elements(x)
        return type(x) if items is None else (type(x), frozenset(form_of(i).sort(i) for i in items))

    def identity(self, x: Any) -> Any:
        """A key that two values share only if compiled code cannot tell them apart."""
        items = self.elements(x)
        return type(x), id(x) if items is None else tuple(form_of(i).identity(i) for i in items)


_FORMS: dict[type, Form] = {object: Form()}
_F = TypeVar("_F", bound=type[Form])


def form(*classes: type) -> Callable[[_F], _F]:
    """Registers how values of these classes hold others."""

    def register(cls: _F) -> _F:
        _FORMS.update(dict.fromkeys(classes, cls()))
        _form_of_class.cache_clear()
        return cls

    return register


@functools.lru_cache(512)
def _form_of_class(cls: type) -> Form:
    return next(_FORMS[c] for c in cls.__mro__ if c in _FORMS and (c is cls or _FORMS[c].inherited))


def form_of(x: Any) -> Form:
    """How a value holds others."""
    cls: Any = type(x)  # mypy takes no class for hashable
    return _form_of_class(cls)


@form(bool, int, float, str, type(None))
class _Constant(Form):
    inherited = False

    def elements(self, x: Any) -> Any:
        return None

    def identity(self, x: Any) -> Any:
        return type(x), repr(x)


@form(Tensor, Value)
class _TensorForm(Form):
    known = False

    def elements(self, x: Any) -> Any:
        return None


@form(Dim)
class _SizeForm(_TensorForm):
    """A size that only a call knows."""

    def identity(self, x: Any) -> Any:
        return Dim, id(x)


@form(TensorVar, Rows)
class _RunTimeForm(_TensorForm):
    """What is known by its type."""

    def sort(self, x: Any) -> Any:
        return type(x), x.type

    def identity(self, x: Any) -> Any:
        return self.sort(x)


@form(StateVar)
class _ParameterForm(_RunTimeForm):
    def identity(self, x: Any) -> Any:
        return type(x), id(x.source)


@form(SymScalar)
class _OfKindForm(_RunTimeForm):
    def sort(self, x: Any) -> Any:
        return type(x), x.kind, x.value.type


@form(ArrayVar)
class _ArrayForm(_OfKindForm):
    def holds(self, x: Any) -> Sequence[Any]:
        return (x.owner,)


@form(MaybeUnbound)
class _UnboundForm(_TensorForm):
    known = True

    def identity(self, x: Any) -> Any:
        return type(x)


@form(tuple)
class _TupleForm(Form):
    def elements(self, x: Any) -> Any:
        return x

    def rebuilt(self, x: Any, items: list[Any]) -> Any:
        return tuple(items) if type(x) is tuple else filled_like(x, items)

    def outline(self, x: Any) -> Outline:
        return Outline(kind_of(x) if is_named_tuple(x) else tuple, range(len(x)))


@form(Held)
class _HeldForm(_TupleForm):
    def outline(self, x: Any) -> Outline:
        return _HeldOutline(Held, range(len(x)))


class _HeldOutline(Outline):
    """Both parts of what an attribute holds go by the name of the attribute."""

    __slots__ = ()

    def labels(self, name: str) -> list[str]:
        return [name for _ in self.keys]


@form(list)
class _ListForm(_TupleForm):
    changes = True

    def rebuilt(self, x: Any, items: list[Any]) -> Any:
        return items if type(x) is list else filled_like(x, items)

    def outline(self, x: Any) -> Outline:
        return Outline(list, range(len(x)))


@form(dict)
class _DictForm(Form):
    changes = True

    def elements(self, x: Any) -> Any:
        return list(type(x).values(x))  # no method of an object of the user's is looked up

    def rebuilt(self, x: Any, items: list[Any]) -> Any:
        return dict(zip(x, items, strict=True)) if type(x) is dict else filled_like(x, items)

    def outline(self, x: Any) -> Outline:
        return Outline(dict, tuple(x))


@form(LocalList)
class _LocalListForm(_ListForm):
    def rebuilt(self, x: Any, items: list[Any]) -> Any:
        return x.like(items)

    def copied(self, x: Any) -> Any:
        return [plain_copy(v) for v in x]


@form(LocalDict)
class _LocalDictForm(_DictForm):
    def rebuilt(self, x: Any, items: list[Any]) -> Any:
        return x.like(zip(x, items, strict=True))

    def copied(self, x: Any) -> Any:
        return {k: plain_copy(v) for k, v in x.items()}


@form(LocalSet)
class _LocalSetForm(Form):
    def elements(self, x: Any) -> Any:
        return None

    def copied(self, x: Any) -> Any:
        return set(x)


@form(LocalObject)
class _LocalObjectForm(Form):
    known = False
    changes = True
    code = "AC1405"

    def elements(self, x: Any) -> Any:
        return [x.slots[name] for name in sorted(x.slots)]

    def rebuilt(self, x: Any, items: list[Any]) -> Any:
        named = dict(zip(sorted(x.slots), items, strict=True))
        return x.like({name: named[name] for name in x.slots})

    def in_order(self, x: Any) -> Any:
        return [*x.slots.values()]

    def rebuilt_in_order(self, x: Any, items: list[Any]) -> Any:
        return x.like(zip(x.slots, items, strict=True))

    def outline(self, x: Any) -> Outline:
        return Outline(x.cls, tuple(sorted(x.slots)), named=True)


@form(NewException)
class _ExceptionForm(Form):
    known = False
    code = "AC1405"

    def elements(self, x: Any) -> Any:
        return [*x.args, *x.kwargs.values()]

    def rebuilt(self, x: Any, items: list[Any]) -> Any:
        n = len(x.args)
        return NewException(x.cls, tuple(items[:n]), dict(zip(x.kwargs, items[n:], strict=True)))

    def outline(self, x: Any) -> Outline:
        return Outline(x.cls, (*range(len(x.args)), *x.kwargs))


@form(functools.partial)
class _PartialForm(Form):
    def holds(self, x: Any) -> Sequence[Any]:
        return x.func, x.args, x.keywords


@form(BoundMethod, LocalSuper)
class OwnedForm(Form):
    """What belongs to another value, its `owner`, as a bound method does."""

    def holds(self, x: Any) -> Sequence[Any]:
        return (x.owner,)


@form(Text)
class _TextForm(Form):
    known = False
    code = "AC1405"

    def elements(self, x: Any) -> Any:
        return x.arguments

    def check_leaving(self, x: Any) -> None:
        raise StaticValueError(
            "a str known only at run time cannot leave compiled code", hint="print it there, or return its parts"
        ).about(x)

    def rebuilt(self, x: Any, items: list[Any]) -> Any:
        return Text(x.form, tuple(items), x.ways)

    def outline(self, x: Any) -> Outline:
        return Outline((x.form, x.ways), range(len(x.arguments)))


def is_static(x: Any) -> bool:
    """Whether x holds nothing that is known only at run time."""
    found = form_of(x)
    return found.known and all(map(is_static, found.elements(x) or ()))


def rebuild(like: Any, items: list[Any]) -> Any:
    """A container of the class of `like` with other elements."""
    return form_of(like).rebuilt(like, items)


def elements(x: Any) -> Any:
    """The elements of a container in order; None if x is a leaf."""
    cls: Any = type(x)
    return _form_of_class(cls).elements(x)  # as `form_of`, without another call: of most values this is asked often


def in_order(x: Any) -> Any:
    """The elements of a container, of an object in the order of their assignment; None if x is a leaf."""
    return form_of(x).in_order(x)


def outline(x: Any) -> Outline:
    """What a value must have in common with a container to be one with it where paths meet."""
    return form_of(x).outline(x)


def told_apart(a: Any, b: Any) -> tuple[str, str]:
    """What error messages call two values of which one is not like the other."""
    one, other = describe(a), describe(b)
    return (one, other) if one != other else (f"{type(a).__name__} object", f"{type(b).__name__} object")


def plain_copy(x: Any) -> Any:
    """A static value as Python's own containers, which code of the user's may keep."""
    return form_of(x).copied(x)


def map_leaves(fn: Callable[[Any], Any], x: Any) -> Any:
    """Applies fn to every leaf, keeping containers (rebuilt) as they are."""
    items = elements(usable(x))
    if items is None:
        return fn(x)
    return rebuild(x, [map_leaves(fn, i) for i in items])


def parts(x: Any) -> Iterator[Any]:
    """x itself and everything in it; what holds itself is not entered again."""
    yield x
    path, ways = [x], [iter(elements(x) or ())]
    while ways:
        for item in ways[-1]:
            yield item
            items = elements(item)
            if items and not any(item is holder for holder in path):
                path.append(item)
                ways.append(iter(items))
                break
        else:
            path.pop()
            ways.pop()


def flatten(x: Any) -> Iterator[Any]:
    """The leaves of a value from left to right."""
    items = elements(x)
    if items is None:
        yield x
    else:
        for i in items:
            yield from flatten(i)


def structure(x: Any) -> Any:
    """A comparable description of the containers of x (not of its leaves)."""
    items = elements(x)
    return None if items is None else (outline(x), tuple(map(structure, items)))


def with_parameters(x: Any) -> Any:
    """An abstract value with Parameters as the objects they are, for code that wants the object and not its value."""
    return map_leaves(lambda v: v.source if type(v) is StateVar else v, x)


def arrays_as_tensors(args: Sequence[Any]) -> list[Any]:
    """The arguments with a Tensor of its own for each ndarray of the caller: transforms of eager code make one."""
    return [TensorVar(x.value) if abstract(x).locked == ARRAY else x for x in args]
