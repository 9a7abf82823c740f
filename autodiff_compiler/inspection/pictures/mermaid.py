"""A picture in the language of Mermaid, which Markdown pages can hold."""

from __future__ import annotations

from itertools import count

from ... import escape
from .graph import Graph, Group, Node

_STYLES = {
    "op": "fill:#dbeafe,stroke:#3b82f6,color:#1f2933",
    "backward": "fill:#ffedd5,stroke:#ea7317,color:#1f2933",
    "recomputed": "fill:#ffedd5,stroke:#ea7317,color:#1f2933,stroke-dasharray:3 2",
    "argument": "fill:#dcfce7,stroke:#22a356,color:#1f2933",
    "state": "fill:#fef9c3,stroke:#c9a406,color:#1f2933",
    "result": "fill:#86efac,stroke:#15803d,color:#1f2933",
    "carry": "fill:#f5f7fa,stroke:#7b8794,color:#1f2933",
}


def mermaid_text(graph: Graph) -> str:
    """The text of the picture."""
    ids = {node: f"n{i}" for i, node in enumerate(graph.nodes)}
    lines = ["---", f"title: {escape.mermaid(graph.title)}", "---", "flowchart TD"]
    numbers = count()
    for child in graph.root.children:
        _item(child, ids, numbers, lines, "  ")
    for edge in graph.edges:
        lines.append(f"  {ids[edge.source]} {'-.->' if edge.residual else '-->'} {ids[edge.target]}")
    classes: dict[str, list[str]] = {}
    for node, name in ids.items():
        classes.setdefault(_class_of(node), []).append(name)
    for kind, names in classes.items():
        lines.append(f"  classDef {kind} {_STYLES[kind]}")
        lines.append(f"  class {','.join(names)} {kind}")
    return "\n".join([*lines, ""])


def _class_of(node: Node) -> str:
    if node.kind in ("op", "lines"):
        return "recomputed" if node.part == "recomputed" else "backward" if node.part else "op"
    return node.kind


def _item(item: Node | Group, ids: dict[Node, str], numbers: count[int], lines: list[str], indent: str) -> None:
    if isinstance(item, Node):
        label = escape.mermaid(*([item.label, item.detail] if item.detail else [item.label]))
        left, right = ("[", "]") if item.kind in ("op", "lines") else ("([", "])")
        lines.append(f"{indent}{ids[item]}{left}{label}{right}")
        return
    lines.append(f"{indent}subgraph g{next(numbers)}[{escape.mermaid(item.label)}]")
    for child in item.children:
        _item(child, ids, numbers, lines, indent + "  ")
    lines.append(f"{indent}end")
