"""Gradients over several processes."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...data_parallel.collective import all_reduce
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
        self.sizes = tuple(p.size for p in given)
        #: The numbers of the gradients that travel together.
        self.groups = _groups(given, fusion())
        self.begins = BeginsEqual([p for p in given if not p.layerwise_parallel], found)

    def construct(self, grads: Any) -> Any:
        found = list(grads)
        if self.processes > 1:
            py_call(self.begins.compare)
        if self.processes > 1 or self.mean:
            for together in self.groups:
                flat = ops.reshape(grads[together[0]], (-1,))
                if len(together) > 1:
                    flat = ops.concat([ops.reshape(grads[i], (-1,)) for i in together], 0)
                if self.processes > 1:
                    flat = all_reduce(flat, self.group, self.processes)
                if self.mean and self.degree > 1:
                    flat = flat * ops.cast(1.0 / self.degree, flat.dtype)
                start = 0
                for i in together:
                    part = flat[start : start + self.sizes[i]]
                    found[i] = ops.cast(ops.reshape(part, grads[i].shape), grads[i].dtype)
                    start = start + self.sizes[i]
        return tuple(found)


def _groups(parameters: list[Parameter], chosen: Fusion) -> tuple[tuple[int, ...], ...]:
    """The numbers of the gradients that travel together: neighbours of one dtype, from the last on.

    Derivatives find the gradients of the last Parameters first.
    """
    groups: list[list[int]] = []
    size = 0
    for i in reversed(range(len(parameters))):
        p = parameters[i]
        if p.layerwise_parallel:
            continue
        size += p.nbytes
        if chosen.splits:
            fits = i not in chosen.splits
        else:
            fits = size <= chosen.bytes
        if not groups or not fits or parameters[groups[-1][0]].dtype is not p.dtype:
            groups.append([])
            size = p.nbytes
        groups[-1].insert(0, i)
    return tuple(map(tuple, groups))
