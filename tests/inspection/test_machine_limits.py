"""The limits of the machine: measured, kept on disk, read again; sane, however busy the machine is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from autodiff_compiler import cli
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.inspection import machine_limits as module
from autodiff_compiler.inspection.machine_limits import MachineLimits, known_limits, machine_limits


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AC_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("AC_CACHE", raising=False)
    monkeypatch.setattr(module, "_known", {})
    return tmp_path


def made_up(backend: str) -> MachineLimits:
    return MachineLimits(
        backend, "made up", 1e-7, {"f32": 1e11}, {"f32": 1e11}, 1e-9, ((1000, 1e11), (10000, 1e10)), 0.0
    )


needs_native = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")


@pytest.mark.parametrize("backend", [pytest.param("native", marks=needs_native), "numpy"])
def test_figures_are_those_of_a_processor(backend: str, empty: Path) -> None:
    found = machine_limits(backend)
    assert 1e-9 < found.call < 1e-3
    for name in ("f32", "f64"):
        assert 1e7 < found.operations[name] < 1e13
        assert 1e7 < found.product[name] < 1e13
    assert 1e-11 < found.latency < 1e-5
    assert [size for size, _ in found.bandwidth] == sorted(size for size, _ in found.bandwidth)
    assert all(1e7 < speed < 1e13 for _, speed in found.bandwidth)
    assert set(found.functions) == (set() if backend == "native" else {"f32", "f64"})
    assert known_limits(backend) is found
    module._known.clear()
    assert known_limits(backend) == found  # from disk
    assert len(list(empty.glob("limits-*.json"))) == 1


def test_what_is_not_sound_is_measured_again(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def measure() -> MachineLimits:
        measured.append("numpy")
        return made_up("numpy")

    monkeypatch.setattr(module, "_of_numpy", measure)
    assert known_limits("numpy") is None
    first = machine_limits("numpy")
    (path,) = empty.glob("limits-*.json")
    good = path.read_text()
    for bad in ("", "[]", "{}", good[:-20], good.replace("1e-07", "-1"), json.dumps({**json.loads(good), "more": 1})):
        module._known.clear()
        path.write_text(bad)
        assert known_limits("numpy") is None
        assert machine_limits("numpy") == first
    assert len(measured) == 7
    machine_limits("numpy")
    assert len(measured) == 7
    machine_limits("numpy", measure=True)
    assert len(measured) == 8


def test_without_a_folder_they_are_kept_in_memory(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AC_CACHE_DIR", "")
    monkeypatch.setattr(module, "_of_numpy", lambda: made_up("numpy"))
    assert machine_limits("numpy") is machine_limits("numpy")
    assert os.listdir(empty) == []


def test_the_command_line_shows_them(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_of_numpy", lambda: made_up("numpy"))
    monkeypatch.setattr(module, "_of_native", lambda: made_up("native"))
    assert cli.main(["env"]) == 0
    assert "not measured yet" in capsys.readouterr().out
    assert cli.main(["env", "--measure", "--json"]) == 0
    limits = json.loads(capsys.readouterr().out)["limits"]
    assert limits["bandwidth"] == "100 GB/s in cache, 10 GB/s in memory"
    assert cli.main(["env"]) == 0
    assert "multiply-adds: 100 GFLOP/s in f32" in capsys.readouterr().out
