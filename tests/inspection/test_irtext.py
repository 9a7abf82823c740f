"""The text of a stage: compared, coloured, saved."""

from __future__ import annotations

import copy
import pickle
import re
from html import unescape

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.config import context
from autodiff_compiler.inspection.irtext import IRText
from tests.inspection.lowered_programs import PROGRAMS

X = Tensor([1.0, 2.0])


def program(body, name="f", arguments="%x: f32[2], %y: f32[2]"):
    lines = "\n".join(f"  {line}" for line in body.strip().split("\n"))
    return IRText(f"func @{name}({arguments}) -> (f32[2]) {{\n{lines}\n}}\n", "opt", f"{name}(f32[2], f32[2])")


def changes(diff):
    return [line for line in diff.split("\n") if line[:2] in ("- ", "+ ")]


BEFORE = program("%0: f32[2] = tanh %x\n%1: f32[2] = mul %0, %y\n%2: f32[2] = add %1, %0\nreturn %2")


def test_other_numbers_and_places_are_no_change():
    after = program(
        "%3: f32[2] = tanh %x                          @ net.py:7:4\n%a_1: f32[2] = mul %3, %y  @ net.py:8:4 adjoint\n"
        "%9: f32[2] = add %a_1, %3\nreturn %9".replace("%a_1", "%8")
    )
    assert BEFORE.diff(after) == ""
    assert BEFORE.diff(BEFORE) == ""


def test_other_operands_are_a_change_though_only_numbers_differ():
    after = program("%0: f32[2] = tanh %x\n%1: f32[2] = mul %0, %y\n%2: f32[2] = add %1, %1\nreturn %2")
    assert changes(BEFORE.diff(after)) == ["-   %2: f32[2] = add %1, %0", "+   %2: f32[2] = add %1, %1"]
    swapped = program("%0: f32[2] = tanh %x\n%1: f32[2] = mul %y, %0\n%2: f32[2] = add %1, %0\nreturn %2")
    assert len(changes(BEFORE.diff(swapped))) == 2


def test_one_op_more_in_front_shows_as_one_line():
    after = program(
        "%0: f32[2] = exp %y\n%1: f32[2] = tanh %x\n%2: f32[2] = mul %1, %y\n%3: f32[2] = add %2, %1\nreturn %3"
    )
    assert changes(BEFORE.diff(after)) == ["+   %0: f32[2] = exp %y"]
    # A removed line names what stays as the new text does, and what is gone so that it is not taken for another.
    assert changes(after.diff(BEFORE)) == ["-   %0': f32[2] = exp %y"]


def test_a_line_that_moved_shows_as_itself():
    before = program(
        "%0: f32[2] = tanh %x\n%1: f32[2] = exp %x\n%2: f32[2] = exp %y\n%3: f32[2] = mul %1, %2\nreturn %3"
    )
    after = program(
        "%2: f32[2] = exp %y\n%0: f32[2] = tanh %x\n%1: f32[2] = exp %x\n%3: f32[2] = mul %1, %2\nreturn %3"
    )
    assert changes(before.diff(after)) == ["+   %2: f32[2] = exp %y", "-   %2: f32[2] = exp %y"]


def test_the_heads_say_what_is_compared_and_where():
    after = program("%0: f32[2] = sin %x\n%1: f32[2] = mul %0, %y\n%2: f32[2] = add %1, %0\nreturn %2")
    diff = BEFORE.diff(after, context=1)
    assert diff.split("\n") == [
        "--- opt of f(f32[2], f32[2])",
        "+++ opt of f(f32[2], f32[2])",
        "@@ func @f @@",
        "  func @f(%x: f32[2], %y: f32[2]) -> (f32[2]) {",
        "-   %0: f32[2] = tanh %x",
        "+   %0: f32[2] = sin %x",
        "    %1: f32[2] = mul %0, %y",
    ]
    assert (diff.stage, type(diff)) == ("diff", IRText)
    assert "\x1b[" not in diff
    assert "\x1b[31m-   %0: f32[2] = tanh %x\x1b[0m" in BEFORE.diff(after, color=True)


def test_remarks_count_between_texts_of_one_stage():
    remarked = IRText(BEFORE.replace("mul %0, %y", "mul %0, %y  // frees %y"), "opt", "f")
    assert len(changes(BEFORE.diff(remarked))) == 2
    other = IRText(remarked, "plan", "f")
    assert BEFORE.diff(other) == ""


MOVED = """
import autodiff_compiler as ms
from autodiff_compiler import ops


def f(x, w):
    total = 0.0
    for i in [1, 2]:
        total = total + ops.{op}(x @ w * {k}).sum()
    y = x @ w{end}
    return total + (y * y).mean() + (y * w.sum()).sum() + ops.relu(y).sum()


@ms.jit
def step(x, w):
    return ms.value_and_grad(f, 1)(x, w)
"""


def moved(path, above="", **what):
    path.write_text(above + MOVED.format(**({"op": "exp", "k": 2, "end": ""} | what)))
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["step"].lower(ms.TensorSpec("f32[4,3]"), ms.TensorSpec("f32[3]"))


@pytest.fixture(params=["auto", "numpy"])
def backend(request):
    before = context.backend
    context.set(backend=request.param)
    yield
    context.set(backend=before)


@pytest.mark.parametrize("name", ["other.py", "with a space.py", "Größe.py"])
def test_a_file_of_another_name_with_lines_above_is_no_change(tmp_path, name, backend):
    one, other = moved(tmp_path / "one.py"), moved(tmp_path / name, above="# note\n\n\n")
    assert re.search(r"sum of the uses at one\.py:9\b.*one\.py:11", one.ir("opt")), "it has remarks that name lines"
    for stage in ("source", "front", "adjoint", "opt", "plan", "code"):
        assert one.ir(stage).diff(other.ir(stage)) == "", stage
    # As saved: the text alone knows what the files are called.
    assert IRText(str(one.ir("plan")), "plan").diff(IRText(str(other.ir("plan")), "plan")) == ""


def test_a_change_in_a_moved_file_is_seen_at_every_stage(tmp_path, backend):
    one = moved(tmp_path / "one.py")
    for what in ({"op": "tanh"}, {"k": 3}, {"end": " + 1"}):
        other = moved(tmp_path / "other.py", **what)
        for stage in ("front", "adjoint", "opt", "plan", "code"):
            assert changes(one.ir(stage).diff(other.ir(stage))), (what, stage)


def test_remarks_are_compared_but_for_the_lines_they_name():
    def remarked(note):
        return IRText(BEFORE.replace("mul %0, %y", f"mul %0, %y  // {note}"), "opt", "f")

    assert remarked("sum of the uses at a.py:7, a.py:9; group 1").diff(
        remarked("sum of the uses at b.py:7 (3 times) and 4 more lines; group 1")
    ) == ""  # fmt: skip
    assert changes(remarked("sum of the uses at a.py:7; group 1").diff(remarked("sum of the uses at a.py:7; group 2")))
    assert changes(remarked("in place of %x at a.py:7").diff(remarked("frees %x at a.py:7")))


def test_two_programs_that_differ_in_one_place():
    def first(x):
        return ops.tanh(x * 2).sum()

    def second(x):
        y = x * 2
        return ops.sin(y).sum()

    texts = [ms.jit(f).lower(X).ir("front") for f in (first, second)]
    diff = texts[0].diff(texts[1])
    assert [line for line in changes(diff) if "tanh" in line or "sin" in line]
    assert all("sum" not in line.split(" = ")[-1] or "%y" in line for line in changes(diff))


def test_functions_are_told_apart_by_their_order_if_there_are_as_many():
    inner = "\n\nfunc @{0}(%x: f32[2]) -> (f32[2]) {{\n  return %x\n}}\n"
    body = "%0: f32[2] = call %x {{callee=@{0}}}\nreturn %0"
    a, b = (IRText(program(body.format(n), name=m) + inner.format(n), "opt") for m, n in (("f", "g"), ("h", "i")))
    assert a.diff(b) == ""
    alone = program(body.format("g"), name="h")  # with one function less the names say which it is
    assert "- func @f(%x: f32[2], %y: f32[2]) -> (f32[2]) {" in a.diff(alone).split("\n")


def test_constants_that_look_alike_in_short():
    """NaN is itself, and -0.0 is not 0.0."""
    arrays = [np.arange(300, dtype=np.float32) for _ in range(3)]
    arrays[0][200] = arrays[1][200] = arrays[2][200] = np.nan
    arrays[1][100], arrays[2][[0, 250]] = 5, [-0.0, -1]
    texts = [ms.jit(lambda x, a=a: x + Tensor(a)).lower(Tensor(1.0)).ir("opt") for a in arrays]
    assert texts[0].diff(texts[0]) == ""
    assert texts[0].diff(texts[1]).split("\n")[-3:] == [
        "@@ constant @tensor0: 1 of 300 elements differ, first [100] @@", "- [100] 100.0", "+ [100] 5.0",
    ]  # fmt: skip
    assert texts[0].diff(texts[2]).split("\n")[-3:] == [
        "@@ constant @tensor0: 2 of 300 elements differ, first [0] @@", "- [0] 0.0", "+ [0] -0.0",
    ]  # fmt: skip


def test_removed_and_kept_ops_of_a_real_pass():
    def f(x):
        return (x + 0.0 * x.sum(), x * 1.0)[1]

    artifact = ms.jit(f).lower(X)
    diff = artifact.ir("front").diff(artifact.ir("opt"))
    assert any(line.startswith("-") and "mul" in line for line in diff.split("\n"))
    assert not any(line.startswith("+ ") and " = " in line for line in diff.split("\n"))


def test_saved_text_is_the_text(tmp_path):
    text = ms.jit(lambda x: x * 2).lower(X).ir("opt")
    text.save(tmp_path / "f.ir")
    assert (tmp_path / "f.ir").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("stage", ["source", "front", "opt", "plan", "code"])
def test_html_shows_the_text_and_asks_the_network_for_nothing(stage):
    made = PROGRAMS["gradient"]()
    text = made.fn.lower(*made.args).ir(stage)
    page = text._repr_html_()
    assert unescape(re.sub(r"<[^>]*>", "", page)) == text
    assert not re.search(r"https?:|<script|<link|src=|url\(", page)
    if stage == "opt":
        assert "<span" in page
    diff = BEFORE.diff(program("return %x"))
    assert unescape(re.sub(r"<[^>]*>", "", diff._repr_html_())) == diff


def test_a_pickled_or_copied_text_is_the_text_of_its_stage():
    text = ms.jit(lambda x: x * 2).lower(X).ir("opt")
    for again in (pickle.loads(pickle.dumps(text)), copy.deepcopy(text)):
        assert (again, again.stage, again.of) == (text, "opt", text.of)
        assert again.run([1.0, 3.0])[0].tolist() == [2.0, 6.0]
