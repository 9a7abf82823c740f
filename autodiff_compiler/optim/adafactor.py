"""AdaFactor: Adam with two vectors as the second moment of each matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from ..dtypes import float16, float32
from ..runtime.parameter import Parameter, ParameterTuple
from ..runtime.tensor import Tensor
from .groups import checked_flag, checked_number
from .optimizer import Optimizer

__all__ = ["AdaFactor"]


class AdaFactor(Optimizer):
    """AdaFactor: the second moment of a matrix is stored as the means of its rows and columns.

    In step t = 1, 2, ..., with ``b = 1 - t**-decay_rate`` and ``q = g**2 + eps[0]``: a vector has
    ``v = b * v + (1 - b) * q`` and ``d = g / sqrt(v)``; Parameters of more dimensions have such means r over the last
    axis and c over the one before, and ``d = g / sqrt(r / mean(r) * c)``.  Then
    ``d /= max(1, rms(d) / clip_threshold)``, ``d *= rate``, with `beta1` ``d = m = beta1 * m + (1 - beta1) * d``, and
    ``p -= d + weight_decay * rate * p``.

    The rate is `learning_rate`, or, if that is None, ``min(0.01, 1 / sqrt(t))`` (with `warmup_init`
    ``min(1e-6 * t, 1 / sqrt(t))``); with `scale_parameter` times ``max(eps[1], rms(p))``.

    State as Parameters: `exp_avg.X` (m), `exp_avg_sq_X` (v), `exp_avg_sq_row_X` (r), `exp_avg_sq_col_X` (c) and
    `afactor_step` (t); those that a shape does not need are one 0.  With `compression` the v are float16.

    ValueError: `learning_rate` together with `relative_step`, or neither.

    >>> p = Parameter([1.0, 1.0], name="p")
    >>> optimizer = AdaFactor([p], learning_rate=0.25, relative_step=False, scale_parameter=False, beta1=None)
    >>> _ = optimizer([Tensor([2.0, -2.0])]); p.tolist()
    [0.75, 1.25]
    """

    _elementwise = False

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = None,
        eps: tuple[float, float] = (1e-30, 1e-3),
        clip_threshold: float = 1.0,
        decay_rate: float = 0.8,
        beta1: float | None = 0.9,
        weight_decay: float = 0.0,
        scale_parameter: bool = True,
        relative_step: bool = True,
        warmup_init: bool = False,
        compression: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        self_relative = checked_flag("relative_step", relative_step)
        if learning_rate is not None and relative_step:
            raise ValueError("give either `learning_rate` or relative_step=True")
        if learning_rate is None and not relative_step:
            raise ValueError("relative_step=False needs a `learning_rate`")
        if checked_flag("warmup_init", warmup_init) and not relative_step:
            raise ValueError("`warmup_init` needs relative_step=True")
        super().__init__(0.0 if learning_rate is None else learning_rate, params, weight_decay, loss_scale)
        self.relative_step, self.warmup_init = self_relative, warmup_init
        if not isinstance(eps, tuple | list):
            raise TypeError(f"`eps` must be a tuple, not a {type(eps).__name__}")
        if len(eps) != 2:
            raise ValueError(f"`eps` must have 2 elements, not {len(eps)}")
        self.eps = tuple(checked_number(f"eps[{i}]", e, least=0.0) for i, e in enumerate(eps))
        self.clip_threshold = checked_number("clip_threshold", clip_threshold, above=0.0)
        self.decay_rate = checked_number("decay_rate", decay_rate, above=0.0, below=1.0)
        self.beta1 = 0.0 if beta1 is None else checked_number("beta1", beta1, least=0.0)
        self.scale_parameter = checked_flag("scale_parameter", scale_parameter)
        if self.beta1 > 0.0:
            self.exp_avg = self.moments_like("exp_avg")
        self.exp_avg_sq_row = _means("exp_avg_sq_row", self.parameters, lambda shape: shape[:-1])
        self.exp_avg_sq_col = _means("exp_avg_sq_col", self.parameters, lambda shape: shape[:-2] + shape[-1:])
        self.exp_avg_sq = _means("exp_avg_sq", self.parameters, None)
        if checked_flag("compression", compression):
            for p, v in zip(self.parameters, self.exp_avg_sq, strict=True):
                if p.ndim < 2:
                    v.set_dtype(float16)
        self.step = Parameter(Tensor([0.0], float32), "afactor_step", requires_grad=False)

    def decay_weight(self, gradients: Any) -> Any:
        return gradients

    def begin(self, rates: list[Any]) -> list[Any]:
        ops.assign_add(self.step, 1.0)
        if not self.relative_step:
            return rates
        t = ops.reshape(self.step, ())
        most = 1e-6 * t if self.warmup_init else 1e-2
        return [ops.minimum(1.0 / ops.sqrt(t), most) for _ in rates]

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        stay = 1.0 - ops.reshape(self.step, ()) ** -self.decay_rate
        d = g / self._size(i, ops.square(g) + self.eps[0], stay)
        d = d / ops.maximum(_rms(d) / self.clip_threshold, 1.0)
        rate = lr * ops.maximum(_rms(p), self.eps[1]) if self.scale_parameter else lr
        d = d * rate
        if self.beta1 > 0.0:
            m = self.exp_avg[i]
            d = self.beta1 * ops.cast(m, d.dtype) + (1.0 - self.beta1) * d
            ops.assign(m, ops.cast(d, m.dtype))
        decay = self.decay_of(i)
        if decay is not None:
            d = d + decay * rate * p
        return ops.assign(p, ops.cast(p - d, p.dtype))

    def _size(self, i: int, q: Any, stay: Any) -> Any:
        """The root of the running mean of the squared gradients `q`, which decays by the factor `stay`."""
        if q.ndim < 2:
            v = self.exp_avg_sq[i]
            new = stay * v + (1.0 - stay) * q
            ops.assign(v, ops.cast(new, v.dtype))
            return ops.sqrt(new)
        r, c = self.exp_avg_sq_row[i], self.exp_avg_sq_col[i]
        row = stay * r + (1.0 - stay) * ops.mean(q, -1)
        col = stay * c + (1.0 - stay) * ops.mean(q, -2)
        ops.assign(r, ops.cast(row, r.dtype))
        ops.assign(c, ops.cast(col, c.dtype))
        share = ops.sqrt(row / ops.mean(row, -1, True))
        return ops.expand_dims(share, -1) * ops.expand_dims(ops.sqrt(col), -2)


def _rms(x: Any) -> Any:
    return ops.sqrt(ops.mean(ops.square(x)))


def _means(prefix: str, parameters: ParameterTuple, of_matrices: Any) -> ParameterTuple:
    """Zeros of the factored shapes for matrices, one 0 for vectors; without `of_matrices` the reverse."""
    made = []
    for p in parameters:
        wide, shape = len(p.shape) > 1, p.shape
        if of_matrices is not None:
            shape = of_matrices(shape) if wide else (1,)
        elif wide:
            shape = (1,)
        name = f"{prefix}_{p.name}"
        made.append(Parameter(Tensor(shape=shape, dtype=p.dtype, init=0), name, requires_grad=False))
    return ParameterTuple(made)
