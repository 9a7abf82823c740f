"""Objects of `jit_class` classes made by compiled code: attributes in slots of compile time, methods inlined."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable
from typing import Any

from ...errors import (
    ArgumentError,
    MissingAttributeError,
    SideEffectError,
    StaticValueError,
    UnsupportedCallError,
    did_you_mean,
)
from ..guards.objects import class_attribute, definer, is_ours
from .base import Variable, kind, variable_of
from .interpreter import ValueContext
from .objects import ObjectVariable
from .operators import attribute
from .requirements import python_method, special
from .truth_values import truth
from .values import LocalObject, LocalSuper, describe, usable


# ---------------------------------------------------------------------------------------------------- creation
def made(ctx: ValueContext, cls: type, args: list[Any], kwargs: dict[str, Any]) -> LocalObject:
    """``cls(*args, **kwargs)``."""
    for name in ("__new__", "__getattribute__"):
        if isinstance(class_attribute(cls, name), types.FunctionType | staticmethod):
            raise _refused(cls, f"it has a `{name}` of its own")
    if type(cls) is not type:
        raise _refused(cls, f"its metaclass is {type(cls).__name__}")
    obj = LocalObject(cls)
    init = ctx.outside.class_attribute(cls, "__init__")
    if not isinstance(init, types.FunctionType):
        if args or kwargs:
            raise ArgumentError(f"{cls.__name__}() takes no arguments")
    elif dataclasses.is_dataclass(cls) and init.__code__.co_filename == "<string>":
        _fill(ctx, obj, args, kwargs)
    else:
        ctx.call_python(init, [obj, *args], kwargs, (definer(cls, "__init__"), obj))
    return obj


def _refused(cls: type, why: str) -> UnsupportedCallError:
    return UnsupportedCallError(
        f"an instance of the class {cls.__name__} is created in compiled code: {why}",
        code="AC1804",
        hint="create it outside",
    )


def _fill(ctx: ValueContext, obj: LocalObject, args: list[Any], kwargs: dict[str, Any]) -> None:
    """What the `__init__` that `dataclasses` made does."""
    cls: Any = obj.cls
    fields = [f for f in dataclasses.fields(cls) if f.init]
    places = [f.name for f in fields if not f.kw_only]
    if len(args) > len(places):
        raise ArgumentError(f"{cls.__name__}() takes {len(places)} positional arguments, {len(args)} were given")
    given = dict(zip(places, args, strict=False))
    wrong = [k for k in kwargs if k in given or k not in {f.name for f in fields}]
    if wrong:
        raise ArgumentError(f"{cls.__name__}() got the argument '{wrong[0]}' twice, or has no such field")
    given |= kwargs
    for f in dataclasses.fields(cls):
        if f.name in given:
            obj.slots[f.name] = given[f.name]
        elif f.default_factory is not dataclasses.MISSING:
            obj.slots[f.name] = ctx.call(f.default_factory, [], {})
        elif f.default is not dataclasses.MISSING:
            obj.slots[f.name] = _of_class(ctx, cls, f.name, f.default)
        elif f.init:
            raise ArgumentError(f"{cls.__name__}() needs '{f.name}'")
    if class_attribute(cls, "__post_init__") is not None:
        ctx.call(attribute(ctx, obj, "__post_init__"), [], {})


# ---------------------------------------------------------------------------------------------------- attributes
@kind(LocalObject)
class LocalObjectVariable(ObjectVariable):
    """An object of a `jit_class` class made by compiled code."""

    made_here = True

    def truth(self, ctx: ValueContext) -> Any:
        result = special(ctx, self.value, "__bool__", "__len__")
        return True if result is NotImplemented else truth(ctx, result)

    def composed(self, ctx: ValueContext) -> Any:
        name = self.value.cls.__name__
        raise StaticValueError(f"the text of a {describe(self.value)}", hint=f"give {name} a `__str__` or `__repr__`")

    def getattr(self, ctx: ValueContext, name: str) -> Any:
        obj = usable(self.value)
        cls = obj.cls
        if name == "__class__":
            return cls
        static = ctx.outside.class_attribute(cls, name)
        ctx.outside.lookups.descriptor(static)
        if name in obj.slots and not isinstance(static, property):
            return obj.slots[name]
        if static is None:
            getter = ctx.outside.class_attribute(cls, "__getattr__")
            if isinstance(getter, types.FunctionType):
                return ctx.call_python(getter, [obj, name], {}, (definer(cls, "__getattr__"), obj))
            raise MissingAttributeError(
                f"{describe(obj)} has no attribute '{name}'",
                hint=did_you_mean(name, [*obj.slots, *(n for n in dir(cls) if not n.startswith("__"))]),
            )
        return _bound(ctx, obj, name, static, definer(cls, name))

    def hasattr(self, ctx: ValueContext, name: str) -> bool:
        obj = usable(self.value)
        return name in obj.slots or ctx.outside.class_attribute(obj.cls, name) is not None

    def callable(self, ctx: ValueContext) -> bool:
        return self.hasattr(ctx, "__call__")

    def setattr(self, ctx: ValueContext, name: str, value: Any) -> None:
        obj = usable(self.value)
        cls = obj.cls
        static = ctx.outside.class_attribute(cls, name)
        ctx.outside.lookups.descriptor(static)
        setter = class_attribute(cls, "__setattr__")
        if setter is not object.__setattr__ and not is_ours(setter):
            raise _no_write(obj, name, f"{cls.__name__} has a `__setattr__` of its own")
        if isinstance(static, property):
            if static.fset is None:
                raise AttributeError(f"property '{name}' of '{cls.__name__}' object has no setter")
            ctx.call_python(static.fset, [obj, value], {}, (definer(cls, name), obj))
            return
        if hasattr(type(static), "__set__") and type(static).__name__ != "member_descriptor":
            raise _no_write(obj, name, f"it is a {type(static).__name__} of {cls.__name__}")
        ctx.effects.refuse_collected(obj)
        if obj.locked:
            raise _no_write(obj, name, f"the object {obj.locked.rstrip(',')}")
        ctx.effects.change(obj)
        obj.slots = {**obj.slots, name: value}

    def delattr(self, ctx: ValueContext, name: str) -> None:
        Variable.delattr(self, ctx, name)

    def inherited(self, after: type) -> Any:
        return LocalSuper(after, self.value)

    def copy(self, ctx: ValueContext) -> Any:
        x = self.value
        method = python_method(ctx, x, "__copy__")
        return LocalObject(x.cls, usable(x).slots) if method is None else ctx.call_python(method, [x], {})

    def deepcopy(self, ctx: ValueContext, go: Callable[[Any], Any]) -> Any:
        if python_method(ctx, self.value, "__deepcopy__") is not None:
            name = self.value.cls.__name__
            raise UnsupportedCallError(f"{name} has a `__deepcopy__` of its own", hint="call it by name")
        return LocalObject(self.value.cls, {k: go(v) for k, v in usable(self.value).slots.items()})


def _bound(ctx: ValueContext, obj: LocalObject, name: str, static: Any, defining: type) -> Any:
    """What a class has under a name, as an attribute of an object."""
    if isinstance(static, types.FunctionType):
        return types.MethodType(static, obj)
    if isinstance(static, staticmethod):
        return static.__func__
    if isinstance(static, classmethod):
        return types.MethodType(static.__func__, obj.cls)
    if isinstance(static, property) and isinstance(static.fget, types.FunctionType):
        return ctx.call_python(static.fget, [obj], {}, (defining, obj))
    if isinstance(static, functools.cached_property):
        value = ctx.call_python(static.func, [obj], {}, (defining, obj))
        variable_of(obj).setattr(ctx, name, value)
        return value
    if hasattr(type(static), "__get__"):
        raise UnsupportedCallError(f"'{name}' of a {describe(obj)} is a {type(static).__name__}")
    return _of_class(ctx, obj.cls, name, static)


def _of_class(ctx: ValueContext, cls: type, name: str, value: Any) -> Any:
    what = f"{cls.__name__}.{name}"
    return ctx.outside.read(value, ("class attribute", id(cls), name), what, lambda: class_attribute(cls, name))


class _Nothing:
    """`object.__init__`, bound."""

    @staticmethod
    def __graph_call__(ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> None:
        if args or kwargs:
            raise TypeError("object.__init__() takes exactly one argument (the instance to initialize)")


@kind(LocalSuper)
class LocalSuperVariable(ObjectVariable):
    """``super()`` in a method of such an object."""

    def getattr(self, ctx: ValueContext, name: str) -> Any:
        owner, after = self.value.owner, self.value.after
        mro = owner.cls.__mro__
        for cls in mro[mro.index(after) + 1 :]:
            if name in cls.__dict__ and cls is not object:
                ctx.outside.class_attribute(cls, name)
                return _bound(ctx, owner, name, cls.__dict__[name], cls)
        if name == "__init__":
            return _Nothing()
        raise MissingAttributeError(f"'super' object has no attribute '{name}'")


def _no_write(obj: LocalObject, name: str, why: str) -> SideEffectError:
    return SideEffectError(
        f"attribute '{name}' of a {describe(obj)} cannot be written here: {why}",
        code="AC1606",
        hint="make a new object, or return the value",
    )
