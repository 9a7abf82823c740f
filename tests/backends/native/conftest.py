"""Fixtures of the native backend's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autodiff_compiler.config import context


@pytest.fixture
def native_backend() -> Iterator[None]:
    before = context.backend
    context.set(backend="native")
    yield
    context.set(backend=before)
