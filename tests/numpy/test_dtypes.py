"""The dtype of results for every dtype of operands: as MindSpore 2.10 has it (record_facts.py), but for a few."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor
from autodiff_compiler import numpy as mnp

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "facts.json").read_text())
ONES = np.array([[1, 1], [1, 1]])
NUMBERS = {"True": True, "1": 1, "1.5": 1.5}

#: Float64 is not rounded to float32 here, as MindSpore does in these.
KEEP_FLOAT64 = {"ceil", "divide", "fix", "float_power", "true_divide", "trunc"} | {"cov", "nanstd", "nanvar", "trapz"}
#: Of bools there is no remainder (an error); how many hold on a diagonal is a number.
NOT_OF_BOOLS = {"floor_divide", "fmod", "mod", "remainder", "trace"}


def operand(text: str) -> Any:
    return NUMBERS[text] if text in NUMBERS else Tensor(ONES.astype(text))


def _dtype(name: str, operands: str) -> str:
    found = getattr(mnp, name)(*map(operand, operands.split()))
    return str((found[0] if isinstance(found, list) else found).dtype).lower()


@pytest.mark.parametrize(("table", "name"), [(table, name) for table in ("unary", "binary") for name in FACTS[table]])
def test_results_have_the_dtype_that_mindspore_gives_them(table: str, name: str) -> None:
    expected = {
        operands: fact[0]
        for operands, fact in FACTS[table][name].items()
        if isinstance(fact, list)  # not refused
        and not (name in KEEP_FLOAT64 and "float64" in operands)
        and not (name in NOT_OF_BOOLS and fact[0] == "bool")
    }
    assert {operands: _dtype(name, operands) for operands in expected} == expected


@pytest.mark.parametrize("name", sorted(KEEP_FLOAT64))
def test_float64_stays_float64(name: str) -> None:
    x = Tensor(ONES.astype(np.float64))
    found = getattr(mnp, name)(x, x) if name in FACTS["binary"] else getattr(mnp, name)(x)
    assert str(found.dtype) == "Float64"
