"""Fixtures of the native backend's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autodiff_compiler.backends.native import backend
from autodiff_compiler.config import context


@pytest.fixture
def native_backend() -> Iterator[None]:
    before = context.backend
    context.set(backend="native")
    yield
    context.set(backend=before)


@pytest.fixture
def no_arena_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """An arena is planned as if it were large: again, until it takes about what is alive."""
    monkeypatch.setattr(backend, "SMALL", 0)
