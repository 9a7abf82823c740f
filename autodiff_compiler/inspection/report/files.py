"""The files that a page is made of, put together to one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

_SLOT = re.compile(r"\{\{(\w+)\}\}")


def filled(name: str, parts: Mapping[str, str]) -> str:
    """The text of a page whose slots ``{{name}}`` hold these parts."""
    return _SLOT.sub(lambda slot: parts[slot[1]], file_text(name))


def file_text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def as_data(data: Any) -> str:
    """Data inside a script element: no tag can begin there, though a source may contain "</script>"."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
