"""Users' own derivatives: `custom_vjp` for functions, `InsertGradientOf` and `HookBackward` for values on the way."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from ..eager.custom import custom, edited_together
from ..eager.custom import edited as edited_eagerly
from ..errors import users_frames
from ..frontend.derivatives.callbacks import run_hook
from ..frontend.derivatives.custom import edited as edited_in_graph
from ..frontend.derivatives.custom import edited_together as edited_together_in_graph
from ..frontend.variables.values import is_dynamic
from ..runtime.hooks import all_kept_or_replaced, kept_or_replaced, known_as
from ..runtime.host import name_of
from ..runtime.rules import bound, keywords_of
from ..runtime.tensor import Tensor


class custom_vjp:
    """A function with its own derivative, which `defbwd` gives: ``bwd(*inputs, out, dout)``.

    `bwd` gets the arguments (defaults and keywords included), the result and its cotangent, and returns a tuple with
    one entry for each argument: a Tensor of its shape, a number, or None for zero.  A value alone is the gradient of
    the first argument.  It is differentiated again like any other code.  Nothing else inside of the function carries a
    derivative.  Until `defbwd` is called, the function has the derivative of its code.

    BpropError: AC1702 if `bwd` does not take those arguments, AC1703 and AC1704 if what it returns does not fit.

    >>> from autodiff_compiler import Tensor, grad
    >>> @custom_vjp
    ... def cube(x):
    ...     return x * x * x
    >>> @cube.defbwd
    ... def three_squares(x, out, dout):
    ...     return (dout * 3 * x * x,)
    >>> grad(cube)(Tensor([2.0])).tolist()
    [12.0]
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        if not callable(fn):
            raise TypeError(f"custom_vjp() takes a function, not a {type(fn).__name__}")
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.bwd: Callable[..., Any] | None = None

    def defbwd(self, bwd: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the function that gives the derivative; returns it, so that it can be used as a decorator."""
        if not callable(bwd):
            raise TypeError(f"defbwd() takes a function, not a {type(bwd).__name__}")
        self.bwd = bwd
        return bwd

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else _Method(self, instance)

    @users_frames
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(self.fn, self.bwd, args, kwargs)

    def _run(self, fn: Any, bwd: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if bwd is None:
            return fn(*args, **kwargs)
        values, names, refusal = bound(fn, bwd, self._what, args, kwargs)
        return custom(lambda: fn(*args, **kwargs), values, names, bwd, self._what, refusal)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return self._lowered(ctx, lambda method: method, args, kwargs)

    def _lowered(self, ctx: Any, of: Callable[[Any], Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
        bwd = ctx.outside.property(self, "bwd", f"the derivative of {name_of(self.fn)}", lambda: self.bwd)
        if bwd is None:
            return ctx.call(of(self.fn), args, kwargs)
        fn, rule = of(self.fn), of(bwd)
        values, names, refusal = bound(fn, rule, self._what, tuple(args), kwargs)
        return ctx.call_with_rule(fn, values, names, rule, self._what, refusal, keywords_of(fn, names))

    @property
    def _what(self) -> str:
        return f"{name_of(self.bwd)}, the derivative of {name_of(self.fn)},"


class _Method:
    """A `custom_vjp` in a class, of one object: its rule gets that first and gives no entry for it."""

    def __init__(self, function: custom_vjp, instance: Any) -> None:
        self._function, self._instance = function, instance
        self.__name__ = name_of(function.fn)

    @users_frames
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self._function
        return function._run(self._of(function.fn), self._of(function.bwd), args, kwargs)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return self._function._lowered(ctx, self._of, args, kwargs)

    def _of(self, method: Any) -> Any:
        return None if method is None else types.MethodType(method, self._instance)


class InsertGradientOf:
    """Returns its operand unchanged; the gradient that comes back to it goes on as ``f(gradient)``.

    `f` may branch and loop on the gradient, and read attributes if it is a method: it sees what the forward pass left
    in them.  It returns a Tensor of the gradient's shape or a number.  TypeError: `f` is not callable.  BpropError
    (AC1706): it returns something else.

    >>> from autodiff_compiler import Tensor, grad
    >>> double = InsertGradientOf(lambda dx: dx * 2)
    >>> grad(lambda x: double(x) * 3)(Tensor([1.0])).tolist()
    [6.0]
    """

    def __init__(self, f: Callable[[Any], Any]) -> None:
        if not callable(f):
            raise TypeError(f"InsertGradientOf() takes a function of the gradient, not a {type(f).__name__}")
        self.f = f

    @property
    def _what(self) -> str:
        return f"{known_as(self.f)}, which edits a gradient,"

    @users_frames
    def __call__(self, x: Any) -> Any:
        if not isinstance(x, Tensor):
            raise TypeError(f"the gradient of a Tensor can be edited, not that of a {type(x).__name__}")
        return edited_eagerly(x, self.f, self._what, "AC1706", self.f)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        (x,) = inspect.signature(self.__call__).bind(*args, **kwargs).args
        if not ctx.is_tensor(x):
            raise TypeError(f"the gradient of a Tensor can be edited, not that of a {_kind(x)}")
        f = ctx.outside.property(self, "f", "the function of an InsertGradientOf", lambda: self.f)
        return edited_in_graph(ctx, x, lambda g: ctx.call(f, [g], {}), self._what, "AC1706", f)


class HookBackward:
    """Returns its operand unchanged and calls ``hook_fn((gradient,))`` when a gradient comes back to it.

    Called with several Tensors it returns a tuple of them; the hook gets, and returns, a tuple with all gradients.

    The hook returns None to keep the gradient, or another one: a Tensor or a tuple of one.  `cell_id` is accepted and
    not used.  TypeError: `hook_fn` is not callable.  HookError (AC1707): it returns something else.

    >>> from autodiff_compiler import Tensor, grad
    >>> hook = HookBackward(lambda grads: grads[0] * 10)
    >>> grad(lambda x: hook(x) * 3)(Tensor([1.0])).tolist()
    [30.0]
    """

    def __init__(self, hook_fn: Callable[[Any], Any], cell_id: str = "") -> None:
        if not callable(hook_fn):
            raise TypeError(f"HookBackward() takes a function, not a {type(hook_fn).__name__}")
        self.hook_fn, self.cell_id = hook_fn, cell_id

    @property
    def _what(self) -> str:
        return f"the hook {known_as(self.hook_fn)}"

    @users_frames
    def __call__(self, *args: Any) -> Any:
        for x in _operands(args):
            if not isinstance(x, Tensor):
                raise TypeError(f"a hook is put on the gradient of a Tensor, not of a {type(x).__name__}")
        if len(args) > 1:
            return edited_together(args, self._rule(self.hook_fn), self._what, "AC1707", self.hook_fn)

        def rule(g: Tensor) -> Any:
            return kept_or_replaced(self._what, g, self.hook_fn((g,)))

        return edited_eagerly(args[0], rule, self._what, "AC1707", self.hook_fn)

    def _rule(self, run: Callable[[tuple[Any, ...]], Any]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
        """What becomes of several gradients; `run` calls the hook."""
        return lambda grads: all_kept_or_replaced(self._what, grads, run(grads))

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        xs = _operands(inspect.signature(self.__call__).bind(*args, **kwargs).args)
        for x in xs:
            if not ctx.is_tensor(x):
                raise TypeError(f"a hook is put on the gradient of a Tensor, not of a {_kind(x)}")
        hook_fn = ctx.outside.property(self, "hook_fn", "the hook of a HookBackward", lambda: self.hook_fn)
        if len(xs) > 1:
            rule = self._rule(lambda grads: run_hook(ctx, hook_fn, [grads], self._what))
            return edited_together_in_graph(ctx, xs, rule, self._what, "AC1707", hook_fn)

        def of_one(g: Any) -> Any:
            return kept_or_replaced(self._what, g, run_hook(ctx, hook_fn, [(g,)], self._what))

        return edited_in_graph(ctx, xs[0], of_one, self._what, "AC1707", hook_fn)


def _operands(args: Any) -> Any:
    """What a HookBackward is called with; TypeError if that is nothing."""
    if not args:
        raise TypeError("a HookBackward is called with at least one Tensor")
    return args


def _kind(x: Any) -> str:
    """What a value of compiled code is to the user."""
    if is_dynamic(x):
        return str(getattr(x, "kind", Tensor).__name__)
    name = type(x).__name__
    return name.removeprefix("Local").lower() if name.startswith("Local") else name
