"""What is written on several lines and computed once leads back to all of them."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, ops
from autodiff_compiler.inspection.links import STAGES_OF_OPS
from autodiff_compiler.inspection.report import report_data
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.source import Loc

FILE = Path(__file__).name
W = Tensor(np.array([1.0, -2.0, 0.5], np.float32))


def tiny(w):
    t = w.sum()
    if (w * w).sum() > 4.0:
        t = t + 0.1 * (w * w).sum()
    return t


def regularised(w):
    total = w.sum()
    if (w * w).sum() > 4.0:
        total = total + 0.1 * (w * w).sum()
    for i in range(3):
        total = total + 0.001 * (w ** (i + 1)).sum()
    return total


def both_give(w):
    a = ops.exp(w)
    b = ops.exp(w) + a
    return (a * b).sum()


def own_and_of_the_other(w):
    a = ops.sin(w)
    b = ops.cos(w) * w
    return (a + b).sum()


def at(fn, text):
    """The line of a function that begins so."""
    lines, first = inspect.getsourcelines(fn)
    (found,) = [first + i for i, line in enumerate(lines) if line.strip().startswith(text)]
    return f"{FILE}:{found}"


def gradient(fn):
    return jit(ms.grad(fn)).lower(W)


def lines(places):
    return {str(place) for place in places}


# ------------------------------------------------------------------------------------------------- where
def test_a_line_whose_expression_another_one_has_too_has_its_ops():
    found = gradient(tiny).where(at(tiny, "t = t + 0.1"))
    for stage in STAGES_OF_OPS:
        assert {"mul", "sum"} <= {op.op for op in found.ops[stage] if not op.part}
    assert {op.op for op in found.adjoints} >= {"mul", "add"}  # 0.1 * w + 0.1 * w
    assert f"also at {at(tiny, 'if ')}" in str(found)


def test_a_condition_has_no_share_of_the_derivative():
    artifact = gradient(tiny)
    assert not {"mul", "add"} & {op.op for op in artifact.where(at(tiny, "if ")).adjoints}
    assert lines(artifact.origin("d_w").uses) == {at(tiny, "t = w.sum()"), at(tiny, "t = t + 0.1")}


def test_lines_that_give_shares_alike_are_both_named():
    artifact = gradient(both_give)
    for text in ("a = ops.exp", "b = ops.exp"):
        assert "exp" in {op.op for op in artifact.where(at(both_give, text)).ops["opt"]}
        assert "mul" in {op.op for op in artifact.where(at(both_give, text)).adjoints}


def test_a_constant_leads_to_the_lines_that_it_was_folded_of():
    artifact = gradient(regularised)
    for text in ("total = total + 0.1", "total = total + 0.001"):
        ops_of_line = artifact.where(at(regularised, text)).ops["opt"]
        shown = [artifact.ir("opt").splitlines()[op.line - 1] for op in ops_of_line if op.op == "const"]
        assert any("value=0.10100000" in line for line in shown)  # 0.1 + 0.001


# ------------------------------------------------------------------------------------------------- origin and dumps
def test_origin_names_every_line_and_counts_the_trips():
    uses = [str(place) for place in gradient(regularised).origin("d_w").uses]
    assert uses.count(at(regularised, "total = total + 0.1")) == 2  # both factors of w * w
    assert uses.count(at(regularised, "total = total + 0.001")) == 4  # w, w * w, and w ** 3
    assert uses.count(at(regularised, "total = w.sum()")) == 1
    assert set(uses) == {at(regularised, t) for t in ("total = total + 0.1", "total = total + 0.001", "total = w.sum")}


def test_what_the_derivative_of_another_line_reads_is_no_use_there():
    """The derivative of sin is the cos of line b, and that of cos is the sin of line a; w has three uses in all."""
    artifact = gradient(own_and_of_the_other)
    first, second = at(own_and_of_the_other, "a = "), at(own_and_of_the_other, "b = ")
    assert sorted(str(place) for place in artifact.origin("d_w").uses) == [first, second, second]
    assert f"sum of the uses at {first}, {second} (twice)\n" in str(artifact.ir("adjoint"))


@pytest.mark.parametrize("stage", ["adjoint", "opt"])
def test_the_dump_says_so(stage):
    text = str(gradient(tiny).ir(stage))
    line = next(line for line in text.splitlines() if " = mul %w, %w" in line)
    assert line.endswith(f"// also at {at(tiny, 't = t + 0.1')}")
    total = next(line for line in text.splitlines() if line.lstrip().startswith("%d_w: "))
    assert total.endswith(f"// sum of the uses at {at(tiny, 't = w.sum')}, {at(tiny, 't = t + 0.1')} (twice)")


def test_the_text_reads_back():
    for stage in STAGES_OF_OPS:
        once = print_module(parse_module(str(gradient(regularised).ir(stage))))
        assert print_module(parse_module(once)) == once
        assert str(gradient(regularised).ir(stage)) == str(gradient(regularised).ir(stage))


# ------------------------------------------------------------------------------------------------- source, report
def test_comments_of_the_derivative_name_the_lines():
    text = gradient(tiny).source().splitlines()
    share = next(i for i, line in enumerate(text) if line.strip() == "d_w = 0.1 * w")  # in the arm
    assert text[share - 1].strip().startswith(f"# backward of {at(tiny, 't = t + 0.1')}: t = t + 0.1")
    text = gradient(regularised).source()
    both = f"{at(regularised, 'total = total + 0.1')}, {at(regularised, 'total = total + 0.001')}"
    assert f"# backward of {both}: total = total + 0.1" in text


def test_the_report_links_an_op_to_each_line():
    data = report_data(gradient(tiny)._call)
    for stage in STAGES_OF_OPS:
        by_line: dict[int, set[int]] = {}
        for line, _, _, place, *_ in [
            op for op in data["stages"][stage]["ops"] + data["stages"][stage]["also"] if op[3:]
        ]:
            by_line.setdefault(line, set()).add(data["places"][place][1])
        product = next(
            i
            for i, text in enumerate(data["stages"][stage]["lines"], 1)
            if " = mul %w, %w" in text or " = mul %w_1, %w_1" in text
        )
        wanted = {int(at(tiny, text).rpartition(":")[2]) for text in ("if ", "t = t + 0.1")}
        assert by_line[product] == wanted


# ------------------------------------------------------------------------------------------------- places
def test_places_of_one_line_are_one_and_there_are_some_of_many():
    place = Loc("a.py", 1, 4)
    assert place.with_also(Loc("a.py", 1, 9)) is place
    assert place.with_also(Loc("a.py", 2)).with_also(Loc("a.py", 2, 3)).also == (Loc("a.py", 2),)
    shared = place.with_also(Loc("a.py", 2).with_also(Loc("a.py", 3)))
    assert shared.places == (place, Loc("a.py", 2), Loc("a.py", 3))
    assert [x.tag for x in shared.tagged("adjoint").places] == ["adjoint"] * 3
    for line in range(2, 100):
        place = place.with_also(Loc("a.py", line))
    assert [x.line for x in place.also] == list(range(2, 10))


def test_a_function_called_twice_leads_back_to_both_calls():
    inner = Loc("layers.py", 5)
    both = inner._replace(caller=Loc("net.py", 1)).with_also(inner._replace(caller=Loc("net.py", 2)))
    assert [x.caller.line for x in both.places] == [1, 2]
