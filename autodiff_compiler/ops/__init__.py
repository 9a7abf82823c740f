"""MindSpore's functional operations.

`surface` has a row for each function that only calls a primitive; the modules define those that have a body. Every
other primitive and composite that is not `internal` is here under its own name, also one that is registered later.
"""

from __future__ import annotations

from typing import Any

from . import composite as composite
from . import functional as functional
from . import operations, vocabulary

__lacking__ = operations.lacking  # also in compiled code


def __getattr__(name: str) -> Any:
    return vocabulary.attribute(globals(), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *vocabulary.names()})
