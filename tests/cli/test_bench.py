"""`bench`: what it measures, draws, and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

LOSS = ("model.py:loss", "--args", "f32[30,20] f32[40,30]", "--seconds", "0.02")


def test_eager_and_graph(call, model):
    answer = call("bench", *LOSS)
    assert (answer.status, answer.err) == (0, "model.py is imported\n")
    rows = [line.split()[:2] for line in answer.out.splitlines() if line.startswith(("call", "gradient"))]
    assert rows == [["call", "eager"], ["call", "graph"]]
    document = call("bench", *LOSS, "--grad", "--json").json
    assert [(row["what"], row["mode"]) for row in document["rows"]] == [
        (what, mode) for what in ("call", "gradient") for mode in ("eager", "graph")
    ]
    for row in document["rows"]:
        assert 0 < min(row["rounds"]) <= row["median"] <= max(row["rounds"])
        assert (row["compile"] is None) == (row["mode"] == "eager")
    first, second = document["rows"][:2]
    assert second["speedup"] == pytest.approx(first["median"] / second["median"])
    assert document["plot"] is None


def test_other_modes_and_a_cell(call, model):
    answer = call(
        "bench", "model.py:Net", "--make", "Net(3)", *LOSS[1:2], "f32[4,3]", *LOSS[3:], "--modes", "numpy", "eager"
    )
    assert [line.split()[1] for line in answer.out.splitlines() if line.startswith("call")] == ["numpy", "eager"]


@pytest.mark.parametrize(("name", "start"), [("plot.svg", b"<svg"), ("plot.png", b"\x89PNG")])
def test_plots(name, start, call, model):
    if name.endswith(".png"):
        pytest.importorskip("matplotlib", reason="draws PNGs")
    answer = call("bench", *LOSS, "--plot", name)
    assert (answer.status, answer.out.splitlines()[-1]) == (0, name)
    assert Path(name).read_bytes().startswith(start)


def test_a_png_without_matplotlib(call, model, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    answer = call("bench", *LOSS, "--plot", "plot.png")
    assert (answer.status, "an .svg needs nothing" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--plot", "plot.gif"], "a plot is a .png or an .svg, which plot.gif is not"),
        (["--plot", "nowhere/plot.svg"], "nowhere/plot.svg cannot be written: No such file"),
        (["--seconds", "0"], "argument --seconds: '0' is not a positive number"),
        (["--modes", "eager", "eager"], "--modes names a mode twice"),
        (["--modes", "fast"], "argument --modes: invalid choice: 'fast'"),
    ],
)
def test_wrong_usage(words, says, call, model):
    answer = call("bench", *LOSS, *words)
    assert (answer.status, answer.out) == (2, "")
    assert says in answer.err


def test_modes_that_do_not_agree(call, model):
    model.write_text(
        "import autodiff_compiler as ms\ncount = [0]\n\n@ms.constexpr\ndef more():\n    count[0] += 1\n"
        "    return float(count[0])\n\ndef f(x):\n    return x * more()\n"
    )
    answer = call("bench", "model.py:f", "--args", "f32[3]", "--seconds", "0.02")
    assert (answer.status, "eager and graph do not agree" in answer.err) == (1, True)


def test_a_step_is_a_call(call, model):
    """Whatever it does, it is called: that it goes forward would be wrong of a training step."""
    model.write_text(
        "import autodiff_compiler as ms\n\ndef loss(w):\n    return (w * w).sum()\n\n"
        "def step(w):\n    return w - 0.1 * ms.grad(loss)(w)\n"
    )
    answer = call("bench", "model.py:step", "--args", "f32[3]", "--seconds", "0.02")
    rows = [line.split()[:2] for line in answer.out.splitlines() if line.startswith(("call", "forward"))]
    assert rows == [["call", "eager"], ["call", "graph"]]


def test_nothing_to_differentiate_by(call, model):
    model.write_text("def f(x):\n    return x.sum()\n")
    answer = call("bench", "model.py:f", "--args", "i32[3]", "--grad", "--seconds", "0.02")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("autodiff_compiler: --grad: no argument is a Tensor of floats")
