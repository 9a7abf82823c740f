"""MindSpore's module of all functions of `ops`, which users import as `F`."""

from __future__ import annotations

from typing import Any

from . import vocabulary


def __getattr__(name: str) -> Any:
    return vocabulary.attribute(globals(), name)


def __dir__() -> list[str]:
    return vocabulary.names()
