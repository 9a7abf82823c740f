"""The machinery of the text-in/text-out cases, run on passes made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.verify import VerifyError
from autodiff_compiler.passes.manager import PASSES
from tests.passes.case import Case

INPUT = """\
// pass: keep
// name: nothing changes
func @f(%x: f32[4]) -> (f32[4]) { %y: f32[4] = tanh %x ; return %y }
"""
PRINTED = """\
func @f(%x: f32[4]) -> (f32[4]) {
  %y: f32[4] = tanh %x
  return %y
}
"""


def keep(module: Module) -> Module:
    return module


def lose_a_definition(module: Module) -> Module:
    module.entry.body.ops.clear()
    return module


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(PASSES, "keep", keep)
    monkeypatch.setitem(PASSES, "lose", lose_a_definition)
    return tmp_path / "a_case.ir"


def check(path: Path, text: str, update: bool = False) -> None:
    path.write_text(text)
    Case.read(path).check(update)


def test_a_result_like_the_expected_part_passes(case: Path) -> None:
    check(case, INPUT + "// ---\n" + PRINTED)
    assert case.read_text() == INPUT + "// ---\n" + PRINTED


def test_another_result_fails_and_names_the_case(case: Path) -> None:
    with pytest.raises(AssertionError, match=r"a_case.ir: nothing changes"):
        check(case, INPUT + "// ---\n" + PRINTED.replace("%y", "%z"))


def test_a_missing_expected_part_fails_with_the_command_that_writes_it(case: Path) -> None:
    with pytest.raises(AssertionError, match=r"-k a_case --update-golden"):
        check(case, INPUT)
    assert case.read_text() == INPUT


@pytest.mark.parametrize("old", ["", "// ---\nfunc @g() -> () { return }\n"])
def test_updating_writes_the_expected_part(case: Path, old: str) -> None:
    check(case, INPUT + old, update=True)
    assert case.read_text() == INPUT + "// ---\n" + PRINTED


def test_what_a_pass_breaks_is_found(case: Path) -> None:
    with pytest.raises(VerifyError, match="is not defined there"):
        check(case, INPUT.replace("keep", "keep, lose") + "// ---\n" + PRINTED)


def test_the_stage_is_checked_after_the_passes(case: Path) -> None:
    header, function = INPUT.split("func")
    function = function.replace("tanh %x", 'state_read {state="w"}')
    writes = f"{header}// stage: PURE\nstate @w: f32[4]\nfunc{function}"
    with pytest.raises(VerifyError, match="may not exist at this stage"):
        check(case, writes + "// ---\n" + PRINTED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (INPUT.replace("// name: nothing changes\n", ""), "must start with"),
        (INPUT.replace("// name", "// nmae"), "not understood: // nmae: nothing changes"),
        ("// pass: keep\n" + INPUT, "not understood: // pass: keep"),
        (INPUT.replace("keep", "kepe"), "there is no pass 'kepe'; there are .*keep"),
    ],
)
def test_a_mistake_in_the_header_is_an_error(case: Path, text: str, message: str) -> None:
    with pytest.raises((ValueError, LookupError), match=message):
        check(case, text)
