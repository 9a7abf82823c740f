"""MindSpore's functional operations."""

from __future__ import annotations

from ..transforms.grad import GradOperation, grad, value_and_grad
from . import functional, state
from .functional import *  # noqa: F403
from .state import *  # noqa: F403

__all__ = ["GradOperation", "grad", "value_and_grad"]
__all__ += functional.__all__
__all__ += state.__all__
