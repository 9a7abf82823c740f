"""Running a pipeline: reports, repetition, dumps, checks, and what a failing pass leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

import autodiff_compiler.primitives  # noqa: F401  (registers the ops)
from autodiff_compiler.errors import CompileError, InternalCompilerError, ShapeError
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.passes import PASSES, PIPELINE, PLANNING, PassReport, dump, run
from tests.passes.programs import StateInterpreter

TEXT = """
func @f(%x: f32[4]) -> (f32[4]) {
  %one: f32[4] = const {value=1.0}
  %m: f32[4] = mul %x, %one
  %y: f32[4] = tanh %m
  return %y
}
"""
SECOND_ORDER = """
state @w: f32[]
func @f(%x: f32[]) -> (f32[]) {
  %y: f32[], %d: f32[] = grad %x {wrt=[0]} body (%a: f32[]) {
    %z: f32[], %e: f32[] = grad %a {wrt=[0]} body (%b: f32[]) {
      %w: f32[] = state_read {state="w"}
      %c: f32[] = mul %b, %b
      %g: f32[] = mul %c, %w
      yield %g
    }
    yield %e
  }
  return %d
}
"""


def test_reports_name_the_passes_in_order_and_count_ops() -> None:
    seen: list[PassReport] = []
    module, reports = run(parse_module(TEXT), ["simplify", "dce"], observe=lambda report, _: seen.append(report))
    assert [(r.name, r.before, r.after) for r in reports] == [("simplify", 3, 1), ("dce", 1, 1)]
    assert all(r.seconds >= 0 for r in reports)
    assert seen == reports
    assert [op.defn.name for op in module.entry.body.ops] == ["tanh"]


def test_the_whole_pipeline_gives_the_second_derivative() -> None:
    """The second derivative of w x**2 is 2 w."""
    module, reports = run(parse_module(SECOND_ORDER), [*PIPELINE, *PLANNING], verify=True)
    assert StateInterpreter(module).run(None, 3.0, 5.0) == [10.0]
    names = [r.name for r in reports]
    assert names[:2] == ["lift_state", "simplify"]
    assert names[2:6] == ["views", "expand_grad", "lift_state", "simplify"]
    assert names[-8:] == ["inline", "simplify", "dce", "licm", "unread", "buckets", "fuse", "plan_memory"]


def test_without_a_grad_nothing_is_expanded() -> None:
    _, reports = run(parse_module(TEXT), PIPELINE, verify=True)
    assert "expand_grad" not in [r.name for r in reports]


def test_every_pass_leaves_a_dump_that_parses(tmp_path: Path) -> None:
    run(parse_module(TEXT), [*PIPELINE, *PLANNING], dump_dir=tmp_path / "dumps")
    files = sorted(p.name for p in (tmp_path / "dumps").iterdir())
    assert files == [
        "00_input.ir", "01_lift_state.ir", "02_simplify.ir", "03_inline.ir", "04_simplify.ir", "05_dce.ir",
        "06_licm.ir", "07_unread.ir", "08_buckets.ir", "09_fuse.ir", "10_plan_memory.ir",
    ]  # fmt: skip
    for name in files:
        parse_module((tmp_path / "dumps" / name).read_text())
    assert (tmp_path / "dumps" / "00_input.ir").read_text() == print_module(parse_module(TEXT))


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(module: Module) -> Module:
        new = PASSES["licm"](module)
        new.entry.body.ops.clear()
        return new

    def crash(module: Module) -> Module:
        raise KeyError("no such thing")

    def refuse(module: Module) -> Module:
        raise ShapeError("the user's mistake")

    for name, broken in (("lose", lose), ("crash", crash), ("refuse", refuse)):
        monkeypatch.setitem(PASSES, name, broken)


def test_a_pass_that_breaks_the_module_leaves_it_before_and_after(broken: None, tmp_path: Path) -> None:
    with pytest.raises(InternalCompilerError) as caught:
        run(parse_module(TEXT), ["simplify", "lose"], dump_dir=tmp_path, verify=True)
    before, after = tmp_path / "02_lose.before.ir", tmp_path / "02_lose.after.ir"
    assert "the pass lose made a module that is not valid" in str(caught.value)
    assert str(before) in str(caught.value)
    assert str(after) in str(caught.value)
    assert "tanh" in before.read_text()
    assert "tanh" not in after.read_text()


def test_a_pass_that_fails_leaves_what_it_was_given(broken: None, tmp_path: Path) -> None:
    with pytest.raises(InternalCompilerError, match="the pass crash failed: KeyError: 'no such thing'") as caught:
        run(parse_module(TEXT), ["crash"], dump_dir=tmp_path)
    report = (tmp_path / "01_crash.before.ir").read_text()
    assert print_module(parse_module(report)) == print_module(parse_module(TEXT))
    assert "KeyError: 'no such thing'" in report
    assert not (tmp_path / "01_crash.after.ir").exists()
    assert isinstance(caught.value.__cause__, KeyError)


def test_without_a_folder_failures_are_left_in_one_of_the_process(broken: None) -> None:
    paths = []
    for _ in range(2):
        with pytest.raises(InternalCompilerError) as caught:
            run(parse_module(TEXT), ["crash"])
        paths.append(Path(next(n for n in caught.value.notes if "report" in n).split("left for a report: ")[1]))
    assert len({path.name for path in paths}) == 2
    assert paths[0].parent == paths[1].parent
    assert "autodiff_compiler_" in paths[0].parent.name
    assert paths[0].name < paths[1].name
    for path in paths:
        assert print_module(parse_module(path.read_text())) == print_module(parse_module(TEXT))
        path.unlink()


def test_an_error_of_the_user_passes_through(broken: None, tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match="the user's mistake"):
        run(parse_module(TEXT), ["refuse"], dump_dir=tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["00_input.ir", "01_refuse.failed.ir"]
    assert "the user's mistake" in (tmp_path / "01_refuse.failed.ir").read_text()


def test_functions_that_call_each_other_are_refused() -> None:
    text = "func @f(%x: f32[]) -> (f32[]) { %y: f32[] = call @g %x ; return %y }\n"
    text += "func @g(%x: f32[]) -> (f32[]) { %y: f32[] = call @f %x ; return %y }\n"
    with pytest.raises(CompileError, match=r"call each other in a circle: @[fg] -> @[fg] -> @[fg]"):
        run(parse_module(text), ["inline"])


def test_a_dump_shows_groups_and_places() -> None:
    module, _ = run(
        parse_module(TEXT.replace("%y: f32[4] = tanh %m", "%z: f32[4] = tanh %m ; %y: f32[4] = exp %z")), PIPELINE
    )
    assert dump(module, "fuse") == (
        "func @f(%x: f32[4]) -> (f32[4]) {\n"
        "  %z: f32[4] = tanh %x  // group 0\n"
        "  %y: f32[4] = exp %z  // group 0\n"
        "  return %y\n"
        "}\n"
    )
    assert "%y: f32[4] = exp %z  // in place of %z; frees %z\n" in dump(module, "plan_memory")
