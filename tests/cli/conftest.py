"""A program, and the command line called in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from autodiff_compiler.cli import main

ROOT = Path(__file__).parents[2]
MODEL = '''"""A file of a user's."""

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops


def settle(x, n=2):
    while x.sum() < n:
        x = x * 2
    return x


def loss(w, x):
    y = ops.tanh(ops.matmul(x, w))
    return (y * y).mean()


def broken(x):
    try:
        return x
    except ValueError:
        return x


class Net(nn.Cell):
    def __init__(self, width, out=1):
        super().__init__()
        self.fc = nn.Dense(width, out, weight_init="ones", bias_init="zeros")

    def construct(self, x):
        return self.fc(x)


class Scaled(nn.Cell):
    def construct(self, x):
        return self.twice(x)

    def twice(self, x):
        return x * 2


net = Net(2)
words = ["a", "b"]
print("model.py is imported")
'''


class Answer(NamedTuple):
    """What a command printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document that it printed."""
        return json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """model.py in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    sys.modules.pop("model", None)  # another test's
    path = tmp_path / "model.py"
    path.write_text(MODEL, "utf-8")
    return path


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Runs a command in this process."""

    def run(*words: str) -> Answer:
        capsys.readouterr()
        status = main(words)
        return Answer(status, *capsys.readouterr())

    return run


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[str]]:
    """Starts a command in a process of its own."""

    def run(*words: str, **variables: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        return subprocess.Popen(
            [sys.executable, "-m", "autodiff_compiler", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    return run
