"""Random numbers of one's own: `Generator`, and the one that everything draws from which is given none."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..config import called_outside
from . import random
from .parameter import Parameter
from .tensor import Tensor, wrap

__all__ = ["Generator", "default_generator", "initial_seed", "manual_seed", "seed"]


class Generator:
    """A source of random numbers beside the one of the process, for methods that take a `generator`.

    It begins with the seed 0.  What is drawn from it depends on its seed and on what was drawn from it before.

    >>> from autodiff_compiler import ops
    >>> g = Generator().manual_seed(5)
    >>> state = g.get_state()
    >>> first = ops.zeros(2).uniform_(generator=g).tolist()
    >>> g.set_state(state)
    >>> ops.zeros(2).uniform_(generator=g).tolist() == first
    True
    """

    _states: random.Generator

    def __init__(self) -> None:
        self._states = random.Generator()
        self._states.restart(0)

    @called_outside
    def manual_seed(self, seed: int) -> Generator:
        """Begins again from a seed, and returns the generator.  TypeError: no int.  ValueError: a negative seed."""
        self._states.restart(random.checked_seed(seed))
        return self

    @called_outside
    def seed(self) -> int:
        """Begins again from a seed that the operating system draws, and returns that."""
        drawn = int.from_bytes(os.urandom(8), "little") >> 2
        self._states.restart(drawn)
        return drawn

    @called_outside
    def initial_seed(self) -> int:
        """The seed that it began from."""
        return self._states.start

    @called_outside
    def get_state(self) -> Any:
        """The state, for `set_state`: 16 bytes as a Tensor."""
        first, _, count = self._states.state(None).tolist()
        return wrap(np.array([first, count], "<i8").view(np.uint8))

    @called_outside
    def set_state(self, state: Any) -> None:
        """Goes back to a state from `get_state`: the same numbers follow.  TypeError, ValueError: it is none."""
        if not isinstance(state, Tensor):
            raise TypeError(f"the state of a generator is a Tensor, not a {type(state).__name__}")
        data = np.ascontiguousarray(state.asnumpy())
        if data.dtype != np.uint8 or data.shape != (16,):
            raise ValueError(f"the state of a generator is 16 bytes, not {state.dtype} of shape {state.shape}")
        first, count = data.view("<i8").tolist()
        self._states.restore(random.checked_seed(first), first, {0: [first, 0, random.checked_seed(count)]})

    def state(self) -> Parameter:
        """What a draw reads and moves on."""
        return self._states.state(None)

    def take(self) -> Tensor:
        """The state for one draw; the next draw gets another."""
        return self._states.take(None)


class _OfTheProcess(Generator):
    """The generator behind every function that is given none; its state is what `get_rng_state` returns."""

    def __init__(self) -> None:
        self._states = random.generator

    @called_outside
    def get_state(self) -> Any:
        return random.get_rng_state()

    @called_outside
    def set_state(self, state: Any) -> None:
        random.set_rng_state(state)


#: What is drawn from where no generator is given.
default_generator: Generator = _OfTheProcess()


@called_outside
def manual_seed(seed: int) -> Generator:
    """Lets everything that is drawn without a generator begin again from a seed, but for NumPy's numbers.

    Returns the generator.  TypeError: no int.  ValueError: a negative seed.

    >>> manual_seed(3).initial_seed()
    3
    """
    return default_generator.manual_seed(seed)


@called_outside
def seed() -> int:
    """Lets what is drawn without a generator begin again from a seed that the operating system draws; returns that."""
    return default_generator.seed()


@called_outside
def initial_seed() -> int:
    """The seed that what is drawn without a generator began from."""
    return default_generator.initial_seed()
