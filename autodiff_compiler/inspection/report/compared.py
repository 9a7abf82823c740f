"""The page of a comparison: figures, time by line, decisions, and the stages of two calls line beside line."""

from __future__ import annotations

from typing import Any

from ... import escape
from ..comparison import Comparison
from ..links import STAGES_OF_OPS
from .files import as_data, file_text, filled

_SCRIPTS = ("texts.js", "compared.js")


def compared_page(comparison: Comparison) -> str:
    """The page as text: one file that needs no network."""
    parts = {
        "title": escape.markup(" against ".join(comparison.names)),
        "style": file_text("colours.css") + file_text("compared.css"),
        "script": "".join(map(file_text, _SCRIPTS)),
        "data": as_data(compared_data(comparison)),
    }
    return filled("compared.html", parts)


def compared_data(comparison: Comparison) -> dict[str, Any]:
    """All that the page shows, as JSON has it."""
    figures = [
        [x.what, *["" if v is None else x.shown(v) for v in (x.before, x.after)], x.change] for x in comparison.figures
    ]
    return {
        "names": comparison.names,
        "measured": comparison.measured,
        "figures": figures,
        "lines": [[x.place, x.text, *x.seconds] for x in comparison.lines],
        "decisions": comparison.decisions,
        "stages": {stage: comparison.pairs(stage) for stage in STAGES_OF_OPS},
    }
