"""Rewrites as data, looked up by the name of the primitive."""

from __future__ import annotations

from . import algebra, container, control, rows, shape
from .registry import RULES, STRUCTURED

__all__ = ["RULES", "STRUCTURED", "algebra", "container", "control", "rows", "shape"]
