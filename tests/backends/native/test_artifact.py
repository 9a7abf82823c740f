"""What users see of a native program: its text, its assembly, and how each op is run."""

from __future__ import annotations

import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.config import context

_made_here = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")


def f(x: Any) -> Any:
    return ops.tanh(x) * 2


def loss(x: Any) -> Any:
    y = ops.tanh(x) * 2.0 + 1.0
    z = ops.softmax(y, -1)
    return (z * z).sum()


@_made_here
def test_the_text_has_the_lines_of_the_user() -> None:
    text = ms.jit(f, backend="native").lower(Tensor([1.0, 2.0])).code()
    assert "define i32 @main(" in text
    assert f"test_artifact.py:{inspect.getsourcelines(f)[1] + 1}" in text
    assert "| return ops.tanh(x) * 2" in text


@_made_here
def test_assembly_on_request() -> None:
    artifact = ms.jit(f, backend="native").lower(Tensor([1.0, 2.0]))
    assert "main:" in artifact.code("assembly")
    with pytest.raises(ValueError, match="source or assembly, not 'python'"):
        artifact.code("python")
    with pytest.raises(ValueError, match="form must be source, not 'assembly'"):
        ms.jit(f, backend="numpy").lower(Tensor([1.0, 2.0])).code("assembly")


@_made_here
def test_the_backend_is_chosen_for_a_function_or_for_all() -> None:
    x = Tensor([1.0, 2.0])
    assert "import numpy" in ms.jit(backend="numpy")(f).lower(x).code()
    before = ms.get_context("backend")
    try:
        compiled = ms.jit(f)
        for name, mark in (("native", "@main"), ("numpy", "import numpy"), ("native", "@main")):
            ms.set_context(backend=name)
            assert compiled(x).tolist() == pytest.approx([1.5231884, 1.9280552])
            assert mark in compiled.lower(x).code()
    finally:
        ms.set_context(backend=before)
    with pytest.raises(ValueError, match="there is no backend 'cuda'"):
        ms.set_context(backend="cuda")


def test_without_machine_code_numpy_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AC_DISABLE_NATIVE", "1")
    with pytest.raises(RuntimeError, match="AC_DISABLE_NATIVE"):
        ms.set_context(backend="native")
    monkeypatch.setattr(context, "backend", "auto")
    assert "import numpy" in ms.jit(f).lower(Tensor([1.0])).code()


@_made_here
def test_a_saved_program_runs_by_itself(tmp_path: Path) -> None:
    artifact = ms.jit(f, backend="native").lower(Tensor([1.0, 2.0]))
    artifact.save(tmp_path / "f.ll")
    assert "define i32 @main(" in (tmp_path / "f.ll").read_text()
    artifact.save(tmp_path / "f.py")
    saved = runpy.run_path(str(tmp_path / "f.py"))
    (found,) = saved["f"](np.array([1.0, 2.0], np.float32))
    np.testing.assert_allclose(found, 2 * np.tanh([1.0, 2.0]), rtol=1e-6)


@_made_here
def test_each_kernel_says_what_it_runs_for_whom() -> None:
    artifact = ms.jit(ms.value_and_grad(loss), backend="native").lower(Tensor(np.ones((40, 50), np.float32)))
    text = artifact.code()
    heads: dict[str, list[str]] = {}
    for line in text.split("\n"):
        if line.startswith("; k"):
            name, _, what = line[2:].partition(" ")
            heads.setdefault(name, []).append(what)
    kernels = re.findall(r"^define internal void @(k\d+)\(", text, re.MULTILINE)
    assert kernels
    assert set(kernels) == set(heads)
    lines = inspect.getsource(loss).split("\n")
    first = inspect.getsourcelines(loss)[1]
    place = f"test_artifact.py:{first + 1}"
    assert any("tanh" in what and place in what for whats in heads.values() for what in whats)
    assert any(what.endswith(" adjoint") for whats in heads.values() for what in whats)
    assert f";   {place} | {lines[1].strip()}" in text
    assembly = artifact.code("assembly")
    for name in kernels:
        before = assembly[: assembly.index(f"\n{name}:")].rsplit("\n\n", 1)[-1]
        assert all(what.split(":")[0] in before for what in heads[name])


_PROGRAMS = """
import autodiff_compiler as ms
import numpy as np


def branches(x):
    y = x.exp() if x.sum() > 0 else x.sin()
    for i in range(5):
        y = y * 0.7 if y.mean() > i * 0.1 else y + x
    return y.sum()


def writes(x):
    y = x * 1
    y[1] = x[2] * 3
    y[:2] = y[1:3] * x[0]
    y += x
    return (y * y).sum()


x = ms.Tensor(np.linspace(-1.0, 1.0, 12, dtype=np.float32))
for f in (branches, writes, ms.grad(branches), ms.grad(writes), ms.grad(ms.grad(writes))):
    print(ms.jit(f, backend="native").lower(x).ir("code"))
"""


@_made_here
def test_every_process_writes_the_same_text(tmp_path: Path) -> None:
    """Whatever its hashes and addresses are: the machine code on disk is found by this text."""
    program = tmp_path / "program.py"
    program.write_text(_PROGRAMS)
    paths = os.pathsep.join(filter(None, sys.path))
    texts = {
        subprocess.run(
            [sys.executable, str(program)],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "1", "2")
    }  # fmt: skip
    assert len(texts) == 1
    assert texts.pop().count("define i32 @main(") == 5


def test_numbers_that_the_dtype_cannot_hold():
    """They become infinities, as in eager code, and compiling gives no warning of it."""
    x = Tensor(np.array([1.0, 2.0], np.float32))
    assert ms.jit(lambda x: ops.clip(x, -1e39, 1e39), backend="native")(x).tolist() == [1.0, 2.0]
    padded = ms.jit(lambda x: ops.pad(x, (1, 1), value=1e39), backend="native")(x)
    assert padded.tolist() == [np.inf, 1.0, 2.0, np.inf]


@_made_here
def test_of_two_files_with_one_name_both_lines_are_shown_with_their_folders(tmp_path) -> None:
    found = {}
    for folder, result in (("one", "ms.ops.tanh(x) * x"), ("two", "ms.ops.cos(x) + x")):
        file = tmp_path / folder / "net.py"
        file.parent.mkdir()
        file.write_text(f"import autodiff_compiler as ms\ndef f(x):\n    return {result}\n", "utf-8")
        found[folder] = runpy.run_path(str(file))["f"]

    def both(x: Tensor) -> Tensor:
        return found["one"](x) + found["two"](x)

    text = ms.jit(both, backend="native").lower(Tensor([1.0] * 8)).code()
    shown = [os.path.normpath(line.partition(";   ")[2]) for line in text.split("\n") if "net.py:3 | " in line]
    one, two = os.path.join("one", "net.py"), os.path.join("two", "net.py")
    assert shown == [f"{one}:3 | return ms.ops.tanh(x) * x", f"{two}:3 | return ms.ops.cos(x) + x"]
