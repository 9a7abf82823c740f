"""The start of a training: every process must begin with the same Parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..collectives import transfer, world
from ..collectives.group import Group
from ..errors import ParameterError
from ..runtime.parameter import Parameter
from ..runtime.tensor import wrap
from .settings import get_auto_parallel_context, processes, together

__all__ = ["BeginsEqual", "begin_with_first", "group_called", "own_group"]

#: How many names a message lists.
_SHOWN = 4


def group_called(name: Any) -> Group:
    """The processes of a group, without a name all processes; ValueError: there is no such group."""
    everybody = processes()
    if name is None or name == "":
        return everybody
    if not isinstance(name, str):
        raise TypeError(f"`group` is the name of a group of processes, not a {type(name).__name__}")
    return world.group(name)


class BeginsEqual:
    """What happens once, before the first gradients of several processes are combined.

    With the setting `parameter_broadcast` the Parameters are given the values of the first process when this is made;
    `compare` makes sure that all processes have the same values when the first step is computed.
    """

    def __init__(self, parameters: Sequence[Parameter], group: Group) -> None:
        self._parameters, self._group = tuple(parameters), group
        self._compared = group.size == 1
        if get_auto_parallel_context("parameter_broadcast"):
            _broadcast(parameters, group)

    def compare(self) -> None:
        """ParameterError, in all processes, if their Parameters differ; only the first call looks."""
        if self._compared:
            return
        self._compared = True
        differing = _differing(self._parameters, self._group)
        if differing:
            more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
            raise ParameterError(
                f"the processes begin with different Parameters: {', '.join(differing[:_SHOWN])}{more}",
                hint="call `set_seed` before the network is made, load one checkpoint in all processes, or use "
                "`set_auto_parallel_context(parameter_broadcast=True)`",
            )


def begin_with_first(parameters: Iterable[Parameter]) -> None:
    """With the setting `parameter_broadcast`, gives Parameters the values of the first of the processes that train."""
    everybody = together()
    if everybody is not None and get_auto_parallel_context("parameter_broadcast"):
        _broadcast([p for p in parameters if not p.layerwise_parallel and p.whole_shape is None], everybody)


def _broadcast(parameters: Iterable[Parameter], group: Group) -> None:
    if group.size > 1:
        for p in parameters:
            p.set_data(wrap(transfer.broadcast(p.asnumpy(), 0, group)))


def _differing(parameters: Sequence[Parameter], group: Group) -> list[str]:
    """The names of the Parameters whose bits are not the same in all processes of a group."""
    own = np.stack([_fingerprint(p) for p in parameters])
    least, most = (transfer.all_reduce(own, op, group) for op in ("min", "max"))
    return [p.name for p, same in zip(parameters, (least == most).all(axis=1), strict=True) if not same]


def _fingerprint(p: Parameter) -> Any:
    array = p.asnumpy()
    digest = hashlib.blake2b(f"{p.name} {array.dtype} {array.shape} ".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
    return np.frombuffer(digest.digest(), np.int64)


def own_group(process_groups: Any) -> Group | None:
    """Of lists of the numbers of processes the group that this process is in, or None; without lists all processes.

    All groups are made, in their order, in every process.  TypeError, ValueError: other lists.
    """
    everybody = processes()
    if process_groups is None:
        return everybody
    if not isinstance(process_groups, list) or not all(isinstance(ranks, list) for ranks in process_groups):
        raise TypeError(f"`process_groups` is a list of lists of the numbers of processes, not {process_groups!r}")
    listed = [rank for ranks in process_groups for rank in ranks]
    if len(set(listed)) < len(listed) or not set(listed) <= set(range(everybody.size)):
        raise ValueError(
            f"`process_groups` {process_groups} may name each process once; there are processes 0 to "
            f"{everybody.size - 1}"
        )
    found = None
    for ranks in process_groups:
        group = _made(sorted(ranks))
        if everybody.rank in ranks:
            found = group
    return found


def _made(ranks: list[int]) -> Group:
    """The group of some processes, which is made where it is missing."""
    name = f"processes {'-'.join(map(str, ranks))}"
    try:
        return world.group(name)
    except ValueError:
        world.create_group(name, ranks)
        return world.group(name)
