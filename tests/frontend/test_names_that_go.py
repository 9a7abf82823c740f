"""Names that lose their value or their module's name between calls: what Python says then."""

import types

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor

X = np.array([1.0, 2.0])


def test_a_module_without_a_name():
    """All that a module held is gone, its `__name__` too; names that are set again are read."""
    m = types.ModuleType("m")
    m.v = 4.0

    def f(x):
        return x * m.v

    compiled = ms.jit(f)
    for _ in range(20):
        np.testing.assert_array_equal(compiled(Tensor(X)).asnumpy(), X * 4.0)
    m.__dict__.clear()
    with pytest.raises(AttributeError, match="has no attribute 'v'"):
        compiled(Tensor(X))
    m.v = 5.0
    np.testing.assert_array_equal(compiled(Tensor(X)).asnumpy(), X * 5.0)


def test_a_variable_of_the_enclosing_function_that_was_deleted():
    """NameError, as Python raises it; and the value that it has again later."""

    def made():
        k = 2.0

        def f(x):
            return x * k

        def delete():
            nonlocal k
            del k

        def give(value):
            nonlocal k
            k = value

        return f, delete, give

    f, delete, give = made()
    compiled = ms.jit(f)
    for _ in range(20):
        np.testing.assert_array_equal(compiled(Tensor(X)).asnumpy(), X * 2.0)
    delete()
    with pytest.raises(NameError):
        f(X)
    with pytest.raises(NameError, match="`k` of the enclosing function has no value"):
        compiled(Tensor(X))
    give(3.0)
    np.testing.assert_array_equal(compiled(Tensor(X)).asnumpy(), X * 3.0)
