"""Programs of one test in `VERIFIED` are verified after every pass; arenas are planned as large ones would be."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.native import backend
from tests.selection import is_one_in

#: One in so many tests; with ``--long`` all.
VERIFIED = 3
collect_ignore_glob = ["goldens/*"]


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    monkeypatch.setattr(backend, "SMALL", 0)
    before = ms.get_context("verify"), ms.get_context("mode")
    ms.set_context(verify=is_one_in(VERIFIED), mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(verify=before[0], mode=before[1])


@pytest.fixture(params=["eager", "graph, O0", "graph, O2"])
def mode(request):
    """Eager code, and compiled code with and without rewriting."""
    before = ms.get_context("optimize")
    ms.set_context(mode=ms.PYNATIVE_MODE if request.param == "eager" else ms.GRAPH_MODE)
    ms.set_context(optimize=0 if request.param.endswith("O0") else 2)
    yield request.param
    ms.set_context(mode=ms.PYNATIVE_MODE, optimize=before)
