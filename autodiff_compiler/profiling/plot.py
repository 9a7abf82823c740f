"""A small picture of a benchmark: a bar for each mode, with the spread of its rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import escape
from ..inspection.figures import duration, times
from ..whole_files import replacing, write_text

if TYPE_CHECKING:
    from .benchmark import Benchmark, Measured

__all__ = ["plot"]

_COLOURS = {"eager": "#9aa5b1", "graph": "#2b6cb0", "native": "#2f855a", "numpy": "#b7791f"}
#: From which ratio of the slowest to the fastest on the scale is logarithmic.
_LARGE = 30.0
_WIDTH, _LABELS, _VALUES, _BAR, _GAP, _GROUP, _TOP = 640, 90, 170, 22, 6, 30, 48


def plot(found: Benchmark, path: str) -> None:
    """Writes the picture; see `Benchmark.plot`."""
    kind = str(path).rpartition(".")[2].lower()
    if kind == "svg":
        write_text(path, _svg(found))
    elif kind == "png":
        _png(found, path)
    else:
        raise ValueError(f"a plot is a .png or an .svg, not {str(path)!r}")


def _groups(rows: Sequence[Measured]) -> dict[str, list[Measured]]:
    found: dict[str, list[Measured]] = {}
    for row in rows:
        found.setdefault(row.what, []).append(row)
    return found


def _label(found: Benchmark, row: Measured) -> str:
    return f"{duration(row.median)}  ({times(found.speedup(row.mode, row.what))})"


class _Scale:
    """Where a time lies between 0 and 1."""

    def __init__(self, rows: Sequence[Measured]) -> None:
        medians = [row.median for row in rows]
        most = max(max(row.quartiles[1] for row in rows), max(medians))
        self.logarithmic = max(medians) / min(medians) > _LARGE
        self.low, self.high = min(medians) / 2, most

    def __call__(self, seconds: float) -> float:
        from math import log

        if not self.logarithmic:
            return seconds / self.high
        return max(0.0, log(max(seconds, self.low) / self.low) / log(self.high / self.low))


def _svg(found: Benchmark) -> str:
    scale, groups = _Scale(found.rows), _groups(found.rows)
    room = _WIDTH - _LABELS - _VALUES
    parts: list[str] = []
    y = _TOP
    for what, rows in groups.items():
        parts.append(f'<text x="16" y="{y + 4}" class="what">{escape.markup(what)}</text>')
        y += 14
        for row in rows:
            middle, width = y + _BAR / 2, room * scale(row.median)
            low, high = (_LABELS + room * scale(x) for x in row.quartiles)
            label = escape.markup(_label(found, row))
            parts += [
                f'<text x="{_LABELS - 8}" y="{middle + 4}" text-anchor="end">{escape.markup(row.mode)}</text>',
                f'<rect x="{_LABELS}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="2" fill="{_COLOURS[row.mode]}"/>',
                f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 4}v8M{high:.1f} {middle - 4}v8"/>',
                f'<text x="{max(_LABELS + width, high) + 8:.1f}" y="{middle + 4}">{label}</text>',
            ]
            y += _BAR + _GAP
        y += _GROUP - _GAP
    note = "time of a call, shorter is better; lines: the middle half of the rounds"
    note += "; logarithmic scale" if scale.logarithmic else ""
    style = (
        "text{font:13px sans-serif;fill:#1a202c}.title{font-weight:bold;font-size:15px}"
        ".what{font-weight:bold}.note{fill:#718096;font-size:11px}path{stroke:#1a202c;fill:none}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{y + 16}" viewBox="0 0 {_WIDTH} {y + 16}">'
        f'<style>{style}</style><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text x="16" y="24" class="title">{escape.markup(found.name)}</text>{"".join(parts)}'
        f'<text x="16" y="{y + 4}" class="note">{escape.markup(note)}</text></svg>\n'
    )


def _png(found: Benchmark, path: str) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "a PNG needs matplotlib: pip install 'autodiff-compiler[plot]', or write an .svg, which needs nothing"
        ) from None
    scale, groups = _Scale(found.rows), _groups(found.rows)
    figure = Figure(figsize=(7, 1.2 + 0.42 * len(found.rows) + 0.3 * len(groups)), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots()
    y, ticks, names = 0.0, [], []
    for what, rows in groups.items():
        for row in rows:
            low, high = row.quartiles
            spread = [[max(0.0, row.median - low) * 1e3], [max(0.0, high - row.median) * 1e3]]
            axes.barh(y, row.median * 1e3, 0.75, color=_COLOURS[row.mode], xerr=spread, capsize=3)
            axes.text(max(row.median, high) * 1e3, y, f"  {escape.markup(_label(found, row))}", va="center", fontsize=9)
            ticks.append(y)
            names.append(f"{row.mode}, {what}")
            y += 1
        y += 0.5
    axes.set_yticks(ticks, names)
    axes.invert_yaxis()
    axes.set_title(found.name, loc="left", fontsize=11, fontweight="bold")
    unit = "milliseconds a call (logarithmic)" if scale.logarithmic else "milliseconds a call"
    axes.set_xlabel(f"{unit}, median and quartiles", fontsize=9)
    if scale.logarithmic:
        axes.set_xscale("log")
    axes.margins(x=0.35)
    axes.spines[["top", "right"]].set_visible(False)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=120)
