"""All names of `ops`, for the modules that offer them: `ops`, `ops.functional`, `ops.composite`."""

from __future__ import annotations

from typing import Any

from ..ir.primitive import INTERNAL, REGISTRY, call
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
from .aliases import *  # noqa: F403
from .array import *  # noqa: F403
from .basic import *  # noqa: F403
from .composite_functions import *  # noqa: F403
from .in_place import *  # noqa: F403
from .indexing import *  # noqa: F403
from .linalg import *  # noqa: F403
from .math import *  # noqa: F403
from .matrices import *  # noqa: F403
from .nn_func import *  # noqa: F403
from .operations import *  # noqa: F403
from .python_values import *  # noqa: F403
from .random import *  # noqa: F403
from .sequence import *  # noqa: F403
from .special import *  # noqa: F403
from .spectral import *  # noqa: F403
from .state import *  # noqa: F403
from .vision import *  # noqa: F403

__all__ = [
    "GradOperation",
    "HookBackward",
    "InsertGradientOf",
    "constexpr",
    "custom_vjp",
    "derivative",
    "get_grad",
    "grad",
    "jacfwd",
    "jacrev",
    "jet",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
    "vmap",
]
__all__ += aliases.__all__
__all__ += array.__all__
__all__ += basic.__all__
__all__ += composite_functions.__all__
__all__ += in_place.__all__
__all__ += indexing.__all__
__all__ += linalg.__all__
__all__ += math.__all__
__all__ += matrices.__all__
__all__ += nn_func.__all__
__all__ += operations.__all__
__all__ += python_values.__all__
__all__ += random.__all__
__all__ += sequence.__all__
__all__ += special.__all__
__all__ += spectral.__all__
__all__ += state.__all__
__all__ += vision.__all__


def others() -> list[str]:
    """The names of primitives and composites that no module here defines."""
    return sorted({*REGISTRY, *vars(call)} - INTERNAL - globals().keys())


def other(name: str) -> Any:
    """The function of a primitive or composite that no module here defines; AttributeError: there is none."""
    if name not in INTERNAL and (name in REGISTRY or name in vars(call)):
        return getattr(call, name)
    raise operations.missing(__package__, name)
