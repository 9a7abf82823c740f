"""Errors that only run time finds name the user's line; those of effects name it before any line of this package."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops


def picked(x, i):
    y = x * 2
    return y[i].sum()  # the failing line


def inverted(x, i):
    z = x * i.sum()
    return ops.inverse(z).sum()


@pytest.mark.parametrize(
    ("fn", "x", "kind", "line"),
    [
        (picked, np.ones(2), IndexError, "return y[i].sum()  # the failing line"),
        (inverted, np.zeros((2, 2)), np.linalg.LinAlgError, "return ops.inverse(z).sum()"),
    ],
)
@pytest.mark.parametrize("outer", [ms.jit, lambda f: ms.grad(ms.jit(f)), lambda f: ms.jit(ms.grad(f))])
def test_the_failing_line_is_noted(fn, x, kind, line, outer):
    with pytest.raises(kind) as caught:
        outer(fn)(Tensor(x), Tensor([5]))
    number = fn.__code__.co_firstlineno + 2
    assert caught.value.__notes__ == [f"raised at test_run_time_errors.py:{number}: {line}"]
