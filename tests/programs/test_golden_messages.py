"""One program per code and the exact message a user reads: `goldens/ACnnnn.py` and `goldens/ACnnnn.txt`.

The texts were read and corrected by hand (after a change `python tests/programs/test_golden_messages.py AC1101`, with
the repository on the path, writes one anew, to be read again); what a message must say is checked a second time against
the table below, which is the specification's, and the places against the marks in the program: a comment `#> text`
below a line says which part of it the carets must mark (`#2>`: as the second place; `#>>`: where the text stands for
the last time; without a text only the line counts).
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
import tempfile
import unicodedata
import warnings
from pathlib import Path

import pytest

import autodiff_compiler as ms
from autodiff_compiler import errors
from autodiff_compiler.catalogue import CATALOGUE

GOLDENS = Path(__file__).parent / "goldens"

# The class, its builtin base, and what the message must contain besides the place.
MUST = {
    "AC1001": ("SourceUnavailableError", OSError, ["`scaled`", "`exec`", "put", "file", "`ms.py_call`"]),
    "AC1002": ("SourceUnavailableError", OSError, ["model.py", "`net`", "changed", "reload"]),
    "AC1101": ("UnsupportedSyntaxError", NotImplementedError, ["'try'", "test before", "move"]),
    "AC1103": ("UnsupportedSyntaxError", NotImplementedError, ["complex", "imaginary part"]),
    "AC1104": ("UnsupportedSyntaxError", NotImplementedError, ["'raise'", "raise ValueError(...)"]),
    "AC1105": ("UnsupportedSyntaxError", NotImplementedError, ["set", "sorted(s)", "tuple"]),
    "AC1106": ("UnsupportedSyntaxError", NotImplementedError, ["generator", "list comprehension"]),
    "AC1107": ("UnsupportedSyntaxError", NotImplementedError, ["'yield'", "list", "stack"]),
    "AC1108": ("UnsupportedSyntaxError", NotImplementedError, ["'with'", "lock", "nullcontext"]),
    "AC1109": ("UnsupportedSyntaxError", NotImplementedError, ["'class'", "module level"]),
    "AC1201": ("UnknownNameError", NameError, ["`scael`", "`scale`"]),
    "AC1202": ("UnboundVariableError", UnboundLocalError, ["'y'", "path", "value before"]),
    "AC1203": ("MissingAttributeError", AttributeError, ["Net", "'wieght'", "`weight`", "`__init__`"]),
    "AC1204": (
        "ArgumentError",
        TypeError,
        ["scale(x, factor, shift=0.0)", "given: 1 by position, 'shfit' by name", "missing: 'factor'", "'shfit'"],
    ),
    "AC1301": ("AmbiguousTruthError", ValueError, ["[3]", ".any()", ".all()", "ops.where", "ops.maximum"]),
    "AC1302": (
        "StaticValueError",
        TypeError,
        ["`axis`", "because", "`n` is mutable", "`m = n + 1`", "number", "shape"],
    ),
    "AC1303": ("StaticValueError", TypeError, ["comprehension", "ops.where"]),
    "AC1304": ("StaticValueError", TypeError, ["'is'", "(a == b).all()"]),
    "AC1305": ("StaticValueError", TypeError, ["list", "ops.stack", "index"]),
    "AC1306": ("StaticValueError", TypeError, ["slice", "ops."]),
    "AC1307": ("DynamicShapeError", TypeError, ["vectorised", "stacked", "where", "masked_fill"]),
    "AC1401": ("JoinError", TypeError, ["'y'", "f64", "f32", "cast"]),
    "AC1402": ("JoinError", TypeError, ["'y'", "[3]", "[]", "numbers of dimensions"]),
    "AC1403": ("JoinError", TypeError, ["'state'['c']", "tuple of 3", "tuple of 2"]),
    "AC1404": ("JoinError", TypeError, ["return value", "None", "`return`", "`else`"]),
    "AC1405": ("JoinError", TypeError, ["relu", "tanh", "call both", "select"]),
    "AC1406": ("JoinError", TypeError, ["'total'", "f32[3]", "f64[3]", "zeros_like", "astype"]),
    "AC1410": ("ShapeError", ValueError, ["[1,3] @ [4,5]: 3 != 4", "`x` is a Tensor f32[1,3]", "`gewicht`"]),
    "AC1410_dtype": ("DTypeError", TypeError, ["left_shift", "float32", "`x`", "astype"]),
    "AC1501": ("LoopError", RuntimeError, ["2000", "`values`"]),
    "AC1502": ("LoopError", RuntimeError, ["kept", "`values`"]),
    "AC1503": (
        "LoopError",
        RuntimeError,
        ["never ends", "does not depend on anything known only at run time", "`mutable`"],
    ),
    "AC1504": ("LoopError", RuntimeError, ["`values`", "changes its size", "at run time", "assign its elements"]),
    "AC1505": ("RecursionDepthError", RecursionError, ["odd", "even", "n = -254"]),
    "AC1506": ("RecursionDepthError", RecursionError, ["double", "run time", "`while`"]),
    "AC1601": ("SideEffectError", RuntimeError, ["the global variable 'last'", "Parameter", "ops.assign"]),
    "AC1602": ("SideEffectError", RuntimeError, ["`history`", "outside", "`history = history.copy()`", "return"]),
    "AC1603": ("SideEffectError", RuntimeError, ["'count'", "backward pass", "attribute"]),
    "AC1604": ("SideEffectError", RuntimeError, ["random", "frozen", "argument", "`ops`"]),
    "AC1605": ("SideEffectError", RuntimeError, ["'set_data'", "ops.assign"]),
    "AC1606": ("SideEffectError", RuntimeError, ["'rate'", "Config", "Cell", "object"]),
    "AC1701": ("GradientError", TypeError, ["argument 1", "'n'", "int", "make it a Tensor"]),
    "AC1702": ("BpropError", TypeError, ["inputs[1]", "inputs[2]", "bprop(y, out, dout)", "construct(x, y)"]),
    "AC1703": ("BpropError", TypeError, ["1 gradients", "2 inputs", "'a', 'b'"]),
    "AC1704": ("BpropError", TypeError, ["[1]", "[3]"]),
    "AC1705": ("BpropError", TypeError, ["`mul`", "not linear"]),
    "AC1706": ("BpropError", TypeError, ["[1]", "[3]", "number"]),
    "AC1707": ("HookError", TypeError, ["scaled (AC1707.py:9)", "ReLU", "a tuple of 2", "1 gradient", "None"]),
    "AC1708": ("HookError", TypeError, ["a Cell", "registered", "before the call"]),
    "AC1709": ("NotDifferentiableError", NotImplementedError, ["py_call", "bprop", "stop_gradient"]),
    "AC1710": ("GradientError", TypeError, ["`vjp`", "outside of compiled code", "one run", "call `vjp`"]),
    "AC1801": (
        "UnsupportedCallError",
        NotImplementedError,
        ["'tolist'", "cut the gradient", "op", "`ms.py_call`", "`bprop`"],
    ),
    "AC1802": ("UnsupportedCallError", NotImplementedError, ["Net", "__call__", "`construct`"]),
    "AC1803": ("UnsupportedCallError", NotImplementedError, ["Dense", "`__init__`"]),
    "AC1804": ("UnsupportedCallError", NotImplementedError, ["Pair", "NamedTuple", "dataclass", "jit_class"]),
    "AC1805": ("UnsupportedCallError", NotImplementedError, ["nancumprod", "`ops.cumprod`"]),
    "AC1806": ("UnsupportedCallError", NotImplementedError, ["eval()", "`constexpr`", "py_call"]),
    "AC1807": ("UnsupportedCallError", NotImplementedError, ["crc32()", "cannot be seen", "`constexpr`", "py_call"]),
    "AC1808": ("ParameterError", (ValueError, RuntimeError), ["'w'", "`a`", "`b`"]),
    "AC1901": ("InternalCompilerError", RuntimeError, ["dce", "KeyError", "stage", "report"]),
    "AC1902": ("UnsupportedCallError", NotImplementedError, ["lgamma", "operator", 'ascend_fallback="host"']),
    "AC1903": ("NonFiniteError", FloatingPointError, ["log", "-inf", "`x`", "f32[3]", "bound its operand"]),
    "AC1904": ("TooLittleMemoryError", MemoryError, ["f32[35184372088832,3]", "422,212,465,065,984 bytes", "in parts"]),
    "AC2001": ("RecompileWarning", UserWarning, ["`rate`", "mutable"]),
    "AC2002": ("UnrollWarning", UserWarning, ["200", "`parts`"]),
    "AC2003": ("GradientWarning", UserWarning, ["zero", "integers", "stop_gradient"]),
    "AC2004": ("BranchRaisesWarning", UserWarning, ["always raises", "IndexError"]),
    "AC2005": ("BypassWarning", UserWarning, ["no effect", "bprop of Doubled"]),
    "AC2006": ("RecompileWarning", UserWarning, ["33", "64"]),
}

_MARK = re.compile(r"#(\d?)(>>?)(?: (.*))?$")


def marks(name):
    """The places marked in a program, in their order: line, first and last column (None: only the line is marked)."""
    found, line, code = {}, 0, ""
    for number, text in enumerate((GOLDENS / f"{name}.py").read_text("utf-8").splitlines(), 1):
        match = _MARK.match(text)
        if match is None:
            line, code = number, text
            continue
        start = code.rindex(match[3]) if match[2] == ">>" else code.index(match[3] or "")
        where = (line, start, start + len(match[3])) if match[3] else (line, None, None)
        found[int(match[1] or len(found) + 1)] = where
    return [found[i] for i in sorted(found)]


def run(name, folder):
    """The error of a program, or its warnings."""
    spec = importlib.util.spec_from_file_location(name, GOLDENS / f"{name}.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    errors._warned.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            program.fails(*[str(folder)] * len(inspect.signature(program.fails).parameters))
        except ms.CompileError as error:
            return error, caught
    return None, caught


def told(error, caught, folder):
    """What the user reads, without what differs from run to run."""
    text = (
        error.render() if error is not None else "\n".join(f"{type(w.message).__name__}: {w.message}" for w in caught)
    )
    text = text.replace(str(folder), "<folder>")
    return re.sub(r"\S*autodiff_compiler_\w+(/\d{3}_)?", lambda m: "<report>/" if m[1] else "<report>", text) + "\n"


@pytest.fixture(autouse=True)
def there(monkeypatch):
    monkeypatch.chdir(GOLDENS)
    monkeypatch.delenv("AC_FULL_TRACEBACK", raising=False)
    for key, value in (("verify", False), ("save_graphs", False)):
        ms.set_context(**{key: value})


@pytest.mark.parametrize("name", sorted(MUST))
def test_message(name, tmp_path):
    """It is the one that was read, says what the specification asks for, and marks the places marked in the program."""
    error, caught = run(name, tmp_path)
    text = told(error, caught, tmp_path)
    assert text == (GOLDENS / f"{name}.txt").read_text("utf-8")
    assert_says_what_the_specification_asks_for(name, text, error, caught)
    if not name.startswith("AC2"):
        assert_places_are_those_marked(name, error)
        assert_carets_stand_under_the_marked_text(name, text)


def assert_says_what_the_specification_asks_for(name, text, error, caught):
    kind, bases, words = MUST[name]
    for word in words:
        assert word in text, f"{word!r} is missing in\n{text}"
    code = name.partition("_")[0]
    if code.startswith("AC2"):
        assert caught
        warning = next(w for w in caught if w.message.code == code)
        assert type(warning.message).__name__ == kind
        assert isinstance(warning.message, bases)
        assert (Path(warning.filename).name, warning.lineno) == (f"{name}.py", marks(name)[0][0])
        return
    assert type(error).__name__ == kind
    assert error.code == code
    for base in bases if isinstance(bases, tuple) else (bases,):
        assert isinstance(error, base)
    assert error.message == error.message.strip()
    assert "\n" not in error.message
    assert f"more: python -m autodiff_compiler explain {code}" in text


def assert_places_are_those_marked(name, error):
    expected = marks(name)
    assert len(error.spans) == len(expected), str(error)
    for (loc, _), (line, start, end) in zip(error.spans, expected, strict=True):
        assert Path(loc.file).name == f"{name}.py"
        assert loc.line == line
        if start is None:
            continue
        assert loc.col == start
        if loc.end_line == loc.line:
            assert loc.end_col == end


def assert_carets_stand_under_the_marked_text(name, text):
    """On a screen, where characters may be two columns wide."""
    lines = text.splitlines()
    shown = [(lines[i - 1], line) for i, line in enumerate(lines) if re.match(r" *\|[ \t]*\^", line)]
    source = (GOLDENS / f"{name}.py").read_text("utf-8").splitlines()
    for (text, carets), (line, start, end) in zip(shown, marks(name), strict=True):
        if start is not None:
            assert _column(carets, carets.index("^")) == _column(text, text.index(source[line - 1]) + start)
            last = text.index(source[line - 1]) + end
            assert _column(carets, carets.rindex("^") + 1) == _column(text, last)


def _column(text, index):
    """The column of a screen at which a character begins."""
    column = 0
    for c in text[:index]:
        if c == "\t":
            column = column // 8 * 8 + 8
        else:
            column += 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
    return column


def test_every_code_has_a_program_and_a_text():
    assert {p.stem for p in GOLDENS.glob("*.txt")} == {p.stem for p in GOLDENS.glob("*.py")} == set(MUST)
    assert {name.partition("_")[0] for name in MUST} == {code for code in CATALOGUE if not of_processes(code)}


def of_processes(code):
    """Whether it takes many processes: those are in tests/distributed."""
    return code.startswith("AC30")


def test_every_code_that_is_raised_is_in_the_catalogue_and_the_other_way_round():
    package = Path(ms.__file__).parent
    raised, instantiated = set(), set()
    for path in package.rglob("*.py"):
        if path.name == "catalogue.py":
            continue
        text = path.read_text("utf-8")
        if path.name != "errors.py":
            raised |= set(re.findall(r"[\"'](AC\d{4})[\"']", text))
            instantiated |= set(re.findall(r"\b(\w+(?:Error|Warning))\b", text))
    for name in instantiated:
        cls = getattr(errors, name, None)
        if inspect.isclass(cls) and issubclass(cls, errors.CompileError | errors.AutodiffWarning):
            raised.add(getattr(cls, "default_code", "") or getattr(cls, "code", ""))
    raised -= {""}
    assert raised <= set(CATALOGUE)
    missing = set(CATALOGUE) - raised
    assert not missing, f"no line of the package raises {sorted(missing)}"


def write(names):
    """Writes texts anew."""
    os.chdir(GOLDENS)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            (GOLDENS / f"{name}.txt").write_text(told(*run(name, folder), folder), "utf-8")


if __name__ == "__main__":
    write(sys.argv[1:])
