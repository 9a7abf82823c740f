"""Elements under masks, computed of all elements: eager mode is the reference; NaN that is not selected stays away."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, jit, ops
from autodiff_compiler.ir.primitive import REGISTRY
from autodiff_compiler.passes.under_mask import _finite_at_ones

INF, NAN = float("inf"), float("nan")
#: Arguments: some, none, all selected; and what must not be seen where it is not selected.
ARGUMENTS = ([0.4, -1.3, 2.1], [-0.4, -1.3, -2.1], [0.4, 1.3, 2.1], [0.7, NAN, -INF])
W = Tensor(np.array(0.0))


def _changed(x, value):
    y = x * 2
    y[x > 0] = value
    return y


def _in_place(x):
    y = x * 2
    y[x > 0] += 1
    return y


def _in_a_loop(x):
    s = x[0] * 0
    while s < 3:
        s = s + x[x > s].sum() + 1
    return s


def _by_rows(x):
    m = ops.stack([x, x * 2, x * x])
    keep = x > 0
    return m[keep].sum(), (m[keep] * 2).sum(0), m[m > 0.5].sum()


#: Programs that become machine code without sizes of data.
MASKED = {
    "sum": lambda x: x[x > 0].sum(),
    "mean": lambda x: x[x > 0].mean(),
    "number": lambda x: x * x[x > 0].numel() + len(x[x > 0]),
    "formula": lambda x: (ops.log(x[x > 0]) * ops.sqrt(x[x > 0]) + 2).sum(),
    "operand that is one number": lambda x: (x[x > 0] / W).sum(),
    "operand under the mask": lambda x: (x[x > 0] ** (x * x)[x > 0]).sum(),
    "pole at 1": lambda x: (1 / (x[x > 0] - 1)).sum(),
    "variance": lambda x: ((x[x > 0] - x[x > 0].mean()) ** 2).sum(),
    "assigned": lambda x: _changed(x, x[x > 0] * 0.5),
    "assigned a formula": lambda x: _changed(x, ops.exp(x[x > 0]) + x[x > 0].sum()),
    "changed": _in_place,
    "loop": _in_a_loop,
    "rows": lambda x: _by_rows(x)[0],
    "all elements": lambda x: _by_rows(x)[2],
    "branch": lambda x: (x[x > 0].sum() if x[0] > 0.5 else x * x[x > 0].numel()).sum(),
}
#: Programs that gather: what is needed cannot be said of all elements.
GATHERED = {
    "elements": lambda x: x[x > 0] * 2,
    "infinite derivative at 1": lambda x: ops.acosh(x[x > 0] + 1).sum(),
    "order": lambda x: ops.cumsum(x[x > 0], 0).sum(),
    "two numbers of elements": lambda x: (x[x > 0] + x[x > 0.5]).sum() if x.sum() < -100 else x[x > 0][:1].sum(),
}


def _first(fn):
    return lambda x: grad(lambda x: (fn(x) * 1.5).sum())(x)


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_and_derivatives_are_those_of_eager_mode(name):
    fn = MASKED[name]
    loss = _first(fn)
    eager = [fn, loss, grad(lambda x: (loss(x) ** 2).sum()), lambda x: ms.jvp(fn, x, x * 0 + 1)[1]]
    compiled = [*map(jit, eager)]
    for numbers in ARGUMENTS[: 3 if name == "loop" else 4]:
        for run, expected in zip(compiled, eager, strict=True):
            found, wanted = run(Tensor(np.array(numbers))), expected(Tensor(np.array(numbers)))
            np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("name", [*MASKED, *GATHERED])
def test_which_programs_have_no_sizes_of_data(name):
    fn = MASKED.get(name) or GATHERED[name]
    text = str(jit(fn).lower(Tensor(np.array(ARGUMENTS[0]))).ir())
    assert ("bind_size" in text) is (name in GATHERED)
    assert "bind_size" in str(jit(fn, backend="numpy").lower(Tensor(np.array(ARGUMENTS[0]))).ir()) or name == "changed"


def test_examples_of_a_vmap_select_numbers_of_their_own():
    x = np.array(ARGUMENTS[:3])
    found = jit(lambda x: ms.vmap(lambda v: (v[v > 0] * 2).sum() / v[v > 0].numel())(x))(Tensor(x))
    np.testing.assert_allclose(found.asnumpy(), [2 * v[v > 0].mean() if (v > 0).any() else NAN for v in x])


def test_sizes_that_only_a_call_knows():
    f = jit(lambda x: x[x > 0].mean())
    for n in (3, 5, 8):
        x = np.linspace(-1, 2, n)
        np.testing.assert_allclose(f(Tensor(x)).asnumpy(), x[x > 0].mean())
    assert f.cache_info()["compiles"] == 2


@pytest.mark.parametrize(
    ("name", "finite"),
    [("exp", True), ("log", True), ("div", True), ("atanh", False), ("acosh", False), ("asin", False), ("acos", False)],
)
def test_formulas_that_are_finite_at_one(name, finite):
    defn = REGISTRY[name]
    operands = 2 if name == "div" else 1
    assert _finite_at_ones(defn, (None,) * operands, ()) is finite
