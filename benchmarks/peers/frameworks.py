"""What each column needs: is it there, under which settings does it run, and how does it spell functions of arrays."""

from __future__ import annotations

import functools
import importlib.util
import os
import types
from collections.abc import Callable
from typing import Any

import numpy as np

#: Ours first: ratios are to the first of them that runs a case.
OURS = ("native", "numpy", "eager")
#: The package behind a column; the others need none.
PACKAGES = {
    "jax": "jax", "torch": "torch", "torch.compile": "torch", "autograd": "autograd", "numba": "numba",
    "jaxopt": "jaxopt", "diffrax": "diffrax",
}  # fmt: skip
COLUMNS = (*OURS, *PACKAGES, "hand")


@functools.cache
def available(column: str) -> bool:
    """Whether the column can run here."""
    if column == "native":
        import autodiff_compiler as ms

        before = ms.get_context("backend")
        ms.jit(len)  # backends make themselves known when the compiler is loaded
        try:
            ms.set_context(backend="native")
        except (ValueError, RuntimeError):  # there is none in this build, or it cannot be used here
            return False
        ms.set_context(backend=before)
        return True
    package = PACKAGES.get(column.partition(",")[0])  # behind a comma stands how it is used
    return package is None or importlib.util.find_spec(package) is not None


def enter(column: str) -> None:
    """Sets what is set for a whole process; the others leave no trace in each other."""
    if column in OURS:
        import autodiff_compiler as ms

        if column == "eager":
            ms.set_context(mode=ms.PYNATIVE_MODE)
        else:
            ms.set_context(mode=ms.GRAPH_MODE, backend=column)


# ------------------------------------------------------------------------------------------------ vocabularies
def _ours() -> dict[str, Any]:
    from autodiff_compiler import ops

    return {
        "exp": ops.exp, "log": ops.log, "sqrt": ops.sqrt, "tanh": ops.tanh, "sin": ops.sin, "erf": ops.erf,
        "relu": ops.relu, "logaddexp": ops.logaddexp, "logsumexp": ops.logsumexp,
        "softmax": lambda x: ops.softmax(x, -1), "concatenate": ops.concat, "columns": lambda x, indices: x[:, indices],
        "layer_norm": lambda x, gamma, beta: ops.layer_norm(x, (x.shape[-1],), gamma, beta),
    }  # fmt: skip


def _layer_norm(sqrt: Callable[[Any], Any], x: Any, gamma: Any, beta: Any) -> Any:
    """The formula, where there is no function."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * gamma + beta


def _jax() -> dict[str, Any]:
    import jax
    from jax import numpy as jnp

    return {
        "exp": jnp.exp, "log": jnp.log, "sqrt": jnp.sqrt, "tanh": jnp.tanh, "sin": jnp.sin,
        "erf": jax.scipy.special.erf, "relu": jax.nn.relu, "logaddexp": jnp.logaddexp,
        "logsumexp": jax.scipy.special.logsumexp,
        "softmax": jax.nn.softmax, "concatenate": jnp.concatenate, "columns": lambda x, indices: x[:, indices],
        "layer_norm": functools.partial(_layer_norm, jnp.sqrt),
    }  # fmt: skip


def _torch() -> dict[str, Any]:
    import torch

    return {
        "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "tanh": torch.tanh, "sin": torch.sin, "erf": torch.erf,
        "relu": torch.relu, "logaddexp": torch.logaddexp, "logsumexp": torch.logsumexp,
        "softmax": lambda x: torch.softmax(x, -1), "concatenate": torch.cat,
        "columns": lambda x, indices: x[:, indices],
        "layer_norm": lambda x, gamma, beta: torch.nn.functional.layer_norm(x, (x.shape[-1],), gamma, beta),
    }  # fmt: skip


def _autograd() -> dict[str, Any]:
    from autograd import numpy as anp
    from autograd.scipy import special

    def softmax(x: Any) -> Any:
        e = anp.exp(x - anp.max(x, axis=-1, keepdims=True))
        return e / anp.sum(e, axis=-1, keepdims=True)

    return {
        "exp": anp.exp, "log": anp.log, "sqrt": anp.sqrt, "tanh": anp.tanh, "sin": anp.sin, "erf": special.erf,
        "relu": lambda x: anp.maximum(x, 0), "logaddexp": anp.logaddexp, "logsumexp": special.logsumexp,
        "softmax": softmax, "concatenate": anp.concatenate, "columns": lambda x, indices: x[:, indices],
        "layer_norm": functools.partial(_layer_norm, anp.sqrt),
    }  # fmt: skip


_VOCABULARIES = {"native": _ours, "numpy": _ours, "eager": _ours, "jax": _jax, "autograd": _autograd}


@functools.cache
def vocabulary(column: str) -> types.SimpleNamespace:
    """The functions of arrays that workloads use, under the same names in each framework."""
    return types.SimpleNamespace(**_VOCABULARIES.get(column, _torch)())


# ------------------------------------------------------------------------------------------------ arrays
def put(column: str, arrays: list[np.ndarray], gradients: bool = False) -> list[Any]:
    """NumPy's arrays as those of a framework; torch is told here what derivatives are taken of."""
    if column in OURS:
        import autodiff_compiler as ms

        return [ms.Tensor(a) for a in arrays]
    if column == "jax":
        from jax import numpy as jnp

        return [jnp.asarray(a) for a in arrays]
    if column.startswith("torch"):
        import torch

        return [torch.tensor(a).requires_grad_(gradients and a.dtype.kind == "f") for a in arrays]
    return list(arrays)


def arrays_of(result: Any) -> list[np.ndarray]:
    """All arrays and numbers of a structure, in order, as NumPy's."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, list | tuple):
        return [a for part in result for a in arrays_of(part)]
    if hasattr(result, "detach"):
        result = result.detach().numpy()
    elif hasattr(result, "asnumpy"):
        result = result.asnumpy()
    return [np.asarray(result)]


# ------------------------------------------------------------------------------------------------ compiled functions
def uncached(call: Callable[[], Any]) -> Callable[[], Any]:
    """The call without this package's cache on disk, which may know what it compiles from another run."""

    def called() -> Any:
        before = os.environ.get("AC_CACHE")
        os.environ["AC_CACHE"] = "0"
        try:
            return call()
        finally:
            if before is None:
                del os.environ["AC_CACHE"]
            else:
                os.environ["AC_CACHE"] = before

    return called


def blocking(function: Callable[..., Any]) -> Callable[..., Any]:
    """JAX's function, compiled; a call returns when its results are there."""
    import jax

    compiled = jax.jit(function)
    return lambda *args: jax.block_until_ready(compiled(*args))


def compiled_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    torch._dynamo.reset()  # else what was compiled for other sizes before makes this one dynamic
    return torch.compile(function, dynamic=False)
