"""`benchmark`: modes are compared before they are measured, and what was measured is shown."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops, optim, progress
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.profiling import Benchmark, Measured

_MODES = ("eager", "graph", "numpy", *(() if why_not() else ("native",)))


def loss(x, w):
    return (ops.tanh(ops.matmul(x, w)) ** 2).sum()


def tensor(*shape, seed=0):
    return ms.Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def test_times_that_differ_much_from_round_to_round_are_told():
    """More than half of the median between the quartiles: of 1 to 5 these are 2 and 4, of 9 to 13 10 and 12."""
    wild = Measured("call", "eager", (1.0, 2.0, 3.0, 4.0, 5.0), None, None)
    calm = Measured("call", "graph", (9.0, 10.0, 11.0, 12.0, 13.0), None, None)
    found = Benchmark("f", (wild, calm))
    (note,) = str(found).split("\n\n")[2:]
    assert note.startswith("unsteady: the rounds of call (eager) differ by more than half of their median")
    assert note.strip() in found._repr_html_()
    assert "unsteady" not in str(Benchmark("f", (calm,)))


def test_a_long_measurement_says_how_far_it_is(monkeypatch):
    """On a terminal, as compilations do."""
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "AFTER", 0.01)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    monkeypatch.setattr("sys.stderr", out)
    ms.benchmark(loss, [tensor(8, 8), tensor(8, 8)], ("eager", "numpy"), seconds=0.2)
    assert "measuring loss: call, " in out.getvalue()
    assert re.search(r"\rmeasuring loss: call, (eager|numpy), round \d+, \d+ s", out.getvalue())
    assert out.getvalue().endswith(" \r"), "nothing of it stays"


def test_all_modes_forward_and_gradient():
    found = ms.benchmark(loss, [tensor(8, 8), tensor(8, 8)], _MODES, grad=True, seconds=0.02)
    assert [(row.what, row.mode) for row in found.rows] == [
        (what, mode) for what in ("call", "gradient") for mode in _MODES
    ]
    for row in found.rows:
        assert len(row.rounds) >= 5
        assert 0 < min(row.rounds) <= row.median <= max(row.rounds)
        low, high = row.quartiles
        assert low <= row.median <= high
        assert row.spread == pytest.approx(high - low)
        assert (row.compile is None) == (row.mode == "eager")
        assert row.compile is None or row.compile > 0
        assert row.memory > 0
        first = next(x for x in found.rows if x.what == row.what)
        assert found.speedup(row.mode, row.what) == first.median / row.median
    text = str(found)
    assert text.startswith("loss\n")
    assert text.splitlines()[2].split() == ["what", "mode", "median", "spread", "speed-up", "compile", "memory"]
    assert len(text.split("\n\n")[1].splitlines()) == 1 + 2 * len(_MODES)
    assert "<table>" in found._repr_html_()
    assert json.loads(json.dumps(found.data()))[1]["mode"] == "graph"


def test_compiled_functions_cells_and_derivatives():
    x = tensor(4, 4)
    for fn in (ms.jit(loss), ms.grad(loss)):
        assert [row.mode for row in ms.benchmark(fn, [x, x], seconds=0.01).rows] == ["eager", "graph"]
    net = nn.Dense(4, 3)
    found = ms.benchmark(net, [x], grad=True, seconds=0.01)
    assert found.name == "Dense"
    assert [row.what for row in found.rows] == ["call", "call", "gradient", "gradient"]


def test_states_are_left_as_they_were():
    """A train step changes Parameters at each call, dropout draws: every mode begins in one state, which is left."""
    net = nn.SequentialCell(nn.Dense(4, 4), nn.Dropout(p=0.5)).set_train()
    optimizer = optim.Adam(net.trainable_params(), 0.01)
    both = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), None, optimizer.parameters)

    def step(x):
        value, grads = both(x)
        optimizer(grads)
        return value

    states = [*net.get_parameters(), *optimizer.get_parameters()]
    before = [p.asnumpy().copy() for p in states]
    ms.set_seed(5)
    drawn = nn.Dropout(p=0.5).set_train()(tensor(100)).asnumpy()
    ms.set_seed(5)
    ms.benchmark(step, [tensor(3, 4)], seconds=0.02)
    assert all(np.array_equal(p.asnumpy(), old) for p, old in zip(states, before, strict=True))
    assert np.array_equal(nn.Dropout(p=0.5).set_train()(tensor(100)).asnumpy(), drawn)


def first_plus_one(x):
    x[0] = x[0] + 1.0
    return x.sum()


class Counting(nn.Cell):
    """Counts its calls in a Tensor, in a number, and in an attribute that the first call makes; keeps what it saw."""

    def __init__(self):
        super().__init__()
        self.calls, self.number, self.seen = ms.Tensor(0.0), 0, [ms.Tensor(7.0)]

    def construct(self, x):
        self.calls = self.calls + 1.0
        self.number = self.number + 1
        self.made = self.calls * 2.0
        self.seen = [x.sum()]
        return x * self.calls * self.number


def test_arguments_that_are_written_are_left_as_they_were():
    """Each mode gets the argument as it was: else the second would give 8 where the first gave 7."""
    x = ms.Tensor([0.0, 1.0, 2.0, 3.0])
    found = ms.benchmark(first_plus_one, [x], _MODES, seconds=0.01)
    assert len(found.rows) == len(_MODES)
    assert x.tolist() == [0, 1, 2, 3]
    assert ms.jit(first_plus_one)(x).item() == 7


def test_attributes_that_are_written_are_left_as_they_were():
    cell, x = Counting(), ms.Tensor([1.0, 2.0])
    calls, seen = cell.calls, cell.seen
    ms.benchmark(cell, [x], _MODES, seconds=0.01)
    assert cell.calls is calls
    assert cell.calls.item() == 0
    assert cell.number == 0
    assert not hasattr(cell, "made")
    assert cell.seen is seen
    assert seen[0].item() == 7
    assert cell(x).tolist() == [1, 2]
    assert (cell.calls.item(), cell.number) == (1, 1)


def test_arguments_that_modes_leave_differently_are_told():
    """No result shows it: the first call writes 1, the second one 2."""
    calls = []

    def counted(a):
        calls.append(a)
        return a * 0 + len(calls)

    def f(x):
        x[0] = ms.py_call(counted, x[0], out=x[0])
        return x[1] * 2

    with pytest.raises(ValueError, match="eager and graph do not agree: argument 0 after the call differs by 1, where"):
        ms.benchmark(f, [ms.Tensor([5.0, 0.0])], seconds=0.01)


def test_modes_that_do_not_agree_are_refused():
    """A function of Python that gives another result at each call is not the same in two modes."""
    calls = []

    def drifting(a):
        calls.append(a)
        return a + len(calls)

    def f(x):
        return ms.py_call(drifting, x, out=x)

    with pytest.raises(ValueError, match=r"call: eager and graph do not agree: result 0 differs by 1, where"):
        ms.benchmark(f, [ms.Tensor([0.0, 1.0])], seconds=0.01)
    assert ms.get_context("mode") == ms.PYNATIVE_MODE
    ms.benchmark(f, [ms.Tensor([0.0, 1.0])], seconds=0.01, rtol=1.0)


def test_an_argument_alone():
    found = ms.benchmark(lambda x: x * 2, Tensor(3.0), seconds=0.01)
    assert {row.mode for row in found.rows} == {"eager", "graph"}
    assert len(ms.benchmark(lambda x: x.sum(), Tensor(np.ones((4, 2))), seconds=0.01).rows) == 2


def test_refusals():
    x = tensor(3)
    with pytest.raises(TypeError, match="a function or a Cell, not an int"):
        ms.benchmark(3)
    with pytest.raises(ValueError, match="a mode is one of eager, graph"):
        ms.benchmark(loss, [x, x], ("fast",))
    with pytest.raises(ValueError, match="different ones"):
        ms.benchmark(loss, [x, x], ("eager", "eager"))
    with pytest.raises(ValueError, match="there is no gradient"):
        ms.benchmark(lambda n: n + 1, [ms.Tensor([1, 2])], grad=True, seconds=0.01)


# ------------------------------------------------------------------------------------------------ the picture
def _found(fast):
    def rounds(median):
        return tuple(median * (0.9 + 0.02 * i) for i in range(11))

    rows = [("call", "eager", 1e-3, None), ("call", "graph", fast, 0.2), ("gradient", "eager", 3e-3, None)]
    return Benchmark("a < b", tuple(Measured(what, mode, rounds(m), c, 10) for what, mode, m, c in rows))


@pytest.mark.parametrize(("fast", "speedup"), [(5e-4, "2x"), (1e-3 / 2664, "2,660x")])
def test_an_svg_written_by_hand(tmp_path, fast, speedup):
    path = tmp_path / "plot.svg"
    found = _found(fast)
    found.plot(str(path))
    space = "{http://www.w3.org/2000/svg}"
    root = ET.parse(path).getroot()
    bars = [e for e in root.iter(f"{space}rect") if e.get("fill") != "#ffffff"]
    widths = [float(bar.get("width")) for bar in bars]
    assert len(bars) == 3
    assert widths[1] < widths[0] < widths[2] < float(root.get("width"))
    texts = [e.text for e in root.iter(f"{space}text")]
    assert texts[0] == "a < b"
    assert any(f"({speedup})" in text for text in texts)
    assert f" {speedup} " in str(found)
    assert ("logarithmic" in texts[-1]) == (fast < 1e-5)
    if fast > 1e-5:
        assert widths[0] / widths[2] == pytest.approx(1 / 3, abs=0.01)


def test_a_png_needs_matplotlib(tmp_path):
    path = tmp_path / "plot.png"
    if importlib.util.find_spec("matplotlib") is None:
        with pytest.raises(ImportError, match=r"needs matplotlib.*\.svg"):
            _found(5e-4).plot(str(path))
    else:
        _found(5e-4).plot(str(path))
        assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"a \.png or an \.svg"):
        _found(5e-4).plot(str(tmp_path / "plot.gif"))


def test_only_the_program_itself_leaves_graphs(tmp_path):
    before = {name: ms.get_context(name) for name in ("save_graphs", "save_graphs_path")}
    ms.set_context(save_graphs=1, save_graphs_path=str(tmp_path))
    try:
        ms.benchmark(lambda x: x * 2, ms.Tensor([1.0]), seconds=0.01)
        assert ms.get_context("save_graphs") == 1
    finally:
        ms.set_context(**before)
    assert list(tmp_path.iterdir())
    assert not [folder.name for folder in tmp_path.iterdir() if "nothing" in folder.name]
