"""A NaN or an infinity that was planted is found at its line, and nothing is found where all is well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import NonFiniteError

from . import programs
from .programs import PROGRAMS, Planted

MODES = ["eager", "numpy", "native", "numpy-0", "native-0"]


@contextmanager
def settings(mode: str) -> Iterator[Callable[[Planted, Any], Any]]:
    """How the functions of programs are called."""
    backend, _, level = mode.partition("-")
    before = {name: ms.get_context(name) for name in ("backend", "optimize")}
    if backend != "eager":
        ms.set_context(backend=backend, optimize=int(level or 2))
    try:
        yield lambda program, fn: ms.jit(fn) if backend != "eager" and program.compiled else fn
    finally:
        ms.set_context(**before)


def numbers(result: Any) -> list[Any]:
    return [np.asarray(r.asnumpy()) for r in (result if isinstance(result, tuple | list) else (result,))]


@pytest.mark.some(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_planted_one_is_found_at_its_line(program: Planted, mode: str) -> None:
    fn, _, planted = program.make()
    with settings(mode) as way:
        call = way(program, fn)
        with ms.check_nonfinite(), pytest.raises(NonFiniteError) as caught:
            call(*planted)
        call(*planted)  # without the check it raises nothing
    error = caught.value
    assert error.loc is not None
    assert error.loc.file == programs.__file__
    assert error.loc.line == program.line, str(error)
    assert error.loc.tag == "adjoint" or not program.backward
    text = str(error)
    assert program.text.partition("  #")[0] in text
    assert "^" in text
    for part in program.says:
        assert part in text


@pytest.mark.some(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_nothing_is_found_where_all_is_well(program: Planted, mode: str) -> None:
    fn, healthy, _ = program.make()
    again, _, _ = program.make()  # a training step changes its Parameters
    with settings(mode) as way:
        plain = way(program, fn)(*healthy)
        with ms.check_nonfinite():
            checked = way(program, again)(*healthy)
    for a, b in zip(numbers(plain), numbers(checked), strict=True):
        assert np.isfinite(a).all()
        np.testing.assert_allclose(a, b, rtol=1e-6)
