"""The page as text: one file that loads nothing, made from what `lower` knows."""

from __future__ import annotations

import json
import linecache
import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.inspection.report import page, report_data
from autodiff_compiler.inspection.report.memory import lives_of
from autodiff_compiler.ir.text import FunctionPrinter, parse_module
from tests.inspection.lowered_programs import PROGRAMS
from tests.inspection.report.programs import loss


def test_it_is_one_file_that_loads_nothing():
    x, w, v = (Tensor(np.ones(shape, np.float32)) for shape in ((8, 16), (16, 32), (32, 4)))
    text = page(ms.grad(loss, (1, 2)).lower(x, w, v)._call)
    assert not re.findall(r"<(?:link|img|iframe|object|embed)\b|\bsrc=|@import|url\(", text.partition('id="data"')[0])
    assert text.count("</script>") == 2
    held = text.partition('id="data">')[2].partition("</script>")[0]
    assert "A text such as </script>" in "\n".join(json.loads(held)["files"][0]["lines"])


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_there_is_a_page_of_programs_of_all_kinds(name):
    program = PROGRAMS[name]()
    artifact = program.fn.lower(*program.args)
    data = report_data(artifact._call)
    assert json.loads(json.dumps(data)) == json.loads(json.dumps(data, allow_nan=False))
    for file, line in data["places"]:
        shown = data["files"][file]
        assert 0 <= line - shown["first"] < len(shown["lines"])


def test_in_a_notebook():
    text = ms.jit(lambda x: ops.exp(x)).lower(Tensor([1.0]))._repr_html_()
    assert text.count("<details>") == 5
    assert re.findall(r"<details open><summary>(\w+)", text) == ["opt"]
    assert "exp" in text


@pytest.mark.parametrize("name", ["model.py", "my model.py", "<b>.py", "In [3]"])
def test_decisions_lead_to_their_lines(name, monkeypatch):
    text = "def f(x):\n    while x.sum() < 8:\n        x = x * 2\n    return x\n"
    file = f"/here/{name}"
    monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(True), file))
    space = {}
    exec(compile(text, file, "exec"), space)
    artifact = ms.jit(space["f"]).lower(Tensor([1.0]))
    data = report_data(artifact._call)
    told = dict(data["decisions"]["sections"])
    (kept,) = told["Loops and branches"]
    assert data["places"][kept[1]][1] == 2
    names = [f"{name}:{line}" for _, line in data["places"]]
    whole = [[names[x] if isinstance(x, int) else x for x in line] for lines in told.values() for line in lines]
    assert ["".join(line) for line in whole] == [x for _, lines in artifact.explain().sections for x in lines]


# ------------------------------------------------------------------------------------------------- memory
def lives(text):
    """Of each value: what its bytes are for, how many there are, and the ops between which they are needed."""
    module = parse_module(text)
    printer = FunctionPrinter()
    printer.function(module.entry)
    return {printer.names[x.value]: (x.kind, x.nbytes, x.first, x.last) for x in lives_of(module)}


def test_values_live_from_their_op_to_their_last_reader():
    found = lives("""
    func @f(%x: f32[4]) -> (f32[]) {
      %a: f32[4] = exp %x
      %b: f32[4] = sort %a {axis=-1}
      %c: f32[4] = sin %x
      %d: f32[4] = add %b, %c
      %e: f32[] = sum %d {axes=[-1]}
      return %e
    }
    """)
    assert found == {
        "%x": ("arguments", 16, 0, 4),
        "%a": ("temporaries", 16, 0, 1),
        "%b": ("temporaries", 16, 1, 2),  # %d is written over it
        "%c": ("temporaries", 16, 2, 3),
        "%d": ("temporaries", 16, 3, 4),
        "%e": ("results", 4, 4, 4),
    }


def test_what_an_adjoint_reads_is_kept_for_it():
    found = lives("""
    func @f(%x: f32[4], %g: f32[4]) -> (f32[4]) {
      %a: f32[4] = exp %x         @ m.py:1:0
      %b: f32[4] = sin %a         @ m.py:2:0
      %c: f32[4] = mul %g, %a     @ m.py:1:0 adjoint
      %d: f32[4] = sort %b {axis=-1}   @ m.py:2:0
      %e: f32[4] = add %c, %d     @ m.py:2:0
      return %e
    }
    """)
    assert found["%a"][0] == "residuals"
    assert found["%b"][0] == "temporaries"
    assert found["%c"][0] == "temporaries"


def test_a_view_keeps_what_it_shows():
    found = lives("""
    func @f(%x: f32[2,4]) -> (f32[]) {
      %a: f32[2,4] = exp %x
      %b: f32[4,2] = transpose %a {axes=[-1,-2]}
      %c: f32[2,4] = cos %x
      %d: f32[] = sum %b {axes=[-2,-1]}
      %e: f32[] = sum %c {axes=[-2,-1]}
      %f: f32[] = add %d, %e
      return %f
    }
    """)
    assert "%b" not in found
    assert found["%a"] == ("temporaries", 32, 0, 3)


def test_a_loop_needs_what_it_reads_from_outside_until_it_ends():
    found = lives("""
    func @f(%x: f32[4], %n: i64[]) -> (f32[4]) {
      %a: f32[4] = exp %x
      %k: i64[] = const {value=5}
      %y: f32[4], %s: seq<f32[4]> = scan %k (%c = %x) body (%i) {
        %b: f32[4] = add %c, %a
        %d: f32[4] = sin %b
        yield %d ; %b
      }
      %z: f32[4] = cos %x
      %w: f32[4] = add %y, %z
      return %w
    }
    """)
    assert found["%a"] == ("temporaries", 16, 0, 4)  # five ops: exp, const, scan, add, sin
    assert found["%s"][1] == 5 * 16
