"""What pytest leaves out here, and the two modes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import autodiff_compiler as ms

#: These need MindSpore.
collect_ignore = ["data/make_fixtures.py", "data/record_model.py"]


@pytest.fixture(params=["eager", "graph"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    ms.set_context(mode=ms.GRAPH_MODE if request.param == "graph" else ms.PYNATIVE_MODE)
    yield request.param
    ms.set_context(mode=ms.PYNATIVE_MODE)
