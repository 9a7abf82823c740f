"""MindSpore's place of `set_seed` and `get_seed`."""

from ..runtime.random import get_seed, set_seed

__all__ = ["get_seed", "set_seed"]
