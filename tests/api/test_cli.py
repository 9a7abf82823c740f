"""The command line, and programs saved by it or from Python, as a user meets them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.cli import main

PROGRAM = """
def f(x, n=2):
    while x.sum() < n:
        x = x * 2
    return x


def broken(x):
    try:
        return x
    except ValueError:
        return x
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.usefixtures("numpy_backend")
def test_dump_prints_every_stage(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", f"{program}:f", "--args", "f32[2] 5", "--stage", "all", "--grad", "0"]) == 0
    out = capsys.readouterr().out
    for stage in ("source", "front", "adjoint", "opt", "plan", "code", "explain"):
        assert f"// ---- {stage} ----" in out
    assert "scan" in out
    assert "def grad_f(" in out


def test_dump_takes_full_names_of_dtypes_and_a_backend(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", f"{program}:f", "--args", "float32[2] 5", "--stage", "code", "--backend", "numpy"]) == 0
    assert "def f(" in capsys.readouterr().out


def test_dump_of_a_refused_program_shows_the_place(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", f"{program}:broken", "--args", "f32[2]"]) == 1
    err = capsys.readouterr().err
    assert "AC1101" in err
    assert "program.py:9" in err


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["dump", "nofile.py:f"], 2, "there is no file nofile.py"),
        (["dump", "f"], 2, "write file.py:function"),
        (["dump", "PROGRAM:f", "--grad", "0"], 2, "--grad needs --args"),
        (["dump", "PROGRAM:g"], 2, "has no 'g'"),
        (["dump", "PROGRAM:f", "--args", "q9[2]"], 2, "is no dtype"),
        (["dump", "PROGRAM:f", "--args", "f32[2]", "--stage", "end"], 2, "there is no stage 'end'"),
        (["dump", "PROGRAM:f", "--args", "f32[2]", "--grad", "5"], 1, "ValueError: grad_position 5 does not exist"),
        (["explain", "AC9999"], 2, "there is no error code 'AC9999'"),
    ],
)
def test_wrong_usage_is_one_line(
    program: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, says: str
) -> None:
    assert main([a.replace("PROGRAM", str(program)) for a in arguments]) == status
    err = capsys.readouterr().err
    assert says in err
    assert "Traceback" not in err


def test_explain_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "AC1402"]) == 0
    assert "AC1402" in capsys.readouterr().out


@pytest.mark.usefixtures("numpy_backend")
def test_a_saved_program_runs_and_raises_without_the_package(tmp_path: Path) -> None:
    @ms.jit
    def f(x):
        if x.sum() > 3:
            raise ValueError("too much")
        return x * 2

    f.lower(Tensor(np.ones(1))).save(str(tmp_path / "saved.py"))
    script = "import numpy as np, saved\nprint(saved.f(np.ones(1))[0])\nsaved.f(np.full(1, 9.0))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{script}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "[2.]\n"
    assert done.stderr.endswith("ValueError: too much\n")
