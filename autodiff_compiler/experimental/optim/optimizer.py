"""The base class of optimizers with `param_groups`, in which schedulers change the settings."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from ... import ops
from ...dtypes import float32, int32
from ...nn.cell import Cell
from ...optim.groups import checked_number
from ...optim.state import KeptState
from ...runtime.parameter import Parameter, ParameterTuple
from ...runtime.tensor import Tensor

__all__ = ["Optimizer", "checked_betas", "not_negative"]


class Optimizer(KeptState, Cell):
    """Base of the optimizers of this package: ``optimizer(gradients)`` changes the Parameters.

    `params` are Parameters, or groups of them: dicts with `params` and the settings in which a group differs from
    `defaults`.  `param_groups` are the groups with all settings; in each `lr` is a Parameter, called
    ``learning_rate_group_0`` and so on, that may be assigned at any time; as in MindSpore, checkpoints leave it to the
    program.  Weight decay adds ``weight_decay * p`` to
    the gradients of all Parameters, whatever their names; with `maximize` the gradients count negative.

    A subclass defines `update`.  TypeError for what are no Parameters, numbers or groups; ValueError for none at all, a
    Parameter that stands twice, and numbers out of range.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> class Plain(Optimizer):
    ...     def update(self, i, p, g, group):
    ...         return ops.assign(p, p - group["lr"] * g)
    >>> optimizer = Plain([p], {"lr": 0.5})
    >>> _ = ops.assign(optimizer.param_groups[0]["lr"], Tensor(0.25))
    >>> _ = optimizer((Tensor([1.0]),)); p.tolist()
    [0.75]
    """

    #: The name of the Parameter that counts the steps, from 1; None where no formula needs it.
    _counter: Any = None

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(auto_prefix=False)
        if isinstance(params, Tensor) or not isinstance(params, Iterable):
            raise TypeError(f"an optimizer takes a list of Parameters, not a {type(params).__name__}")
        given = list(params)
        if not given:
            raise ValueError("an optimizer needs at least one Parameter")
        self.defaults = dict(defaults)
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        self._take_groups([self._group(i, group) for i, group in enumerate(groups)])
        if self._counter is not None:
            setattr(self, self._counter, Parameter(Tensor(0, int32), self._counter, requires_grad=False))

    def _take_groups(self, groups: list[dict[str, Any]]) -> None:
        self.param_groups = groups
        self.parameters = ParameterTuple(p for group in groups for p in group["params"])
        #: The number of the first Parameter of each group, and at the end how many there are.
        self.group_start_id = [0, *itertools.accumulate(len(group["params"]) for group in groups)]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Takes one more group of Parameters; RuntimeError if the optimizer keeps moments for those it was made with.

        >>> optimizer = Optimizer([Parameter([1.0], name="p")], {"lr": 0.5})
        >>> optimizer.add_param_group({"params": Parameter([2.0], name="q"), "lr": 0.1}); len(optimizer.parameters)
        2
        """
        for name, held in vars(self).items():
            if isinstance(held, ParameterTuple) and name != "parameters":
                raise RuntimeError(
                    f"{type(self).__name__} keeps `{name}` of its Parameters: give it all groups at once"
                )
        self._take_groups([*self.param_groups, self._group(len(self.param_groups), param_group)])

    def _group(self, index: int, given: Any) -> dict[str, Any]:
        if not isinstance(given, dict):
            raise TypeError(f"groups of Parameters are dicts, not a {type(given).__name__}")
        if "params" not in given:
            raise KeyError("a group of Parameters needs the key 'params'")
        members = [given["params"]] if isinstance(given["params"], Parameter) else list(given["params"])
        for p in members:
            if not isinstance(p, Parameter):
                raise TypeError(f"an optimizer trains Parameters, not a {type(p).__name__}")
        group = {**self.defaults, **given, "params": members}
        rate = group["lr"]
        if isinstance(rate, Tensor):
            if rate.ndim > 0:
                raise ValueError(f"`lr` must be one number, not a Tensor of shape {rate.shape}")
            rate = rate.item()
        rate = checked_number("lr", rate, least=0.0)
        group["lr"] = Parameter(Tensor(rate, float32), f"learning_rate_group_{index}", requires_grad=False)
        group["weight_decay"] = checked_number("weight_decay", group.get("weight_decay", 0.0), least=0.0)
        return group

    def construct(self, gradients: Any) -> Any:
        """One step; returns True as MindSpore's do."""
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
        if self._counter is not None:
            ops.assign_add(getattr(self, self._counter), 1)
        i = 0
        for group in self.param_groups:
            for p in group["params"]:
                g = -gradients[i] if group.get("maximize", False) else gradients[i]
                self.update(i, p, self.decayed(p, g, group), group)
                i += 1
        return True

    def decayed(self, p: Any, g: Any, group: dict[str, Any]) -> Any:
        """The gradient with weight decay."""
        return g if group["weight_decay"] == 0.0 else g + group["weight_decay"] * p

    def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
        """Changes Parameter number `i` by its gradient with the settings of its group."""
        raise NotImplementedError(f"{type(self).__name__} has no method 'update'")

    def step_count(self, dtype: Any = float32) -> Any:
        """The number of this step, from 1."""
        return ops.cast(getattr(self, self._counter), dtype)

    def extend_repr(self) -> str:
        lines = []
        for index, group in enumerate(self.param_groups):
            settings = {key: group[key] for key in sorted(group) if key != "params"}
            settings["lr"] = settings["lr"].item()
            lines.append(f"group {index}: " + ", ".join(f"{key}={value}" for key, value in settings.items()))
        return "; ".join(lines)


def checked_betas(betas: Any) -> tuple[float, float]:
    """Two shares of running means, each in [0, 1)."""
    first, second = betas
    return (
        checked_number("betas[0]", first, least=0.0, below=1.0),
        checked_number("betas[1]", second, least=0.0, below=1.0),
    )


def not_negative(name: str, value: Any) -> Any:
    """The number, which must not be negative."""
    return checked_number(name, value, least=0.0)
