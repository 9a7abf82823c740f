"""Sums of products over named dimensions: `einsum`, `tensordot`, `inner`.

A product of several tensors is taken apart into products of two, in the order that costs least.  Each of those is one
matrix product: what both have and the result keeps is a batch, what is summed is the inner dimension, and the rest are
rows and columns.  Only sums over leading dimensions of two tensors with equal labels are no matrix product
(`ProductSum`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ..dtypes import float32, int64
from ..ir.primitive import F, Ints, Primitive, call, composite
from ..ir.types import Dim, TensorType, dim_product, known_same, same_dim, tensor
from .family import binary, broadcast_to, cast, expand, normal_axis, promoted_dtype
from .linalg import kept_sum
from .reduce import reduced_shape
from .requirements import require, require_dtype, static_int
from .samples import D2, F2
from .shape import permuted

#: Up to so many operands every order is tried: 3**n splits; beyond, the cheapest next product is taken.
_EXHAUSTIVE = 7


# ------------------------------------------------------------------------------------------------ equations
@dataclass(frozen=True, slots=True)
class _Plan:
    """An equation on given shapes: labels per operand, of the result, and which two terms to multiply next.

    `steps` name positions in the list of terms; the product of two is appended to it and they are taken out.
    """

    terms: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]
    sizes: dict[str, object]
    steps: tuple[tuple[int, int], ...]


def _plan(equation, shapes):
    known = all(type(d) is int for shape in shapes for d in shape)
    return (_remembered if known else _planned)(equation, shapes)  # each compilation has to ask about symbols itself


def _planned(equation, shapes):
    terms, result = _labels(equation, shapes)
    sizes = _sizes(equation, terms, shapes)
    missing = [label for label in result if label not in sizes]
    if missing:
        raise ValueError(f"einsum {equation!r}: the result names {missing[0]!r}, which no operand has")
    if len(set(result)) != len(result):
        raise ValueError(f"einsum {equation!r}: the result names one dimension twice")
    # Broadcast dimensions are dropped before the first product: they have no influence on the order.
    kept = [
        frozenset(x for x, d in zip(term, shape, strict=True) if not _is_one(d) or _is_one(sizes[x]))
        for term, shape in zip(terms, shapes, strict=True)
    ]
    steps = _order(kept, frozenset(result), {x: 32 if type(d) is Dim else d for x, d in sizes.items()})
    return _Plan(terms, result, sizes, steps)


_remembered = functools.lru_cache(maxsize=1024)(_planned)


def _is_one(size):
    """Whether a size is known to be 1."""
    return type(size) is int and size == 1


def _labels(equation, shapes):
    """The labels of every operand and of the result; dimensions under an ellipsis are counted from the right."""
    text = equation.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    parts = inputs.split(",")
    if len(parts) != len(shapes):
        raise ValueError(f"einsum {equation!r} names {len(parts)} operands, but there are {len(shapes)}")
    for part in [*parts, output]:
        if not all(c.isalpha() and c.isascii() for c in part.replace("...", "", 1)):
            raise ValueError(f"einsum {equation!r}: {part!r} must consist of letters and at most one '...'")
    spread = 0
    for part, shape in zip(parts, shapes, strict=True):
        letters = len(part.replace("...", ""))
        fits = len(shape) == letters or ("..." in part and len(shape) > letters)
        require(fits, f"einsum {equation!r}: {part!r} does not name the dimensions of shape {list(shape)}")
        spread = max(spread, len(shape) - letters)
    dots = tuple([f"...{i}" for i in range(-spread, 0)])

    def spelt(part, count):
        before, found, after = part.partition("...")
        return (*before, *(dots[len(dots) - count :] if found else ()), *after)

    terms = tuple([spelt(p, len(s) - len(p.replace("...", ""))) for p, s in zip(parts, shapes, strict=True)])
    if arrow:
        if spread and "..." not in output:
            raise ValueError(f"einsum {equation!r}: the result must have the '...' of the operands")
        return terms, spelt(output, spread)
    letters = inputs.replace("...", "").replace(",", "")
    once = sorted(c for c in set(letters) if letters.count(c) == 1)
    return terms, (*dots, *once)


def _sizes(equation, terms, shapes):
    """The size of every label; 1 stretches to what the others have."""
    sizes = {}
    for term, shape in zip(terms, shapes, strict=True):
        for label, d in zip(term, shape, strict=True):
            known = sizes.get(label, 1)
            if _is_one(known) or _is_one(d):
                sizes[label] = known if _is_one(d) else d
                continue
            fits = same_dim(known, d) or known == 1 or d == 1
            require(fits, f"einsum {equation!r}: {label!r} has the sizes {known} and {d}", between=(known, d))
    return sizes


def _order(terms, result, sizes):
    """The order of products with the fewest multiplications."""
    n = len(terms)
    if n <= 2:
        return ((0, 1),) * (n - 1)
    return _best_order(terms, result, sizes) if n <= _EXHAUSTIVE else _greedy_order(terms, result, sizes)


def _cost(labels, sizes):
    out = 1
    for label in labels:
        out *= sizes[label]
    return out


def _best_order(terms, result, sizes):
    n, everything = len(terms), (1 << len(terms)) - 1
    inside = [frozenset().union(*[terms[i] for i in range(n) if s >> i & 1]) for s in range(everything + 1)]
    # The labels that a product of the terms in `s` keeps: those that the others or the result need.
    left = [inside[s] & (inside[everything ^ s] | result) for s in range(everything + 1)]
    best = {1 << i: (0, None) for i in range(n)}
    for s in range(1, everything + 1):
        if s in best:
            continue
        found = None
        half = (s - 1) & s
        while half:
            other = s ^ half
            if half > other:  # each split once
                cost = best[half][0] + best[other][0] + _cost(left[half] | left[other], sizes)
                if found is None or cost < found[0]:
                    found = (cost, half)
            half = (half - 1) & s
        best[s] = found
    steps, present = [], [1 << i for i in range(n)]

    def emit(s):
        half = best[s][1]
        if half is not None:
            emit(s ^ half)
            emit(half)
            pair = sorted((present.index(half), present.index(s ^ half)))
            present[:] = [x for i, x in enumerate(present) if i not in pair] + [s]
            steps.append(tuple(pair))

    emit(everything)
    return tuple(steps)


def _greedy_order(terms, result, sizes):
    """Repeatedly takes the product that adds the fewest elements to those of its operands."""
    terms, steps = list(terms), []
    while len(terms) > 1:
        found = None
        for i in range(len(terms)):
            for j in range(i + 1, len(terms)):
                rest = result.union(*[t for k, t in enumerate(terms) if k not in (i, j)])
                both = terms[i] | terms[j]
                growth = _cost(both & rest, sizes) - _cost(terms[i], sizes) - _cost(terms[j], sizes)
                key = (growth, _cost(both, sizes))
                if found is None or key < found[0]:
                    found = (key, i, j, both & rest)
        _, i, j, product = found
        terms = [t for k, t in enumerate(terms) if k not in (i, j)] + [product]
        steps.append((i, j))
    return tuple(steps)


# ------------------------------------------------------------------------------------------------ evaluation
class ProductSum(Primitive):
    """The products of two tensors, summed over axes; no array holds the products."""

    internal = True

    def infer(x: TensorType, y: TensorType, *, axes: Ints):
        binary(x, y)
        require_dtype(not x.dtype.is_bool, f"not defined for bools: {x}")
        return tensor(x.dtype, reduced_shape(x.shape, axes, False))

    def numpy(x, y, *, axes):
        labels = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[: x.ndim]
        kept = "".join([c for i, c in enumerate(labels) if i - x.ndim not in axes])
        return np.asarray(np.einsum(f"{labels},{labels}->{kept}", x, y))

    widen = True

    def decomposed(c, x, y):
        dtype = int64 if x.dtype.is_int else x.dtype  # small integers have no sums of their own
        products = F.cast(x * y, dtype=dtype)
        return F.cast(F.sum(products, axes=c.axes) if c.axes else products, dtype=x.dtype)

    def vjp(c, g, x, y):
        g = expand(g, c.axes, x.shape)
        return (g * y if c.needs.x else None), (g * x if c.needs.y else None)

    def samples(rng):
        yield rng(3, 2), rng(3, 2), {"axes": (-2,)}
        yield rng(2, 3, 2), rng(2, 3, 2), {"axes": (-3, -1)}

    errors = [((F2, D2), {"axes": (-1,)}, "dtypes differ"), ((F2, F2), {"axes": (-2,)}, "do not exist")]


def _reduced_operand(x, labels, sizes, needed):
    """One operand with its diagonals taken, broadcast dimensions dropped, and labels that no other has summed."""
    labels = list(labels)
    while len(set(labels)) != len(labels):
        label = next(c for c in labels if labels.count(c) > 1)
        i = labels.index(label)
        j = labels.index(label, i + 1)
        if not same_dim(x.shape[i], x.shape[j]):  # one of them is 1, and so names nothing
            at = i if x.shape[i] == 1 else j
            x = F.squeeze(x, axes=(at - x.ndim,))
            del labels[at]
            continue
        order = [k for k in range(x.ndim) if k not in (i, j)] + [i, j]
        x = F.diagonal(permuted(x, tuple([k - x.ndim for k in order])), offset=0)
        labels = [*[c for k, c in enumerate(labels) if k not in (i, j)], label]
    gone = tuple([i - x.ndim for i, c in enumerate(labels) if _is_one(x.shape[i]) and not _is_one(sizes[c])])
    if gone:
        labels = [c for i, c in enumerate(labels) if i - x.ndim not in gone]
        x = F.squeeze(x, axes=gone)
    return _sum_out(x, labels, needed)


def _sum_out(x, labels, needed):
    """`x` summed over the labels that are not in `needed`, and the remaining labels."""
    if needed.issuperset(labels):
        return x, labels
    axes = tuple([i - x.ndim for i, c in enumerate(labels) if c not in needed])
    return kept_sum(x, axes), [c for c in labels if c in needed]


def _arranged(x, labels, wanted):
    return permuted(x, tuple([labels.index(c) - x.ndim for c in wanted]))


def _product(a, a_labels, b, b_labels, needed, result=()):
    """Two tensors multiplied and summed over the shared labels that are not `needed`, and the labels of the product.

    Without a sum the labels have the order of `result` if they are the same: so nothing is transposed afterwards.
    """
    both = [c for c in a_labels if c in b_labels]
    batch, inner = [c for c in both if c in needed], [c for c in both if c not in needed]
    rows, cols = [c for c in a_labels if c not in both], [c for c in b_labels if c not in both]
    if not inner:
        kept = batch + rows + cols
        return _broadcast_product(a, a_labels, b, b_labels, list(result) if set(result) == set(kept) else kept)
    sizes = dict(zip([*a_labels, *b_labels], [*a.shape, *b.shape], strict=True))
    if not rows and not cols and a_labels == b_labels:
        return _inner_products(a, b, a_labels, inner)
    for x, x_labels, y, y_labels in ((a, a_labels, b, b_labels), (b, b_labels, a, a_labels)):
        found = _without_transpose(x, x_labels, y, y_labels, inner, sizes)
        if found is not None:
            return found
    shape = tuple([sizes[c] for c in batch + rows + cols])
    product = F.matmul(_matrices(a, a_labels, batch, rows, inner), _matrices(b, b_labels, batch, inner, cols))
    return F.reshape(product, shape=shape) if not known_same(product.shape, shape) else product, batch + rows + cols


def _matrices(x, labels, batch, rows, cols):
    x = _arranged(x, labels, batch + rows + cols)
    if len(rows) == len(cols) == 1:
        return x
    n, m = len(batch), len(batch) + len(rows)
    return F.reshape(x, shape=(*x.shape[:n], dim_product(x.shape[n:m]), dim_product(x.shape[m:])))


def _inner_products(a, b, labels, inner):
    """Products of two tensors of one layout, summed over `inner`: the last ones as scalar products, without a copy."""
    n = len(labels)
    while n > 0 and labels[n - 1] in inner:
        n -= 1
    if n == len(labels):
        return F.product_sum(a, b, axes=tuple([i - n for i, c in enumerate(labels) if c in inner])), [
            c for c in labels if c not in inner
        ]
    lead, tail = a.shape[:n], dim_product(a.shape[n:])
    products = F.matmul(F.reshape(a, shape=(*lead, 1, tail)), F.reshape(b, shape=(*lead, tail, 1)))
    return _sum_out(F.reshape(products, shape=lead), labels[:n], set(labels[:n]).difference(inner))


def _without_transpose(x, x_labels, y, y_labels, inner, sizes):
    """The product of x, whose summed labels are inner axes, with a small y; None for other operands.

    One matrix product would need a transposed copy of x.  So the axes before them become a batch, along which y is
    broadcast; the cotangent of the broadcast y has no more elements than x.
    """
    first = next(i for i, c in enumerate(x_labels) if c in inner)
    last = first + len(inner)
    lead, middle, trail = x_labels[:first], x_labels[first:last], x_labels[last:]
    cols = [c for c in y_labels if c not in x_labels]
    if set(middle) != set(inner) or all(c in y_labels for c in lead) or not trail or any(c in y_labels for c in trail):
        return None
    width, height = (dim_product(tuple([sizes[c] for c in group])) for group in (trail, cols))
    if type(width) is Dim or type(height) is Dim or height > width:
        return None
    batch = [c for c in lead if c in y_labels]
    y = _matrices(y, y_labels, batch, cols, middle)
    gaps = tuple([i - len(lead) - 2 for i, c in enumerate(lead) if c not in batch])
    lead_shape = tuple([sizes[c] for c in lead])
    y = broadcast_to(F.expand_dims(y, axes=gaps), (*lead_shape, *y.shape[-2:]))
    x = F.reshape(x, shape=(*lead_shape, y.shape[-1], width))
    labels = [*lead, *cols, *trail]
    return F.reshape(F.matmul(y, x), shape=tuple([sizes[c] for c in labels])), labels


def _broadcast_product(a, a_labels, b, b_labels, labels):
    """Two tensors multiplied element by element, broadcast along the labels that only the other has."""
    parts = []
    for x, own in ((a, a_labels), (b, b_labels)):
        present = [c for c in labels if c in own]
        absent = tuple([i - len(labels) for i, c in enumerate(labels) if c not in own])
        x = _arranged(x, own, present)
        parts.append(F.expand_dims(x, axes=absent) if absent else x)
    return call.mul(*parts), labels


@composite()
def einsum(equation, *operands):
    """Einstein's sum convention, as in NumPy: ``einsum("ij,jk->ik", a, b)`` is ``a @ b``.

    A label repeated in one operand runs along its diagonal, what the result does not name is summed, `...` stands for
    dimensions that broadcast, and without ``->`` the result has the labels that occur once, in alphabetical order.
    The order of the products is chosen by cost.  16-bit floats are computed in float32 and rounded once.
    ValueError for an equation that does not fit, ShapeError for sizes that do not.
    """
    if not isinstance(equation, str):
        raise TypeError(f"the equation of einsum must be a str, not {type(equation).__name__}")
    if len(operands) == 1 and isinstance(operands[0], tuple | list):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError("einsum needs at least one operand")
    xs = promoted_dtype(*operands)
    dtype = xs[0].dtype
    require_dtype(not dtype.is_bool, "einsum is not defined for bools", hint="cast them to a number first")
    if dtype.is_float and dtype.bits == 16:
        xs = [cast(x, float32) for x in xs]
    plan = _plan(equation, tuple([tuple(x.shape) for x in xs]))
    terms = []
    for i, (x, labels) in enumerate(zip(xs, plan.terms, strict=True)):
        others = set(plan.result).union(*[t for k, t in enumerate(plan.terms) if k != i])
        terms.append(_reduced_operand(x, labels, plan.sizes, others))
    for i, j in plan.steps:
        (b, b_labels), (a, a_labels) = terms.pop(j), terms.pop(i)
        needed = set(plan.result).union(*[labels for _, labels in terms])
        a, a_labels = _sum_out(a, a_labels, needed.union(b_labels))
        b, b_labels = _sum_out(b, b_labels, needed.union(a_labels))
        terms.append(_product(a, a_labels, b, b_labels, needed, plan.result))
    out, labels = terms[0]
    return cast(_arranged(out, labels, plan.result), dtype)


@composite()
def tensordot(a, b, axes=2):
    """Sum over pairs of dimensions of the products of two tensors, as in NumPy.

    `axes` is a number (the last of a against the first of b) or two lists of axes that are paired in order.
    """
    a, b = promoted_dtype(a, b)
    require_dtype(not a.dtype.is_bool, "tensordot is not defined for bools", hint="cast them to a number first")
    if isinstance(axes, tuple | list):
        left, right = [list(x) if isinstance(x, tuple | list) else [x] for x in axes]
    else:
        n = static_int(axes, "axes")
        require(0 <= n <= min(a.ndim, b.ndim), f"tensordot over {n} axes of {a.ndim} and {b.ndim} dimensions")
        left, right = list(range(a.ndim - n, a.ndim)), list(range(n))
    require(len(left) == len(right), f"tensordot pairs {len(left)} axes with {len(right)}")
    left = [normal_axis(i, a.ndim) + a.ndim for i in left]
    right = [normal_axis(i, b.ndim) + b.ndim for i in right]
    require(len(set(left)) == len(left) and len(set(right)) == len(right), f"axes {axes} name one axis twice")
    for i, j in zip(left, right, strict=True):
        m, n = a.shape[i], b.shape[j]
        message = f"tensordot pairs axis {i} with axis {j} of another size: {m} != {n}"
        require(same_dim(m, n), message, between=(m, n))
    a_labels = [("a", i) for i in range(a.ndim)]
    b_labels = [("b", i) for i in range(b.ndim)]
    for i, j in zip(left, right, strict=True):
        b_labels[j] = a_labels[i]
    needed = {c for c in [*a_labels, *b_labels] if (c in a_labels) != (c in b_labels)}
    product, labels = _product(a, a_labels, b, b_labels, needed)
    return _arranged(product, labels, [c for c in [*a_labels, *b_labels] if c in needed])


@composite("inner")
def inner(a, b):
    """Sum of products over the last dimensions of both; a number scales."""
    a, b = promoted_dtype(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return call.mul(a, b)
    return tensordot(a, b, ([-1], [-1]))
