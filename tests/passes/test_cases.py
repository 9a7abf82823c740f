"""Every file in `cases/`: parse, run the passes, verify, print, compare, parse the print again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.passes.case import CASES, Case


@pytest.mark.parametrize("path", sorted(CASES.glob("*.ir")), ids=lambda path: path.stem)
def test_case(path: Path, update_golden: bool) -> None:
    Case.read(path).check(update_golden)
