"""MindSpore's operator classes for the steps of optimizers: one Parameter and its moments, updated by a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.primitive import call
from ..runtime.parameter import Parameter
from .operation import constant, operation
from .state import assign, compiled_from_source

__all__: list[str] = []

_Function = Callable[..., Any]
_source = compiled_from_source


@_source
def _write(p: Any, value: Any) -> Any:
    """Gives a Parameter (or the elements of a Tensor) a value in its dtype, and returns that."""
    value = call.cast(value, p.dtype)
    if isinstance(p, Parameter):
        return assign(p, value)
    p[...] = value
    return value


def _locking(function: _Function) -> Callable[..., _Function]:
    """The maker of a class whose only constant, `use_locking`, has no effect."""

    def make(use_locking: bool = False) -> _Function:
        return function

    make.__doc__ = function.__doc__
    return make


# ------------------------------------------------------------------------------------------------ momentum
def _momentum(use_nesterov: bool = False, use_locking: bool = False, gradient_scale: float = 1.0) -> _Function:
    """One step of gradient descent with momentum: ``v = momentum * v + g``; ``p -= lr * v``.

    ``g = gradient_scale * gradient``; with `use_nesterov` ``p -= lr * (g + momentum * v)``.
    """

    @_source
    def run(variable: Any, accumulation: Any, learning_rate: Any, gradient: Any, momentum: Any) -> Any:
        g = gradient * gradient_scale
        v = _write(accumulation, accumulation * momentum + g)
        step = (g + v * momentum) if use_nesterov else v
        return _write(variable, variable - step * learning_rate)

    return run


def _keras_momentum(use_locking: bool = False, use_nesterov: bool = False) -> _Function:
    """One step of Keras' momentum: ``v = momentum * v - lr * g``; ``p += v``.

    With `use_nesterov` ``p += momentum * v - lr * g``.
    """

    @_source
    def run(var: Any, accum: Any, lr: Any, grad: Any, momentum: Any) -> Any:
        v = _write(accum, accum * momentum - grad * lr)
        return _write(var, var + (v * momentum - grad * lr if use_nesterov else v)), v

    return run


def _sgd(dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> _Function:
    """One step of stochastic gradient descent: ``v = momentum * v + (1 - dampening) * g``; ``p -= lr * v``.

    ``g = gradient + weight_decay * p``; with `nesterov` ``p -= lr * (g + momentum * v)``; without momentum v is g.
    `stat` is above 0 before the first step, in which v is g itself.
    """

    @_source
    def run(parameters: Any, gradient: Any, learning_rate: Any, accum: Any, momentum: Any, stat: Any) -> Any:
        g = gradient + parameters * weight_decay
        v = _write(accum, call.where(stat > 0, g, accum * momentum + g * (1.0 - dampening)))
        _write(stat, call.zeros_like(stat))
        moved = call.where(call.greater(momentum, 0), g + v * momentum if nesterov else v, g)
        return _write(parameters, parameters - moved * learning_rate)

    return run


# ------------------------------------------------------------------------------------------------ squares of gradients
@_source
def _rmsprop(
    var: Any, mean_square: Any, moment: Any, learning_rate: Any, grad: Any, decay: Any, momentum: Any, epsilon: Any
) -> Any:
    """One step of RMSProp: ``s = decay * s + (1 - decay) * g**2``; ``m = momentum * m + lr * g / sqrt(s + epsilon)``.

    Then ``p -= m``.
    """
    s = _write(mean_square, mean_square * decay + grad * grad * (1.0 - decay))
    m = _write(moment, moment * momentum + grad * learning_rate / call.sqrt(s + epsilon))
    return _write(var, var - m)


@_source
def _centered_rmsprop(
    var: Any, mean_gradient: Any, mean_square: Any, moment: Any, grad: Any, learning_rate: Any, decay: Any,
    momentum: Any, epsilon: Any,
) -> Any:  # fmt: skip
    """One step of centered RMSProp, whose root is that of the variance of g: ``s - a**2 + epsilon``.

    ``a`` and ``s`` are the running means of g and g**2; ``m = momentum * m + lr * g / root``; ``p -= m``.
    """
    g = _write(mean_gradient, mean_gradient * decay + grad * (1.0 - decay))
    s = _write(mean_square, mean_square * decay + grad * grad * (1.0 - decay))
    m = _write(moment, moment * momentum + grad * learning_rate / call.sqrt(s - g * g + epsilon))
    return _write(var, var - m)


@_source
def _adadelta(var: Any, accum: Any, accum_update: Any, lr: Any, rho: Any, epsilon: Any, grad: Any) -> Any:
    """One step of Adadelta: ``d = sqrt(u + epsilon) / sqrt(s + epsilon) * g``; ``p -= lr * d``.

    ``s`` and ``u`` are the running means, by `rho`, of g**2 and d**2.
    """
    s = _write(accum, accum * rho + grad * grad * (1.0 - rho))
    update = call.sqrt(accum_update + epsilon) * grad / call.sqrt(s + epsilon)
    u = _write(accum_update, accum_update * rho + update * update * (1.0 - rho))
    return _write(var, var - update * lr), s, u


def _adagrad_step(epsilon: float, update_slots: bool) -> _Function:
    @_source
    def run(var: Any, accum: Any, lr: Any, grad: Any) -> Any:
        s = _write(accum, accum + grad * grad if update_slots else accum)
        return _write(var, var - grad * lr / (call.sqrt(s) + epsilon)), s

    return run


def _adagrad(update_slots: bool = True) -> _Function:
    """One step of Adagrad: ``s += g**2``; ``p -= lr * g / sqrt(s)``.

    Without `update_slots` s stays.
    """
    return _adagrad_step(0.0, update_slots)


def _adagrad_v2(epsilon: float, update_slots: bool = True) -> _Function:
    """One step of Adagrad: ``s += g**2``; ``p -= lr * g / (sqrt(s) + epsilon)``.

    Without `update_slots` s stays.
    """
    return _adagrad_step(epsilon, update_slots)


def _sparse_adagrad_v2(lr: float, epsilon: float, use_locking: bool = False, update_slots: bool = True) -> _Function:
    """One step of Adagrad for the rows at `indices`: ``s += g**2``; ``p -= lr * g / (sqrt(s) + epsilon)``.

    Without `update_slots` s stays.
    """

    @_source
    def run(var: Any, accum: Any, grad: Any, indices: Any) -> Any:
        g, touched = _rows(var, grad, indices)
        s = _write(accum, accum + g * g if update_slots else accum)
        new = var - g * lr / (call.sqrt(s) + epsilon)
        return _write(var, call.where(touched, new, var)), s

    return run


@_source
def _rows(var: Any, grad: Any, indices: Any) -> Any:
    """The dense gradient of sparse rows (repeated indices add up), and the mask of the rows that have one."""
    g = call.scatter_add(call.zeros_like(var), indices, call.cast(grad, var.dtype))
    touched = call.scatter_add(call.zeros_like(var), indices, call.ones_like(grad)) > 0
    return g, touched


@_source
def _adagrad_da(
    var: Any, gradient_accumulator: Any, gradient_squared_accumulator: Any, grad: Any, lr: Any, l1: Any, l2: Any,
    global_step: Any,
) -> Any:  # fmt: skip
    """One step of Adagrad by dual averaging: ``p = -lr * shrunk / (l2 * step * lr + sqrt(sum of g**2))``.

    ``shrunk`` is the sum of all g, moved by ``l1 * step`` towards 0.
    """
    total = _write(gradient_accumulator, gradient_accumulator + grad)
    squares = _write(gradient_squared_accumulator, gradient_squared_accumulator + grad * grad)
    shrunk = _soft_threshold(total, l1 * global_step)
    return _write(var, -lr * shrunk / (l2 * global_step * lr + call.sqrt(squares)))


# ------------------------------------------------------------------------------------------------ Adam and its kin
@_source
def _moments(m: Any, v: Any, g: Any, beta1: Any, beta2: Any) -> Any:
    return _write(m, m * beta1 + g * (1.0 - beta1)), _write(v, v * beta2 + g * g * (1.0 - beta2))


def _adam(use_locking: bool = False, use_nesterov: bool = False) -> _Function:
    """One step of Adam: ``p -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + epsilon)``.

    m and v are the running means of g and g**2, `beta1_power` and `beta2_power` the powers.
    With `use_nesterov` the last m is replaced by ``beta1 * m + (1 - beta1) * g``.
    """

    @_source
    def run(
        var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
        gradient: Any,
    ) -> Any:  # fmt: skip
        first, second = _moments(m, v, gradient, beta1, beta2)
        rate = lr * call.sqrt(1.0 - beta2_power) / (1.0 - beta1_power)
        ahead = first * beta1 + gradient * (1.0 - beta1) if use_nesterov else first
        return _write(var, var - rate * ahead / (call.sqrt(second) + epsilon)), first, second

    return run


@_source
def _adam_weight_decay(
    var: Any, m: Any, v: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, decay: Any, gradient: Any
) -> Any:
    """One step of Adam without bias correction: ``p -= lr * (m / (sqrt(v) + epsilon) + decay * p)``."""
    first, second = _moments(m, v, gradient, beta1, beta2)
    update = first / (call.sqrt(second) + epsilon) + var * decay
    return _write(var, var - update * lr), first, second


@_source
def _amsgrad_step(
    var: Any, m: Any, v: Any, vhat: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any,
    epsilon: Any, grad: Any,
) -> Any:  # fmt: skip
    """One step of AMSGrad: that of Adam with the greatest v so far, `vhat`, in place of v."""
    first, second = _moments(m, v, grad, beta1, beta2)
    greatest = _write(vhat, call.maximum(vhat, second))
    rate = lr * call.sqrt(1.0 - beta2_power) / (1.0 - beta1_power)
    return _write(var, var - rate * first / (call.sqrt(greatest) + epsilon)), first, second, greatest


def _amsgrad(beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, use_locking: bool = False) -> _Function:
    """One step of AMSGrad: that of Adam with the greatest v so far, `vhat`, in place of v."""

    @_source
    def run(var: Any, m: Any, v: Any, vhat: Any, beta1_power: Any, beta2_power: Any, lr: Any, grad: Any) -> Any:
        return _amsgrad_step(var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad)

    return run


@_source
def _adamax(
    var: Any, m: Any, v: Any, beta1_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any
) -> Any:
    """One step of AdaMax: ``v = max(beta2 * v, |g|)``; ``p -= lr / (1 - beta1**t) * m / (v + epsilon)``."""
    first = _write(m, m * beta1 + grad * (1.0 - beta1))
    greatest = _write(v, call.maximum(v * beta2, call.abs(grad)))
    return _write(var, var - lr / (1.0 - beta1_power) * first / (greatest + epsilon)), first, greatest


# ------------------------------------------------------------------------------------------------ by signs
@_source
def _add_sign(var: Any, m: Any, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Any) -> Any:
    """One step of AddSign: ``p -= lr * (alpha + sign_decay * sign(g) * sign(m)) * g``.

    m is the running mean of g by `beta`.
    """
    first = _write(m, m * beta + grad * (1.0 - beta))
    update = (call.sign(grad) * call.sign(first) * sign_decay + alpha) * grad
    return _write(var, var - update * lr), first


@_source
def _power_sign(var: Any, m: Any, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Any) -> Any:
    """One step of PowerSign: ``p -= lr * exp(logbase * sign_decay * sign(g) * sign(m)) * g``.

    m is the running mean of g by `beta`.
    """
    first = _write(m, m * beta + grad * (1.0 - beta))
    update = call.exp(call.sign(grad) * call.sign(first) * sign_decay * logbase) * grad
    return _write(var, var - update * lr), first


# ------------------------------------------------------------------------------------------------ proximal steps
@_source
def _soft_threshold(x: Any, by: Any) -> Any:
    """Soft thresholding: every element moved by `by` towards 0, not beyond."""
    return call.sign(x) * call.maximum(call.abs(x) - by, 0)


@_source
def _descent(var: Any, alpha: Any, delta: Any) -> Any:
    """One step of gradient descent: ``p -= alpha * delta``."""
    return _write(var, var - delta * alpha)


@_source
def _proximal_descent(var: Any, alpha: Any, l1: Any, l2: Any, delta: Any) -> Any:
    """One proximal step of gradient descent with L1 and L2 penalties.

    ``q = p - alpha * delta``; ``p = sign(q) * max(|q| - alpha * l1, 0) / (1 + alpha * l2)``.
    """
    return _write(var, _soft_threshold(var - delta * alpha, alpha * l1) / (1.0 + alpha * l2))


@_source
def _proximal_adagrad(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any) -> Any:
    """One proximal step of Adagrad with L1 and L2 penalties.

    ``s += g**2``; ``q = p - lr * g / sqrt(s)``; ``p = sign(q) * max(|q| - lr * l1, 0) / (1 + lr * l2)``.
    """
    s = _write(accum, accum + grad * grad)
    return _write(var, _soft_threshold(var - grad * lr / call.sqrt(s), lr * l1) / (1.0 + lr * l2)), s


@_source
def _ftrl_step(var: Any, accum: Any, linear: Any, g: Any, lr: Any, l1: Any, l2: Any, lr_power: Any) -> Any:
    """The new values of one FTRL ("follow the regularized leader") step."""
    s = accum + g * g
    z = linear + g - (call.pow(s, -lr_power) - call.pow(accum, -lr_power)) / lr * var
    return -_soft_threshold(z, l1) / (call.pow(s, -lr_power) / lr + 2.0 * l2), s, z


@_source
def _ftrl(var: Any, accum: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, lr_power: Any) -> Any:
    """One step of FTRL ("follow the regularized leader") with L1 and L2 penalties; see `nn.FTRL`."""
    new, s, z = _ftrl_step(var, accum, linear, grad, lr, l1, l2, lr_power)
    _write(accum, s)
    _write(linear, z)
    return _write(var, new)


def _sparse_ftrl(lr: float, l1: float, l2: float, lr_power: float, use_locking: bool = False) -> _Function:
    """One step of FTRL for the rows at `indices`; see `nn.FTRL`."""

    @_source
    def run(var: Any, accum: Any, linear: Any, grad: Any, indices: Any) -> Any:
        g, touched = _rows(var, grad, indices)
        new, s, z = _ftrl_step(var, accum, linear, g, lr, l1, l2, lr_power)
        s, z = _write(accum, s), _write(linear, call.where(touched, z, linear))
        return _write(var, call.where(touched, new, var)), s, z

    return run


_MAKERS: dict[str, Callable[..., _Function]] = {
    "Adam": _adam,
    "AdamWeightDecay": _locking(_adam_weight_decay),
    "ApplyAdaMax": constant(_adamax),
    "ApplyAdadelta": constant(_adadelta),
    "ApplyAdagrad": _adagrad,
    "ApplyAdagradDA": _locking(_adagrad_da),
    "ApplyAdagradV2": _adagrad_v2,
    "ApplyAdamWithAmsgrad": _amsgrad,
    "ApplyAdamWithAmsgradV2": _locking(_amsgrad_step),
    "ApplyAddSign": constant(_add_sign),
    "ApplyCenteredRMSProp": _locking(_centered_rmsprop),
    "ApplyFtrl": _locking(_ftrl),
    "ApplyGradientDescent": constant(_descent),
    "ApplyKerasMomentum": _keras_momentum,
    "ApplyMomentum": _momentum,
    "ApplyPowerSign": constant(_power_sign),
    "ApplyProximalAdagrad": _locking(_proximal_adagrad),
    "ApplyProximalGradientDescent": constant(_proximal_descent),
    "ApplyRMSProp": _locking(_rmsprop),
    "SGD": _sgd,
    "SparseApplyAdagradV2": _sparse_adagrad_v2,
    "SparseApplyFtrl": _sparse_ftrl,
}

for _name, _make in _MAKERS.items():
    globals()[_name] = operation(_name, _make, __name__)
__all__ += _MAKERS
