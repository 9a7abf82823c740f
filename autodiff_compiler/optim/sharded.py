"""Optimizers whose state several processes share: each has a part of it, and changes that part of the Parameters.

ZeRO, stage 1 (Rajbhandari et al., 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models").  The
elements of a Parameter are cut into as many equal parts as there are processes; the last ones are filled with zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import ops
from ..data_parallel.collective import all_gather, reduce_scatter
from ..data_parallel.parts import part_of_array
from ..data_parallel.settings import processes, shards_optimizers
from ..errors import UnsupportedCallError
from ..runtime.parameter import Parameter

__all__ = ["ShardedState", "Sharding"]

#: The module of `Optimizer`, whose `construct` takes parts.
_BASE = f"{__name__.rpartition('.')[0]}.optimizer"


class Sharding(NamedTuple):
    """How Parameters are cut: between `size` processes, of which this is number `rank`, with `lengths` elements each.

    `kinds` are the numbers of the Parameters by dtype: those of one dtype travel together.
    """

    group: str
    rank: int
    size: int
    lengths: tuple[int, ...]
    kinds: tuple[tuple[int, ...], ...]


def _sharding(parameters: Sequence[Parameter]) -> Sharding:
    everybody = processes()
    kinds: dict[Any, list[int]] = {}
    for i, p in enumerate(parameters):
        kinds.setdefault(p.dtype, []).append(i)
    lengths = tuple(-(-math.prod(p.shape) // everybody.size) for p in parameters)
    return Sharding(everybody.name, everybody.rank, everybody.size, lengths, tuple(map(tuple, kinds.values())))


def _part_of(p: Parameter, sharding: Sharding) -> Parameter:
    """This process's part of a Parameter, under the Parameter's name."""
    part = Parameter(part_of_array(p.asnumpy(), sharding.rank, sharding.size), p.name)
    part.whole_shape = p.shape
    return part


class ShardedState:
    """Methods of optimizers that share their state; `trained` are what updates change: parts, or the Parameters."""

    construct: Any
    parameters: Any
    #: Whether an update of an element depends on that element's gradient and state only.
    _elementwise = True
    sharding: Any = None

    def _share(self, centralized: bool) -> None:
        """Sets `trained`, and `sharding` if the settings of parallel training ask for it.

        UnsupportedCallError: an optimizer whose steps need whole Parameters.
        """
        self.trained = self.parameters
        if not shards_optimizers():
            return
        if not self._elementwise or centralized or type(self).construct.__module__ != _BASE:
            what = "gradients that are centralized need" if centralized else f"steps of {type(self).__name__} need"
            raise UnsupportedCallError(
                f"{what} whole Parameters, and `enable_parallel_optimizer` cuts them into parts",
                hint="leave `enable_parallel_optimizer` out, or use an optimizer that takes each element by itself, as "
                "nn.AdamWeightDecay does",
            )
        self.sharding = _sharding(self.parameters)
        # A plain tuple: they are no Parameters of the Cell, whose checkpoints have the whole ones.
        self.trained = tuple(_part_of(p, self.sharding) for p in self.parameters)

    # ------------------------------------------------------------------------------------------- a step
    def refresh(self) -> None:
        """Sets the parts to what the Parameters are now."""
        for part, value in zip(self.trained, self.own_parts(self.parameters), strict=True):
            ops.assign(part, value)

    def scattered(self, gradients: Any, factor: float) -> Any:
        """This process's parts of the sums of the gradients over all processes, times a factor."""
        parts = list(gradients)
        for kind in self.sharding.kinds:
            rows = ops.concat([self._rows(gradients[i], i) for i in kind], 1)
            summed = reduce_scatter(rows, self.sharding.group, self.sharding.size)
            summed = summed * ops.cast(factor, summed.dtype) if factor != 1.0 else summed
            start = 0
            for i in kind:
                parts[i] = summed[start : start + self.sharding.lengths[i]]
                start = start + self.sharding.lengths[i]
        return tuple(parts)

    def own_parts(self, tensors: Any) -> Any:
        """This process's parts of Tensors of the Parameters' shapes, which all processes have."""
        return tuple([self._rows(x, i)[self.sharding.rank] for i, x in enumerate(tensors)])

    def collect(self) -> None:
        """Gives the Parameters the parts that the processes have updated."""
        size = self.sharding.size
        for kind in self.sharding.kinds:
            own = ops.concat([self.trained[i] for i in kind], 0)
            rows = all_gather(own, self.sharding.group, size)
            start = 0
            for i in kind:
                length, p = self.sharding.lengths[i], self.parameters[i]
                flat = ops.reshape(rows[:, start : start + length], (-1,))
                ops.assign(p, ops.reshape(flat[: p.size], p.shape))
                start = start + length

    def _rows(self, x: Any, i: int) -> Any:
        """A Tensor of Parameter i's shape as rows, one for each process."""
        size, length = self.sharding.size, self.sharding.lengths[i]
        flat = ops.reshape(x, (-1,))
        if size * length > self.parameters[i].size:
            flat = ops.concat([flat, ops.zeros((size * length - self.parameters[i].size,), x.dtype)], 0)
        return ops.reshape(flat, (size, length))
