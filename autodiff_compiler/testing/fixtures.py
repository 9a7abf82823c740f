"""Pytest fixtures; ``pytest_plugins = ["autodiff_compiler.testing.fixtures"]`` in a `conftest.py` makes them known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .modes import in_mode

__all__ = ["both_modes"]


@pytest.fixture(params=["eager", "graph O2"], ids=["eager", "graph"])
def both_modes(request: Any) -> Iterator[str]:
    """Runs the test twice, eagerly and compiled; its value is the name of the mode."""
    with in_mode(request.param):
        yield request.param.partition(" ")[0]
