"""A world of its own for what is kept on disk."""

from __future__ import annotations

import pytest

from autodiff_compiler.backends.native import recipe
from autodiff_compiler.backends.native.jit import cache
from autodiff_compiler.config import context
from tests.compiler.world import World


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "_sources", lambda: "sources")  # which may be edited while tests run
    monkeypatch.setenv("AC_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("AC_CACHE", "AC_CACHE_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache, "_bytes_there", {})
    before = context.backend
    context.set(backend="native")
    yield World(tmp_path, monkeypatch)
    context.set(backend=before)
