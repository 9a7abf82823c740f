"""Measuring: what compiled and eager code takes, by kernel, op and line (`profile`), and one mode against another
(`benchmark`)."""

from __future__ import annotations

from .benchmark import Benchmark, Measured, benchmark
from .profile import Profile, profile

__all__ = ["Benchmark", "Measured", "Profile", "benchmark", "profile"]
