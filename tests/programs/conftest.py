"""Every program of these tests is verified after every pass, and its arena planned as a large one's would be."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.native import backend

collect_ignore_glob = ["goldens/*"]


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    monkeypatch.setattr(backend, "SMALL", 0)
    before = ms.get_context("verify"), ms.get_context("mode")
    ms.set_context(verify=True, mode=ms.PYNATIVE_MODE)
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
