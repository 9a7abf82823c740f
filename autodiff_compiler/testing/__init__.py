"""Checks for users' own code: gradients against numerical ones, eager against compiled mode."""

from __future__ import annotations

from .gradients import GradientMismatch, check_bprop, gradcheck
from .modes import ModeMismatch, assert_modes_equal

__all__ = ["GradientMismatch", "ModeMismatch", "assert_modes_equal", "check_bprop", "gradcheck"]
