"""What other layers read from the classes of primitives: NumPy's ufuncs, functions of `math`, methods, costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.ir.primitive import METHODS, REGISTRY, UFUNCS, Primitive
from autodiff_compiler.primitives.family import float_unary, floating
from autodiff_compiler.primitives.flops import flops_of_functions
from autodiff_compiler.primitives.in_place import IN_PLACE
from autodiff_compiler.primitives.numpy_names import counterpart

WHOLE = {"gcd", "lcm", "left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor", "invert"}
OF_MATH = {defn.python.__name__: defn for defn in REGISTRY.values() if defn.python is not None}
#: Among them are arguments for which a function of `math` raises, if there are any.
NUMBERS = (0.0, -1.0, 0.5, 2.0, -0.5, 1.7e308, 1e3, math.inf, -math.inf, math.nan)


@pytest.mark.parametrize("ufunc", sorted(UFUNCS, key=lambda u: u.__name__), ids=lambda u: u.__name__)
def test_a_ufunc_of_tensors_is_that_of_numpy(ufunc: np.ufunc) -> None:
    if ufunc.__name__ in WHOLE:
        operands = [np.array([5, 6, 12]), np.array([1, 2, 3])]
    else:
        operands = [np.array([0.25, 0.5, 0.75]) + (ufunc is np.arccosh), np.array([0.5, 0.5, 0.125])]
    operands = operands[: ufunc.nin]
    found: Any = ufunc(*map(Tensor, operands))
    expected = ufunc(*operands)
    assert isinstance(found, Tensor)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


def test_a_ufunc_of_others_is_none_of_numpys() -> None:
    special = pytest.importorskip("scipy.special")
    assert counterpart(special.exp2) is None  # of the same name, and another function
    assert counterpart(np.exp2) is not None


@pytest.mark.parametrize("name", sorted(OF_MATH))
def test_a_function_of_math_is_total_where_its_class_says_so(name: str) -> None:
    defn, function = OF_MATH[name], getattr(math, name)
    operands = [(x,) for x in NUMBERS]
    if len(defn.operand_names) == 2:
        operands = [(x, y) for x in NUMBERS for y in NUMBERS]
    raised = 0
    for given in operands:
        try:
            function(*given)
        except (ValueError, OverflowError):
            raised += 1
    assert defn.total is (raised == 0)


def test_hypot_of_numbers_that_overflows_is_inf_as_in_python() -> None:
    far = math.hypot(1.7e308, 1.7e308)
    assert ms.jit(lambda x: math.hypot(float(x), 1.7e308))(Tensor(1.7e308, ms.float64)) == far == math.inf


@pytest.mark.parametrize(
    "name", sorted(name for defn in REGISTRY.values() for name in defn.methods if name in IN_PLACE)
)
def test_a_method_that_changes_the_tensor(name: str) -> None:
    x, other = Tensor([0.25, 0.5]), Tensor([2.0, 0.75])
    others = {"add_": (other,), "clamp_": (0.3, 0.4), "div_": (other,), "floor_divide_": (other,), "mul_": (other,)}
    given = others.get(name, (other,) if name in ("pow_", "remainder_", "sub_") else ())
    expected = METHODS[name.removesuffix("_")](x, *given).asnumpy().tolist()
    assert getattr(x, name)(*given) is x
    assert x.tolist() == expected
    assert name not in METHODS


def test_a_formula_counts_what_its_functions_count() -> None:
    count = flops_of_functions()
    assert count["exp"] == REGISTRY["exp"].flops
    assert count["arctanh"] == REGISTRY["atanh"].flops
    assert "add" not in count  # one operation, as everything of which nothing is said


def test_an_op_is_found_by_what_its_class_says() -> None:
    try:

        class SpacingOfTest(Primitive):
            infer = float_unary
            scalar = lambda k, x: k.spacing(x)
            flops = 7
            call = floating("spacing_of_test")

        assert SpacingOfTest.ufunc is np.spacing
        assert flops_of_functions()["spacing"] == 7
        found: Any = np.spacing(Tensor([1.0]))  # type: ignore[call-overload]
        assert found.tolist() == [2.0**-23]
    finally:
        REGISTRY.pop("spacing_of_test")
        UFUNCS.pop(np.spacing)
