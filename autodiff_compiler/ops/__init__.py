"""MindSpore's functional operations.

The modules define those whose names or arguments are MindSpore's own. Every other primitive and composite that is not
`internal` is here under its own name, also one that was added a moment ago.
"""

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
    composite,
    functional,
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
from .composite import *  # noqa: F403
from .functional import *  # noqa: F403
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
__all__ += composite.__all__[1:]  # all but GradOperation
__all__ += functional.__all__
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


def _others() -> set[str]:
    """The names of what no module here defines."""
    return {name for name in (*REGISTRY, *vars(call)) if name not in INTERNAL and name not in globals()}


__all__ += sorted(_others())


__lacking__ = operations.lacking  # compiled code asks for it


def __getattr__(name: str) -> Any:
    if name not in INTERNAL and (name in REGISTRY or name in vars(call)):
        return getattr(call, name)
    raise operations.missing(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_others()})
