"""Steps that depend on the sign of the gradient alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from ..dtypes import float32
from .adam import checked_beta
from .groups import checked_number
from .optimizer import Optimizer

__all__ = ["Lion", "Rprop"]


class Rprop(Optimizer):
    """Resilient backpropagation: each element has a step size that grows while the gradient keeps its sign.

    Where g and the g before have one sign, the step size (at first lr) is multiplied by ``etas[1]``, where they differ
    by ``etas[0]``, there g counts as 0; it stays within `step_sizes`.  Then ``p -= sign(g) * step size``.  State as
    Parameters: `prev.X` (the g before), `step_size.X`.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> optimizer = Rprop([p], learning_rate=0.5, etas=(0.5, 2.0))
    >>> _ = optimizer([Tensor([3.0])]), optimizer([Tensor([0.1])]); p.tolist()
    [-0.5]
    """

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = 0.1,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        for name, pair in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(pair, tuple):
                raise TypeError(f"`{name}` must be a tuple, not a {type(pair).__name__}")
            if len(pair) != 2:
                raise ValueError(f"`{name}` must have 2 elements, not {len(pair)}")
        self.shrink = checked_number("etas[0]", etas[0], above=0.0, below=1.0)
        self.grow = checked_number("etas[1]", etas[1], above=1.0)
        self.smallest = checked_number("step_sizes[0]", step_sizes[0])
        self.greatest = checked_number("step_sizes[1]", step_sizes[1], least=self.smallest)
        self.prev = self.moments_like("prev")
        self.step_size = self.moments_like("step_size")

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        prev, size = self.prev[i], self.step_size[i]
        agreement = g * prev
        factor = ops.where(agreement > 0.0, self.grow, ops.where(agreement < 0.0, self.shrink, 1.0))
        before = ops.where(self.steps_done() == 0, ops.cast(lr, float32), ops.cast(size, float32))
        new_size = ops.clamp(before * factor, self.smallest, self.greatest)
        kept = ops.where(agreement < 0.0, 0.0, g)
        ops.assign(prev, ops.cast(kept, prev.dtype))
        ops.assign(size, ops.cast(new_size, size.dtype))
        return ops.assign(p, ops.cast(p - ops.sign(kept) * new_size, p.dtype))


class Lion(Optimizer):
    """Lion: steps by the sign of a mean of gradient and momentum, with a weight decay that is no part of the gradient.

    ``d = sign(beta1 * m + (1 - beta1) * g)``, ``m = beta2 * m + (1 - beta2) * g``,
    ``p -= lr * (d + weight_decay * p)``.
    The m are Parameters called `moments.X`.  MindSpore has no Lion; the arguments are named as those of its Adam.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0, 1.0], name="p")
    >>> _ = Lion([p], learning_rate=0.25)([Tensor([0.01, -9.0])]); p.tolist()
    [0.75, 1.25]
    """

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = 1e-4,
        beta1: float = 0.9,
        beta2: float = 0.99,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1, self.beta2 = checked_beta("beta1", beta1), checked_beta("beta2", beta2)
        self.moments = self.moments_like("moments")

    def decay_weight(self, gradients: Any) -> Any:
        return gradients

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        m, decay = self.moments[i], self.decay_of(i)
        step = ops.sign(self.beta1 * m + (1.0 - self.beta1) * g)
        if decay is not None:
            step = step + decay * p
        ops.assign(m, ops.cast(self.beta2 * m + (1.0 - self.beta2) * g, m.dtype))
        return ops.assign(p, ops.cast(p - lr * step, p.dtype))
