"""Rows of a profile that would look the same say which is which; what is left out of a table is said."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.inspection import measured as measured_times
from autodiff_compiler.inspection.measured import Row, notes_of

X = Tensor(np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32))


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Dense(8, 24), nn.Dense(24, 8)

    def construct(self, x):
        return x + self.down(ops.tanh(self.up(x)))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Block() for _ in range(3)])

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return (x * x).mean()


@pytest.fixture(scope="module")
def measured():
    net = Net()
    step = ms.jit(ms.grad(net, None, net.trainable_params()))
    with ms.profile(step) as found:
        for _ in range(3):
            step(X)
    return found


@pytest.mark.parametrize("kind", ["kernel", "op"])
def test_no_two_rows_look_the_same(measured, kind):
    rows = measured.by(kind)
    looks = [(row.name.rpartition(": ")[2], row.place, row.detail) for row in rows]
    assert len(set(looks)) == len(rows) > 10


def test_products_name_the_parameters_they_are_made_with(measured):
    """Each block has a product with each of its weights, and each weight a gradient that is a product."""
    details = [f"{row.name} {row.detail}" for row in measured.by("kernel") if "matmul" in row.ops]
    weights = [f"blocks_{i}_{part}_weight" for i in range(3) for part in ("up", "down")]
    for weight in weights:
        assert any(f"from %{weight}" in text for text in details)
        assert any(f"gives %d_{weight}" in text for text in details)


def test_shapes_are_said_where_they_differ(measured):
    forward = [r.detail for r in measured.by("kernel") if "matmul" in r.ops and not r.part]
    assert sorted(re.findall(r"f32\[[\d,]*\]", " ".join(forward))) == 3 * ["f32[16,24]"] + 3 * ["f32[16,8]"]


def test_a_row_that_is_alone_needs_no_detail():
    f = ms.jit(lambda x: ops.sin(x).sum())
    with ms.profile(f) as found:
        f(X)
    assert {row.detail for row in found.by("op")} == {""}


def test_a_table_says_how_to_see_the_rest(measured):
    (left,) = [line for line in measured.table("op", 4).split("\n") if " more: " in line]
    count, call = re.match(r"\((\d+) more: `(.*)`\)", left).groups()
    whole = eval(f"measured.{call}")
    assert "more" not in whole
    assert whole.count("\n") - measured.table("op", 4).count("\n") == int(count) - 1


def test_the_note_on_limits_is_about_rows_that_are_shown(measured):
    shown = [row for kind in ("line", "kernel") for row in measured.by(kind)[:20]]
    assert (">100 %:" in str(measured)) == bool(notes_of(shown))
    assert notes_of([Row("a", seconds=1.0, limit=2.0)])
    assert not notes_of([Row("a", seconds=2.0, limit=1.0)])


@pytest.mark.parametrize(
    ("said", "threads", "change"),
    [
        (True, 4, {}),
        (False, 1, {}),  # nothing waits for anything
        (False, 4, {"flops": 10 * 2 * 128 * 32 * 128}),  # machine code, which has one thread
        (False, 4, {"limit": 0.9}),  # near the limit
        (False, 4, {"share": 0.001}),  # takes no time to speak of
        (False, 4, {"ops": ("sin",)}),
    ],
)
def test_slow_products_of_several_threads_have_a_note(monkeypatch, said, threads, change):
    monkeypatch.setattr(measured_times, "threads", lambda: threads)
    row = Row("matmul", ops=("matmul",), calls=10, seconds=1.0, share=0.5, flops=10 * 2 * 512**3, limit=0.03)
    for name, value in change.items():
        setattr(row, name, value)
    notes = notes_of([row])
    assert bool(notes) == said
    assert not said or ("3 % of the limit on 4 threads" in notes[0] and "set_context(num_threads=1)" in notes[0])


def test_the_threads_of_blas_are_those_that_the_environment_asks_for():
    """NumPy's own report of its library is the witness that it is OpenBLAS."""
    config = str(np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"])
    code = "from autodiff_compiler.blas import threads; print(threads())"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
    if "openblas" in config and (os.cpu_count() or 1) > 1:
        environment["OPENBLAS_NUM_THREADS"] = "2"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == "2\n"
