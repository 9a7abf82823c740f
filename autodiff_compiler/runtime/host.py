"""Host functions (`py_call`): specs of their results, the checks of these, and results kept for second runs."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..dtypes import BY_SHORT, DType, dtype_of, float64, int64
from ..dtypes import bool_ as bool_dtype
from ..ir.size_text import parse
from ..ir.sizes import Dim, symbol
from ..ir.types import Shape, Size
from .records import is_named_tuple
from .tensor import Array, Tensor

__all__ = [
    "HostCalls",
    "TensorSpec",
    "called",
    "checked",
    "checked_results",
    "filled",
    "host_value",
    "name_of",
    "spec_leaves",
]

_NUMBER: dict[type, DType] = {bool: bool_dtype, int: int64, float: float64}


_SPEC = re.compile(r"\s*(\w+)\s*\[([^\[\]]*)\]\s*", re.ASCII)


class TensorSpec:
    """The shape and dtype of a Tensor that does not exist yet; also as a text, as dumps write types.

    A size may be symbolic where a type is only looked at: a name, which stands for the same size wherever it is used,
    or a formula of names.  ValueError for a text of another form, TypeError for a dtype that does not exist.

    >>> TensorSpec((2, 3), "float32")
    TensorSpec((2, 3), Float32)
    >>> TensorSpec("f32[2,3]") == TensorSpec((2, 3), "float32")
    True
    >>> TensorSpec("f32[2*n,3]").shape
    (2*n, 3)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: str | int | Sequence[Size], dtype: Any = None) -> None:
        if isinstance(shape, str):
            if dtype is not None:
                raise TypeError(f"the text of a TensorSpec says the dtype, too: {shape!r}")
            shape, dtype = _spec_of(shape)
        elif dtype is None:
            raise TypeError("a TensorSpec needs a dtype: TensorSpec((2, 3), 'float32') or TensorSpec('f32[2,3]')")
        sizes = (shape,) if isinstance(shape, int) else shape
        self.shape: Shape = tuple([d if isinstance(d, Dim) else int(d) for d in sizes])
        self.dtype = dtype_of(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (other.shape, other.dtype) == (self.shape, self.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec({self.shape}, {self.dtype})"


def _spec_of(text: str) -> tuple[Shape, Any]:
    """The shape and the dtype that a text like ``f32[2,3]`` (or ``float32[2,3]``) says."""
    found = _SPEC.fullmatch(text)
    try:
        if found is None:
            raise ValueError("it is no type")
        sizes = parse(found[2], symbol) if found[2].strip() else []
        if any(isinstance(d, int) and d < 0 for d in sizes):
            raise ValueError("a size is not negative")
    except ValueError as error:
        raise ValueError(
            f"the text of a TensorSpec is like 'f32[2,3]', or 'f32[]' for one number, not {text!r}: {error}"
        ) from None
    return tuple(sizes), BY_SHORT.get(found[1], found[1])


# ------------------------------------------------------------------------------------------- once per forward pass
class _Current(threading.local):
    calls: HostCalls | None = None


_current = _Current()


class HostCalls:
    """What host functions returned in one run of a program, in order.

    A run inside ``with HostCalls(earlier):`` gets the results of the earlier run instead of calling the functions
    again, until they are used up: a derivative of a derivative computes the forward part a second time, the user's
    functions run once.
    """

    __slots__ = ("_earlier", "_outer", "_results")

    def __init__(self, earlier: HostCalls | None = None) -> None:
        self._results: list[tuple[Array, ...]] = []
        self._earlier = iter(() if earlier is None else earlier._results)
        self._outer: HostCalls | None = None

    def __enter__(self) -> HostCalls:
        self._outer, _current.calls = _current.calls, self
        return self

    def __exit__(self, *error: object) -> None:
        _current.calls = self._outer

    def of(self, call: Callable[[], tuple[Array, ...]]) -> tuple[Array, ...]:
        """The results of the next call."""
        found = next(self._earlier, None)
        if found is None:
            found = _alone(call) if self._outer is None else self._outer.of(call)
        self._results.append(tuple([np.array(a) for a in found]))  # copies: the program and users may write to theirs
        return found


def _alone(call: Callable[[], tuple[Array, ...]]) -> tuple[Array, ...]:
    """The results of a call; host functions of programs that it runs itself are not recorded here."""
    outer, _current.calls = _current.calls, None
    try:
        return call()
    finally:
        _current.calls = outer


def called(call: Callable[[], tuple[Array, ...]]) -> tuple[Array, ...]:
    """The results of a host function of the running program: from an earlier run, or of a call."""
    calls = _current.calls
    return call() if calls is None else calls.of(call)


def name_of(fn: Any) -> str:
    """A function's name in messages."""
    return str(getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or type(fn).__name__)


def _parts(x: Any) -> Sequence[Any] | None:
    """The parts of a container; None for a leaf."""
    return list(x.values()) if isinstance(x, dict) else x if isinstance(x, tuple | list) else None


def spec_leaves(out: Any) -> Iterator[TensorSpec | type]:
    """The leaves of `out`, in order: specs for Tensors, and bool, int or float; TypeError for anything else."""
    parts = _parts(out)
    if parts is not None:
        for part in parts:
            yield from spec_leaves(part)
    elif isinstance(out, TensorSpec) or (hasattr(out, "shape") and isinstance(getattr(out, "dtype", None), DType)):
        yield TensorSpec(tuple(map(int, out.shape)), out.dtype)  # of known sizes
    elif out in _NUMBER:
        yield out
    elif out is not None:
        raise TypeError(
            f"`out` of py_call is made of TensorSpecs, Tensors to be like, bool, int and float, not of {out!r}"
        )


def filled(out: Any, leaves: Iterator[Any]) -> Any:
    """The structure of `out` with other leaves."""
    parts = _parts(out)
    if parts is None:
        return None if out is None else next(leaves)
    items = [filled(part, leaves) for part in parts]
    if isinstance(out, dict):
        return dict(zip(out, items, strict=True))
    return type(out)(*items) if is_named_tuple(out) else tuple(items) if isinstance(out, tuple) else items


def host_value(x: Any) -> Any:
    """An argument as the function gets it: Tensors as copies in ndarrays."""
    if isinstance(x, Tensor):
        return np.array(x._data)
    if type(x) is dict:
        return {k: host_value(v) for k, v in x.items()}
    if is_named_tuple(x):
        return type(x)(*map(host_value, x))
    return type(x)(map(host_value, x)) if type(x) in (tuple, list) else x


def checked(fn: Callable[..., Any], found: Any, out: Any) -> list[Array]:
    """What the function returned, as new arrays for the leaves of `out`.

    TypeError or ValueError, which name the function, for anything else than `out` promises.  The function's
    `promised_by` is the name of what promises it in messages, if that is not the `out` of a py_call.
    """
    promised_by = getattr(fn, "promised_by", None)
    if promised_by is None:
        return _checked(fn, found, out)
    try:
        return _checked(fn, found, out)
    except (TypeError, ValueError) as error:
        text = str(error).removeprefix("py_call: ").replace("`out` promises", f"{promised_by} promises")
        raise type(error)(text) from None


def _checked(fn: Callable[..., Any], found: Any, out: Any) -> list[Array]:
    name = name_of(fn)
    if out is None:
        if found is not None:
            raise TypeError(f"py_call: {name} returned a {type(found).__name__}, but `out` promises nothing")
        return []
    return list(_matched(name, found, out, ""))


def _matched(name: str, found: Any, out: Any, path: str) -> Iterator[Array]:
    parts = _parts(out)
    where = f"result{path} of {name}"
    if parts is None:
        if out is not None:
            yield _array(where, found, next(spec_leaves(out)))
        elif found is not None:
            raise TypeError(f"py_call: {where} is a {type(found).__name__}, `out` promises None")
        return
    got = _parts(found)
    alike = got is not None and isinstance(out, dict) == isinstance(found, dict) and len(got) == len(parts)
    if not alike or (isinstance(out, dict) and list(out) != list(found)):
        kind = f"{type(out).__name__} of {len(parts)}"
        raise TypeError(f"py_call: {where} is a {type(found).__name__}, `out` promises a {kind}")
    assert got is not None
    keys = list(out) if isinstance(out, dict) else range(len(parts))
    for key, x, part in zip(keys, got, parts, strict=True):
        yield from _matched(name, x, part, f"{path}[{key!r}]")


def _array(where: str, found: Any, spec: TensorSpec | type) -> Array:
    shape, dtype = ((), _NUMBER[spec]) if isinstance(spec, type) else (spec.shape, spec.dtype)
    if isinstance(found, Tensor):
        found = np.asarray(found._data)
    if isinstance(found, bool | int | float) and not isinstance(found, np.generic):
        rank = (bool, int, float).index(type(found)) if type(found) in _NUMBER else 2
        if rank > (0 if dtype.is_bool else 1 if dtype.is_int else 2):
            raise TypeError(f"py_call: {where} is the {type(found).__name__} {found!r}, `out` promises {dtype}")
        found = np.asarray(found).astype(dtype.numpy)
    if not isinstance(found, np.ndarray | np.generic):
        raise TypeError(f"py_call: {where} is a {type(found).__name__}, `out` promises {dtype} of shape {shape}")
    array = np.array(found)
    if array.dtype != dtype.numpy:
        raise TypeError(f"py_call: {where} has the dtype {array.dtype}, `out` promises {dtype}")
    if array.shape != shape:
        raise ValueError(f"py_call: {where} has the shape {array.shape}, `out` promises {shape}")
    return array


def checked_results(name: str, results: Any, promised: Any) -> tuple[Any, ...]:
    """What a host function returned, as arrays; TypeError if they are not of the shapes and dtypes it promised."""
    if not isinstance(results, tuple | list):
        results = () if results is None else (results,)
    if len(results) != len(promised):
        raise TypeError(f"{name} returned {len(results)} values, it promised {len(promised)}")
    arrays = tuple([np.asarray(r) for r in results])
    for i, (array, (shape, dtype)) in enumerate(zip(arrays, promised, strict=True)):
        if array.shape != shape or array.dtype != dtype:
            got, wanted = f"{array.dtype}{list(array.shape)}", f"{dtype}{list(shape)}"
            raise TypeError(f"result {i} of {name} is {got}, it promised {wanted}")
    return arrays
