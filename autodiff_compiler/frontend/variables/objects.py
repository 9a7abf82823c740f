"""Operations on objects of Python's that have no kind of their own."""

from __future__ import annotations

import collections
import copy
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np

from ...errors import SideEffectError, StaticValueError, UnsupportedCallError
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.types import TensorType
from ...runtime.precision import is_view
from ...runtime.records import record_fields
from ..guards.guards import Holds
from ..guards.objects import UNBOUND, class_attribute, definer, is_ours, is_watched, is_written, peek
from . import cells, foreign, precision
from .arithmetic import BINARY, SLOT, UNARY_SLOT, kind_of_number
from .assignment import set_generic
from .base import Recipe, Variable, kind, variable_of
from .changing import is_aliased
from .comparison import can_be_asked, compare_known, is_item
from .elements import by_numbers, used_up
from .interpreter import ValueContext
from .iteration import RangeOf
from .leaves import Leaf, NumberLeaf
from .lookup import attribute_now, call_dispatched, found_or, is_dispatching, runs_code, tells_of_changes
from .numpy_calls import array_constant, stacked
from .operators import attribute, subscript
from .requirements import (
    check_seen,
    is_generated,
    is_jit_class,
    is_seen,
    python_method,
    refuse_environment,
    require_static,
    special,
)
from .rules import Intrinsic, intrinsic_of
from .structure import elements, is_static, parts, rebuild
from .text import by_method, can_be_shown, formatted_object
from .truth_values import as_bool, truth
from .values import ArrayVar, LocalDict, LocalList, LocalSet, describe

#: The methods by which objects become numbers.
_CONVERSIONS: dict[type, tuple[str, ...]] = {
    int: ("__int__", "__index__", "__trunc__"),
    float: ("__float__", "__index__"),
}
_UNARY: dict[str, Any] = {"USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert}


@kind(object)
class ObjectVariable(Variable):
    """An object that Python's own rules apply to."""

    made_here = False

    def unary(self, ctx: ValueContext, op: str) -> Any:
        result = special(ctx, self.value, UNARY_SLOT[op])
        return _UNARY[op](self.value) if result is NotImplemented else result

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        result = BINARY[op](a, b)
        for plain, local in ((list, LocalList), (set, LocalSet), (dict, LocalDict)):
            if isinstance(result, plain):
                return local(result)
        return result

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        return compare_known(ctx, op, a, b)

    def in_place(self, ctx: ValueContext, op: str, other: Any) -> Any:
        x, name = self.value, f"__i{SLOT[op]}__"
        method = python_method(ctx, x, name)
        if method is not None:
            return ctx.call_python(method, [x, other], {})
        if hasattr(type(x), name) and not is_ours(type(x)):
            raise SideEffectError(
                f"'{op}=' would change a {type(x).__name__} that came from outside",
                code="AC1602",
                hint="copy it first, or write `a = a + b`",
            )
        return NotImplemented

    def contains(self, ctx: ValueContext, item: Any) -> Any:
        x = self.value
        method = python_method(ctx, x, "__contains__")
        return self.holds(ctx, item) if method is None else truth(ctx, ctx.call_python(method, [x, item], {}))

    def holds(self, ctx: ValueContext, item: Any) -> Any:
        """``item in x`` where no method of the user's says it."""
        x = self.value
        if any(python_method(ctx, x, name) is not None for name in ("__iter__", "__getitem__")):
            return is_item(ctx, item, x)
        if can_be_asked(item, x):
            return item in x
        return is_item(ctx, item, x) if hasattr(type(x), "__iter__") else super().contains(ctx, item)

    def shown(self, ctx: ValueContext, fn: Any) -> Any:
        found = by_method(ctx, fn, self.value)
        if found is not NotImplemented:
            return found
        return fn(self.value) if can_be_shown(self.value) else self.composed(ctx)

    def composed(self, ctx: ValueContext) -> Any:
        """The text of a container that holds values known only at run time."""
        name = type(self.value).__name__
        raise StaticValueError(
            f"the text of a {name} that holds values known only at run time", hint="print its elements"
        )

    def formatted(self, ctx: ValueContext, spec: Any) -> Any:
        found = formatted_object(ctx, self.value, spec)
        return super().formatted(ctx, spec) if found is NotImplemented else found

    def recipe(self, ctx: ValueContext, values: list[Value], tensors: bool) -> Recipe:
        x = self.value
        if is_static(x) and not any(map(is_aliased, parts(x))):
            return lambda arrays: x
        if elements(x) is None:
            raise made_by_compiled_code(x)
        return self.recipe_of_items(ctx, values, tensors)

    def recipe_of_items(self, ctx: ValueContext, values: list[Value], tensors: bool) -> Recipe:
        """The same of a container, which is made anew."""
        x = self.value
        if not is_static(x):
            raise UnsupportedCallError(f"a {describe(x)} cannot be given to py_call", hint="give it Tensors or numbers")
        inner = [variable_of(i).recipe(ctx, values, tensors) for i in elements(x)]
        return lambda arrays: rebuild(x, [r(arrays) for r in inner])

    def to_array(self, ctx: ValueContext, copies: bool = True) -> Any:
        x = self.value
        if is_static(x):
            return ArrayVar(array_constant(np.array(x)))
        return stacked([variable_of(i).to_array(ctx) for i in x])

    def truth(self, ctx: ValueContext) -> Any:
        x = self.value
        result = special(ctx, x, "__bool__", "__len__")
        if result is not NotImplemented:
            return truth(ctx, result)
        if not is_watched(type(x)):
            return bool(x)
        watched = tells_of_changes(ctx, x, "__bool__")
        return ctx.outside.property(x, "truth", f"the truth of a {type(x).__name__}", lambda: bool(x), watched=watched)

    def getattr(self, ctx: ValueContext, name: str) -> Any:
        owner = self.value
        if is_view(owner):
            return precision.read(ctx, owner, name)
        if ctx.effects.in_backward and is_watched(type(owner)):
            return ctx.attribute_after_forward(owner, name)
        return attribute_now(ctx, owner, name)

    def hasattr(self, ctx: ValueContext, name: str) -> bool:
        x = self.value
        if self.made_here or type(x) is tuple:
            return super().hasattr(ctx, name)
        slot = ctx.effects.attributes.held_by(x, name)
        if slot is not None:
            return ctx.effects.attributes.read(slot) is not UNBOUND
        if runs_code(ctx, x, name):
            return found_or(ctx, x, name, UNBOUND) is not UNBOUND
        what = f"whether a {type(x).__name__} has {name!r}"
        quick = None
        if not (isinstance(x, type | types.ModuleType) or is_ours(type(x)) or hasattr(x, name)):
            quick = (Holds(name), x)  # what its class has is watched already
        return bool(ctx.outside.property(x, f"has {name}", what, lambda: hasattr(x, name), quick))

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        owner = self.value
        refuse_environment(owner)
        method = python_method(ctx, owner, "__getitem__")
        if method is not None:
            return ctx.call_python(method, [owner, index], {})
        if getattr(type(owner), "__graph_natively__", False):
            return ctx.native(type(owner).__getitem__, [owner, index])
        require_static(index, f"an index into a {describe(owner)}")
        if isinstance(index, slice) and is_watched(type(owner)):
            return cells.part(ctx, owner, index)
        value = owner[index]
        fetch = ctx.outside.part(owner, value, lambda now: now[index])
        return ctx.outside.read(value, ("index", id(owner), repr(index)), f"element {index!r}", fetch)

    def setattr(self, ctx: ValueContext, name: str, value: Any) -> None:
        owner = self.value
        cls = type(owner)
        if _is_frozen(owner, name):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        setter = class_attribute(cls, "__setattr__")
        if is_written(setter) and not is_watched(cls) and not isinstance(owner, type):
            ctx.outside.class_attribute(cls, "__setattr__")
            ctx.call_python(setter, [owner, name, value], {}, (definer(cls, "__setattr__"), owner))
        else:
            set_generic(ctx, owner, name, value)

    def delattr(self, ctx: ValueContext, name: str) -> None:
        ctx.effects.attributes.delete(self.value, name)

    def setitem(self, ctx: ValueContext, index: Any, value: Any) -> None:
        owner = self.value
        method = python_method(ctx, owner, "__setitem__")
        if method is not None:
            ctx.call_python(method, [owner, index, value], {})
        elif cells.is_made(ctx, owner):
            cells.set_item(ctx, owner, index, value)
        else:
            self.store(ctx, index, value)

    def store(self, ctx: ValueContext, index: Any, value: Any) -> None:
        """``x[index] = value`` where no method of the user's does it."""
        self.check_local(ctx)
        super().setitem(ctx, index, value)

    def delitem(self, ctx: ValueContext, index: Any) -> None:
        owner = self.value
        if cells.is_made(ctx, owner):
            cells.set_item(ctx, owner, index)
        elif hasattr(type(owner), "__delitem__"):
            self.check_local(ctx)
            self.remove(ctx, index)
        else:
            del owner[index]  # raises what Python raises

    def remove(self, ctx: ValueContext, index: Any) -> None:
        """``del x[index]`` of a container of compiled code."""
        raise NotImplementedError

    def length(self, ctx: ValueContext) -> Any:
        x = self.value
        result = special(ctx, x, "__len__")
        if result is not NotImplemented:
            return result
        watched = tells_of_changes(ctx, x, "__len__")
        return ctx.outside.property(x, "length", f"the length of a {type(x).__name__}", lambda: len(x), watched=watched)

    def absolute(self, ctx: ValueContext) -> Any:
        result = special(ctx, self.value, "__abs__")
        return abs(self.value) if result is NotImplemented else result

    def number(self, ctx: ValueContext, kind: type, *more: Any) -> Any:
        if kind is bool:
            return as_bool(self.truth(ctx))
        result = special(ctx, self.value, *_CONVERSIONS[kind])
        return kind(self.value, *more) if result is NotImplemented else variable_of(result).number(ctx, kind)

    def index(self, ctx: ValueContext) -> Any:
        result = special(ctx, self.value, "__index__")
        return operator.index(self.value) if result is NotImplemented else variable_of(result).index(ctx)

    def rounded(self, ctx: ValueContext, digits: Any) -> Any:
        x = self.value
        method = python_method(ctx, x, "__round__")
        if method is not None:
            return ctx.call_python(method, [x] if digits is None else [x, digits], {})
        check_seen(x, "round()")
        return round(x, digits)

    def copy(self, ctx: ValueContext) -> Any:
        x = self.value
        if not is_static(x):
            return x
        if isinstance(x, np.ndarray | set) or is_seen(x):
            return foreign.foreign_call(ctx, copy.copy, [x], {})
        raise UnsupportedCallError(f"a {describe(x)} cannot be copied in compiled code", hint="copy it outside")

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        x = self.value
        if isinstance(x, Iterator):
            raise used_up(x)
        if is_written(ctx.outside.class_attribute(type(x), "__getitem__")):
            return by_numbers(ctx, x)
        items = list(x)
        watched = tells_of_changes(ctx, x, "__iter__")
        ctx.outside.property(x, "length", f"the length of a {type(x).__name__}", lambda: len(list(x)), watched=watched)

        def element(i: int) -> Callable[[], Any]:
            return ctx.outside.part(x, items[i], lambda now: list(now)[i])

        return [
            ctx.outside.read(v, ("iterate", id(x), i), f"element {i}", element(i), watched=watched)
            for i, v in enumerate(items)
        ]

    def callable(self, ctx: ValueContext) -> bool:
        if not self.made_here:
            ctx.outside.kind(self.value)
            ctx.outside.class_attribute(type(self.value), "__call__")
        return callable(self.value)

    def host_function(self) -> Callable[..., Any]:
        return self.value if callable(self.value) else super().host_function()

    def leaf(self) -> Leaf | None:
        kind = kind_of_number(self.value)
        return None if kind is None else NumberLeaf.of(kind, fixed=True)

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        return builder.const(self.value, type)

    def call(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        fn = self.value
        cls = self.python_class()
        if is_jit_class(cls) and not isinstance(fn, type):
            method = ctx.outside.class_attribute(cls, "__call__")
            if not isinstance(method, types.FunctionType):
                raise TypeError(f"'{cls.__name__}' object is not callable")
            return ctx.call_python(method, [fn, *args], kwargs, (definer(cls, "__call__"), fn))
        rule = intrinsic_of(fn)
        if rule is not None:
            return _run_rule(ctx, rule, fn, args, kwargs)
        graph_call = peek(fn, "__graph_call__")
        if graph_call is not None and not isinstance(fn, type):
            return graph_call(ctx, args, kwargs)
        if is_dispatching(fn):
            return call_dispatched(ctx, fn, args, kwargs)
        if foreign.runs_natively(fn, args, kwargs):
            return foreign.foreign_call(ctx, fn, args, kwargs)
        return self.called(ctx, args, kwargs)

    def called(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The call of an object that has no rule of its own, and whose source may be compiled."""
        fn = self.value
        if is_watched(type(fn)):
            return ctx.call_cell(fn, args, kwargs)
        if not isinstance(class_attribute(type(fn), "__call__"), types.FunctionType):
            return foreign.foreign_call(ctx, fn, args, kwargs)
        if is_ours(type(fn)):
            return ctx.native(fn, args, kwargs)
        return ctx.call_python(ctx.outside.class_attribute(type(fn), "__call__"), [fn, *args], kwargs)


def _is_frozen(owner: Any, name: str) -> bool:
    """Whether the `__setattr__` that `dataclasses` made refuses the assignment of an attribute."""
    setter: Any = class_attribute(type(owner), "__setattr__")
    fields = record_fields(owner)
    if fields is None or not isinstance(setter, types.FunctionType):
        return False
    made = is_generated(owner, setter) or is_ours(setter)
    return made and (name in fields or "__dataclass_params__" in vars(type(owner)))


def made_by_compiled_code(x: Any) -> UnsupportedCallError:
    """The error for what exists only while compiling, and no host function can be given."""
    return UnsupportedCallError(
        f"a {describe(x)} made by compiled code cannot be given to py_call", hint="define it outside"
    )


class KnownSequence(ObjectVariable):
    """A sequence that nobody can change."""

    def length(self, ctx: ValueContext) -> Any:
        return len(self.value)

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        return list(self.value)


@kind(range)
class RangeVariable(KnownSequence):
    """A range."""

    def iteration(self, ctx: ValueContext) -> Any:
        return RangeOf(self.value.start, self.value.stop, self.value.step)


@kind(bytes)
class BytesVariable(KnownSequence):
    """Bytes, which may be a format."""

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        check_seen(b, "formatting")
        return super().binary(ctx, op, a, b)


@kind(collections.ChainMap)
class ChainMapVariable(ObjectVariable):
    """A `ChainMap`, whose own method catches exceptions."""

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        owner = self.value
        if type(owner) is not collections.ChainMap:
            return super().getitem(ctx, index)
        maps = [ctx.outside.item(owner.maps, i, m) for i, m in enumerate(attribute(ctx, owner, "maps"))]
        return subscript(ctx, next((m for m in maps if isinstance(m, dict) and index in m), {}), index)


@kind(super)
class SuperVariable(ObjectVariable):
    """``super()`` in a method of an object from outside."""

    def getattr(self, ctx: ValueContext, name: str) -> Any:
        above: Any = _property_above(ctx, self.value, name)
        if above is None:
            return super().getattr(ctx, name)
        owner = self.value.__self__
        return ctx.call_python(above[1].fget, [owner], {}, (above[0], owner))


def _property_above(ctx: ValueContext, view: Any, name: str) -> tuple[type, property] | None:
    """The property that ``super().name`` finds, with its class; None if it finds something else."""
    mro = view.__self_class__.__mro__
    for cls in mro[mro.index(view.__thisclass__) + 1 :]:
        if name in cls.__dict__:
            found = ctx.outside.class_attribute(cls, name)
            written = isinstance(found, property) and isinstance(found.fget, types.FunctionType)
            return (cls, found) if written and not is_ours(found.fget) else None
    return None


def _run_rule(ctx: ValueContext, rule: Intrinsic, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a rule makes of a call; what Python says of arguments that do not fit it is said of the user's function."""
    try:
        return rule(ctx, *args, **kwargs)
    except TypeError as error:
        trace, own = error.__traceback__, f"{rule.__qualname__}()"
        if trace is None or trace.tb_next is not None or own not in str(error):  # raised inside of the rule
            raise
        raise TypeError(str(error).replace(own, f"{getattr(fn, '__name__', type(fn).__name__)}()")) from None
