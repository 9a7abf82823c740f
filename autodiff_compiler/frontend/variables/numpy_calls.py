"""NumPy in compiled code: its functions on Tensors, and the arrays that `asnumpy` gives.

A function on Tensors is the op that stands for it (`primitives.numpy_names`).  Arrays follow NumPy's own rules of
promotion: what dtype and shape a result has, NumPy itself says, by running the function on arrays of ones; if the op
gives something else, the use is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import dtype_of
from ...errors import DynamicShapeError, StaticValueError, UnsupportedCallError
from ...ir.abstract import abstract
from ...ir.build import current
from ...ir.core import Value
from ...ir.primitive import F
from ...ir.types import TensorType, dim_product
from ...primitives.numpy_names import bindable, counterpart, proposal, understood
from ...runtime.records import is_named_tuple
from ...runtime.tensor import Tensor
from ..guards.objects import type_of
from . import numpy_sizes
from .arithmetic import COMPARISON, SYMBOL
from .base import variable_of
from .interpreter import ValueContext
from .structure import flatten, is_static, map_leaves
from .values import ArrayVar, LocalList, describe, is_dynamic, is_tensor

# ---------------------------------------------------------------------------------------------------- functions
_MAKING_ARRAYS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)


def numpy_call(ctx: ValueContext, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a NumPy function, method or class with values known only at run time."""
    if fn in _MAKING_ARRAYS:
        return _array(ctx, fn, *args, **kwargs)
    made = numpy_sizes.of_sizes(fn, args, kwargs)
    if made is not NotImplemented:
        return made
    if isinstance(fn, np.ufunc):
        args = numpy_sizes.as_numbers(ctx, args)
    if isinstance(fn, type) and issubclass(fn, np.generic) and len(args) == 1 and not kwargs:
        found = _array(ctx, np.array, args[0], fn)
        return ArrayVar(found.value, np.ndarray if found.type.shape else np.generic)
    if not bindable(fn, args, kwargs):
        raise unmapped(fn, kwargs)
    if any(map(is_tensor, flatten((tuple(args), tuple(kwargs.values()))))):

        def operand(x: Any) -> Any:
            return variable_of(x).beside_tensor(ctx)

        given, named = _mapped(operand, args, kwargs)
        return _localized(ctx.native(counterpart(fn), given, named))  # type: ignore[arg-type]
    return array_call(ctx, fn, args, kwargs)


def _mapped(fn: Callable[[Any], Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call with ``fn`` of their leaves."""
    return [map_leaves(fn, a) for a in args], {k: map_leaves(fn, v) for k, v in kwargs.items()}


def unmapped(fn: Any, options: Any = ()) -> UnsupportedCallError:
    """The error for a function that has no counterpart here, or none with these arguments."""
    owner, name = getattr(fn, "__self__", None), getattr(fn, "__name__", type(fn).__name__)
    name = f"{owner.__name__}.{name}" if isinstance(owner, np.ufunc) else name
    library = "SciPy" if (getattr(fn, "__module__", None) or "").startswith("scipy") else "NumPy"
    extra = sorted(set(options) - set(understood(fn)))
    if counterpart(fn) is None:
        what = "on values known only at run time"
    else:
        what = f"with the argument `{extra[0]}`" if extra else "with these arguments"
    return UnsupportedCallError(
        f"the {library} function {name} {what} cannot be used in compiled code", code="AC1805", hint=proposal(fn)
    )


def _localized(x: Any) -> Any:
    if type(x) is list:
        return LocalList(map(_localized, x))
    return tuple(map(_localized, x)) if type(x) is tuple else x


def _array(ctx: ValueContext, fn: Any, x: Any, dtype: Any = None, **options: Any) -> Any:
    """``np.array(x)``: the elements, detached."""
    if options.keys() - {"copy"}:
        raise unmapped(fn)
    found = variable_of(x).to_array(ctx, copies=fn is np.array and options.get("copy", True))
    return found if dtype is None else cast_array(found, dtype)


def array_constant(x: np.ndarray[Any, Any]) -> Value:
    """An array known while compiling, as a constant of the program."""
    made = Tensor(x)
    return current().array(made.asnumpy(), type_of(made), "array")


def stacked(rows: list[ArrayVar]) -> ArrayVar:
    """Arrays of one shape as the rows of one array."""
    dtype = np.result_type(*[r.type.dtype.numpy for r in rows])
    values = [_cast(r.value, dtype) for r in rows]
    return ArrayVar(F.stack(*values, axis=-1 - values[0].ndim))


def _cast(value: Value, dtype: Any) -> Value:
    wanted = dtype_of(dtype)
    return value if value.dtype is wanted else F.cast(value, dtype=wanted)


def cast_array(x: ArrayVar, dtype: Any) -> ArrayVar:
    """``x.astype(dtype)``."""
    return ArrayVar(_cast(x.value, np.dtype(dtype)), x.kind)


# ---------------------------------------------------------------------------------------------------- array semantics
def _probe(x: Any) -> Any:
    """A value of the same type, for asking NumPy what it would return."""
    return variable_of(x).sample()


def _regular(x: Any) -> Any:
    """A probe that is a square matrix as one that has an inverse."""
    if not isinstance(x, np.ndarray) or x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return x
    return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)


def array_call(ctx: ValueContext, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A mapped function on arrays and numbers, by NumPy's rules."""
    probes, options = _mapped(_probe, args, kwargs)
    ours: Any = counterpart(fn)
    if isinstance(fn, np.ufunc):
        dtypes = fn.resolve_dtypes((*[_dtype_for_ufunc(p) for p in probes], *[None] * fn.nout))
        given = [_as_value(x, d) for x, d in zip(args, dtypes, strict=False)]
        expected = _expected_of_ufunc(fn, probes, dtypes[-1])
        if fn is np.power and dtypes[-1].kind == "i":
            given[1] = F.check_exponent(given[1], message="Integers to negative integer powers are not allowed.")
        return _checked(fn, expected, _attempted(fn, ours, given, {}))
    if (getattr(fn, "__module__", None) or "").startswith("numpy.linalg"):
        probes = [map_leaves(_regular, p) for p in probes]
    with np.errstate(all="ignore"):
        expected = fn(*probes, **options)
    wanted = getattr(expected, "dtype", None)
    if fn is np.trapezoid and probes[0].dtype.kind in "iu":
        raise _unlike_numpy(fn)  # NumPy adds neighbours in the narrow dtype
    found = _applied(fn, args, kwargs, None)
    if not _same_types(expected, found) and wanted is not None and wanted.kind == "f":
        found = _applied(fn, args, kwargs, wanted)
    return _checked(fn, expected, found)


def _expected_of_ufunc(fn: np.ufunc, probes: list[Any], dtype: Any) -> Any:
    """An array of the type of the result, without computing with large ones."""
    if fn.signature is None:
        shape = np.broadcast_shapes(*[np.shape(p) for p in probes])
        return dtype.type(0) if not shape else np.broadcast_to(dtype.type(0), shape)
    a, b = probes
    if np.ndim(a) and np.ndim(b) and np.shape(a)[-1] == np.shape(b)[max(np.ndim(b) - 2, 0)]:
        a, b = a[..., :1], b[..., :1, :] if b.ndim > 1 else b[:1]  # what is summed over does not matter
    return fn(a, b)


def _applied(fn: Any, args: Sequence[Any], kwargs: dict[str, Any], dtype: Any) -> Any:
    """Our function for NumPy's on the values of arrays, all of them cast to a dtype if there is one."""

    def value(x: Any) -> Any:
        found = _as_argument(x, dtype)
        return _mirrored(found) if fn in _OF_LOWER_TRIANGLES else found

    return _attempted(fn, counterpart(fn), *_mapped(value, args, kwargs))


#: Functions that look at the lower triangle only, where ours take a symmetric matrix.
_OF_LOWER_TRIANGLES = (np.linalg.eigh, np.linalg.eigvalsh, np.linalg.cholesky)


def _mirrored(x: Value) -> Value:
    """The symmetric matrix with the same lower triangle."""
    above = F.tril(x, k=-1)
    axes = (*range(-above.ndim, -2), -1, -2)
    return F.tril(x, k=0) + F.transpose(above, axes=axes)


def _attempted(fn: Any, ours: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of our function, where NumPy's has one."""
    try:
        return ours(*args, **kwargs)
    except (ValueError, TypeError, IndexError) as error:
        if isinstance(error, StaticValueError | DynamicShapeError):
            raise
        raise _unlike_numpy(fn) from error


def _dtype_for_ufunc(probe: Any) -> Any:
    if type(probe) in (int, float):
        return type(probe)
    return np.asarray(probe).dtype


def _as_value(x: Any, dtype: Any) -> Value:
    return _cast(x.value, dtype) if is_dynamic(x) else array_constant(np.asarray(x).astype(dtype))


def _as_argument(x: Any, dtype: Any) -> Any:
    if isinstance(x, np.ndarray):
        return array_constant(x if dtype is None or x.dtype.kind == "b" else x.astype(dtype))
    if not abstract(x).is_array:
        return x.item() if isinstance(x, np.generic) else x
    return x.value if dtype is None or x.type.dtype.is_bool else _cast(x.value, dtype)


def _leaves(x: Any) -> list[Any]:
    return [v for i in x for v in _leaves(i)] if isinstance(x, tuple | list) else [x]


def _same_types(expected: Any, found: Any) -> bool:
    xs, ys = _leaves(expected), _leaves(found)
    return len(xs) == len(ys) and all(map(_same_type, xs, ys))


def _same_type(x: Any, y: Any) -> bool:
    if not isinstance(y, Value):
        return type(x) is type(y)
    return np.asarray(x).dtype == y.dtype.numpy and np.shape(x) == tuple(y.shape)


def _unlike_numpy(fn: Any) -> UnsupportedCallError:
    name = getattr(fn, "__name__", "a function")
    return UnsupportedCallError(
        f"the result of {name} on arrays in compiled code would not be what NumPy gives",
        code="AC1801",
        hint="cast its arguments to one dtype first, or compute with Tensors",
    )


def _checked(fn: Any, expected: Any, found: Any) -> Any:
    """The result as arrays, if its type is what NumPy gives."""
    if not _same_types(expected, found):
        raise _unlike_numpy(fn)
    if isinstance(found, tuple | list):
        made = [_checked(fn, x, y) for x, y in zip(expected, found, strict=True)]
        if is_named_tuple(expected):
            return type(expected)(*made)
        return tuple(made) if isinstance(found, tuple) else LocalList(made)
    if not isinstance(found, Value):
        return found
    return ArrayVar(found, np.ndarray if isinstance(expected, np.ndarray) else np.generic)


# ---------------------------------------------------------------------------------------------------- operators
_BINARY: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
    **{op: getattr(np, name) for op, name in COMPARISON.items()},
}  # fmt: skip


def array_binary(ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
    """An operator or comparison one of whose operands is an array; `op`: as its method, or as the tree names it."""
    a, b = (np.asarray(x) if isinstance(x, list | tuple) and is_static(x) else x for x in (a, b))
    for x in (a, b):
        if not isinstance(_probe(x), bool | int | float | np.ndarray | np.generic):
            raise UnsupportedCallError(
                f"'{SYMBOL.get(op, op)}' of a {describe(a)} and a {describe(b)} cannot be used in compiled code",
                code="AC1801",
            )
    return array_call(ctx, _BINARY[op], [a, b], {})


def without_arrays(ctx: ValueContext, index: Any) -> Any:
    """An index with a Tensor or number for each array known only at run time."""
    return map_leaves(lambda x: variable_of(x).beside_tensor(ctx) if abstract(x).is_array else x, index)


# ---------------------------------------------------------------------------------------------------- attributes
#: Attributes of Tensors and arrays that their types tell.
OF_TYPE: dict[str, Callable[[TensorType], Any]] = {
    "shape": lambda t: t.shape,
    "ndim": lambda t: t.ndim,
    "size": lambda t: dim_product(t.shape),
    "itemsize": lambda t: t.dtype.itemsize,
    "nbytes": lambda t: t.dtype.itemsize * dim_product(t.shape),
}
