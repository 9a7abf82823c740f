"""Backward hooks of calls: a call is put between two nodes of the tapes, whose pullbacks call the hooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..runtime.parameter import Parameter
from ..runtime.tensor import Array, Tensor, wrap
from ..runtime.trees import containers, exchanged
from .custom import constant_of, own
from .hooks import place_of_value
from .tape import Node, Opaque, Rule, element, record, thread

#: dtype and shape
_Type = tuple[Any, tuple[int, ...]]


def with_backward_hooks(
    run: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    arriving: Callable[[tuple[Tensor, ...]], tuple[Any, ...]],
    leaving: Callable[[tuple[Tensor, ...], tuple[Tensor, ...]], tuple[Any, ...]],
) -> Any:
    """``run(*args, **kwargs)`` between two nodes of the tapes; the results are new Tensors.

    ``arriving(gradients)`` may change the gradients of the results, ``leaving(arrived, gradients)`` those of the
    inputs: one for each Tensor.  The first node passes `arrived` to the second as cotangents of extra results (zeros)
    that link them, so that nested and repeated backward passes do not mix.
    """
    if not thread.state.active:
        return own(run(*args, **kwargs), (args, kwargs), constant_of)
    inputs = _Inputs((args, kwargs))
    n, types = len(inputs.tensors), [_type(x) for x in inputs.tensors]
    arrive: list[_Type] = []

    def on_leaving(gs: Sequence[Tensor | None]) -> Sequence[Any]:
        numbers = iter(gs[n:])
        first = [None if _is_bool(t) else next(numbers) for t in arrive]
        return _full(leaving(_with_zeros(first, arrive), _with_zeros(gs[:n], types)), types)

    node = record(inputs.tensors, inputs.entered, on_leaving, Rule, always=True)
    given, named = inputs.enter(args, kwargs)
    originals: list[Tensor] = []
    results: list[Tensor] = []

    def result(t: Tensor) -> Tensor:
        originals.append(t)
        results.append(constant_of(t))
        return results[-1]

    try:
        returned = own(run(*given, **named), (args, kwargs), result)
    finally:
        inputs.leave()
    arrive += map(_type, results)
    numbers = [i for i, t in enumerate(arrive) if not _is_bool(t)]

    def on_arrival(gs: Sequence[Tensor | None]) -> Sequence[Any]:
        after = _full(arriving(_with_zeros(gs[: len(arrive)], arrive)), arrive)
        return [*after, *(after[i] for i in numbers)]

    record([*originals, *_links(node, [arrive[i] for i in numbers])], results, on_arrival, Rule)
    return returned


def _links(node: Opaque | None, types: Sequence[_Type]) -> list[Tensor]:
    """Zeros that are extra results of a node."""
    if node is None:
        return []
    first = node.count
    node.count += len(types)
    zeros = map(_zeros, types)
    return [wrap(x, element(node, first + i, x)) for i, x in enumerate(zeros)]


class _Place(NamedTuple):
    """An input, its stand-in inside the call, and the stand-in's array and node at the beginning."""

    x: Tensor
    entered: Tensor
    data: Array
    before: Node | None


class _Inputs:
    """The Tensors among the arguments of a call, and their stand-ins; lists and objects are changed in place.

    A Parameter is no Tensor's stand-in: it gets the node of its stand-in instead.
    """

    def __init__(self, tree: Any) -> None:
        self._tree, self._containers = tree, [id(x) for x in containers(tree)]
        self._places: list[_Place] = []
        exchanged(tree, self._note, {})
        self.tensors = [p.x for p in self._places]
        self.entered = [p.entered for p in self._places]

    def _note(self, x: Tensor) -> Tensor:
        self._places.append(_Place(x, constant_of(x), x._data, x._node))
        return x

    def enter(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The arguments with the stand-ins."""
        again = iter(self._places)
        self._begun = {p.entered: place_of_value(p.entered) for p in self._places}

        def stand_in(x: Tensor) -> Tensor:
            place = next(again)
            if not isinstance(x, Parameter):
                return place.entered
            if x._node is place.before:
                x._node = place.entered._node
            return x

        changed = dict.fromkeys(self._containers)
        changed.pop(id(kwargs), None)
        changed.pop(id(self._tree), None)
        return exchanged(args, stand_in, changed), exchanged(kwargs, stand_in, changed)

    def leave(self) -> None:
        """Puts the Tensors back, with what was written to their stand-ins."""
        originals: dict[int, Tensor] = {}
        for x, entered, data, before in self._places:
            if isinstance(x, Parameter):
                if x._node is entered._node:
                    x._node = before
                continue
            originals[id(entered)] = x
            if entered._data is not data:
                x._data, x._held = entered._data, entered._held
            if place_of_value(entered) is not self._begun[entered]:
                x._node = place_of_value(entered)
        now = dict.fromkeys(map(id, containers(self._tree)))
        exchanged(self._tree, lambda t: originals.get(id(t), t), now)


def _type(x: Tensor) -> _Type:
    return x._data.dtype, x._data.shape


def _is_bool(type_: _Type) -> bool:
    return type_[0].kind == "b"


def _zeros(type_: _Type) -> Array:
    return np.zeros(type_[1], type_[0])


def _with_zeros(gs: Sequence[Tensor | None], types: Sequence[_Type]) -> tuple[Tensor, ...]:
    return tuple([wrap(_zeros(t)) if g is None else g for g, t in zip(gs, types, strict=True)])


def _full(gs: Sequence[Any], types: Sequence[_Type]) -> list[Any]:
    """The gradients, with numbers broadcast to Tensors."""
    return [g if isinstance(g, Tensor) else wrap(np.full(t[1], g, t[0])) for g, t in zip(gs, types, strict=True)]
