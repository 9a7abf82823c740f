"""Ways out of compiled code: `py_call` runs a function at run time, `constexpr` one at compile time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..eager.tape import record
from ..errors import BpropError, NotDifferentiableError
from ..runtime.host import TensorSpec, checked, filled, host_value, name_of, spec_leaves
from ..runtime.tensor import Tensor, wrap
from ..source import calling_place

__all__ = ["TensorSpec", "constexpr", "py_call"]


def py_call(fn: Callable[..., Any], *args: Any, out: Any = None, bprop: Callable[..., Any] | None = None) -> Any:
    """``fn(*args)`` as plain Python, also in compiled code, where it runs at its place in the order of effects.

    `fn` gets ndarrays of its own for Tensors (also inside tuples, lists and dicts), everything else as it is, so it
    cannot change what the caller holds.  `out` promises what it returns: a `TensorSpec`, a Tensor to be like, `bool`,
    `int` or `float`, or tuples, lists and dicts of these; None for nothing.  It may return arrays or Tensors.

    The result has no derivative unless ``bprop(*args, out, dout)`` gives one: it gets the arguments, the result and its
    cotangent as Tensors and returns one cotangent per argument (None for zero).  It is compiled, and differentiated
    again, like any other code; `fn` runs once, however many derivatives are taken of one call.

    TypeError, ValueError: `fn` returns another structure, dtype or shape than promised.  NotDifferentiableError
    (AC1709): a gradient arrives at the result and there is no `bprop`.  Exceptions of `fn` pass unchanged.

    >>> t = Tensor([3.0, 4.0])
    >>> py_call(np.linalg.norm, t, out=TensorSpec((), "float32")).item()
    5.0
    """
    if not callable(fn):
        raise TypeError(f"py_call() calls a function, not a {type(fn).__name__}")
    list(spec_leaves(out))
    found = fn(*[host_value(a) for a in args])
    leaves = list(_tensors(args))
    results: list[Any] = []
    for array, spec in zip(checked(fn, found, out), spec_leaves(out), strict=True):
        results.append(array.item() if isinstance(spec, type) else wrap(array))
    made = filled(out, iter(results))
    tensors = [r for r in results if isinstance(r, Tensor)]
    if tensors and leaves:
        record(leaves, tensors, _pullback(fn, args, made, tensors, bprop))
    return made


py_call.__graph_name__ = "py_call"  # type: ignore[attr-defined]


def _tensors(x: Any) -> Any:
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, tuple | list | dict):
        for item in x.values() if isinstance(x, dict) else x:
            yield from _tensors(item)


def _pullback(
    fn: Any, args: Sequence[Any], made: Any, results: list[Tensor], bprop: Callable[..., Any] | None
) -> Callable[[list[Tensor | None]], Sequence[Any]]:
    """From the cotangents of the results to those of the Tensors among the arguments."""
    place = calling_place()
    if bprop is None:

        def refuse(gs: list[Tensor | None]) -> Sequence[Any]:
            raise NotDifferentiableError(
                "py_call has no derivative, and a gradient arrives at its result",
                loc=place,
                hint="give it one with `bprop=`, or put stop_gradient around the result if none is meant",
            )

        return refuse
    held = [_copied(a) for a in args]

    def pull(gs: list[Tensor | None]) -> Sequence[Any]:
        seeds = iter([wrap(np.zeros_like(r._data)) if g is None else g for r, g in zip(results, gs, strict=True)])
        dout = _replaced(made, lambda t: next(seeds))
        given = bprop(*held, made, dout)
        return cotangents(fn, args, given, lambda x: isinstance(x, Tensor))

    return pull


def _replaced(x: Any, leaf: Callable[[Tensor], Any]) -> Any:
    if isinstance(x, Tensor):
        return leaf(x)
    if isinstance(x, dict):
        return {k: _replaced(v, leaf) for k, v in x.items()}
    if isinstance(x, tuple | list):
        items = [_replaced(v, leaf) for v in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return x


def _copied(x: Any) -> Any:
    return _replaced(x, Tensor.copy)


def cotangents(fn: Any, args: Sequence[Any], given: Any, is_tensor: Callable[[Any], bool]) -> list[Any]:
    """What a `bprop` returned, one entry per Tensor of the arguments."""
    if not isinstance(given, tuple | list):
        given = (given,)
    if len(given) < len(args):
        raise BpropError(
            f"the bprop of py_call({name_of(fn)}, ...) returns {len(given)} cotangents for {len(args)} arguments",
            code="AC1703",
            hint="return a tuple with one entry per argument, None for zero",
        )
    found: list[Any] = []
    for x, g in zip(args, given, strict=False):
        found += _of_argument(fn, x, g, is_tensor)
    return found


def _of_argument(fn: Any, x: Any, g: Any, is_tensor: Callable[[Any], bool]) -> list[Any]:
    if is_tensor(x):
        shape = getattr(g, "shape", ())
        if g is not None and tuple(shape) not in ((), tuple(x.shape)):
            raise BpropError(
                f"the bprop of py_call({name_of(fn)}, ...) returns a cotangent of shape {list(shape)} for an argument "
                f"of shape {list(x.shape)}",
                code="AC1704",
                hint="return the gradient in the shape of the argument, None for zero",
            )
        return [_fitting(g, x)]
    if not isinstance(x, tuple | list | dict):
        return []
    parts = list(x.values()) if isinstance(x, dict) else list(x)
    entries = [None] * len(parts) if g is None else list(g.values()) if isinstance(g, dict) else list(g)
    return [c for p, e in zip(parts, entries, strict=True) for c in _of_argument(fn, p, e, is_tensor)]


def _fitting(g: Any, x: Any) -> Any:
    """A cotangent in the dtype and shape of its argument."""
    from ..ir.primitive import call

    if g is None:
        return None
    if isinstance(g, bool | int | float):
        return call.full_like(x, g)
    g = g if g.dtype is x.dtype else call.cast(g, x.dtype)
    return g if tuple(g.shape) == tuple(x.shape) else call.broadcast_to(g, x.shape)


class _Constexpr:
    """A function that compiled code calls while it is compiled."""

    def __init__(self, fn: Callable[..., Any], name: str | None) -> None:
        functools.update_wrapper(self, fn)
        self._fn = fn
        if name is not None:
            self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._fn(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __graph_call__(self, lw: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return lw.at_compile_time(self._fn, args, kwargs)


def constexpr(
    fn: Callable[..., Any] | None = None,
    get_instance: bool = True,
    name: str | None = None,
    reuse_result: bool = True,
    check: bool = True,
) -> Any:
    """Marks a function that compiled code calls while it is compiled: any Python, with arguments known then.

    Its result is a constant of the compiled code; the function itself is not read as source, so nobody notices what it
    reads besides its arguments.  In eager mode it is called as it is.  With ``get_instance=False`` the result is a
    function without arguments that gives the marked function.  `reuse_result` and `check` are accepted and change
    nothing.

    StaticValueError (AC1302): an argument is known only at run time.

    >>> @constexpr
    ... def widths(n):
    ...     return tuple(2**i for i in range(n))
    >>> widths(3)
    (1, 2, 4)
    """
    if fn is None:
        return lambda fn: constexpr(fn, get_instance, name, reuse_result, check)
    if not callable(fn):
        raise TypeError(f"constexpr() marks a function, not a {type(fn).__name__}")
    made = _Constexpr(fn, name)
    return made if get_instance else lambda: made
