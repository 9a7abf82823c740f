"""MindSpore's `ops.composite`: all functions of `ops`, among them those over nested values."""

from __future__ import annotations

from typing import Any

from . import vocabulary


def __getattr__(name: str) -> Any:
    return vocabulary.attribute(globals(), name)


def __dir__() -> list[str]:
    return vocabulary.names()
