"""One call in every mode, for programs whose expected values are written down."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.testing.modes import MODES, in_mode

from .compare import assert_close, assert_same, leaves, plain


def everywhere(fn, *args, expected=None):
    """``fn(*args)`` in every mode, equal bit by bit; the eager result, whose leaves have the `expected` values."""
    results = []
    for mode in MODES:
        with in_mode(mode):
            results.append(fn(*[x.copy() if type(x) is Tensor else x for x in args]))
    for found in results[1:]:
        assert_same(found, results[0], "compiled and eager")
    if expected is not None:
        for found, wanted in zip(leaves(results[0]), expected, strict=True):
            assert plain(found).shape == np.shape(wanted)
            np.testing.assert_allclose(plain(found), wanted, rtol=1e-5, atol=1e-6)
    return results[0]


def refused(fn, *args, kind, code):
    """The message of the error with which a call ends in every mode."""
    messages = []
    for mode in MODES:
        with in_mode(mode), pytest.raises(kind) as caught:
            fn(*args)
        assert caught.value.code == code, mode
        assert caught.value.loc is not None or mode == "eager", mode
        messages.append(caught.value.message)
    assert len(set(messages)) == 1, messages
    return messages[0]


def t(*values):
    return Tensor(list(values), ms.float32)


def everywhere_close(fn, *args):
    """``fn(*args)`` in every mode, equal up to rounding; the eager result."""
    results = []
    for mode in MODES:
        with in_mode(mode):
            results.append(fn(*args))
    for found in results[1:]:
        assert_close(found, results[0], "compiled and eager", 1e-11)
    return results[0]
