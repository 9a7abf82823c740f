"""Parameter groups: which rate, weight decay and centralization each trained Parameter has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..dtypes import float32
from ..nn.cell import Cell
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor

__all__ = ["Group", "checked_flag", "checked_number", "checked_rate", "groups_of", "positions"]

_KEYS = ("params", "lr", "weight_decay", "grad_centralization", "order_params")


@dataclass(frozen=True)
class Group:
    """Parameters that share their settings; a `rate` of None is the optimizer's."""

    parameters: tuple[Parameter, ...]
    rate: Any
    decay: Any
    centralized: bool


def groups_of(given: Any, decay: Any) -> tuple[list[Group], list[Parameter] | None, bool]:
    """The groups, the order in which the Parameters are trained if it was given, and whether there were groups."""
    if isinstance(given, Tensor) or not isinstance(given, Iterable):
        raise TypeError(f"an optimizer takes a list of Parameters, not a {type(given).__name__}")
    found = list(given)
    if not found:
        raise ValueError("an optimizer needs at least one Parameter")
    if not isinstance(found[0], dict):
        return [Group(_parameters(found), None, checked_decay(decay), False)], None, False
    groups, order = [], None
    for item in found:
        if not isinstance(item, dict):
            raise TypeError(f"groups of Parameters are dicts, not a {type(item).__name__}")
        unknown = [key for key in item if key not in _KEYS]
        if unknown:
            raise KeyError(f"a group of Parameters has no key {unknown[0]!r}; the keys are {', '.join(_KEYS)}")
        if "order_params" in item:
            if len(item) > 1:
                raise ValueError("'order_params' stands in a dict of its own")
            order = list(_parameters(item["order_params"]))
        elif "params" not in item:
            raise KeyError("a group of Parameters needs the key 'params'")
        else:
            centralized = checked_flag("grad_centralization", item.get("grad_centralization", False))
            decayed = checked_decay(item.get("weight_decay", decay))
            groups.append(Group(_parameters(item["params"]), item.get("lr"), decayed, centralized))
    if not groups:
        raise ValueError("an optimizer needs at least one group with 'params'")
    return groups, order, True


def positions(groups: list[Group], order: list[Parameter] | None) -> list[tuple[Parameter, int]]:
    """Each trained Parameter with the index of its group; ValueError if `order` does not name the same Parameters."""
    placed = [(p, index) for index, group in enumerate(groups) for p in group.parameters]
    if order is None:
        return placed
    where = {id(p): index for p, index in placed}
    if len(order) != len(placed) or {id(p) for p in order} != set(where):
        raise ValueError("'order_params' must name exactly the Parameters of all groups")
    return [(p, where[id(p)]) for p in order]


def _parameters(given: Any) -> tuple[Parameter, ...]:
    if isinstance(given, Tensor) or not isinstance(given, Iterable):
        raise TypeError(f"an optimizer takes a list of Parameters, not a {type(given).__name__}")
    found = tuple(given)
    for p in found:
        if not isinstance(p, Parameter):
            raise TypeError(f"an optimizer trains Parameters, not a {type(p).__name__}")
    if not found:
        raise ValueError("a group of Parameters must not be empty")
    return found


def checked_decay(decay: Any) -> Any:
    """A weight decay: a Cell that is called with the step, or a number that is not negative."""
    return decay if isinstance(decay, Cell) else checked_number("weight_decay", decay, least=0.0)


def checked_rate(rate: Any, name: str) -> Any:
    """A learning rate as a Parameter called `name`, or its schedule, a Cell."""
    if isinstance(rate, Cell):
        return rate
    if isinstance(rate, Tensor):
        rates = Tensor(rate, float32)
    elif isinstance(rate, Iterable) and not isinstance(rate, str):
        rates = Tensor([checked_number("learning_rate", r, least=0.0) for r in rate], float32)
    else:
        rates = Tensor(checked_number("learning_rate", rate, least=0.0), float32)
    if rates.ndim > 1 or rates.size == 0 or not (rates.asnumpy() >= 0).all():
        raise ValueError(f"`learning_rate` must be one number or a list of them, none negative: {rates}")
    return Parameter(rates, name, requires_grad=False)


def checked_number(
    name: str, value: Any, least: float = -math.inf, above: float = -math.inf, below: float = math.inf
) -> float:
    """A Python number as a float; TypeError for anything else, ValueError outside of the bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"`{name}` must be a number, not a {type(value).__name__}")
    if not (value >= least and value > above and value < below):
        bounds = [f">= {least}"] * (least > -math.inf) + [f"> {above}"] * (above > -math.inf)
        bounds += [f"< {below}"] * (below < math.inf)
        raise ValueError(f"`{name}` must be {' and '.join(bounds) or 'finite'}, not {value}")
    return float(value)


def checked_flag(name: str, value: Any) -> bool:
    """A bool; TypeError for anything else."""
    if not isinstance(value, bool):
        raise TypeError(f"`{name}` must be a bool, not a {type(value).__name__}")
    return value
