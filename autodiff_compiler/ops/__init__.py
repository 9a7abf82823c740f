"""MindSpore's functional operations."""

from __future__ import annotations

from .functional import *  # noqa: F403
from .state import assign, assign_add, assign_sub
