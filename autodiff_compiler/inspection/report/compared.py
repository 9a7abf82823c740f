"""The page of a comparison: figures, time by line, decisions, and the stages of two calls line beside line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ... import escape
from .files import as_data, file_text, filled

_SCRIPTS = ("texts.js", "compared.js")


def compared_page(names: Sequence[str], data: Mapping[str, Any]) -> str:
    """The page as text: one file that needs no network; `data` is all that it shows, as JSON has it."""
    parts = {
        "title": escape.markup(" against ".join(names)),
        "style": file_text("colours.css") + file_text("compared.css"),
        "script": "".join(map(file_text, _SCRIPTS)),
        "data": as_data(data),
    }
    return filled("compared.html", parts)
