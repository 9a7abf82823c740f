"""The text of a picture, and how it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable

from ...whole_files import write_text
from ..compiled_call import CompiledCall
from ..links import STAGES_OF_OPS
from .dot import dot_text
from .graph import Graph, by_line, graph_of, with_one_state
from .mermaid import mermaid_text
from .svg import svg_text

FORMATS: dict[str, Callable[[Graph], str]] = {"svg": svg_text, "dot": dot_text, "mermaid": mermaid_text}
#: Up to so many nodes every op is one; beyond that, every line of the user's.
_READABLE = 300


class Picture(str):
    """The text of a picture: a `str` in the format `fmt`, which notebooks show if that is svg."""

    fmt: str

    def __new__(cls, text: str, fmt: str) -> Picture:
        made = super().__new__(cls, text)
        made.fmt = fmt
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file."""
        write_text(path, self)

    def _repr_svg_(self) -> str | None:
        return str(self) if self.fmt == "svg" else None


def folded_pictures(call: CompiledCall) -> dict[str, str]:
    """The optimised stage as svg with all states in one node, by line and, if there are not too many, by op."""
    graph = with_one_state(graph_of(call.module("opt"), call.ir("opt"), f"stage opt of {call.of}"))
    found = {"lines": svg_text(by_line(graph))}
    if len(graph.nodes) <= _READABLE:
        found["ops"] = svg_text(graph)
    return found


def picture(call: CompiledCall, stage: str, fmt: str, by: str | None) -> Picture:
    """A stage as a picture whose nodes are ops or, `by` line, lines of the user's; see `Artifact.graph`."""
    if stage not in STAGES_OF_OPS:
        raise ValueError(f"stage must be one of {', '.join(STAGES_OF_OPS)}, not {stage!r}")
    if fmt not in FORMATS:
        raise ValueError(f"fmt must be one of {', '.join(FORMATS)}, not {fmt!r}")
    if by not in ("op", "line", None):
        raise ValueError(f"by must be 'op', 'line' or None, not {by!r}")
    graph = graph_of(call.module(stage), call.ir(stage), f"stage {stage} of {call.of}")
    if by == "line" or (by is None and len(graph.nodes) > _READABLE):
        graph = by_line(graph)
    return Picture(FORMATS[fmt](graph), fmt)
