"""Tracebacks of exceptions raised in compiled code: the lines and the columns are those of Python's own."""

from __future__ import annotations

import importlib.util
import sys
import traceback

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor

PROGRAM = """
def asserts(x, n):
    é = "ü"; assert x.sum() > n, "too small: ä"
    return x


def raises(x, n):
    if n == 0:
        raise ValueError(f"unknown mode {n!r}")
    if n == 1: raise ValueError(
        "over several "
        f"lines: {n}")
    if n == 2: "äöü"; raise KeyError
    if n == 3:
        raise ValueError("with a cause") from KeyError(n)
    assert n != 4
    if x.sum() > 100: raise OverflowError("known when it runs")
    return (asserts(x, n) * 2)


def called(x, n):
    return x + raises(x * 2, n) + 1
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "raising.py"
    path.write_text(PROGRAM, "utf-8")
    spec = importlib.util.spec_from_file_location("raising_program", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["raising_program"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["raising_program"]


def told(fn, *args):
    """The traceback that Python prints, from the function on and without our note."""
    with pytest.raises(Exception) as caught:  # noqa: PT011  (of any class: the text says which)
        fn(*args)
    error = caught.value
    assert fn.__name__ == "called"
    own = "".join(traceback.format_exception(error)).split("in called\n")[1]
    return [line for line in own.splitlines() if "(compiled code)" not in line]


@pytest.mark.parametrize(("x", "n"), [(0.5, 0), (0.5, 1), (0.5, 2), (0.5, 3), (60.0, 5)])
def test_compiled_code_shows_what_python_shows(program, x, n):
    given = Tensor([x]), n
    with ms.disable_jit():
        wanted = told(program.called, *given)
    assert told(ms.jit(program.called), *given) == wanted


@pytest.mark.parametrize(("n", "marked"), [(4, "n != 4"), (5, "x.sum() > n")])
def test_the_test_of_an_assert_is_marked(program, n, marked):
    """Which part of the statement Python itself marks depends on its version."""
    *_, line, marks, _ = told(ms.jit(program.called), Tensor([0.5]), n)
    begin = line.index(marked)
    assert marks == " " * begin + "^" * len(marked)


def test_the_marks(program):
    """They stand under the call, and below a statement that fills its line there are none."""
    file = program.__file__
    line = PROGRAM[: PROGRAM.index("raise ValueError(f")].count("\n") + 1
    assert told(ms.jit(program.called), Tensor([0.5]), 0) == [
        "    return x + raises(x * 2, n) + 1",
        "               ^^^^^^^^^^^^^^^^",
        f'  File "{file}", line {line}, in raises',
        '    raise ValueError(f"unknown mode {n!r}")',
        "ValueError: unknown mode 0",
    ]
