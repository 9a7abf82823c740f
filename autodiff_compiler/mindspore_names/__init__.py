"""MindSpore's module names for this package: `as_mindspore`, and the table of places behind it."""

from __future__ import annotations

from .importer import MindSporeNames, as_mindspore

__all__ = ["MindSporeNames", "as_mindspore"]
