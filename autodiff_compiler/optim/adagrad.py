"""Steps scaled by the sum of all squared gradients so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from .groups import checked_flag, checked_number
from .optimizer import Optimizer

__all__ = ["FTRL", "Adagrad", "ProximalAdagrad"]


class Adagrad(Optimizer):
    """Adagrad: ``s += g**2``; ``p -= lr * g / sqrt(s)``.

    The s, Parameters called `accum.X`, begin with `accum`; without `update_slots` they stay.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = Adagrad([p], accum=9.0, learning_rate=0.5)([Tensor([4.0])]); p.tolist()
    [0.6000000238418579]
    """

    def __init__(
        self,
        params: Iterable[Any],
        accum: float = 0.1,
        learning_rate: Any = 1e-3,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.update_slots = checked_flag("update_slots", update_slots)
        self.accum = self.moments_like("accum", checked_number("accum", accum, least=0.0))

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        s = self.accum[i]
        new_s = s + ops.square(g) if self.update_slots else s
        step = lr * g / ops.sqrt(new_s)
        if self.update_slots:
            ops.assign(s, ops.cast(new_s, s.dtype))
        return ops.assign(p, ops.cast(p - step, p.dtype))


class ProximalAdagrad(Optimizer):
    """Adagrad with L1 and L2 penalties (`l1`, `l2`), taken as proximal steps.

    ``s += g**2``; ``q = p - lr * g / sqrt(s)``; ``p = sign(q) / (1 + lr * l2) * max(|q| - lr * l1, 0)``.  The s are
    Parameters called `accum.X` and begin with `accum`.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = ProximalAdagrad([p], accum=9.0, learning_rate=0.5, l1=0.25)([Tensor([0.0])]); p.tolist()
    [0.875]
    """

    def __init__(
        self,
        params: Iterable[Any],
        accum: float = 0.1,
        learning_rate: Any = 1e-3,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.l1 = checked_number("l1", l1, least=0.0)
        self.l2 = checked_number("l2", l2, least=0.0)
        checked_flag("use_locking", use_locking)
        self.accum = self.moments_like("accum", checked_number("accum", accum, least=0.0))

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        s = self.accum[i]
        new_s = s + ops.square(g)
        ops.assign(s, ops.cast(new_s, s.dtype))
        q = p - lr * g / ops.sqrt(new_s)
        new = ops.sign(q) / (1.0 + lr * self.l2) * ops.maximum(ops.abs(q) - lr * self.l1, 0.0)
        return ops.assign(p, ops.cast(new, p.dtype))


class FTRL(Optimizer):
    """FTRL, follow the regularized leader: the L1 penalty `l1` keeps Parameters at exactly 0 until gradients add up.

    ``n = s + g**2``; ``u += g - (n**-lr_power - s**-lr_power) / lr * p``; ``s = n``; then
    ``p = (sign(u) * l1 - u) / (s**-lr_power / lr + 2 * l2)`` where ``|u| > l1``, else 0.  The s, Parameters called
    `moments.X`, begin with `initial_accum`; the u are called `linear.X`.

    The rate is one number above 0: ValueError for schedules and rates of groups.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([0.0, 0.0], name="p")
    >>> _ = FTRL([p], learning_rate=0.5, initial_accum=0.0, l1=1.0)([Tensor([0.5, 3.0])])
    >>> [round(v, 4) for v in p.tolist()]
    [0.0, -0.3333]
    """

    def __init__(
        self,
        params: Iterable[Any],
        initial_accum: float = 0.1,
        learning_rate: float = 1e-3,
        lr_power: float = -0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.is_group_lr or self.dynamic_lr:
            raise ValueError("FTRL takes one learning rate for all steps and Parameters")
        checked_number("learning_rate", learning_rate, above=0.0)
        self.power = -checked_number("lr_power", lr_power)
        if self.power < 0.0:
            raise ValueError(f"`lr_power` must be <= 0.0, not {lr_power}")
        self.l1 = checked_number("l1", l1, least=0.0)
        self.l2 = checked_number("l2", l2, least=0.0)
        checked_flag("use_locking", use_locking)
        self.moments = self.moments_like("moments", checked_number("initial_accum", initial_accum, least=0.0))
        self.linear = self.moments_like("linear")
        if not self.is_group:
            self.decay_flags = (True,) * len(self.parameters)

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        s, u = self.moments[i], self.linear[i]
        new_s = s + ops.square(g)
        root = new_s**self.power
        new_u = u + g - (root - s**self.power) / lr * p
        new = (ops.sign(new_u) * self.l1 - new_u) / (root / lr + 2.0 * self.l2)
        new = ops.where(ops.abs(new_u) > self.l1, new, 0.0)
        ops.assign(s, ops.cast(new_s, s.dtype))
        ops.assign(u, ops.cast(new_u, u.dtype))
        return ops.assign(p, ops.cast(new, p.dtype))
