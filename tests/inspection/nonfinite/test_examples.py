"""The examples are healthy: nothing is found while they run."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.dataset import config
from autodiff_compiler.runtime.random import generator

FOLDER = Path(__file__).resolve().parents[3] / "examples"
ARGUMENTS = {
    "clip_by_hook": ["--steps", "2"],
    "custom_operator": ["--steps", "3"],
    "data_parallel": ["--epochs", "1"],
    "implicit_layer": ["--epochs", "1"],
    "lenet": ["--synthetic", "--small", "--epochs", "1"],
    "lstm_characters": ["--steps", "2"],
    "ode_pinn": ["--steps", "5"],
    "transformer_block": ["--steps", "3"],
}


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(config, "_own", None)
    monkeypatch.setattr(generator, "seed", generator.seed)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"{name}_checked", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_of_them_are_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {*ARGUMENTS, "digits"}


@pytest.mark.some(2)
@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.usefixtures("settings")
def test_an_example_runs_clean(name: str, mode: str) -> None:
    if name in ("data_parallel", "implicit_layer"):
        pytest.importorskip("sklearn", reason="the extra `examples` is not installed")
    module = load(name)
    with ms.check_nonfinite():
        assert module.main([*ARGUMENTS[name], "--mode", mode]) is not None


@pytest.mark.some(2)
@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.usefixtures("settings")
def test_the_digits_run_clean(mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn", reason="the extra `examples` is not installed")
    module = load("digits")
    monkeypatch.setattr(module, "EPOCHS", 1)
    with ms.check_nonfinite():
        assert np.isfinite(module.fit("checked", mode, module.load()).losses).all()
