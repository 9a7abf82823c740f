"""Forward mode: tangents of every primitive, through control flow, in any nesting, and through users' own rules.

A tangent has two independent witnesses: the central difference of the function, and reverse mode, with which it must
give the same number for every pair of a direction and a cotangent.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import autodiff_compiler as ms
from autodiff_compiler import eager
from autodiff_compiler.autodiff import expand_grads
from autodiff_compiler.dtypes import float64, from_numpy
from autodiff_compiler.errors import BpropError, GradientError, NotDifferentiableError
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function, Module
from autodiff_compiler.ir.primitive import REGISTRY, F
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import inline
from autodiff_compiler.primitives.samples import Draw
from autodiff_compiler.runtime.tensor import Tensor
from tests.autodiff.derivatives import expanded, parsed
from tests.autodiff.interpreter import Interpreter, run
from tests.autodiff.test_random_programs import programs
from tests.selection import part


def _differentiable_samples():
    for name, defn in sorted(REGISTRY.items()):
        if defn.vjp is None or defn.samples is None or name == "check_index":
            continue
        for i, sample in enumerate(defn.samples(Draw())):
            *operands, attrs = sample if isinstance(sample[-1], dict) else (*sample, {})
            operands = [np.asarray(x) for x in operands]
            floats = [k for k, x in enumerate(operands) if x.dtype == np.float64]
            types = tuple(tensor(from_numpy(x.dtype), x.shape) for x in operands)
            if floats and all(t.dtype is float64 for t in defn.infer_types(types, defn.attrs_of(attrs))):
                yield pytest.param(defn, operands, floats, attrs, id=f"{name}-{i}")


def _list(x):
    return list(x) if isinstance(x, tuple | list) else [x]


def _dot(xs, ys):
    return sum(float(np.sum(x.asnumpy() * y.asnumpy())) for x, y in zip(xs, ys, strict=True))


@pytest.mark.parametrize(("defn", "operands", "floats", "attrs"), list(_differentiable_samples()))
def test_the_tangent_of_a_primitive_is_its_slope_and_the_transpose_of_its_gradient(defn, operands, floats, attrs):
    constants = [Tensor(x) for x in operands]

    def fn(*given):
        xs = list(constants)
        for k, x in zip(floats, given):
            xs[k] = x
        return getattr(F, defn.name)(*xs, **attrs)

    draw = Draw(5)
    xs = [Tensor(operands[k]) for k in floats]
    us = [Tensor(np.asarray(draw(*x.shape))) for x in xs]
    value, tangent = ms.jvp(fn, tuple(xs), tuple(us))
    tangents = _list(tangent)
    h = 1e-5
    high, low = (_list(fn(*[x + s * h * u for x, u in zip(xs, us, strict=True)])) for s in (1, -1))
    # What random_gamma draws moves with alpha otherwise than by its quantile: tests/primitives/test_random_classes.py.
    for t, a, b in zip(tangents, high, low, strict=True) if defn.name != "random_gamma" else ():
        slope = (a.asnumpy() - b.asnumpy()) / (2 * h)
        scale = float(np.max(np.abs(slope), initial=1.0))
        np.testing.assert_allclose(t.asnumpy(), slope, rtol=1e-6, atol=1e-6 * scale)
    vs = [Tensor(np.asarray(draw(*t.shape))) for t in tangents]
    gradients = eager.vjp(fn, xs)[1](vs)
    assert _dot(us, gradients) == pytest.approx(_dot(vs, tangents), rel=1e-9, abs=1e-9)

    again, compiled = _compiled_jvp(defn, operands, floats, attrs, us)
    for a, b in zip([*again, *compiled], [*_list(value), *tangents], strict=True):
        np.testing.assert_allclose(a, b.asnumpy(), rtol=1e-9, atol=1e-10)


def _compiled_jvp(defn, operands, floats, attrs, us):
    """Value and tangent of a primitive by a `grad {forward=True}` op, run by the naive interpreter."""
    types = [tensor(from_numpy(x.dtype), x.shape) for x in operands]
    module = Module()
    builder = Builder(Block([*types, *(types[k] for k in floats)]), module=module)
    args = builder.block.args
    inner = builder.nested(types)
    with inner:
        outs = _list(getattr(F, defn.name)(*inner.block.args, **attrs))
    inner.ret(*outs)
    grad_attrs = (tuple(floats), tuple(range(len(outs))), (), True, ())
    op = builder.emit_op(REGISTRY["grad"], args, grad_attrs, (inner.block,))
    builder.ret(*op.results)
    module.add(Function("main", builder.block))
    result = expand_grads(module)
    verify(result, "PURE")
    found = Interpreter(result).run(None, *operands, *(u.asnumpy() for u in us))
    return found[: len(outs)], found[len(outs) :]


# ------------------------------------------------------------------------------------------------ control flow
def branch(x):
    if x.sum() > 0:
        y = x * x
    else:
        y = ms.ops.sin(x)
    return (y * x).sum()


def loop(x):
    s = x.sum()
    for i in range(12):
        s = ms.ops.cos(s) + x[0] * i
    return s


def until(x):
    while x.sum() < 20.0:
        x = x * 1.5 + ms.ops.sin(x)
    return x


def collected(x):
    rows = []
    y = x
    for _ in ms.unroll(range(3)):
        y = ms.ops.tanh(y) + x
        rows.append(y)
    return ms.ops.stack(rows)


def over_rows(x):
    total = x[0] * 0.0
    for row in ms.ops.stack([x * i for i in range(1, 12)]):
        total = total + row * total.sum() + ms.ops.exp(row * 0.1)
    return total


def integer_through(x):
    k = (x * 0.0 + 2.0).astype(ms.int32)
    return x * k


PROGRAMS = [branch, loop, until, collected, over_rows, integer_through]
POINTS = [np.array([0.4, 0.9, 0.2]), np.array([-0.9, 0.3, 0.35])]


def _slope(fn, x, u, h=1e-5):
    return (fn(Tensor(x + h * u)).asnumpy() - fn(Tensor(x - h * u)).asnumpy()) / (2 * h)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("point", POINTS, ids=["a", "b"])
def test_tangents_go_through_control_flow(fn, point):
    if fn is until and point.sum() < 0:
        return  # never ends there
    u = np.array([0.3, -1.1, 0.7])
    for run_it in (lambda f: f, ms.jit):

        @run_it
        def push(x, u):
            return ms.jvp(fn, x, u)

        value, tangent = push(Tensor(point), Tensor(u))
        np.testing.assert_allclose(value.asnumpy(), fn(Tensor(point)).asnumpy(), rtol=1e-12)
        np.testing.assert_allclose(tangent.asnumpy(), _slope(fn, point, u), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("fn", [branch, loop], ids=lambda f: f.__name__)
def test_orders_mix(fn):
    """Forward over reverse, reverse over forward and forward over forward give one second derivative."""
    x, u, w = (Tensor(np.array(v)) for v in ([0.4, 0.9, 0.2], [0.3, -1.1, 0.7], [1.0, 0.2, -0.5]))

    def forward_over_reverse(x, u, w):
        return (ms.jvp(ms.grad(fn), x, u)[1] * w).sum()

    def reverse_over_forward(x, u, w):
        return (ms.grad(lambda p: ms.jvp(fn, p, u)[1])(x) * w).sum()

    def forward_over_forward(x, u, w):
        return ms.jvp(lambda p: ms.jvp(fn, p, u)[1], x, w)[1]

    def reverse_over_reverse(x, u, w):
        return (ms.grad(lambda p: (ms.grad(fn)(p) * u).sum())(x) * w).sum()

    expected = _slope(lambda p: (ms.grad(fn)(p) * w).sum(), x.asnumpy(), u.asnumpy())
    for way in (forward_over_reverse, reverse_over_forward, forward_over_forward, reverse_over_reverse):
        for run_it in (lambda f: f, ms.jit):
            assert run_it(way)(x, u, w).item() == pytest.approx(float(expected), rel=1e-6)


def test_order_three_of_a_polynomial():
    def cube(x):
        return x * x * x

    def third(x, u):
        return ms.jvp(lambda a: ms.jvp(lambda b: ms.jvp(cube, b, u)[1], a, u)[1], x, u)[1]

    x, u = Tensor(np.array([2.0, -1.0])), Tensor(np.array([1.0, 3.0]))
    assert third(x, u).tolist() == [6.0, 162.0]  # 6 u^3
    assert ms.jit(third)(x, u).tolist() == [6.0, 162.0]


# ------------------------------------------------------------------------------------------------ users' rules
_CUSTOM = """func @f(%x: f64[], %t: f64[]) -> (f64[], f64[]) {{
  %y: f64[], %ty: f64[] = grad %x, %t {{wrt=[0], seeds=[0], forward=True}} body (%a: f64[]) {{
    %r: f64[] = custom_vjp %a fwd (%b: f64[]) {{ %s: f64[] = mul %b, %b; yield %s }}
      bwd (%b: f64[], %s: f64[], %g: f64[]) {{ {bwd} }}
    yield %r
  }}
  return %y, %ty
}}"""


def test_a_users_backward_rule_is_turned_round():
    # The rule says 5 g x where the truth is 2 g x: the tangent must follow the rule.
    bwd = "%k: f64[] = const {value=5.0}; %m: f64[] = mul %g, %k; %d: f64[] = mul %m, %b; yield %d"
    assert list(map(float, run(expanded(parsed(_CUSTOM.format(bwd=bwd))), 3.0, 2.0))) == [9.0, 30.0]


def test_a_rule_that_ignores_its_cotangent_or_gives_nothing_has_the_tangent_zero():
    bwd = "%z: f64[] = const {value=0.0}; yield %z"
    assert list(map(float, run(expanded(parsed(_CUSTOM.format(bwd=bwd))), 3.0, 2.0))) == [9.0, 0.0]


def test_a_rule_that_is_not_linear_in_the_cotangent_is_refused():
    bwd = "%d: f64[] = mul %g, %g; yield %d"
    with pytest.raises(BpropError) as caught:
        expanded(parsed(_CUSTOM.format(bwd=bwd)))
    assert caught.value.code == "AC1705"


def test_a_map_of_the_gradient_is_turned_round():
    text = """func @f(%x: f64[2], %t: f64[2]) -> (f64[2]) {
      %y: f64[2], %ty: f64[2] = grad %x, %t {wrt=[0], seeds=[0], forward=True} body (%a: f64[2]) {
        %s: f64[2] = mul %a, %a
        %r: f64[2] = grad_map %s bwd (%g: f64[2]) { %k: f64[2] = const {value=10.0}; %d: f64[2] = mul %g, %k; yield %d }
        yield %r
      }
      return %ty
    }"""
    assert run(expanded(parsed(text)), [1.0, 3.0], [1.0, 1.0])[0].tolist() == [20.0, 60.0]


def test_the_tangent_of_a_called_function():
    text = """func @f(%x: f64[], %t: f64[]) -> (f64[], f64[]) {
      %y: f64[], %ty: f64[] = grad %x, %t {wrt=[0], seeds=[0], forward=True} body (%a: f64[]) {
        %b: f64[] = call @g %a, %a
        %c: f64[] = call @g %b, %a
        yield %c
      }
      return %y, %ty
    }
    func @g(%p: f64[], %q: f64[]) -> (f64[]) { %r: f64[] = mul %p, %q; return %r }"""
    assert list(map(float, run(expanded(parsed(text)), 2.0, 1.0))) == [8.0, 12.0]


# ------------------------------------------------------------------------------------------------ edges
def test_what_is_stopped_or_unused_has_the_tangent_zero():
    def fn(x, y):
        return ms.stop_gradient(x) * 2, y * y

    x, y, u = (Tensor(np.array([v])) for v in (1.0, 3.0, 1.0))
    for run_it in (lambda f: f, ms.jit):
        _, (a, b) = run_it(lambda x, y, u: ms.jvp(fn, (x, y), (u, u)))(x, y, u)
        assert (a.tolist(), b.tolist()) == ([0.0], [6.0])


def test_an_op_without_a_derivative_is_named():
    module = parse_module("""func @f(%x: f64[2], %t: f64[2]) -> (f64[2]) {
      %y: f64[2], %ty: f64[2] = grad %x, %t {wrt=[0], seeds=[0], forward=True} body (%a: f64[2]) {
        %r: f64[2] = host_call %a {fn="f", types=[f64[2]]}
        yield %r
      }
      return %ty
    }""")
    module.callables["f"] = np.copy
    with pytest.raises(NotDifferentiableError, match="has no derivative"):
        expand_grads(module)


def test_tangents_that_do_not_fit_are_refused():
    x = Tensor(np.array([1.0, 2.0]))
    for wrong in (Tensor(np.array([1.0])), Tensor(np.array([1.0, 2.0], np.float32)), 1.0):
        with pytest.raises(GradientError, match="tangent"):
            ms.jvp(lambda x: x, x, wrong)
    with pytest.raises(GradientError, match="2 tangents were given for 1 inputs"):
        ms.jvp(lambda x: x, (x,), (x, x))


# ------------------------------------------------------------------------------------------------ random programs
@settings(max_examples=part(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_tangents_of_random_programs_match_complex_steps_and_their_own_reverse_mode(module):
    """Forward, and reverse over forward, against complex steps of the program and of its tangent."""
    args, along = [0.3, -0.7, 3], [1.0, 0.6]
    tangent = _tangent(module, along)
    step = 1e-30
    stepped = [a + 1j * step * u for a, u in zip(args[:2], along, strict=True)]
    (value,) = Interpreter(module, complex_step=True).run(None, *stepped, args[2])
    first = expand_grads(tangent)
    verify(first, "PURE")
    found = Interpreter(first).run(None, *args)[0]
    np.testing.assert_allclose(found, value.imag / step, rtol=1e-9, atol=1e-12)
    second = expand_grads(_tangent(tangent, [0.5, -1.0]))
    verify(second, "PURE")
    stepped = [a + 1j * step * u for a, u in zip(args[:2], [0.5, -1.0], strict=True)]
    (value,) = Interpreter(first, complex_step=True).run(None, *stepped, args[2])
    np.testing.assert_allclose(Interpreter(second).run(None, *args)[0], value.imag / step, rtol=1e-9, atol=1e-12)


def _tangent(module, along):
    """A module that computes the tangent of the entry's one result along directions of its first two arguments."""
    types = [a.type for a in module.entry.args]
    builder = Builder(Block(types), module=Module())
    inner = builder.nested(types)
    inner.ret(*inline(inner, module.entry.body, inner.block.args))
    directions = [builder.const(u, t) for u, t in zip(along, types)]
    operands = (*builder.block.args, *directions)
    op = builder.emit_op(REGISTRY["grad"], operands, ((0, 1), (0,), (), True, ()), (inner.block,))
    builder.ret(op.results[1])
    return builder.module.like({"main": Function("main", builder.block)})


@pytest.mark.parametrize("form", ["jvp", "vjp", "grad"])
def test_of_a_tensor_that_is_given_twice_and_written_under_both_names_the_last_argument_counts(jit, form):
    def fn(a, b):
        b[:] = b * 2
        a[1] = 5.0
        return a.sum()

    def asked(x, y, u):
        if form == "jvp":
            return ms.jvp(fn, (x, y), (u, u))[1]
        return ms.vjp(fn, x, y)[0] if form == "vjp" else ms.grad(fn, (0, 1))(x, y)[0]

    x, u = Tensor([1.0, 2.0]), Tensor([1.0, 1.0])
    jit(asked)(x, x, u)
    assert x.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("form", ["jvp", "vjp", "grad"])
def test_which_of_its_two_variables_was_written_must_be_known(form):
    """The Tensor that is given twice would be that of the branch that run time takes."""

    def fn(a, b):
        if a.sum() > 0:
            a[1] = 5.0
        else:
            b[:] = b * 2
        return a.sum()

    def asked(x, y, u):
        if form == "jvp":
            return ms.jvp(fn, (x, y), (u, u))[1]
        return ms.vjp(fn, x, y)[0] if form == "vjp" else ms.grad(fn, (0, 1))(x, y)[0]

    x, y, u = Tensor([1.0, 2.0]), Tensor([1.0, 2.0]), Tensor([1.0, 1.0])
    ms.jit(asked)(x, y, u)
    assert (x.tolist(), y.tolist()) == ([1.0, 5.0], [1.0, 2.0])
    with pytest.raises(GradientError, match=r"(?s)one Tensor is given as two arguments.*x\.copy\(\)"):
        ms.jit(asked)(u, u, u)
    assert u.tolist() == [1.0, 1.0]
