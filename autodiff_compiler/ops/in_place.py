"""MindSpore's functions that change a Tensor and return it: the Tensor methods of the same names."""

from __future__ import annotations

from typing import Any

from .state import compiled_from_source

__all__ = [
    "bernoulli_",
    "clamp_",
    "erfinv_",
    "exponential_",
    "inplace_sigmoid",
    "normal_",
    "put_",
    "random_",
    "tanh_",
    "uniform_",
    "zero_",
]


def clamp_(input: Any, min: Any = None, max: Any = None) -> Any:
    """Replaces the elements below `min` and above `max` by these.

    >>> from autodiff_compiler import Tensor
    >>> clamp_(Tensor([-3.0, 0.5, 3.0]), -1, 1).tolist()
    [-1.0, 0.5, 1.0]
    """
    return input.clamp_(min, max)


def erfinv_(input: Any) -> Any:
    """Replaces every element by its `erfinv`."""
    return input.erfinv_()


def tanh_(input: Any) -> Any:
    """Replaces every element by its `tanh`."""
    return input.tanh_()


def inplace_sigmoid(input: Any) -> Any:
    """Replaces every element by its `sigmoid`.

    >>> from autodiff_compiler import Tensor
    >>> inplace_sigmoid(Tensor([0.0])).tolist()
    [0.5]
    """
    return input.sigmoid_()


def zero_(input: Any) -> Any:
    """Replaces every element by 0."""
    return input.zero_()


def put_(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """Replaces the elements at positions of the flattened tensor, or adds to them.

    >>> from autodiff_compiler import Tensor
    >>> put_(Tensor([[1, 2], [3, 4]]), Tensor([3, 0]), Tensor([9, 8])).tolist()
    [[8, 2], [3, 9]]
    """
    return input.put_(index, source, accumulate)


# ------------------------------------------------------------------------------------------------ random numbers
def bernoulli_(input: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Fills the tensor with ones (with the probability `p`) and zeros."""
    return input.bernoulli_(p, generator=generator)


def exponential_(input: Any, lambd: float = 1, *, generator: Any = None) -> Any:
    """Fills the tensor with exponentially distributed numbers of the mean 1 / `lambd`."""
    return input.exponential_(lambd, generator=generator)


def normal_(input: Any, mean: float = 0, std: float = 1, *, generator: Any = None) -> Any:
    """Fills the tensor with normally distributed numbers."""
    return input.normal_(mean, std, generator=generator)


def random_(input: Any, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Any:
    """Fills the tensor with integers from `from_` to less than `to`."""
    return input.random_(from_, to, generator=generator)


def uniform_(input: Any, from_: float = 0, to: float = 1, *, generator: Any = None) -> Any:
    """Fills the tensor with uniformly distributed numbers."""
    return input.uniform_(from_, to, generator=generator)


for _name in __all__:
    compiled_from_source(globals()[_name])
