"""Arrays of NumPy: what can be done with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...dtypes import from_numpy
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.types import TensorType, tensor
from ...runtime.tensor import NO_LENGTH
from .arithmetic import SLOT, to_number
from .base import Results, Variable, kind
from .comparison import compare_known
from .interpreter import ValueContext
from .leaves import ArrayLeaf, Leaf
from .numpy_calls import ArrayMethod, array_attribute, array_binary, array_method, array_subscript, array_unary
from .objects import ObjectVariable
from .requirements import check_local, length_of, require_static, settled_index
from .truth_values import truth_of_one
from .values import ArrayVar, Weak, describe, is_dynamic


@kind(ArrayVar)
class ArrayVariable(Variable):
    """An array or NumPy scalar known by its type."""

    __slots__ = ()
    precedence = 3

    def unary(self, lw: ValueContext, op: str) -> Any:
        return array_unary(lw, op, self.value)

    def binary(self, lw: ValueContext, op: str, other: Any) -> Any:
        return array_binary(lw, SLOT[op], self.value, other)

    def reflected(self, lw: ValueContext, op: str, other: Any) -> Any:
        return array_binary(lw, SLOT[op], other, self.value)

    def compare(self, lw: ValueContext, op: str, other: Any) -> Any:
        return array_binary(lw, op, self.value, other)

    def compared(self, lw: ValueContext, op: str, other: Any) -> Any:
        return array_binary(lw, op, other, self.value)

    def truth(self, lw: ValueContext) -> Any:
        return truth_of_one(lw.unwrap(self.value))

    def getattr(self, lw: ValueContext, name: str) -> Any:
        return array_attribute(lw, self.value, name)

    def getitem(self, lw: ValueContext, index: Any) -> Any:
        return array_subscript(lw, self.value, settled_index(lw, index))

    def setattr(self, lw: ValueContext, name: str, value: Any) -> None:
        raise AttributeError(f"'Tensor' object has no attribute '{name}'")

    def setitem(self, lw: ValueContext, index: Any, value: Any) -> None:
        check_local(lw, self.value)  # raises

    def length(self, lw: ValueContext) -> Any:
        return length_of(self.value, NO_LENGTH)

    def absolute(self, lw: ValueContext) -> Any:
        return array_unary(lw, "abs", self.value)

    def number(self, lw: ValueContext, kind: type, *more: Any) -> Any:
        return Weak(self.truth(lw), bool) if kind is bool else to_number(lw, self.value, kind)

    def python_class(self) -> type:
        array = self.value
        return array.kind if array.kind is np.ndarray else array.type.dtype.numpy.type

    def iterate(self, lw: ValueContext) -> Iterable[Any]:
        return [array_subscript(lw, self.value, i) for i in range(length_of(self.value))]

    def result(self, out: Results) -> Any:
        return out.array(self.value)

    def leaf(self) -> Leaf | None:
        return ArrayLeaf(self.value.type, self.value.kind)

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        value: Value = self.value.value
        return value

    def call(self, lw: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        array = self.value
        name = "ndarray" if array.kind is np.ndarray else array.type.dtype.numpy.name
        raise TypeError(f"'numpy.{name}' object is not callable")


@kind(np.ndarray)
class KnownArray(ObjectVariable):
    """An array known while compiling."""

    __slots__ = ()
    #: as in `ArrayVar.kind`
    array_kind: type = np.ndarray
    precedence = 3

    def binary(self, lw: ValueContext, op: str, other: Any) -> Any:
        if is_dynamic(other):
            return array_binary(lw, SLOT[op], self.value, other)
        return super().binary(lw, op, other)

    def reflected(self, lw: ValueContext, op: str, other: Any) -> Any:
        if is_dynamic(other):
            return array_binary(lw, SLOT[op], other, self.value)
        return super().reflected(lw, op, other)

    def compare(self, lw: ValueContext, op: str, other: Any) -> Any:
        if is_dynamic(other):
            return array_binary(lw, op, self.value, other)
        return compare_known(lw, op, self.value, other)

    def compared(self, lw: ValueContext, op: str, other: Any) -> Any:
        if is_dynamic(other):
            return array_binary(lw, op, other, self.value)
        return compare_known(lw, op, other, self.value)

    def getitem(self, lw: ValueContext, index: Any) -> Any:
        owner = self.value
        if type(owner) is not np.ndarray or owner.dtype.hasobject:
            return super().getitem(lw, index)
        require_static(index, f"an index into a {describe(owner)}")
        return lw.outside.item(owner, index, owner[index])

    def iterate(self, lw: ValueContext) -> Iterable[Any]:
        x = self.value
        if type(x) is not np.ndarray or x.dtype.hasobject:
            return super().iterate(lw)
        return [lw.outside.item(x, i, v) for i, v in enumerate(list(x))]

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

    __slots__ = ()
    array_kind = np.generic

    def result(self, out: Results) -> Any:
        return out.known(self.value)


@kind(ArrayMethod)
class ArrayMethodVariable(ObjectVariable):
    """A method of an array, bound."""

    __slots__ = ()

    def call(self, lw: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return array_method(lw, self.value, args, kwargs)
