"""Passes: functions from Module to Module, by name in `PASSES`.  Importing this package registers them."""

from __future__ import annotations

from . import dce, fuse, inline, licm, memory, simplify, state, unread
from .manager import PASSES, PIPELINE, PLANNING, PassReport, dump, run
from .state import StatePlan, state_plan

__all__ = [
    "PASSES",
    "PIPELINE",
    "PLANNING",
    "PassReport",
    "StatePlan",
    "dce",
    "dump",
    "fuse",
    "inline",
    "licm",
    "memory",
    "run",
    "simplify",
    "state",
    "state_plan",
    "unread",
]
