"""Frozen dataclasses of users as containers: their fields are their elements, as those of a NamedTuple are."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

__all__ = ["record_fields", "with_fields"]

_PACKAGE = __name__.partition(".")[0]


def record_fields(x: Any) -> tuple[str, ...] | None:
    """The names of the fields of an instance of a user's frozen dataclass; None for everything else."""
    cls = type(x)
    params = getattr(cls, "__dataclass_params__", None)
    if params is None or not params.frozen or cls.__module__.partition(".")[0] == _PACKAGE:
        return None
    return tuple(f.name for f in fields(x))


def with_fields(x: Any, items: Sequence[Any]) -> Any:
    """A copy of such an instance with other values of its fields; its `__init__` does not run."""
    made = copy.copy(x)
    for name, item in zip(record_fields(x) or (), items, strict=True):
        object.__setattr__(made, name, item)
    return made
