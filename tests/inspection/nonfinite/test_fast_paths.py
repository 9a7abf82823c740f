"""Every operator and method of eager Tensors is seen by those who look on, whatever way it takes to NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import NonFiniteError, Tensor
from autodiff_compiler.eager import leaves, operators
from autodiff_compiler.eager.timed import timing
from autodiff_compiler.ir.primitive import METHODS, PROPERTIES

SELF: Any = object()
OTHERS: tuple[tuple[Any, ...], ...] = ((), (2.0,), (0,), (SELF,), ((0, 1),), (-1, 0))
#: They choose NaN where the operand is one, and compute nothing with it.
CHOOSE = {"angle", "heaviside"}
#: Those with a way of their own to NumPy that make numbers (these choose or round them).
CHOOSING = {"ceil", "fix", "floor", "relu", "sgn", "sign", "trunc"}
COMPUTING = {
    "__matmul__",
    *(operators._FAST_UNARY.keys() - CHOOSING),
    *operators._FAST_REFLECTED,
    *(name for name, (op, _) in operators._FAST.items() if op in ("add", "sub", "mul", "div")),
}
FLOATS = (np.float16, np.float32, np.float64)


def calls(name: str, x: Tensor) -> Iterator[Callable[[], Any]]:
    """The ways to call a method that its signature may allow."""
    for others in OTHERS:
        given = [x if y is SELF else y for y in others]
        yield lambda given=given: getattr(x, name) if name in PROPERTIES else getattr(x, name)(*given)


def floats_of(call: Callable[[], Any]) -> list[Any]:
    """The numbers of its results; none if it cannot be called so."""
    try:
        results = leaves(call())
    except Exception:  # of whatever kind its objection is
        return []
    arrays = [t.asnumpy() for t in results if isinstance(t, Tensor)]
    return [x.ravel() for x in arrays if x.dtype.kind == "f"]


def only_moves(call: Callable[[], Any], x: Tensor) -> bool:
    """Whether each number of its results is one of the operand, or one that it was called with."""
    known = {*x.asnumpy().ravel().tolist(), 0.0, -1.0, 1.0, 2.0}
    return all(known.issuperset(part.tolist()) for part in floats_of(call))


def is_seen(call: Callable[[], Any]) -> bool:
    try:
        with ms.check_nonfinite():
            call()
    except NonFiniteError:
        return True
    return False


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.filterwarnings("ignore::Warning")
def test_computing_with_a_nan_is_seen(dtype: Any) -> None:
    healthy = Tensor(np.array([[1.25, -3.5], [0.375, 2.75]], dtype))
    missing = Tensor(np.full((2, 2), np.nan, dtype))
    seen, missed = set(), set()
    for name in METHODS.keys() - CHOOSE:
        for call, call_of_nan in zip(calls(name, healthy), calls(name, missing), strict=True):
            if any(np.isnan(part).any() for part in floats_of(call_of_nan)) and not only_moves(call, healthy):
                (seen if is_seen(call_of_nan) else missed).add(name)
    assert not missed
    assert seen >= COMPUTING


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(METHODS.keys() & (operators._FAST.keys() | {"__matmul__"})))
def test_the_fast_operators_are_measured(name: str, dtype: Any) -> None:
    noted: list[str] = []
    x = Tensor(np.ones((2, 2), dtype))
    with timing(lambda op, *_: noted.append(op)):
        getattr(x, name)(x)
    assert noted == [operators._FAST[name][0] if name in operators._FAST else "matmul"]


def test_a_product_of_matrices_that_overflows() -> None:
    m = Tensor(np.full((2, 2), 1e30, np.float32))
    with ms.check_nonfinite(), pytest.raises(NonFiniteError, match="`matmul` makes inf of finite numbers"):
        m @ m
    assert np.isinf((m @ m).asnumpy()).all()


def test_it_is_in_the_profile() -> None:
    m = Tensor(np.ones((2, 2), np.float32))
    with ms.profile() as measured:
        m @ m
    assert "matmul" in str(measured)
