"""Checks for users' own code: gradients against numerical ones, eager against compiled mode."""

from __future__ import annotations

from .gradients import GradientMismatch, MeasuredGradient, check_bprop, gradcheck, gradient_errors
from .modes import ModeMismatch, assert_modes_equal

__all__ = [
    "GradientMismatch",
    "MeasuredGradient",
    "ModeMismatch",
    "assert_modes_equal",
    "check_bprop",
    "gradcheck",
    "gradient_errors",
]
