"""A kernel is called by all that it computes, and by the line that most of it is of."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops, optim
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.inspection.measured import Row, _of_main_line, _Part, table_of
from autodiff_compiler.source import Loc


def score(x, centres):
    difference = ops.expand_dims(x, 1) - centres
    distance = ops.sqrt((difference * difference).sum(-1))
    return ops.tanh(distance).sum()


def profiled(fn, *args):
    with ms.profile(fn) as found:
        for _ in range(3):
            fn(*args)
    return found


def kernels(profile):
    return [row for row in profile.by("kernel") if row.program]


def random(*shape):
    return Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


@pytest.mark.skipif(bool(why_not()), reason="kernels of several lines are machine code, which cannot be made here")
def test_a_loop_over_several_lines_names_all_it_computes():
    """Machine code computes all of it in one pass."""
    found = profiled(ms.jit(score, backend="native"), random(500, 8), random(16, 8))
    (row,) = [row for row in kernels(found) if "sub" in row.ops]
    assert row.name.partition(": ")[2] == "sub, mul, sum, sqrt, tanh"
    first = score.__code__.co_firstlineno
    lines = [f"test_kernel_names.py:{first + i}" for i in (1, 2, 3)]
    assert {row.place, *row.others} == set(lines)
    assert f"{row.place} and 2 more " in found.table("kernel")


def step_of_a_network():
    net = nn.SequentialCell(nn.Dense(8, 16), nn.LayerNorm((16,)), nn.ReLU(), nn.Dense(16, 4))
    optimizer = optim.Adam(net.trainable_params(), 0.01)
    both = ms.value_and_grad(lambda x: (net(x) ** 2.0).mean(), None, optimizer.parameters)

    @ms.jit
    def step(x):
        loss, grads = both(x)
        optimizer(grads)
        return loss

    return step


def test_each_op_that_is_named_is_on_one_of_the_lines(backend):
    """Adam's roots of numbers are measured with kernels of other lines, whose row must not look as if it had them."""
    found = profiled(step_of_a_network(), random(32, 8))
    places = {}
    for row in found.by("op"):
        places.setdefault(row.ops, set()).add(row.place)
    rows = kernels(found)
    assert len(rows) > 10
    for row in rows:
        assert row.name.rpartition(": ")[2] == ", ".join(row.ops)
        for name in row.ops:
            assert places[(name,)] & {row.place, *row.others, ""}, row
        assert row.place not in row.others
    assert any(row.others for row in rows) or backend == "numpy"


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ([(8, "", 3), (9, "", 2), (9, "", 2)], (9, "")),  # a line counts with all its ops
        ([(8, "", 3), (9, "", 2), (9, "adjoint", 2)], (9, "")),  # and with its derivative; equal parts: the line itself
        ([(8, "", 3), (9, "adjoint", 3), (9, "", 2)], (9, "adjoint")),
        ([(26, "", 2), (26, "", 2), (26, "adjoint", 3)], (26, "")),  # its largest op is not the larger part
        ([(8, "", 0), (9, "adjoint", 0)], (9, "adjoint")),  # nothing is known: the last op
    ],
)
def test_the_line_with_most_of_the_work_is_named(parts, wanted):
    made = [
        _Part(SimpleNamespace(loc=Loc("model.py", line).tagged(tag), blocks=()), 1, weight)
        for line, tag, weight in parts
    ]
    assert _of_main_line(made).place == ("model.py", *wanted)


def test_a_long_name_is_cut_in_its_middle():
    names = "add, max, sub, exp, sum, log, mul, div, select, neg, sqrt"
    row = Row(f"k9: {names}", "/home/me/train.py", 26, others=("train.py:27", "train.py:26 adjoint"))
    _, ((name, place, *_),) = table_of([row], "kernel")
    before, after = name.split(", ..., ")
    assert len(name) <= 44
    assert f"k9: {names}".startswith(before)
    assert names.endswith(after)
    assert abs(before.count(",") - after.count(",")) <= 1
    assert place == "train.py:26 and 2 more"


def test_a_trace_names_kernels_as_the_table_does(tmp_path, backend):
    found = profiled(step_of_a_network(), random(32, 8))
    found.trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    traced = {
        (e["name"], e["args"].get("line"), *e["args"].get("also", ())) for e in events if e.get("cat") == "kernel"
    }
    rows = {(row.name, f"{row.file}:{row.line} {row.part}".rstrip(), *row.others) for row in kernels(found) if row.file}
    assert {event for event in traced if event[1]} == rows
    assert len(rows) > 10
