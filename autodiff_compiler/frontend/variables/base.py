"""The operations on values of compiled code: a `Variable` for each kind of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

from ...errors import SideEffectError, StaticValueError, UnsupportedCallError, UnsupportedSyntaxError
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.types import TensorType
from ...registration import Registrar
from ...runtime.tensor import NO_DELETION
from .arithmetic import SLOT
from .interpreter import ValueContext
from .leaves import Leaf
from .values import class_of, describe, usable

#: What makes an argument of a host function of the arrays of a run.
Recipe = Callable[[Sequence[Any]], Any]


class Results(Protocol):
    """Makes the structure of a call's results (see `effects.results`): one method for each kind of leaf."""

    def tensor(self, x: Any) -> Any: ...
    def parameter(self, x: Any) -> Any: ...
    def number(self, x: Any) -> Any: ...
    def size(self, x: Any, value: Value) -> Any:
        """A size that only a call knows, with the Value that it is."""

    def array(self, x: Any) -> Any: ...
    def constant_array(self, x: Any) -> Any: ...
    def union(self, x: Any) -> Any: ...
    def known(self, x: Any) -> Any:
        """What is known while compiling, and containers that nobody can change."""


class Variable:
    """The operations on a value of compiled code, its verbs.  A kind refuses those that it does not define.

    Of two operands the one of higher `precedence` says what an operator means, the left one of equals; a left one that
    `goes_first` always does.
    """

    precedence: ClassVar[float] = 0
    goes_first: ClassVar[bool] = False
    #: whether compiled code made the object, so that no guard on its class is needed
    made_here: ClassVar[bool] = True

    def __init__(self, value: Any) -> None:
        self.value = value

    def unary(self, ctx: ValueContext, op: str) -> Any:
        """``-x``, ``+x`` or ``~x``; `op` is the syntax tree's name of the operator."""
        raise self._refused(op)

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        """``a op b``, of which it is one."""
        raise _refused_together(op, a, b)

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        """``a op b`` of a comparison, of which it is one."""
        raise _refused_together(op, a, b)

    def in_place(self, ctx: ValueContext, op: str, other: Any) -> Any:
        """What ``x op= other`` gives the target; NotImplemented: what the operator gives."""
        return NotImplemented

    def contains(self, ctx: ValueContext, item: Any) -> Any:
        """``item in x``, as a truth value."""
        raise TypeError(f"argument of type '{self.python_class().__name__}' is not iterable")

    def identity(self) -> Any:
        """The object that ``is`` asks about."""
        return self.value

    def unwrap(self, ctx: ValueContext) -> Any:
        """What a function of this package gets for it: a Value for a Tensor."""
        return self.value

    def to_operand(self, ctx: ValueContext) -> Any:
        """What an op gets for it: a Value for all that is known only at run time."""
        return self.unwrap(ctx)

    def beside_tensor(self, ctx: ValueContext) -> Any:
        """What it is as the other operand of a Tensor: NumPy's scalars are Python numbers, its arrays Tensors."""
        return self.value

    def shown(self, ctx: ValueContext, fn: Any) -> Any:
        """``str(x)``, ``repr(x)`` or ``format(x)``: a str or a `Text`."""
        raise self._refused("the text")

    def formatted(self, ctx: ValueContext, spec: Any) -> Any:
        """``format(x, spec)`` with a specification that says something."""
        raise StaticValueError(f"how a {describe(self.value)} is formatted must be known at compile time")

    def recipe(self, ctx: ValueContext, values: list[Value], tensors: bool) -> Recipe:
        """How to make, at run time, the copy of it that a host function gets, of the arrays of all `values`.

        Those that it needs are added to these.  With `tensors` Tensors are made, otherwise ndarrays.
        """
        n = len(values)
        values.append(self.to_operand(ctx))
        return lambda arrays: self.of_array(arrays[n], tensors)

    def of_array(self, array: Any, tensors: bool) -> Any:
        """The copy that a host function gets, made of the array of its only Value."""
        raise NotImplementedError

    def is_own(self, start: int) -> bool:
        """Whether it was made since the serial was `start`, so that it belongs to what has been compiled since."""
        return False

    def around(self, value: Value, locked: str = "") -> Any:
        """One of its kind, and known only at run time, around another Value."""
        raise NotImplementedError

    def overwrite(self, ctx: ValueContext, value: Value) -> None:
        """Gives a Tensor another value."""
        raise NotImplementedError

    def to_array(self, ctx: ValueContext, copies: bool = True) -> Any:
        """``np.array(x)``, detached; where it does not copy, an array that shares the memory of a Tensor."""
        raise self._refused("an array")

    def sample(self) -> Any:
        """A value of the same type that is known now, for asking NumPy what it would return."""
        return self.value

    def truth(self, ctx: ValueContext) -> Any:
        """The truth value: a Python bool, or a bool[] Value if it is known only at run time."""
        raise self._refused("truth")

    def getattr(self, ctx: ValueContext, name: str) -> Any:
        """``x.name``."""
        raise self._refused(f".{name}")

    def hasattr(self, ctx: ValueContext, name: str) -> bool:
        """``hasattr(x, name)``."""
        return hasattr(self.python_class(), name)

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        """``x[index]``."""
        raise self._refused("a subscript")

    def setattr(self, ctx: ValueContext, name: str, value: Any) -> None:
        """``x.name = value``."""
        raise AttributeError(f"'{self.python_class().__name__}' object has no attribute '{name}'")

    def delattr(self, ctx: ValueContext, name: str) -> None:
        """``del x.name``."""
        text = f"an attribute of a {describe(self.value)} cannot be deleted in compiled code"
        raise SideEffectError(text, code="AC1606", loc=ctx.here, hint="set it to None")

    def inherited(self, after: type) -> Any:
        """``super()`` in a method of it that the class `after` defines."""
        return super(after, self.value)

    def setitem(self, ctx: ValueContext, index: Any, value: Any) -> None:
        """``x[index] = value``."""
        raise TypeError(f"'{self.python_class().__name__}' object does not support item assignment")

    def check_local(self, ctx: ValueContext) -> None:
        """Refuses to change a container that compiled code has not made, and does not stand for one from outside."""
        raise TypeError(f"'{self.python_class().__name__}' object does not support item assignment")

    def delitem(self, ctx: ValueContext, index: Any) -> None:
        """``del x[index]``."""
        raise TypeError(NO_DELETION.format(self.python_class().__name__))

    def as_index(self, ctx: ValueContext) -> Any:
        """It as an index into a Tensor."""
        return self.value

    def settle_length(self) -> None:
        """Begins the compilation again for a known length, where that is a size of arguments."""

    def numbers(self, ctx: ValueContext) -> Any:
        """The Python numbers of a list that is an array already, as one that has a shape; None for everything else."""

    def length(self, ctx: ValueContext) -> Any:
        """``len(x)``."""
        raise TypeError(f"object of type '{self.python_class().__name__}' has no len()")

    def absolute(self, ctx: ValueContext) -> Any:
        """``abs(x)``."""
        raise self._refused("abs()")

    def number(self, ctx: ValueContext, kind: type, *more: Any) -> Any:
        """``bool(x)``, ``int(x)`` or ``float(x)``; `more` is the base of an int."""
        raise self._refused(f"{kind.__name__}()")

    def index(self, ctx: ValueContext) -> Any:
        """The int that it is to ``operator.index``."""
        raise TypeError(f"'{self.python_class().__name__}' object cannot be interpreted as an integer")

    def rounded(self, ctx: ValueContext, digits: Any) -> Any:
        """``round(x, digits)``."""
        raise TypeError(f"type {self.python_class().__name__} doesn't define __round__ method")

    def assign(self, ctx: ValueContext, value: Any) -> None:
        """What `assign` does, which changes Parameters."""
        raise TypeError(f"assign() changes a Parameter, not a {type(self.value).__name__}")

    def copy(self, ctx: ValueContext) -> Any:
        """``copy.copy(x)``."""
        return self.value

    def deepcopy(self, ctx: ValueContext, go: Callable[[Any], Any]) -> Any:
        """``copy.deepcopy(x)``; ``go`` makes that of a part."""
        made = self.with_items(ctx, go)
        return self.copy(ctx) if made is NotImplemented else made

    def with_items(self, ctx: ValueContext, fn: Callable[[Any], Any]) -> Any:
        """A new container with ``fn`` of the items; NotImplemented for what is no container of Python's."""
        return NotImplemented

    def python_class(self) -> type:
        """The class of what the value stands for."""
        return class_of(self.value)

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        """The elements, where their number is known while compiling."""
        raise TypeError(f"'{self.python_class().__name__}' object is not iterable")

    def iteration(self, ctx: ValueContext) -> Any:
        """What a `for` goes over (an `Iteration`); None: the elements that `iterate` gives."""

    #: whether only run time may know how many elements `iteration` has
    may_be_open = False

    def runs_code(self) -> bool:
        """Whether the user's code runs when it is asked for an element."""
        return False

    def live(self, ctx: ValueContext) -> Iterator[Any]:
        """The elements one after the other, as Python's iterators give them while the value changes."""
        usable(self.value)
        return iter(self.iterate(ctx))

    def callable(self, ctx: ValueContext) -> bool:
        """``callable(x)``."""
        return False

    def call(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """``x(*args, **kwargs)``."""
        raise TypeError(f"'{self.python_class().__name__}' object is not callable")

    def call_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """``x.name(*args, **kwargs)`` of a method that is a `BoundMethod`."""
        raise NotImplementedError

    def host_function(self) -> Callable[..., Any]:
        """The function that Python calls for it at run time."""
        what = f"py_call cannot call a {describe(self.value)} in compiled code"
        raise UnsupportedCallError(what, hint="give it a function defined outside")

    def result(self, out: Results) -> Any:
        """What stands for it in the structure that a call returns or writes back."""
        return out.known(self.value)

    def leaf(self) -> Leaf | None:
        """What is known of it, if a block's parameter can stand for it."""
        return None

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        """It as a Value of a type that it fits, at the end of a builder's block."""
        raise self._refused("a Value")

    def name_value(self, name: str) -> None:
        """Gives its Value the name by which the user calls it, if it has none yet."""

    def _refused(self, what: str) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(f"{what} of {describe(self.value)} is not supported", code="AC1103")


def _refused_together(op: str, a: Any, b: Any) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        f"{SLOT.get(op, op)} of {describe(a)} and {describe(b)} is not supported", code="AC1103"
    )


_KINDS: dict[type, type[Variable]] = {}
#: Registers the `Variable` of values of these classes, and of the user's classes that inherit from them.
kind = Registrar(_KINDS)


def class_name(x: Any) -> str:
    """The name of the class of what a value stands for."""
    return variable_of(x).python_class().__name__


def variable_of(x: Any) -> Variable:
    """The operations on a value."""
    found = _KINDS.get(type(x))
    if found is None:
        found = next(_KINDS[cls] for cls in type(x).__mro__ if cls in _KINDS)
    return found(x)
