"""Trainings do what MindSpore does: order of calls, contexts, lines, files and numbers.

What MindSpore does was recorded by data/record_model.py.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autodiff_compiler as ms

from . import scenarios

RECORDED = json.loads((Path(__file__).parent / "data" / "model.json").read_text())


def pipeline(data: list[Any]) -> Any:
    """The dataset that MindSpore was given."""
    names = ["data", "label", "more"][: len(data[0])]
    return ms.dataset.GeneratorDataset(data, names, shuffle=False)


def agree(found: Any, recorded: Any, place: str = "") -> None:
    if isinstance(recorded, float) and isinstance(found, int | float):
        assert found == recorded or math.isclose(found, recorded, rel_tol=2e-5, abs_tol=1e-6), place
    elif isinstance(recorded, list):
        assert isinstance(found, list)
        assert len(found) == len(recorded), place
        for i, (a, b) in enumerate(zip(found, recorded)):
            agree(a, b, f"{place}[{i}]")
    elif isinstance(recorded, dict):
        assert isinstance(found, dict)
        assert set(found) == set(recorded), place
        for name in recorded:
            agree(found[name], recorded[name], f"{place}[{name!r}]")
    elif isinstance(recorded, str):
        parts, wanted = (re.split(r"(\d+\.\d+)", text) for text in (found, recorded))
        assert parts[::2] == wanted[::2], place
        agree([float(number) for number in parts[1::2]], [float(number) for number in wanted[1::2]], place)
    else:
        assert found == recorded, place


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("mode", "dataset"),
    [("eager", list), ("graph", list), ("graph", pipeline)],
    ids=["eager-list", "graph-list", "graph-pipeline"],
)
@pytest.mark.parametrize("scenario", scenarios.SCENARIOS, ids=lambda s: s.__name__)
def test_as_recorded(scenario: Callable[..., Any], mode: str, dataset: Any, tmp_path: Path) -> None:
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    try:
        found = scenarios.plain(scenario(ms, dataset, str(tmp_path)))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    agree(found, RECORDED[scenario.__name__])
