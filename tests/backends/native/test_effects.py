"""Output, exceptions and calls of Python, in their order."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.native.jit.machine import why_not
from tests.backends.native.against_numpy import X, both, optimised
from tests.backends.native.sampled import native

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")


def talking(x, s):
    print("start", x)
    i = 0
    while s < 40.0:
        s = s * 2.0
        if s > 20.0:
            print("large", s, i)
        else:
            print(f"small {s:.3f}")
        if s > 30.0 and i > 3:
            raise ValueError(f"{s} after {i}")
        i = i + 1
    print("end", x * s)
    return x * s


def run(program, *xs):
    """What a program returns or raises, and prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        try:
            found = [np.asarray(a).tolist() for a in program(*xs)]
        except Exception as error:
            notes = [n for n in getattr(error, "__notes__", ()) if "compiled code" in n]
            found = type(error), str(error), notes
    return found, out.getvalue()


@pytest.mark.parametrize("s", [1.5, 0.9, 50.0])
def test_output_and_exceptions_keep_their_order(s):
    program, reference = both(optimised(talking, X, np.array(s)))
    assert run(program, X, np.array(s)) == run(reference, X, np.array(s))


def test_an_index_that_is_out_of_bounds():
    def f(x, i):
        print("before")
        y = x[i]
        print("after", y)
        return y

    program, reference = both(optimised(f, X, np.array(2)))
    for i in (0, 3, -4, 4, -5):
        assert run(program, X, np.array(i)) == run(reference, X, np.array(i))


def test_python_functions_get_arrays_of_their_own():
    seen = []

    def look(x):
        seen.append(x.copy())
        x[:] = 100.0
        return seen[-1]

    def f(x):
        for _ in range(3):
            x = ms.py_call(look, x, out=ms.TensorSpec((4,), ms.float64)) + 1.0
        return x

    program = native(optimised(f, X))
    seen.clear()
    np.testing.assert_array_equal(program(X)[0], X + 3)
    np.testing.assert_array_equal(seen, [X, X + 1, X + 2])
