"""Dense layers, products of batches, and tensors scaled down to a norm."""

from __future__ import annotations

import math

from ..errors import UnsupportedCallError
from ..ir.core import Value
from ..ir.primitive import call, composite
from .family import as_tensor, cast, normal_axis, promoted_dtype, rows
from .normalization import wide
from .requirements import require, static_number


@composite()
def dense(x, weight, bias=None):
    """x @ weight.T + bias, along the last dimension."""
    x, weight, *bias = promoted_dtype(as_tensor(x), as_tensor(weight, "weight"), *([] if bias is None else [bias]))
    fits = x.ndim > 0 and weight.ndim in (1, 2) and weight.shape[-1] == x.shape[-1]
    message = f"a weight of shape {list(weight.shape)} does not fit {list(x.shape)}"
    require(fits, message, between=(x.shape[-1:], weight.shape[-1:]))
    out = call.matmul(x, call.swapaxes(weight, 0, 1) if weight.ndim == 2 else weight)
    return call.add(out, bias[0]) if bias else out


@composite()
def bidense(x, y, weight, bias=None):
    """x @ weight[i] @ y + bias[i] for every i, along the last dimensions."""
    x, y, weight, *bias = promoted_dtype(x, y, weight, *([] if bias is None else [bias]))
    fits = weight.ndim == 3 and x.ndim == y.ndim > 0 and x.shape[:-1] == y.shape[:-1]
    require(fits and weight.shape[1:] == (x.shape[-1], y.shape[-1]),
            f"a weight of shape {list(weight.shape)} does not fit {list(x.shape)} and {list(y.shape)}")  # fmt: skip
    out = call.einsum("...i,kij,...j->...k", x, weight, y)
    return call.add(out, bias[0]) if bias else out


@composite()
def batch_dot(x, y, axes=None):
    """Sum of products over one axis of each tensor, for every element of the batch: the first dimension of both."""
    x, y = promoted_dtype(as_tensor(x, "x1"), as_tensor(y, "x2"))
    require(x.ndim >= 2 and y.ndim >= 2, f"batch_dot takes at least 2 dimensions, not {x.ndim} and {y.ndim}")
    batches = x.shape[0], y.shape[0]
    require(batches[0] == batches[1], f"batches differ: {list(x.shape)} and {list(y.shape)}", between=batches)
    if axes is None:
        axes = (-1, -1 if y.ndim == 2 else -2)
    a, b = axes if isinstance(axes, tuple | list) else (axes, axes)
    a, b = normal_axis(a, x.ndim, "axes") + x.ndim, normal_axis(b, y.ndim, "axes") + y.ndim
    require(a and b, "the first dimension is the batch: it cannot be summed over")
    m, n = x.shape[a], y.shape[b]
    require(m == n, f"axes {a} of {list(x.shape)} and {b} of {list(y.shape)} differ", between=(m, n))
    left, right = list(range(x.ndim)), [0, *range(x.ndim, x.ndim + y.ndim - 1)]
    right[b] = a
    kept = [i for i in left if i != a] + [i for i in right[1:] if i != a]
    letters = [chr(ord("a") + i) for i in range(x.ndim + y.ndim)]
    text = ["".join(letters[i] for i in part) for part in (left, right, kept)]
    return call.einsum(f"{text[0]},{text[1]}->{text[2]}", x, y)


# ------------------------------------------------------------------------------------------------ clipping
def _common_norm(xs, p):
    parts = call.stack([call.vector_norm(wide(x)[0], p) for x in xs])
    return call.vector_norm(parts, p)


def _listed(x):
    """Tensors of which one may stand alone."""
    several = isinstance(x, tuple | list)
    return several, [as_tensor(t) for t in (rows(x) if several else [x])]


@composite()
def clip_by_norm(x, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """A tensor, or several, times max_norm / (their common norm + 1e-6) if that is less than 1."""
    several, xs = _listed(x)
    if not xs:
        return type(x)()
    norm = _common_norm(xs, float(static_number(norm_type, "norm_type")))
    if error_if_nonfinite:
        if norm.__class__ is Value:
            raise UnsupportedCallError(
                "clip_by_norm with error_if_nonfinite=True reads the norm, which compiled code does not know",
                hint="check the norm outside of compiled code",
            )
        if not math.isfinite(norm.item()):
            raise RuntimeError(f"the norm of the tensors is {norm.item()}")
    scale = call.div(max_norm, call.add(norm, 1e-6))
    scale = call.where(call.less(scale, 1), scale, 1)
    out = [cast(call.mul(t, cast(scale, t.dtype)), t.dtype) for t in xs]
    return type(x)(out) if several else out[0]


@composite()
def clip_by_global_norm(x, clip_norm=1.0, use_norm=None):
    """Several tensors times clip_norm / the greater of clip_norm and their common norm, or `use_norm` in its place."""
    if not clip_norm > 0:
        raise ValueError(f"clip_norm must be positive, not {clip_norm}")
    _, xs = _listed(x)
    if not xs:
        return ()
    norm = _common_norm(xs, 2) if use_norm is None else as_tensor(use_norm, "use_norm")
    require(norm.shape == (), f"`use_norm` is one number, not a tensor of shape {list(norm.shape)}")
    scale = call.div(clip_norm, call.maximum(norm, clip_norm))
    return tuple([call.mul(t, cast(scale, t.dtype)) for t in xs])
