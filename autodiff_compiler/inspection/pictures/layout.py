"""Layered graph layout: layers inside nested groups, the backward pass beside the forward pass.

The ops of a block are in an order in which each comes after those it depends on; so are groups that follow each other.
A layer holds what depends on nothing in it.  In a function the forward pass runs down, the backward pass up again
on its right, so that a line and its adjoint stand at about one height.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .graph import Edge, Graph, Group, Item, Node

#: Pixels: between layers and neighbours, around what a group holds, for its title, between columns.
_BETWEEN, _BESIDE, _AROUND, _TITLE, _COLUMNS = 26.0, 14.0, 10.0, 20.0, 70.0
#: Width of a character of labels and of details.
_LABEL, _DETAIL, _HEADING = 6.7, 5.6, 6.1
#: No row is wider, if it holds several boxes.
_WIDEST = 900.0
#: At most so many times the direction turns.
_TURNS = 4


@dataclass(eq=False)
class Box:
    """The place of a node or group; x and y are those of its upper left corner."""

    item: Item
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    inside: list[Box] = field(default_factory=list)

    def move(self, dx: float, dy: float) -> None:
        stack = [self]
        while stack:
            box = stack.pop()
            box.x, box.y = box.x + dx, box.y + dy
            stack += box.inside

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass
class Placed:
    """All boxes, those around others first."""

    root: Box
    boxes: dict[Node, Box]
    groups: list[Box]


def placed(graph: Graph) -> Placed:
    """The places of all nodes and groups."""
    layout = _Layout(graph)
    root = layout.group(graph.root, up=False)
    boxes: dict[Node, Box] = {}
    groups: list[Box] = []
    stack = [root]
    while stack:
        box = stack.pop()
        if isinstance(box.item, Node):
            boxes[box.item] = box
        else:
            groups.append(box)
        stack += reversed(box.inside)
    return Placed(root, boxes, groups)


class _Layout:
    def __init__(self, graph: Graph) -> None:
        self.parent: dict[Item, Group] = {}
        self.depth: dict[Item, int] = {graph.root: 0}
        stack = [graph.root]
        while stack:
            group = stack.pop()
            for child in group.children:
                self.parent[child], self.depth[child] = group, self.depth[group] + 1
                if isinstance(child, Group):
                    stack.append(child)
        #: for each group, which of its children depend on which
        self.edges: dict[Group, list[tuple[Item, Item]]] = {}
        for edge in graph.edges:
            self._lift(edge)

    def _lift(self, edge: Edge) -> None:
        """Notes the edge where its ends are in two children of one group."""
        a: Item = edge.source
        b: Item = edge.target
        while self.parent.get(a) is not self.parent.get(b):
            if self.depth[a] >= self.depth[b]:
                a = self.parent[a]
            else:
                b = self.parent[b]
        if a is not b:
            self.edges.setdefault(self.parent[a], []).append((a, b))

    def group(self, group: Group, *, up: bool) -> Box:
        """A group with everything in it, at the origin."""
        edges = self.edges.get(group, [])
        if group.kind == "function":
            inside = self._columns(group.children, edges)
        else:
            inside = self._layers(group.children, [*edges, *_heads(group, edges)], up=up)
        title = _TITLE if group.label else 0.0
        width = max((b.x + b.width for b in inside), default=0.0)
        height = max((b.y + b.height for b in inside), default=0.0)
        whole = max(width, len(group.label) * _HEADING)
        for box in inside:
            box.move(_AROUND + (whole - width) / 2, _AROUND / 2 + title)
        width = whole + 2 * _AROUND
        return Box(group, width, height + title + 1.5 * _AROUND, inside=inside)

    def _box(self, item: Item, *, up: bool) -> Box:
        if isinstance(item, Group):
            return self.group(item, up=up)
        width = max(len(item.label) * _LABEL, len(item.detail) * _DETAIL) + 16
        return Box(item, width, 32.0 if item.detail else 20.0)

    # ------------------------------------------------------------------------------------------- columns
    def _columns(self, children: Sequence[Item], edges: list[tuple[Item, Item]]) -> list[Box]:
        """Forward down, backward up beside it, and what comes then down again."""
        runs = _runs(children, edges)
        columns: list[list[Box]] = []
        x, level = 0.0, 0.0
        for back, items in runs:
            mine = set(items)
            boxes = self._layers(items, [(a, b) for a, b in edges if a in mine and b in mine], up=back)
            height = max(b.y + b.height for b in boxes)
            y = level - height if back else level  # up from where the last column ended, or down from there
            for box in boxes:
                box.move(x, y)
            level = y if back else y + height
            x = max(b.x + b.width for b in boxes) + _COLUMNS
            columns.append(boxes)
        highest = min((b.y for boxes in columns for b in boxes), default=0.0)
        for boxes in columns:
            for box in boxes:
                box.move(0, -highest)
        return [box for boxes in columns for box in boxes]

    # ------------------------------------------------------------------------------------------- layers
    def _layers(self, items: Sequence[Item], edges: list[tuple[Item, Item]], *, up: bool) -> list[Box]:
        order = {item: i for i, item in enumerate(items)}
        above: dict[Item, set[Item]] = {item: set() for item in items}
        below: dict[Item, set[Item]] = {item: set() for item in items}
        for a, b in edges:
            if order[a] < order[b]:
                above[b].add(a)
                below[a].add(b)
        level: dict[Item, int] = {}
        for item in items:
            level[item] = max((level[a] + 1 for a in above[item]), default=0)
        for item in reversed(items):  # what depends on nothing stands near those that need it
            if not above[item] and below[item]:
                level[item] = max(0, min(level[b] for b in below[item]) - 1)
        rows: list[list[Box]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
        boxes = {item: self._box(item, up=up) for item in items}
        for item in items:
            rows[level[item]].append(boxes[item])
        rows = [part for row in rows for part in _parts(row)]
        for turn in range(3):
            near = below if turn == 1 else above
            for row in reversed(rows) if turn == 1 else rows:
                _arrange(row, {b: [boxes[n].middle for n in near[b.item]] for b in row})
        y = 0.0
        for row in reversed(rows) if up else rows:
            height = max((b.height for b in row), default=0.0)
            for box in row:
                box.move(0, y + (height - box.height) / 2 - box.y)
            y += height + _BETWEEN if row else 0.0
        left = min((b.x for b in boxes.values()), default=0.0)
        for box in boxes.values():
            box.move(-left, 0)
        return list(boxes.values())


def _runs(children: Sequence[Item], edges: list[tuple[Item, Item]]) -> list[tuple[bool, list[Item]]]:
    """The columns: whether each is of the backward pass, and its items.

    Values from outside stand with the first that reads them, results with what makes them.
    """
    inner = [c for c in children if isinstance(c, Group) or c.kind in ("op", "lines")]
    runs: list[tuple[bool, list[Item]]] = []
    of: dict[Item, int] = {}
    for child in inner:
        back = bool(child.part)
        if not runs or (runs[-1][0] is not back and len(runs) <= _TURNS):
            runs.append((back, []))
        of[child] = len(runs) - 1
    if not runs:
        return [(False, list(children))] if children else []
    for a, b in edges:
        if b in of and a not in of:  # read first: edges are in the order of the text
            of[a] = of[b]
        elif a in of and b not in of:
            of[b] = of[a]
    for child in children:
        runs[of.get(child, 0)][1].append(child)
    return runs


def _heads(group: Group, edges: list[tuple[Item, Item]]) -> list[tuple[Item, Item]]:
    """What a branch or loop is asked stands before all that it decides about, and what it only counts behind."""
    connected = {item for pair in edges for item in pair}
    alone = [c for c in group.children if isinstance(c, Node) and c.kind == "carry" and c not in connected]
    pairs: list[tuple[Item, Item]] = []
    for place, other in enumerate(group.children):
        if isinstance(other, Group):
            pairs += [(c, other) if group.children.index(c) < place else (other, c) for c in alone]
    return pairs


def _parts(row: list[Box]) -> list[list[Box]]:
    """A row as several of them, if it is very wide."""
    width = sum(b.width + _BESIDE for b in row)
    if width <= _WIDEST or len(row) < 3:
        return [row]
    count = -(-int(width) // int(_WIDEST))
    size = -(-len(row) // count)
    return [row[i : i + size] for i in range(0, len(row), size)]


def _arrange(row: list[Box], near: dict[Box, list[float]]) -> None:
    """Puts the boxes of a row near what they are connected with, without overlap."""
    wanted = {b: sum(near[b]) / len(near[b]) if near[b] else b.middle for b in row}
    row.sort(key=lambda b: wanted[b])
    x = float("-inf")
    for box in row:
        to = max(x, wanted[box] - box.width / 2)
        box.move(to - box.x, 0)
        x = to + box.width + _BESIDE
    # pushed to the right only, the row stands too far there: by how much on average, it moves back as a whole
    off = sum(b.middle - wanted[b] for b in row) / max(len(row), 1)
    for box in row:
        box.move(-off, 0)
