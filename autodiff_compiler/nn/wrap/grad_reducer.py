"""Gradients over several processes."""

from __future__ import annotations

from typing import Any

from ...data_parallel.collective import sums_of
from ...data_parallel.settings import Fusion, fusion, get_auto_parallel_context
from ...data_parallel.start import BeginsEqual, group_called
from ...runtime.parameter import Parameter
from ...transforms.host import py_call
from ..arguments import flag, integer
from ..cell import Cell

__all__ = ["DistributedGradReducer"]


class DistributedGradReducer(Cell):
    """The gradients of all processes together: their sums, or with `mean` the sums divided by `degree`.

    `parameters` are those that the gradients belong to, in their order; the gradients of those that are
    `layerwise_parallel` stay as they are.  Without `mean` it is the setting `gradients_mean`, without `degree` the
    number of processes of `group`, which are all if it is not given.  Which gradients travel together is a setting,
    `comm_fusion`; `fusion_type` changes nothing.  The first call compares the Parameters of all processes, or with the
    setting `parameter_broadcast` they are those of process 0 from now on.

    ValueError: a `degree` below 1, no such group; in the first call, Parameters that differ between processes.
    TypeError: something else than Parameters.

    >>> from autodiff_compiler import Tensor
    >>> p = Parameter([2.0], name="p")
    >>> DistributedGradReducer([p], mean=True)((Tensor([1.0]),))[0].tolist()
    [1.0]
    """

    def __init__(
        self,
        parameters: Any,
        mean: bool | None = None,
        degree: int | None = None,
        fusion_type: int = 1,
        group: Any = "",
    ) -> None:
        super().__init__(auto_prefix=False)
        integer("fusion_type", fusion_type)
        given = list(parameters)
        for p in given:
            if not isinstance(p, Parameter):
                raise TypeError(f"`parameters` are the Parameters of the gradients, not a {type(p).__name__}")
        found = group_called(group)
        self.group, self.processes = found.name, found.size
        self.mean = get_auto_parallel_context("gradients_mean") if mean is None else flag("mean", mean)
        self.degree = self.processes if degree is None else integer("degree", degree, 1)
        #: Whether gradients are those of all processes, for each Parameter.
        self.allreduce_filter = tuple(not p.layerwise_parallel for p in given)
        how = fusion()
        #: The numbers of the gradients that travel together, and whether the settings say so.
        self.groups, self.chosen = _groups(given, how), how.chosen
        self.begins = BeginsEqual([p for p in given if not p.layerwise_parallel], found)

    def construct(self, grads: Any) -> Any:
        if self.processes > 1:
            py_call(self.begins.compare)
            grads = sums_of(grads, self.group, self.processes, self.groups, self.chosen)
        if not self.mean or self.degree == 1:
            return tuple(grads)
        return tuple(
            [g / self.degree if reduced else g for g, reduced in zip(grads, self.allreduce_filter, strict=True)]
        )


def _groups(parameters: list[Parameter], chosen: Fusion) -> tuple[tuple[int, ...], ...]:
    """The numbers of the gradients that travel together: neighbours of one dtype, from the last on.

    Derivatives find the gradients of the last Parameters first.
    """
    groups: list[list[int]] = []
    size, closed = 0, True
    for i in reversed(range(len(parameters))):
        p = parameters[i]
        closed = closed or i in chosen.splits
        if p.layerwise_parallel:
            continue
        size += p.nbytes
        over = not chosen.splits and size > chosen.bytes
        if closed or over or parameters[groups[-1][0]].dtype is not p.dtype:
            groups.append([])
            size, closed = p.nbytes, False
        groups[-1].insert(0, i)
    return tuple(map(tuple, groups))
