"""What Python does for a program is told by its texts, and counts in a `diff`: exceptions, warnings, prints, calls."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import TensorSpec
from autodiff_compiler.inspection.irtext import IRText
from autodiff_compiler.ir.text import parse_module, print_module
from tests.programs.compare import define

PROGRAM = """
import warnings

class Mine(ValueError):
    pass

class Other(ValueError):
    pass

outside = Mine("made outside", object(), [object()])

def double(a):
    return a * 2

def triple(a):
    return a * 3

def f(x):
    {}
    return x * 2
"""
#: By what is changed: a statement, and another one.
CHANGED = {
    "message": ('if x.sum() > 3: raise ValueError("too large")', 'if x.sum() > 3: raise ValueError("too big")'),
    "class": ('if x.sum() > 3: raise Mine("no")', 'if x.sum() > 3: raise Other("no")'),
    "own message": ('if x.sum() > 3: raise Mine("no", x)', 'if x.sum() > 3: raise Mine("not", x)'),
    "keyword": ("if x.sum() > 3: raise ImportError(name='a')", "if x.sum() > 3: raise ImportError(name='b')"),
    "number": ("if x.sum() > 3: raise Mine([1, (2.5, {'a': 3})])", "if x.sum() > 3: raise Mine([1, (2.5, {'a': 4})])"),
    "cause": ("if x.sum() > 3: raise Mine() from KeyError(1)", "if x.sum() > 3: raise Mine() from KeyError(2)"),
    "no cause": ("if x.sum() > 3: raise Mine()", "if x.sum() > 3: raise Mine() from None"),
    "text": ('if x.sum() > 3: raise Mine(f"{x.sum()} now")', 'if x.sum() > 3: raise Mine(f"{x.sum()} then")'),
    "assert": ('assert x.sum() < 3, "is small"', 'assert x.sum() < 3, "must be small"'),
    "like names": ('if x.sum() > 3: raise Mine("5%1")', 'if x.sum() > 3: raise Mine("5%2")'),
    "like functions": ('if x.sum() > 3: raise Mine("@f")', 'if x.sum() > 3: raise Mine("@#0")'),
    "like places": ('if x.sum() > 3: raise Mine("a.py:7")', 'if x.sum() > 3: raise Mine("a.py:8")'),
    "like comments": ('if x.sum() > 3: raise Mine(" ; a // b")', 'if x.sum() > 3: raise Mine(" ; a // c")'),
    "not ASCII": ('if x.sum() > 3: raise Mine("\u00e9\\n")', 'if x.sum() > 3: raise Mine("\u00e8\\n")'),
    "print": ('print("got 5%dogs", x.sum())', 'print("got 5%cats", x.sum())'),
    "print like names": ('print("got 5%1", x.sum())', 'print("got 5%2", x.sum())'),
    "print's end": ('print("got", x.sum())', 'print("got", x.sum(), end="!")'),
}
#: What a file of the NumPy backend calls back, and does not tell.
CALLED = {
    "warning": ('warnings.warn("old")', 'warnings.warn("very old")'),
    "kind of warning": ('warnings.warn("old")', 'warnings.warn("old", FutureWarning)'),
    "py_call": (
        "x = ms.py_call(double, x, out=ms.TensorSpec('f32[2]'))",
        "x = ms.py_call(triple, x, out=ms.TensorSpec('f32[2]'))",
    ),
}
BACKENDS = ["numpy", "native"]


def lowered(statement, backend):
    if backend == "native" and ms.config.backends["native"]() is not None:
        pytest.skip("there is no machine code here")
    return ms.jit(define(PROGRAM.format(statement)), backend=backend).lower(TensorSpec("f32[2]"))


@pytest.mark.some(2)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("what", [*CHANGED, *CALLED])
def test_a_change_of_what_python_does_is_seen(what, backend):
    before, after = (CHANGED | CALLED)[what]
    old, same, new = (lowered(statement, backend) for statement in (before, before, after))
    for stage in ("front", "opt", "plan", "code"):
        texts = old.ir(stage), new.ir(stage)
        assert texts[0].diff(same.ir(stage)) == "", stage
        lines = [line for line in texts[0].diff(texts[1]).split("\n")[2:] if line[:1] in ("-", "+")]
        assert {line[0] for line in lines} == {"-", "+"}, stage
        if stage != "code":  # the same of texts from files
            a, b = (IRText(str(text), stage) for text in texts)
            assert a.diff(b)
            bare = print_module(parse_module(str(texts[0])))
            assert print_module(parse_module(bare)) == bare
            assert str(texts[0]).isascii()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ('if x.sum() > 3: raise ValueError("a \\" b")', r'ValueError("a \" b")'),
        ("if x.sum() > 3: raise ValueError", "ValueError()"),
        ('if x.sum() > 3: raise Mine("of", x, 3) from None', 'Mine("of", operands[0], 3) from None'),
        ("if x.sum() > 3: raise outside", 'Mine("made outside", <object>, [<object>])'),
        ("if x.sum() > 3: raise Mine([1, (2.5, {'a': x})])", 'Mine([1, (2.5, {"a": operands[0]})])'),
        ('warnings.warn("old", FutureWarning)', 'FutureWarning("old")'),
        ("x = ms.py_call(double, x, out=ms.TensorSpec('f32[2]'))", "double"),
    ],
)
def test_a_callable_is_told(statement, told):
    for stage in ("front", "opt"):
        (line,) = [line for line in lowered(statement, "numpy").ir(stage).split("\n") if line.startswith("callable ")]
        assert re.fullmatch(rf"callable @\w+  // {re.escape(told)}", line)


def test_code_tells_the_exceptions_it_does_not_hold():
    code = lowered('if x.sum() > 3: raise Mine("a \\"\\"\\" \\\\N", x)', "numpy").ir("code")
    assert code.run(np.ones(2, np.float32))[0].tolist() == [2, 2]
    namespace = {"__name__": "saved", "CALLABLES": {}}
    exec(str(code), namespace)
    assert '    exception0: Mine("a \\"\\"\\" \\\\N", operands[0])' in namespace["__doc__"].split("\n")


def test_a_kernel_that_python_runs_counts_with_its_attributes():
    """Of an op without machine code they are all that tells one from another."""
    first, same, last = (lowered(f"x = ms.ops.sort(ms.ops.outer(x, x), {axis})[0][0]", "native") for axis in (0, 0, 1))
    assert "; Python runs: msort {axis=-2}" in first.ir("code")
    assert first.ir("code").diff(same.ir("code")) == ""
    lines = first.ir("code").diff(last.ir("code"), context=0).split("\n")[3:]
    assert lines == ["-   ; Python runs: msort {axis=-2}", "+   ; Python runs: msort {axis=-1}"]


def test_keys_of_what_is_returned_are_not_lost():
    texts = [
        ms.jit(define(f"def f(x):\n    return x * 2, {{{key!r}: x}}\n")).lower(TensorSpec("f32[2]")).ir("opt")
        for key in ("\u00e9", "\u00e8")
    ]
    assert r"// returned: (result 0, {'\xe9': the argument %x itself})" in texts[0]
    assert "{'\\xe8': " in texts[0].diff(texts[1])
    assert texts[0].isascii()
