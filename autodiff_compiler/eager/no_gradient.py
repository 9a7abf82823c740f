"""MindSpore's `_no_grad`: eager code that no gradient passes through."""

from __future__ import annotations

import contextlib
from types import TracebackType

from .tape import thread

__all__ = ["_no_grad"]


class _no_grad(contextlib.ContextDecorator):
    """A block, or as a decorator a function, of eager code whose results are constants for every derivative.

    Compiled code refuses it: there `ops.stop_gradient` around the results does the same.

    >>> from autodiff_compiler import Tensor, grad
    >>> def f(x):
    ...     with _no_grad():
    ...         scale = x * 10
    ...     return x * scale
    >>> grad(f)(Tensor([2.0])).tolist()
    [20.0]
    """

    __graph_advice__ = "put ops.stop_gradient around the results of the block"

    def __init__(self) -> None:
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(thread.state.active)
        thread.state.active = 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        thread.state.active = self._before.pop()
