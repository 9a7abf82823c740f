"""The comparison with peers: it runs where none is installed, its references are right, and it times nothing wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from benchmarks.peers import Case, Row, as_json, run, run_group, show
from benchmarks.peers.__main__ import main
from benchmarks.peers.case import agrees_with_differences
from benchmarks.peers.frameworks import PACKAGES, available
from tests import forked

ROOT = Path(__file__).resolve().parents[2]
#: Group, part of a name, and how many cases have it: all kinds of work at their smallest.
SMALL = [
    ("calls", "", 5),
    ("rosenbrock", "", 2),
    ("mlp", "8-16-1", 1),
    ("elementwise", " 1,000 ", 4),
    ("rows", "softmax 128", 1),
    ("rows", "layer norm 64", 1),
    ("ode", "", 1),
    ("rnn", "", 1),
    ("hvp", "", 2),
    ("gmm", "d=10 K=5", 1),
    ("compilation", "of 10 ops", 1),
    ("batches", "compilations", 1),
]


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """Frameworks are entered for a whole process; here others come after."""
    before = {name: ms.get_context(name) for name in ("mode", "backend")}
    yield
    ms.set_context(**before)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where no peer is installed."""
    monkeypatch.setattr(run, "available", lambda column: column not in PACKAGES and available(column))


@pytest.mark.some(12)
@pytest.mark.parametrize(("group", "name", "count"), SMALL)
def test_ours_and_the_reference_agree_where_no_peer_is_installed(
    group: str, name: str, count: int, alone: None, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = run_group(group, name, rounds=1)
    assert len(rows) == count
    for row in rows:
        assert row.failed == {}
        assert {"numpy", "hand"} & set(row.figures)
        assert not set(PACKAGES) & set(row.figures)
        assert all(row.absent[column] for column in PACKAGES if column in row.absent)
        assert all(len(found) == 1 and found[0] > 0 for found in row.figures.values())


def test_every_group_has_cases_with_names_of_their_own() -> None:
    for group in run.GROUPS:
        names = [case.name for case in run.cases_of(group)]
        assert names
        assert len(set(names)) == len(names)


def test_a_gradient_written_by_hand_must_agree_with_differences() -> None:
    x, y = np.array([0.3, -1.2]), np.array([2.0, 0.5])

    def right(x: Any, y: Any) -> Any:
        return (x * x * y).sum(), 2 * x * y, x * x

    def wrong(x: Any, y: Any) -> Any:
        return (x * x * y).sum(), 2 * x * y, x

    assert agrees_with_differences(right, [x, y], (0, 1))
    assert not agrees_with_differences(wrong, [x, y], (0, 1))


def test_what_is_wrong_or_fails_is_not_timed(alone: None) -> None:
    calls: list[str] = []

    def maker(name: str, result: Any) -> Any:
        def call() -> Any:
            calls.append(name)
            if result is None:
                raise ValueError("out of\norder")
            return result

        return lambda: call

    makers = {
        "numpy": maker("numpy", np.array([1.0, 2.0])),
        "eager": maker("eager", np.array([1.0, 2.1])),
        "hand": maker("hand", None),
    }
    row = run.run_case("group", Case("case", makers, lambda: [np.array([1.0, 2.0])]), rounds=2, threads=1)
    assert row.failed == {"eager": "result 0 is off by 0.1, its greatest element is 2", "hand": "ValueError: out of"}
    assert list(row.figures) == ["numpy"]
    assert (calls.count("eager"), calls.count("hand")) == (1, 1)


def test_not_a_number_is_wrong() -> None:
    case = Case("case", {})
    assert case.wrong(lambda: np.array([np.nan]), [np.array([1.0])])
    assert case.wrong(lambda: (1.0, 2.0), [np.array(1.0)]) == "2 results, not 1"
    assert not case.wrong(lambda: (1.0, [np.float64(2)]), [np.array(1.0), np.array(2.0)])


def test_ratios_are_taken_round_by_round_and_compared_with_targets(capsys: pytest.CaptureFixture[str]) -> None:
    figures = {"numpy": [1.0, 10.0, 2.0], "jax": [3.0, 20.0, 8.0], "torch": [1.0, 10.0, 2.0]}
    row = Row("group", "case", 1, "us", targets={"jax": 3.0, "torch": 2.0}, at_most=1.5, figures=figures)
    assert row.base == "numpy"
    assert row.ratio("jax") == (2.5, 3.0, 3.5)
    assert row.verdicts() == {"jax": True, "torch": False, "at most": False}
    show([row, Row("group", "other", 2, "us", failed={"numpy": "RuntimeError: no"})])
    printed = capsys.readouterr().out
    assert "3.00 [2.50-3.50]" in printed
    assert "!1.00 [1.00-1.00]" in printed
    assert "numpy: RuntimeError: no (group: other)" in printed
    assert "1 of 3 targets reached" in printed
    assert json.loads(as_json([row]))["rows"][0]["ratios"]["jax"] == [2.5, 3.0, 3.5]


def test_the_command_writes_the_figures_of_its_groups(
    tmp_path: Path, alone: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its groups in this process; test_the_command_writes_all_figures starts processes, and imports the peers."""

    def here(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        assert command[:3] == [sys.executable, "-m", "benchmarks.peers"]
        return subprocess.CompletedProcess(command, main(command[3:]))

    monkeypatch.setattr(run.subprocess, "run", here)
    monkeypatch.setattr(run, "bind", lambda threads: None)
    file = tmp_path / "figures.json"
    arguments = ["--only", "Rosenbrock n=2", "--rounds", "2", "--threads", "1", "--json", str(file)]
    assert main(arguments) == 0
    assert "rosenbrock: Rosenbrock n=2" in capsys.readouterr().out
    (row,) = json.loads(file.read_text("utf-8"))["rows"]
    assert (row["name"], row["threads"], row["failed"]) == ("Rosenbrock n=2", 1, {})
    assert len(row["figures"]["numpy"]) == 2


@pytest.mark.long
def test_the_command_writes_all_figures(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = ["-m", "benchmarks.peers", "--only", "Rosenbrock n=2", "--rounds", "2", "--threads", "1"]
    done = forked.run(*command, "--json", file, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert "rosenbrock: Rosenbrock n=2" in done.stdout
    (row,) = json.loads(file.read_text("utf-8"))["rows"]
    assert (row["name"], row["threads"], row["failed"]) == ("Rosenbrock n=2", 1, {})
    assert len(row["figures"]["numpy"]) == 2


def test_a_name_that_no_case_has_is_an_error() -> None:
    done = forked.run("-m", "benchmarks.peers", "--only", "no such case", cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: no case has 'no such case' in its name\n"
