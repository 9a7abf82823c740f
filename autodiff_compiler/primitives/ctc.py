"""Connectionist temporal classification: sums over all alignments of a sequence with a shorter one.

A. Graves, S. Fernandez, F. Gomez and J. Schmidhuber, Connectionist temporal classification: labelling unsegmented
sequence data with recurrent neural networks (2006).  The labels, with blanks between and around them, are states;
a path stays, goes to the next state, or passes over a blank between different labels.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..dtypes import bool_, int64
from ..ir.primitive import F, Primitive, call, composite
from ..ir.sizes import smallest
from ..ir.types import TensorType, tensor
from .data_sized import known_elements
from .family import as_tensor, broadcast_to, cast, constant, float_unary
from .flops import flops_of_functions, size_of_type
from .index import checked
from .losses import reduced
from .normalization import wide
from .requirements import require, require_dtype, static_int
from .samples import B2, F2, I2, M23


# ------------------------------------------------------------------------------------------------ recurrences
def _slice(x, axis, start, stop):
    return F.slice(x, axes=(axis,), starts=(start,), stops=(stop,), steps=(1,))


class AlignmentScores(Primitive):
    """r[t, s] = x[t, s] + log of the sum of exp(r[t-1, s]), exp(r[t-1, s-1]) and, where `skip[s]`, exp(r[t-1, s-2]).

    The first row of the result is that of x; -inf is the logarithm of no path.
    """

    internal = True

    def infer(x: TensorType, skip: TensorType):
        require_dtype(skip.dtype is bool_, f"what may be passed over is told by bools, not by {skip}")
        fits = x.ndim >= 2 and skip.shape == (*x.shape[:-2], x.shape[-1])
        require(fits, f"{skip} does not tell what may be passed over for {x}")
        return float_unary(x)

    def numpy(x, skip):
        out = x.copy()
        for t in range(1, x.shape[-2]):
            before, total = out[..., t - 1, :], out[..., t - 1, :].copy()
            total[..., 1:] = np.logaddexp(total[..., 1:], before[..., :-1])
            over = np.where(skip[..., 2:], before[..., :-2], np.asarray(-np.inf, x.dtype))
            total[..., 2:] = np.logaddexp(total[..., 2:], over)
            out[..., t, :] += total
        return out

    flops = lambda x, skip: size_of_type(x) * (2 * flops_of_functions()["logaddexp"] + 2)
    widen = True

    def decomposed(c, x, skip):
        if x.shape[-2] > 128:
            return None
        beginning = [constant(-math.inf, tensor(x.dtype, (*x.shape[:-2], 1, k))) for k in (0, 1, 2)]
        states, rows = x.shape[-1], [_slice(x, -2, 0, 1)]
        may = F.expand_dims(skip, axes=(-2,))
        for t in range(1, x.shape[-2]):
            before = total = rows[-1]
            for k in range(1, min(3, states)):
                moved = F.concat(beginning[k], _slice(before, -1, 0, states - k), axis=-1)
                total = F.logaddexp(total, moved if k == 1 else F.select(may, moved, -math.inf))
            rows.append(_slice(x, -2, t, t + 1) + total)
        return F.concat(*rows, axis=-2)

    def vjp(c, g, x, skip):
        reached = F.isfinite(c.out)
        weights = []
        for k in range(3):
            before = _stepped(c.out, k)
            met = F.logical_and(reached, constant(*_inside(x, k)))
            if k == 2:
                met = F.logical_and(met, broadcast_to(F.expand_dims(skip, axes=(-2,)), x.shape))
            share = F.select(met, before + x - c.out, 0)
            weights.append(F.select(met, F.exp(share), 0))
        gx = F.banded_recurrence(g, F.stack(*weights, axis=-3), transposed=True)
        return F.select(reached, gx, 0), None

    def samples(rng):
        yield rng(4, 5), np.array([False, False, False, True, False])
        yield rng(2, 3, 3), rng.bools(2, 3)
        yield rng(1, 1), np.array([False])

    errors = [
        ((M23, F2), {}, "told by bools"), ((M23, B2), {}, "does not tell"),
        ((tensor(I2.dtype, (2, 2)), B2), {}, "not defined for int32"),
    ]  # fmt: skip


class BandedRecurrence(Primitive):
    """r[t, s] = x[t, s] + sum over k of w[k, t, s] r[t-1, s-k]; with `transposed` the transpose of that in x.

    The transpose is r[t, s] = x[t, s] + sum over k of w[k, t+1, s+k] r[t+1, s+k].
    """

    internal = True

    def infer(x: TensorType, w: TensorType, *, transposed: bool = False):
        require(x.ndim >= 2 and w.ndim == x.ndim + 1, f"{w} holds no weights for {x}")
        wanted = tensor(x.dtype, (*x.shape[:-2], w.shape[-3], *x.shape[-2:]))
        require(w is wanted, f"weights for {x} are {wanted}, not {w}")
        return float_unary(x)

    def numpy(x, w, *, transposed):
        out, states = x.copy(), x.shape[-1]
        for t in range(1, x.shape[-2]):
            for k in range(min(w.shape[-3], states)):
                if transposed:
                    out[..., -1 - t, : states - k] += w[..., k, -t, k:] * out[..., -t, k:]
                else:
                    out[..., t, k:] += w[..., k, t, k:] * out[..., t - 1, : states - k]
        return out

    flops = lambda x, w, *, transposed: 2 * size_of_type(w)
    widen = True

    def decomposed(c, x, w):
        steps, states = x.shape[-2:]
        if steps > 128:
            return None
        rows = [_slice(x, -2, steps - 1 if c.transposed else 0, steps if c.transposed else 1)]
        for t in range(1, steps):
            at = steps - 1 - t if c.transposed else t
            before, total = rows[-1], _slice(x, -2, at, at + 1)
            for k in range(min(w.shape[-3], states)):
                here = _slice(_slice(w, -3, k, k + 1), -2, at + c.transposed, at + c.transposed + 1)
                here = F.squeeze(here, axes=(-3,))
                if c.transposed:
                    part, widths = _slice(here * before, -1, k, states), (0, k)
                else:
                    part, widths = _slice(here, -1, k, states) * _slice(before, -1, 0, states - k), (k, 0)
                lead = (0,) * (x.ndim - 1)
                total = total + F.pad(part, before=(*lead, widths[0]), after=(*lead, widths[1]), value=0)
            rows.append(total)
        return F.concat(*(reversed(rows) if c.transposed else rows), axis=-2)

    def vjp(c, g, x, w):
        gx = F.banded_recurrence(g, w, transposed=not c.transposed)
        if not c.needs.w:
            return gx, None
        require(type(w.shape[-3]) is int, f"how many bands there are must be known: {w}")
        after, before = (c.out, gx) if c.transposed else (gx, c.out)
        return gx, F.stack(*[after * _stepped(before, k) for k in range(w.shape[-3])], axis=-3)

    def samples(rng):
        yield rng(4, 3), rng(3, 4, 3)
        yield rng(2, 3, 2), rng(2, 3, 3, 2), {"transposed": True}
        yield rng(1, 1), rng(3, 1, 1)

    errors = [
        ((F2, M23), {}, "no weights"),
        ((M23, tensor(F2.dtype, (3, 2, 2))), {}, "not f32[3,2,2]"),
        ((tensor(I2.dtype, (2, 2)), tensor(I2.dtype, (3, 2, 2))), {}, "not defined for int32"),
    ]


def _stepped(x, k):
    """The elements shifted by one row and k columns; zeros move in."""
    rows, states = x.shape[-2:]
    k = smallest(k, states)
    part = F.slice(x, axes=(-2, -1), starts=(0, 0), stops=(rows - 1, states - k), steps=(1, 1))
    return F.pad(part, before=(*(0,) * (x.ndim - 2), 1, k), after=(0,) * x.ndim, value=0)


def _inside(x, k):
    """The mask, a constant, of where `_stepped` holds an element of x and not a zero that moved in."""
    known = all(type(d) is int for d in x.shape)
    require(known, f"the derivative of scores of symbolic size is not available yet: {x.type}")
    inside = np.zeros(x.shape, bool)
    inside[..., 1:, k:] = True
    return inside, tensor(bool_, x.shape)


# ------------------------------------------------------------------------------------------------ loss
@composite()
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """-log of the sum of the probabilities of all alignments, and the logarithms of the sums over their beginnings.

    `log_probs` [time, batch, classes] (or without batch), `targets` [batch, labels] or all labels one after the other.
    Reduction "mean" divides by the lengths of the targets first.  Where no alignment exists the loss is inf, or 0 with
    `zero_infinity`, and its derivative is 0.  IndexError: a label that is no class, an input longer than there is time.
    """
    x, dtype = wide(log_probs)
    x = F.expand_dims(x, axes=(-2,)) if x.ndim == 2 else x
    require(x.ndim == 3, f"log_probs have the dimensions [time, batch, classes], not {list(x.shape)}")
    x = F.transpose(x, axes=(-2, -3, -1))
    n, time, classes = x.shape
    blank = static_int(blank, "blank")
    if not 0 <= blank < classes:
        raise ValueError(f"the blank {blank} is none of {classes} classes")
    lengths, labels = _lengths(input_lengths, n, "input_lengths"), _lengths(target_lengths, n, "target_lengths")
    states, skip = _states(_rows_of_targets(targets, target_lengths, n), labels, blank, classes)
    emitted = F.take_along_axis(
        x, broadcast_to(F.expand_dims(states, axes=(-2,)), (n, time, states.shape[-1])), axis=-1
    )
    start = np.full((n, 1, states.shape[-1]), -np.inf)
    start[..., 0] = 0
    start = constant(start.astype(x.dtype.numpy), tensor(x.dtype, start.shape))
    scores = F.alignment_scores(F.concat(start, emitted, axis=-2), skip)
    loss = _ended(scores, checked(lengths, time + 1, negative=False), labels, zero_infinity)
    if reduction == "mean":
        loss = call.div(loss, call.cast(call.maximum(labels, 1), x.dtype))
    begun = F.slice(scores, axes=(-2,), starts=(1,), stops=(time + 1,), steps=(1,))
    return cast(reduced(loss, reduction), dtype), cast(begun, dtype)


def _lengths(lengths, n, parameter):
    """One length per example, as int64."""
    if isinstance(lengths, list | tuple):
        lengths = np.asarray(lengths, np.int64)
    lengths = as_tensor(lengths, parameter)
    require_dtype(lengths.dtype.is_int, f"`{parameter}` must be integers, not {lengths.dtype.name}")
    lengths = F.reshape(lengths, shape=(1,)) if lengths.ndim == 0 and n == 1 else lengths
    require(lengths.shape == (n,), f"`{parameter}` must hold {n} numbers, not have shape {list(lengths.shape)}")
    return cast(lengths, int64)


def _rows_of_targets(targets, given, n):
    """The labels [batch, most labels] of targets that may be listed one after the other."""
    targets = as_tensor(targets, "targets")
    require_dtype(targets.dtype.is_int, f"targets must be integers, not {targets.dtype.name}")
    if targets.ndim == 1 and n == 1:
        return F.expand_dims(cast(targets, int64), axes=(-2,))
    if targets.ndim == 1:
        if not isinstance(given, list | tuple):
            given = known_elements(given, "targets listed one after the other", "pad them to [batch, labels]")
        known = np.asarray(given, np.int64)
        first = np.concatenate([[0], np.cumsum(known)[:-1]])
        require(targets.shape[0] >= known.sum(), f"{targets.shape[0]} targets, but {known.sum()} labels")
        places = first[:, None] + np.arange(known.max(initial=0))
        places = np.minimum(places, max(targets.shape[0] - 1, 0))
        return F.gather(cast(targets, int64), constant(places, tensor(int64, places.shape)), axis=-1)
    require(targets.ndim == 2 and targets.shape[0] == n, f"targets of shape {list(targets.shape)} for a batch of {n}")
    return cast(targets, int64)


def _states(rows, labels, blank, classes):
    """The class of every state, blanks around all labels; and which states are reached past a blank."""
    n, most = rows.shape
    labels = F.expand_dims(F.check_index(labels, size=most + 1, negative=False), axes=(-1,))
    used = call.less(np.arange(most), labels)
    rows = checked(call.where(used, rows, blank), classes, negative=False)
    blanks = constant(blank, tensor(int64, (n, most)))
    one = constant(blank, tensor(int64, (n, 1)))
    states = F.concat(one, F.reshape(F.stack(rows, blanks, axis=-1), shape=(n, 2 * most)), axis=-1)
    if most < 1:
        return states, constant(False, tensor(bool_, states.shape))
    two = F.slice(states, axes=(-1,), starts=(0,), stops=(2 * most - 1,), steps=(1,))
    two = F.pad(two, before=(0, 2), after=(0, 0), value=blank)
    return states, F.logical_and(call.not_equal(states, blank), F.not_equal(states, two))


def _ended(scores, lengths, labels, zero_infinity):
    """-log of the probability of the paths that end with the last label or the blank after it."""
    n, _, states = scores.shape
    row = broadcast_to(F.reshape(lengths, shape=(n, 1, 1)), (n, 1, states))
    last = F.squeeze(F.take_along_axis(scores, row, axis=-2), axes=(-2,))
    end = F.reshape(labels * 2, shape=(n, 1))
    a = F.squeeze(F.take_along_axis(last, end, axis=-1), axes=(-1,))
    b = F.squeeze(F.take_along_axis(last, call.maximum(end - 1, 0), axis=-1), axes=(-1,))
    first, second = F.isfinite(a), F.logical_and(F.isfinite(b), call.greater(labels, 0))
    both, only = F.logical_and(first, second), F.select(first, a, b)
    total = F.select(both, F.logaddexp(F.select(both, a, 0), F.select(both, b, 0)), only)
    nothing = F.logical_not(F.logical_or(first, second))
    return F.select(nothing, 0 if zero_infinity else float("inf"), -F.select(nothing, 0, total))


# ------------------------------------------------------------------------------------------------ decoding
@composite()
def ctc_greedy_decoder(x, sequence_length, merge_repeated=True):
    """The likeliest class at every time without the blank, which is the last class; eager code only.

    Of [time, batch, classes]: the places [labels, 2] and classes of a sparse matrix [batch, time], its shape, and
    minus the sum of the greatest numbers of each example [batch, 1].
    """
    x = as_tensor(x, "inputs")
    require(x.ndim == 3, f"inputs have the dimensions [time, batch, classes], not {list(x.shape)}")
    time, n, classes = x.shape
    lengths = checked(_lengths(sequence_length, n, "sequence_length"), time + 1, negative=False)
    best = known_elements(F.argmax(x, axis=-1), "the decoded labels", "take argmax(-1) and mask the repetitions")
    known = known_elements(lengths, "the decoded labels", "take argmax(-1) and mask the repetitions")
    rows = []
    for i in range(n):
        path = best[: known[i], i].tolist()
        path = [label for label, _ in itertools.groupby(path)] if merge_repeated else path
        rows.append([label for label in path if label != classes - 1])
    places = np.array([(i, j) for i, row in enumerate(rows) for j in range(len(row))], np.int64).reshape(-1, 2)
    labels = np.array([label for row in rows for label in row], np.int64)
    shape = np.array([n, max(map(len, rows), default=0)], np.int64)
    used = np.arange(time)[:, None] < known
    greatest = call.where(constant(used, tensor(bool_, used.shape)), F.max(x, axes=(-1,)), 0)
    score = F.expand_dims(-call.sum(greatest, 0), axes=(-1,))
    return (*[constant(a, tensor(int64, a.shape)) for a in (places, labels, shape)], score)
