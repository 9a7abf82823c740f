"""`vjp`, `linearize` and whole Jacobians in compiled code run the function once: its effects are those of eager code.

Every program runs eagerly and compiled at every level of optimisation; values (to rounding, where code is transposed
another way), the printed text and the Parameter left behind must be the same.  Some have closed forms beside that.
"""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn, ops
from tests.programs.compare import leaves, plain, structure

X, V = np.array([1.0, 2.0]), np.array([0.5, 0.25])
START = np.array([1.0, 2.0])

p = ms.Parameter(ms.Tensor(START), name="p")


def f64(x):
    return ms.Tensor(np.array(x, np.float64))


def loud(x):
    """Prints, writes a Parameter and reads it: p becomes p + x, the result is x^2 p."""
    print("in", x)
    ops.assign(p, p + x)
    return x * x * p


class Reads(nn.Cell):
    """A derivative rule that reads a Parameter when it runs."""

    def __init__(self):
        super().__init__()
        self.p = p

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (dout * 2 * x * self.p,)


class Writes(Reads):
    """A derivative rule that prints and writes a Parameter."""

    def bprop(self, x, out, dout):
        print("bprop", dout)
        ops.assign(self.p, self.p + dout)
        return (dout * 2 * x * self.p,)


class Counts(Reads):
    """A derivative rule that prints, writes a Parameter, and is linear in the cotangent, as forward mode needs it."""

    def bprop(self, x, out, dout):
        print("bprop", dout)
        ops.assign(self.p, self.p + x + dout)
        return (dout * 2 * x,)


reads, writes, counts = Reads(), Writes(), Counts()


def pulled_twice(x, v):
    y, pull = ms.vjp(loud, x)
    print("between", p)
    a = pull(v)
    print("after", a[0])
    return y, a, pull(v * 2), p * 1


def pushed_twice(x, v):
    y, push = ms.linearize(loud, x)
    print("between", p)
    a = push(v)
    print("after", a)
    return y, a, push(v * 2), p * 1


def never_pulled(x, v):
    y, _pull = ms.vjp(loud, x)
    return y, p * 1


def rows(x, v):
    return ms.jacrev(loud)(x), p * 1


def columns(x, v):
    return ms.jacfwd(loud)(x), p * 1


def hessian(x, v):
    return ms.hessian(lambda x: loud(x).sum())(x), p * 1


def jacobians_of_jacobians(x, v):
    return ms.jacrev(ms.grad(lambda x: loud(x).sum()))(x), ms.jacfwd(ms.jacrev(loud))(x), ms.jacrev(ms.jacfwd(loud))(x)


def in_a_branch(x, v):
    _y, pull = ms.vjp(loud, x)
    if v[0] > 0:
        r = pull(v)[0]
    else:
        r = v
    return r, p * 1


def in_a_loop(x, v):
    y, pull = ms.vjp(loud, x)
    while v.sum() < 100.0:
        v = pull(v)[0] + 1.0
    return v, y


def wholly_in_a_loop(x, v):
    while x.sum() < 50.0:
        _y, pull = ms.vjp(loud, x)
        x = x + pull(v)[0]
    return x, p * 1


def unrolled(x, v):
    acc = v
    for row in ops.stack([x, v, x]):
        _y, pull = ms.vjp(lambda x: x * x, row)
        acc = acc + pull(acc)[0]
    return acc, pull(v)


def of_a_function_with_control_flow(x, v):
    def f(x):
        n = 0
        while x.sum() < 30.0:
            x = x * x + 1.0 if x[0] < 2.0 else x * 1.5
            n = n + 1
            print("trip", n)
        return x

    y, pull = ms.vjp(f, x)
    _z, push = ms.linearize(f, x)
    return y, pull(v), pull(v + 1), push(v), ms.jacrev(f)(x), ms.jacfwd(f)(x)


def differentiated_once_more(x, v):
    def g(x):
        y, pull = ms.vjp(loud, x)
        return (pull(v)[0] * y).sum()

    return ms.grad(g)(x), p * 1


def a_linear_map_of_a_linear_map(x, v):
    def f(x):
        print("f")
        return ops.sin(x) * x

    y, push = ms.linearize(lambda x: ms.linearize(f, x)[1](v), x)
    return y, push(v)


def pulled_in_another_derivative(x, v):
    _y, pull = ms.vjp(lambda x: ops.sin(x) * x.sum(), x)

    def cube(v):
        return (pull(v)[0] ** 3).sum()

    return ms.grad(cube)(v), ms.jacrev(lambda v: pull(v)[0])(v), ms.jacfwd(lambda v: pull(v)[0])(v)


def draws(x, v):
    def f(x):
        return ops.dropout(x, 0.5) * ops.standard_normal((2,)) * x

    y, pull = ms.vjp(f, x)
    z, push = ms.linearize(f, x)
    total = ms.hessian(lambda x: f(x).sum())(x)
    return y, pull(v), pull(v), z, push(v), ms.jacrev(f)(x), ms.jacfwd(f)(x), total, ops.standard_normal((2,))


def writes_to_what_it_gets(x, v):
    def f(t):
        t[0] = t[0] * 3
        return t * t

    z, w = x * 1, x * 1
    y, pull = ms.vjp(f, z)
    return y, pull(v), z, ms.jacrev(f)(w), w


def changes_a_list(x, v):
    kept = []

    def f(t):
        kept.append(t * 2)
        return t * t

    y, pull = ms.vjp(f, x)
    return y, pull(v), ms.jacrev(f)(x), ms.jacfwd(f)(x), [k * 1 for k in kept]


def written_after_the_run(x, v):
    z = x * 1
    y, pull = ms.vjp(lambda z: z * z * p, z)
    a = pull(v)
    z[0] = 100.0
    ops.assign(p, p * 7)
    return y, a, pull(v), z


def integers_and_other_inputs(x, v):
    k = ms.Tensor(3)
    _y, push = ms.linearize(lambda x, k: x * k, (x, k))
    _z, pull = ms.vjp(lambda x, k, n: (x * k * n, k + 1), x, k, 2.0)
    return push(v, k), pull(v, k), pull(2.0, None)


def by_weights(x, v):
    def f(x):
        y = x * p
        ops.assign(p, p + 1)
        return y * p

    y, pull = ms.vjp(f, x, weights=p)
    a = pull(v)
    ops.assign(p, p * 5)
    return a, pull(v), y


def by_weights_in_a_loop(x, v):
    _y, pull = ms.vjp(lambda x: x * p, x, weights=[p])
    while v.sum() < 30.0:
        (a,), (b,) = pull(v)
        v = v + a + b
        ops.assign(p, p + 0.5)
    return v


def under_vmap(x, v):
    both = ops.stack([x, v])
    _y, pull = ms.vjp(loud, x)
    return ms.vmap(pull)(both), ms.vmap(lambda t: ms.vjp(lambda x: x * x * x, t)[1](v))(both)


def keywords(x, v):
    def f(x, k=1.0):
        return x * x * k

    return ms.jacrev(f)(x, k=3.0), ms.jacfwd(f)(x, k=v)


def a_rule_that_reads(x, v):
    def f(x):
        ops.assign(p, p + x)
        z = reads(x)
        ops.assign(p, p * 2)
        return z

    _y, pull = ms.vjp(f, x)
    a = pull(v)
    ops.assign(p, p * 3)
    return a, pull(v), ms.grad(lambda v: pull(v * p)[0].sum())(v), p * 1


def a_rule_that_writes(x, v):
    _y, pull = ms.vjp(writes, x)
    a, b = pull(v), pull(v)
    if v[0] > 0:
        v = pull(v)[0]
    while v.sum() < 3000.0:
        v = pull(v)[0]
    return a, b, v, p * 1


def a_rule_that_writes_pulled_in_vain(x, v):
    y, pull = ms.vjp(writes, x)
    pull(v)
    return y


def a_rule_that_writes_differentiated(x, v):
    _y, pull = ms.vjp(writes, x)

    def g(x):
        z, inner = ms.vjp(writes, x)
        return (inner(v)[0] * z).sum()

    return ms.grad(lambda v: pull(v)[0].sum())(v), ms.grad(g)(x), p * 1


def a_rule_that_writes_pushed(x, v):
    _y, push = ms.linearize(counts, x)
    return push(v), push(v), ms.jacfwd(counts)(x), p * 1


def a_rule_that_writes_for_every_row(x, v):
    return ms.jacrev(writes)(x), p * 1


def no_float_output(x, v):
    return ms.jacrev(lambda x: {"i": ops.argmax(x)})(x)


PROGRAMS = [
    pulled_twice, pushed_twice, never_pulled, rows, columns, hessian, jacobians_of_jacobians, in_a_branch, in_a_loop,
    wholly_in_a_loop, unrolled, of_a_function_with_control_flow, differentiated_once_more, a_linear_map_of_a_linear_map,
    pulled_in_another_derivative, draws, writes_to_what_it_gets, changes_a_list, written_after_the_run,
    integers_and_other_inputs, by_weights, by_weights_in_a_loop, under_vmap, keywords, a_rule_that_reads,
    a_rule_that_writes, a_rule_that_writes_pulled_in_vain, a_rule_that_writes_differentiated, a_rule_that_writes_pushed,
    a_rule_that_writes_for_every_row, no_float_output,
]  # fmt: skip


@pytest.fixture(autouse=True)
def fresh():
    ms.set_seed(7)
    p.set_data(ms.Tensor(START))


def outcome(f, capsys, *args):
    """What a call returns, prints and leaves in the Parameter."""
    ms.set_seed(7)
    p.set_data(ms.Tensor(START))
    capsys.readouterr()
    found = f(*map(f64, args or (X, V)))
    return found, capsys.readouterr().out, p.asnumpy().copy()


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_code_does_what_eager_code_does(f, capsys):
    found, text, left = outcome(f, capsys)
    for level in (0, 1, 2):
        again, said, after = outcome(ms.jit(f, optimize=level), capsys)
        assert structure(again) == structure(found)
        assert said == text
        for a, b in zip([*leaves(again), after], [*leaves(found), left], strict=True):
            np.testing.assert_allclose(plain(a), plain(b), rtol=1e-13)


def test_closed_forms(capsys):
    # at the run p becomes p0 + x, so y = x^2 (p0 + x)
    (y, (a,), (b,), after), text, _ = outcome(ms.jit(pulled_twice), capsys)
    at = START + X
    slope = 2 * X * at + X * X
    np.testing.assert_allclose(plain(y), X * X * at)
    np.testing.assert_allclose(plain(a), slope * V)
    np.testing.assert_allclose(plain(b), slope * V * 2)
    np.testing.assert_allclose(plain(after), at)
    assert text.count("in") == 1
    assert [line.split()[0] for line in text.splitlines()] == ["in", "between", "after"]
    for f in (rows, columns):
        (j, after), text, _ = outcome(ms.jit(f), capsys)
        np.testing.assert_allclose(plain(j), np.diag(slope))
        np.testing.assert_allclose(plain(after), at)
        assert text.count("in") == 1
    (h, _), text, _ = outcome(ms.jit(hessian), capsys)  # x^2 (x + p0): 6 x + 2 p0
    np.testing.assert_allclose(plain(h), np.diag(6 * X + 2 * START))
    assert text.count("in") == 1


def test_a_draw_is_the_same_for_the_result_and_every_pullback():
    def f(x):
        return x * ops.standard_normal((2,))

    y, (a,), rows, columns = ms.jit(
        lambda x, v: (lambda out: (out[0], out[1](v), ms.jacrev(out[1])(v)[0], ms.jacfwd(out[1])(v)[0]))(ms.vjp(f, x))
    )(f64(X), f64(V))
    noise = plain(y) / X
    np.testing.assert_allclose(plain(a), noise * V)
    np.testing.assert_allclose(plain(rows), np.diag(noise))
    np.testing.assert_allclose(plain(columns), np.diag(noise))


def test_the_function_stands_once_in_the_program():
    def f(x):
        return ops.tanh(x).sum()

    for taken in (ms.jacrev(f), ms.jacfwd(f), lambda x: ms.vjp(f, x)[1](x.sum()), lambda x: ms.linearize(f, x)[1](x)):
        assert ms.jit(taken).lower(f64(X)).ir("opt").count("= tanh") == 1
    artifact = ms.jit(lambda x: ms.vjp(f, x)[1](x.sum())).lower(f64(X))
    front = artifact.ir("front")
    assert front.count("= linearize") == front.count("= pull") == 1
    assert "link" not in artifact.ir("adjoint")


@pytest.mark.parametrize("f", [in_a_branch, in_a_loop, of_a_function_with_control_flow, pulled_in_another_derivative])
def test_a_gradient_through_a_compiled_call_on_a_tape(f, capsys):
    def total(run):
        return lambda x, v: sum(t.sum() for t in leaves(run(x, v)))

    eager, text, _ = outcome(ms.grad(total(f), (0, 1)), capsys)
    for level in (0, 2):
        found, said, _ = outcome(ms.grad(total(ms.jit(f, optimize=level)), (0, 1)), capsys)
        assert said == text
        for a, b in zip(found, eager, strict=True):
            np.testing.assert_allclose(plain(a), plain(b), rtol=1e-12)


def test_an_exception_in_a_rule_keeps_what_was_written_before(capsys):
    class Stops(Writes):
        def bprop(self, x, out, dout):
            if dout.sum() > 0:
                raise ValueError("stopped")
            return (dout,)

    stops = Stops()

    def f(x, v):
        _y, pull = ms.vjp(stops, x)
        ops.assign(p, p * 10)
        return pull(v)

    for run in (f, ms.jit(f), ms.jit(f, optimize=0)):
        p.set_data(ms.Tensor(START))
        with pytest.raises(ValueError, match="stopped"):
            run(f64(X), f64(V))
        np.testing.assert_array_equal(p.asnumpy(), START * 10)


# ---------------------------------------------------------------------------------------------------- refusals
def test_a_derivative_is_missed_only_where_one_is_asked_for():
    def f(x):
        return ms.py_call(np.sin, x, out=x)

    unasked = ms.jit(lambda x: ms.vjp(f, x)[0])
    np.testing.assert_allclose(plain(unasked(f64(X))), np.sin(X))
    with pytest.raises(ms.NotDifferentiableError):
        ms.jit(lambda x: ms.vjp(f, x)[1](x))(f64(X))


def made_in_a_derivative(x):
    kept = []

    def f(t):
        y, pull = ms.vjp(lambda x: x * x, t)
        kept.append(pull)
        return y.sum()

    ms.grad(f)(x)
    return kept[0](x)


def test_a_pullback_stays_where_it_was_made():
    with pytest.raises(ms.GradientError, match="outside of the branch, loop or differentiated function") as caught:
        ms.jit(made_in_a_derivative)(f64(X))
    assert caught.value.code == "AC1710"
    assert caught.value.loc.line == made_in_a_derivative.__code__.co_firstlineno + 9

    def chosen(x):
        if x.sum() > 0:
            _y, pull = ms.vjp(lambda x: x * x, x)
        else:
            _y, pull = ms.vjp(lambda x: x * x * x, x)
        return pull(x)

    with pytest.raises(ms.JoinError) as caught:
        ms.jit(chosen)(f64(X))
    assert caught.value.code == "AC1405"


@pytest.mark.parametrize("make", [ms.vjp, ms.linearize], ids=["vjp", "linearize"])
def test_what_leaves_compiled_code_says_that_it_cannot_be_called(make):
    _, linear = ms.jit(lambda x: make(lambda x: x * x, x))(f64(X))
    with pytest.raises(ms.GradientError, match="exists only there") as caught:
        linear(f64(X))
    assert caught.value.code == "AC1710"


def test_cotangents_and_tangents_that_do_not_fit():
    def two(x):
        return x * x, x

    wrong = {
        "there are 2 output tensors, but 1 cotangents": lambda x: ms.vjp(two, x)[1](x),
        "the output has shape": lambda x: ms.vjp(two, x)[1](x, x.sum()),
        "the tangent of an argument": lambda x: ms.linearize(two, x)[1](x.sum()),
        "2 tangents were given for 1 inputs": lambda x: ms.linearize(two, x)[1](x, x),
    }
    for message, f in wrong.items():
        with pytest.raises(ms.GradientError, match=message):
            ms.jit(f)(f64(X))
