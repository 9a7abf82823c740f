"""NumPy's dispatch protocols for Tensors: functions with a counterpart of ours are differentiable, others are not.

``np.exp(t)``, ``array + t`` and ``np.sum(t, axis=0)`` call our own function, with our promotion.  A function without a
counterpart runs on the arrays, unless an argument is on a tape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import UnsupportedCallError
from ..primitives.numpy_names import bindable, counterpart, proposal
from ..runtime.tensor import Tensor, array_of, wrap
from .tape import tracked

__all__: list[str] = []


def _array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    if method == "__call__" and bindable(ufunc, inputs, options):
        return counterpart(ufunc)(*[x if isinstance(x, Tensor) else _operand(x) for x in inputs])  # type: ignore[misc]
    spelled = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    out = options.get("out", ())
    if any(isinstance(x, Tensor) for x in out):
        raise TypeError(f"{spelled} cannot write to a Tensor: use its result, or assign(t, ...)")
    result = _without_gradient(spelled, getattr(ufunc, method), inputs, options)
    return result if not out else out[0] if len(out) == 1 else out


def _operand(x: Any) -> Any:
    return Tensor(x) if isinstance(x, list | tuple) else x


def _array_function(self: Tensor, func: Callable[..., Any], types: Any, args: Any, options: dict[str, Any]) -> Any:
    if bindable(func, args, options):
        return counterpart(func)(*args, **options)  # type: ignore[misc]
    return _without_gradient(f"np.{func.__name__}", func, args, options)


def _without_gradient(spelled: str, function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
    """Runs a function NumPy alone has; the results are Tensors off the tapes."""

    def plain(x: Any) -> Any:
        if isinstance(x, Tensor):
            if tracked(x):
                raise UnsupportedCallError(
                    f"{spelled} has no derivative in this form, and its argument is being differentiated",
                    code="AC1805",
                    hint=f"{proposal(function)}; pass t.asnumpy() if no gradient is meant",
                )
            return x._of_host()
        if isinstance(x, list | tuple):
            return type(x)(map(plain, x)) if not hasattr(x, "_make") else x._make(map(plain, x))
        return {k: plain(v) for k, v in x.items()} if isinstance(x, dict) else x

    return _wrapped(function(*plain(tuple(args)), **plain(options)))


def _wrapped(result: Any) -> Any:
    """Arrays and scalars of our dtypes as Tensors, copied, since they may alias an argument."""
    if type(result) in (tuple, list):
        return type(result)(map(_wrapped, result))
    if isinstance(result, np.generic):
        result = np.asarray(result)
    if isinstance(result, np.ndarray) and (result.dtype.kind in "biuf" or result.dtype.name == "bfloat16"):
        try:
            return wrap(array_of(result))
        except TypeError:  # a dtype Tensors do not have, such as uint32
            return result
    return result


Tensor.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]
Tensor.__array_function__ = _array_function  # type: ignore[attr-defined]
