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
    "iterated": (f"{_STEP}; {_END}", "sum(out), [y * 2 for y in out][-1]"),
    "gone through": (f"{_STEP}; {_END}", "total(out)"),
    "comprehension": (f"{_STEP}; {_END}", "ops.stack([y * y for y in out]).sum(0)"),
    "read in a trip": ("out.append(out[-1] * 1.1 if len(out) else x); if out[-1].sum() > 6: break", "ops.cat(out)"),
    "numbers": ("h = h * 1.1; out.append(h.sum()); if out[-1] > 6: break", "sum(out) / len(out)"),
    "two lists": (f"{_STEP}; zs.append(h * i); {_END}", "ops.stack(out) * ops.stack(zs)"),
    "added": (f"h = h * 1.1; out += [h, h * 2]; {_END}", "ops.stack(out)"),
    "joined": (f"h = h * 1.1; out = out + [h]; {_END}", "ops.stack(out)"),
    "continue": (f"h = h * 1.1 + 0.01; if h[0] < 0: continue; out.append(h); {_END}", "ops.stack([x, *out])"),
    "return": (f"{_STEP}; if h.sum() > 6: return ops.stack(out).sum(0)", "h"),
    "after some trips": (f"{_STEP}; if i > 2 and h.sum() > 6: break", "ops.stack(out)"),
    "inner loop": (f"for _ in range(2):; {'    h = h * 1.1; '}    out.append(h); {_END}", "ops.stack(out)"),
}


def _defined(body, result, head="for i in range(20):"):
    lines = "".join(f"        {line}\n" for line in body.split("; "))
    return define(
        f"def f(x):\n    out, zs, h = [], [], x\n    {head}\n{lines}    return {result}\n", ops=ops, total=_total
    )


def _total(out):
    y = out[0] * 0
    for i, h in enumerate(out):
        y = y * 0.5 + h * i
    return y


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
    assert "kept as a loop, up to 20 trips: data end it, and it changes the size of a list" in decided


#: The end of these is known while compiling: their lists are like any other.
_KNOWN_ENDS = {"number of the trip": "if i == 11: break", "option": "if len(out) == 12: break"}


@pytest.mark.parametrize("name", _KNOWN_ENDS)
def test_an_end_that_is_known_while_compiling_leaves_a_list_of_known_length(name):
    f = _defined(f"{_STEP}; {_KNOWN_ENDS[name]}", "ops.stack(out[::2]), tuple(out), x.reshape(len(out) // 6)")
    agree_with_derivatives(f, ARGUMENTS)
    (decided,) = _decisions(f)
    assert "unrolled: it changes the size of a list, and its end is known while compiling" in decided


def test_an_endless_while_with_a_break_fills_a_list():
    f = _defined(f"{_STEP}; if h.sum() > 6 or len(out) == 20: break", "ops.stack(out) * len(out)", "while True:")
    agree_with_derivatives(f, ARGUMENTS)


def test_what_differs_from_trip_to_trip_is_unrolled_if_there_are_few_trips():
    def f(x):
        out = []
        for i, w in enumerate([(x,), (x, x)] * 6):
            x = x * len(w) * 0.9
            out.append(x)
            if x.sum() > 6 + i:
                break
        return ops.stack(out)

    agree_with_derivatives(f, ARGUMENTS)


def test_the_program_does_not_grow_with_the_trips():
    def lines(trips):
        f = _defined(f"{_STEP}; {_END}", "ops.stack(out).sum()", f"for i in range({trips}):")
        same_results(jit(grad(f))(Tensor([1.0, 2.0])), grad(f)(Tensor([1.0, 2.0])))
        return str(jit(grad(f)).lower(Tensor([1.0, 2.0])).ir()).count("\n")

    assert lines(20) == lines(3000) < 150


@pytest.mark.parametrize("element", ["(h, i)", "{'a': h}", "x[:i]"])
@pytest.mark.parametrize("trips", [20, 3000])
def test_other_elements_are_refused_at_once(element, trips):
    f = _defined(f"h = h * 0.9; out.append({element}); {_END}", "h", f"for i in range({trips}):")
    with pytest.raises(ms.LoopError, match=f"data end this loop of up to {trips} trips, and it cannot be") as caught:
        jit(f)(Tensor([1.0, 2.0]))
    assert "AC1504" in str(caught.value)
    assert "each kind to a list of its own, or make a Tensor of the full size" in str(caught.value)
    assert "for i in range" in str(caught.value)


def test_keep_asks_for_a_loop_with_such_a_list():
    def f(x):
        out, h = [], x
        for _ in ms.keep(range(5)):
            h = h * 2
            out.append(h)
            if h.sum() > 6:
                break
        return ops.stack(out)

    agree_with_derivatives(f, ARGUMENTS)
