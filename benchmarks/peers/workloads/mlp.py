"""Training steps of networks of dense layers: forward, gradients, and the update by SGD."""

from __future__ import annotations

from collections.abc import Iterator

from ..case import Case
from ..networks import Mlp

STEPS = 3
SMALL = Mlp((8, 16, 1), classify=False)
LARGE = Mlp((784, 512, 256, 10), classify=True)


def step(name: str, mlp: Mlp, batch: int, targets: dict[str, float], threads: tuple[int, ...]) -> Case:
    makers = {
        "compiled": lambda: mlp.our_step("numpy", batch),
        "eager": lambda: mlp.our_step("eager", batch),
        "jax": lambda: mlp.jax_step(batch),
        "torch": lambda: mlp.torch_step("torch", batch),
        "torch.compile": lambda: mlp.torch_step("torch.compile", batch),
        "autograd": lambda: mlp.autograd_step(batch),
        "hand": lambda: mlp.step_of(mlp.by_hand, batch),
    }
    return Case(name, makers, lambda: mlp.losses(batch, STEPS), targets, calls=STEPS, threads=threads)


def cases() -> Iterator[Case]:
    targets = {"jax": 15.0, "torch": 50.0, "autograd": 200.0}
    yield step("step of MLP 8-16-1, batch 16", SMALL, 16, targets, (1,))
    yield step("step of MLP 784-512-256-10, batch 128", LARGE, 128, {}, (1, 2))
