"""MindSpore's functional operations.

The modules define those whose names or arguments are MindSpore's own. Every other primitive and composite that is not
`internal` is here under its own name, also one that is registered later.
"""

from __future__ import annotations

from typing import Any

from . import composite as composite
from . import functional as functional
from . import operations, vocabulary
from .vocabulary import *  # noqa: F403

__all__: list[str] = []
__all__ += vocabulary.__all__
__all__ += vocabulary.others()

__lacking__ = operations.lacking  # also in compiled code


def __getattr__(name: str) -> Any:
    return vocabulary.other(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *vocabulary.others()})
