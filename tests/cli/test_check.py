"""`check` and `explain` on the command line: what a user learns of a file without running it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from autodiff_compiler.catalogue import CATALOGUE
from autodiff_compiler.cli import main

MODEL = """
import nothing_of_this_name
from autodiff_compiler import jit, nn


def helper(x):
    try:
        return x
    finally:
        pass


def unused(x):
    yield x


@jit(unroll_limit=3)
def f(x):
    for k in {1, 2}:
        x = helper(x)
    match x:
        case _:
            pass
    return (v for v in x)


class Base(nn.Cell):
    def part(self, x):
        raise


class Net(Base):
    def construct(self, x):
        größe = 1; y = (1j, größe)
        return self.part(x)


def g(x):
    async def h():
        pass

    return x


compiled = jit(g)
"""

# Code, line and what is marked; read off the program.
ALL = [
    ("AC1101", 7, "try"),
    ("AC1105", 19, "{1, 2}"),
    ("AC1104", 29, "raise"),
    ("AC1103", 34, "1j"),
    ("AC1109", 39, "async def"),
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    return path


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[tuple[str, int, str]], dict]:
    status = main(["check", "--json", *arguments])
    data = json.loads(capsys.readouterr().out)
    found = []
    for error in data["errors"]:
        span = error["spans"][0]
        found.append((error["code"], span["line"], span["source"][span["col"] : span["end_col"]]))
    return status, found, data


def test_all_refusals_of_a_file_at_once_without_importing_it(model, capsys):
    status, found, data = checked(capsys, str(model))
    assert status == 1
    assert found == ALL
    assert data["functions"] == ["helper", "f", "Base.part", "Net.construct", "g"]


def test_the_text_has_every_message_and_their_number(model, capsys):
    assert main(["check", str(model)]) == 1
    out = capsys.readouterr().out
    for code, line, _ in ALL:
        assert code in out
        assert f"model.py:{line}:" in out
    assert out.rstrip().endswith(f"5 problems in 5 functions of {model}")


def test_every_function(model, capsys):
    status, found, data = checked(capsys, str(model), "--all")
    assert status == 1
    assert ("AC1107", 14, "yield") in found
    assert "unused" in data["functions"]


@pytest.mark.parametrize(
    ("name", "functions", "lines"),
    [
        ("f", ["helper", "f"], [7, 19]),
        ("Net", ["Base.part", "Net.construct"], [29, 34]),
        ("Net.construct", ["Base.part", "Net.construct"], [29, 34]),
        ("Base.part", ["Base.part"], [29]),
        ("unused", ["unused"], [14]),
    ],
)
def test_one_function_and_what_it_calls(name, functions, lines, model, capsys):
    status, found, data = checked(capsys, f"{model}:{name}")
    assert status == 1
    assert data["functions"] == functions
    assert [line for _, line, _ in found] == lines


CLEAN = """
import numpy as np
from autodiff_compiler import jit


@jit
def f(x, n):
    if x > 0:
        return x.reshape(n, -1)
    return x


class Layer:
    def method(self, x):
        return x + x[:2]
"""


def test_with_types_the_function_is_compiled_too(tmp_path, capsys):
    path = tmp_path / "clean.py"
    path.write_text(CLEAN)
    assert main(["check", str(path)]) == 0
    assert "no problems in 1 function" in capsys.readouterr().out
    status, found, _ = checked(capsys, f"{path}:f", "--args", "f32[3] 1")
    assert (status, found) == (1, [("AC1301", 8, "x > 0")])
    status, found, _ = checked(capsys, f"{path}:f", "--args", "f32[1] 2")
    assert (status, found) == (1, [("AC1410", 9, "x.reshape(n, -1)")])
    status, found, _ = checked(capsys, f"{path}:Layer.method", "--args", "f32[3]")
    assert (status, found) == (1, [("AC1410", 15, "x + x[:2]")])
    status, found, _ = checked(capsys, f"{path}:Layer.method", "--args", "f32[2]")
    assert (status, found) == (0, [])


def test_a_file_that_cannot_be_imported_is_told_beside_the_refusals(model, capsys):
    status, found, data = checked(capsys, f"{model}:Base.part", "--args", "f32[2]")
    assert (status, found) == (1, [("AC1104", 29, "raise")])
    assert data["raised"] == "ModuleNotFoundError: No module named 'nothing_of_this_name'"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["MODEL:missing"], "has no function 'missing'"),
        (["nofile.py"], "there is no file nofile.py"),
        (["MODEL", "--args", "f32[2]"], "--args needs a function"),
        (["MODEL:Net", "--make", "Net()"], "--make is for compiling: write --args, too"),
        (["BROKEN"], "is not Python"),
        (["ROT13"], "is not Python: 'rot13' is not a text encoding"),
    ],
)
def test_wrong_usage(arguments, says, model, tmp_path, capsys):
    broken = tmp_path / "broken.py"
    broken.write_text("def f(:\n")
    (tmp_path / "rot.py").write_text("# -*- coding: rot13 -*-\n")
    files = {"MODEL": model, "BROKEN": broken, "ROT13": tmp_path / "rot.py"}
    given = [re.sub("MODEL|BROKEN|ROT13", lambda name: str(files[name[0]]), a) for a in arguments]
    assert main(["check", *given]) == 2
    assert says in capsys.readouterr().err


def test_explain(capsys):
    assert main(["explain", "AC1402"]) == 0
    assert "different numbers of dimensions" in capsys.readouterr().out
    assert main(["explain"]) == 0
    assert [line[:6] for line in capsys.readouterr().out.splitlines()] == list(CATALOGUE)
    assert main(["explain", "--json", "1402"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["code"], data["classes"]) == ("AC1402", ["JoinError"])
    assert main(["explain", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(CATALOGUE)
    assert main(["explain", "AC9999"]) == 2
