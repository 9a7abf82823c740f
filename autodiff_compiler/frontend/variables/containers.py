"""Operations on lists, tuples, dicts, sets and iterations."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from ...errors import LoopError, StaticValueError, UnsupportedCallError, UnsupportedSyntaxError
from ...ir.build import current
from ...ir.core import Value
from ...runtime.parameter import ParameterTuple
from ...runtime.records import is_named_tuple
from ..guards.objects import is_changeable, is_ours
from . import operators, requirements
from .arithmetic import SLOT
from .base import Recipe, kind, variable_of
from .comparison import is_item
from .elements import iterate_live, iterate_static, unchanged_dict, unordered
from .foreign import is_pure
from .interpreter import ValueContext
from .iteration import Iteration, OfDict, OfList, RangeOf
from .iterators import Iterated
from .lookup import missing
from .objects import ObjectVariable
from .requirements import (
    check_seen,
    element_index,
    known_key,
    python_method,
    refuse_locked,
    refuse_outside,
    require_static,
    special,
    with_known_sizes,
)
from .rows import repeated
from .rules import INTRINSICS
from .structure import is_static
from .text import concatenated, fields, join, text
from .values import (
    BoundMethod,
    DictView,
    LocalDict,
    LocalList,
    LocalSet,
    SymScalar,
    describe,
    is_iterator,
    is_size,
    of_known_length,
    usable,
)

#: What Python calls for operators and the making of containers; called by name, they change the container too.
_DUNDER_MUTATING = {
    *("__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__"),
    *("__init__", "__setattr__", "__delattr__", "__setstate__", "__missing__", "move_to_end", "subtract"),
}
_BY_OPERATOR = {"__iadd__": "Add", "__imul__": "Mult", "__ior__": "BitOr", "__iand__": "BitAnd", "__isub__": "Sub"}
_LOOKING_UP = ("get", "setdefault", "pop")
_COMPARING = {"index", "count", "remove", "sort"}


def pairs_of(ctx: ValueContext, x: Any) -> Any:
    """The items that `dict` or `update` are given: a dict, or pairs of a key and a value."""
    return x if isinstance(x, dict) else [_pair(ctx, pair) for pair in iterate_live(ctx, x)]


def _pair(ctx: ValueContext, x: Any) -> tuple[Any, ...]:
    key, *values = iterate_static(ctx, x)
    return known_key(key), *values


def _extend(ctx: ValueContext, owner: Any, items: Any) -> None:
    if not is_iterator(items):
        owner += list(iterate_static(ctx, items))
        return
    for item in iterate_live(ctx, items):  # which may look at what the list holds by then
        owner.append(item)


def without_order() -> UnsupportedSyntaxError:
    """The error for taking an element out of a set."""
    return UnsupportedSyntaxError("a set has no fixed order to pop in", code="AC1105", hint="use a list")


_OF_SETS = {
    *("update", "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint"),
    *("difference_update", "intersection_update", "symmetric_difference_update"),
}


# ---------------------------------------------------------------------------------------------------- op=
def in_place(ctx: ValueContext, op: str, old: Any, value: Any) -> Any:
    """What ``old op= value`` gives the target: the same list, dict or set, changed, or a new value."""
    result = variable_of(old).in_place(ctx, op, value)
    return operators.binary(ctx, op, old, value) if result is NotImplemented else result


def _set_operation(name: str) -> Any:
    def result(ctx: ValueContext, old: Any, value: Any) -> Any:
        return getattr(set(old), name)(value) if isinstance(value, set | frozenset) else NotImplemented

    return result


# ---------------------------------------------------------------------------------------------------- kinds
#: What a class has as a method that objects are bound to.
_BUILT_IN = types.MethodDescriptorType | types.WrapperDescriptorType | types.ClassMethodDescriptorType
_METHODS = types.FunctionType | _BUILT_IN


def holds_key(x: Any, key: Any) -> bool:
    """Whether a dict or set has a key."""
    return known_key(key) in x


class ContainerVariable(ObjectVariable):
    """A container of Python's, which may hold values of run time."""

    #: the methods that change it, and what it holds after ``op=``
    mutating: ClassVar[tuple[str, ...]] = ()
    changes: ClassVar[dict[str, Any]] = {}

    def length(self, ctx: ValueContext) -> Any:
        result = special(ctx, self.value, "__len__")
        return len(self.value) if result is NotImplemented else result

    def in_place(self, ctx: ValueContext, op: str, other: Any) -> Any:
        owner = self.value
        if op in self.changes:
            self.check_local(ctx)
            given = self.changes[op](ctx, owner, other)
            if given is not NotImplemented:
                ctx.effects.change(owner)
                self.refill(ctx, given)
                ctx.effects.attributes.check_elements(owner)
                return owner
        method = python_method(ctx, owner, f"__i{SLOT[op]}__")
        return NotImplemented if method is None else ctx.call_python(method, [owner, other], {})

    def check_local(self, ctx: ValueContext) -> None:
        if self.made_here:
            refuse_locked(ctx, self.value)
        elif self.mutating:
            refuse_outside(ctx, self.value)
        else:
            super().check_local(ctx)

    def refill(self, ctx: ValueContext, given: Any) -> None:
        """Gives it other content."""
        self.value.clear()
        self.value.update(given)

    def call_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        result = self._call_method(ctx, name, args, kwargs)
        ctx.effects.attributes.check_elements(self.value)
        return result

    def _call_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        owner = self.value
        if name in self.mutating:
            self.check_local(ctx)
            ctx.effects.change(owner)
        elif name in _DUNDER_MUTATING and self.mutating:
            return self._by_operator(ctx, name, args)
        written = getattr(type(owner), name, None)
        if isinstance(written, types.FunctionType) and not is_ours(written) and not is_pure(written):
            return ctx.call(written, [owner, *args], kwargs)
        return self.run_method(ctx, name, args, kwargs)

    def _by_operator(self, ctx: ValueContext, name: str, args: list[Any]) -> Any:
        """A method that Python calls for an operator: what the operator does."""
        self.check_local(ctx)
        if name == "__setitem__":
            return INTRINSICS[operator.setitem](ctx, self.value, *args)
        if name in _BY_OPERATOR and len(args) == 1:
            return in_place(ctx, _BY_OPERATOR[name], self.value, args[0])
        hint = "write the operator"
        raise UnsupportedCallError(f"'{name}' of a container cannot be called in compiled code", hint=hint)

    def run_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a method that nobody but Python has written does."""
        raise NotImplementedError

    def getattr(self, ctx: ValueContext, name: str) -> Any:
        owner = self.value
        if is_named_tuple(owner):
            return super().getattr(ctx, name)
        if is_ours(type(owner)) or not is_changeable(type(owner)):
            known = hasattr(self.python_class() if self.made_here else owner, name)
            return BoundMethod(owner, name) if known else missing(owner, name)
        if isinstance(ctx.outside.class_attribute(type(owner), name), _METHODS):
            return BoundMethod(owner, name)
        return super().getattr(ctx, name)


@kind(frozenset)
class FrozensetVariable(ContainerVariable):
    """A set that nobody can change."""

    def holds(self, ctx: ValueContext, item: Any) -> Any:
        return holds_key(self.value, item)

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        raise unordered()

    def run_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if name == "pop":
            raise without_order()
        whole = name not in _OF_SETS
        given = [a if whole or isinstance(a, set | frozenset) else list(iterate_static(ctx, a)) for a in args]
        check_seen(require_static(given, "an element of a set"), f"'{name}'")
        result = getattr(self.value, name)(*given)
        return LocalSet(result) if isinstance(result, set) else result


@kind(set)
class SetVariable(FrozensetVariable):
    """A set."""

    mutating = (
        *("add", "discard", "remove", "pop", "clear", "update", "difference_update", "intersection_update"),
        "symmetric_difference_update",
    )
    changes: ClassVar[dict[str, Any]] = {
        "BitOr": _set_operation("union"),
        "BitAnd": _set_operation("intersection"),
        "Sub": _set_operation("difference"),
        "BitXor": _set_operation("symmetric_difference"),
    }


@kind(LocalSet)
class LocalSetVariable(SetVariable):
    """A set made by compiled code."""

    made_here = True

    def recipe(self, ctx: ValueContext, values: list[Value], tensors: bool) -> Recipe:
        held = frozenset(self.value)
        return lambda arrays: set(held)


class _WithItems(ContainerVariable):
    """A container with items under indices or keys."""

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        owner = usable(self.value)
        method = python_method(ctx, owner, "__getitem__")
        return self.item(ctx, index) if method is None else ctx.call_python(method, [owner, index], {})

    def item(self, ctx: ValueContext, index: Any) -> Any:
        """The item, which no method of the user's gives."""
        raise NotImplementedError

    def store(self, ctx: ValueContext, index: Any, value: Any) -> None:
        owner = self.value
        self.check_local(ctx)
        index = self.place(ctx, index)
        ctx.effects.change(owner)
        owner[index] = value
        ctx.effects.containers.note_assigned(owner, index)
        ctx.effects.attributes.check_elements(owner)

    def remove(self, ctx: ValueContext, index: Any) -> None:
        index = self.place(ctx, index)
        ctx.effects.change(self.value)
        del self.value[index]

    def place(self, ctx: ValueContext, index: Any) -> Any:
        """An index or key that an item is assigned under."""
        return require_static(index, "an index into a Python container")


#: What surrounds the text of elements.
_BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), ParameterTuple: ("(", ")")}


@kind(tuple)
class SequenceVariable(_WithItems):
    """A tuple, or a list."""

    precedence = 2.5

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        if op == "Mult":
            a, b = (operator.index(x) if is_size(x) else x for x in (a, b))
        return super().binary(ctx, op, a, b)

    def item(self, ctx: ValueContext, index: Any) -> Any:
        owner, index = self.value, with_known_sizes(element_index(ctx, index))
        if not is_static(index):
            raise StaticValueError(
                f"an index into a Python {type(owner).__name__} must be known at compile time, it is a "
                f"{describe(index)}",
                code="AC1305",
                hint="stack the elements with `ops.stack`, then index the Tensor",
            ).about(index)
        return self.found(ctx, index, owner[index])

    def found(self, ctx: ValueContext, index: Any, value: Any) -> Any:
        """What is under an index."""
        return ctx.outside.item(self.value, index, value)

    def place(self, ctx: ValueContext, index: Any) -> Any:
        return require_static(element_index(ctx, index), "an index into a Python container", code="AC1305")

    def copy(self, ctx: ValueContext) -> Any:
        return LocalList(iterate_live(ctx, self.value)) if isinstance(self.value, list) else self.value

    def with_items(self, ctx: ValueContext, fn: Callable[[Any], Any]) -> Any:
        x = usable(self.value)
        made = [fn(self.found(ctx, i, v)) for i, v in enumerate(x)]
        if is_named_tuple(x):
            return type(x)(*made)
        return LocalList(made) if isinstance(x, list) else tuple(made)

    def recipe_of_items(self, ctx: ValueContext, values: list[Value], tensors: bool) -> Recipe:
        x = self.value
        inner = [variable_of(i).recipe(ctx, values, tensors) for i in x]
        if is_named_tuple(x):
            return lambda arrays: type(x)(*[r(arrays) for r in inner])
        container = list if isinstance(x, list) else tuple
        return lambda arrays: container([r(arrays) for r in inner])

    def composed(self, ctx: ValueContext) -> Any:
        x, cls = self.value, self.python_class()
        items = [self.found(ctx, i, v) for i, v in enumerate(x)]
        if is_named_tuple(x):
            return fields(ctx, cls.__name__, list(zip(x._fields, items, strict=True)))
        if cls not in _BRACKETS:
            return super().composed(ctx)
        begin, end = _BRACKETS[cls]
        shown = join(", ", [text(ctx, repr, i) for i in items])
        return concatenated(begin, shown, "," if begin == "(" and len(items) == 1 else "", end)

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        return [ctx.outside.item(self.value, i, v) for i, v in enumerate(self.value)]

    def run_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        owner = self.value
        if name in _COMPARING and name != "sort" and not is_static(owner):
            raise StaticValueError(f"'{name}' compares elements that are known only at run time")
        if name in _COMPARING:
            check_seen((owner, args), f"'{name}'")
        if name in ("insert", "pop") and args:
            require_static(args[0], "an index into a Python list")
        if name == "sort":
            owner[:] = INTRINSICS[sorted](ctx, owner, **kwargs)
            return None
        if name == "extend":
            _extend(ctx, owner, args[0])
            return None
        result = getattr(owner, name)(*args, **kwargs)
        return LocalList(result) if name == "copy" else result


@kind(list)
class ListVariable(SequenceVariable):
    """A list."""

    mutating = ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse")
    changes: ClassVar[dict[str, Any]] = {"Mult": lambda ctx, old, value: list(old) * requirements.as_index(ctx, value)}

    def in_place(self, ctx: ValueContext, op: str, other: Any) -> Any:
        if op != "Add":
            return super().in_place(ctx, op, other)
        self.check_local(ctx)
        ctx.effects.change(self.value)
        _extend(ctx, self.value, other)
        ctx.effects.attributes.check_elements(self.value)
        return self.value

    def refill(self, ctx: ValueContext, given: Any) -> None:
        self.value[:] = given


@kind(LocalList)
class LocalListVariable(ListVariable):
    """A list made by compiled code."""

    made_here = True

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        times = b if a is self.value else a
        if op == "Mult" and is_size(times):
            return repeated(self.value, times, current())
        return super().binary(ctx, op, a, b)

    def found(self, ctx: ValueContext, index: Any, value: Any) -> Any:
        return LocalList(value) if isinstance(index, slice) else value

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        return list(self.value)

    def iteration(self, ctx: ValueContext) -> Any:
        return OfList(ctx, self.value, self.value)

    def live(self, ctx: ValueContext) -> Iterator[Any]:
        x, i = self.value, 0
        most = len(x) + ctx.options.unroll_max
        while i < len(of_known_length(x)):
            if i == most:
                added = ctx.options.unroll_max
                raise LoopError(f"a list grows while it is iterated over, by more than {added} elements")
            yield x[i]
            i += 1


@kind(DictView)
class DictViewVariable(SequenceVariable):
    """What `keys`, `values` or `items` of a dict gave."""

    def iteration(self, ctx: ValueContext) -> Any:
        return OfDict(ctx, self.value, self.value.source)

    def composed(self, ctx: ValueContext) -> Any:
        shown = join(", ", [text(ctx, repr, self.found(ctx, i, v)) for i, v in enumerate(self.value)])
        return concatenated(f"dict_{self.value.kind}([", shown, "])")

    def live(self, ctx: ValueContext) -> Iterator[Any]:
        source = self.value.source
        return unchanged_dict(source, self.value) if variable_of(source).made_here else super().live(ctx)


@kind(dict)
class DictVariable(_WithItems):
    """A dict."""

    mutating = ("update", "setdefault", "pop", "popitem", "clear")
    changes: ClassVar[dict[str, Any]] = {"BitOr": lambda ctx, old, value: {**old, **dict(pairs_of(ctx, value))}}

    def holds(self, ctx: ValueContext, item: Any) -> Any:
        return holds_key(self.value, item)

    def item(self, ctx: ValueContext, index: Any) -> Any:
        owner = self.value
        index = known_key(index)
        method = python_method(ctx, owner, "__missing__") if index not in owner else None
        if method is not None:
            return ctx.call_python(method, [owner, index], {})
        return self.found(ctx, index, owner[index])

    def run_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        owner = self.value
        if name == "update" and args and is_iterator(args[0]):
            for pair in iterate_live(ctx, args[0]):  # which may look at what the dict holds by then
                owner.update([_pair(ctx, pair)])
            args = []
        elif name == "update":
            args = [pairs_of(ctx, a) for a in args]
        elif name in _LOOKING_UP and args:
            args = [known_key(args[0]), *args[1:]]
        result = getattr(owner, name)(*args, **kwargs)
        if name == "copy":
            return LocalDict(result)
        if name in ("keys", "values", "items"):
            view = DictView(result)
            view.source, view.kind = owner, name
            return view
        return result

    def found(self, ctx: ValueContext, index: Any, value: Any) -> Any:
        """What is under a key."""
        return ctx.outside.item(self.value, index, value)

    def copy(self, ctx: ValueContext) -> Any:
        return LocalDict({k: self.found(ctx, k, v) for k, v in usable(self.value).items()})

    def deepcopy(self, ctx: ValueContext, go: Callable[[Any], Any]) -> Any:
        return LocalDict({k: go(v) for k, v in self.copy(ctx).items()})

    def with_items(self, ctx: ValueContext, fn: Callable[[Any], Any]) -> Any:
        return LocalDict({fn(k): fn(v) for k, v in self.copy(ctx).items()})

    def recipe_of_items(self, ctx: ValueContext, values: list[Value], tensors: bool) -> Recipe:
        inner = {k: variable_of(v).recipe(ctx, values, tensors) for k, v in self.value.items()}
        return lambda arrays: {k: r(arrays) for k, r in inner.items()}

    def composed(self, ctx: ValueContext) -> Any:
        if self.python_class() is not dict:
            return super().composed(ctx)
        pairs = [(text(ctx, repr, k), text(ctx, repr, self.found(ctx, k, v))) for k, v in self.value.items()]
        return concatenated("{", join(", ", [concatenated(k, ": ", v) for k, v in pairs]), "}")

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        return list(self.value)


@kind(LocalDict)
class LocalDictVariable(DictVariable):
    """A dict made by compiled code."""

    made_here = True

    def found(self, ctx: ValueContext, index: Any, value: Any) -> Any:
        return value

    def iteration(self, ctx: ValueContext) -> Any:
        return OfDict(ctx, self.value, self.value)

    def live(self, ctx: ValueContext) -> Iterator[Any]:
        return unchanged_dict(self.value, self.value)


_ITERATORS: dict[str, type] = {
    **{kind.__name__: kind for kind in (enumerate, zip, reversed, map, filter)},
    **{kind.__name__: kind for kind in (type(iter(())), type(iter([])), type(iter({})), type(iter("")))},
    "generator": types.GeneratorType,
}


@kind(Iteration)
class IterationVariable(ObjectVariable):
    """An iteration or iterator of compiled code."""

    made_here = may_be_open = True

    def unwrap(self, ctx: ValueContext) -> Any:
        return ctx.unwrap(self.iterate(ctx))

    def contains(self, ctx: ValueContext, item: Any) -> Any:
        return is_item(ctx, item, self.value)

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        return self.value.iterate(ctx)

    def iteration(self, ctx: ValueContext) -> Any:
        return self.value

    def runs_code(self) -> bool:
        return self.value.runs_code()


@kind(Iterated)
class IteratedVariable(IterationVariable):
    """An iterator, of which every element comes once."""

    def python_class(self) -> type:
        return _ITERATORS.get(self.value.name, type(self.value))

    def live(self, ctx: ValueContext) -> Iterator[Any]:
        return iter(self.value.static_items(ctx))


@kind(RangeOf)
class RangeOfVariable(IterationVariable):
    """A range whose bounds may be known only at run time."""

    def length(self, ctx: ValueContext) -> Any:
        n = self.value.length
        return n if isinstance(n, int) else SymScalar(n, int)

    def python_class(self) -> type:
        return range
