"""The bar chart of a benchmark: a bar for each mode, with the spread of its rounds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import log
from typing import Any, NamedTuple

from .. import escape
from ..whole_files import replacing, write_text

__all__ = ["Bar", "plot"]

_COLOURS = {"eager": "#9aa5b1", "graph": "#2b6cb0", "native": "#2f855a", "numpy": "#b7791f"}
#: The ratio of the slowest to the fastest mode above which the scale is logarithmic.
_LARGE = 30.0
_WIDTH, _LABELS, _VALUES, _BAR, _GAP, _GROUP, _TOP = 640, 90, 170, 22, 6, 30, 48


class Bar(NamedTuple):
    """A mode: its median in seconds, the quartiles and its label; adjacent bars of one `what` are a group."""

    what: str
    mode: str
    median: float
    low: float
    high: float
    label: str


def plot(name: str, bars: Sequence[Bar], path: str) -> None:
    """Writes the picture; see `Benchmark.plot`."""
    kind = str(path).rpartition(".")[2].lower()
    if kind == "svg":
        write_text(path, _svg(name, bars))
    elif kind == "png":
        _png(name, bars, path)
    else:
        raise ValueError(f"a plot is a .png or an .svg, not {str(path)!r}")


def _groups(bars: Sequence[Bar]) -> list[tuple[str, list[Bar]]]:
    return [(what, [*group]) for what, group in groupby(bars, lambda bar: bar.what)]


class _Scale:
    """The scale of the axis: a time as a number between 0 and 1."""

    def __init__(self, bars: Sequence[Bar]) -> None:
        medians = [bar.median for bar in bars]
        most = max(*[bar.high for bar in bars], *medians)
        self.logarithmic = max(medians) / min(medians) > _LARGE
        self.low, self.high = min(medians) / 2, most

    def __call__(self, seconds: float) -> float:
        if not self.logarithmic:
            return seconds / self.high
        return max(0.0, log(max(seconds, self.low) / self.low) / log(self.high / self.low))


def _svg(title: str, bars: Sequence[Bar]) -> str:
    scale = _Scale(bars)
    room = _WIDTH - _LABELS - _VALUES
    parts: list[str] = []
    y = _TOP
    for what, group in _groups(bars):
        parts.append(f'<text x="16" y="{y + 4}" class="what">{escape.markup(what)}</text>')
        y += 14
        for bar in group:
            middle, width = y + _BAR / 2, room * scale(bar.median)
            low, high = (_LABELS + room * scale(x) for x in (bar.low, bar.high))
            parts += [
                f'<text x="{_LABELS - 8}" y="{middle + 4}" text-anchor="end">{escape.markup(bar.mode)}</text>',
                f'<rect x="{_LABELS}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="2" fill="{_COLOURS[bar.mode]}"/>',
                f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 4}v8M{high:.1f} {middle - 4}v8"/>',
                f'<text x="{max(_LABELS + width, high) + 8:.1f}" y="{middle + 4}">{escape.markup(bar.label)}</text>',
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
        f'<text x="16" y="24" class="title">{escape.markup(title)}</text>{"".join(parts)}'
        f'<text x="16" y="{y + 4}" class="note">{escape.markup(note)}</text></svg>\n'
    )


def _png(title: str, bars: Sequence[Bar], path: str) -> None:
    try:  # optional
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "a PNG needs matplotlib: pip install 'autodiff-compiler[plot]', or write an .svg, which needs nothing"
        ) from None
    scale, groups = _Scale(bars), _groups(bars)
    figure = Figure(figsize=(7, 1.2 + 0.42 * len(bars) + 0.3 * len(groups)), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots()
    y, ticks, names = 0.0, [], []
    for what, group in groups:
        for bar in group:
            spread = [[max(0.0, bar.median - bar.low) * 1e3], [max(0.0, bar.high - bar.median) * 1e3]]
            axes.barh(y, bar.median * 1e3, 0.75, color=_COLOURS[bar.mode], xerr=spread, capsize=3)
            axes.text(max(bar.median, bar.high) * 1e3, y, f"  {escape.markup(bar.label)}", va="center", fontsize=9)
            ticks.append(y)
            names.append(f"{bar.mode}, {what}")
            y += 1
        y += 0.5
    axes.set_yticks(ticks, names)
    axes.invert_yaxis()
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    unit = "milliseconds a call (logarithmic)" if scale.logarithmic else "milliseconds a call"
    axes.set_xlabel(f"{unit}, median and quartiles", fontsize=9)
    if scale.logarithmic:
        axes.set_xscale("log")
    axes.margins(x=0.35)
    axes.spines[["top", "right"]].set_visible(False)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=120)
