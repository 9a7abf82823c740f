"""Calls: who is called decides how it is compiled."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import operator
import types
from collections.abc import Callable
from typing import Any

from ...config import check_device
from ...dtypes import DType, dtype_of, float64
from ...errors import StaticValueError, UnsupportedCallError
from ...ir.abstract import abstract
from ...ir.build import current
from ...ir.core import Value
from ...ir.primitive import F
from ...keywords import advise
from ...primitives.in_place import IN_PLACE
from ...runtime.mutable import NUMBER_DTYPE
from ...runtime.parameter import Parameter
from ...runtime.records import is_named_tuple, is_named_tuple_class
from ...runtime.tensor import NO_LIST_OF_TENSORS, Tensor
from ...runtime.tree_classes import can_be_made
from ..guards.objects import class_attribute, is_ours, is_watched, type_of
from . import cells, foreign
from .arithmetic import kind_of_number
from .base import Recipe, kind, variable_of
from .classes import made
from .elements import iterate_static
from .frames import Closure
from .interpreter import ValueContext
from .objects import ObjectVariable, made_by_compiled_code
from .operators import attribute, subscript
from .requirements import is_jit_class, require_static
from .rules import intrinsic_of
from .structure import flatten, is_static, map_leaves
from .unions import distributed, is_distributed
from .values import BoundMethod, LocalDict, NewException, TensorVar, class_of, is_dynamic, is_size, is_tensor


def call(ctx: ValueContext, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``fn(*args, **kwargs)`` on abstract values."""
    if is_distributed(fn, (*args, *kwargs.values())):
        return distributed(ctx, fn, args, kwargs)
    try:
        return variable_of(fn).call(ctx, args, kwargs)
    except TypeError as error:
        if kwargs and is_ours(fn):
            advise(error, fn)
        raise


@kind(Closure)
class ClosureVariable(ObjectVariable):
    """A function that compiled code defined."""

    made_here = True

    def call(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return ctx.call_closure(self.value, args, kwargs)

    def recipe(self, ctx: ValueContext, values: list[Value], tensors: bool) -> Recipe:
        raise made_by_compiled_code(self.value)


@kind(BoundMethod)
class BoundMethodVariable(ObjectVariable):
    """A method of a Tensor, array or container of compiled code, bound."""

    made_here = True

    def callable(self, ctx: ValueContext) -> bool:
        return True

    def call(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        try:
            return variable_of(self.value.owner).call_method(ctx, self.value.name, args, kwargs)
        except TypeError as error:
            advise(error, getattr(Tensor, self.value.name, None))
            raise

    def host_function(self) -> Callable[..., Any]:
        method = self.value
        if variable_of(method.owner).made_here:
            return super().host_function()
        return getattr(method.owner, method.name)


@kind(types.FunctionType)
class FunctionVariable(ObjectVariable):
    """A function written in Python."""

    def called(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        fn = self.value
        if is_ours(fn):
            if args and _is_method_of_cell(fn, args[0]):  # its attributes are read here, and its Parameters are states
                return _method(ctx, types.MethodType(fn, args[0]), args[1:], kwargs)
            writing = _writing_method(fn) if args and is_tensor(args[0]) else None
            if writing is not None:
                return variable_of(args[0]).call_method(ctx, writing, args[1:], kwargs)
            return ctx.native(fn, args, kwargs)
        defining = _written_in(fn)
        return ctx.call_python(fn, args, kwargs, (defining, args[0]) if defining is not None and args else None)


def _writing_method(fn: types.FunctionType) -> str | None:
    """The name of a method that changes its Tensor, if the function is one, as in ``Tensor.add_(x, y)``."""
    name = "__setitem__" if fn is vars(Tensor)["__setitem__"] else fn.__name__
    return name if name == "__setitem__" or (name in IN_PLACE and vars(Tensor).get(name) is fn) else None


@kind(types.MethodType)
class MethodVariable(ObjectVariable):
    """A method, bound."""

    def call(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if cells.which_changes(ctx, self.value):
            return cells.change(ctx, self.value, args, kwargs)
        return super().call(ctx, args, kwargs)

    def called(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return _method(ctx, self.value, args, kwargs)


@kind(types.MethodWrapperType)
class WrapperVariable(ObjectVariable):
    """A method that C defines for a slot, bound."""

    def called(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        generic = {"__getattribute__": object.__getattribute__, "__setattr__": object.__setattr__}
        if self.value.__name__ in generic:
            return call(ctx, generic[self.value.__name__], [self.value.__self__, *args], kwargs)
        return super().called(ctx, args, kwargs)


@kind(functools.partial)
class PartialVariable(ObjectVariable):
    """A function with arguments bound."""

    def called(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        fn = self.value
        bound, named = fn.args, fn.keywords
        if not any(map(is_dynamic, flatten((bound, named)))):
            ctx.outside.read(fn, ("partial", id(fn)), "a partial function", lambda: fn)
        given = [ctx.outside.item(bound, i, v) for i, v in enumerate(bound)]
        return call(
            ctx, fn.func, [*given, *args], {k: ctx.outside.item(named, k, v) for k, v in named.items()} | kwargs
        )


@kind(type)
class ClassVariable(ObjectVariable):
    """A class."""

    def called(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        cls: Any = self.value
        if issubclass(cls, Tensor):
            return _make_tensor(ctx, cls, args, kwargs)
        frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
        if (is_jit_class(cls) or can_be_made(cls)) and not frozen:
            return made(ctx, cls, args, kwargs)
        if is_watched(cls) and not is_jit_class(cls):
            return cells.made(ctx, cls, args, kwargs)
        plain = cls is functools.partial or cls.__module__ == "contextlib"
        if plain or (issubclass(cls, tuple) and hasattr(cls, "_fields")):
            if not plain and len(args) + len(kwargs) < len(cls._fields):  # some are left to the defaults
                ctx.outside.function(cls.__new__)
            return cls(*args, **kwargs)
        if dataclasses.is_dataclass(cls) and getattr(cls, "__dataclass_params__").frozen:  # noqa: B009  (not in typeshed)
            return _record(ctx, cls, args, kwargs)
        if issubclass(cls, enum.Enum):
            return cls(*require_static(args, f"the value of a {cls.__name__}"))
        if issubclass(cls, BaseException):
            return NewException(cls, tuple(args), kwargs)
        if not is_ours(cls) and class_attribute(cls, "__graph_call__") is not None:  # an operator that the user defines
            return foreign.at_compile_time(ctx, cls, args, kwargs)
        if not is_ours(cls) and cls is not type and foreign.is_pure(cls):
            return foreign.foreign_call(ctx, cls, args, kwargs)
        if is_ours(cls) or cls is type:
            for x in flatten((args, tuple(kwargs.values()))):
                require_static(x, f"an argument of {cls.__name__}")
            return cls(*args, **kwargs)
        raise plain_class(cls.__name__)


@kind(operator.attrgetter, operator.itemgetter, operator.methodcaller)
class OperatorVariable(ObjectVariable):
    """A function that `operator` makes."""

    def called(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """``attrgetter("a.b")(x)``, ``itemgetter(0)(x)``, ``methodcaller("m", 1)(x)``."""
        fn, (made, given) = self.value, self.value.__reduce__()
        if len(args) != 1:
            raise TypeError(f"{type(fn).__name__} expected 1 argument, got {len(args)}")
        x = args[0]
        if isinstance(fn, operator.methodcaller):
            if isinstance(made, functools.partial):  # with keywords: partial(methodcaller, name, **keywords)
                return call(ctx, attribute(ctx, x, made.args[0]), list(given), made.keywords)
            return call(ctx, attribute(ctx, x, given[0]), list(given[1:]), {})
        if isinstance(fn, operator.itemgetter):
            found = [subscript(ctx, x, i) for i in given]
        else:
            found = [functools.reduce(lambda of, name: attribute(ctx, of, name), g.split("."), x) for g in given]
        return found[0] if len(found) == 1 else tuple(found)


# ---------------------------------------------------------------------------------------------------- methods


def _make(ctx: ValueContext, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return fn(list(iterate_static(ctx, *args)))


_OF_NAMED_TUPLES: dict[str, Any] = {
    "_make": _make,
    "_asdict": lambda ctx, fn, args, kwargs: LocalDict(fn()),
    "_replace": lambda ctx, fn, args, kwargs: fn(**kwargs),
}


def _method(ctx: ValueContext, fn: types.MethodType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    function, owner = fn.__func__, fn.__self__
    if function.__name__ in _OF_NAMED_TUPLES and (is_named_tuple_class(owner) or is_named_tuple(owner)):
        return _OF_NAMED_TUPLES[function.__name__](ctx, fn, args, kwargs)
    if not isinstance(function, types.FunctionType):
        return call(ctx, function, [owner, *args], kwargs)
    if hasattr(function, "__graph_query__"):
        return cells.answer(ctx, fn, args, kwargs)
    if is_ours(function):
        if not is_watched(type(owner)):
            return ctx.native(fn, args, kwargs)
        if function.__name__ == "__call__":
            return ctx.call_cell(owner, args, kwargs)
    cls = owner if isinstance(owner, type) else class_of(owner)
    defining = _written_in(function) or next((c for c in cls.__mro__ if _defines(c, function)), cls)
    return ctx.call_python(function, [owner, *args], kwargs, (defining, owner))


def _written_in(function: types.FunctionType) -> type | None:
    """The class in whose body a function that mentions `super` is written: Python keeps it in a closure cell."""
    names = function.__code__.co_freevars
    if "__class__" not in names or function.__closure__ is None:
        return None
    try:
        found: type = function.__closure__[names.index("__class__")].cell_contents
    except ValueError:  # the body of the class is still running
        return None
    return found


def _is_method_of_cell(function: types.FunctionType, owner: Any) -> bool:
    """Whether a function is a method of a Cell, called with the Cell as its first argument."""
    cls = type(owner)
    return is_watched(cls) and any(_defines(c, function) for c in cls.__mro__)


def _defines(cls: type, function: Any) -> bool:
    found = cls.__dict__.get(function.__name__)
    return found is function or getattr(found, "__func__", None) is function


# ---------------------------------------------------------------------------------------------------- classes
def plain_class(name: str) -> UnsupportedCallError:
    """The error for making an instance of a class of which compiled code knows nothing."""
    return UnsupportedCallError(
        f"an instance of the class {name} is created in compiled code",
        code="AC1804",
        hint="mark the class with `jit_class`, use a NamedTuple or a dataclass, or create it outside",
    )


def _is_kind_of_class(cls: type) -> bool:
    """Whether a class is of a kind whose instances compiled code makes, or refuses, by a rule for the kind."""
    kinds = (Tensor, enum.Enum, BaseException, functools.partial)
    record = issubclass(cls, tuple) and hasattr(cls, "_fields")
    frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
    by_rule = is_jit_class(cls) or can_be_made(cls) or is_watched(cls) or hasattr(cls, "__graph_call__")
    return issubclass(cls, kinds) or record or frozen or by_rule or cls.__module__ == "contextlib"


def refuse_class(cls: type) -> None:
    """Raises what compiled code raises for making an instance of a library's class, whatever it is given."""
    if intrinsic_of(cls) is not None or is_ours(cls) or cls is type or _is_kind_of_class(cls):
        return
    if not foreign.is_pure(cls):
        raise plain_class(cls.__name__)
    foreign.refuse_call(cls)


def _record(ctx: ValueContext, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """An instance of a frozen dataclass; default factories are compiled, what else runs at its making cannot be."""
    written = [n for n in ("__init__", "__new__", "__post_init__") if _is_written(class_attribute(cls, n))]
    if written and not is_static((args, tuple(kwargs.values()))):
        raise UnsupportedCallError(
            f"{cls.__name__} is made of run-time values, and its `{written[0]}` cannot be compiled",
            code="AC1804",
            hint="leave it out, or create the object outside",
        )
    wanted = [f for f in dataclasses.fields(cls) if f.init]
    given = {f.name for f in [f for f in wanted if not f.kw_only][: len(args)]} | set(kwargs)
    for f in wanted:
        if f.default_factory is not dataclasses.MISSING and f.name not in given:
            kwargs = {**kwargs, f.name: call(ctx, f.default_factory, [], {})}
    return cls(*args, **kwargs)


def _is_written(method: Any) -> bool:
    """Whether a user has written a method, and not `dataclasses`."""
    return isinstance(method, types.FunctionType) and method.__code__.co_filename != "<string>"


def _make_tensor(ctx: ValueContext, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``Tensor(...)`` in compiled code: a constant, or a new Tensor made of run-time values."""
    if issubclass(cls, Parameter):
        raise cells.created(cls.__name__)
    if is_static(args) and is_static(tuple(kwargs.values())):
        made = cls(*map_leaves(lambda x: x, args), **kwargs)
        return TensorVar(current().array(made.asnumpy(), type_of(made), "tensor"))
    given = inspect.signature(cls).bind(*args, **kwargs).arguments
    data, dtype, shape = given.get("input_data"), given.get("dtype"), given.get("shape")
    if given.get("init") is not None:
        if data is not None:
            raise ValueError("give `input_data` or `init`, not both")
        raise StaticValueError("`init` fills a constant: its number must be known", hint="use `ops.full`")
    if given.get("device") is not None:
        check_device(given["device"])
    made = _tensor_of(ctx, data, dtype)
    shape = (shape,) if isinstance(shape, int) else shape
    if shape is not None and made.type.shape != tuple(shape):
        raise ValueError(f"`shape` is {tuple(shape)}, but the data has shape {made.type.shape}")
    return made


def _tensor_of(ctx: ValueContext, data: Any, dtype: Any) -> Any:
    """A new Tensor made of run-time values."""
    if is_dynamic(data) and kind_of_number(data) is None:  # a Tensor's elements, as they are now
        value = F.stop_gradient(ctx.unwrap(data))
        return TensorVar(value if dtype is None or value.dtype is dtype_of(dtype) else F.cast(value, dtype=dtype))
    numbers = variable_of(data).numbers(ctx)
    if numbers is not None:
        own = _dtype_of_numbers(numbers) if dtype is None else dtype_of(dtype)
        return TensorVar(F.cast(numbers.value, dtype=own))
    leaves = list(flatten(data))
    if any(map(is_tensor, leaves)):
        raise TypeError(NO_LIST_OF_TENSORS)
    if any(abstract(x).is_array for x in leaves):
        value = variable_of(data).to_array(ctx).value
        own = dtype_of("float32") if value.dtype is float64 else value.dtype
        wanted = own if dtype is None else dtype_of(dtype)
        return TensorVar(value if value.dtype is wanted else F.cast(value, dtype=wanted))
    return TensorVar(_as_value(ctx, data, _dtype_of_numbers(data) if dtype is None else dtype_of(dtype)))


def _dtype_of_numbers(data: Any) -> DType | None:
    """The dtype of a Tensor made of Python numbers; None if there is something else among them."""
    kinds = {kind_of_number(x) for x in flatten(data)}
    if not kinds or None in kinds:
        return None
    return dtype_of("float32") if float in kinds else NUMBER_DTYPE[int if int in kinds else bool]


def _as_value(ctx: ValueContext, data: Any, dtype: DType | None) -> Value:
    """Nested lists of Tensors and numbers as one Tensor."""
    if isinstance(data, list | tuple):
        parts = [_as_value(ctx, d, dtype) for d in data]
        return F.stack(*parts, axis=-1 - parts[0].ndim)
    if is_dynamic(data) or is_size(data):
        value = variable_of(data).to_operand(ctx)
        dtype = dtype or _dtype_of_numbers(data)
    else:
        made = Tensor(data, dtype)
        value = current().array(made.asnumpy(), type_of(made), "tensor")
    return value if dtype is None or value.dtype is dtype else F.cast(value, dtype=dtype)
