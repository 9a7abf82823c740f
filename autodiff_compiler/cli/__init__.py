"""The command line: ``python -m autodiff_compiler``, or ``autodiff-compiler``.  One module per command."""

from __future__ import annotations

from .entry import main

__all__ = ["main"]
