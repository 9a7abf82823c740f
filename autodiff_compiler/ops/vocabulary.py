"""All names of `ops`, for the modules that offer them: `ops`, `ops.functional`, `ops.composite`."""

from __future__ import annotations

from typing import Any

from ..ir.primitive import INTERNAL, REGISTRY, call
from ..transforms.custom import custom_vjp
from ..transforms.grad import GradOperation, get_grad, grad, value_and_grad
from ..transforms.host import constexpr
from ..transforms.jacobian import jacfwd, jacrev, linearize
from ..transforms.jvp import jvp
from ..transforms.taylor import derivative, jet
from ..transforms.vjp import vjp
from ..transforms.vmap import vmap
from . import operations
from .functions import NAMES, functions

__all__ = ["attribute", "names"]

#: `operations` has `HookBackward` and `InsertGradientOf`.
_TRANSFORMS: dict[str, Any] = {
    "GradOperation": GradOperation,
    "constexpr": constexpr,
    "custom_vjp": custom_vjp,
    "derivative": derivative,
    "get_grad": get_grad,
    "grad": grad,
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "jet": jet,
    "jvp": jvp,
    "linearize": linearize,
    "value_and_grad": value_and_grad,
    "vjp": vjp,
    "vmap": vmap,
}


def names() -> list[str]:
    """All names: transformations, functions, operator classes, and what no module here defines."""
    return sorted({*_TRANSFORMS, *NAMES, *operations.names()} | {*REGISTRY, *vars(call)} - INTERNAL)


def attribute(space: dict[str, Any], name: str) -> Any:
    """What a module with these globals has under a name, noted there: it is looked up once."""
    if name == "__all__":
        return names()
    return space.setdefault(name, _named(name))


def _named(name: str) -> Any:
    """What a name stands for; AttributeError: there is none."""
    if name in NAMES:
        return getattr(functions, name)
    if name in _TRANSFORMS:
        return _TRANSFORMS[name]
    if name in operations.names():
        return getattr(operations, name)
    if name not in INTERNAL and (name in REGISTRY or name in vars(call)):
        return getattr(call, name)
    raise operations.missing(__package__, name)
