"""The line that shows how far a long compilation is: where, when, and that nothing of it stays."""

import io
import re
import threading
import time

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import progress
from autodiff_compiler.passes.manager import PASSES
from tests.programs.compare import define


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def slow(monkeypatch):
    """Compilations in which one pass takes half a second, and the line comes after a tenth of one."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "AFTER", 0.1)
    monkeypatch.setattr(progress, "EVERY", 0.05)
    kept = PASSES["dce"]

    def dce(module):
        time.sleep(0.5)
        return kept(module)

    monkeypatch.setitem(PASSES, "dce", dce)


def compile_on(out, monkeypatch):
    monkeypatch.setattr("sys.stderr", out)
    f = ms.jit(define("def f(x):\n    return ms.ops.tanh(x) + 1"), backend="numpy")
    np.testing.assert_allclose(f(ms.Tensor([0.0, 1.0])).asnumpy(), np.tanh([0.0, 1.0]) + 1, rtol=1e-6)


def screen(text):
    """What a terminal shows after a text of one line: a carriage return goes back to its beginning."""
    line: list[str] = []
    at = 0
    for char in text:
        if char == "\r":
            at = 0
        else:
            line[at : at + 1] = [char]
            at += 1
    return "".join(line)


def test_a_terminal_shows_one_line_which_is_gone_in_the_end(slow, monkeypatch):
    out = Terminal()
    compile_on(out, monkeypatch)
    text = out.getvalue()
    assert re.search(r"\rcompiling f: pass dce, 3 operations, \d+ s", text)
    assert "\n" not in text
    assert screen(text).strip() == ""
    assert text.count("compiling f") > 2


def test_a_step_without_a_count_is_shown_without_one():
    compilation = progress._Work("compiling f")
    assert str(compilation) == "compiling f: 0 s"
    compilation.step = "reading the function"
    assert str(compilation) == "compiling f: reading the function, 0 s"
    compilation.ops = lambda: 1234
    assert str(compilation) == "compiling f: reading the function, 1,234 operations, 0 s"


def test_a_quick_compilation_shows_nothing(monkeypatch):
    out = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "AFTER", 60)
    compile_on(out, monkeypatch)
    assert out.getvalue() == ""


def test_what_is_no_terminal_gets_nothing_unless_it_is_asked_for(slow, monkeypatch):
    out = io.StringIO()
    compile_on(out, monkeypatch)
    assert out.getvalue() == ""
    monkeypatch.setenv("AC_LOG", "progress")
    compile_on(out, monkeypatch)
    lines = out.getvalue().splitlines()
    assert all(line.startswith("compiling f: ") for line in lines)
    assert lines[-1].startswith("compiling f: pass dce, 3 operations, ")
    assert "\r" not in out.getvalue()


def test_a_notebook_gets_plain_text(slow, monkeypatch):
    out = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    compile_on(out, monkeypatch)
    assert out.getvalue().startswith("compiling f: ")
    assert "\r" not in out.getvalue()


def test_a_simple_terminal_gets_plain_text(slow, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    out = Terminal()
    compile_on(out, monkeypatch)
    assert out.getvalue().startswith("compiling f: ")
    assert "\r" not in out.getvalue()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_compilation_leaves_no_mess(slow, error, monkeypatch):
    out = Terminal()
    monkeypatch.setattr("sys.stderr", out)
    kept = PASSES["dce"]

    def dce(module):
        kept(module)
        raise error

    monkeypatch.setitem(PASSES, "dce", dce)
    before = threading.active_count()
    with pytest.raises(BaseException) as caught:  # noqa: PT011  (a MemoryError is told as a mistake of ours)
        ms.jit(define("def f(x):\n    return ms.ops.tanh(x)"), backend="numpy")(ms.Tensor([0.0]))
    assert error in (type(caught.value), type(caught.value.__cause__))
    assert "compiling f" in out.getvalue()
    assert screen(out.getvalue()).strip() == ""
    assert threading.active_count() == before
    written = out.getvalue()
    time.sleep(0.15)
    assert out.getvalue() == written


def test_two_threads_share_one_line(slow, monkeypatch):
    out = Terminal()
    monkeypatch.setattr("sys.stderr", out)
    functions = [ms.jit(define(f"def f{i}(x):\n    return ms.ops.tanh(x)", f"f{i}"), backend="numpy") for i in range(2)]
    threads = [threading.Thread(target=f, args=(ms.Tensor([0.0]),)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = {f"f{i}" for i in range(2) if f"compiling f{i}:" in out.getvalue()}
    assert shown
    assert screen(out.getvalue()).strip() == ""


def test_a_stream_that_is_closed_or_missing_is_no_error(slow, monkeypatch):
    closed = Terminal()
    closed.close()
    for out in (closed, None):
        compile_on(out, monkeypatch)


def test_a_stream_that_fails_is_no_error(slow, monkeypatch):
    class Broken(Terminal):
        def write(self, text):
            raise OSError("the terminal is gone")

    compile_on(Broken(), monkeypatch)


def test_the_derivative_of_a_call_is_shown_as_such(slow, monkeypatch):
    out = Terminal()
    f = ms.jit(define("def f(x):\n    return ms.ops.tanh(x).sum()"), backend="numpy")
    f(ms.Tensor([0.5]))
    monkeypatch.setattr("sys.stderr", out)
    got = ms.grad(f)(ms.Tensor([0.5])).asnumpy()
    np.testing.assert_allclose(got, [1 - np.tanh(0.5) ** 2], rtol=1e-6)
    assert "compiling the derivative of f: pass dce, " in out.getvalue()
    assert screen(out.getvalue()).strip() == ""


def test_the_place_of_what_is_kept_stays_on_the_screen(slow, tmp_path, monkeypatch):
    monkeypatch.setenv("AC_CACHE", "1")
    monkeypatch.setenv("AC_CACHE_DIR", str(tmp_path))
    out = Terminal()
    monkeypatch.setattr("sys.stderr", out)
    f = ms.jit(define("def f(x):\n    return ms.ops.tanh(x) + 17"), backend="native")
    np.testing.assert_allclose(f(ms.Tensor([0.0])).asnumpy(), [17.0])
    assert re.search(r"\rcompiling f took \d+ s; other processes find the machine code in (.*)\n$", out.getvalue())[
        1
    ] == str(tmp_path / "objects")
    assert any((tmp_path / "objects").glob("*.o"))


def test_the_time_it_will_take_is_shown_while_that_is_known(monkeypatch):
    work = progress._Work("compiling f")
    token = progress._current.set(work)
    try:
        work.began -= 4
        progress.at("code for the processor", 1000, done=0.4)
        assert str(work) == "compiling f: code for the processor, 1,000 operations, 4 of about 10 s"
        work.began -= 8
        assert str(work) == "compiling f: code for the processor, 1,000 operations, 12 s"
    finally:
        progress._current.reset(token)
