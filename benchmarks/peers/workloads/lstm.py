"""Epochs of an LSTM over batches of sequences of varying length, each padded to the longest of its batch.

Every batch has another number of steps: JAX compiles for each ("jax"), or computes all as long as the longest batch
("jax, padded"); torch has a cell of its own for an LSTM; this package, as it comes ("native"), one program for all
lengths.  A later epoch does what the first one did, with all compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..case import Arrays, Case, agrees_with_differences
from ..frameworks import OURS, arrays_of, put, uncached, vocabulary
from .batches import BACKENDS

BATCHES, BATCH, INPUTS, HIDDEN, RATE = 20, 32, 32, 64, 0.1


@functools.cache
def lengths() -> tuple[tuple[int, ...], ...]:
    """Of the sequences of each batch: most are short, some long, as sentences are."""
    drawn = np.exp(np.random.default_rng(3).normal(3.0, 0.6, (BATCHES, BATCH)))
    return tuple(tuple(row) for row in np.clip(drawn, 3, 150).astype(int).tolist())


@functools.cache
def batches(padded: bool = False) -> list[Arrays]:
    """Inputs [steps, batch, inputs], targets [steps, batch], and 1 where a sequence has a step.

    `padded`: as many steps as the longest batch has.
    """
    rng, found = np.random.default_rng(4), []
    longest = max(map(max, lengths()))
    for row in lengths():
        steps = max(row)
        x, t = rng.standard_normal((steps, BATCH, INPUTS)), rng.standard_normal((steps, BATCH))
        mask = np.arange(steps)[:, None] < np.array(row)
        more = longest - steps if padded else 0
        arrays = [x * mask[..., None], t * mask, mask]
        found.append([np.pad(a, [(0, more)] + [(0, 0)] * (a.ndim - 1)).astype(np.float32) for a in arrays])
    return found


@functools.cache
def parameters() -> Arrays:
    """For the gates i, f, g, o, as torch has them, and the output."""
    rng = np.random.default_rng(5)
    shapes = ((INPUTS, 4 * HIDDEN), (HIDDEN, 4 * HIDDEN), (4 * HIDDEN,), (HIDDEN,))
    return [(rng.standard_normal(s) / HIDDEN**0.5).astype(np.float32) for s in shapes]


# ------------------------------------------------------------------------------------------------ by hand
def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _forward(x: Any, wx: Any, wh: Any, b: Any) -> list[tuple[Any, ...]]:
    """Of each step the gates, the states before it and after it."""
    h = c = np.zeros((x.shape[1], HIDDEN), x.dtype)
    kept = []
    for t in range(len(x)):
        z = x[t] @ wx + h @ wh + b
        i, f, o = (_sigmoid(z[:, k * HIDDEN : (k + 1) * HIDDEN]) for k in (0, 1, 3))
        g = np.tanh(z[:, 2 * HIDDEN : 3 * HIDDEN])
        before, c = c, f * c + i * g
        kept.append((i, f, g, o, before, c, h))
        h = o * np.tanh(c)
    return [*kept, (h,)]


def by_hand(x: Any, t: Any, mask: Any, wx: Any, wh: Any, b: Any, wo: Any) -> tuple[Any, ...]:
    """The mean of squared errors of all steps that there are, and its gradients by the parameters."""
    *kept, (last,) = _forward(x, wx, wh, b)
    states = np.stack([*(step[-1] for step in kept[1:]), last])
    error = (states @ wo - t) * mask
    count = mask.sum()
    d_out = 2 * error * mask / count
    dwx, dwh, db = np.zeros_like(wx), np.zeros_like(wh), np.zeros_like(b)
    dh = dc = np.zeros_like(last)
    for s in range(len(x) - 1, -1, -1):
        i, f, g, o, before, c, h = kept[s]
        dh = dh + d_out[s][:, None] * wo
        tanh = np.tanh(c)
        dc = dc + dh * o * (1 - tanh**2)
        gates = dc * g * i * (1 - i), dc * before * f * (1 - f), dc * i * (1 - g**2), dh * tanh * o * (1 - o)
        dz = np.concatenate(gates, 1)
        dwx, dwh, db = dwx + x[s].T @ dz, dwh + h.T @ dz, db + dz.sum(0)
        dh, dc = dz @ wh.T, dc * f
    return (error**2).sum() / count, dwx, dwh, db, np.tensordot(d_out, states, 2)


def epoch_by_hand(dtype: type = np.float32) -> Arrays:
    """The losses of an epoch, and the parameters after it."""
    now = [p.astype(dtype) for p in parameters()]
    losses = []
    for batch in batches():
        value, *gradients = by_hand(*(a.astype(dtype) for a in batch), *now)
        now = [p - dtype(RATE) * g for p, g in zip(now, gradients, strict=True)]
        losses.append(value)
    return [np.array(losses), *now]


def reference() -> Arrays:
    """In float64, once the gradients written by hand agree with differences."""
    small = [a[:3, :2].astype(np.float64) for a in batches()[0]]
    if not agrees_with_differences(
        lambda *now: by_hand(*small, *now), [p.astype(np.float64) for p in parameters()], range(4)
    ):
        raise AssertionError("the gradients written by hand are not those of central differences")
    return arrays_of(epoch_by_hand(np.float64))


# ------------------------------------------------------------------------------------------------ frameworks
def _step_of(m: Any, x: Any, h: Any, c: Any, wx: Any, wh: Any, b: Any) -> tuple[Any, Any]:
    z = x @ wx + h @ wh + b
    i, f, o = (1 / (1 + m.exp(-z[:, k * HIDDEN : (k + 1) * HIDDEN])) for k in (0, 1, 3))
    c = f * c + i * m.tanh(z[:, 2 * HIDDEN : 3 * HIDDEN])
    return o * m.tanh(c), c


def network() -> Any:
    """Ours: a Cell of inputs, targets and mask that returns the loss."""
    import autodiff_compiler as ms
    from autodiff_compiler import nn, ops

    class Network(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(INPUTS, HIDDEN)
            self.wo = ms.Parameter(ms.Tensor(np.zeros(HIDDEN, np.float32)), name="wo")
            self.lstm.b_hh_list[0].requires_grad = False
            self.begin()

        def begin(self) -> None:
            wx, wh, b, wo = parameters()
            lstm = self.lstm
            kept = lstm.w_ih_list[0], lstm.w_hh_list[0], lstm.b_ih_list[0], lstm.b_hh_list[0], self.wo
            for parameter, value in zip(kept, (wx.T.copy(), wh.T.copy(), b, np.zeros_like(b), wo), strict=True):
                parameter.set_data(ms.Tensor(value))

        def construct(self, x: Any, t: Any, mask: Any) -> Any:
            states, _ = self.lstm(x)
            error = (ops.matmul(states, self.wo) - t) * mask
            return (error * error).sum() / mask.sum()

    return Network()


def ours(column: str) -> Callable[[], Any]:
    import autodiff_compiler as ms
    from autodiff_compiler import nn

    made, data = network(), [put(column, batch) for batch in batches()]
    step = nn.TrainOneStepCell(made, nn.SGD(made.trainable_params(), RATE))
    lstm = made.lstm

    def epoch() -> Any:
        if column != "eager":
            ms.set_context(backend=BACKENDS[column])
        made.begin()
        losses = [step(*batch) for batch in data]
        after = [lstm.w_ih_list[0].asnumpy().T, lstm.w_hh_list[0].asnumpy().T, lstm.b_ih_list[0], made.wo]
        return [np.array([float(x) for x in losses], np.float32), *after]

    return epoch


def jax(padded: bool = False) -> Callable[[], Any]:
    import jax

    m = vocabulary("jax")

    def loss(now: Sequence[Any], x: Any, t: Any, mask: Any) -> Any:
        wx, wh, b, wo = now
        zeros = jax.numpy.zeros((BATCH, HIDDEN), x.dtype)

        def one(carry: Any, given: Any) -> Any:
            row, target, weight = given
            h, c = _step_of(m, row, *carry, wx, wh, b)
            return (h, c), (((h @ wo - target) * weight) ** 2).sum()

        return jax.lax.scan(one, (zeros, zeros), (x, t, mask))[1].sum() / mask.sum()

    @jax.jit
    def step(x: Any, t: Any, mask: Any, *now: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(now, x, t, mask)
        return value, [p - RATE * g for p, g in zip(now, gradients, strict=True)]

    return _epoch(step, "jax", batches(padded))


def torch(column: str) -> Callable[[], Any]:
    """Torch's own LSTM; compiled, it runs it as it is."""
    import torch

    cell = torch.nn.LSTM(INPUTS, HIDDEN)

    def loss(x: Any, t: Any, mask: Any, wx: Any, wh: Any, b: Any, wo: Any) -> Any:
        weights = {"weight_ih_l0": wx.T, "weight_hh_l0": wh.T, "bias_ih_l0": b, "bias_hh_l0": torch.zeros_like(b)}
        states, _ = torch.func.functional_call(cell, weights, (x,))
        return (((states @ wo - t) * mask) ** 2).sum() / mask.sum()

    if column != "torch":
        torch._dynamo.reset()
        torch._inductor.config.force_disable_caches = True
        loss = torch.compile(loss, dynamic=True)

    def step(x: Any, t: Any, mask: Any, *now: Any) -> Any:
        value = loss(x, t, mask, *now)
        gradients = torch.autograd.grad(value, now)
        return value.detach(), [(p - RATE * g).detach().requires_grad_() for p, g in zip(now, gradients, strict=True)]

    return _epoch(step, column, batches())


def _epoch(step: Callable[..., Any], column: str, data: Sequence[Arrays]) -> Callable[[], Any]:
    given, first = [put(column, batch) for batch in data], put(column, parameters(), gradients=True)

    def epoch() -> Any:
        now, losses = first, []
        for batch in given:
            value, now = step(*batch, *now)
            losses.append(value)
        return [np.array([float(x) for x in losses], np.float32), *now]

    return epoch


def cases() -> Iterator[Case]:
    makers: dict[str, Callable[[], Callable[[], Any]]] = {
        **{c: lambda c=c: uncached(ours(c)) for c in OURS},  # type: ignore[misc]
        "jax": jax,
        "jax, padded": lambda: jax(padded=True),
        "torch": lambda: torch("torch"),
        "torch.compile": lambda: torch("torch.compile"),
        "hand": lambda: epoch_by_hand,
    }
    longest = [max(row) for row in lengths()]
    steps = f"up to {min(longest)} to {max(longest)} steps"
    name = f"LSTM {INPUTS} to {HIDDEN}, {BATCHES} batches of {BATCH} sequences of {steps}"
    targets = {"jax": 1.0, "jax, padded": 1.0, "torch": 1.0, "torch.compile": 1.0}
    last: dict[str, Callable[[], Any]] = {}  # compiled by the first case, for the second one

    def first(column: str) -> Callable[[], Any]:
        last[column] = makers[column]()
        return last[column]

    def later(column: str) -> Callable[[], Any]:
        return last.pop(column, None) or makers[column]()

    yield Case(
        f"{name}, first epoch", {c: partial(first, c) for c in makers}, reference, targets,
        kind="first", threads=(1,), rounds=3, once=("jax", "jax, padded", "torch.compile"),
    )  # fmt: skip
    yield Case(
        f"{name}, a later epoch", {c: partial(later, c) for c in makers}, reference, targets, threads=(1,), rounds=7
    )
