"""`AC_LOG` and the loggers: what is told, to whom, and that nothing is where nobody listens."""

import logging
import os
import re
import sys
import threading

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import environment, logs
from autodiff_compiler.source import Loc
from tests import forked
from tests.counted import calls_in
from tests.programs.compare import define

PROGRAM = """
def f(x, n):
    y = ms.ops.tanh(x) * n
    return (y * y + x).sum()
"""


@pytest.fixture
def heard(caplog):
    """Sets topics to be told; returns the messages by topic."""

    def listen(*topics):
        for topic in topics:
            caplog.set_level(logging.INFO, f"autodiff_compiler.{topic}")
        return lambda topic: [r.getMessage() for r in caplog.records if r.name == f"autodiff_compiler.{topic}"]

    return listen


def x(size):
    return ms.Tensor(np.ones(size, np.float32))


def test_why_a_function_is_compiled_again_with_the_line_of_the_call(heard):
    told = heard("recompiles")
    f = ms.jit(define(PROGRAM))
    f(x(2), 3)
    line = sys._getframe().f_lineno - 1
    f(x(2), 3)
    f(x(5), 3)
    f(x(5), 4)
    first, second, third = told("recompiles")
    assert first == f"test_logs.py:{line}: f(f32[2], 3) is compiled (1)"
    assert second.startswith(f"test_logs.py:{line + 3}: f(f32[n], 3) is compiled again (2) because argument `x` ")
    assert "from Tensor f32[2] to Tensor f32[5]" in second
    assert "argument `n` changed from 3 to 4; instead: pass `mutable(n)`" in third


def test_what_each_pass_did(heard):
    told = heard("passes")
    artifact = ms.jit(define(PROGRAM), backend="numpy").lower(x(2), 3)
    messages = [re.fullmatch(r"<program \d+>:(\d+): f: (\w+): (\d+) to (\d+) operations in [\d.]+ ms", m)
                for m in told("passes")]  # fmt: skip
    reports = artifact._call.compiled.program.stages.reports
    assert [m[2] for m in messages] == [r.name for r in reports]
    assert [(int(m[3]), int(m[4])) for m in messages] == [(r.before, r.after) for r in reports]
    assert {m[1] for m in messages} == {"3"}


def test_which_operations_share_a_loop(heard):
    if ms.config.backends["native"]() is not None:
        pytest.skip("there is no machine code here")
    told = heard("fusion")
    f = ms.jit(define(PROGRAM), backend="native")
    f.lower(ms.Tensor(np.ones((300, 300), np.float32)), 3.25)
    (message,) = [m for m in told("fusion") if "tanh" in m]
    assert "over [300,300]" in message
    assert {"tanh", "mul", "add"} <= set(message.rpartition(": ")[2].split(", "))
    assert ":3, " in message
    assert "one loop" in message


def test_nothing_is_told_unless_somebody_listens(caplog):
    f = ms.jit(define(PROGRAM))
    f(x(2), 3)
    f(x(3), 3)
    assert not [r for r in caplog.records if r.name.startswith("autodiff_compiler.")]
    assert logs.listener("passes") is None


def test_asking_whether_somebody_listens_costs_next_to_nothing():
    logs.listener("passes")
    assert calls_in(lambda: logs.listener("passes")) < 20


def test_threads_are_told_of_one_by_one(heard):
    told = heard("recompiles")
    functions = [ms.jit(define(f"def g{i}(x):\n    return x * {i}", f"g{i}")) for i in range(8)]
    threads = [threading.Thread(target=f, args=(x(2),)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = sorted(m.rpartition(": ")[2] for m in told("recompiles"))
    assert names == [f"g{i}(f32[2]) is compiled (1)" for i in range(8)]


def test_a_place_in_the_library_is_that_of_the_users_call():
    inner = Loc(ms.__file__, 70, caller=Loc("/home/me/net.py", 12))
    assert logs.place(inner) == "net.py:12: "
    assert logs.place(None) == ""


def leaving(x):
    y = x * x[0].item()
    if x[0] > 0 and int(x.sum() > 0):  # what decides is not told, nor what is no float
        y = y * float(x[1]) + ms.Tensor(x.asnumpy())
    return y.sum()


@pytest.mark.parametrize("how", [lambda f: f, ms.jit], ids=["eager", "compiled"])
def test_where_tensors_leave_a_derivative(heard, monkeypatch, how):
    told = heard("gradients")
    monkeypatch.setattr(logs, "_told", set())
    line = leaving.__code__.co_firstlineno
    leaving(x(2))
    assert not told("gradients")
    for _ in range(2):
        assert how(ms.grad(leaving))(x(2)).tolist() == [1, 1]
    messages = [m.split(":")[1:3] for m in told("gradients")]
    assert messages[0] == [str(line + 1), " a Tensor leaves the derivative as a number"]
    assert [int(m[0]) for m in messages] == [line + 1, line + 3]  # a line is told once


def test_where_tensors_leave_the_derivative_of_a_function_compiled_by_itself(heard, monkeypatch):
    """Only what depends on the variable is told, and only if a derivative is taken."""
    told = heard("gradients")
    monkeypatch.setattr(logs, "_told", set())

    @ms.jit
    def scaled(x, scale):
        y = x * scale.item()
        return y * x.sum().item() + ms.Tensor(x.asnumpy())

    line = scaled.__wrapped__.__code__.co_firstlineno
    one = x(2)
    scaled(one, one[0])
    assert not told("gradients")
    ms.grad(lambda x: scaled(x, one[0]).sum())(one)
    assert [int(m.split(":")[1]) for m in told("gradients")] == [line + 3]


# ------------------------------------------------------------------------------------------- the environment
@pytest.mark.parametrize("wrong", ["recompile", "recompiles;fusion", "passes,1"])
def test_a_mistake_names_the_words(monkeypatch, wrong):
    monkeypatch.setenv("AC_LOG", wrong)
    with pytest.raises(ValueError, match=f"AC_LOG is '{wrong}'; it can be a list of recompiles, fusion, passes"):
        environment.check_environment()


def test_words_may_have_spaces_and_none_may_be_given(monkeypatch):
    monkeypatch.setenv("AC_LOG", " recompiles , passes,")
    environment.check_environment()
    assert logs.asked("passes")
    assert not logs.asked("fusion")
    monkeypatch.setenv("AC_LOG", "")
    environment.check_environment()
    monkeypatch.setenv("AC_LOG", "all")
    assert logs.asked("fusion")


def run(tmp_path, log, more=""):
    """What a process writes to standard error, with this AC_LOG."""
    program = tmp_path / "user.py"
    lines = ["import autodiff_compiler as ms", more, "@ms.jit", "def f(x):", "    return ms.ops.tanh(x) + 1", "", ""]
    program.write_text("\n".join([*lines, "print(f(ms.Tensor([0.0])).tolist())", "f(ms.Tensor([0.0, 1.0]))"]))
    paths = os.pathsep.join(filter(None, sys.path))
    env = {**os.environ, "PYTHONPATH": paths, "AC_LOG": log}
    found = forked.run(program, env=env, check=True)
    assert found.stdout == "[1.0]\n"
    return found.stderr.splitlines()


def test_the_environment_asks_for_topics(tmp_path):
    assert run(tmp_path, "") == []
    first, second = run(tmp_path, "recompiles")
    assert first == "autodiff_compiler.recompiles: user.py:8: f(f32[1]) is compiled (1)"
    assert "user.py:9: f(f32[n]) is compiled again (2) because argument `x` changed" in second


def test_a_program_that_lies_on_disk_is_compiled_anew_if_somebody_wants_to_see_it(tmp_path, monkeypatch):
    monkeypatch.setenv("AC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("AC_CACHE", "1")
    assert run(tmp_path, "") == []
    for _ in range(2):
        assert any(": f: simplify: " in line for line in run(tmp_path, "passes"))


def test_where_the_program_has_set_up_logging_that_writes(tmp_path):
    lines = run(tmp_path, "recompiles", "import logging; logging.basicConfig(format='mine %(message)s')")
    assert len(lines) == 2
    assert all(line.startswith("mine user.py:") for line in lines)


def test_it_says_nothing_about_programs(monkeypatch):
    recipe = pytest.importorskip("autodiff_compiler.backends.native.recipe")
    before = recipe.surroundings()
    monkeypatch.setenv("AC_LOG", "passes")
    assert recipe.surroundings() == before
