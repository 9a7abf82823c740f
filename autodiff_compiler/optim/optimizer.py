"""The base class of optimizers: trained Parameters, learning rates, weight decay and loss scale."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import ops
from ..dtypes import float64, int32
from ..nn.arguments import flag
from ..nn.cell import Cell
from ..peer_names import OPTIMIZER, without
from ..runtime.parameter import Parameter, ParameterTuple
from ..runtime.tensor import Tensor
from .groups import checked_number, checked_rate, groups_of, positions
from .sharded import ShardedState
from .state import KeptState

__all__ = ["Optimizer", "opt_init_args_register"]


def opt_init_args_register(init: Callable[..., None]) -> Callable[..., None]:
    """Decorates the `__init__` of a user's optimizer: its arguments are stored as attributes.

    `init_params` is ``{"params": ...}``, `init_learning_rate` the rate (None if it is a Cell), and `init_args` a dict
    of the other arguments, defaults included.

    >>> class Plain(Optimizer):
    ...     @opt_init_args_register
    ...     def __init__(self, params, learning_rate=0.5, momentum=0.9):
    ...         super().__init__(learning_rate, params)
    >>> plain = Plain([Parameter([1.0], name="p")]); plain.init_learning_rate, plain.init_args
    (0.5, {'momentum': 0.9})
    """
    signature = inspect.signature(init)

    @functools.wraps(init)
    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        given = dict(list(bound.arguments.items())[1:])
        if "params" in given:
            self.init_params = {"params": given.pop("params")}
        if "learning_rate" in given:
            rate = given.pop("learning_rate")
            self.init_learning_rate = None if isinstance(rate, Cell) else rate
        self.init_args = given
        init(self, *args, **kwargs)

    return noting


class Optimizer(ShardedState, KeptState, Cell):
    """Base of optimizers: ``optimizer(gradients)`` changes the Parameters, eagerly or inside compiled functions.

    `learning_rate` is a number, a Tensor or list with the rate of every step (the last one stays), or a Cell that is
    called with `global_step`.  Weight decay, a number or such a Cell, adds ``weight_decay * p`` to the gradient of
    every Parameter whose name contains neither "beta" nor "gamma"; gradients are divided by `loss_scale` before.

    Instead of Parameters there may be groups: dicts with `params` and, where they differ from the optimizer's, `lr`,
    `weight_decay` (then no name is left out) and `grad_centralization` (the mean over all axes but the first is
    subtracted from the gradients of convolutions).  ``{"order_params": [...]}`` says in which order they are trained.

    `parameters` are the trained Parameters; `learning_rate` (unless it is a Cell) and `global_step` are Parameters too.
    With rates of groups, `learning_rate` is the tuple of all Parameters' rates.

    A subclass defines `update`, the step of one Parameter, or all of `construct`.

    >>> class Plain(Optimizer):
    ...     def update(self, i, p, g, lr):
    ...         return ops.assign(p, p - lr * g)
    >>> a, b = Parameter([1.0], name="a"), Parameter([1.0], name="b")
    >>> optimizer = Plain(0.5, [{"params": [a]}, {"params": [b], "lr": 0.25}])
    >>> _ = optimizer((Tensor([1.0]), Tensor([1.0]))); a.tolist(), b.tolist()
    ([0.5], [0.75])
    """

    learning_rate: Any
    global_step: Any

    def __init__(
        self, learning_rate: Any, parameters: Iterable[Any], weight_decay: Any = 0.0, loss_scale: float = 1.0
    ) -> None:
        super().__init__(auto_prefix=False)
        groups, order, self.is_group = groups_of(parameters, weight_decay)
        placed = positions(groups, order)
        self.global_step = Parameter(Tensor([0], int32), "global_step", requires_grad=False)
        rate = checked_rate(learning_rate, "learning_rate")
        self.loss_scale = checked_number("loss_scale", loss_scale, above=0.0)
        self.is_group_lr = any(group.rate is not None for group in groups)
        #: The group of each Parameter.
        self.group_of = tuple(index for _, index in placed)
        if self.is_group_lr:
            made = [
                rate if group.rate is None else checked_rate(group.rate, f"learning_rate_group_{index}")
                for index, group in enumerate(groups)
            ]
            self.group_rates = tuple(made)
            self.learning_rate = tuple(made[index] for index in self.group_of)
            self.rates_kept = ParameterTuple({id(r): r for r in made if isinstance(r, Parameter)}.values())
        else:
            self.learning_rate = rate
        if self.is_group:
            self.weight_decay: Any = tuple(groups[index].decay for index in self.group_of)
            self.centralized = tuple(groups[index].centralized for index in self.group_of)
        else:
            self.weight_decay = groups[0].decay
        self.parameters = ParameterTuple(p for p, _ in placed)
        self.decay_flags = tuple(
            # MindSpore 2.10: Parameters with "beta" or "gamma" in their names are not decayed, unless there are groups.
            _is_on(groups[index].decay) if self.is_group else "beta" not in p.name and "gamma" not in p.name
            for p, index in placed
        )
        self._share(any(group.centralized for group in groups))
        # Attributes that optimizers written for MindSpore use.
        self._parameters, self.param_length = self.parameters, len(self.parameters)
        self.hyper_map = self.map_ = ops.HyperMap()
        self.assignadd, self.global_step_increase_tensor = ops.assign_add, 1
        self.optim_filter, self.use_parallel = (True,) * len(self.parameters), self.sharding is not None

    # ------------------------------------------------------------------------------------------- a step
    def construct(self, gradients: Any) -> Any:
        """One step: changes the Parameters and returns them."""
        gradients = self.checked(gradients)
        self.step_of_trained(gradients if self.sharding is None else self.own_parts(gradients))
        return tuple(self.parameters)

    def step_of_trained(self, gradients: Any) -> None:
        """One step with the gradients of what this process trains: of the Parameters, or of its parts of them."""
        if self.sharding is not None:
            self.refresh()
        gradients, rates = self.prepared(gradients), self.begin(self.rates())
        trained = zip(self.trained, gradients, strict=True)
        _ = [  # a comprehension is always unrolled
            self.update(i, p, g, rates[self.group_of[i]] if self.is_group_lr else rates[0])
            for i, (p, g) in enumerate(trained)
        ]
        ops.assign_add(self.global_step, 1)
        if self.sharding is not None:
            self.collect()

    def begin(self, rates: list[Any]) -> list[Any]:
        """Runs once per step, before the updates; returns the rates of the groups."""
        return rates

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        """Changes Parameter number `i` by its gradient; `lr` is a Tensor without dimensions."""
        raise NotImplementedError(f"{type(self).__name__} has no method 'update'")

    # ------------------------------------------------------------------------------------------- rates
    def steps_done(self) -> Any:
        """The number of steps before this one: `global_step`, which has shape (1,), without dimensions."""
        return ops.reshape(self.global_step, ())

    def beta_power(self, beta: float) -> Any:
        """``beta**t`` in step t = 1, 2, ...: float64, for float32 would lose the digits of ``1 - beta**t``."""
        return beta ** ops.cast(self.steps_done() + 1, float64)

    def kept_power(self, state: Any, beta: float) -> Any:
        """`beta_power`, also stored in a float32 Parameter for checkpoints."""
        value = self.beta_power(beta)
        ops.assign(state, ops.reshape(ops.cast(value, state.dtype), state.shape))
        return value

    @property
    def dynamic_lr(self) -> bool:
        """Whether a learning rate is a schedule."""
        return any(isinstance(rate, Cell) or rate.ndim > 0 for rate in self._rates())

    @property
    def dynamic_weight_decay(self) -> bool:
        """Whether a weight decay is a schedule."""
        return any(isinstance(decay, Cell) for decay in self._decays())

    def _is_dynamic_lr_or_weight_decay(self) -> bool:
        return self.dynamic_lr or self.dynamic_weight_decay

    def _rates(self) -> tuple[Any, ...]:
        return self.group_rates if self.is_group_lr else (self.learning_rate,)

    def _decays(self) -> tuple[Any, ...]:
        return self.weight_decay if self.is_group else (self.weight_decay,)

    def rates(self) -> list[Any]:
        """The learning rates of the next step, one per group: float Tensors without dimensions."""
        return [self._now(rate) for rate in self._rates()]

    def _now(self, rate: Any) -> Any:
        if isinstance(rate, Cell):
            return ops.reshape(rate(self.global_step), ())
        if rate.ndim == 0:
            return rate
        return ops.gather(rate, ops.minimum(self.steps_done(), rate.shape[0] - 1), 0)

    def get_lr(self) -> Any:
        """The learning rate of this step, a Tensor without dimensions; with rates of groups a tuple of all Parameters'.

        As in MindSpore, asking for a rate (or beside a weight decay) that changes from step to step begins the next
        step: it adds 1 to `global_step`.  It is meant for the `construct` of subclasses.
        """
        rates = self.rates()
        if self._is_dynamic_lr_or_weight_decay():
            # MindSpore 2.10: asking for a rate that changes from step to step begins the next step.
            rates = [rate * 1.0 for rate in rates]  # values of this step, whatever is assigned next
            ops.assign_add(self.global_step, 1)
        return tuple([rates[index] for index in self.group_of]) if self.is_group_lr else rates[0]

    def get_lr_parameter(self, param: Any) -> Any:
        """The learning rate of a Parameter, or of each of a list: a Parameter, or its schedule, a Cell.

        TypeError for what is no Parameter, ValueError for one that is not trained here.

        >>> from autodiff_compiler import nn
        >>> p = Parameter([1.0], name="p")
        >>> nn.SGD([{"params": [p], "lr": 0.5}], 0.1).get_lr_parameter(p).item()
        0.5
        """
        if isinstance(param, list):
            return [self.get_lr_parameter(p) for p in param]
        if not isinstance(param, Parameter):
            raise TypeError(f"get_lr_parameter() takes a Parameter or a list of them, not a {type(param).__name__}")
        for i, p in enumerate(self.parameters):
            if p is param:
                return self.learning_rate[i] if self.is_group_lr else self.learning_rate
        raise ValueError(f"Parameter {param.name} is not trained by this optimizer")

    def get_weight_decay(self) -> Any:
        """The weight decay of the next step; with groups a tuple of all Parameters'."""
        decays = tuple([self._decay_now(decay) for decay in self._decays()])
        return decays if self.is_group else decays[0]

    def _decay_now(self, decay: Any) -> Any:
        return ops.reshape(decay(self.global_step), ()) if isinstance(decay, Cell) else decay

    # ------------------------------------------------------------------------------------------- gradients
    def prepared(self, gradients: Sequence[Any]) -> Sequence[Any]:
        """The gradients of what is trained, unscaled, with weight decay, and centralized."""
        return self.gradients_centralization(self.decay_weight(self.scale_grad(gradients)))

    def checked(self, gradients: Sequence[Any]) -> Sequence[Any]:
        """The gradients; TypeError or ValueError if they do not fit the Parameters."""
        if not isinstance(gradients, tuple | list):
            raise TypeError(
                f"an optimizer takes a tuple of gradients, not a {type(gradients).__name__}: "
                "those by its `parameters`, as in grad(f, None, optimizer.parameters)"
            )
        if len(gradients) != len(self.parameters):
            raise ValueError(f"there are {len(self.parameters)} Parameters, but {len(gradients)} gradients")
        for p, g in zip(self.parameters, gradients, strict=True):
            if p.shape != g.shape:
                raise ValueError(f"the gradient of {p.name} has shape {g.shape}, the Parameter has {p.shape}")
        return gradients

    def scale_grad(self, gradients: Sequence[Any]) -> Sequence[Any]:
        """The gradients divided by `loss_scale`."""
        return gradients if self.loss_scale == 1.0 else tuple([g / self.loss_scale for g in gradients])

    def decay_weight(self, gradients: Sequence[Any]) -> Sequence[Any]:
        """The gradients with ``weight_decay * p`` added where a weight decay applies."""
        if not self.is_group and not _is_on(self.weight_decay):
            return gradients
        return tuple(
            [
                g if self.decay_of(i) is None else g + self.decay_of(i) * p
                for i, (p, g) in enumerate(zip(self.trained, gradients, strict=True))
            ]
        )

    def decay_of(self, i: int) -> Any:
        """The weight decay of Parameter number `i` in this step; None if there is none."""
        decay = self.weight_decay[i] if self.is_group else self.weight_decay
        return self._decay_now(decay) if self.decay_flags[i] and _is_on(decay) else None

    def gradients_centralization(self, gradients: Sequence[Any]) -> Sequence[Any]:
        """The gradients, those of convolutions in centralized groups with the mean 0 over all axes but the first."""
        if not self.is_group:
            return gradients
        return tuple(
            [
                g - ops.mean(g, tuple(range(1, g.ndim)), True) if centralized and g.ndim > 2 else g
                for g, centralized in zip(gradients, self.centralized, strict=True)
            ]
        )

    def flatten_gradients(self, gradients: Any) -> Any:
        """The gradients as they are; MindSpore packs them here on other devices."""
        return gradients

    def _grad_sparse_indices_deduplicate(self, gradients: Any) -> Any:
        return gradients  # none of them is sparse

    @property
    def unique(self) -> bool:
        """MindSpore's flag of sparse gradients, stored without effect: all gradients are dense."""
        return self.__dict__.get("_unique", True) is True

    @unique.setter
    def unique(self, value: bool) -> None:
        self.__dict__["_unique"] = flag("unique", value)

    @property
    def target(self) -> str:
        """Where Parameters are updated: always the "CPU"; ValueError for another place."""
        return "CPU"

    @target.setter
    def target(self, value: str) -> None:
        self._set_base_target(value)

    def _set_base_target(self, value: str) -> None:
        if value != "CPU":
            raise ValueError(f"`target` can be 'CPU', not {value!r}")


def _is_on(decay: Any) -> bool:
    return isinstance(decay, Cell) or decay != 0.0


without(Optimizer, OPTIMIZER)
