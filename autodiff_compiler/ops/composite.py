"""MindSpore's `ops.composite`: all functions of `ops`, among them those over nested values."""

from __future__ import annotations

from typing import Any

from . import vocabulary
from .vocabulary import *  # noqa: F403

__all__: list[str] = []
__all__ += vocabulary.__all__


def __getattr__(name: str) -> Any:
    return vocabulary.other(name)
