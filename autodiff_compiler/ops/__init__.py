"""MindSpore's functional operations."""

from __future__ import annotations

from ..transforms.grad import GradOperation, grad, value_and_grad
from ..transforms.jacobian import jacfwd, jacrev
from ..transforms.jvp import jvp
from ..transforms.vjp import vjp
from ..transforms.vmap import vmap
from . import array, array_classes, functional, indexing, linalg, math, nn_func, random, state
from .array import *  # noqa: F403
from .array_classes import *  # noqa: F403
from .functional import *  # noqa: F403
from .indexing import *  # noqa: F403
from .linalg import *  # noqa: F403
from .math import *  # noqa: F403
from .nn_func import *  # noqa: F403
from .random import *  # noqa: F403
from .state import *  # noqa: F403

__all__ = ["GradOperation", "grad", "jacfwd", "jacrev", "jvp", "value_and_grad", "vjp", "vmap"]
__all__ += array.__all__
__all__ += array_classes.__all__
__all__ += functional.__all__
__all__ += indexing.__all__
__all__ += linalg.__all__
__all__ += math.__all__
__all__ += nn_func.__all__
__all__ += random.__all__
__all__ += state.__all__
