"""What a notebook shows: cells by their numbers, HTML at the end of a cell, tracebacks with the user's frames."""

from __future__ import annotations

import linecache
import re
import sys
from html import unescape
from types import SimpleNamespace

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.config import context
from autodiff_compiler.inspection.highlight import code_html
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.source import Loc, shown_file, shown_line

#: A cell, under the name that ipykernel compiles it by.
FILE = "/tmp/ipykernel_7/1234567890.py"
CELL = """import autodiff_compiler as ms
from autodiff_compiler import ops

@ms.jit
def f(x, w):
    y = ops.tanh(x @ w)
    return y.sum()
"""
ROW, COLUMN = Tensor([[1.0, 2.0]]), Tensor([[1.0], [2.0]])


@pytest.fixture
def f(monkeypatch):
    """The function of the cell with the number 2."""
    label = {FILE: ("Cell", "In[2]")}.get
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=label))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(linecache.cache, FILE, (len(CELL), None, CELL.splitlines(True), FILE))
    space = {}
    exec(compile(CELL, FILE, "exec"), space)
    return space["f"]


def test_the_names_of_files_and_lines(f):
    assert (shown_file(FILE), shown_line(FILE, 6)) == ("In [2]", "In [2], line 6")
    assert (shown_file("/a/model.py"), shown_line("/a/model.py", 6)) == ("model.py", "model.py:6")
    place = Loc(FILE, 6, 8)
    assert (place.short, str(place), str(place.tagged("adjoint"))) == (
        "In [2], line 6", "In [2]:6:8", "In [2]:6:8 adjoint",
    )  # fmt: skip


@pytest.mark.parametrize("shell", [None, SimpleNamespace(), SimpleNamespace(compile=SimpleNamespace())])
def test_no_shell_that_knows_cells(shell, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert shown_line(FILE, 6) == "1234567890.py:6"


def test_an_error_names_the_cell(f):
    with pytest.raises(ms.CompileError) as caught:
        f(ROW, ROW)
    text = str(caught.value)
    assert "\n --> In [2], line 6 in f\n" in text
    assert "6 |     y = ops.tanh(x @ w)\n" in text
    assert FILE not in text


@pytest.mark.parametrize("name", ["native", "numpy"])
def test_dumps_reports_and_tables_name_the_cell(f, name, monkeypatch):
    monkeypatch.setattr(context, "backend", name)
    artifact = ms.grad(f).lower(ROW, COLUMN)
    text = artifact.ir("opt")
    assert re.search(r'= tanh %\w+ +@ "In \[2\]":6:8\n', text)
    assert {op.loc.file for op in parse_module(text).entry.body.ops} == {"In [2]"}  # it can be read again
    assert "y = ops.tanh(x @ w)` (In [2], line 6)" in artifact.explain()
    assert "# In [2], line 6: y = ops.tanh(x @ w)" in artifact.source()
    assert artifact.ir("opt").diff(artifact.ir("opt")) == ""
    for line in ("In [2], line 6", "In [2]:6", 6):
        where = artifact.where(line)
        assert where.code, "the code is linked to the cell"
        assert str(where).startswith("In [2], line 6  y = ops.tanh(x @ w)\n")
    with pytest.raises(ValueError, match=r"no op comes from In \[2\], line 2; the nearest"):
        artifact.where("In [2]:2")
    with ms.profile(f) as p:
        f(ROW, COLUMN)
    assert "In [2], line 6" in {row.place for row in p.by("line")}
    assert "1234567890" not in "".join(map(str, (text, artifact.explain(), artifact.code(), p)))


def test_what_a_cell_may_end_with_is_html_with_its_text(f):
    artifact = f.lower(ROW, COLUMN)
    for shown in (artifact.explain(), artifact.source(), artifact.ir("code"), artifact.ir("source")):
        page = shown._repr_html_()
        assert unescape(re.sub(r"<[^>]*>", "", page)) == str(shown)
        assert page.startswith("<pre ")
        assert "<span " in page
        plain = []
        shown._repr_pretty_(SimpleNamespace(text=plain.append), False)
        assert plain == [str(shown)]
    f(ROW, COLUMN)
    info = f.cache_info()
    assert "<td" in info._repr_html_()
    assert "f(f32[1,2], f32[2,1])" in info._repr_html_()
    assert "<table>" not in ms.jit(f.__wrapped__).cache_info()._repr_html_()


@pytest.mark.parametrize(
    ("code", "coloured"),
    [
        ("def f(x):  # a < b\n    return 'if'\n", ["def", "# a &lt; b", "return", "&#x27;if&#x27;"]),
        ("define void @k0(ptr %p) { ; why\n", ["define", "void", "@k0", "ptr", "%p", "; why"]),
    ],
)
def test_code_is_coloured_by_its_language(code, coloured):
    assert re.findall(r"<span [^>]*>(.*?)</span>", code_html(code)) == coloured


def test_sections_of_an_explanation(f):
    told = f.lower(ROW, COLUMN).explain()
    assert told.head[0] == "f(f32[1,2], f32[2,1])"
    assert told.sections[0].lines[0].startswith("x: dynamic, Tensor f32[1,2]")
    titles = [section.title for section in told.sections]
    assert [line for line in told.splitlines() if line in titles] == titles
    words = [word for section in told.sections for line in (section.title, *section.lines) for word in line.split()]
    assert " ".join(words) in " ".join(told.split())


# ------------------------------------------------------------------------------------------------- a kernel
CELLS = (
    "%xmode Context",
    "import autodiff_compiler as ms\nfrom autodiff_compiler import Tensor, ops\nms.set_context(mode=ms.GRAPH_MODE)",
    "@ms.jit\ndef f(x, w):\n    return ops.tanh(x @ w).sum()",
    "def step(x):\n    return f(x, Tensor([[1.0, 2.0, 3.0]]))\nstep(Tensor([[1.0, 2.0]]))",
    "@ms.jit\ndef above(x):\n    if x > 0:\n        raise ValueError\n    return x\nabove(Tensor(1.0))",
    "f.lower(Tensor([[1.0, 2.0]]), Tensor([[1.0], [2.0]]))",
)


@pytest.mark.long
def test_a_kernel_shows_the_users_frames(monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbclient.NotebookClient(book, timeout=120, allow_errors=True, kernel_name="python3").execute()
    *_, shapes, raised, artifact = book.cells
    # a frame of each of the user's functions, and none of this package
    trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(shapes.outputs[-1].traceback))
    assert re.findall(r"Cell In\[(\d+)\], line (\d+)", trace) == [("4", "3"), ("4", "2")]
    assert "--> In [3], line 3 in f" in trace
    trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(raised.outputs[-1].traceback))
    assert re.findall(r"Cell In\[(\d+)\], line (\d+)", trace) == [("5", "6"), ("5", "4")]
    assert "raised at In [5], line 4 in above (compiled code)" in trace
    assert "autodiff_compiler/" not in trace
    assert "In [3]" in artifact.outputs[-1].data["text/html"]
