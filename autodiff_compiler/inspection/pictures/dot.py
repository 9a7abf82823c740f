"""A picture in the language of Graphviz."""

from __future__ import annotations

from itertools import count

from ... import escape
from .graph import Graph, Group, Node

#: Colours of nodes by kind, and of ops that a derivative made: fill, then line.
_COLOURS = {
    "op": ("#dbeafe", "#3b82f6"),
    "lines": ("#dbeafe", "#3b82f6"),
    "argument": ("#dcfce7", "#22a356"),
    "state": ("#fef9c3", "#c9a406"),
    "result": ("#86efac", "#15803d"),
    "carry": ("#f5f7fa", "#7b8794"),
}
_BACKWARD = ("#ffedd5", "#ea7317")


def dot_text(graph: Graph) -> str:
    """The text of the picture."""
    ids = {node: f"n{i}" for i, node in enumerate(graph.nodes)}
    lines = [
        "digraph G {",
        f"  label={escape.dot(graph.title)}; labelloc=t; compound=true;",
        '  graph [fontname="monospace", fontsize=11, nodesep=0.2, ranksep=0.35];',
        '  node [shape=box, style="filled,rounded", fontname="monospace", fontsize=10, height=0.3];',
        '  edge [color="#7b8794", arrowsize=0.6];',
    ]
    numbers = count()
    for child in graph.root.children:
        _item(child, ids, numbers, lines, "  ")
    for edge in graph.edges:
        kept = ' [style=dashed, color="#9061c9", constraint=false]' if edge.residual else ""
        lines.append(f"  {ids[edge.source]} -> {ids[edge.target]}{kept};")
    return "\n".join([*lines, "}", ""])


def _item(item: Node | Group, ids: dict[Node, str], numbers: count[int], lines: list[str], indent: str) -> None:
    if isinstance(item, Node):
        backward = item.part and item.kind in ("op", "lines", "carry")
        fill, line = _BACKWARD if backward else _COLOURS[item.kind]
        style = ', style="filled,dashed"' if item.part == "recomputed" else ""
        label = escape.dot(f"{item.label}\n{item.detail}" if item.detail else item.label)
        about = f", tooltip={escape.dot(item.text)}" if item.text else ""
        lines.append(f'{indent}{ids[item]} [label={label}, fillcolor="{fill}", color="{line}"{style}{about}];')
        return
    lines.append(f"{indent}subgraph cluster_{next(numbers)} {{")
    style = "dashed" if item.kind == "block" else "rounded"
    colour = "#f0c9a4" if item.part else "#cbd2d9"
    lines.append(f'{indent}  label={escape.dot(item.label)}; style={style}; color="{colour}"; labeljust=l;')
    for child in item.children:
        _item(child, ids, numbers, lines, indent + "  ")
    lines.append(f"{indent}}}")
