"""`dump --where`, `--origin`, `--graph`, `--source`, `--html`, `view` and `explain` of a function."""

from __future__ import annotations

import json
import subprocess
import sys
import webbrowser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

LOSS = ("model.py:loss", "--args", "f32[3,2] f32[4,3]", "--grad", "0")
LINE = 14  # y = ops.tanh(ops.matmul(x, w))


def test_what_a_line_became(call, model):
    answer = call("dump", *LOSS, "--where", f"model.py:{LINE}")
    assert answer.status == 0
    assert "matmul" in answer.out
    assert "adjoint" in answer.out
    document = call("dump", *LOSS, "--where", f"model.py:{LINE}", "--json").json
    assert document["where"] == f"model.py:{LINE}"
    assert document["found"]["place"] == {"file": str(model), "line": LINE}
    ops = {op["op"] for op in document["found"]["ops"]["front"]}
    assert ops == {"matmul", "tanh"}


def test_where_a_value_comes_from(call, model):
    assert f"model.py:{LINE}" in call("dump", *LOSS, "--origin", "%d_w").out
    found = call("dump", *LOSS, "--origin", "%d_w", "--json").json["found"]
    assert (found["relation"], found["of"]["value"]) == ("the adjoint of", "%w")
    assert found["uses"] == [{"file": str(model), "line": LINE}]
    assert call("dump", *LOSS, "--origin", "%y", "--stage", "opt", "--json").json["found"]["stage"] == "opt"
    answer = call("dump", *LOSS, "--origin", "%y", "--stage", "opt,front")
    assert (answer.status, "--origin takes one stage" in answer.err) == (2, True)


@pytest.mark.parametrize(("form", "start"), [("svg", "<svg"), ("dot", "digraph"), ("mermaid", "---\ntitle: ")])
def test_pictures(form, start, call, model):
    answer = call("dump", *LOSS, "--graph", form)
    assert (answer.status, answer.out.lstrip().startswith(start)) == (0, True)
    assert call("dump", *LOSS, "--graph", form, "-o", "picture").out == "picture\n"
    assert Path("picture").read_text("utf-8") == answer.out
    assert call("dump", *LOSS, "--graph", form, "--json").json["text"] + "\n" == answer.out
    answer = call("dump", *LOSS, "--graph", form, "--stage", "code")
    assert (answer.status, answer.err.splitlines()[-1].startswith("autodiff_compiler: ")) == (2, True)


def test_the_derivative_as_source_runs_by_itself(call, model):
    """Its numbers are those of the derivative by hand: d mean(tanh(x w)^2) / dw = x^T (2 y (1 - y^2)) / n."""
    assert call("dump", *LOSS, "--source", "-o", "derived.py").out == "derived.py\n"
    rng = np.random.default_rng(0)
    w, x = rng.standard_normal((3, 2)).astype(np.float32), rng.standard_normal((4, 3)).astype(np.float32)
    np.save("w.npy", w), np.save("x.npy", x)
    script = (
        "import runpy, numpy as np, json\n"
        "f = runpy.run_path('derived.py')['grad_loss']\n"
        "print(json.dumps(np.asarray(f(np.load('w.npy'), np.load('x.npy'))).tolist()))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    y = np.tanh(x @ w)
    np.testing.assert_allclose(json.loads(done.stdout), x.T @ (2 * y * (1 - y * y)) / y.size, rtol=1e-4)


# ------------------------------------------------------------------------------------------------ the report
def test_a_report_is_written_and_opened(call, model, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    answer = call("view", *LOSS, "-o", "ein bericht.html")
    assert (answer.status, answer.out) == (0, "ein bericht.html\n")
    assert [unquote(address) for address in opened] == [f"file://{model.parent}/ein bericht.html"]
    page = Path("ein bericht.html").read_text("utf-8")
    assert "<html" in page
    assert "matmul" in page
    answer = call("view", *LOSS, "--json")  # a temporary file
    path = Path(answer.json["file"])
    assert (answer.json["opened"], path.name.startswith("loss_"), len(opened)) == (True, True, 2)
    path.unlink()
    assert call("view", *LOSS, "-o", "b.html", "--no-open", "--json").json == {"file": "b.html", "opened": False}
    assert call("dump", *LOSS, "--html", "c.html").out == "c.html\n"
    assert "<html" in Path("c.html").read_text("utf-8")
    assert len(opened) == 2


def test_without_a_browser(call, model, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    answer = call("view", *LOSS, "-o", "a.html")
    assert (answer.status, answer.out) == (0, "a.html\nno browser was found: open this file in one\n")
    answer = call("view", *LOSS, "-o", "no folder/a.html")
    assert (answer.status, "no folder/a.html cannot be written" in answer.err) == (2, True)


# ------------------------------------------------------------------------------------------------ explain
def test_what_was_decided(call, model):
    answer = call("explain", *LOSS)
    assert (answer.status, answer.err) == (0, "model.py is imported\n")
    assert "grad_loss(f32[3,2], f32[4,3])" in answer.out
    document = call("explain", *LOSS, "--json").json
    assert (document["target"], document["call"]) == ("model.py:loss", "grad_loss(f32[3,2], f32[4,3])")
    words = " ".join(answer.out.split())  # the text wraps long lines
    assert all(" ".join([title, *lines[0].split()]) in words for title, lines in document["sections"].items())
    assert any(title.startswith("Derivative") for title in document["sections"])


def test_codes(call):
    assert "different numbers of dimensions" in call("explain", "AC1402").out
    assert call("explain", "ac1402").out == call("explain", "1402").out == call("explain", "AC1402").out
    assert call("explain", "AC1402", "--json").json["classes"] == ["JoinError"]
    answer = call("explain", "AC1402", "--args", "f32[2]")
    assert (answer.status, "are about a function" in answer.err) == (2, True)
