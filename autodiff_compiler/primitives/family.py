"""What primitives of one kind share: type rules, promotion and broadcasting of operands, shapes of results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..dtypes import DType, bool_, default_of_python, float32, float64, from_numpy, int64, promote, promote_scalar
from ..errors import DTypeError
from ..ir.core import Value
from ..ir.primitive import F, Primitive, call, trace
from ..ir.sizes import Size, depends_on_data, largest
from ..ir.types import Dim, Shape, TensorType, TupleType, Type, has_erased_sizes, known_same, tensor
from .requirements import SymScalar, known_size, require, require_dtype, static_int, with_article
from .samples import B2, D2, F2, F3, I2

__all__ = [
    "FloatFunction",
    "FloatPair",
    "all_if_none",
    "as_shape",
    "as_tensor",
    "binary",
    "broadcast_shapes",
    "broadcast_to",
    "broadcasting",
    "cast",
    "comparison",
    "constant",
    "cotangent_in",
    "divided",
    "expand",
    "float_binary",
    "float_unary",
    "floating",
    "floating_of",
    "in_dtype",
    "int_range",
    "is_tensor",
    "keeping",
    "like",
    "normal_axes",
    "normal_axis",
    "number_binary",
    "number_in",
    "number_of",
    "number_unary",
    "promoted",
    "promoted_dtype",
    "promoting",
    "rows",
    "same_type",
    "static_size",
    "stretching",
    "sum_of_cotangents",
    "sum_to",
    "unary",
    "where_else",
    "where_else_0",
    "zeros_like",
    "zeros_of",
]

_Rule = TypeVar("_Rule", bound=Callable[..., TensorType])


# ------------------------------------------------------------------------------------------------ sizes
def static_size(x: Any, parameter: str) -> Size:
    """A size: a constant, what depends on sizes of arguments, or an int known only at run time, a size of data."""
    if x.__class__ is Dim:
        return x
    number = run_time_int(x)
    return static_int(x, parameter) if number is None else bound_size(number)


def run_time_int(x: Any) -> Any:
    """An int known only at run time as an i64[]; None for everything else."""
    if x.__class__ is SymScalar and x.kind is int:
        return cast(x.value, int64)
    return cast(x, int64) if x.__class__ is Value and x.dtype.is_int and x.shape == () else None


def bound_size(n: Any) -> Size:
    """The size that an i64[] is; ValueError at run time if it is negative."""
    builder = trace.builder
    if n.constant is not None or n.made_by("size_value"):
        size: Size = builder.bind(n)
        return size
    return builder.bind(builder.once(("as_size", n), lambda: F.as_size(n)))  # type: ignore[no-any-return]


def number(size: Size, type: TensorType) -> Any:
    """A tensor all of whose elements are a size."""
    if size.__class__ is int:
        return constant(size, type)
    return broadcast_to(cast(F.size_value(size=size), type.dtype), type.shape)


def rows(tensors: Any) -> Any:
    """A sequence of Tensors; the slices of a Tensor that stands for one."""
    if tensors.__class__ is not Value:
        return tensors
    none = "a tensor without rows is no sequence of tensors"
    require(tensors.ndim > 0, none)
    known_size(tensors.shape[0], none)
    return call.unbind(tensors, 0)


def normal_axis(axis: Any, ndim: int, parameter: str = "axis") -> int:
    """One axis as a user writes it, as a negative number."""
    i = static_int(axis, parameter)
    require(-ndim <= i < ndim, f"axis {i} does not exist: the tensor has {ndim} dimension{'s' * (ndim != 1)}")
    return i - ndim if i >= 0 else i


def normal_axes(axes: Any, ndim: int, parameter: str = "axis") -> tuple[int, ...]:
    """Axes as a user writes them (an int, several, None for all) as sorted negative numbers."""
    if axes is None:
        return tuple(range(-ndim, 0))
    if not isinstance(axes, tuple | list):
        axes = (axes,)
    out = tuple(sorted([normal_axis(a, ndim, parameter) for a in axes]))
    require(len(set(out)) == len(out), f"axis {axes} names one axis twice")
    return out


def all_if_none(axes: Any) -> Any:
    """Axes as MindSpore's reductions take them, for which an empty tuple stands for all, too."""
    # MindSpore 2.10: an empty tuple of axes stands for all axes.
    return None if isinstance(axes, tuple | list) and len(axes) == 0 else axes


def as_shape(sizes: Sequence[Any], parameter: str = "shape") -> Shape:
    """A shape as a user writes it: an int, several, or one tuple or list of them (symbolic sizes pass)."""
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = sizes[0]
    return tuple([static_size(d, parameter) for d in sizes])


def broadcast_shapes(shapes: list[Shape], what: str = "operands") -> Shape:
    """NumPy's broadcasting: sizes align from the right, and 1 becomes any size."""
    first = shapes[0]
    if all(known_same(s, first) for s in shapes):
        return first
    ndim = max(map(len, shapes))
    out = []
    for i in range(-ndim, 0):
        sizes = list(dict.fromkeys([s[i] for s in shapes if -i <= len(s)]))  # symbolic ones count by identity
        sizes = [d for d in sizes if not (d.__class__ is int and d == 1)]
        size: Any = sizes[0] if sizes else 1
        for d in sizes[1:]:
            if depends_on_data(d) or depends_on_data(size):
                size = _met(size, d)
                continue
            if d == size or d == 1:
                continue
            if size != 1:
                text = " and ".join(str(list(x)).replace(" ", "") for x in shapes)
                hint = "sizes are aligned from the right and must be equal or 1; use reshape or expand_dims"
                message = f"{what} of shapes {text} do not broadcast: {size} != {d}"
                require(False, message, hint, between=(size, d))
            size = d
        out.append(size)
    return tuple(out)


def _met(a: Size, b: Size) -> Size:
    """What two sizes broadcast to, of which data decide one; that they do is checked when the program runs."""
    builder = trace.builder
    if builder is None:
        return largest(a, b)
    numbers = [F.size_value(size=d) if d.__class__ is Dim else builder.const(d, tensor(int64, ())) for d in (a, b)]
    texts = (builder.said(a, "one is "), builder.said(b, "another is "))
    n = builder.once(("broadcast_size", *numbers), lambda: F.broadcast_size(*numbers, texts=texts))
    known = next((d for d in (a, b) if d.__class__ is int), None)  # it is not 1
    return builder.bind(n, 0, largest(a, b)) if known is None else known


# ------------------------------------------------------------------------------------------------ type rules
def same_type(*operands: TensorType) -> TensorType:
    """The one type that all operands have."""
    first = operands[0]
    for t in operands:
        if t is not first:
            require_dtype(t.dtype is first.dtype, f"dtypes differ: {first} and {t}")
            require(False, f"shapes differ: {first} and {t}", between=(first.shape, t.shape))
    return first


def _refusing(*errors: tuple[tuple[TensorType, ...], str]) -> Callable[[_Rule], _Rule]:
    """Adds samples that the rule refuses, with parts of the messages: the `errors` of primitives that say none."""

    def marked(rule: _Rule) -> _Rule:
        rule.errors = [(types, {}, text) for types, text in errors]  # type: ignore[attr-defined]
        return rule

    return marked


_DIFFERENT = (((F2, D2), "dtypes differ"), ((F2, F3), "shapes differ"))


# Rules name their operands, because `c.needs.x` and error messages do.
def unary(x: TensorType) -> TensorType:
    """One operand of any dtype; the result has its type."""
    return x


@_refusing(*_DIFFERENT)
def binary(x: TensorType, y: TensorType) -> TensorType:
    """Two operands of one type, which the result has, too."""
    return x if x is y else same_type(x, y)


@_refusing(((B2,), "not defined for bool"))
def number_unary(x: TensorType) -> TensorType:
    """As `unary`, of numbers: no bools."""
    require_dtype(not x.dtype.is_bool, f"not defined for bools: {x}", hint="cast it to a number first")
    return x


@_refusing(*_DIFFERENT, ((B2, B2), "not defined for bool"))
def number_binary(x: TensorType, y: TensorType) -> TensorType:
    """As `binary`, of numbers: no bools."""
    return number_unary(binary(x, y))


@_refusing(((I2,), "not defined for int32"))
def float_unary(x: TensorType) -> TensorType:
    """As `unary`, of floats."""
    require_dtype(x.dtype.is_float, f"not defined for {x.dtype.name}: {x}", hint="cast it to a float first")
    return x


@_refusing(((I2, I2), "not defined for int32"), *_DIFFERENT)
def float_binary(x: TensorType, y: TensorType) -> TensorType:
    """As `binary`, of floats."""
    return float_unary(binary(x, y))


@_refusing(*_DIFFERENT)
def comparison(x: TensorType, y: TensorType) -> TensorType:
    """Two operands of one type; a bool for every pair of elements."""
    return tensor(bool_, binary(x, y).shape)


# ------------------------------------------------------------------------------------------------ operands
def is_tensor(x: Any) -> bool:
    """Whether x is a Tensor, or a Value that stands for one (anything with our dtype)."""
    return isinstance(getattr(x, "dtype", None), DType)


def constant(value: Any, type: TensorType) -> Any:
    """A constant number or array: a Value while tracing, else a Tensor."""
    builder = trace.builder
    if builder is None:
        return F.const(value=value, type=type)
    return builder.array(value, type) if isinstance(value, np.ndarray) else builder.const(value, type)


def like(number: Any, x: Any) -> Any:
    """A number as a constant that combines with x: of its dtype, and in IR of its shape."""
    if x.__class__ is Value:
        return trace.builder.const(number, x.type)
    return F.const(value=number, type=tensor(x.dtype, ()))


def number_of(x: Any) -> Any:
    """The Python number that x is, or that every element of the constant x is; else None."""
    if x.__class__ is Value:
        return x.constant
    return x if isinstance(x, bool | int | float) else None


def zeros_like(x: Any) -> Any:
    """Zeros of the type of a Tensor or Value."""
    if x.__class__ is Value:
        return F.zeros_of(x) if has_erased_sizes(x.type) else trace.builder.const(0, x.type)
    return F.const(value=0, type=tensor(x.dtype, x.shape))


def as_tensor(x: Any, parameter: str = "x") -> Any:
    """An operand that may be given as a number or an array, as a Tensor or Value."""
    if is_tensor(x):
        return x
    x = _plain(x)
    if x.__class__ is SymScalar:
        return cast(x.value, {bool: bool_, int: int64, float: float32}[x.kind])
    if is_tensor(x):
        return x
    if not isinstance(x, bool | int | float):
        raise DTypeError(f"`{parameter}` must be a Tensor, not {with_article(type(x))}")
    dtype = default_of_python(x)
    return constant(number_in(x, dtype), tensor(dtype, ()))


def cast(x: Any, dtype: DType) -> Any:
    return x if x.dtype is dtype else F.cast(x, dtype=dtype)


def cotangent_in(g: Any, dtype: DType) -> Any:
    """A cotangent in another dtype; a float is truncated to an integer by a cast that counts as linear."""
    return g if g.dtype is dtype else F.cast(g, dtype=dtype, linear=g.dtype.is_float and dtype.is_int)


def divided(g: Any, n: Any) -> Any:
    """The share of a cotangent that is divided among `n`; that of an integer is truncated."""
    if g.dtype.is_float:
        return g / n
    return cotangent_in(cast(g, float64) / (cast(n, float64) if is_tensor(n) else n), g.dtype)


def in_dtype(value: Any, dtype: DType) -> Any:
    """What is assigned to elements, as a Tensor or Value of their dtype; a number is rounded once."""
    value = _plain(value)
    value = value.value if value.__class__ is SymScalar else value
    if isinstance(value, bool | int | float):
        return constant(number_in(value, dtype), tensor(dtype, ()))
    return cast(as_tensor(value, "value"), dtype)


def promoted_dtype(*xs: Any, floating: bool = False) -> list[Any]:
    """Operands as Tensors or Values at their common dtype, each of its own shape.

    Numbers are weak, as for `promoted`: they are rounded once, to that dtype.
    """
    xs = tuple([_plain(x) for x in xs])
    dtype = _common_dtype(xs)
    if floating and not dtype.is_float:
        dtype = float32
    return [in_dtype(x, dtype) for x in xs]


def broadcast_to(x: Any, shape: Shape) -> Any:
    x = _stretched(x, shape)
    return x if known_same(x.shape, shape) else F.broadcast_to(x, shape=shape)


def _stretched(x: Any, shape: Shape) -> Any:
    """x broadcast to the sizes of a shape that data decide, or that it has by data: run time tells which are 1."""
    ends = list(zip(x.shape, shape[len(shape) - x.ndim :], strict=False)) if x.ndim <= len(shape) else []
    if all(known_same((d,), (n,)) or not (depends_on_data(d) or (d != 1 and depends_on_data(n))) for d, n in ends):
        return x
    return F.stretched(x, shape=tuple([d if d.__class__ is int and d == 1 else n for d, n in ends]))


def where_else(mask: Any, x: Any, y: Any) -> Any:
    """`x` where a mask of as many dimensions holds, else `y` of its type."""
    return F.select(broadcast_to(mask, x.shape), x, y)


def where_else_0(mask: Any, g: Any) -> Any:
    """A masked cotangent: 0 where the mask is false, even if it is nan there; fast for floats (see `Kept`)."""
    mask = broadcast_to(mask, g.shape)
    return F.kept(mask, g) if g.dtype.is_float else F.select(mask, g, 0)


def expand(x: Any, axes: tuple[int, ...], shape: Shape, keepdims: bool = False) -> Any:
    """The result of a reduction over `axes`, broadcast back to the operand's `shape`."""
    if axes and not keepdims:
        x = F.expand_dims(x, axes=axes)
    return broadcast_to(x, shape)


def sum_to(g: Any, shape: Shape) -> Any:
    """Sums a cotangent over the dimensions along which an operand of `shape` was broadcast."""
    if known_same(g.shape, shape):
        return g
    n = len(shape)
    ends = list(zip(shape, g.shape[g.ndim - n :], strict=True))
    if any(not known_same((d,), (e,)) and (depends_on_data(d) or (d != 1 and depends_on_data(e))) for d, e in ends):
        kept = tuple([e if d.__class__ is int and d == 1 else d for d, e in ends])
        g = F.unstretched(g, shape=(*g.shape[: g.ndim - n], *kept))
    extra = tuple(range(-g.ndim, -n))
    stretched = tuple([i for i in range(-n, 0) if not known_same(shape[i:][:1], g.shape[i:][:1])])
    if stretched:
        g = sum_of_cotangents(g, stretched, keepdims=True)
    return sum_of_cotangents(g, extra) if extra else g


def sum_of_cotangents(g: Any, axes: tuple[int, ...], keepdims: bool = False) -> Any:
    """The sum over axes, in the dtype of what is summed: integers wrap around."""
    wide = cast(g, int64) if g.dtype.is_int and g.dtype.bits < 64 else g
    return cast(F.sum(wide, axes=axes, keepdims=keepdims), g.dtype)


def promoted(*xs: Any, floating: bool = False) -> list[Any]:
    """The operands of an elementwise op at their common dtype and, while tracing, their common shape.

    Numbers are weak: they take the Tensors' dtype unless their kind is higher.  Eager kernels broadcast by themselves,
    so outside of tracing Tensors keep their shapes and numbers stay numbers (of the right kind).
    """
    first = xs[0]
    if trace.builder is None and is_tensor(first) and (not floating or first.dtype.is_float):
        dtype, shape = first.dtype, first.shape
        out: list[Any] = []  # fast path for the usual operands: of one type, and numbers beside floats
        for x in xs:
            if (x.__class__ is float or x.__class__ is int) and dtype.is_float:
                out.append(float(x))
            elif getattr(x, "dtype", None) is dtype and x.shape == shape:
                out.append(x)
            else:
                break
        else:
            return out
    xs = tuple([_plain(x) for x in xs])
    dtype = _common_dtype(xs)
    if floating and not dtype.is_float:
        dtype = float32
    shape = broadcast_shapes([x.shape for x in xs if is_tensor(x)] or [()])
    numbers_only = not any(is_tensor(x) for x in xs)
    if trace.builder is not None and (numbers_only or any(x.__class__ in (Value, SymScalar) for x in xs)):
        return [_lifted(x, dtype, shape) for x in xs]
    if numbers_only:
        return [constant(number_in(x, dtype), tensor(dtype, ())) for x in xs]
    return [cast(x, dtype) if is_tensor(x) else number_in(x, dtype) for x in xs]


def _plain(x: Any) -> Any:
    """NumPy's and other numbers as Python's own, arrays as constants, sizes as run-time ints; all else as it is."""
    if isinstance(x, np.generic):
        return x.item()
    if x.__class__ is Dim:
        return SymScalar(F.size_value(size=x), int)
    if isinstance(x, np.ndarray):
        return constant(x, tensor(from_numpy(x.dtype), x.shape))
    if isinstance(x, int | float) and x.__class__ not in (bool, int, float):  # of a subclass, as `mutable` makes them
        return int(x) if isinstance(x, int) else float(x)
    return x


#: What to do instead of combining a Tensor with such an object.
_INSTEAD: dict[type, str] = {
    complex: "there are no complex tensors: carry real and imaginary parts",
    list: "make a Tensor of it: `Tensor(x)`",
    tuple: "make a Tensor of it: `Tensor(x)`",
}


def _common_dtype(xs: tuple[Any, ...]) -> DType:
    dtype: DType | None = None
    for x in xs:
        d = getattr(x, "dtype", None)
        if isinstance(d, DType):
            dtype = d if dtype is None else promote(dtype, d)
    kinds = [x.kind if x.__class__ is SymScalar else type(x) for x in xs if not is_tensor(x)]
    for kind in kinds:
        require_dtype(
            kind in (bool, int, float),
            f"cannot combine a Tensor with {with_article(kind)}",
            hint=next((text for base, text in _INSTEAD.items() if issubclass(kind, base)), "give a Tensor or a number"),
        )
    if dtype is None:
        kind = max(kinds, key=(bool, int, float).index)
        return {bool: bool_, int: int64, float: float32}[kind]
    for kind in kinds:
        dtype = promote_scalar(dtype, kind)
    return dtype


def int_range(dtype: DType) -> tuple[int, int]:
    """The least and the greatest number of an integer dtype."""
    lowest = 0 if dtype.kind == "u" else -(1 << dtype.bits - 1)
    return lowest, lowest + (1 << dtype.bits) - 1


def number_in(x: Any, dtype: DType) -> Any:
    """A Python number as one of that dtype; OverflowError if it does not fit."""
    if dtype.is_float:
        return float(x)
    if dtype.is_bool:
        return bool(x)
    lowest, greatest = int_range(dtype)
    if not lowest <= x <= greatest:
        raise OverflowError(f"{x} does not fit in {dtype.name}")
    return int(x)


def _lifted(x: Any, dtype: DType, shape: Shape) -> Any:
    if x.__class__ is SymScalar:
        x = x.value
    elif not is_tensor(x):
        return trace.builder.const(number_in(x, dtype), tensor(dtype, shape))
    return broadcast_to(cast(x, dtype), shape)


# ------------------------------------------------------------------------------------------------ public forms
def broadcasting(name: str, *, floating: bool = False, bools: bool = True) -> Callable[..., Any]:
    """The user-facing form of an elementwise primitive of two operands: they are promoted and broadcast first."""

    def public(x: Any, y: Any) -> Any:
        x, y = promoted(x, y, floating=floating)
        if not bools:
            refused = (x if is_tensor(x) else y).dtype.is_bool
            require_dtype(not refused, f"{name} is not defined for bools", hint="cast one of them to a number first")
        return getattr(F, name)(x, y)

    return promoting(public, name, floating)


def stretching(name: str) -> Callable[..., Any]:
    """The user-facing form of a primitive of two floats whose kernel does not broadcast: `broadcast_to` comes first."""

    def public(x: Any, y: Any) -> Any:
        x, y = promoted_dtype(x, y, floating=True)
        shape = broadcast_shapes([x.shape, y.shape])
        return getattr(F, name)(broadcast_to(x, shape), broadcast_to(y, shape))

    public.__name__ = public.__qualname__ = name
    return public


def floating(name: str) -> Callable[..., Any]:
    """The user-facing form of a function on real numbers: integers and bools become float32 first."""

    def public(x: Any) -> Any:
        return getattr(F, name)(*promoted(x, floating=True))

    return promoting(public, name, floating=True)


def keeping(name: str) -> Callable[..., Any]:
    """The user-facing form of a function of one operand that keeps its dtype."""

    def public(x: Any) -> Any:
        return getattr(F, name)(*promoted(x))

    return promoting(public, name, floating=False)


class FloatFunction(Primitive, abstract=True):
    """A function of one real number; integers and bools become float32 first."""

    infer = float_unary
    public = floating


class FloatPair(Primitive, abstract=True):
    """A function of two real numbers; integers and bools become float32 first."""

    infer = float_binary
    public = functools.partial(broadcasting, floating=True)


def promoting(public: Any, name: str, floating: bool = False) -> Callable[..., Any]:
    """The user-facing form that only promotes: eager operators skip it where there is nothing to promote."""
    public.__name__ = public.__qualname__ = name
    public.floating = floating
    return public  # type: ignore[no-any-return]


def floating_of(defn: type[Primitive]) -> bool | None:
    """Whether the user-facing form of a primitive promotes to floats; None if it does more than promote."""
    return getattr(defn.call, "floating", None)


def zeros_of(type: Type) -> Any:
    """Zeros of a type: a tuple's elements one by one; an undefined sequence reads as an empty one."""
    if isinstance(type, TupleType):
        return F.tuple_make(*[zeros_of(t) for t in type.elems])
    if isinstance(type, TensorType):
        return constant(0, type)
    return F.undef(type=type)
