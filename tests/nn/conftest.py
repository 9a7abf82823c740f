"""Both modes for the tests of networks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import autodiff_compiler as ms

#: It needs MindSpore.
collect_ignore = ["data/record_average_pools.py"]


@pytest.fixture(params=["eager", "graph"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs a test in PYNATIVE_MODE and in GRAPH_MODE."""
    ms.set_context(mode=ms.GRAPH_MODE if request.param == "graph" else ms.PYNATIVE_MODE)
    yield request.param
    ms.set_context(mode=ms.PYNATIVE_MODE)
