"""A program that was saved runs where there is no autodiff_compiler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor


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
