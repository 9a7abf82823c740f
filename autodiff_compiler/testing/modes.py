"""`assert_modes_equal`: the same call in eager and in compiled modes, compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..config import GRAPH_MODE, PYNATIVE_MODE, context
from ..eager.captured import reached
from ..runtime.mutable import Mutable, mutable
from ..runtime.parameter import Parameter
from ..runtime.random import get_rng_state, set_rng_state
from ..runtime.tensor import Tensor
from ..runtime.trees import parts, replaced
from ..transforms.grad import value_and_grad
from ..transforms.vjp import mode_form

__all__ = ["MODES", "Beginning", "ModeMismatch", "assert_modes_equal", "in_mode", "with_tensors"]

#: Every way to run a function: its name, the mode, and how much is rewritten.
MODES = {"eager": (PYNATIVE_MODE, 2), "graph O0": (GRAPH_MODE, 0), "graph O2": (GRAPH_MODE, 2)}


class ModeMismatch(AssertionError):
    """Two modes gave different results."""


@contextmanager
def in_mode(name: str) -> Iterator[None]:
    """Everything inside runs in this one of `MODES`; the settings from before come back."""
    before = context.mode, context.optimize
    context.mode, context.optimize = MODES[name]
    try:
        yield
    finally:
        context.mode, context.optimize = before


class Beginning:
    """The state that calls change besides their arguments, restored before each of them."""

    def __init__(self, *roots: Any) -> None:
        self.parameters = [x for x, _ in reached(roots) if isinstance(x, Parameter)]
        self._values = self.values()
        self._random = get_rng_state()

    def values(self) -> list[Tensor]:
        """The present values of the Parameters that can be reached."""
        return [Tensor(x.asnumpy().copy(), x.dtype) for x in self.parameters]

    def restore(self) -> None:
        """Restores the Parameters and the random number generators."""
        for parameter, value in zip(self.parameters, self._values, strict=True):
            if not np.array_equal(parameter.asnumpy(), value.asnumpy(), equal_nan=True):
                parameter.set_data(value.copy())
        if get_rng_state() != self._random:
            set_rng_state(self._random)


def with_tensors(leaf: Callable[[Tensor], Tensor], x: Any) -> Any:
    """An argument with other Tensors in it, marked as `mutable` as it was."""
    found = replaced(x, leaf)
    return mutable(found) if isinstance(x, Mutable) else found


def assert_modes_equal(
    fn: Callable[..., Any],
    *args: Any,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    grad_position: int | tuple[int, ...] | None = None,
    weights: Sequence[Any] | None = None,
) -> Any:
    """Runs ``fn(*args)`` eagerly and compiled (as written and optimised); returns the eager result.

    Compared are structure, dtypes, shapes and values (NaN equals NaN) of the results, and what is left in Tensor
    arguments and in Parameters; with `grad_position` or `weights` also gradients.  Each run gets copies of the Tensors
    in `args`, begins with the same values in the Parameters that `fn` reaches, and draws the same random numbers; what
    is left in the end is what one call leaves.
    ModeMismatch names the first place that differs; an exception must be of the same class in every mode.

    >>> from autodiff_compiler import Tensor
    >>> assert_modes_equal(lambda x: x * 2 if x.sum() > 0 else -x, Tensor([1.0]), grad_position=0)[0].tolist()
    [2.0]
    """
    wanted: Any = None
    beginning = Beginning(fn, *args, *(weights or ()))
    for name in MODES:
        beginning.restore()
        given = [with_tensors(Tensor.copy, x) for x in args]
        with in_mode(name):
            try:
                if grad_position is None and weights is None:
                    called = mode_form(fn)
                else:
                    called = value_and_grad(fn, grad_position, weights)
                found: Any = (called(*given), given, beginning.values())
            except Exception as error:
                found = error
        if name == "eager":
            wanted = found
        else:
            _same(name, wanted, found, rtol, atol, beginning.parameters)
    if isinstance(wanted, Exception):
        raise wanted
    return wanted[0]


def _same(mode: str, wanted: Any, found: Any, rtol: float, atol: float, parameters: Sequence[Parameter]) -> None:
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        if type(wanted) is not type(found):
            raise ModeMismatch(f"eager: {_ended(wanted)}\n{mode}: {_ended(found)}") from (
                found if isinstance(found, Exception) else wanted
            )
        return
    _compare(f"the result of {mode}", wanted[0], found[0], rtol, atol)
    _compare(f"the arguments after the call in {mode}", wanted[1], found[1], rtol, atol)
    for parameter, a, b in zip(parameters, wanted[2], found[2], strict=True):
        _compare(f"the Parameter {parameter.name} after the call in {mode}", a, b, rtol, atol)


def _ended(x: Any) -> str:
    return f"{type(x).__name__}: {x}" if isinstance(x, Exception) else "no exception"


def _compare(where: str, a: Any, b: Any, rtol: float, atol: float) -> None:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.dtype is not b.dtype or a.shape != b.shape:
            raise ModeMismatch(f"{where}: {b.dtype}{list(b.shape)}, eager gives {a.dtype}{list(a.shape)}")
        x, y = (t.asnumpy().astype(np.float64) if t.dtype.is_float else t.asnumpy() for t in (a, b))
        apart = ~np.isclose(x, y, rtol, atol, equal_nan=True)
        if apart.any():
            index = tuple(int(i) for i in np.argwhere(apart)[0])
            raise ModeMismatch(f"{where}, element {list(index)}: {y[index].item()!r}, eager gives {x[index].item()!r}")
        return
    first, second = parts(a), parts(b)
    if type(a) is not type(b) or (first is None) != (second is None):
        raise ModeMismatch(f"{where}: a {type(b).__name__}, eager gives a {type(a).__name__}")
    if first is None or second is None:
        if isinstance(a, float):
            same = bool(np.isclose(a, b, rtol, atol, equal_nan=True))
        else:
            same = bool(np.all(a == b))
        if not same:
            raise ModeMismatch(f"{where}: {b!r}, eager gives {a!r}")
        return
    if len(first) != len(second) or (isinstance(a, dict) and list(a) != list(b)):
        raise ModeMismatch(f"{where}: {len(second)} items, eager gives {len(first)}")
    keys = list(a) if isinstance(a, dict) else range(len(first))
    for key, x, y in zip(keys, first, second, strict=True):
        _compare(f"{where}[{key!r}]", x, y, rtol, atol)
