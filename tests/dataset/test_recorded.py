"""The programs of `*_programs.py` do as in MindSpore 2.10 (data/record.py), or differ for a reason that stands here."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import autodiff_compiler as ms
import autodiff_compiler.dataset as ds

from . import pipeline_programs, source_programs, transform_programs  # noqa: F401  (they register themselves)
from .programs import PROGRAMS

RECORDED = json.loads((Path(__file__).parent / "data" / "recorded.json").read_text("utf-8"))
#: By program: what we do at a place, and why.
DIFFERENT = {
    "batches": {
        8: ("ValueError", "MindSpore refuses a batch size of -1, too, but not before the rows are asked for"),
        10: ("TypeError", "True is no size"),
    },
    "mapped": {
        10: ("RuntimeError", "a column would vanish behind another of its name"),
        15: ("ValueError", "MindSpore refuses an empty list, too, but not before the rows are asked for"),
    },
    "filtered": {9: ("RuntimeError", "None says neither yes nor no: the `return` is missing")},
    "iterators": {9: ("ValueError", "0 epochs are a wrong argument, not a failure")},
    "transforms": {26: ("ValueError", "a negative step is a wrong argument, not a failure")},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_recorded(name: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`shuffle=True` has no effect")
        found = json.loads(json.dumps(PROGRAMS[name](ms, ds)))
    expected = list(RECORDED[name])
    for place, (ours, _) in DIFFERENT.get(name, {}).items():
        assert expected[place] != ours
        expected[place] = ours
    assert len(found) == len(expected)
    for place, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        assert ours == theirs, f"{name}, place {place}"


def test_every_recorded_program_is_here() -> None:
    assert set(RECORDED) == set(PROGRAMS)
