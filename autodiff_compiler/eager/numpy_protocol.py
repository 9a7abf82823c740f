"""NumPy functions on Tensors: the ones that have a primitive keep gradients, the others refuse to lose them.

``np.exp(t)``, ``array + t`` and ``np.sum(t, axis=0)`` give what our own function gives, promotion included.  A function
without a counterpart runs on the arrays as long as no tape would notice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import UnsupportedCallError
from ..ir.primitive import REGISTRY, call
from ..runtime.tensor import Tensor, array_of, wrap
from .execute import plan_of
from .tape import tracked

__all__: list[str] = []

#: ufuncs that more than one primitive could stand for, or whose formula is more than one call.
_UFUNCS: dict[np.ufunc, str] = {np.power: "pow", np.matmul: "matmul"}
#: Functions with the argument names that both sides have; others are refused by the call itself.
_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.sum: lambda a, axis=None, dtype=None, keepdims=False: call.sum(a, axis, dtype, keepdims),
    np.mean: lambda a, axis=None, keepdims=False: call.mean(a, axis, keepdims),
    np.max: lambda a, axis=None, keepdims=False: call.max(a, axis, keepdims),
    np.min: lambda a, axis=None, keepdims=False: call.min(a, axis, keepdims),
    np.amax: lambda a, axis=None, keepdims=False: call.max(a, axis, keepdims),
    np.amin: lambda a, axis=None, keepdims=False: call.min(a, axis, keepdims),
    np.any: lambda a, axis=None, keepdims=False: call.any(a, axis, keepdims),
    np.all: lambda a, axis=None, keepdims=False: call.all(a, axis, keepdims),
    np.argmax: lambda a, axis=None, keepdims=False: call.argmax(a, axis, keepdims),
    np.argmin: lambda a, axis=None, keepdims=False: call.argmin(a, axis, keepdims),
    np.where: lambda condition, x, y: call.select(condition, x, y),
    np.reshape: lambda a, shape: call.reshape(a, shape),
    np.ravel: lambda a: call.reshape(a, -1),
    np.transpose: lambda a, axes=None: call.transpose(a, axes),
    np.swapaxes: lambda a, axis1, axis2: call.swapaxes(a, axis1, axis2),
    np.squeeze: lambda a, axis=None: call.squeeze(a, axis),
    np.expand_dims: lambda a, axis: call.expand_dims(a, axis),
    np.broadcast_to: lambda array, shape: call.broadcast_to(array, shape),
    np.concatenate: lambda arrays, axis=0: call.concat(arrays, axis),
    np.stack: lambda arrays, axis=0: call.stack(arrays, axis),
    np.zeros_like: lambda a, dtype=None: call.zeros_like(a, dtype),
    np.ones_like: lambda a, dtype=None: call.ones_like(a, dtype),
    np.copy: lambda a: a.copy(),
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a: a.size,
}


def _array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    name = _UFUNCS.get(ufunc)
    if name is not None and method == "__call__" and not options:
        return getattr(call, name)(*[x if isinstance(x, Tensor) else _operand(x) for x in inputs])
    spelled = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    out = options.get("out", ())
    if any(isinstance(x, Tensor) for x in out):
        raise TypeError(f"{spelled} cannot write to a Tensor: use its result, or assign(t, ...)")
    result = _without_gradient(spelled, getattr(ufunc, method), inputs, options)
    return result if not out else out[0] if len(out) == 1 else out


def _operand(x: Any) -> Any:
    return Tensor(x) if isinstance(x, list | tuple) else x


def _array_function(self: Tensor, func: Callable[..., Any], types: Any, args: Any, options: dict[str, Any]) -> Any:
    ours = _FUNCTIONS.get(func)
    if ours is not None and options.keys() <= set(ours.__code__.co_varnames):
        return ours(*args, **options)
    return _without_gradient(f"np.{func.__name__}", func, args, options)


def _without_gradient(spelled: str, function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
    """Runs a function NumPy alone has; the results are Tensors off the tapes."""

    def plain(x: Any) -> Any:
        if isinstance(x, Tensor):
            if tracked(x):
                raise UnsupportedCallError(
                    f"{spelled} has no derivative here, and its argument is being differentiated",
                    hint="use a Tensor method or ops function, or pass t.asnumpy() if no gradient is meant",
                )
            return x._own()
        if isinstance(x, list | tuple):
            return type(x)(map(plain, x)) if not hasattr(x, "_make") else x._make(map(plain, x))
        return {k: plain(v) for k, v in x.items()} if isinstance(x, dict) else x

    return _wrapped(function(*plain(tuple(args)), **plain(options)))


def _wrapped(result: Any) -> Any:
    """Arrays of our dtypes as Tensors; a view of an argument in memory of its own."""
    if type(result) in (tuple, list):
        return type(result)(map(_wrapped, result))
    if isinstance(result, np.ndarray) and (result.dtype.kind in "biuf" or result.dtype.name == "bfloat16"):
        try:
            return wrap(array_of(result))
        except TypeError:  # a dtype Tensors do not have, such as uint32
            return result
    return result


def _attach() -> None:
    for defn in REGISTRY.values():
        ufunc = plan_of(defn).ufunc
        if ufunc is not None:
            _UFUNCS.setdefault(ufunc, defn.name)
    Tensor.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]
    Tensor.__array_function__ = _array_function  # type: ignore[attr-defined]


_attach()
