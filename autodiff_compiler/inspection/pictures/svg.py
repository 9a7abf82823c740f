"""A picture as svg, with nothing but itself: shapes, colours, and on every node what it stands for."""

from __future__ import annotations

from ... import escape
from .graph import Edge, Graph, Group, Node
from .layout import Box, Placed, placed

_STYLE = """
.ac-graph { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.ac-graph .ground { fill: #ffffff; }
.ac-graph text { font-size: 11px; fill: #1f2933; }
.ac-graph .detail { font-size: 9px; fill: #62707f; }
.ac-graph .heading { font-size: 10px; fill: #51606e; }
.ac-graph .group rect { fill: #7b8794; fill-opacity: 0.06; stroke: #cbd2d9; }
.ac-graph .group.block > rect { fill-opacity: 0.05; stroke: #7b8794; stroke-dasharray: 6 3; }
.ac-graph .group.function > rect { fill: none; stroke: none; }
.ac-graph .group.backward > rect { fill: #f97316; stroke: #f0c9a4; }
.ac-graph .node rect { fill: #dbeafe; stroke: #3b82f6; }
.ac-graph .node.backward rect { fill: #ffedd5; stroke: #ea7317; }
.ac-graph .node.recomputed rect { stroke-dasharray: 3 2; }
.ac-graph .node.argument rect { fill: #dcfce7; stroke: #22a356; }
.ac-graph .node.state rect { fill: #fef9c3; stroke: #c9a406; }
.ac-graph .node.result rect { fill: #22a356; stroke: #15803d; }
.ac-graph .node.result text { fill: #ffffff; }
.ac-graph .node.carry rect { fill: #f5f7fa; }
.ac-graph .edge { fill: none; stroke: #7b8794; stroke-width: 1.1; }
.ac-graph .edge.backward { stroke: #ea7317; }
.ac-graph .edge.residual { stroke: #9061c9; stroke-dasharray: 5 3; opacity: 0.65; }
.ac-graph .node { cursor: pointer; }
.ac-graph .node.selected rect, .ac-graph .node:hover rect { stroke-width: 2.2; }
"""

#: The legend: class of the sample, and what it means.
_LEGEND = (
    ("node argument", "argument"),
    ("node state", "state"),
    ("node", "forward"),
    ("node backward", "adjoint"),
    ("node backward recomputed", "recomputed"),
    ("node result", "result"),
)
_MARGIN, _HEAD = 12, 46


def svg_text(graph: Graph) -> str:
    """The text of the picture."""
    found = placed(graph)
    width = max(found.root.width + 2 * _MARGIN, 10 + len(graph.title) * 6.7, 620)
    height = found.root.height + _HEAD + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ac-graph" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}">',
        f"<title>{escape.markup(graph.title)}</title>",
        f"<style>{_STYLE}</style>",
        "<defs>"
        + _arrow("arrow", "#7b8794")
        + _arrow("arrow-back", "#ea7317")
        + _arrow("arrow-kept", "#9061c9")
        + "</defs>",
        '<rect class="ground" width="100%" height="100%"/>',
        *_head(graph.title),
        f'<g transform="translate({_MARGIN},{_HEAD})">',
    ]
    lines += [_group(box) for box in found.groups]
    lines += _edges(graph.edges, found)
    lines += [_node(box, i) for i, box in enumerate(found.boxes.values())]
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _arrow(name: str, colour: str) -> str:
    return (
        f'<marker id="ac-{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
        f'orient="auto-start-reverse"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
    )


def _head(title: str) -> list[str]:
    lines = [f'<text x="{_MARGIN}" y="18">{escape.markup(title)}</text>', f'<g transform="translate({_MARGIN},26)">']
    x = 0
    for classes, means in _LEGEND:
        lines.append(f'<g class="{classes}"><rect x="{x}" y="0" width="12" height="10" rx="3"/></g>')
        lines.append(f'<text class="detail" x="{x + 16}" y="8.5">{escape.markup(means)}</text>')
        x += 30 + 6 * len(means)
    lines.append(f'<path class="edge residual" d="M{x},5 h24"/>')
    lines.append(f'<text class="detail" x="{x + 28}" y="8.5">kept for the backward pass</text>')
    return [*lines, "</g>"]


def _classes(kind: str, part: str) -> str:
    return " ".join([kind, *(["backward"] if part else []), *([part] if part == "recomputed" else [])])


def _group(box: Box) -> str:
    group = box.item
    assert isinstance(group, Group)
    classes = _classes(f"group {group.kind}", group.part)
    line = f' data-line="{escape.markup(str(group.place))}"' if group.place is not None else ""
    heading = ""
    if group.label:
        heading = f'<text class="heading" x="{box.x + 8:.1f}" y="{box.y + 14:.1f}">{escape.markup(group.label)}</text>'
    return (
        f'<g class="{classes}"{line}><rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="6"/>{heading}</g>'
    )


def _node(box: Box, number: int) -> str:
    node = box.item
    assert isinstance(node, Node)
    about = {
        "id": f"n{number}",
        "data-op": node.op,
        "data-values": " ".join(node.values),
        "data-line": str(node.place) if node.place is not None else "",
        "data-part": node.part,
        "data-ir-line": str(node.ir_line) if node.ir_line is not None else "",
    }
    attributes = "".join(f' {name}="{escape.markup(value)}"' for name, value in about.items() if value)
    round_ = box.height / 2 if node.kind in ("argument", "state", "result", "carry") else 4
    lines = [
        f'<g class="{_classes(f"node {node.kind}", node.part)}"{attributes}>',
        f"<title>{escape.markup(node.text)}</title>" if node.text else "",
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{round_:.1f}"/>',
        f'<text x="{box.middle:.1f}" y="{box.y + 14:.1f}" text-anchor="middle">{escape.markup(node.label)}</text>',
    ]
    if node.detail:
        at = f'x="{box.middle:.1f}" y="{box.y + 26:.1f}"'
        lines.append(f'<text class="detail" {at} text-anchor="middle">{escape.markup(node.detail)}</text>')
    return "".join([*lines, "</g>"])


# ------------------------------------------------------------------------------------------------ edges
def _edges(edges: list[Edge], found: Placed) -> list[str]:
    arriving: dict[Node, list[Edge]] = {}
    for edge in edges:
        arriving.setdefault(edge.target, []).append(edge)
    lines = []
    for edge in edges:
        others = arriving[edge.target]
        share = (others.index(edge) + 1) / (len(others) + 1) if len(others) > 1 else 0.5
        path = _path(found.boxes[edge.source], found.boxes[edge.target], share)
        back = bool(edge.source.part and edge.target.part)
        kind, arrow = (
            ("residual", "arrow-kept") if edge.residual else ("backward", "arrow-back") if back else ("", "arrow")
        )
        lines.append(f'<path class="{f"edge {kind}".strip()}" d="{path}" marker-end="url(#ac-{arrow})"/>')
    return lines


def _path(a: Box, b: Box, share: float) -> str:
    """From the side of one box to the side of another that faces it; `share` is where along the side it arrives."""
    if b.y >= a.y + a.height or b.y + b.height <= a.y:  # one is above the other
        down = b.y >= a.y + a.height
        x1, y1 = a.middle, a.y + a.height if down else a.y
        x2, y2 = b.x + b.width * share, b.y if down else b.y + b.height
        bend = max(8.0, min(60.0, abs(y2 - y1) / 2)) * (1 if down else -1)
        return f"M{x1:.1f},{y1:.1f} C{x1:.1f},{y1 + bend:.1f} {x2:.1f},{y2 - bend:.1f} {x2:.1f},{y2:.1f}"
    right = b.middle >= a.middle
    x1, y1 = a.x + a.width if right else a.x, a.y + a.height / 2
    x2, y2 = b.x if right else b.x + b.width, b.y + b.height * share
    bend = max(10.0, min(80.0, abs(x2 - x1) / 2)) * (1 if right else -1)
    return f"M{x1:.1f},{y1:.1f} C{x1 + bend:.1f},{y1:.1f} {x2 - bend:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
