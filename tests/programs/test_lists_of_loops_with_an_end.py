"""Lists that loops fill which data end by `break` or `return`: kept as one loop, with eager mode as the reference."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, jit, ops
from tests.programs.compare import define
from tests.programs.same_results import agree_with_derivatives, same_results

#: Arguments for which the loops end in their first trip, after some, and not at all.
ARGUMENTS = ([5.0, 4.0], [1.0, 2.0], [-1.0, -0.5])

_STEP = "h = h * 1.1 + 0.01; out.append(h)"
_END = "if h.sum() > 6: break"
#: The body of a loop, and what is made of its list.
LOOPS = {
    "stack": (f"{_STEP}; {_END}", "ops.stack(out)"),
    "before it is appended": (f"h = h * 1.1; {_END}; out.append(h)", "ops.stack([x, *out])"),
    "last and length": (f"{_STEP}; {_END}", "out[-1] * len(out) + out[0]"),
    "iterated": (f"{_STEP}; {_END}", "sum(out), sum(y * i for i, y in enumerate(out))"),
    "comprehension": (f"{_STEP}; {_END}", "ops.stack([y * y for y in out]).sum(0)"),
    "read in a trip": (f"out.append(out[-1] * 1.1 if len(out) else x); {'if out[-1].sum() > 6: break'}", "ops.cat(out)"),
    "numbers": ("h = h * 1.1; out.append(h.sum()); if out[-1] > 6: break", "sum(out) / len(out)"),
    "two lists": (f"{_STEP}; zs.append(h * i); {_END}", "ops.stack(out) * ops.stack(zs)"),
    "added": (f"h = h * 1.1; out += [h, h * 2]; {_END}", "ops.stack(out)"),
    "joined": (f"h = h * 1.1; out = out + [h]; {_END}", "ops.stack(out)"),
    "continue": ("h = h * 1.1 + 0.01; if h[0] < 0: continue; out.append(h); if h.sum() > 6: break", "ops.stack([x, *out])"),
    "return": (f"{_STEP}; if h.sum() > 6: return ops.stack(out).sum(0)", "h"),
    "after some trips": (f"{_STEP}; if i > 2 and h.sum() > 6: break", "ops.stack(out)"),
    "inner loop": (f"for _ in range(2):; {'    h = h * 1.1; '}    out.append(h); {_END}", "ops.stack(out)"),
}  # fmt: skip


def _defined(body, result, head="for i in range(20):"):
    lines = "".join(f"        {line}\n" for line in body.split("; "))
    return define(f"def f(x):\n    out, zs, h = [], [], x\n    {head}\n{lines}    return {result}\n", ops=ops)


def _decisions(f):
    return [line for line in jit(f).lower(Tensor([1.0, 2.0])).explain().splitlines() if ":3: for: " in line]


@pytest.mark.parametrize("name", LOOPS)
def test_values_and_derivatives_are_those_of_eager_mode(name):
    f = _defined(*LOOPS[name])
    agree_with_derivatives(f, ARGUMENTS)
    for numbers in ARGUMENTS:
        x = Tensor(numbers, ms.float64)
        same_results(jit(f, backend="numpy")(x), f(x))
    (decided,) = _decisions(f)
    assert "kept as a loop, up to 20 trips: data end it, and it appends to a list" in decided
