"""MindSpore's place of generators of random numbers."""

from ..runtime.generators import Generator, default_generator, initial_seed, manual_seed, seed
from ..runtime.random import get_rng_state, set_rng_state

__all__ = ["Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]
