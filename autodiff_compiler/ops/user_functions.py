"""Operators that call users' functions: host callbacks on arrays, loops, partial application."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import UnsupportedCallError
from ..runtime.host import name_of
from .operation import constant, operation
from .primitive import Primitive
from .state import compiled_from_source

__all__ = ["Custom", "ForiLoop", "Partial", "PyFunc", "Scan", "WhileLoop"]


class Custom(Primitive):
    """An operator whose `func` is plain Python: it gets ndarrays for Tensors and returns ndarrays.

    `out_shape` and `out_dtype` say what it returns, or functions that say so given those of the inputs; compiled code
    needs them.  ``bprop(*inputs, out, dout)`` is its derivative.

    UnsupportedCallError: another `func_type` than "pyfunc", whose functions other compilers would have to compile.

    >>> import numpy as np
    >>> from autodiff_compiler import Tensor
    >>> Custom(np.cumsum, lambda x: x, lambda x: x)(Tensor([1.0, 2.0])).tolist()
    [1.0, 3.0]
    """

    def __init__(
        self,
        func: Callable[..., Any],
        out_shape: Any = None,
        out_dtype: Any = None,
        func_type: str = "pyfunc",
        bprop: Callable[..., Any] | None = None,
        reg_info: Any = None,
    ) -> None:
        super().__init__("Custom")
        if func_type != "pyfunc" or not callable(func):
            raise UnsupportedCallError(
                f"Custom runs Python functions, func_type='pyfunc', not a {type(func).__name__} with {func_type!r}",
                hint="write the function in Python, or as operations on Tensors",
            )
        self.name = f"Custom({name_of(func)})"
        self.func, self.out_shape, self.out_dtype, self.bprop = func, out_shape, out_dtype, bprop
        self.func_type, self.reg_info = func_type, reg_info

    def vm_impl(self, *inputs: Any) -> Any:
        return self.func(*[x.asnumpy() if hasattr(x, "asnumpy") else x for x in inputs])

    def get_bprop(self) -> Callable[..., Any] | None:
        return self.bprop

    def __infer__(self, *inputs: dict[str, Any]) -> dict[str, Any] | None:
        if self.out_shape is None or self.out_dtype is None:
            return None

        def said(of: Any, key: str) -> Any:
            return of(*[x[key] for x in inputs]) if callable(of) else of

        return {"shape": said(self.out_shape, "shape"), "dtype": said(self.out_dtype, "dtype"), "value": None}


class PyFunc(Custom):
    """An operator whose `fn` is plain Python on ndarrays; it returns a tuple of results, of these types and shapes.

    >>> import numpy as np
    >>> from autodiff_compiler import Tensor, float32
    >>> PyFunc(np.add, [float32] * 2, [(2,)] * 2, [float32], [(2,)])(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))[0].tolist()
    [4.0, 6.0]
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        in_types: Sequence[Any],
        in_shapes: Sequence[Any],
        out_types: Sequence[Any],
        out_shapes: Sequence[Any],
        stateful: bool = True,
    ) -> None:
        super().__init__(fn, tuple(out_shapes), tuple(out_types))
        self.in_types, self.in_shapes, self.stateful = in_types, in_shapes, stateful

    def vm_impl(self, *inputs: Any) -> Any:
        found = super().vm_impl(*inputs)
        return tuple(found) if isinstance(found, tuple | list) else (found,)


class Partial(Primitive):
    """``Partial()(func, *args, **kwargs)``: the function with its first arguments given, as `functools.partial`.

    >>> Partial()(max, 3)(1, 2)
    3
    """

    def __init__(self) -> None:
        super().__init__("Partial")

    def __call__(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        return functools.partial(func, *args, **kwargs)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return ctx.call(functools.partial, args, kwargs)


# ------------------------------------------------------------------------------------------------ loops
@compiled_from_source
def _while_loop(cond_func: Callable[..., Any], loop_func: Callable[..., Any], init_val: Any) -> Any:
    """``val = loop_func(val)`` from `init_val` on, while ``cond_func(val)`` holds."""
    val = init_val
    while cond_func(val):
        val = loop_func(val)
    return val


@compiled_from_source
def _fori_loop(lower: Any, upper: Any, loop_func: Callable[..., Any], init_val: Any, unroll: bool = True) -> Any:
    """``val = loop_func(i, val)`` from `init_val` on, for i from `lower` to `upper` - 1."""
    val = init_val
    for i in range(lower, upper):
        val = loop_func(i, val)
    return val


@compiled_from_source
def _scan(loop_func: Callable[..., Any], init: Any, xs: Any, length: int | None = None, unroll: bool = True) -> Any:
    """``carry, y = loop_func(carry, x)`` for every x of `xs`, from `init` on: the last carry, and a list of the y.

    Without `xs` it is called `length` times with None.
    """
    carry, ys = init, []
    for x in [None] * (length or 0) if xs is None else xs:
        carry, y = loop_func(carry, x)
        ys.append(y)
    return carry, ys


ForiLoop = operation("ForiLoop", constant(_fori_loop), __name__)
Scan = operation("Scan", constant(_scan), __name__)
WhileLoop = operation("WhileLoop", constant(_while_loop), __name__)
