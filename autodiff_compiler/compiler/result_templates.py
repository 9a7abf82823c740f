"""Result templates: how the values that a call returns or writes are assembled from the results of its program.

The frontend leaves a template, the Python value with `Out`, `Arg` and `State` in the place of Tensors.  Here Python
assembles the value; `fastcall.direct_call` says what machine code can assemble.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..frontend.effects.results import ByRank, Chosen, Copied, Shared, Unstacked
from ..frontend.lower import Arg, Out, State
from ..frontend.variables.structure import elements, rebuild
from ..frontend.variables.values import LocalDict, LocalList, LocalObject, LocalSet
from ..runtime.records import record_fields
from ..runtime.tensor import Tensor

#: Assembles a value from the results of the program and the inputs of the call.
Assemble = Callable[[list[Tensor], Sequence[Tensor]], Any]


def assembler(template: Any) -> Assemble:
    """The function that assembles the value of a template without aliases among its containers."""
    if type(template) is Out and template.kind is None:
        index = template.index
        return lambda results, leaves: results[index]
    if isinstance(template, tuple | list | dict):
        parts = [assembler(t) for t in (template.values() if isinstance(template, dict) else template)]
        if isinstance(template, dict):
            keys = list(template)
            if not isinstance(template, LocalDict) and type(template) is not dict:
                return lambda results, leaves: rebuild(template, [p(results, leaves) for p in parts])
            return lambda results, leaves: dict(zip(keys, [p(results, leaves) for p in parts], strict=True))
        if type(template) is tuple:
            return lambda results, leaves: tuple([p(results, leaves) for p in parts])
        if isinstance(template, LocalList):
            return lambda results, leaves: [p(results, leaves) for p in parts]
        return lambda results, leaves: rebuild(template, [p(results, leaves) for p in parts])
    if type(template) is LocalObject:
        cls, named = template.cls, {name: assembler(t) for name, t in template.slots.items()}
        return lambda results, leaves: _instance(cls, {name: p(results, leaves) for name, p in named.items()})
    if type(template) is LocalSet:
        return lambda results, leaves: set(template)
    if record_fields(template) is not None:
        parts = [assembler(t) for t in elements(template)]
        return lambda results, leaves: rebuild(template, [p(results, leaves) for p in parts])
    if type(template) is Chosen:
        return _choice(template)
    if type(template) is Unstacked:
        stacked = template.index
        if template.numbers:
            return lambda results, leaves: results[stacked].tolist()
        return lambda results, leaves: [results[stacked][i] for i in range(results[stacked].shape[0])]
    if type(template) is ByRank:
        rank, ways = template.rank.index, {rank: assembler(way) for rank, way in template.ways.items()}
        return lambda results, leaves: ways[results[rank]._data.item()](results, leaves)
    if type(template) is Shared:
        of = assembler(template.tensor)
        return lambda results, leaves: of(results, leaves).asnumpy()
    if type(template) is Copied:
        return lambda results, leaves: template.array.copy()
    if type(template) is Out and template.kind in (np.ndarray, np.generic):
        index, key = template.index, () if template.kind is np.generic else ...
        return lambda results, leaves: results[index]._data.copy()[key]
    if type(template) is Out:
        index, number = template.index, template.kind or float
        return lambda results, leaves: number(results[index]._data.item())
    if type(template) is Arg:
        index = template.index
        if template.kind is not None:
            return lambda results, leaves: leaves[index]._data.item()
        return lambda results, leaves: leaves[index]
    if type(template) is State:
        return lambda results, leaves: template.source
    return lambda results, leaves: template


def assembled(template: Any, results: list[Tensor], inputs: Sequence[Tensor], made: dict[int, Any]) -> Any:
    """The value of a template, in which containers that are aliases there are aliases, too; `made`: by their ids."""
    if id(template) in made:
        return made[id(template)]
    items = elements(template)
    if type(template) is Unstacked:
        return made.setdefault(id(template), assembler(template)(results, inputs))
    if items is None:
        return assembler(template)(results, inputs)
    new = rebuild(template, [assembled(i, results, inputs, made) for i in items])
    if isinstance(new, LocalObject):
        made[id(template)] = _instance(new.cls, new.slots)
    else:
        made[id(template)] = (
            list(new) if isinstance(new, LocalList) else dict(new) if isinstance(new, LocalDict) else new
        )
    return made[id(template)]


def _instance(cls: type, attributes: dict[str, Any]) -> Any:
    """An object of a user's class with these attributes; its `__init__` has run in compiled code."""
    made: Any = object.__new__(cls)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def _choice(template: Chosen) -> Assemble:
    ways = [(index, assembler(one)) for index, one in template.ways]
    new = template.otherwise.index

    def finish(results: list[Tensor], leaves: Sequence[Tensor]) -> Any:
        for index, one in ways:
            if results[index]._data:
                return one(results, leaves)
        return results[new]

    return finish
