"""Operator classes for the steps of optimizers, in both modes, against their formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, ops

RNG = np.random.default_rng(4)
W, G = RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2))
M, S, Z = RNG.normal(size=(3, 2)), RNG.uniform(0.5, 2, (3, 2)), RNG.normal(size=(3, 2))
LR, B1, B2, EPS = 0.1, 0.9, 0.99, 1e-3


def shrunk(x, by):
    return np.sign(x) * np.maximum(np.abs(x) - by, 0)


def moments(m, v, g):
    return B1 * m + (1 - B1) * g, B2 * v + (1 - B2) * g * g


def adam(nesterov=False, vhat=None):
    m, v = moments(M, S, G)
    rate, top = LR * np.sqrt(1 - B2) / (1 - B1), v if vhat is None else np.maximum(vhat, v)
    ahead = B1 * m + (1 - B1) * G if nesterov else m
    return (W - rate * ahead / (np.sqrt(top) + EPS), m, v) + (() if vhat is None else (top,))


def rmsprop(centered):
    s = 0.8 * S + 0.2 * G * G
    g = 0.8 * (Z * 0.1) + 0.2 * G
    m = 0.5 * M + LR * G / np.sqrt(s - (g * g if centered else 0) + EPS)
    return (W - m, g, s, m) if centered else (W - m, s, m)


def adadelta():
    s = 0.8 * S + 0.2 * G * G
    update = np.sqrt(S * 0.5 + EPS) * G / np.sqrt(s + EPS)
    return W - LR * update, s, 0.8 * (S * 0.5) + 0.2 * update**2


def ftrl():
    s = S + G * G
    z = Z + G - (s**0.5 - S**0.5) / LR * W  # lr_power -0.5
    return np.where(np.abs(z) > 0.2, (np.sign(z) * 0.2 - z) / (s**0.5 / LR + 2 * 0.3), 0), s, z


def signed(of):
    m = B1 * M + (1 - B1) * G
    return W - LR * of(np.sign(G) * np.sign(m)) * G, m


V = M * 0.9 + G
A, K = S + G * G, 0.9 * M - LR * G
F_, FS, FZ = ftrl()

#: name, constants, states, other arguments, and the new states; the first is what the step returns first.
STEPS = [
    ("ApplyMomentum", (), (W, M), (LR, G, 0.9), (W - LR * V, V)),
    ("ApplyMomentum", (True, False, 2.0), (W, M), (LR, G, 0.9),
     (W - LR * (2 * G + 0.9 * (0.9 * M + 2 * G)), 0.9 * M + 2 * G)),
    ("ApplyKerasMomentum", (), (W, M), (LR, G, 0.9), (W + K, K)),
    ("ApplyKerasMomentum", (False, True), (W, M), (LR, G, 0.9), (W + 0.9 * K - LR * G, K)),
    ("ApplyRMSProp", (), (W, S, M), (LR, G, 0.8, 0.5, EPS), rmsprop(False)),
    ("ApplyCenteredRMSProp", (), (W, Z * 0.1, S, M), (G, LR, 0.8, 0.5, EPS), rmsprop(True)),
    ("ApplyAdadelta", (), (W, S, S * 0.5), (LR, 0.8, EPS, G), adadelta()),
    ("ApplyAdagrad", (), (W, S), (LR, G), (W - LR * G / np.sqrt(A), A)),
    ("ApplyAdagrad", (False,), (W, S), (LR, G), (W - LR * G / np.sqrt(S), S)),
    ("ApplyAdagradV2", (EPS,), (W, S), (LR, G), (W - LR * G / (np.sqrt(A) + EPS), A)),
    ("ApplyAdagradDA", (), (W, Z, S), (G, LR, 0.2, 0.3, 2),
     (-LR * shrunk(Z + G, 0.4) / (0.3 * 2 * LR + np.sqrt(A)), Z + G, A)),
    ("Adam", (), (W, M, S), (B1, B2, LR, B1, B2, EPS, G), adam()),
    ("Adam", (False, True), (W, M, S), (B1, B2, LR, B1, B2, EPS, G), adam(True)),
    ("AdamWeightDecay", (), (W, M, S), (LR, B1, B2, EPS, 0.3, G),
     (W - LR * (moments(M, S, G)[0] / (np.sqrt(moments(M, S, G)[1]) + EPS) + 0.3 * W), *moments(M, S, G))),
    ("ApplyAdamWithAmsgrad", (B1, B2, EPS), (W, M, S, S * 2), (B1, B2, LR, G), adam(vhat=S * 2)),
    ("ApplyAdamWithAmsgradV2", (), (W, M, S, S * 2), (B1, B2, LR, B1, B2, EPS, G), adam(vhat=S * 2)),
    ("ApplyAdaMax", (), (W, M, S), (B1, LR, B1, B2, EPS, G),
     (W - LR / (1 - B1) * moments(M, S, G)[0] / (np.maximum(B2 * S, abs(G)) + EPS), moments(M, S, G)[0],
      np.maximum(B2 * S, abs(G)))),
    ("ApplyAddSign", (), (W, M), (LR, 1.5, 0.7, B1, G), signed(lambda s: 1.5 + 0.7 * s)),
    ("ApplyPowerSign", (), (W, M), (LR, np.e, 0.7, B1, G), signed(lambda s: np.exp(np.e * 0.7 * s))),
    ("ApplyGradientDescent", (), (W,), (LR, G), (W - LR * G,)),
    ("ApplyProximalGradientDescent", (), (W,), (LR, 0.2, 0.3, G), (shrunk(W - LR * G, LR * 0.2) / (1 + LR * 0.3),)),
    ("ApplyProximalAdagrad", (), (W, S), (LR, 0.2, 0.3, G),
     (shrunk(W - LR * G / np.sqrt(A), LR * 0.2) / (1 + LR * 0.3), A)),
    ("ApplyFtrl", (), (W, S, Z), (G, LR, 0.2, 0.3, -0.5), (F_, FS, FZ)),
]  # fmt: skip
#: What returns the new value of the first state alone.
BARE = {"ApplyMomentum", "ApplyRMSProp", "ApplyCenteredRMSProp", "ApplyAdagradDA", "ApplyGradientDescent",
        "ApplyProximalGradientDescent", "ApplyFtrl"}  # fmt: skip


def given(x):
    return Tensor(x) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize(("name", "constants", "states", "others", "known"), STEPS, ids=[s[0] for s in STEPS])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_follows_its_formula(name, constants, states, others, known, compiled):
    operation = getattr(ops, name)(*constants)
    parameters = [Parameter(x.copy(), name=f"p{i}") for i, x in enumerate(states)]

    def step(*others):
        return operation(*parameters, *others)

    out = (ms.jit(step) if compiled else step)(*map(given, others))
    for p, expected in zip(parameters, known, strict=True):
        np.testing.assert_allclose(p.asnumpy(), expected, rtol=1e-6, atol=1e-9)
    outs = (out,) if name in BARE else out
    for got, expected in zip(outs, known, strict=False):
        assert type(got) is Tensor
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-6, atol=1e-9)
    assert len(outs) == (1 if name in BARE else len(known))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("nesterov", [False, True])
def test_descent_with_momentum_starts_with_the_gradient(compiled, nesterov):
    operation = ops.SGD(dampening=0.0 if nesterov else 0.5, weight_decay=0.1, nesterov=nesterov)
    w, v, stat = Parameter(W.copy(), "w"), Parameter(M.copy(), "v"), Parameter(np.ones_like(W), "stat")
    step = lambda g: operation(w, g, Tensor(LR), v, Tensor(0.9), stat)
    step = ms.jit(step) if compiled else step
    expected, velocity = W, None
    for _ in range(2):
        step(Tensor(G))
        g = G + 0.1 * expected
        velocity = g if velocity is None else 0.9 * velocity + (1 - (0 if nesterov else 0.5)) * g
        expected = expected - LR * (g + 0.9 * velocity if nesterov else velocity)
        np.testing.assert_allclose(w.asnumpy(), expected, rtol=1e-6)
        np.testing.assert_allclose(v.asnumpy(), velocity, rtol=1e-6)
    assert (stat.asnumpy() == 0).all()


@pytest.mark.parametrize("compiled", [False, True])
def test_sparse_steps_leave_other_rows_alone(compiled):
    rows, g = np.array([2, 0, 2]), RNG.normal(size=(3, 2))
    dense = np.zeros_like(W)
    np.add.at(dense, rows, g)
    touched = np.array([[True], [False], [True]])

    def run(function, *arrays):
        return (ms.jit(function) if compiled else function)(*map(Tensor, arrays))

    w, s = Parameter(W.copy(), "w"), Parameter(S.copy(), "s")
    run(lambda g, i: ops.SparseApplyAdagradV2(LR, EPS)(w, s, g, i), g, rows)
    a = S + dense**2
    np.testing.assert_allclose(s.asnumpy(), a)
    np.testing.assert_allclose(w.asnumpy(), np.where(touched, W - LR * dense / (np.sqrt(a) + EPS), W))

    w, s, z = (Parameter(x.copy(), n) for x, n in ((W, "w"), (S, "s"), (Z, "z")))
    run(lambda g, i: ops.SparseApplyFtrl(LR, 0.2, 0.3, -0.5)(w, s, z, g, i), g, rows)
    new = Z + dense - (a**0.5 - S**0.5) / LR * W
    moved = np.where(np.abs(new) > 0.2, (np.sign(new) * 0.2 - new) / (a**0.5 / LR + 0.6), 0)
    np.testing.assert_allclose(w.asnumpy(), np.where(touched, moved, W), rtol=1e-6)
    np.testing.assert_allclose(z.asnumpy(), np.where(touched, new, Z), rtol=1e-6)


def test_states_may_be_plain_tensors():
    w, m = Parameter(W.copy()), Tensor(M.copy())
    ops.ApplyMomentum()(w, m, LR, Tensor(G), 0.9)
    np.testing.assert_allclose(m.asnumpy(), V)


def test_a_parameter_keeps_its_dtype():
    w, m = (Parameter(x.astype(np.float16)) for x in (W, M))
    ops.ApplyMomentum()(w, m, Tensor(LR, ms.float32), Tensor(G.astype(np.float16)), Tensor(0.9, ms.float32))
    assert (w.dtype, m.dtype) == (ms.float16, ms.float16)
    np.testing.assert_allclose(w.asnumpy(), W - LR * V, rtol=1e-2, atol=1e-2)
