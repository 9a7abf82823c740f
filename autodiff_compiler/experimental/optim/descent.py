"""Gradient descent: with momentum, averaged, and by the sign alone."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...dtypes import float32
from ...optim.groups import checked_flag, checked_number
from ...runtime.parameter import Parameter, ParameterTuple
from ...runtime.tensor import Tensor
from .optimizer import Optimizer, not_negative

__all__ = ["ASGD", "SGD", "Rprop"]


class SGD(Optimizer):
    """Stochastic gradient descent.

    ``v = momentum * v + (1 - dampening) * g`` (``v = g`` in the first step); ``p -= lr * v``, with `nesterov`
    ``p -= lr * (g + momentum * v)``.  State as Parameters: `accum.X` (v), and `stat.X`, which is 1 until v is written.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = SGD([p], lr=0.5)((Tensor([1.0]),)); p.tolist()
    [0.5]
    """

    def __init__(
        self,
        params: Any,
        lr: Any,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        not_negative("momentum", momentum)
        if checked_flag("nesterov", nesterov) and (momentum == 0 or dampening != 0):
            raise ValueError("`nesterov` needs a momentum and no dampening")
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "nesterov": nesterov, "maximize": maximize})
        self.accum = self.moments_like("accum")
        self.stat = self.moments_like("stat", "ones")

    def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
        momentum = group["momentum"]
        if momentum != 0:
            new_v = self.kept(
                self.accum[i], momentum * self.accum[i] + self.damped(self.stat[i], g, group["dampening"])
            )
            g = g + momentum * new_v if group["nesterov"] else new_v
        return ops.assign(p, ops.cast(p - group["lr"] * g, p.dtype))


class ASGD(Optimizer):
    """Averaged stochastic gradient descent: the mean of the Parameters over the steps is kept beside them.

    In step t: ``p = p * (1 - lambd * eta) - eta * g``; ``ax += (p - ax) * mu``; then
    ``eta = lr / (1 + lambd * lr * t)**alpha`` and ``mu = 1 / max(1, t - t0)``.  At first eta is lr and mu is 1.
    State as Parameters: `ax.X`, `mu.X`, `eta.X`, `step_t`.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = ASGD([p], lr=0.5, lambd=0.0)((Tensor([1.0]),)); p.tolist()
    [0.5]
    """

    mu: Any
    eta: Any
    step_t: Any
    _counter = "step_t"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "maximize": maximize})
        self.ax = self.moments_like("ax")
        self.mu, self.eta = (
            ParameterTuple(
                Parameter(Tensor(value, float32), f"{name}.{p.name}", requires_grad=False) for p in self.parameters
            )
            for name, value in (("mu", 1.0), ("eta", 0.0))
        )

    def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
        mu, eta, ax, lr, t = self.mu[i], self.eta[i], self.ax[i], group["lr"], self.step_count()
        rate = ops.where(self.step_t == 1, lr, eta)
        new = p * (1.0 - group["lambd"] * rate) - rate * g
        ops.assign(ax, ops.cast(ops.where(mu == 1.0, new, ax + (new - ax) * mu), ax.dtype))
        ops.assign(eta, lr / (1.0 + group["lambd"] * lr * t) ** group["alpha"])
        ops.assign(mu, 1.0 / ops.maximum(t - group["t0"], 1.0))
        return ops.assign(p, ops.cast(new, p.dtype))


class Rprop(Optimizer):
    """Resilient backpropagation: each element has a step size that grows while the gradient keeps its sign.

    Where g and the g before have one sign, the step size (at first lr) is multiplied by ``etas[1]``, where they differ
    by ``etas[0]``, there g counts as 0; it stays within `step_sizes`.  Then ``p -= sign(g) * step size``.  State as
    Parameters: `prev.X` (the g before), `step_size.X`, `step_t`.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = Rprop([p], lr=0.5)((Tensor([3.0]),)); p.tolist()
    [0.5]
    """

    step_t: Any
    _counter = "step_t"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        maximize: bool = False,
    ) -> None:
        checked_number("etas[0]", etas[0], above=0.0, below=1.0)
        checked_number("etas[1]", etas[1], above=1.0)
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})
        self.prev = self.moments_like("prev")
        self.step_size = self.moments_like("step_size")

    def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
        prev, size = self.prev[i], self.step_size[i]
        (shrink, grow), (smallest, greatest) = group["etas"], group["step_sizes"]
        agreement = g * prev
        factor = ops.where(agreement > 0.0, float(grow), ops.where(agreement < 0.0, float(shrink), 1.0))
        before = ops.where(self.step_t == 1, group["lr"], ops.cast(size, float32))
        new_size = ops.clamp(before * factor, float(smallest), float(greatest))
        kept = ops.where(agreement < 0.0, 0.0, g)
        ops.assign(prev, ops.cast(kept, prev.dtype))
        ops.assign(size, ops.cast(new_size, size.dtype))
        return ops.assign(p, ops.cast(p - ops.sign(kept) * new_size, p.dtype))
