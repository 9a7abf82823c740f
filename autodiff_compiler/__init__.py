"""Graph-mode automatic differentiation for Python, with MindSpore's names.

    import autodiff_compiler as ms

Decorate a function with `ms.jit`, or switch with ``ms.set_context(mode=ms.GRAPH_MODE)``: Python control flow on Tensors
becomes one typed program, derivatives of any order included.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import eager as _eager  # noqa: F401  (attaches the operators of Tensor)
from .config import GRAPH_MODE, PYNATIVE_MODE, disable_jit, get_context, set_context
from .dtypes import bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from .errors import CompileError
from .runtime.parameter import Parameter, ParameterTuple
from .runtime.tensor import Tensor

if TYPE_CHECKING:
    from . import nn, ops
    from .transforms.grad import GradOperation, grad, value_and_grad
    from .transforms.jacobian import hessian, hvp, jacfwd, jacrev, linearize
    from .transforms.jit import jit
    from .transforms.jvp import jvp
    from .transforms.loops import keep, unroll
    from .transforms.vjp import vjp
    from .transforms.vmap import vmap

__version__ = "0.1.0"

#: Loaded when first asked for: the compiler costs nothing where only Tensors are used.
_LAZY = {
    "jit": "transforms.jit",
    "grad": "transforms.grad",
    "value_and_grad": "transforms.grad",
    "GradOperation": "transforms.grad",
    "jvp": "transforms.jvp",
    "vjp": "transforms.vjp",
    "jacrev": "transforms.jacobian",
    "jacfwd": "transforms.jacobian",
    "hessian": "transforms.jacobian",
    "hvp": "transforms.jacobian",
    "linearize": "transforms.jacobian",
    "vmap": "transforms.vmap",
    "keep": "transforms.loops",
    "unroll": "transforms.loops",
    "stop_gradient": "ops",
    "set_seed": "runtime.random",
    "get_seed": "runtime.random",
    "get_rng_state": "runtime.random",
    "set_rng_state": "runtime.random",
    "nn": "",
    "ops": "",
    "optim": "",
}

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "CompileError",
    "GradOperation",
    "Parameter",
    "ParameterTuple",
    "Tensor",
    "bfloat16",
    "bool_",
    "disable_jit",
    "float16",
    "float32",
    "float64",
    "get_context",
    "get_rng_state",
    "get_seed",
    "grad",
    "hessian",
    "hvp",
    "int8",
    "int16",
    "int32",
    "int64",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "keep",
    "linearize",
    "nn",
    "ops",
    "set_context",
    "set_rng_state",
    "set_seed",
    "stop_gradient",
    "tensor",
    "uint8",
    "unroll",
    "value_and_grad",
    "vjp",
    "vmap",
]


def tensor(input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None) -> Tensor:
    """A new Tensor; see `Tensor`."""
    return Tensor(input_data, dtype, shape, init)


def __getattr__(name: str) -> Any:
    where = _LAZY.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = importlib.import_module(f".{where or name}", __name__)
    value = getattr(found, name) if where else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
