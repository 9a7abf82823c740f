"""Errors: what they look like, what they inherit, and that code, class and catalogue agree."""

import copy
import inspect
import pickle
import sys
import warnings
from types import TracebackType

import pytest

from autodiff_compiler import errors
from autodiff_compiler.catalogue import CATALOGUE, explain
from autodiff_compiler.errors import (
    ArgumentError,
    CompileError,
    JoinError,
    ShapeError,
    did_you_mean,
    leave_user_frames,
    nearest,
)
from autodiff_compiler.source import Loc, excerpt

CLASSES = {name: getattr(errors, name) for name in errors.__all__ if inspect.isclass(getattr(errors, name))}
COMPILE_ERRORS = {n: c for n, c in CLASSES.items() if issubclass(c, CompileError) and c is not CompileError}
WARNINGS = {n: c for n, c in CLASSES.items() if issubclass(c, Warning) and c is not errors.AutodiffWarning}

# The builtin that Python's own error for the same mistake is; from the specification of the language subset.
BASES = {
    "SourceUnavailableError": OSError,
    "UnsupportedSyntaxError": NotImplementedError,
    "UnknownNameError": NameError,
    "UnboundVariableError": UnboundLocalError,
    "MissingAttributeError": AttributeError,
    "ArgumentError": TypeError,
    "AmbiguousTruthError": ValueError,
    "StaticValueError": TypeError,
    "DynamicShapeError": TypeError,
    "JoinError": TypeError,
    "ShapeError": ValueError,
    "DTypeError": TypeError,
    "LoopError": RuntimeError,
    "RecursionDepthError": RecursionError,
    "SideEffectError": RuntimeError,
    "GradientError": TypeError,
    "BpropError": TypeError,
    "HookError": TypeError,
    "NotDifferentiableError": NotImplementedError,
    "UnsupportedCallError": NotImplementedError,
    "ParameterError": (ValueError, RuntimeError),
    "InternalCompilerError": RuntimeError,
    "NonFiniteError": FloatingPointError,
    "TooLittleMemoryError": MemoryError,
    "CollectiveError": RuntimeError,
    "CollectiveTimeoutError": TimeoutError,
}


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A file of the user, in the working directory."""
    lines = ["def f(x, y):", "    return x + y", "", "größe = f(日本, 2)", "\tif\tx > 1:", "z = (1 +", "     2)"]
    (tmp_path / "user.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return str(tmp_path / "user.py")


# ---------------------------------------------------------------------------------------------- classes


def test_every_class_has_its_builtin_base():
    assert COMPILE_ERRORS.keys() == BASES.keys()
    for name, base in BASES.items():
        for one in base if isinstance(base, tuple) else (base,):
            assert issubclass(COMPILE_ERRORS[name], one)


@pytest.mark.parametrize("cls", [*COMPILE_ERRORS.values(), CompileError], ids=lambda c: c.__name__)
def test_every_class_can_be_raised_rendered_pickled_and_copied(cls, user):
    error = cls("words", spans=[(Loc(user, 1, 4, 1, 5, "f"), "here")], notes=["why"], hint="do", stage="front")
    error.add_note("of the user")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is cls
        assert again.render() == error.render()
        assert again.to_dict() == error.to_dict()
        assert again.__notes__ == ["of the user"]
    assert error.args == ("words",)
    with pytest.raises(cls, match="words"):
        raise error


def test_codes_and_classes_agree_with_the_catalogue():
    for name, cls in COMPILE_ERRORS.items():
        assert name in CATALOGUE[cls.code].classes
    for name, cls in WARNINGS.items():
        assert name in CATALOGUE[cls.default_code].classes
    for code, entry in CATALOGUE.items():
        assert code[:2] == "AC"
        assert code[2:].isdigit()
        for name in entry.classes:
            assert name in (WARNINGS if code[2] == "2" else COMPILE_ERRORS)
        assert entry.situation
        assert entry.advice
    assert list(CATALOGUE) == sorted(CATALOGUE)


def test_explain():
    assert explain("ac1104").startswith("AC1104 (UnsupportedSyntaxError): ")
    with pytest.raises(KeyError):
        explain("AC9999")


def test_errors_of_running_code():
    assert issubclass(errors.GuardError, RuntimeError)
    assert issubclass(errors.NonFiniteError, FloatingPointError)
    assert not issubclass(errors.GuardError, CompileError)


# ---------------------------------------------------------------------------------------------- text

MORE = "more: python -m autodiff_compiler explain"


def test_text_without_a_place():
    error = ShapeError("(2,3) @ (4,5): 3 != 4", hint="transpose one")
    assert str(error) == f"[AC1410] (2,3) @ (4,5): 3 != 4\n  = instead: transpose one\n  = {MORE} AC1410"
    assert error.message == "(2,3) @ (4,5): 3 != 4"
    assert error.render().startswith("ShapeError [AC1410]: (2,3)")
    assert str(CompileError("bare")) == "bare"


def test_whole_text(user):
    caller = Loc(user, 4, 8, 4, 14, "<module>")
    error = JoinError(
        "'y' has two dtypes",
        code="AC1402",
        spans=[(Loc(user, 2, 11, 2, 16, "f", caller), "f32"), (Loc(user, 1, 9, 1, 10, "f"), "i32")],
        notes=["`y` is dynamic because: argument"],
        hint="cast one",
    )
    assert str(error) == "\n".join(
        [
            "[AC1402] 'y' has two dtypes",
            " --> user.py:2:12 in f",
            "  |",
            "2 |     return x + y",
            "  |            ^^^^^ f32",
            "  |",
            " --> user.py:1:10 in f",
            "  |",
            "1 | def f(x, y):",
            "  |          ^ i32",
            "  |",
            "  = called from user.py:4 in <module>:  größe = f(日本, 2)",
            "  = `y` is dynamic because: argument",
            "  = instead: cast one",
            f"  = {MORE} AC1402",
        ]
    )


def test_carets_stand_under_tabs_wide_and_combining_characters(user):
    assert excerpt(Loc(user, 4, 15, 4, 16), "wide").split("\n")[-1] == "  | " + " " * 17 + "^ wide"
    assert excerpt(Loc(user, 4, 10, 4, 12)).split("\n")[-1] == "  | " + " " * 10 + "^^^^"
    assert excerpt(Loc(user, 5, 4, 5, 9)).split("\n")[-1] == "  | \t  \t^^^^^"


# An expression in a line, and the columns of a screen that it fills (first and last + 1), counted by hand.
WIDTHS = [
    ("x = 'e\u0301e\u0301' + y", "y", (11, 12)),  # combining accents
    ("x = '\U0001f600' + y", "y", (11, 12)),  # an emoji fills two columns
    ("x = '\U0001f600' + y", "'\U0001f600'", (4, 8)),
    ("x = '\U0001f469\u200d\U0001f680' + y", "y", (13, 14)),  # joined by a character without width
    ("x = '❤\ufe0f' + y", "y", (10, 11)),  # a variation selector has no width
    ("x = '\u1112\u1161\u11ab' + y", "y", (11, 12)),  # Hangul in parts: one syllable, two columns
    ("値 = 日本 + 1", "日本", (5, 9)),
    ("\uff46\uff55 = 1", "\uff46\uff55", (0, 4)),  # full-width letters
]


@pytest.mark.parametrize(("line", "part", "columns"), WIDTHS)
def test_marks_have_the_width_of_what_they_mark(line, part, columns, tmp_path):
    path = tmp_path / "wide.py"
    path.write_text(line + "\n", encoding="utf-8")
    start = line.index(part)
    marks = excerpt(Loc(str(path), 1, start, 1, start + len(part))).split("\n")[-1].removeprefix("  | ")
    assert (marks.index("^"), len(marks)) == columns


def test_a_tab_inside_an_expression_stays_one(tmp_path):
    path = tmp_path / "tab.py"
    path.write_text("\tx =\ty\t+ z\n")
    assert excerpt(Loc(str(path), 1, 5, 1, 10)).split("\n")[-1] == "  | \t   \t^\t^^^"


def test_of_a_statement_over_several_lines_its_head_is_marked_without_comment(tmp_path):
    path = tmp_path / "many.py"
    path.write_text("if x == '#':  # why\n    pass\ny = [1,  # one\n     2]\n")
    assert excerpt(Loc(str(path), 1, 0, 2, 8)).split("\n")[-1] == "  | ^^^^^^^^^^^"
    assert excerpt(Loc(str(path), 3, 4, 4, 7), "here").split("\n")[-1] == "  |     ^^^... here"


def test_a_place_without_column_is_the_whole_line(tmp_path):
    path = tmp_path / "line.py"
    path.write_text("    f(x)\n")
    assert excerpt(Loc(str(path), 1)).split("\n")[-1] == "  |     ^^^^"


def test_place_over_several_lines_marks_the_first(user):
    assert excerpt(Loc(user, 6, 4, 7, 7)).split("\n")[1:] == ["6 | z = (1 +", "  |     ^^^^..."]
    assert excerpt(Loc(user, 6, 4, 7, 7), "sum").split("\n")[2] == "  |     ^^^^... sum"


def test_line_numbers_of_several_places_align(tmp_path):
    path = tmp_path / "long.py"
    path.write_text("a\n" * 120)
    error = CompileError("m", spans=[(Loc(str(path), 9), "one"), (Loc(str(path), 110), "two")])
    lines = str(error).split("\n")
    assert [line.index("|") for line in lines if "|" in line] == [4] * 8
    assert [line for line in lines if "-->" in line] == [f"   --> {path}:9:1", f"   --> {path}:110:1"]


def test_place_without_source_still_shows_file_and_note():
    text = str(CompileError("m", spans=[(Loc("/no/file.py", 3, 1, 3, 2, "f"), "note")]))
    assert text == "m\n --> /no/file.py:3:2 in f\n  = note"


def test_adjoint_places_say_so(user):
    assert "user.py:2:1 in f (adjoint)" in str(CompileError("m", loc=Loc(user, 2, function="f").tagged("adjoint")))


def test_long_chains_are_shortened(user):
    call = None
    for _ in range(300):
        call = Loc(user, 2, 11, 2, 16, "f", call)
    text = str(CompileError("m", loc=Loc(user, 1, caller=call)))
    assert text.count("called from") == 8
    assert "... 292 more calls" in text
    assert len(CompileError("m", loc=Loc(user, 1, caller=call)).chain) == 300


# ---------------------------------------------------------------------------------------------- fields


def test_at_gives_a_place_only_once(user):
    first, second = Loc(user, 1), Loc(user, 2)
    error = ShapeError("m")
    assert error.loc is None
    assert error.at(first, "why") is error
    assert error.at(second).spans == ((first, "why"),)
    assert error.at(None).loc == first


def test_loc_is_the_first_of_the_places(user):
    error = ShapeError("m", loc=Loc(user, 1), spans=[(Loc(user, 2), "n")])
    assert error.spans == ((Loc(user, 1), ""), (Loc(user, 2), "n"))


def test_plain_data(user):
    error = ArgumentError("m", loc=Loc(user, 2, 4, 2, 9, "f", Loc(user, 4)), hint="h", stage="front")
    data = error.to_dict()
    assert data["class"] == "ArgumentError"
    assert data["code"] == "AC1204"
    assert data["spans"][0]["col"] == 4
    assert [call["line"] for call in data["chain"]] == [4]
    assert (data["message"], data["hint"], data["stage"], data["notes"]) == ("m", "h", "front", [])


def test_html_is_escaped():
    assert CompileError("a < b & c")._repr_html_() == "<pre><b>CompileError: a &lt; b &amp; c</b>\n</pre>"


def test_nearest_names():
    assert nearest("rleu", ["relu", "relu6", "tanh", "_relu"])[0] == "relu"
    assert nearest("Relu", ["relu", "tanh"]) == ["relu"]
    assert nearest("zzz", ["relu", "tanh"]) == []
    assert did_you_mean("tahn", ["tanh", "relu"]) == "use `tanh`"
    assert did_you_mean("zzz", ["relu"]) is None


def test_warnings(user):
    with pytest.warns(errors.UnrollWarning, match=r"\[AC2002\] 200 trips \(user.py:2:1 in f\)"):
        warnings.warn(errors.UnrollWarning("200 trips", loc=Loc(user, 2, function="f")), stacklevel=1)
    assert errors.RecompileWarning("m", code="AC2006").code == "AC2006"


def test_an_interrupt_at_a_step_without_a_line_stays_what_it_is():
    def interrupted():
        try:
            return sys._getframe()
        finally:
            len("")

    frame = interrupted()
    step = next(start for start, _, line in frame.f_code.co_lines() if line is None)
    error = KeyboardInterrupt().with_traceback(TracebackType(None, frame, step, -1))
    assert error.__traceback__.tb_lineno is None
    leave_user_frames(error)
    left = error.__traceback__
    assert (left.tb_frame, left.tb_lasti, left.tb_lineno, left.tb_next) == (frame, step, None, None)
