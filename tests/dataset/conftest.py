"""Seeds are put back, and what pytest leaves out here."""

from __future__ import annotations

import pytest

from autodiff_compiler.dataset import config
from autodiff_compiler.runtime.random import generator

#: Needs MindSpore.
collect_ignore = ["data/record.py"]


@pytest.fixture(autouse=True)
def _no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "_own", None)
    monkeypatch.setattr(generator, "seed", None)
