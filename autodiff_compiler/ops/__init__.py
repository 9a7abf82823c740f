"""MindSpore's functional operations."""

from __future__ import annotations

from ..transforms.grad import GradOperation, grad, value_and_grad
from . import functional, math, state
from .functional import *  # noqa: F403
from .math import *  # noqa: F403
from .state import *  # noqa: F403

__all__ = ["GradOperation", "grad", "value_and_grad"]
__all__ += functional.__all__
__all__ += math.__all__
__all__ += state.__all__
