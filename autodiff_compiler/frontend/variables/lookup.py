"""What ``owner.name`` finds on an object, class or module from outside, by Python's rules.

Code of the user's that takes part in it (properties, `__get__`, `__getattr__`, `__getattribute__`) is compiled into the
program, so that it runs once per call, in its place; it runs neither while compiling nor in a guard.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import types
from collections.abc import Iterator
from typing import Any

from ...dtypes import NO_COMPLEX
from ...errors import MissingAttributeError, SideEffectError, UnsupportedCallError, did_you_mean
from ...ir.primitive import Effect, trace
from ...peer_names import advice_of
from ..guards.guards import Holds, MethodOf
from ..guards.objects import (
    _HOOKS,
    NATIVE,
    UNBOUND,
    class_attribute,
    definer,
    is_ours,
    is_watched,
    is_written,
    module_name,
    own_attributes,
    plainly,
)
from .interpreter import Diverged, ValueContext
from .purity import compiled
from .structure import OwnedForm, form, is_static, plain_copy
from .values import class_of, describe, is_dynamic


def tells_of_changes(ctx: ValueContext, x: Any, method: str) -> bool:
    """Whether a method of a container, such as `__len__`, answers from attributes of a Cell, which are watched."""
    return is_watched(type(x)) and is_ours(ctx.outside.class_attribute(type(x), method))


def missing(owner: Any, name: str) -> Any:
    """Raises the error of an attribute that does not exist."""
    known = dir(type(owner) if _hooked(owner) else owner)
    hint = did_you_mean(name, [n for n in known if not n.startswith("__")])
    if isinstance(owner, types.ModuleType) and name in ("complex64", "complex128"):
        hint = NO_COMPLEX
    if isinstance(owner, types.ModuleType) and "__lacking__" in owner.__dict__:
        hint = owner.__dict__["__lacking__"](name) or hint
    advice = advice_of(class_attribute(type(owner), name))
    if advice is not None:
        hint = advice
    elif is_watched(type(owner)):
        hint = f"{hint}, or define '{name}' in `__init__`" if hint else f"define '{name}' in `__init__`"
    raise MissingAttributeError(f"{describe(owner)} has no attribute '{name}'", hint=hint)


def _hooked(owner: Any) -> bool:
    return any(isinstance(class_attribute(type(owner), hook), types.FunctionType) for hook in (*_HOOKS, "__dir__"))


def attribute_now(ctx: ValueContext, owner: Any, name: str) -> Any:
    """The attribute of an object from outside, as it is at this place of the program."""
    slot = ctx.effects.attributes.held_by(owner, name)
    if name == "__dict__" and ctx.effects.attributes.is_written(owner):
        raise no_state(describe(owner), name, "read its attributes by their names: one of them is written")
    if slot is not None:
        held = ctx.effects.attributes.read(slot)
        return missing(owner, name) if held is UNBOUND else held
    if isinstance(owner, types.ModuleType) and type(owner) is types.ModuleType:
        if not is_ours(owner) and module_name(owner).partition(".")[0] not in NATIVE:
            ctx.outside.lookups.kind(owner, owner.__dict__)
        return _of_module(ctx, owner, name)
    if isinstance(owner, type):
        return _of_class(ctx, owner, name)
    return of_object(ctx, owner, name)


# ---------------------------------------------------------------------------------------------------- modules
def _of_module(ctx: ValueContext, owner: types.ModuleType, name: str) -> Any:
    space, what = owner.__dict__, f"{module_name(owner)}.{name}"
    if name not in space:
        hook = space.get("__getattr__")
        if is_written(hook):
            ctx.outside.lookups.name(space, "__getattr__", f"{module_name(owner)}.")
            ctx.outside.lookups.absence(space, name, f"{module_name(owner)}.")
            return ctx.call(hook, [name], {})
        try:
            getattr(owner, name)  # modules of libraries load parts of theirs when asked
        except AttributeError:
            missing(owner, name)
    value = space.get(name, UNBOUND)
    if value is UNBOUND:
        value = getattr(owner, name)
        return ctx.outside.read(value, ("attribute", id(owner), name), what, lambda: getattr(owner, name))
    if is_ours(owner) or "__lacking__" in space or isinstance(value, types.BuiltinFunctionType):
        ctx.outside.lookups.name(space, name, f"{module_name(owner)}.")
        return value
    if is_dynamic(value) or isinstance(value, types.MethodType):
        return value
    quick = (space.__getitem__, name)
    return ctx.outside.read(value, ("attribute", id(owner), name), what, lambda: space[name], quick=quick)


# ---------------------------------------------------------------------------------------------------- classes
def _of_class(ctx: ValueContext, owner: Any, name: str) -> Any:
    if _is_native(owner):
        return _read(ctx, owner, name, functools.partial(getattr, owner, name))
    meta = type(owner)
    hook = ctx.outside.class_attribute(meta, "__getattribute__")
    if is_written(hook):
        return ctx.call_python(hook, [owner, name], {}, (definer(meta, "__getattribute__"), owner))
    above = ctx.outside.class_attribute(meta, name) if meta is not type else None
    if isinstance(above, property) and is_written(above.fget):
        return ctx.call(above.fget, [owner], {})
    static = ctx.outside.class_attribute(owner, name)
    ctx.outside.lookups.descriptor(static)
    getter = class_attribute(type(static), "__get__")
    if is_written(getter):
        return ctx.call_python(getter, [static, None, owner], {}, (definer(type(static), "__get__"), static))
    read = functools.partial(type.__getattribute__, owner, name)
    if static is None and above is None and is_written(ctx.outside.class_attribute(meta, "__getattr__")):
        hook = class_attribute(meta, "__getattr__")
        return ctx.call_python(hook, [owner, name], {}, (definer(meta, "__getattr__"), owner))
    return _read(ctx, owner, name, read if meta is type else functools.partial(getattr, owner, name))


def _is_native(cls: type) -> bool:
    return is_ours(cls) or cls.__module__.partition(".")[0] in NATIVE


# ---------------------------------------------------------------------------------------------------- objects
def of_object(ctx: ValueContext, owner: Any, name: str, *, hooked: bool = True) -> Any:
    """``owner.name``; not `hooked`: what ``object.__getattribute__`` does."""
    cls = type(owner)
    outside = ctx.outside
    static = class_attribute(cls, name)
    if _is_native(cls):
        if static is not None and is_watched(cls) and name not in owner.__dict__:
            outside.class_attribute(cls, name)  # the guards on a Cell's own attributes do not look at its class
        return _read(ctx, owner, name, functools.partial(getattr, owner, name))
    if not isinstance(owner, tuple):
        outside.kind(owner)
    if hooked:
        hook = outside.class_attribute(cls, "__getattribute__")
        if is_written(hook):
            return ctx.call_python(hook, [owner, name], {}, (definer(cls, "__getattribute__"), owner))
    outside.class_attribute(cls, name)
    outside.lookups.descriptor(static)
    held = name in own_attributes(owner)
    if isinstance(static, property) and static.fget is not None and not is_ours(static.fget):
        if isinstance(static.fget, types.FunctionType):
            return ctx.call_python(static.fget, [owner], {}, (definer(cls, name), owner))
        return ctx.call(static.fget, [owner], {})
    if isinstance(static, functools.cached_property) and not held:
        return _remembered(ctx, owner, name, static)
    if isinstance(static, functools.singledispatchmethod):
        return DispatchedMethod(static, owner, cls)
    getter = class_attribute(type(static), "__get__")
    data = hasattr(type(static), "__set__") or hasattr(type(static), "__delete__")
    if is_written(getter) and (data or not held):
        if not data:
            _absent(ctx, owner, name)
        return ctx.call_python(getter, [static, owner, cls], {}, (definer(type(static), "__get__"), static))
    own = class_attribute(cls, "__getattribute__")
    read = functools.partial(getattr if hooked and own is not object.__getattribute__ else _GENERIC, owner, name)
    try:
        return _read(ctx, owner, name, read, held=held)
    except MissingAttributeError:
        hook = outside.class_attribute(cls, "__getattr__")
        if not is_written(hook):
            if hook is None:
                _absent(ctx, owner, name)
                raise
            return _read(ctx, owner, name, functools.partial(getattr, owner, name))
    _absent(ctx, owner, name)
    return ctx.call_python(hook, [owner, name], {}, (definer(cls, "__getattr__"), owner))


_GENERIC = object.__getattribute__


def _remembered(ctx: ValueContext, owner: Any, name: str, static: functools.cached_property[Any]) -> Any:
    """A `cached_property` that is read for the first time: its function runs now, and the object keeps the result."""
    part = compiled(ctx, lambda: ctx.call(types.MethodType(static.func, owner), [], {}))
    if part.changes or not is_static(part.value):
        raise UnsupportedCallError(
            f"'{name}' of a {type(owner).__name__} remembers what it computes at the first call, and that "
            + ("has effects" if part.changes else f"is a {describe(part.value)}"),
            hint=f"read `{name}` once before the call, or make it a `property`",
        )
    own_attributes(owner)[name] = plain_copy(part.value)
    return of_object(ctx, owner, name)


def _absent(ctx: ValueContext, owner: Any, name: str) -> None:
    """Notes that an object has no attribute of its own of that name."""
    watched = is_watched(type(owner))
    what = f"whether a {type(owner).__name__} object holds {name!r} itself"
    held = Holds(name)
    ctx.outside.guard(("held", id(owner), name), what, lambda: held(owner), False, watched, (held, owner))


def _read(ctx: ValueContext, owner: Any, name: str, fetch: Any, held: bool = False) -> Any:
    """What `fetch` gives, which runs no code of the user's, with a guard on it."""
    try:
        value = fetch()
    except AttributeError:
        return missing(owner, name)
    if is_dynamic(value):
        return value
    watched = not isinstance(owner, type) and is_watched(type(owner))
    what = f"{owner.__name__ if isinstance(owner, type | types.FunctionType) else type(owner).__name__}.{name}"
    key = ("attribute", id(owner), name)
    if isinstance(value, types.MethodType) and not held:
        if not is_ours(value.__func__):
            method = None if _hooked(owner) else (MethodOf(name), owner)
            ctx.outside.guard(("method", *key[1:]), what, lambda: fetch().__func__, value.__func__, watched, method)
        return value
    if isinstance(value, types.BuiltinMethodType | types.MethodWrapperType) and not held:
        return value
    if isinstance(owner, tuple):  # a field, of whatever stands where this tuple was
        fetch = ctx.outside.part(owner, value, operator.attrgetter(name))
        return ctx.outside.read(value, key, what, fetch)
    quick = None if _hooked(owner) else (operator.attrgetter(name), owner)
    return ctx.outside.read(value, key, what, fetch, watched=watched, quick=quick)


# ---------------------------------------------------------------------------------------------------- single dispatch
_DISPATCHING = functools.singledispatch(lambda x: None).__code__  # type: ignore[attr-defined]


def is_dispatching(fn: Any) -> bool:
    """Whether a function was made by `functools.singledispatch`."""
    return type(fn) is types.FunctionType and fn.__code__ is _DISPATCHING


def call_dispatched(ctx: ValueContext, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The call of a function made by `functools.singledispatch`."""
    return ctx.call(_chosen(ctx, fn, fn, args, fn.__name__), args, kwargs)


class DispatchedMethod:
    """A `singledispatchmethod`, bound: the class of the first argument decides what is called."""

    def __init__(self, static: functools.singledispatchmethod[Any], owner: Any, cls: type) -> None:
        self.static, self.owner, self.cls = static, owner, cls

    def __graph_call__(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        static: Any = self.static
        chosen = _chosen(ctx, static, static.dispatcher, args, static.func.__name__)
        return ctx.call(chosen.__get__(self.owner, self.cls), args, kwargs)


form(DispatchedMethod)(OwnedForm)


def _chosen(ctx: ValueContext, of: Any, dispatcher: Any, args: list[Any], name: str) -> Any:
    """What is called for the class of the first argument."""
    if not args:
        raise TypeError(f"{name} requires at least 1 positional argument")
    cls, dispatch = ctx.call(type, [args[0]], {}), dispatcher.dispatch
    chosen = dispatch(cls)
    what = f"what {name}() calls for a {cls.__name__}"
    ctx.outside.guard(("dispatch", id(of), cls, of), what, lambda: dispatch(cls), chosen)
    return chosen


# ---------------------------------------------------------------------------------------------------- whether there is
def runs_code(ctx: ValueContext, owner: Any, name: str) -> bool:
    """Whether code of the user's takes part in reading an attribute of something outside, or in finding none."""
    cls = type(owner)
    if cls is types.ModuleType:
        return name not in owner.__dict__ and is_written(owner.__dict__.get("__getattr__"))
    if _is_native(owner if isinstance(owner, type) else cls):
        return False
    found = [ctx.outside.class_attribute(cls, n) for n in (name, "__getattribute__", "__getattr__")]
    if isinstance(owner, type):
        found.append(ctx.outside.class_attribute(owner, name))
    else:
        ctx.outside.kind(owner)
    static, hook, last = found[:3]
    if is_written(hook) or any(isinstance(f, property | functools.cached_property) for f in (static, *found[3:])):
        return True
    if any(is_written(class_attribute(type(f), "__get__")) for f in (static, *found[3:])):
        return True
    return is_written(last) and (found[3:] == [None] if isinstance(owner, type) else plainly(owner, name) is UNBOUND)


def found_or(ctx: ValueContext, owner: Any, name: str, default: Any) -> Any:
    """``getattr(owner, name, default)``."""
    try:
        found = UNBOUND
        with contextlib.suppress(MissingAttributeError), taking_back(AttributeError):
            found = attribute_now(ctx, owner, name)
    except Diverged:
        raise UnsupportedCallError(
            f"whether a {class_of(owner).__name__} object has '{name}' is decided by code that does more than that",
            hint="give the class an attribute of that name, or look the name up in a dict",
        ) from None
    if found is UNBOUND:
        if isinstance(owner, types.ModuleType):
            ctx.outside.lookups.absence(owner.__dict__, name, f"{module_name(owner)}.")
        else:
            if not isinstance(owner, type):
                _absent(ctx, owner, name)
            ctx.outside.class_attribute(type(owner), "__getattr__")
        return default
    return found


@contextlib.contextmanager
def taking_back(kind: type[Exception]) -> Iterator[None]:
    """Leaves early where compiled code raises an exception of a class after nothing else that would be noticed."""
    seen = len(trace.builder.block.ops)
    try:
        yield
    except Diverged as end:
        raised = end.args[0] if end.args else None
        found = raised if isinstance(raised, type) else getattr(raised, "cls", None)
        ops = trace.builder.block.ops
        plain = not any(op.defn.effect > Effect.READ for op in ops[seen:-1])
        if not (isinstance(found, type) and issubclass(found, kind) and plain and ops[seen:]):
            raise
        del ops[-1]


def no_state(what: str, name: str, hint: str = "") -> SideEffectError:
    """The error for a write of an attribute that cannot be state; without a hint it is one of a plain object."""
    hint = hint or "make it an attribute of a Cell or of an object of a class of your own, or return the value"
    text = f"attribute '{name}' of a {what} cannot be written in compiled code"
    return SideEffectError(text, code="AC1606", hint=hint)
