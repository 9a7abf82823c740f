"""Measurement: times of compiled and eager code by kernel, op and line (`profile`), and of modes (`benchmark`)."""

from __future__ import annotations

from .benchmark import Benchmark, Measured, benchmark
from .profile import Profile, profile

__all__ = ["Benchmark", "Measured", "Profile", "benchmark", "profile"]
