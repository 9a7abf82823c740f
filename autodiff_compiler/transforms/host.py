"""Ways out of compiled code: `py_call` runs a function at run time, `constexpr` one at compile time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..eager.custom import custom
from ..eager.tape import record
from ..errors import NotDifferentiableError
from ..frontend.variables.foreign import at_compile_time
from ..runtime.host import TensorSpec, checked, filled, host_value, name_of, spec_leaves
from ..runtime.rules import names_of
from ..runtime.tensor import wrap
from ..runtime.trees import leaves
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

    >>> import numpy as np
    >>> from autodiff_compiler import Tensor
    >>> t = Tensor([3.0, 4.0])
    >>> py_call(np.linalg.norm, t, out=TensorSpec((), "float32")).item()
    5.0
    """
    if not callable(fn):
        raise TypeError(f"py_call() calls a function, not a {type(fn).__name__}")
    list(spec_leaves(out))
    if bprop is not None:
        what = f"the bprop of py_call({name_of(fn)}, ...)"
        return custom(lambda: _made(fn, args, out), args, names_of(fn, len(args)), bprop, what)
    made = _made(fn, args, out)
    operands, results = list(leaves(args)), list(leaves(made))
    if operands and results:
        record(operands, results, _refusal())
    return made


py_call.__graph_name__ = "py_call"  # type: ignore[attr-defined]


def _made(fn: Callable[..., Any], args: Sequence[Any], out: Any) -> Any:
    found = fn(*[host_value(a) for a in args])
    promised = zip(checked(fn, found, out), spec_leaves(out), strict=True)
    return filled(out, iter([array.item() if isinstance(spec, type) else wrap(array) for array, spec in promised]))


def _refusal() -> Callable[[Any], Any]:
    """The pullback of a call that has none."""
    place = calling_place()

    def refuse(gs: Any) -> Any:
        raise NotDifferentiableError(
            "py_call has no derivative, and a gradient arrives at its result",
            loc=place,
            hint="give it one with `bprop=`, or put stop_gradient around the result if none is meant",
        )

    return refuse


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

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return at_compile_time(ctx, self._fn, args, kwargs)


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
