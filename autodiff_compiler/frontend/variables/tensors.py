"""Operations on Tensors and Parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...errors import MissingAttributeError, SideEffectError, StaticValueError, UnsupportedCallError, did_you_mean
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import METHODS, PROPERTIES, F
from ...ir.primitive import call as public
from ...ir.types import TensorType
from ...peer_names import TENSOR
from ...primitives.in_place import IN_PLACE, fitting
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor, wrap
from . import numpy_calls, precision
from .arithmetic import SLOT, SYMBOL, UNARY_SLOT, kind_of_number, leaves_derivative, to_number
from .arrays import OfElements
from .assignment import assign_state, set_item
from .base import Results, Variable, class_name, kind, variable_of
from .comparison import COMPARE_SLOT, MIRRORED, compare_objects, is_item
from .interpreter import ValueContext
from .iteration import Slices
from .leaves import Leaf, TensorLeaf
from .naming import name_of
from .objects import ObjectVariable
from .requirements import LEAVING, as_index, length_of, refuse_data, settled_index
from .rules import TENSOR_METHODS
from .text import with_spec
from .values import ARRAY, STANDS_FOR_PARAMETER, ArrayVar, BoundMethod, StateVar, TensorVar, Text, is_dynamic, is_tensor

#: Methods of Tensors that are no function of this package.
_OWN_METHODS = ("item", "__len__", "copy", "assign_value", "asnumpy", "numpy", "register_hook")


@kind(TensorVar)
class TensorVariable(OfElements):
    """A Tensor known by its type."""

    precedence = 4
    may_be_open = True

    def unary(self, ctx: ValueContext, op: str) -> Any:
        return TensorVar(ctx.unwrap(self.value)) if op == "UAdd" else ctx.native(METHODS[UNARY_SLOT[op]], [self.value])

    def in_place(self, ctx: ValueContext, op: str, other: Any) -> Any:
        if self.value.locked == ARRAY:
            name, sign = name_of(ctx, self.value, local=True), SYMBOL[SLOT[op]]
            raise SideEffectError(
                f"'{sign}=' would change {f'`{name}`' if name else 'a value'}, which was given as an ndarray",
                code="AC1602",
                hint=f"make a new one: `{name or 'a'} = {name or 'a'} {sign} ...`",
            )
        return NotImplemented

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        a, b = (variable_of(x).beside_tensor(ctx) for x in (a, b))
        for x in (a, b):
            if not (is_dynamic(x) or kind_of_number(x) or isinstance(x, Tensor)):
                names = f"'{class_name(a)}' and '{class_name(b)}'"
                raise TypeError(f"unsupported operand type(s) for {SYMBOL[SLOT[op]]}: {names}")
        method = METHODS.get(f"__{SLOT[op]}__" if is_tensor(a) else f"__r{SLOT[op]}__")
        if method is None:
            raise UnsupportedCallError(f"Tensors do not support the operator '{SLOT[op]}' in compiled code yet")
        return ctx.native(method, [a, b] if is_tensor(a) else [b, a])

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        a, b = (variable_of(x).beside_tensor(ctx) for x in (a, b))
        if not all(is_dynamic(x) or isinstance(x, int | float | Tensor) for x in (a, b)):
            return compare_objects(op, a, b)  # as `==` of a Tensor knows nothing else, Python compares identities
        if is_tensor(a):
            return ctx.native(METHODS[COMPARE_SLOT[op]], [a, b])
        return ctx.native(METHODS[COMPARE_SLOT[MIRRORED.get(op, op)]], [b, a])

    def contains(self, ctx: ValueContext, item: Any) -> Any:
        return is_item(ctx, item, self.value)

    def unwrap(self, ctx: ValueContext) -> Any:
        ctx.effects.snapshots.note_read(self.value, ctx.here)
        return self.value.value

    def shown(self, ctx: ValueContext, fn: Any) -> Any:
        box = self.value
        if box.snapshot is not None:
            raise StaticValueError("the text of a Tensor that is one of several Parameters, chosen at run time")
        # A box of its own, so that later changes of the Tensor leave the text as it is.
        form, way = ("{}", "repr") if fn is repr else ("{!s}", "str")
        return Text(form, (TensorVar(ctx.unwrap(box)),), (way,))

    def formatted(self, ctx: ValueContext, spec: Any) -> Any:
        type_ = self.value.type
        like = wrap(np.ones(type_.shape, type_.dtype.numpy))
        return with_spec(self.shown(ctx, str).arguments[0], "number", spec, like)

    def of_array(self, array: Any, tensors: bool) -> Any:
        return wrap(np.array(array)) if tensors else np.array(array)

    def is_own(self, start: int) -> bool:
        return bool(self.value.serial >= start)

    def around(self, value: Value, locked: str = "") -> Any:
        return TensorVar(value, locked)

    def overwrite(self, ctx: ValueContext, value: Value) -> None:
        ctx.effects.write(self.value, value)

    def to_array(self, ctx: ValueContext, copies: bool = True) -> Any:
        if not copies:
            self.share(ctx)
            if self.value.type.dtype.is_float:
                leaves_derivative(ctx, "an array")
        return ArrayVar(F.stop_gradient(ctx.unwrap(self.value)), np.ndarray, None if copies else self.value)

    def share(self, ctx: ValueContext) -> None:
        """From now on an array shares its memory, which shows in eager mode what is written to it: nothing may be."""
        self.value.locked = self.value.locked or "shares its memory with an array, which asnumpy() gave,"

    def getattr(self, ctx: ValueContext, name: str) -> Any:
        owner = self.value
        if name == "dtype":
            return owner.type.dtype
        if name in numpy_calls.OF_TYPE:
            return numpy_calls.OF_TYPE[name](owner.type)
        if name in PROPERTIES:
            return ctx.native(METHODS[name], [owner])
        whole = precision.whole(owner)
        if name in ("name", "requires_grad") and isinstance(source := variable_of(whole).identity(), Parameter):
            return ctx.outside.property(source, name, f"{name} of a Parameter", lambda: getattr(source, name))
        if name in METHODS or name in IN_PLACE or name in _OWN_METHODS:
            return BoundMethod(owner, name)
        refuse_data(name)
        if hasattr(self.python_class(), name):
            raise UnsupportedCallError(
                f"'{name}' of a Tensor cannot be used in compiled code"
                + (": it would leave the graph, and cut the gradient" if name in LEAVING else ""),
                code="AC1801" if name in LEAVING else None,
                hint="use an op, or `ms.py_call` (with a `bprop` for the gradient), or move it out of the function",
            )
        known = [*METHODS, "shape", "dtype", "ndim", "size"]
        raise MissingAttributeError(
            f"Tensor has no attribute '{name}'", hint=TENSOR.get(name) or did_you_mean(name, known)
        )

    def call_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        owner, function = self.value, METHODS.get(name)
        if name == "item":
            return to_number(ctx, owner, None)
        if name in ("asnumpy", "numpy"):
            return self.to_array(ctx, copies=False)
        if name == "__len__":
            return owner.type.shape[0]
        if name == "copy":
            return TensorVar(ctx.unwrap(owner))
        if name in TENSOR_METHODS:
            return TENSOR_METHODS[name](ctx, precision.whole(owner), *args, **kwargs)
        if name == "__setitem__":
            set_item(ctx, owner, *args, **kwargs)
            return None
        if name in IN_PLACE or name == "assign_value":
            return _changed(ctx, precision.whole(owner), name, args, kwargs)
        if hasattr(function, "__graph_call__"):  # it draws
            return ctx.call(function, [owner, *args], kwargs)
        return ctx.native(function, [owner, *args], kwargs)  # type: ignore[arg-type]

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        index = variable_of(index).as_index(ctx)
        index = numpy_calls.without_arrays(ctx, settled_index(ctx, index))
        return ctx.native(METHODS["__getitem__"], [self.value, index])

    def setitem(self, ctx: ValueContext, index: Any, value: Any) -> None:
        box, index = self.value, settled_index(ctx, index)
        ctx.effects.check_writable(box)
        ctx.effects.write(box, METHODS["__setitem__"](box.value, ctx.unwrap(index), ctx.unwrap(value)))

    def absolute(self, ctx: ValueContext) -> Any:
        return ctx.native(public.abs, [self.value])

    def index(self, ctx: ValueContext) -> Any:
        return to_number(ctx, as_index(ctx, self.value), int)

    def assign(self, ctx: ValueContext, value: Any) -> None:
        if self.value.snapshot is not None:
            raise SideEffectError(
                "assign() got a Tensor that is one of several, chosen at run time, and may be a Parameter",
                code="AC1606",
                hint="assign each Parameter in the branch that chooses it",
            )
        if self.value.source is not STANDS_FOR_PARAMETER:
            super().assign(ctx, value)
        assign_state(ctx, self.value, value)

    def copy(self, ctx: ValueContext) -> Any:
        return TensorVar(ctx.unwrap(self.value))

    def check_writable(self, ctx: ValueContext) -> None:
        """Refuses to write where somebody else may hold the Tensor."""
        ctx.effects.check_writable(self.value)

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        return [self._row(ctx, i) for i in range(length_of(self.value))]

    def iteration(self, ctx: ValueContext) -> Any:
        return Slices(ctx, self.value)

    def live(self, ctx: ValueContext) -> Iterator[Any]:
        return (self._row(ctx, i) for i in range(length_of(self.value)))

    def _row(self, ctx: ValueContext, i: int) -> Any:
        return ctx.native(METHODS["__getitem__"], [self.value, i])

    def result(self, out: Results) -> Any:
        return out.tensor(self.value)

    def leaf(self) -> Leaf | None:
        box = self.value
        return TensorLeaf(box.type, locked=box.locked, snapshot=box.snapshot)

    def name_value(self, name: str) -> None:
        self.value.value.name = self.value.value.name or name


@kind(StateVar)
class ParameterVariable(TensorVariable):
    """A Parameter, read at the moment of use."""

    def identity(self) -> Any:
        return self.value.source

    def assign(self, ctx: ValueContext, value: Any) -> None:
        assign_state(ctx, self.value, value)

    def copy(self, ctx: ValueContext) -> Any:
        raise UnsupportedCallError(
            "a copy of a Parameter would be a new Parameter", code="AC1803", hint="copy its value: `w.copy()`"
        )

    def call_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if name == "clone" and not args and not kwargs:  # a Parameter of its own, to which no gradient leads
            return TensorVar(F.stop_gradient(ctx.unwrap(self.value)))
        return super().call_method(ctx, name, args, kwargs)

    def check_writable(self, ctx: ValueContext) -> None:
        pass

    def shown(self, ctx: ValueContext, fn: Any) -> Any:
        source = self.value.source
        return ctx.outside.property(source, "text", "the text of a Parameter", lambda: str(source))

    def formatted(self, ctx: ValueContext, spec: Any) -> Any:
        return Variable.formatted(self, ctx, spec)

    def unwrap(self, ctx: ValueContext) -> Any:
        return F.state_read(state=self.value.name, type=self.value.type)

    def is_own(self, start: int) -> bool:
        return False

    def overwrite(self, ctx: ValueContext, value: Value) -> None:
        ctx.effects.snapshots.note_write(self.value.name)
        F.state_write(value, state=self.value.name, type=self.value.type)

    def share(self, ctx: ValueContext) -> None:
        if not ctx.effects.export(self.value.name):
            raise UnsupportedCallError(
                f"asnumpy() of the Parameter {self.value.name} in a loop or branch that assigns it",
                code="AC1801",
                hint="take the array of a copy: `w.copy().asnumpy()`",
            )

    def setattr(self, ctx: ValueContext, name: str, value: Any) -> None:
        raise SideEffectError(
            f"attribute '{name}' of a Parameter cannot be written in compiled code",
            code="AC1606",
            hint="set it outside of compiled code",
        )

    def setitem(self, ctx: ValueContext, index: Any, value: Any) -> None:
        state, index = self.value, settled_index(ctx, index)
        held = ctx.unwrap(state)
        ctx.effects.snapshots.note_write(state.name)
        new = METHODS["__setitem__"](held, ctx.unwrap(index), ctx.unwrap(value))
        F.state_write(new, state=state.name, type=state.type)

    def result(self, out: Results) -> Any:
        return out.parameter(self.value)

    def leaf(self) -> Leaf | None:
        state = self.value
        return TensorLeaf(state.type, fixed=True, snapshot=state.snapshot, source=state.source)

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        with builder:
            return F.state_read(state=self.value.name, type=self.value.type)

    def name_value(self, name: str) -> None:
        """A Parameter has its own name."""


def _changed(ctx: ValueContext, owner: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``t.add_(x)`` or ``t.assign_value(x)``: the Tensor itself, with another value."""
    variable: Any = variable_of(owner)
    variable.check_writable(ctx)
    if name == "assign_value":
        assign_state(ctx, owner, *args, **kwargs)
    else:
        found = ctx.call(METHODS.get(name) or IN_PLACE[name], [owner, *args], kwargs)
        variable.overwrite(ctx, fitting(name, owner.type, ctx.unwrap(found)))
    return owner


@kind(Tensor)
class MetTensor(ObjectVariable):
    """A Tensor that was made while compiling, as itself."""

    def _captured(self, ctx: ValueContext) -> Variable:
        return variable_of(ctx.outside.captured(self.value))

    def unwrap(self, ctx: ValueContext) -> Any:  # bound in a partial, or held by an object whose code runs natively
        return self._captured(ctx).unwrap(ctx)

    def shown(self, ctx: ValueContext, fn: Any) -> Any:
        return self._captured(ctx).shown(ctx, fn)

    def formatted(self, ctx: ValueContext, spec: Any) -> Any:
        return self._captured(ctx).formatted(ctx, spec)

    def truth(self, ctx: ValueContext) -> Any:
        return bool(self.value)
