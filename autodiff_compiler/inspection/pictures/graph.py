"""What a picture of a module shows: nodes in groups, and edges between nodes.

A node is an op, or a value that comes from outside (an argument, a state, what a loop carries) or leaves (a result).
Groups are the user's lines, as long as one follows the other, and the blocks of control flow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ...ir.core import Block, Function, Module, Op, Value
from ...ir.text import FunctionPrinter
from ...ir.walk import uses
from ..links import Place, chain_of, lines_of, located, part_of

#: How many characters of a user's line, or of attributes, are shown.
_LONGEST_LINE, _LONGEST_ATTRIBUTE = 60, 18


@dataclass(eq=False)
class Node:
    """A box: `kind` is "op", "lines" (several ops), "argument", "state", "result" or "carry".

    `text` is the line of the dump, whose number is `ir_line`; `part` what a transformation made of the user's line.
    """

    label: str
    detail: str = ""
    kind: str = "op"
    part: str = ""
    op: str = ""
    values: tuple[str, ...] = ()
    place: Place | None = None
    ir_line: int | None = None
    text: str = ""


@dataclass(eq=False)
class Group:
    """Boxes inside a frame: `kind` is "line", "block" or "function"."""

    label: str
    kind: str
    part: str = ""
    place: Place | None = None
    children: list[Item] = field(default_factory=list)

    def nodes(self) -> Iterator[Node]:
        for child in self.children:
            if isinstance(child, Group):
                yield from child.nodes()
            else:
                yield child


Item: TypeAlias = Node | Group


@dataclass(frozen=True)
class Edge:
    """A use of a value; a `residual` edge leads from the forward to the backward pass."""

    source: Node
    target: Node
    residual: bool = False


@dataclass
class Graph:
    """The whole picture; the children of `root` are functions, or what the only function holds."""

    title: str
    root: Group
    edges: list[Edge]

    @property
    def nodes(self) -> list[Node]:
        return list(self.root.nodes())


def graph_of(module: Module, text: str, title: str) -> Graph:
    """The graph of a module, whose dump is `text`."""
    maker = _Maker(module, text)
    groups = [maker.function(f) for f in module]
    if len(groups) == 1:
        groups[0].label = ""  # the title says it
        return Graph(title, groups[0], maker.edges)
    return Graph(title, Group("", "function", children=[*groups]), maker.edges)


class _Maker:
    def __init__(self, module: Module, text: str) -> None:
        self.module, self.lines = module, lines_of(text)
        self.places = {op: (line, names) for line, op, names in located(module, text)}
        self.edges: list[Edge] = []
        self.of: dict[Value, Node] = {}
        self.names: dict[Value, str] = {}

    # ------------------------------------------------------------------------------------------- functions
    def function(self, function: Function) -> Group:
        printer = FunctionPrinter(places=False)
        printer.function(function)
        self.names = printer.names
        group = Group(f"@{function.name}", "function")
        states = len(self.module.inputs) if function is self.module.entry else 0
        first_state = len(function.args) - states
        for i, arg in enumerate(function.args):
            group.children.append(self._value(arg, "argument" if i < first_state else "state"))
        self._block(function.body, group)
        written = self.module.outputs if function is self.module.entry else ()
        for i, out in enumerate(function.outs):
            at = i - (len(function.outs) - len(written))
            label = (
                f"new {written[at]}"
                if at >= 0
                else f"result {i}"
                if len(function.outs) - len(written) > 1
                else "result"
            )
            node = Node(label, repr(out.type), "state" if at >= 0 else "result", part=self._part_of(out))
            group.children.append(node)
            self._edge(out, node)
        return group

    def _value(self, value: Value, kind: str, part: str = "") -> Node:
        """A value that is there without an op."""
        name = self.names.get(value, "%?")[1:]
        node = Node(name, repr(value.type), kind, part, values=(f"%{name}",))
        self.of[value] = node
        return node

    def _part_of(self, value: Value) -> str:
        return part_of(value.op.loc) if value.op is not None else ""

    def _edge(self, value: Value, target: Node) -> None:
        source = self.of.get(value)
        if source is None:
            if value.constant is not None and target.kind != "op" and target.detail:
                target.detail = f"{_number(value.constant)}  {value.type!r}"  # what a loop begins with, or a result
            return
        residual = not source.part and bool(target.part) and source.kind != "argument" and source.kind != "state"
        self.edges.append(Edge(source, target, residual))

    # ------------------------------------------------------------------------------------------- ops
    def _block(self, block: Block, into: Group) -> None:
        line: Group | None = None
        for op in block.ops:
            if op.defn.name == "undef" or (op.defn.name == "const" and op.results[0].constant is not None):
                continue  # those that read a number show it
            part, chain = part_of(op.loc), chain_of(op.loc)
            if op.blocks:
                line = None
                into.children.append(self._structured(op, part, chain))
                continue
            place = chain[0] if chain else None
            if line is None or (line.place, line.part) != (place, part):
                line = Group(_line_label(place, part), "line", part, place)
                into.children.append(line)
            line.children.append(self._op(op, part, place))

    def _op(self, op: Op, part: str, place: Place | None) -> Node:
        at, names = self.places.get(op, (None, ()))
        words = [
            op.defn.name,
            *(_number(x.constant) for x in op.operands if x.constant is not None and x not in self.of),
        ]
        label = " ".join(words)
        if names and not names[0][1:].isdigit():
            label = f"{', '.join(n[1:] for n in names)} = {label}"
        shown = ", ".join(repr(r.type) for r in op.results)
        attributes = _attributes(op)
        detail = f"{attributes}  {shown}" if attributes else shown
        text = self.lines[at - 1].strip() if at is not None else ""
        node = Node(label, detail, "op", part, op.defn.name, tuple(names), place, at, text)
        for x in op.operands:
            self._edge(x, node)
        self.of.update(dict.fromkeys(op.results, node))
        return node

    # ------------------------------------------------------------------------------------------- control flow
    def _structured(self, op: Op, part: str, chain: Sequence[Place]) -> Group:
        """An op with blocks: what it is given, its blocks, and its results."""
        place = chain[0] if chain else None
        said = f"{place}  {place.text}" if place is not None else ""
        whole = Group(_shortened(f"{op.defn.name}  {said}".strip()), "block", part, place)
        name, first = op.defn.name, 0
        if name in ("if", "scan"):  # what is asked first
            asked = "condition" if name == "if" else "trips"
            constant = op.operands[0].constant
            label = asked if constant is None else f"{constant} trips"
            head = Node(label, "", "carry", part, name, place=place)
            self._located(head, op)
            self._edge(op.operands[0], head)
            whole.children.append(head)
            first = 1
        self._arguments(op, op.operands[first:], whole, part)
        for block, region in zip(op.blocks, op.defn.regions, strict=False):
            inside = whole if len(op.blocks) == 1 else Group(region, "block", part)
            self._block(block, inside)
            if inside is not whole and next(inside.nodes(), None) is not None:
                whole.children.append(inside)
        self._results(op, whole, part)
        return whole

    def _located(self, node: Node, op: Op) -> None:
        at, names = self.places.get(op, (None, ()))
        node.ir_line, node.values = at, tuple(names)
        node.text = self.lines[at - 1].strip() if at is not None else ""

    def _arguments(self, op: Op, operands: Sequence[Value], whole: Group, part: str) -> None:
        """The arguments of the blocks, which are the operands in the first trip."""
        body = op.blocks[-1]
        args = body.args[1:] if op.defn.name == "scan" else body.args
        if op.defn.name == "scan" and _is_read(body, body.args[0]):
            whole.children.append(self._value(body.args[0], "carry", part))
        for i, arg in enumerate(args):
            node = self._value(arg, "carry", part)
            whole.children.append(node)
            if i < len(operands):
                self._edge(operands[i], node)
            for other in op.blocks[:-1]:
                if i < len(other.args):
                    self.of[other.args[i]] = node

    def _results(self, op: Op, whole: Group, part: str) -> None:
        skip = 1 if op.defn.name == "while" else 0
        for i, result in enumerate(op.results):
            node = self._value(result, "carry", part)
            node.label = "trips" if i < skip else node.label
            self._located(node, op)
            node.values = (self.names.get(result, ""),)
            whole.children.append(node)
            blocks = op.blocks if op.defn.name == "if" else op.blocks[-1:]
            for block in blocks:
                if 0 <= i - skip < len(block.outs):
                    self._edge(block.outs[i - skip], node)


def _is_read(block: Block, value: Value) -> bool:
    return bool(uses(block).get(value))


def _line_label(place: Place | None, part: str) -> str:
    if place is None:
        return part
    said = f"{place}  {place.text}"
    return _shortened(f"{part} of {said}" if part == "adjoint" else f"{part}  {said}".strip())


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 3] + "..."


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _attributes(op: Op) -> str:
    """The attributes that a reader asks for first, if they are short."""
    values = [v for v in op.attrs if isinstance(v, tuple | int) and not isinstance(v, bool)]
    text = " ".join(str(list(v)) if isinstance(v, tuple) else str(v) for v in values).replace(" ", "")
    return text if op.defn.name not in ("broadcast_to", "reshape", "const") and len(text) <= _LONGEST_ATTRIBUTE else ""


# ------------------------------------------------------------------------------------------------ states
def with_one_state(graph: Graph) -> Graph:
    """The graph with one node for all states that are read, and one for all that are written."""
    stands: dict[Node, Node] = {}
    states = [x for x in graph.root.children if isinstance(x, Node) and x.kind == "state"]
    for label, some in (
        ("states", [x for x in states if x.values]),  # arguments have names in the text
        ("states written", [x for x in states if not x.values]),
    ):
        if len(some) > 1:
            one = Node(f"{len(some)} {label}", kind="state", text="\n".join(f"{x.label}: {x.detail}" for x in some))
            stands.update(dict.fromkeys(some, one))
    children = dict.fromkeys(stands.get(x, x) if isinstance(x, Node) else x for x in graph.root.children)
    root = Group(graph.root.label, graph.root.kind, graph.root.part, graph.root.place, [*children])
    return Graph(graph.title, root, _joined(graph.edges, stands))


def _joined(edges: Iterable[Edge], stands: Mapping[Node, Node]) -> list[Edge]:
    """The edges between what stands for their ends, each of them once."""
    found: dict[tuple[Node, Node, bool], Edge] = {}
    for e in edges:
        source, target = stands.get(e.source, e.source), stands.get(e.target, e.target)
        if source is not target:
            found.setdefault((source, target, e.residual), Edge(source, target, e.residual))
    return list(found.values())


# ------------------------------------------------------------------------------------------------ by line
def by_line(graph: Graph) -> Graph:
    """The graph with one node for each line of the user's instead of its ops."""
    stands: dict[Node, Node] = {}
    root = _with_lines(graph.root, stands)
    return Graph(graph.title, root, _joined(graph.edges, stands))


def _with_lines(group: Group, stands: dict[Node, Node]) -> Group:
    made = Group(group.label, group.kind, group.part, group.place)
    for child in group.children:
        if isinstance(child, Node):
            made.children.append(child)
        elif child.kind != "line":
            made.children.append(_with_lines(child, stands))
        else:
            nodes = list(child.nodes())
            node = Node(child.label, _counted(n.op for n in nodes), "lines", child.part, place=child.place)
            node.values = tuple(v for n in nodes for v in n.values)
            node.ir_line, node.text = nodes[0].ir_line, "\n".join(n.text for n in nodes)
            stands.update(dict.fromkeys(nodes, node))
            made.children.append(node)
    return made


def _counted(names: Iterable[str]) -> str:
    counts = Counter(names)
    return _shortened(", ".join(name if n == 1 else f"{n} {name}" for name, n in counts.items()))
