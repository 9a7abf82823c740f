"""Adam and its variants: steps scaled by running means of the gradient and of its size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from ..dtypes import float32
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from .groups import checked_flag, checked_number
from .optimizer import Optimizer
from .state import in_dtype_of, minus, over, plus, running_mean, times

__all__ = ["AdaMax", "Adam", "AdamOffload", "AdamW", "AdamWeightDecay", "LazyAdam", "checked_beta"]


def checked_beta(name: str, value: Any) -> float:
    """A decay factor of a running mean, between 0 and 1; TypeError, ValueError."""
    return checked_number(name, value, above=0.0, below=1.0)


def _power(name: str, shape: tuple[int, ...]) -> Parameter:
    return Parameter(Tensor(shape=shape, dtype=float32, init=1), name, requires_grad=False)


class Adam(Optimizer):
    """Adam: steps scaled by running means of the gradient and of its square.

    In step t = 1, 2, ...: ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g**2``,
    ``p -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + eps)``.  With `use_nesterov` the last m is replaced
    by ``beta1 * m + (1 - beta1) * g``; with `use_amsgrad` the last v by the greatest so far.

    State as Parameters: `moment1.X` (m), `moment2.X` (v), `vhat.X`, and the powers `beta1_power`, `beta2_power`.
    Gradients are dense here, and of dense ones MindSpore's `use_lazy` and `use_offload` change nothing either.

    >>> p = Parameter([1.0], name="p")
    >>> _ = Adam([p], learning_rate=0.25)([Tensor([2.0])]); round(p.item(), 6)  # the first step is lr * sign(g)
    0.75
    """

    beta1_power: Any
    beta2_power: Any
    _shape_of_powers: tuple[int, ...] = ()

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        for name in kwargs:
            if name not in ("use_lazy", "use_offload"):
                raise TypeError(f"Adam has no argument {name!r}")
            checked_flag(name, kwargs[name])
        if sum(kwargs.values()) + use_amsgrad > 1:
            raise ValueError("`use_lazy`, `use_offload` and `use_amsgrad` exclude each other")
        self.beta1, self.beta2 = checked_beta("beta1", beta1), checked_beta("beta2", beta2)
        self.eps = checked_number("eps", eps, above=0.0)
        checked_flag("use_locking", use_locking)
        self.use_nesterov = checked_flag("use_nesterov", use_nesterov)
        self.use_amsgrad = checked_flag("use_amsgrad", use_amsgrad)
        self.beta1_power = _power("beta1_power", self._shape_of_powers)
        self.beta2_power = _power("beta2_power", self._shape_of_powers)
        self.moment1 = self.moments_like("moment1")
        self.moment2 = self.moments_like("moment2")
        self.vhat = self.moments_like("vhat") if use_amsgrad else self.moment2

    def begin(self, rates: list[Any]) -> list[Any]:
        first = self.kept_power(self.beta1_power, self.beta1)
        second = self.kept_power(self.beta2_power, self.beta2)
        correction = ops.cast(ops.sqrt(1.0 - second) / (1.0 - first), float32)
        return [lr * correction for lr in rates]

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        m, v, greatest = self.moment1[i], self.moment2[i], self.vhat[i] if self.use_amsgrad else None
        new, new_m, new_v, new_greatest = _adam(
            p, g, m, v, greatest, lr, self.beta1, self.beta2, self.eps, self.use_nesterov
        )
        ops.assign(m, new_m)
        ops.assign(v, new_v)
        if greatest is not None:
            ops.assign(greatest, new_greatest)
        return ops.assign(p, new)


def _adam(
    p: Any, g: Any, m: Any, v: Any, greatest: Any, lr: Any, beta1: float, beta2: float, eps: float, nesterov: bool
) -> tuple[Any, ...]:
    """A Parameter, m, v and the greatest v (None if it is not kept) after a step of `Adam`."""
    new_m, size = running_mean(m, beta1, g), running_mean(v, beta2, ops.square(g))
    new_v, new_greatest = in_dtype_of(v, size), None
    if greatest is not None:
        size = ops.maximum(greatest, size)
        new_greatest = in_dtype_of(greatest, size)
    direction = running_mean(new_m, beta1, g) if nesterov else new_m
    new = minus(p, over(times(lr, direction), plus(ops.sqrt(size), eps)))
    return in_dtype_of(p, new), in_dtype_of(m, new_m), new_v, new_greatest


class LazyAdam(Adam):
    """`Adam`: of dense gradients, and all are dense here, MindSpore's LazyAdam takes the same steps.

    >>> p = Parameter([1.0], name="p")
    >>> _ = LazyAdam([p], learning_rate=0.25)([Tensor([2.0])]); round(p.item(), 6)
    0.75
    """

    _shape_of_powers = (1,)

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale)


class AdamOffload(LazyAdam):
    """`Adam`: there is no other device here whose memory could be spared.

    >>> p = Parameter([1.0], name="p")
    >>> _ = AdamOffload([p], learning_rate=0.25)([Tensor([2.0])]); round(p.item(), 6)
    0.75
    """


class AdamWeightDecay(Optimizer):
    """Adam without bias correction, and with a weight decay that is no part of the gradient.

    ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g**2``,
    ``p -= lr * (m / (sqrt(v) + eps) + weight_decay * p)``.  State as Parameters: `adam_m.X`, `adam_v.X`.

    >>> p = Parameter([1.0], name="p")
    >>> _ = AdamWeightDecay([p], 0.5, weight_decay=0.5)([Tensor([0.0])]); p.tolist()
    [0.75]
    """

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.beta1, self.beta2 = checked_beta("beta1", beta1), checked_beta("beta2", beta2)
        self.eps = checked_number("eps", eps, above=0.0)
        self.moments1 = self.moments_like("adam_m")
        self.moments2 = self.moments_like("adam_v")

    def decay_weight(self, gradients: Any) -> Any:
        return gradients

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        return ops.assign(p, ops.cast(p - lr * self.step(i, p, g), p.dtype))

    def step(self, i: int, p: Any, g: Any) -> Any:
        """Updates the moments, and returns the step at the learning rate 1."""
        decay = self.decay_of(i)
        kept_m, kept_v = self.moments1[i], self.moments2[i]
        m, v, new_m, new_v = _moved(kept_m, kept_v, g, self.beta1, self.beta2)
        ops.assign(kept_m, new_m)
        ops.assign(kept_v, new_v)
        step = self.direction(m, v)
        return step if decay is None else step + decay * p

    def direction(self, m: Any, v: Any) -> Any:
        """The direction of the step: the quotient of the moments."""
        return m / (ops.sqrt(v) + self.eps)


def _moved(m: Any, v: Any, g: Any, beta1: float, beta2: float) -> tuple[Any, ...]:
    """The next m and v, and once more as the state keeps them."""
    new_m, new_v = running_mean(m, beta1, g), running_mean(v, beta2, ops.square(g))
    return new_m, new_v, in_dtype_of(m, new_m), in_dtype_of(v, new_v)


class AdamW(AdamWeightDecay):
    """Adam with bias correction and a weight decay that is no part of the gradient.

    In step t: m and v as in `Adam`, ``d = m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps)``,
    ``p -= lr * (d + weight_decay * p)``.
    As everywhere, names with "beta" or "gamma" are not decayed, unless groups say so.

    >>> p = Parameter([1.0], name="p")
    >>> _ = AdamW([p], 0.25, weight_decay=0.0)([Tensor([2.0])]); round(p.item(), 6)
    0.75
    """

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: Any = 1e-2,
    ) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay)

    def direction(self, m: Any, v: Any) -> Any:
        first = ops.cast(1.0 - self.beta_power(self.beta1), float32)
        second = ops.cast(1.0 - self.beta_power(self.beta2), float32)
        return m / first / (ops.sqrt(v / second) + self.eps)


class AdaMax(Optimizer):
    """Adam with the decaying maximum of the gradients' size in the place of the root of their mean square.

    In step t: ``m = beta1 * m + (1 - beta1) * g``, ``v = max(beta2 * v, |g|)``,
    ``p -= lr / (1 - beta1**t) * m / (v + eps)``.  State as Parameters: `moment1.X`, `moment2.X`, `beta1_power`.

    >>> p = Parameter([1.0], name="p")
    >>> _ = AdaMax([p], learning_rate=0.25)([Tensor([2.0])]); round(p.item(), 6)
    0.75
    """

    beta1_power: Any

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1, self.beta2 = checked_beta("beta1", beta1), checked_beta("beta2", beta2)
        self.eps = checked_number("eps", eps, above=0.0)
        self.beta1_power = _power("beta1_power", (1,))
        self.moment1 = self.moments_like("moment1")
        self.moment2 = self.moments_like("moment2")

    def begin(self, rates: list[Any]) -> list[Any]:
        correction = ops.cast(1.0 - self.kept_power(self.beta1_power, self.beta1), float32)
        return [lr / correction for lr in rates]

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        m = self.running_mean(self.moment1[i], self.beta1, g)
        v = self.kept(self.moment2[i], ops.maximum(self.beta2 * self.moment2[i], ops.abs(g)))
        return ops.assign(p, ops.cast(p - lr * m / (v + self.eps), p.dtype))
