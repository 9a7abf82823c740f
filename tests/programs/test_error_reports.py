"""What surrounds a message: tracebacks of the user's frames, files that failures leave, our own mistakes as AC1901."""

from __future__ import annotations

import copy
import html
import json
import linecache
import pickle
import re
import textwrap
import traceback
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.numpy.backend import NumpyBackend
from autodiff_compiler.errors import InternalCompilerError, NotDifferentiableError, UnrollWarning
from autodiff_compiler.frontend.interpreter import interpreter
from autodiff_compiler.ir.primitive import REGISTRY
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.passes.manager import PASSES
from tests import forked
from tests.programs.compare import define

X = ms.Tensor(np.array([1.0, 2.0, 3.0]))


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    monkeypatch.delenv("AC_FULL_TRACEBACK", raising=False)
    before = ms.get_context("mode"), ms.get_context("save_graphs"), ms.get_context("save_graphs_path")
    yield
    ms.set_context(mode=before[0], save_graphs=before[1], save_graphs_path=before[2])


def frames(error):
    """The functions of a traceback, the outermost first."""
    return [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]


def fails(fn, *args, kind=Exception):
    with pytest.raises(kind) as caught:
        fn(*args)
    return caught.value


# ------------------------------------------------------------------------------------------------ tracebacks
REFUSED = define("""
def f(x):
    return inner(x) * 2

def inner(u):
    return u + u[:2]
""")
RAISES = define("""
def f(x):
    if x.sum() > 0:
        return x[int(x.sum())]
    return x[0]
""")


class Refused(ms.nn.Cell):
    def construct(self, x):
        return REFUSED(x)


WAYS = {
    "jit": lambda f: ms.jit(f),
    "lower": lambda f: ms.jit(f).lower,
    "jit of grad": lambda f: ms.jit(ms.grad(f)),
    "grad of jit": lambda f: ms.grad(ms.jit(f)),
    "jvp of jit": lambda f: lambda x: ms.jvp(ms.jit(f), (x,), (x,)),
    "vjp of jit": lambda f: lambda x: ms.vjp(ms.jit(f), x),
    "vmap of jit": lambda f: ms.vmap(ms.jit(f)),
    "Jacobian of jit": lambda f: ms.jacrev(ms.jit(f)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_shows_frames_of_the_user_only(way):
    x = ms.Tensor(np.ones((2, 3))) if way == "vmap of jit" else X
    error = fails(WAYS[way](REFUSED), x, kind=ms.CompileError)
    assert [name for name in frames(error) if name != "<lambda>"] == ["fails"]
    assert error.loc.line == 6
    assert error.__suppress_context__
    assert error.__cause__ is None


def test_cells_and_graph_mode_show_frames_of_the_user_only():
    assert frames(fails(ms.jit(Refused()), X)) == ["fails"]
    ms.set_context(mode=ms.GRAPH_MODE)
    assert frames(fails(Refused(), X)) == ["fails"]
    assert frames(fails(ms.grad(REFUSED), X)) == ["fails"]
    assert frames(fails(ms.jit(types.MethodType(lambda self, x: REFUSED(x), 3)), X)) == ["fails"]


def test_eager_code_under_grad_keeps_the_frames_of_the_user():
    error = fails(ms.grad(REFUSED), X, kind=ms.CompileError)
    assert frames(error) == ["fails", "f", "inner"]
    assert frames(fails(Refused(), X)) == ["fails", "construct", "f", "inner"]


def test_exceptions_of_running_programs_show_frames_of_the_user_only():
    assert frames(fails(ms.jit(RAISES), X, kind=IndexError)) == ["fails"]
    assert frames(fails(ms.grad(ms.jit(RAISES)), X, kind=IndexError)) == ["fails"]


def test_what_a_users_function_raises_while_compiling_keeps_its_frames_and_its_cause():
    @ms.constexpr
    def inverse(n):
        try:
            return 1 / n
        except ZeroDivisionError as error:
            raise ValueError("n is zero") from error

    f = define("def f(x):\n    return x * inverse(0)", inverse=inverse)
    error = fails(ms.jit(f), X, kind=ValueError)
    assert frames(error) == ["fails", "inverse"]
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_all_frames_on_request(monkeypatch):
    monkeypatch.setenv("AC_FULL_TRACEBACK", "1")
    found = frames(fails(ms.jit(REFUSED), X, kind=ms.CompileError))
    assert len(found) > 10
    assert "__call__" in found


def test_what_python_prints_has_no_line_of_ours(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
            import autodiff_compiler as ms

            @ms.jit
            def f(x):
                return x + x[:2]

            ms.grad(f)(ms.Tensor([1.0, 2.0, 3.0]))
            """)
    )
    done = forked.run(program)
    assert done.returncode == 1
    package = str(Path(ms.__file__).parent)
    assert package not in done.stderr
    assert len(re.findall(r'^  File "', done.stderr, re.MULTILINE)) == 1
    assert "operands of shapes [3] and [2]" in done.stderr


# ------------------------------------------------------------------------------------------------ the object
def test_an_error_is_the_same_text_after_its_file_changed_and_in_another_process(tmp_path, monkeypatch):
    path = tmp_path / "model.py"
    path.write_text("def f(x):\n    return x + x[:2]\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    monkeypatch.chdir(tmp_path)
    error = fails(ms.jit(space["f"]), X, kind=ms.CompileError)
    before = str(error)
    assert "--> model.py:2:12 in f" in before
    path.write_text("\n# other lines\n")
    linecache.checkcache(str(path))
    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(error))
    assert str(error) == str(again) == str(copy.copy(error)) == before
    assert again.to_dict() == error.to_dict()


def test_plain_data_is_complete_and_json():
    error = fails(ms.jit(REFUSED), X, kind=ms.CompileError)
    data = json.loads(json.dumps(error.to_dict()))
    assert (data["class"], data["code"], data["message"]) == ("ShapeError", "AC1410", error.message)
    (span,) = data["spans"]
    assert span["source"][span["col"] : span["end_col"]] == "u + u[:2]"
    assert [call["source"].strip() for call in data["chain"]] == ["return inner(x) * 2"]
    assert data["notes"] == list(error.notes)
    assert data["hint"] == error.hint


def test_html_is_the_text_escaped():
    f = define("def f(x):\n    return x if x < 2 else x['<b>']")
    error = fails(ms.jit(f), X, kind=ms.CompileError)
    shown = error._repr_html_()
    assert "x &lt; 2" in shown
    assert "<b>'" not in shown
    assert html.unescape(re.sub("</?(pre|b|span)( [^>]*)?>", "", shown)) == error.render()


def test_the_text_has_no_colours(monkeypatch):
    error = fails(ms.jit(REFUSED), X, kind=ms.CompileError)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in str(error) + error.render()


# ------------------------------------------------------------------------------------------------ warnings
LONG = """
def f(x):
    parts = []
    for i in range(200):
        parts.insert(0, x * i)
    return parts[1]
"""
FAILS = """
def f(x):
    if x[0] > 0:
        return x

    return x * [1][3]
"""


@pytest.mark.parametrize(("program", "code", "line"), [(LONG, "AC2002", 4), (FAILS, "AC2004", 6)])
def test_a_warning_names_the_users_line_and_comes_once_per_place(program, code, line):
    f = define(program)
    g = ms.jit(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in (3, 4, 5):
            g(ms.Tensor(np.ones(n)))
        ms.jit(f)(X)
    (warning,) = caught
    assert warning.message.code == code
    assert f"[{code}]" in str(warning.message)
    assert (warning.filename, warning.lineno) == (f.__code__.co_filename, line)


def test_a_warning_made_an_error_comes_at_every_compilation():
    g = ms.jit(define(LONG))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            fails(g, X, kind=UnrollWarning)


# ------------------------------------------------------------------------------------------------ files
def left(error):
    """The file that an error names."""
    text = f"{error} {' '.join(getattr(error, '__notes__', ()))}"
    return Path(re.search(r": (\S+\.ir)", text)[1])


def test_the_ir_made_so_far_is_saved_with_the_place_of_the_failure(tmp_path):
    ms.set_context(save_graphs=True, save_graphs_path=str(tmp_path / "graphs"))
    f = define("""
        def f(x):
            y = ms.ops.tanh(x)
            while y.sum() < 10:
                y = ms.ops.exp(y)
                y = y + x[:2]
            return y
    """)
    error = fails(ms.jit(f), X, kind=ms.CompileError)
    path = left(error)
    assert path.parent == tmp_path / "graphs"
    lines = path.read_text().splitlines()
    assert any("= tanh %x" in line for line in lines)
    here = next(i for i, line in enumerate(lines) if "<-- operands of shapes [3] and [2] do not broadcast" in line)
    assert "slice %x" in lines[here - 1]
    assert any("= exp" in line for line in lines[:here])


def test_an_exception_of_python_names_its_file_in_a_note(tmp_path):
    ms.set_context(save_graphs=True, save_graphs_path=str(tmp_path))
    error = fails(ms.jit(define("def f(x):\n    return ms.ops.tanh(x) * {}['key']")), X, kind=KeyError)
    assert "= tanh %x" in left(error).read_text()


def test_a_refusal_by_a_pass_is_saved_with_the_op_marked(tmp_path):
    ms.set_context(save_graphs=True, save_graphs_path=str(tmp_path))
    f = define("def f(x):\n    return ms.py_call(np.sin, x, out=x).sum() + ms.ops.tanh(x).sum()")
    error = fails(ms.jit(ms.grad(f)), X, kind=NotDifferentiableError)
    marked = [line for line in left(error).read_text().splitlines() if "<--" in line]
    assert len(marked) == 1
    assert "py_call" in marked[0]


def test_nothing_is_saved_unless_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ".ir" not in str(fails(ms.jit(REFUSED), X))
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------ our mistakes
PROGRAM = define("""
def f(x):
    y = x + 1
    return ms.ops.tanh(y).sum()
""")


def internal(fn, stage, cause):
    """The AC1901 of a call: it names the user's line, the stage and a report; the original exception is its cause."""
    ms.set_context(verify=True)  # such a program is compiled, wherever it may lie on disk
    error = fails(fn, X, kind=InternalCompilerError)
    assert error.code == "AC1901"
    assert error.stage == stage
    assert f"stage: {stage}" in str(error)
    assert error.loc.line == 4, str(error)
    assert isinstance(error.__cause__, cause)
    assert frames(error) == ["fails"]
    report = left(error).read_text()
    assert "Traceback" in report
    assert cause.__name__ in report
    return report


def _broken(*args, **kwargs):
    return {}["no such thing"]


def test_a_failing_pass(monkeypatch):
    def broken(module):
        for op in module.entry.body.ops:
            assert op.defn.name != "tanh", "passes do not like tanh"
        return module

    monkeypatch.setitem(PASSES, "dce", broken)
    report = internal(ms.jit(PROGRAM), "dce", AssertionError)
    (marked,) = [line for line in report.splitlines() if "<--" in line]
    assert "tanh" in marked
    assert parse_module(report).entry.name == "f"


def test_a_failing_derivative_rule(monkeypatch):
    monkeypatch.setattr(REGISTRY["tanh"], "vjp", staticmethod(_broken))
    internal(ms.jit(ms.grad(PROGRAM)), "expand_grad", KeyError)
    internal(ms.grad(ms.jit(PROGRAM)), "derivative", KeyError)


def test_a_failing_backend(monkeypatch, numpy_backend):
    monkeypatch.setattr(NumpyBackend, "compile", lambda self, module, in_place=(): _broken())
    f = define("def f(x):\n\n\n    return ms.ops.tanh(x)")
    internal(ms.jit(f), "backend", KeyError)


def test_a_failing_type_rule(monkeypatch):
    broken = _of_the_package(_broken, "primitives/activation.py")
    monkeypatch.setattr(REGISTRY["tanh"], "infer_types", staticmethod(broken))
    internal(ms.jit(PROGRAM), "front", KeyError)


def _missing_name(*args, **kwargs):
    return no_such_name  # noqa: F821


def _wrong_attribute(ctx, node):
    return ctx.no_such_attribute


@pytest.mark.parametrize(("rule", "cause"), [(_missing_name, NameError), (_wrong_attribute, AttributeError)])
def test_a_failing_rule_of_the_frontend(rule, cause, monkeypatch):
    rule = _of_the_package(rule, "frontend/interpreter/expressions.py")
    kept = interpreter.STATEMENTS["Return"]
    monkeypatch.setitem(interpreter.STATEMENTS, "Return", lambda ctx, node: kept(ctx, node) or rule(ctx, node))
    internal(ms.jit(PROGRAM), "front", cause)


def _of_the_package(fn, file):
    """The function as if it stood in a file of the package."""
    name = str(Path(ms.__file__).parent / file)
    return types.FunctionType(fn.__code__.replace(co_filename=name), fn.__globals__, fn.__name__)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[x][7]", IndexError),
        ("x[7]", IndexError),
        ("{}['key']", KeyError),
        ("x * int('z')", ValueError),
        ("x * (1 // 0)", ZeroDivisionError),
        ("(1).real.imag.nothing", AttributeError),
        ("len(3)", TypeError),
    ],
)
def test_what_python_says_of_the_users_code_is_no_mistake_of_ours(text, kind):
    error = fails(ms.jit(define(f"def f(x):\n    return {text}")), X)
    assert isinstance(error, kind)
    assert not isinstance(error, InternalCompilerError)


def test_a_false_assertion_of_the_user_is_no_mistake_of_ours():
    error = fails(ms.jit(define("def f(x):\n    assert 1 == 2, 'sums'\n    return x")), X, kind=AssertionError)
    assert str(error) == "sums"
    assert not isinstance(error, ms.CompileError)


def test_a_function_works_again_after_our_mistake(monkeypatch):
    f = ms.jit(PROGRAM)
    with monkeypatch.context() as planted:
        planted.setitem(PASSES, "dce", _broken)
        fails(f, X, kind=InternalCompilerError)
    assert f(X).item() == PROGRAM(X).item()
