"""Optimizers whose kept state is compared with MindSpore's: written once, run by both (see data/record_state.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["CASES", "gradients", "start"]

SHAPES = {"l.weight": (2, 3), "l.bias": (3,), "c.weight": (2, 1, 2, 2)}

#: Name of a case: makes the optimizer of `nn` and `experimental.optim` (the modules given) for a list of Parameters.
CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "SGD": lambda nn, optim, ps: nn.SGD(ps, 0.1),
    "SGD with momentum": lambda nn, optim, ps: nn.SGD(ps, 0.1, momentum=0.5, dampening=0.25),
    "SGD with rates": lambda nn, optim, ps: nn.SGD(ps, [0.1, 0.2, 0.3, 0.4, 0.5], momentum=0.5),
    "SGD of groups": lambda nn, optim, ps: nn.SGD([{"params": ps[:1], "lr": 0.2}, {"params": ps[1:]}], 0.1),
    "Momentum": lambda nn, optim, ps: nn.Momentum(ps, 0.1, 0.5),
    "Adam": lambda nn, optim, ps: nn.Adam(ps, 0.1),
    "Adam with decay": lambda nn, optim, ps: nn.Adam(ps, 0.1, weight_decay=0.25),
    "Adam of groups": lambda nn, optim, ps: nn.Adam([{"params": ps[:1], "lr": 0.2}, {"params": ps[1:]}], 0.1),
    "Adam with amsgrad": lambda nn, optim, ps: nn.Adam(ps, 0.1, use_amsgrad=True),
    "AdamWeightDecay": lambda nn, optim, ps: nn.AdamWeightDecay(ps, 0.1, weight_decay=0.25),
    "LazyAdam": lambda nn, optim, ps: nn.LazyAdam(ps, 0.1),
    "AdamOffload": lambda nn, optim, ps: nn.AdamOffload(ps, 0.1),
    "AdaMax": lambda nn, optim, ps: nn.AdaMax(ps, 0.1),
    "Lamb": lambda nn, optim, ps: nn.Lamb(ps, 0.1),
    "RMSProp": lambda nn, optim, ps: nn.RMSProp(ps, 0.1, momentum=0.5),
    "RMSProp centered": lambda nn, optim, ps: nn.RMSProp(ps, 0.1, centered=True),
    "Adagrad": lambda nn, optim, ps: nn.Adagrad(ps, learning_rate=0.1),
    "Adagrad without slots": lambda nn, optim, ps: nn.Adagrad(ps, learning_rate=0.1, update_slots=False),
    "Adadelta": lambda nn, optim, ps: nn.Adadelta(ps, 0.1),
    "ASGD": lambda nn, optim, ps: nn.ASGD(ps, 0.1, t0=1.0),
    "Rprop": lambda nn, optim, ps: nn.Rprop(ps, 0.1),
    "FTRL": lambda nn, optim, ps: nn.FTRL(ps, learning_rate=0.1),
    "ProximalAdagrad": lambda nn, optim, ps: nn.ProximalAdagrad(ps, learning_rate=0.1),
    "AdaFactor": lambda nn, optim, ps: nn.AdaFactor(ps),
    "AdaFactor without beta1": lambda nn, optim, ps: nn.AdaFactor(ps, beta1=0.0),
    "AdaFactor compressed": lambda nn, optim, ps: nn.AdaFactor(ps, compression=True),
    "AdaFactor with a rate": lambda nn, optim, ps: nn.AdaFactor(ps, 0.1, relative_step=False),
    "LARS": lambda nn, optim, ps: nn.LARS(nn.Momentum(ps, 0.1, 0.5)),
    "experimental SGD": lambda nn, optim, ps: optim.SGD(ps, 0.1),
    "experimental SGD with momentum": lambda nn, optim, ps: optim.SGD(ps, 0.1, momentum=0.5, dampening=0.25),
    "experimental SGD of groups": lambda nn, optim, ps: optim.SGD(
        [{"params": ps[:1], "lr": 0.2}, {"params": ps[1:]}], 0.1
    ),
    "experimental Adam": lambda nn, optim, ps: optim.Adam(ps, 0.1),
    "experimental Adam with amsgrad": lambda nn, optim, ps: optim.Adam(ps, 0.1, amsgrad=True),
    "experimental AdamW": lambda nn, optim, ps: optim.AdamW(ps, 0.1),
    "experimental Adamax": lambda nn, optim, ps: optim.Adamax(ps, 0.1),
    "experimental NAdam": lambda nn, optim, ps: optim.NAdam(ps, 0.1),
    "experimental RAdam": lambda nn, optim, ps: optim.RAdam(ps, 0.1),
    "experimental Adagrad": lambda nn, optim, ps: optim.Adagrad(ps, 0.1, lr_decay=0.5),
    "experimental Adadelta": lambda nn, optim, ps: optim.Adadelta(ps, 0.1),
    "experimental ASGD": lambda nn, optim, ps: optim.ASGD(ps, 0.1, t0=1.0),
    "experimental Rprop": lambda nn, optim, ps: optim.Rprop(ps, 0.1),
    "experimental RMSprop": lambda nn, optim, ps: optim.RMSprop(ps, 0.1, momentum=0.5),
    "experimental RMSprop centered": lambda nn, optim, ps: optim.RMSprop(ps, 0.1, centered=True),
}


def start() -> dict[str, np.ndarray]:
    """The Parameters before the first step, by name."""
    random = np.random.default_rng(5)
    return {name: random.uniform(-1.0, 1.0, shape).astype(np.float32) for name, shape in SHAPES.items()}


def gradients(step: int) -> list[np.ndarray]:
    """The gradients of a step, which is counted from 0."""
    random = np.random.default_rng(100 + step)
    return [random.uniform(-1.0, 1.0, shape).astype(np.float32) for shape in SHAPES.values()]
