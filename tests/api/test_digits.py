"""The example that `make demo` runs."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import autodiff_compiler as ms

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits.py"


@pytest.fixture
def digits() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("digits_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.long
def test_both_modes_train_alike_and_reach_the_accuracy(digits: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    digits.main()  # asserts equal losses and an accuracy of 0.95
    out = capsys.readouterr().out
    assert len(re.findall(r"^(eager|graph)  epoch", out, re.M)) == 8
    steps = {tuple(map(int, found)) for found in re.findall(r"refinement steps (\d+) to (\d+)", out)}
    assert any(low < high for low, high in steps)  # the trip count depends on the data
    loop, back = out.index("--- the loop, compiled"), out.index("--- the way back through it")
    assert " adjoint" not in out[loop:back]
    assert " adjoint" in out[back:]
    for part in (": f32[n,96] = matmul %state", "@ digits.py:", "-m autodiff_compiler dump", "time per training step"):
        assert part in out


def test_without_scikit_learn_it_says_what_to_install(digits: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(SystemExit, match="scikit-learn"):
        digits.main()
