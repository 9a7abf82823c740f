"""Draws docs/pictures/rooms.svg: the rooms of the package, which are its folders, and which of them import which.

python tools/rooms_picture.py            writes the picture
python tools/rooms_picture.py --check    fails if the imports have changed since
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from generated_pages import write_or_check
from import_graph import PACKAGE, imports_of, knots_of
from python_files import ROOT

PICTURE = ROOT / "docs" / "pictures" / "rooms.svg"
#: The folders that are drawn from inside, too, where they have folders themselves; the first is the package.
FOLDERS = ["", "compiler", "frontend", "backends", "backends.native"]
#: The modules of a folder that lie in no folder inside it are drawn one by one up to this number, else as one room.
FEW = 16
BASE, REST = "base", "other modules"
CHARACTER, BOX, ROW, GAP, MARGIN = 7.0, 24, 62, 14, 16

Edges = Counter[tuple[str, str]]


class Panel(NamedTuple):
    """A part of the picture with its size."""

    width: float
    height: float
    shapes: list[str]


def rooms(folder: str, imports: Iterable[tuple[str, str]]) -> Edges:
    """How many imports lead from room to room of a folder; modules that import no room of the package are its base."""
    prefix = f"{PACKAGE}.{folder}." if folder else f"{PACKAGE}."
    pairs = [(a.removeprefix(prefix), b.removeprefix(prefix)) for a, b in imports if _both(a, b, prefix)]
    folders = {path.parent.name for path in (ROOT / prefix.replace(".", "/")).glob("*/__init__.py")}
    loose = {name for pair in pairs for name in pair if name.partition(".")[0] not in folders}
    names = dict.fromkeys(loose, REST) if len(loose) > FEW else {}
    if not folder:
        upper = {a for a, b in pairs if a in loose and b.partition(".")[0] in folders}
        names = {name: name if name in upper else BASE for name in loose}
    found: Edges = Counter()
    for a, b in pairs:
        source, target = (names.get(name, name.partition(".")[0]) for name in (a, b))
        found[source, target] += source != target
    return +found if folders else Counter()


def _both(a: str, b: str, prefix: str) -> bool:
    """Whether both ends are modules inside the folder; nothing is drawn of scripts such as ``__main__``."""
    return all(name.startswith(prefix) and "__" not in name for name in (a, b))


def panel(title: str, edges: Edges) -> Panel:
    """The rooms in rows: each above all that it imports, but for those of a knot, which stand in one row.

    An arrow that follows from two others is left out.
    """
    knots = knots_of(edges)
    groups = {name: knot[0] for knot in knots for name in knot}
    nodes = sorted({name for edge in edges for name in edge})
    below: dict[str, set[str]] = {groups.get(name, name): set() for name in nodes}
    for a, b in edges:
        a, b = groups.get(a, a), groups.get(b, b)
        below[a] |= {b} - {a}
    reached: dict[str, set[str]] = {}
    level: dict[str, int] = {}
    for group in below:
        _visit(group, below, reached, level)
    rows: dict[int, list[str]] = defaultdict(list)
    for name in nodes:
        rows[level[groups.get(name, name)]].append(name)
    place = _places(rows, edges)
    widths = {name: CHARACTER * len(name) + 16 for name in nodes}
    full = max(sum(widths[name] + GAP for name in row) for row in rows.values())
    top, boxes = 30.0, {}
    for number in sorted(rows, reverse=True):
        row = sorted(rows[number], key=place.__getitem__)
        x = MARGIN + (full - sum(widths[name] + GAP for name in row)) / 2
        for name in row:
            boxes[name] = (x, top)
            x += widths[name] + GAP
        top += ROW
    lines = []
    for (a, b), count in sorted(edges.items()):
        source, target = groups.get(a, a), groups.get(b, b)
        beside = source == target
        if beside or not any(target in reached[other] for other in below[source]):
            (x, y), (to_x, to_y) = boxes[a], boxes[b]
            start, end = (x + widths[a] / 2, y + BOX), (to_x + widths[b] / 2, to_y + BOX * beside)
            lines.append(_arrow(start, end, f"{a} imports {b} ({count})", beside))
    texts = [_box(name, x, y, widths[name], name in groups) for name, (x, y) in boxes.items()]
    heading = f'<text x="{MARGIN}" y="18" class="title">{escape(title)}</text>'
    return Panel(full + 2 * MARGIN, top - ROW + BOX + MARGIN, [heading, *lines, *texts])


def _visit(group: str, below: dict[str, set[str]], reached: dict[str, set[str]], level: dict[str, int]) -> None:
    """Fills in what is imported directly or by others, and the number of the row, counted from below."""
    if group not in reached:
        reached[group] = set()
        for other in below[group]:
            _visit(other, below, reached, level)
            reached[group] |= {other} | reached[other]
        level[group] = 1 + max((level[other] for other in below[group]), default=-1)


def _places(rows: dict[int, list[str]], edges: Edges) -> dict[str, float]:
    """Where a room stands in its row, from 0 to 1: near those that import it and that it imports."""
    beside: dict[str, list[str]] = defaultdict(list)
    for a, b in sorted(edges):
        beside[a].append(b)
        beside[b].append(a)
    place: dict[str, float] = {}
    for _ in range(12):
        for row in rows.values():
            wanted = {name: _mean([place.get(other, 0.5) for other in beside[name]]) for name in row}
            for i, name in enumerate(sorted(row, key=lambda name: (wanted[name], name))):
                place[name] = (i + 0.5) / len(row)
    return place


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _arrow(start: tuple[float, float], end: tuple[float, float], note: str, beside: bool) -> str:
    (x, y), (to_x, to_y) = start, end
    bend = 18 if beside else (to_y - y) / 2
    middle = f"{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y + bend if beside else to_y - bend:.0f}"
    kind = ' class="knot"' if beside else ""
    return f'<path d="M{x:.0f} {y:.0f}C{middle} {to_x:.0f} {to_y:.0f}"{kind}><title>{escape(note)}</title></path>'


def _box(name: str, x: float, y: float, width: float, in_knot: bool) -> str:
    kind = ' class="knot"' if in_knot else ""
    rect = f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{BOX}" rx="4"{kind}/>'
    return f'{rect}<text x="{x + width / 2:.0f}" y="{y + 16:.0f}" text-anchor="middle">{escape(name)}</text>'


def picture() -> str:
    """The picture as SVG: the package, and right of it, one below the other, the folders from inside."""
    imports = [(x.source, x.target) for x in imports_of(ROOT, PACKAGE)]
    found = {folder: rooms(folder, imports) for folder in FOLDERS}
    whole, *parts = [panel((folder or PACKAGE).replace(".", "/") + "/", e) for folder, e in found.items() if e]
    shapes, width, height = whole.shapes, whole.width, whole.height
    x, y = width, 0.0
    for part in parts:
        if y and y + part.height > height:
            x, y = width, 0.0
        shapes += [f'<g transform="translate({x:.0f} {y:.0f})">', *part.shapes, "</g>"]
        y, width, height = y + part.height, max(width, x + part.width), max(height, y + part.height)
    style = (
        "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
        ".title{font:bold 13px sans-serif}rect{fill:#f3f6fc;stroke:#5b6bb0}"
        "path{fill:none;stroke:#98a2c3;marker-end:url(#tip)}.knot{stroke:#c0392b}"
    )
    tip = '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}"><!-- written by tools/rooms_picture.py --><style>{style}</style>'
        f'<defs>{tip}<polygon points="0 0 8 4 0 8" fill="#98a2c3"/></marker></defs>'
        '<rect width="100%" height="100%" style="fill:white;stroke:none"/>\n' + "\n".join(shapes) + "\n</svg>\n"
    )


if __name__ == "__main__":
    sys.exit(write_or_check(PICTURE, picture()))
