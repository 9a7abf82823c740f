"""All names of `ops`, for the modules that offer them: `ops`, `ops.functional`, `ops.composite`."""

from __future__ import annotations

from typing import Any

from ..ir.primitive import INTERNAL, REGISTRY, call
from ..surface.table import ROWS, public
from ..transforms.custom import HookBackward, InsertGradientOf, custom_vjp
from ..transforms.grad import GradOperation, get_grad, grad, value_and_grad
from ..transforms.host import constexpr
from ..transforms.jacobian import jacfwd, jacrev, linearize
from ..transforms.jvp import jvp
from ..transforms.taylor import derivative, jet
from ..transforms.vjp import vjp
from ..transforms.vmap import vmap
from . import (
    aliases,
    array,
    basic,
    composite_functions,
    in_place,
    indexing,
    linalg,
    math,
    matrices,
    nn_func,
    operations,
    python_values,
    random,
    sequence,
    special,
    spectral,
    state,
    vision,
)

__all__ = ["named", "names"]

_TRANSFORMS = {
    f.__name__: f
    for f in (
        *(
            GradOperation,
            HookBackward,
            InsertGradientOf,
            constexpr,
            custom_vjp,
            derivative,
            get_grad,
            grad,
            jacfwd,
            jacrev,
        ),
        *(jet, jvp, linearize, value_and_grad, vjp, vmap),
    )
}
#: The modules of functions that have a body.
_WRITTEN = (
    *(aliases, array, basic, composite_functions, in_place, indexing, linalg, math, matrices, nn_func, operations),
    *(python_values, random, sequence, special, spectral, state, vision),
)
_WHERE = {name: module for module in _WRITTEN for name in module.__all__}


def names() -> list[str]:
    """All names: transformations, functions of rows, functions that have a body, and what no module here defines."""
    return sorted({*_TRANSFORMS, *ROWS, *_WHERE} | {*REGISTRY, *vars(call)} - INTERNAL)


def named(name: str) -> Any:
    """What a name stands for; AttributeError: there is none."""
    if name in ROWS:
        return getattr(public, name)
    if name in _WHERE:
        return getattr(_WHERE[name], name)
    if name in _TRANSFORMS:
        return _TRANSFORMS[name]
    if name not in INTERNAL and (name in REGISTRY or name in vars(call)):
        return getattr(call, name)
    raise operations.missing(__package__, name)
