"""MindSpore's Cell methods for several devices: here there is one, so they check their arguments and have no effect."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from ..runtime.parameter import Parameter


@contextlib.contextmanager
def no_init_parameters() -> Iterator[None]:
    """Within it MindSpore makes Parameters without values, which a checkpoint gives; here they have them at once.

    >>> from autodiff_compiler import nn
    >>> with no_init_parameters():
    ...     nn.Dense(2, 1).weight.shape
    (1, 2)
    """
    yield


class OneDevice:
    """Methods of a Cell that choose how devices share its work; here all of it is done by one."""

    if TYPE_CHECKING:
        get_parameters: Callable[..., Iterator[Parameter]]

    def set_data_parallel(self) -> None:
        """Lets every device compute a part of the batch: there is one."""

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> Self:
        """Stores in the Parameters which of their all-reduces MindSpore would fuse; returns the Cell.

        >>> from autodiff_compiler import nn
        >>> nn.Dense(2, 1).set_comm_fusion(3).weight.comm_fusion
        3
        """
        for parameter in self.get_parameters(recurse):
            parameter.comm_fusion = fusion_type
        return self

    def offload(self, backward_prefetch: str | int = "Auto") -> None:
        """Accepted without effect: there is no device memory from which to offload residuals.

        TypeError, ValueError: `backward_prefetch` is neither "Auto" nor an int above 0.
        """
        if isinstance(backward_prefetch, bool) or not isinstance(backward_prefetch, str | int):
            raise TypeError(f"`backward_prefetch` must be 'Auto' or an int, not a {type(backward_prefetch).__name__}")
        if backward_prefetch != "Auto" and (isinstance(backward_prefetch, str) or backward_prefetch < 1):
            raise ValueError(f"`backward_prefetch` must be 'Auto' or an int greater than 0, not {backward_prefetch!r}")
