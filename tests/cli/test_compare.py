"""`compare` and `profile`: what they print, write and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

LOSS = ("model.py:loss", "--args", "f32[30,20] f32[40,30]")


def test_two_functions(call, model):
    Path("other.py").write_text(model.read_text("utf-8").replace("def loss", "# moved\ndef loss"), "utf-8")
    answer = call("compare", LOSS[0], "other.py:loss", *LOSS[1:], "--html", "page.html")
    assert answer.status == 0
    assert answer.out.splitlines()[0] == "model.py:loss against other.py:loss"
    assert answer.out.splitlines()[-1] == "page.html"
    assert "decided otherwise" not in answer.out
    assert Path("page.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_two_backends(call, model):
    document = call("compare", *LOSS, "--backend", "native", "--against", "numpy", "--timing", "--json").json
    assert document["names"] == ["native", "numpy"]
    assert document["measured"]
    assert min(document["figures"]["measured time"]) > 0
    assert document["figures"]["machine code"][1] is None
    assert {line["line"].partition(":")[0] for line in document["lines"]} == {"model.py"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "compared with another one, or with itself for another backend: --against numpy"),
        (["model.py:loss", "--against", "numpy"], "compared with another one, or with itself"),
        (["--against", "fast"], "argument --against: invalid choice: 'fast'"),
        (["--against", "numpy", "--html", "model.py"], "model.py is not written: it would take the place of"),
    ],
)
def test_compare_refuses(words, says, call, model):
    answer = call("compare", *LOSS[:1], *words, *LOSS[1:])
    assert (answer.status, answer.out) == (2, "")
    assert says in answer.err


# ------------------------------------------------------------------------------------------------ profile
def test_a_profile(call, model):
    answer = call("profile", *LOSS, "--grad", "1", "--seconds", "0.01", "--trace", "trace.json")
    assert answer.status == 0
    head, _, table, *_ = answer.out.splitlines()
    assert head.startswith("grad_loss: ")
    assert table.split()[:4] == ["line", "source", "calls", "time"]
    assert " first call" in answer.out
    assert answer.out.splitlines()[-1] == "trace.json"
    assert json.loads(Path("trace.json").read_text("utf-8"))["traceEvents"]


def test_a_profile_as_data(call, model):
    document = call("profile", *LOSS, "--seconds", "0.001", "--backend", "numpy", "--json").json
    assert document["calls"] >= 3
    assert sum(row["seconds"] for row in document["lines"]) == pytest.approx(document["seconds"], rel=1e-6)
    assert any(row["place"].startswith("model.py:") for row in document["lines"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--seconds", "0"], "argument --seconds: '0' is not a positive number"),
        (["--trace", "model.py"], "model.py is not written: it would take the place of"),
    ],
)
def test_profile_refuses(words, says, call, model):
    answer = call("profile", *LOSS, "--seconds", "0.001", *words)
    assert (answer.status, answer.out) == (2, "")
    assert says in answer.err
