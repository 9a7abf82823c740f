"""Rematerialisation in eager code: calls that save no residuals and run again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import GradientError
from ..runtime import epoch
from ..runtime.parameter import Parameter, versions
from ..runtime.random import get_rng_state, set_rng_state
from ..runtime.storage import PAIR, SHARED
from ..runtime.tensor import Array, Tensor
from ..runtime.trees import leaves, replaced
from .captured import checksum, reached
from .custom import alias_of
from .grad import backward
from .tape import Element, Node, Opaque, element, next_order, thread


def recomputed(
    block: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], parameters: Sequence[Parameter] = ()
) -> Any:
    """``block(*args, **kwargs)`` as one node of the tapes, which runs it again in the backward pass.

    The second run gets the arguments, the random state and the values of `parameters` of the first one, and those of
    the Tensors and Cells that `block` reaches by its object, closure and globals.  GradientError: its results differ
    all the same.
    """
    state = thread.state
    if not state.active:
        return block(*args, **kwargs)
    again = _Again(block, args, kwargs, parameters)
    start, before = next_order(), len(state.met)
    found = block(*args, **kwargs)
    again.first_ended()
    met = state.met[before:]
    values = [checksum(t._data) for t in leaves(found)]
    made = {id(t): t for t in leaves(found) if _made_after(start, t._node, state.active)}
    if not made:
        return found
    results = list(made.values())
    operands = dict(_operands([t._node for t in results], start, state.active))
    mask = 0
    for node in (*operands, *met):
        mask |= node.mask & state.active
    numbers = [i for i, t in enumerate(leaves(found)) if id(t) in made]
    types = [(t._data.dtype, t._data.shape) for t in leaves(found)]
    first = {id(t): k for k, t in enumerate(results)}
    places = [first[id(t)] for t in leaves(found) if id(t) in made]

    def pull(gs: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        bit, met, before = thread.state.pulled, thread.state.met, len(thread.state.met)
        with again.state(bit):
            second = list(leaves(again.run()))
        inside = met[before:]
        met[before:] = [node for node in inside if node.mask & thread.state.active]
        if [(t._data.dtype, t._data.shape) for t in second] != types:
            raise GradientError(
                "a call that is computed again for its gradient returns something else the second time",
                hint="let it depend on its arguments only, or call it without `recompute`",
            )
        if [checksum(t._data) for t in second] != values:
            raise GradientError(
                "a call that is computed again for its gradient gives other values the second time",
                hint="what it reads was changed in between: pass it as an argument, or call it without `recompute`",
            )
        seeds = {k: second[i]._node for i, k in zip(numbers, places, strict=True)}
        pairs = [(seeds[k], g) for k, g in enumerate(gs) if g is not None and seeds[k] is not None]
        got = backward(bit, pairs, set(operands), [node for node in inside if node.mask & bit])
        return [got.get(node) for node in operands]

    node = Opaque(mask, tuple(operands), tuple(operands.values()), pull, len(results))
    for i, t in enumerate(results):
        t._node = element(node, i, t._data)
    if met:  # in their place
        state.met[before:] = [node]
    return found


class _Again:
    """A recomputed call, and the state that its second run needs."""

    def __init__(
        self, block: Callable[..., Any], args: Any, kwargs: dict[str, Any], parameters: Sequence[Parameter]
    ) -> None:
        self._block = block
        self._args, self._kwargs = replaced((args, kwargs), alias_of)
        self._values, self._cells = _found_by([block, *parameters])
        self._nodes, self._random, self._draws = dict(versions.nodes), get_rng_state(), False

    def first_ended(self) -> None:
        """The random state is set back only if the call drew: other threads may draw, too."""
        self._draws = get_rng_state() != self._random

    def run(self) -> Any:
        args, kwargs = replaced((self._args, self._kwargs), alias_of)
        return self._block(*args, **kwargs)

    @contextmanager
    def state(self, bit: int) -> Iterator[None]:
        """Within it the state is that of the first run, and the tape with this bit is active."""
        state = thread.state
        now = [(x, x._data, _node_of(x)) for x, _, _ in self._values]
        attributes = [(cell, dict(cell.__dict__)) for cell, _ in self._cells]
        active, nodes, drawn = state.active, versions.nodes, get_rng_state()
        _set(self._values, self._cells)
        if self._draws:
            set_rng_state(self._random)
        versions.nodes, state.active = dict(self._nodes), active | bit * PAIR
        try:
            yield
        finally:
            versions.nodes, state.active = nodes, active
            if self._draws:
                set_rng_state(drawn)
            _set(now, attributes)


def _found_by(roots: Sequence[Any]) -> tuple[list[tuple[Tensor, Array, Any]], list[tuple[Any, dict[str, Any]]]]:
    """The values of the Tensors, and the attributes of the Cells, that are reached from `roots`."""
    values, cells = [], []
    for x, _ in reached(roots):
        if isinstance(x, Tensor):
            values.append((x, x._data, _node_of(x)))
            x._held |= SHARED  # a write gives them another buffer
        elif hasattr(x, "cells_and_names") and not isinstance(x, type):
            cells.append((x, dict(x.__dict__)))
    return values, cells


def _node_of(x: Tensor) -> Any:
    return None if isinstance(x, Parameter) else x._node  # those of Parameters are in `versions`


def _set(values: Sequence[tuple[Tensor, Array, Any]], cells: Sequence[tuple[Any, dict[str, Any]]]) -> None:
    for x, array, node in values:
        x._data = array
        x._held |= SHARED
        if not isinstance(x, Parameter):
            x._node = node
    for cell, attributes in cells:
        own = cell.__dict__
        if own.keys() != attributes.keys() or any(own[k] is not v for k, v in attributes.items()):
            own.clear()
            own.update(attributes)
            epoch.bump()  # guards of compiled code that the block calls are checked again


def _made_after(start: int, node: Node | None, active: int) -> bool:
    return node is not None and node.order < start and node.mask & active != 0


def _operands(ends: Sequence[Any], start: int, active: int) -> Iterator[tuple[Node, Array]]:
    """The older nodes that `ends` depend on, with arrays of their types."""
    seen: set[Any] = set()
    stack = list(ends)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.__class__ is Element:
            stack.append(node.owner)
            continue
        for parent, array in zip(node.parents, node.arrays, strict=True):
            if parent is None or not parent.mask & active:
                continue
            if parent.order < start:
                stack.append(parent)
            else:
                yield parent, np.broadcast_to(np.empty((), array.dtype), array.shape)
