"""Operator classes, each made of a name and a maker: from constructor arguments to the function that calls run."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, ClassVar

from .primitive import OPERATORS, Primitive

__all__ = ["Operation", "constant", "drawing", "operation"]

_Function = Callable[..., Any]
#: A function that draws random numbers, and its arguments.
Draw = tuple[_Function, tuple[Any, ...]]


class _OperationType(type):
    """The metaclass of operators: a class has the signature of its maker, inspected on demand."""

    @property
    def __signature__(cls) -> inspect.Signature:
        made = cls.__dict__.get("_signature")
        if made is None:
            make = cls.__dict__.get("_make")
            made = _inherited(cls) if make is None else inspect.signature(make)
            cls._signature = made
        return made


def _inherited(cls: Any) -> inspect.Signature:
    """The signature of a class that a user derives from one of ours."""
    init = cls.__init__
    if init is Operation.__init__:
        return cls.__mro__[1].__signature__
    whole = inspect.signature(init)
    return whole.replace(parameters=list(whole.parameters.values())[1:])


class Operation(Primitive, metaclass=_OperationType):
    """One of the package's operators: its constants are attributes, and it computes with them as they are now."""

    _name: ClassVar[str]
    _make: ClassVar[Callable[..., _Function]]
    _run: _Function

    def __init__(self, *args: Any, **named: Any) -> None:
        cls = type(self)
        super().__init__(cls._name)
        run = cls._make(*args, **named)  # a TypeError names the class
        parameters = cls._constants()
        if parameters.parameters:
            given = parameters.bind(*args, **named)
            given.apply_defaults()
            for name, value in given.arguments.items():
                self.__dict__[name] = self.attrs[name] = self.init_attrs[name] = value
        self._run = run

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if "_run" in self.__dict__ and name in self._constants().parameters:
            self.attrs[name] = value
            super().__setattr__("_run", self._made_again())

    @classmethod
    def _constants(cls) -> inspect.Signature:
        """The parameters of the constructor, also for a class that a user derives."""
        ours: Any = next(c for c in cls.__mro__ if "_make" in c.__dict__)
        return ours.__signature__

    def _made_again(self) -> _Function:
        return type(self)._make(**{name: self.__dict__[name] for name in self._constants().parameters})

    def __call__(self, *operands: Any, **named: Any) -> Any:
        return self._run(*operands, **named)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if ctx.outside.class_attribute(type(self), "__call__") is not Operation.__call__:
            return self._own_call(ctx, args, kwargs)
        self._watch(ctx)
        return ctx.call(self._run, args, kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k != "_run"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__["_run"] = self._made_again()


def operation(name: str, make: Callable[..., _Function], module: str, doc: str = "") -> type[Operation]:
    """A class whose constructor takes the arguments of `make` and whose objects are called as its result."""
    doc, make = inspect.cleandoc(doc) or _docstring(name, make), _called(make, name)
    members = {"_make": staticmethod(make), "_name": name, "__module__": module, "__doc__": doc}
    made = type(name, (Operation,), members)
    OPERATORS[name] = lambda: made
    return made


def _docstring(name: str, make: Any) -> str:
    """What the maker or, for a class without constants, its function says before examples."""
    code = make.__code__
    says = make if make.__doc__ or code.co_argcount or code.co_flags & inspect.CO_VARARGS else make()
    said = inspect.cleandoc(says.__doc__ or "").partition(">>>")[0].strip()
    return f"{said}\n\n`{name}` as an object: constants are given when it is made, tensors when it is called."


def _called(make: Any, name: str) -> Callable[..., _Function]:
    """A maker with the name of its class, for TypeErrors about the constants."""
    if hasattr(make, "__wrapped__"):
        make.__wrapped__.__qualname__ = name
        return make
    # Another function object, as classes share makers.
    twin = types.FunctionType(make.__code__, make.__globals__, name, make.__defaults__, make.__closure__)
    twin.__kwdefaults__, twin.__annotations__, twin.__qualname__ = make.__kwdefaults__, make.__annotations__, name
    return twin


def constant(function: _Function) -> Callable[[], _Function]:
    """The maker of a class without constants."""
    return lambda: function


# ------------------------------------------------------------------------------------------------ what draws
class _Drawing:
    """The call of an operator that draws: its `plan` gives the drawing function and the arguments."""

    def __init__(self, plan: Callable[..., Draw]) -> None:
        self._plan = plan

    def __call__(self, *operands: Any) -> Any:
        draw, given = self._plan(*operands)
        return draw(*given)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        draw, given = self._plan(*args, **kwargs)
        return ctx.call(draw, list(given), {})


def drawing(make: Callable[..., Callable[..., Draw]]) -> Callable[..., _Function]:
    """The maker of a class that draws: `make` takes its constants and returns the plan of a call."""

    @functools.wraps(make)
    def made(*args: Any, **named: Any) -> _Function:
        return _Drawing(make(*args, **named))

    return made
