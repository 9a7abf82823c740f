"""Backward rules, edits and hooks that raise, or act without giving a gradient of their own.

Eager mode says what must come out: the exception, what was printed, and what was written before.
"""

from __future__ import annotations

import contextlib
import io

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops

POINT = [1.0, 0.5, 0.25]


def refuses(g, always):
    if always:
        raise ValueError("no gradient")
    if g.sum() < 1e9:
        raise ValueError("no gradient")
    return g


class Counting(nn.Cell):
    """``x * x``, counted and summed up in attributes; `weight` sums up what arrives backward."""

    def __init__(self, weight):
        super().__init__()
        self.calls, self.total, self.weight = 0, Tensor([0.0, 0.0, 0.0]), weight

    def construct(self, x):
        self.calls = self.calls + 1
        self.total = self.total + x
        return x * x


def network(where, always, trips):
    """A function of two Tensors that writes attributes and an argument, its Cell, and a weight."""
    weight = Parameter(Tensor([1.0, 1.0, 1.0]), name="weight")

    def rule(g):
        ops.assign(weight, weight + g)
        print("backward")
        return refuses(g, always)

    class Ruled(Counting):
        def bprop(self, x, out, dout):
            return rule(dout)

    cell = (Ruled if where == "bprop" else Counting)(weight)
    if where == "hook":
        cell.register_backward_hook(lambda cell, grad_in, grad_out: (rule(grad_out[0]),))
    edit = ops.InsertGradientOf(rule)

    def f(x, y):
        for _ in range(trips):
            x = cell(x)
            if where == "edit":
                x = edit(x)
        y[0] = 5.0
        return (x * y).sum()

    return f, cell, weight


def pulled_back(f, cell):
    def run(x, y):
        out, pull = ms.vjp(lambda x: f(x, y), x)
        cell.calls = cell.calls + 100
        return pull(out)

    return run


def between_writes(f, cell):
    def run(x, y):
        cell.calls = cell.calls + 10
        g = ms.grad(f)(x, y)
        cell.calls = cell.calls + 1000
        return g

    return run


#: How the gradient is taken in eager mode, and the same with compiled code.
FORMS = {
    "grad": lambda f, cell: (ms.grad(f), ms.jit(ms.grad(f))),
    "as written": lambda f, cell: (ms.grad(f), ms.jit(ms.grad(f), optimize=0)),
    "value_and_grad": lambda f, cell: (ms.value_and_grad(f), ms.jit(ms.value_and_grad(f))),
    "pullback": lambda f, cell: (pulled_back(f, cell), ms.jit(pulled_back(f, cell))),
    "between writes": lambda f, cell: (between_writes(f, cell), ms.jit(between_writes(f, cell))),
    "second order": lambda f, cell: (
        ms.grad(lambda x, y: ms.grad(f)(x, y).sum()),
        ms.jit(ms.grad(lambda x, y: ms.grad(f)(x, y).sum())),
    ),
    "of a compiled call": lambda f, cell: (ms.grad(f), ms.grad(ms.jit(f))),
    "twice of a compiled call": lambda f, cell: (
        ms.grad(lambda x, y: ms.grad(f)(x, y).sum()),
        ms.grad(lambda x, y: ms.grad(ms.jit(f))(x, y).sum()),
    ),
}


@pytest.mark.some(6)
@pytest.mark.parametrize("trips", [1, 12], ids=["once", "kept loop"])
@pytest.mark.parametrize("always", [True, False], ids=["always", "by data"])
@pytest.mark.parametrize("where", ["bprop", "edit", "hook"])
@pytest.mark.parametrize("form", FORMS)
def test_an_exception_in_backward_code_keeps_all_that_was_written(form, where, always, trips):
    found = []
    for compiled in (0, 1):
        f, cell, weight = network(where, always, trips)
        run = FORMS[form](f, cell)[compiled]
        x, y, printed = Tensor(POINT), Tensor([1.0, 2.0, 3.0]), io.StringIO()
        with contextlib.redirect_stdout(printed), pytest.raises(ValueError, match="no gradient") as raised:
            run(x, y)
        assert raised.value.args == ("no gradient",)
        left = (cell.calls, cell.total.tolist(), weight.tolist(), y.tolist())
        found.append((printed.getvalue(), left))
    assert found[0] == found[1]
    assert found[0][1][0] % 10 == trips % 10  # every call of the forward pass was counted


@pytest.mark.parametrize("trips", [2, 12, 40])
@pytest.mark.parametrize("form", ["grad", "as written", "of a compiled call"])
def test_a_rule_that_passes_its_cotangent_on_runs_in_every_trip(form, trips):
    """Nothing is left to compute of such a loop but what the rule does."""
    seen = Parameter(Tensor([0.0]), name="seen")

    class Passing(nn.Cell):
        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            print("backward")
            ops.assign(seen, seen + 1.0)
            return dout

    cell = Passing()

    def f(x):
        for _ in range(trips):
            x = cell(x)
        return x.sum()

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        gradient = FORMS[form](f, cell)[1](Tensor(POINT))
    assert gradient.tolist() == [1.0, 1.0, 1.0]
    assert printed.getvalue() == "backward\n" * trips
    assert seen.tolist() == [float(trips)]


def test_a_rule_that_always_raises_needs_no_cotangents():
    """What stands behind it in the program computes with what it never gives."""
    edit = ops.InsertGradientOf(lambda g: refuses(g, True))

    def f(x, y):
        return (edit(x) * y + x * edit(x * y)).sum()

    for gradient in (ms.grad(f), ms.jit(ms.grad(f)), ms.jit(ms.grad(f), optimize=0), ms.grad(ms.jit(f))):
        with pytest.raises(ValueError, match="no gradient") as raised:
            gradient(Tensor(POINT), Tensor(POINT))
        assert raised.value.args == ("no gradient",)


# ------------------------------------------------------------------------------------------------ how often rules run
def loud(kind):
    """``x ** 3 * y`` with a rule that prints on the way; the forward pass prints, too."""

    class Cubed(nn.Cell):
        def construct(self, x):
            print("forward")
            return x * x * x

    class Ruled(Cubed):
        def bprop(self, x, out, dout):
            print("rule")
            return dout * x * 3

    class Refusing(Cubed):
        def bprop(self, x, out, dout):
            if x.sum() > 0:
                raise ValueError("no gradient")
            return dout * x

    cell = {"bprop": Ruled, "raising bprop": Refusing}.get(kind, Cubed)()
    log = []
    if kind == "hook":
        cell.register_backward_hook(lambda cell, arriving, leaving: print("rule"))
    if kind == "host hook":
        cell.register_backward_hook(lambda cell, arriving, leaving: (print("rule"), log.append(1))[0])
    passed = {
        "edit": ops.InsertGradientOf(lambda g: (print("rule"), g * 2)[1]),
        "hooked value": ops.HookBackward(lambda g: print("rule")),
    }.get(kind, lambda x: x)
    return lambda x, y: cell(passed(x * 1.0)) * y


def total(f):
    return lambda x, y: f(x, y).sum()


def of_gradient(f):
    return lambda x, y: ms.grad(total(f))(x, y)


def twice_pulled(f, x, y):
    out, pull = ms.vjp(lambda x: f(x, y), x)
    return pull(out), pull(out)


def gradient_pulled(f, x, y):
    out, pull = ms.vjp(lambda x: of_gradient(f)(x, y), x)
    return pull(out)


def twice_pushed(f, x, y):
    _, push = ms.linearize(lambda x: f(x, y), x)
    return push(x), push(y)


DERIVATIVES = {
    "gradient": lambda f, x, y: of_gradient(f)(x, y),
    "second": lambda f, x, y: ms.grad(lambda x, y: of_gradient(f)(x, y).sum())(x, y),
    "third": lambda f, x, y: ms.grad(lambda x, y: ms.grad(lambda x, y: of_gradient(f)(x, y).sum())(x, y).sum())(x, y),
    "by the other": lambda f, x, y: ms.grad(lambda y: ms.grad(lambda x: total(f)(x, y))(x).sum())(y),
    "pullback": twice_pulled,
    "pullback of the gradient": gradient_pulled,
    "tangent": lambda f, x, y: ms.jvp(lambda x: f(x, y), x, x),
    "tangent of the gradient": lambda f, x, y: ms.jvp(lambda x: of_gradient(f)(x, y), x, x),
    "Hessian": lambda f, x, y: ms.hessian(total(f))(x, y),
    "Jacobian by rows": lambda f, x, y: ms.jacrev(f)(x, y),
    "Jacobian by columns": lambda f, x, y: ms.jacfwd(f)(x, y),
    "linear map": twice_pushed,
}


def numbers(x):
    return [numbers(v) for v in x] if isinstance(x, tuple) else x.tolist()


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", ["bprop", "raising bprop", "edit", "hook", "host hook", "hooked value"])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_rules_of_a_compiled_call_run_where_those_of_eager_code_run(name, kind):
    found = []
    for compiled in (False, True):
        f = loud(kind)
        f = ms.jit(f) if compiled else f
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                result = numbers(DERIVATIVES[name](f, Tensor([1.0, 2.0]), Tensor([0.5, 0.25])))
            except ValueError as error:
                result = str(error)
        found.append((result, printed.getvalue()))
    assert found[0] == found[1]
    assert "rule" in found[0][1] or found[0][0] == "no gradient"
