"""What implicit derivatives ask of eager and of compiled code, under the same names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from ..config import as_written
from ..eager import closures as eager_closures
from ..errors import users_frames
from ..frontend.derivatives import closures as compiled_closures

Fn = TypeVar("Fn", bound=Callable[..., Any])


def from_source(fn: Fn) -> Fn:
    """A function of this package that compiled code compiles from its source."""
    fn.__graph_call__ = lambda ctx, args, kwargs: ctx.call_python(fn, args, kwargs)  # type: ignore[attr-defined]
    return fn


def runs_eagerly(fn: Fn) -> Fn:
    """A public function: what its eager code differentiates is not compiled, in GRAPH_MODE neither."""

    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        with as_written():
            return fn(*args, **kwargs)

    return users_frames(run)  # type: ignore[return-value]


class Eager:
    """Eager code: functions are called, what needs no derivative runs on no tape."""

    def call(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    def function(self, fn: Callable[..., Any]) -> Any:
        """A function of this package's, to be given to others."""
        return fn

    def closed_over(self, fn: Any, args: Sequence[Any], what: str) -> tuple[Any, list[Any]]:
        """The function with the Tensors that it captures as its first argument, and these."""
        return eager_closures.closed_over(fn, args, what)

    def constant(self, fn: Any, *args: Any) -> Any:
        """``fn(*args)``, which carries no derivative."""
        return eager_closures.untracked(fn, *args)

    def with_rule(
        self, key: Any, value: Any, operands: Sequence[Any], rule: Any, what: str, linear: bool = False,
        reverse_only: str = "",
    ) -> Any:  # fmt: skip
        """`value`, whose derivative by the operands ``rule(value, *operands, out, dout)`` gives.

        `key`: what is the same where the rule does this again; `linear`: the value is linear in the first operand;
        `reverse_only`: what to do instead, where forward mode cannot use the rule.
        """
        return eager_closures.with_rule(value, operands, rule, what, reverse_only)


class Compiled:
    """Compiled code: functions are compiled where they are called."""

    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx

    def call(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        return self.ctx.call(fn, list(args), kwargs)

    def function(self, fn: Callable[..., Any]) -> Any:
        return compiled_closures.native(fn)

    def closed_over(self, fn: Any, args: Sequence[Any], what: str) -> tuple[Any, list[Any]]:
        return compiled_closures.closed_over(self.ctx, fn, args, what)

    def constant(self, fn: Any, *args: Any) -> Any:
        found = self.call(fn, *args)
        return compiled_closures.without_derivative(self.ctx, found)

    def with_rule(
        self, key: Any, value: Any, operands: Sequence[Any], rule: Any, what: str, linear: bool = False,
        reverse_only: str = "",
    ) -> Any:  # fmt: skip
        return compiled_closures.with_rule(self.ctx, key, value, operands, rule, what, linear, reverse_only)


Mode = Eager | Compiled
EAGER = Eager()
