"""Every program of these tests is verified after every pass."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms

collect_ignore_glob = ["goldens/*"]


@pytest.fixture(autouse=True)
def verified():
    before = ms.get_context("verify"), ms.get_context("mode")
    ms.set_context(verify=True, mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(verify=before[0], mode=before[1])
