"""Why names of MindSpore's are not here."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

__all__ = ["entries", "reason"]


@functools.cache
def entries() -> list[dict[str, Any]]:
    """The entries of `absent.toml`: a reason, and the names it is for by section."""
    import tomllib

    found: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("absent.toml").read_text("utf-8"))["absent"]
    return found


def reason(place: str, name: str) -> str | None:
    """Why a name of a MindSpore module (without its root) does not exist here; None if no reason is given."""
    found: dict[str, str] = {}
    for entry in entries():
        for section, names in entry["names"].items():
            root, _, inner = section.partition(" ")[0].partition(".")
            if root == "mindspore" and f"{place}.".startswith(inner and f"{inner}.") and name in names.split():
                found[inner] = entry["reason"]
    return found[max(found, key=len)] if found else None
