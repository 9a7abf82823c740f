"""Operations on arrays and scalars of NumPy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...dtypes import from_numpy
from ...errors import MissingAttributeError, UnsupportedCallError, did_you_mean
from ...ir.abstract import abstract
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import METHODS
from ...ir.types import TensorType, tensor
from ...primitives.numpy_names import bindable
from ...runtime.tensor import NO_LENGTH
from . import numpy_sizes
from .arithmetic import SLOT, SYMBOL, to_number
from .base import Results, Variable, kind, variable_of
from .comparison import compare
from .interpreter import ValueContext
from .leaves import ArrayLeaf, Leaf
from .numpy_calls import (
    OF_TYPE,
    array_binary,
    array_call,
    array_constant,
    cast_array,
    numpy_call,
    unmapped,
    without_arrays,
)
from .objects import ObjectVariable
from .requirements import length_of, refuse_outside, require_static, settled_index
from .structure import flatten
from .text import with_spec
from .truth_values import truth_of_one
from .values import ArrayVar, BoundMethod, SymScalar, TensorVar, Text, describe, is_dynamic

_UNARY: dict[str, Any] = {"USub": np.negative, "UAdd": np.positive, "Invert": np.invert}
#: Methods of arrays that are functions of NumPy with the array as first argument.
_METHODS = {
    "sum", "mean", "prod", "min", "max", "any", "all", "std", "var", "ptp", "argmin", "argmax", "cumsum", "cumprod",
    "ravel", "squeeze", "swapaxes", "clip", "round", "dot", "take", "repeat", "trace", "diagonal", "argsort",
    "searchsorted", "copy",
}  # fmt: skip
_OWN_METHODS = {"reshape", "transpose", "flatten", "astype", "item"}


class OfElements(Variable):
    """A Tensor or an array, known by its type."""

    def truth(self, ctx: ValueContext) -> Any:
        return truth_of_one(ctx.unwrap(self.value))

    def length(self, ctx: ValueContext) -> Any:
        return length_of(self.value, NO_LENGTH)

    def number(self, ctx: ValueContext, kind: type, *more: Any) -> Any:
        return SymScalar(self.truth(ctx), bool) if kind is bool else to_number(ctx, self.value, kind)

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        return self.value.value


@kind(ArrayVar)
class ArrayVariable(OfElements):
    """An array or NumPy scalar known by its type."""

    precedence = 3

    def unary(self, ctx: ValueContext, op: str) -> Any:
        return array_call(ctx, _UNARY[op], [self.value], {})

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        return array_binary(ctx, SLOT[op], a, b)

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        return array_binary(ctx, op, a, b)

    def in_place(self, ctx: ValueContext, op: str, other: Any) -> Any:
        if self.value.kind is np.ndarray:
            raise UnsupportedCallError(
                f"'{SYMBOL[SLOT[op]]}=' would write to an array", code="AC1801", hint="make a new one: `a = a + b`"
            )
        return NotImplemented

    def contains(self, ctx: ValueContext, item: Any) -> Any:
        return array_call(ctx, np.any, [compare(ctx, "Eq", self.value, item)], {}).value

    def unwrap(self, ctx: ValueContext) -> Any:
        return self.value.value

    def number(self, ctx: ValueContext, kind: type, *more: Any) -> Any:
        size = numpy_sizes.size_of_scalar(self.value) if kind is int else None
        return super().number(ctx, kind, *more) if size is None else size

    def beside_tensor(self, ctx: ValueContext) -> Any:
        array = self.value
        return TensorVar(array.value) if array.kind is np.ndarray else to_number(ctx, array, None)

    def shown(self, ctx: ValueContext, fn: Any) -> Any:
        return Text("{!r}" if fn is repr else "{!s}", (self.value,), (self._way(),))

    def formatted(self, ctx: ValueContext, spec: Any) -> Any:
        like = np.ones(self.value.type.shape) if self.value.kind is np.ndarray else 1.0
        return with_spec(self.value, self._way(), spec, like)

    def _way(self) -> str:
        """What it is to the form of a `Text`."""
        return "array" if self.value.kind is np.ndarray else "scalar"

    def of_array(self, array: Any, tensors: bool) -> Any:
        return np.array(array)[() if self.value.kind is np.generic else ...]

    def is_own(self, start: int) -> bool:
        return True

    def around(self, value: Value, locked: str = "") -> Any:
        return ArrayVar(value, self.value.kind)

    def to_array(self, ctx: ValueContext, copies: bool = True) -> Any:
        return ArrayVar(self.value.value)

    def sample(self) -> Any:
        shape, one = self.value.type.shape, self.value.type.dtype.numpy.type(1)
        return one if self.value.kind is np.generic else np.broadcast_to(one, shape)

    def getattr(self, ctx: ValueContext, name: str) -> Any:
        array = self.value
        if name == "dtype":
            return array.type.dtype.numpy
        if name in OF_TYPE:
            return OF_TYPE[name](array.type)
        if name == "T":
            return array_call(ctx, np.transpose, [array], {})
        if name == "real":
            return array
        if name in _METHODS | _OWN_METHODS:
            return BoundMethod(array, name)
        if hasattr(array.kind, name):
            raise UnsupportedCallError(
                f"'{name}' of an array cannot be used in compiled code: its elements are known only at run time",
                code="AC1801",
                hint="use a function that stands for an op, or ms.py_call",
            )
        raise MissingAttributeError(f"ndarray has no attribute '{name}'", hint=did_you_mean(name, dir(array.kind)))

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        index = settled_index(ctx, index)
        parts = index if isinstance(index, tuple) else (index,)
        if any(abstract(p).is_array and p.type.dtype.is_bool for p in parts):
            raise UnsupportedCallError(
                "an array indexed by a mask has a size that depends on data", code="AC1801", hint="use np.where"
            )
        found = ctx.native(METHODS["__getitem__"], [TensorVar(self.value.value), without_arrays(ctx, index)])
        whole = found.type.shape != () or any(p is Ellipsis for p in parts)
        return ArrayVar(found.value, np.ndarray if whole else np.generic)

    def setattr(self, ctx: ValueContext, name: str, value: Any) -> None:
        raise AttributeError(f"'Tensor' object has no attribute '{name}'")

    def check_local(self, ctx: ValueContext) -> None:
        raise UnsupportedCallError(
            "an array cannot be written to in compiled code", code="AC1801", hint="assign to elements of a Tensor"
        )

    def setitem(self, ctx: ValueContext, index: Any, value: Any) -> None:
        self.check_local(ctx)

    def delitem(self, ctx: ValueContext, index: Any) -> None:
        self.check_local(ctx)

    def absolute(self, ctx: ValueContext) -> Any:
        return array_call(ctx, np.absolute, [self.value], {})

    def index(self, ctx: ValueContext) -> Any:
        size = numpy_sizes.size_of_scalar(self.value)
        if size is not None:
            return size
        return to_number(ctx, self.value, int) if self.value.type.dtype.is_int else super().index(ctx)

    def rounded(self, ctx: ValueContext, digits: Any) -> Any:
        array = self.value
        if array.kind is np.ndarray:
            return super().rounded(ctx, digits)
        if digits is None:
            return variable_of(to_number(ctx, array, None)).rounded(ctx, None)
        return numpy_call(ctx, np.round, [array, digits], {})

    def copy(self, ctx: ValueContext) -> Any:
        return ArrayVar(self.value.value, self.value.kind)

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        return [self.getitem(ctx, i) for i in range(length_of(self.value))]

    def result(self, out: Results) -> Any:
        return out.array(self.value)

    def leaf(self) -> Leaf | None:
        return ArrayLeaf(self.value.type, self.value.kind)

    def call_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        x, given = self.value, list(args)
        if name == "item" and not args:
            return to_number(ctx, x, None)
        if name == "astype" and len(args) == 1 and not kwargs:
            return cast_array(x, args[0])
        if name in ("item", "astype"):
            raise UnsupportedCallError(
                f"{name}() of an array takes one argument at most in compiled code", code="AC1801"
            )
        if name == "flatten" and not (args or kwargs):
            return array_call(ctx, np.ravel, [x], {})
        if name in ("reshape", "transpose"):
            given = [args[0] if len(args) == 1 else tuple(args)] if args else []
        function = getattr(np, name)
        if not bindable(function, [x, *given], kwargs):
            raise unmapped(function, kwargs)
        if any(map(is_dynamic, flatten((tuple(given), tuple(kwargs.values()))))):
            return numpy_call(ctx, function, [x, *given], kwargs)
        return array_call(ctx, function, [x, *given], kwargs)

    def call(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        array = self.value
        name = "ndarray" if array.kind is np.ndarray else array.type.dtype.numpy.name
        raise TypeError(f"'numpy.{name}' object is not callable")


@kind(np.ndarray)
class KnownArray(ObjectVariable):
    """An array known while compiling."""

    #: as in `ArrayVar.kind`
    array_kind: type = np.ndarray
    precedence = 3

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        if is_dynamic(a) or is_dynamic(b):
            return array_binary(ctx, SLOT[op], a, b)
        return super().binary(ctx, op, a, b)

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        if is_dynamic(a) or is_dynamic(b):
            return array_binary(ctx, op, a, b)
        return super().compare(ctx, op, a, b)

    def beside_tensor(self, ctx: ValueContext) -> Any:
        return TensorVar(array_constant(self.value))

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        owner = self.value
        if type(owner) is not np.ndarray or owner.dtype.hasobject:
            return super().getitem(ctx, index)
        require_static(index, f"an index into a {describe(owner)}")
        return ctx.outside.item(owner, index, owner[index])

    def check_local(self, ctx: ValueContext) -> None:
        if self.array_kind is np.ndarray:
            refuse_outside(ctx, self.value)
        super().check_local(ctx)

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        x = self.value
        if type(x) is not np.ndarray or x.dtype.hasobject:
            return super().iterate(ctx)
        return [ctx.outside.item(x, i, v) for i, v in enumerate(list(x))]

    def result(self, out: Results) -> Any:
        return out.constant_array(self.value)

    def leaf(self) -> Leaf | None:
        x = self.value
        if x.dtype.kind not in "biuf":
            return None
        return ArrayLeaf(tensor(from_numpy(x.dtype), x.shape), self.array_kind, fixed=True)

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        return builder.array(np.array(self.value), type)


@kind(np.generic)
class KnownScalar(KnownArray):
    """A NumPy scalar known while compiling."""

    array_kind = np.generic

    def result(self, out: Results) -> Any:
        return out.known(self.value)

    def beside_tensor(self, ctx: ValueContext) -> Any:
        return self.value.item()
