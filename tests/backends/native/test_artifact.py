"""What users see of a native program: its text, its assembly, and how each op is run."""

from __future__ import annotations

from typing import Any

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops


def f(x: Any) -> Any:
    return ops.tanh(x) * 2


def test_the_text_has_the_lines_of_the_user() -> None:
    text = ms.jit(f, backend="native").lower(Tensor([1.0, 2.0])).code()
    assert "define i32 @main(" in text
    assert "test_artifact.py:14" in text


def test_assembly_on_request() -> None:
    artifact = ms.jit(f, backend="native").lower(Tensor([1.0, 2.0]))
    assert "main:" in artifact.code("assembly")
    with pytest.raises(ValueError, match="source or assembly, not 'python'"):
        artifact.code("python")
    with pytest.raises(ValueError, match="form must be source, not 'assembly'"):
        ms.jit(f, backend="numpy").lower(Tensor([1.0, 2.0])).code("assembly")


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
    before = ms.get_context("backend")
    try:
        ms.set_context(backend="auto")
        assert "import numpy" in ms.jit(f).lower(Tensor([1.0])).code()
    finally:
        ms.set_context(backend=before)
