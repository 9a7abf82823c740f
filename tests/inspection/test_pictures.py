"""Pictures of programs: which nodes, frames and edges there are, whether the texts are valid, and where boxes stand."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections import Counter

import numpy as np
import pytest

from autodiff_compiler import Tensor, TensorSpec, grad, jit, nn, ops, unroll, value_and_grad
from autodiff_compiler.inspection.pictures.graph import by_line, graph_of
from autodiff_compiler.inspection.pictures.layout import placed
from autodiff_compiler.ir.walk import ops_of
from tests.counted import calls_in

SVG = "{http://www.w3.org/2000/svg}"


def mlp(x, w1, b1, w2):
    h = ops.tanh(x @ w1 + b1)
    y = h @ w2
    return (y * y).mean()


def branching(x):
    y = x
    for _ in range(50):
        if y.sum() > 2:
            y = y * 0.5
        else:
            y = y + ops.sin(x)
    return y.sum()


def looping(x):
    y = x
    while y.sum() < 10:
        y = y * 1.5 + ops.exp(-x)
    return (y * y).sum()


def quoting(x):
    return x * len("<b>'\"&`#|{}\\")


def long(x, trips=200):
    y = x
    for k in unroll(range(trips)):
        y = ops.tanh(y * k) + ops.exp(-y)
    return y.sum()


def training_step():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 1))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradient = value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None, optimizer.parameters)

    @jit
    def step(x, y):
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss

    return step.lower(Tensor(np.ones((8, 3), np.float32)), Tensor(np.ones((8, 1), np.float32)))


def specs(*texts):
    return [TensorSpec(t) for t in texts]


ARTIFACTS = {
    "mlp": lambda: grad(mlp, (1, 2, 3)).lower(*specs("f32[8,3]", "f32[3,5]", "f32[5]", "f32[5,2]")),
    "branching": lambda: grad(branching).lower(*specs("f32[4]")),
    "looping": lambda: value_and_grad(looping).lower(*specs("f32[4]")),
    "second_order": lambda: grad(lambda x: (grad(looping)(x) ** 2).sum()).lower(*specs("f32[4]")),
    "quoting": lambda: jit(quoting).lower(*specs("f32[4]")),
    "training_step": training_step,
}
STAGES = ("front", "adjoint", "opt", "plan")


@pytest.fixture(scope="module", params=ARTIFACTS)
def artifact(request):
    return ARTIFACTS[request.param]()


def graph(artifact, stage="opt"):
    return graph_of(artifact._call.module(stage), artifact.ir(stage), "")


def nodes_of(svg):
    return [g for g in ET.fromstring(svg).iter(f"{SVG}g") if g.get("class", "").startswith("node") and g.get("id")]


# ------------------------------------------------------------------------------------------------ what is shown
def test_every_op_is_a_node_but_for_numbers(artifact):
    for stage in STAGES:
        shown = Counter(n.op for n in graph(artifact, stage).nodes if n.kind == "op")
        ops_ = [op for f in artifact._call.module(stage) for op in ops_of(f.body) if not op.blocks]
        plain = [
            op for op in ops_ if op.defn.name != "undef" and not (op.results and op.results[0].constant is not None)
        ]
        assert shown == Counter(op.defn.name for op in plain)


def test_edges_are_the_operands():
    artifact = ARTIFACTS["mlp"]()
    edges = {(e.source.label, e.target.label, e.residual) for e in graph(artifact).edges}
    assert ("x", "matmul", False) in edges
    assert ("add", "h = tanh", False) in edges
    assert ("d_w1 = matmul", "result 0", False) in edges
    residual = {(source, target) for source, target, kept in edges if kept}
    assert {source for source, _ in residual} == {"h = tanh", "y = matmul"}
    assert ("h = tanh", "transpose") in residual  # of d_w2 = h.T @ d_y


def test_nodes_say_what_they_are():
    artifact = ARTIFACTS["mlp"]()
    (tanh,) = [n for n in graph(artifact).nodes if n.op == "tanh"]
    line = mlp.__code__.co_firstlineno + 1
    assert (tanh.label, tanh.detail, tanh.kind, tanh.part) == ("h = tanh", "f32[8,5]", "op", "")
    assert str(tanh.place) == f"test_pictures.py:{line}"
    assert tanh.values == ("%h",)
    assert artifact.ir("opt").splitlines()[tanh.ir_line - 1].strip() == tanh.text
    assert tanh.text.startswith("%h: f32[8,5] = tanh %")


def test_ops_of_a_line_share_a_frame():
    root = graph(ARTIFACTS["mlp"]()).root
    frames = [(g.part, g.place.line - mlp.__code__.co_firstlineno) for g in root.children if hasattr(g, "children")]
    assert frames == [("", 1), ("", 2), ("adjoint", 3), ("adjoint", 2), ("adjoint", 1)]


def test_blocks_of_control_flow_lie_in_each_other():
    def outline(group):
        inner = [outline(c) for c in group.children if hasattr(c, "children") and c.kind == "block"]
        return (group.label.split()[0] if group.label else "", group.part, inner)

    _, _, inside = outline(graph(ARTIFACTS["branching"]()).root)
    arms = [("then", "", []), ("else", "", [])]
    assert inside[0] == ("scan", "", [("if", "", arms)])
    assert inside[1] == ("scan", "adjoint", [("if", "adjoint", [(name, "adjoint", []) for name, _, _ in arms])])


def test_states_arguments_and_results_are_marked():
    kinds = {n.label: n.kind for n in graph(training_step()).nodes if n.kind in ("state", "argument", "result")}
    assert kinds["x"] == "argument"
    assert kinds["result"] == "result"
    assert kinds["new 0.weight"] == "state"
    assert kinds["learning_rate"] == "state"


def test_by_line_every_line_is_one_node():
    artifact = ARTIFACTS["mlp"]()
    whole, lines = graph(artifact), by_line(graph(artifact))
    made = [n for n in lines.nodes if n.kind == "lines"]
    assert len(made) == len([g for g in whole.root.children if hasattr(g, "children")])
    assert made[0].detail == "matmul, broadcast_to, add, tanh"
    assert [(e.source.part, e.target.part) for e in lines.edges if e.residual] == [("", "adjoint")] * 3
    assert not any(e.source is e.target for e in lines.edges)


# ------------------------------------------------------------------------------------------------ where it stands
def test_no_boxes_overlap_and_frames_hold_what_is_in_them(artifact):
    found = placed(graph(artifact))
    stack = [found.root]
    while stack:
        box = stack.pop()
        stack += box.inside
        for i, a in enumerate(box.inside):
            assert box.x <= a.x
            assert box.y <= a.y
            assert a.x + a.width <= box.x + box.width + 0.1
            assert a.y + a.height <= box.y + box.height + 0.1
            for b in box.inside[:i]:
                apart = (
                    a.x + a.width <= b.x + 0.1 or b.x + b.width <= a.x + 0.1
                    or a.y + a.height <= b.y + 0.1 or b.y + b.height <= a.y + 0.1
                )  # fmt: skip
                assert apart, (a.item, b.item)


def test_forward_runs_down_and_backward_up():
    picture = graph(ARTIFACTS["mlp"]())
    boxes = placed(picture).boxes
    by_label = {n.label: boxes[n] for n in picture.nodes}
    assert by_label["h = tanh"].y < by_label["y = matmul"].y
    assert by_label["d_w2 = matmul"].y > by_label["d_w1 = matmul"].y
    assert by_label["d_w1 = matmul"].x > by_label["h = tanh"].x


# ------------------------------------------------------------------------------------------------ texts
def test_svg_is_xml_with_links(artifact):
    for stage in STAGES:
        svg = artifact.graph(stage)
        shown = nodes_of(svg)
        assert len(shown) == len(graph(artifact, stage).nodes)
        assert len({g.get("id") for g in shown}) == len(shown)
        lines = artifact.ir(stage).splitlines()
        for g in shown:
            if g.get("data-op") and g.get("data-ir-line") and g.get("data-op") not in ("if", "scan"):
                assert f" {g.get('data-op')} " in f" {lines[int(g.get('data-ir-line')) - 1]} "
    assert svg._repr_svg_() == str(svg)


def test_svg_escapes_the_users_line():
    svg = ARTIFACTS["quoting"]().graph()
    assert "&lt;b&gt;" in svg
    assert any("<b>'\\\"&" in (text.text or "") for text in ET.fromstring(svg).iter(f"{SVG}text"))


DOT = re.compile(
    r"""digraph\ G\ \{ | \} | (?:graph|node|edge)\ \[[^\]]*\]; | subgraph\ cluster_\d+\ \{
    | label="(?:[^"\\]|\\.)*";\ (?:\w+=(?:"[^"]*"|\w+);?\ ?)+
    | n\d+\ \[(?:\w+="(?:[^"\\]|\\.)*"(?:,\ )?)+\]; | n\d+\ ->\ n\d+(?:\ \[[^\]]*\])?;""",
    re.VERBOSE,
)


def test_dot_has_the_same_nodes_and_edges(artifact):
    text = artifact.graph(fmt="dot")
    lines = [line.strip() for line in text.splitlines()]
    assert [line for line in lines if not DOT.fullmatch(line)] == []
    assert sum(line.endswith("{") for line in lines) == lines.count("}")
    shown = graph(artifact)
    assert sum(bool(re.match(r"n\d+ \[", line)) for line in lines) == len(shown.nodes)
    assert sum(" -> " in line and not line.startswith(("label", "n0 [")) and bool(re.match(r"n\d+ ->", line))
               for line in lines) == len(shown.edges)  # fmt: skip
    assert sum("style=dashed, color=" in line for line in lines) == sum(e.residual for e in shown.edges)


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz, which reads the text as others do")
def test_graphviz_reads_dot(artifact):
    drawn = subprocess.run(
        ["dot", "-Tsvg"], input=artifact.graph(fmt="dot"), capture_output=True, text=True, check=True
    )
    assert drawn.stderr == ""
    assert drawn.stdout.count('class="node"') == len(graph(artifact).nodes)


MERMAID = re.compile(
    r"""---|title:\ "[^"]*"|flowchart\ TD|end|subgraph\ g\d+\["[^"`]*"\]|n\d+\["[^"`]+"\]|n\d+\(\["[^"`]+"\]\)
    |n\d+\ (?:-->|-\.->)\ n\d+|classDef\ \w+\ [\w:,#\- ]+|class\ [n\d,]+\ \w+""",
    re.VERBOSE,
)


def test_mermaid_has_the_same_nodes_and_edges(artifact):
    lines = [line.strip() for line in artifact.graph(fmt="mermaid").splitlines()]
    assert [line for line in lines if not MERMAID.fullmatch(line)] == []
    assert sum(line.startswith("subgraph") for line in lines) == lines.count("end")
    shown = graph(artifact)
    assert sum(bool(re.match(r"n\d+[\[(]", line)) for line in lines) == len(shown.nodes)
    assert sum("->" in line for line in lines) == len(shown.edges)


def test_two_thousand_ops_are_drawn_at_once(numpy_backend):
    artifact = grad(long).lower(TensorSpec("f32[4]"))
    count = len(graph(artifact).nodes)
    assert count > 2000
    assert len(nodes_of(artifact.graph(by="op"))) == count
    half = grad(lambda x: long(x, 100)).lower(TensorSpec("f32[4]"))
    assert calls_in(lambda: artifact.graph(by="op")) < 2.5 * calls_in(lambda: half.graph(by="op"))
    assert len(nodes_of(artifact.graph())) < count / 4  # lines, as so many ops are


def test_what_does_not_exist_is_refused(tmp_path):
    artifact = ARTIFACTS["quoting"]()
    for arguments in ({"stage": "source"}, {"fmt": "png"}, {"by": "file"}):
        with pytest.raises(ValueError, match=f"{next(iter(arguments))} must be "):
            artifact.graph(**arguments)
    picture = artifact.graph(fmt="mermaid")
    assert picture._repr_svg_() is None
    picture.save(tmp_path / "picture.mmd")
    assert (tmp_path / "picture.mmd").read_text(encoding="utf-8") == picture
