"""`artifact.compare()`: figures, lines and decisions of two compiled calls, and the page of them."""

from __future__ import annotations

import json
import linecache
import re

import pytest

import autodiff_compiler as ms
from autodiff_compiler import TensorSpec
from autodiff_compiler.config import context
from autodiff_compiler.inspection.figures import times

OLD = """from autodiff_compiler import ops
def f(x, w):
    h = ops.tanh(x @ w)
    return (h * h).sum()
"""
NEW = """from autodiff_compiler import ops
# </script> stands here, and moves what follows
def f(x, w):
    h = ops.tanh(x @ w)
    k = ops.exp(h)
    return (k * k).sum()
"""
X, W = TensorSpec("f32[64,32]"), TensorSpec("f32[32,16]")


def lowered(text, name, monkeypatch, backend="native"):
    monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(True), name))
    space = {}
    exec(compile(text, name, "exec"), space)
    before = context.backend
    context.set(backend=backend)
    try:
        return ms.jit(space["f"]).lower(X, W)
    finally:
        context.set(backend=before)


@pytest.fixture
def changed(monkeypatch):
    return [lowered(text, name, monkeypatch) for text, name in ((OLD, "/old/model.py"), (NEW, "/new/model2.py"))]


def test_figures_are_those_of_the_calls(changed):
    comparison = changed[0].compare(changed[1])
    for i, artifact in enumerate(changed):
        cost, memory = artifact.cost(), artifact.memory()
        found = {x.what: (x.before, x.after)[i] for x in comparison.figures}
        assert found["estimated time"] == cost.seconds
        assert (found["operations on numbers"], found["bytes moved"]) == (cost.flops, cost.bytes)
        assert (found["arena"], found["bytes of a call in all"]) == (memory.arena, memory.total)
        assert found["ops of stage opt"] == len(re.findall(r"(?m)^  %", artifact.ir("opt")))
    more = next(x for x in comparison.figures if x.what == "operations on numbers")
    assert more.change == times(more.after / more.before)
    assert next(x for x in comparison.figures if x.what == "bytes moved").change == ""


def test_lines_are_matched_where_they_moved(changed):
    comparison = changed[0].compare(changed[1], ("old", "new"))
    found = {x.text: (x.before and x.before.line, x.after and x.after.line) for x in comparison.lines}
    assert found == {
        "h = ops.tanh(x @ w)": (3, 4),
        "k = ops.exp(h)": (None, 5),
        "return (k * k).sum()": (None, 6),
        "return (h * h).sum()": (4, None),
    }
    changes = [abs(x.seconds[1] - x.seconds[0]) for x in comparison.lines]
    assert changes == sorted(changes, reverse=True)
    assert comparison.lines[0].text == "k = ops.exp(h)"
    assert str(comparison).splitlines()[0] == "old against new"
    assert "model.py:3, model2.py:4" in str(comparison)


def test_decisions_that_only_moved_are_the_same(changed):
    comparison = changed[0].compare(changed[1])
    assert all(x.title != "Passes" for x in comparison.decisions)
    static = next(x for x in comparison.decisions if x.title.startswith("Static"))
    assert static.before == ()
    assert [line.partition(":")[0] for line in static.after] == ["k"]
    same = changed[0].compare(changed[0])
    assert same.decisions == ()
    assert same.names == ("before", "after")
    assert not [x.change for x in same.figures if x.change]


def test_a_call_on_two_backends(monkeypatch):
    native, numpy = (lowered(OLD, "/old/model.py", monkeypatch, name) for name in ("native", "numpy"))
    comparison = numpy.compare(native)
    assert comparison.names == ("numpy", "native")
    kernels = next(x for x in comparison.figures if x.what == "kernels")
    assert kernels.before is None
    assert kernels.after >= 1
    assert not comparison.diff("front")
    assert all(kind == " " for kind, _, _ in comparison.pairs("opt"))
    timings = numpy.timing(2), native.timing(2)
    assert [x.backend for x in timings] == ["numpy", "native"], "whatever is in use when it is asked"
    measured = numpy.compare(native, timings=timings)
    assert measured.measured
    assert (measured.figures[0].before, measured.figures[0].after) == tuple(x.median for x in timings)
    assert "measured, numpy" in str(measured)


def test_pairs_are_those_of_the_diff(changed):
    comparison = changed[0].compare(changed[1])
    for stage in ("front", "opt"):
        lines = str(comparison.diff(stage)).splitlines()
        changes = [x[0] for x in lines if x[:2] in ("- ", "+ ")]
        assert sorted(kind for kind, _, _ in comparison.pairs(stage) if kind != " ") == sorted(changes)
        kept = [after for _, _, after in comparison.pairs(stage) if after is not None]
        assert any("= exp " in line for line in kept)


def test_the_page_is_one_file_that_loads_nothing(changed, tmp_path):
    comparison = changed[0].compare(changed[1], ("<b>old</b>", "new"))
    comparison.to_html(tmp_path / "compared.html")
    text = (tmp_path / "compared.html").read_text("utf-8")
    assert "<title>&lt;b&gt;old&lt;/b&gt; against new</title>" in text
    assert not re.findall(r"<(?:link|img|iframe|object|embed)\b|\bsrc=|@import|url\(", text.partition('id="data"')[0])
    assert text.count("</script>") == 2
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert [x[1] for x in data["lines"]] == [x.text for x in comparison.lines]
