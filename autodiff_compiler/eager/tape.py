"""The tape: a graph of nodes that points from results to operands.

Every tape owns one bit.  A node's mask says on which tapes it lies; an op is recorded if one of its operands lies on a
tape that is active in this thread.  So nested gradients never mix: the inner tape's backward pass runs with the inner
bit inactive and is recorded by the outer tapes only.

Nodes hold the arrays of operands and results, not the result Tensors: there are no reference cycles, and a graph is
freed with its last result.
"""

from __future__ import annotations

import contextvars
import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..errors import NotDifferentiableError
from ..ir.core import Attrs
from ..locks import Lock
from ..runtime.storage import PAIR, SHARED, holders
from ..runtime.tensor import Array, Tensor, wrap

__all__ = [
    "Applied",
    "Custom",
    "Element",
    "Node",
    "Opaque",
    "Rule",
    "Selective",
    "SelectiveRule",
    "Source",
    "State",
    "element",
    "next_order",
    "place",
    "quietly",
    "record",
    "reentered",
    "thread",
    "tracked",
    "unwatch",
    "watch",
]


class State:
    """The state of one thread: the bits of its active tapes, and its kernel caller."""

    __slots__ = ("__weakref__", "active", "begun", "cut", "met", "pulled", "quiet", "silently")

    def __init__(self) -> None:
        self.active = 0
        #: how many collectives this thread has begun
        self.begun = 0
        #: the nodes of collectives on the active tapes, which are visited in any case
        self.met: list[Node] = []
        #: the bit of the tape whose gradients are being computed
        self.pulled = 0
        #: whether a backward pass used a variable in a way that has no derivative
        self.cut = False
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        #: `silently(f, *args)` calls f without floating-point warnings; far cheaper than entering `np.errstate`
        self.silently: Callable[..., Any] = context.run
        #: the kernel caller: `silently`, wrapped with the observers
        self.quiet = self.silently
        with _watching:
            _states.add(self)
            self.watched()

    def watched(self) -> None:
        """Wraps the kernel caller with all observers, the last outermost."""
        call = self.silently
        for of in _watchers:
            call = of(call)
        self.quiet = call


#: Wraps the kernel caller with an observer.
Watcher: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
_watchers: list[Watcher] = []
_watching = Lock()
_states: weakref.WeakSet[State] = weakref.WeakSet()


def watch(of: Watcher) -> None:
    """Adds an observer of kernels, in all threads."""
    with _watching:
        _watchers.append(of)
        for state in list(_states):
            state.watched()


def unwatch(of: Watcher) -> None:
    """Takes an observer of kernels away."""
    with _watching:
        _watchers.remove(of)
        for state in list(_states):
            state.watched()


class _Thread(threading.local):
    def __init__(self) -> None:
        self.state = State()


#: `thread.state` is the `State` of this thread.
thread = _Thread()


def reentered(error: Exception) -> bool:
    """Whether `quiet` refused as it is running already: a signal handler or debugger runs in the middle of a kernel."""
    return isinstance(error, RuntimeError) and "already entered" in str(error)


def quietly(f: Callable[..., Any], *args: Any) -> Any:
    """``f(*args)`` without floating-point warnings, also in the middle of a kernel."""
    try:
        return thread.state.quiet(f, *args)
    except RuntimeError as error:
        if not reentered(error):
            raise
    with np.errstate(all="ignore"):
        return f(*args)


#: Classes of operands of a node that are no arrays.
_NUMBERS = frozenset({bool, int, float})

#: Numbers of nodes, counting down, so that a heap gives the newest node first.
next_order = itertools.count(0, -1).__next__


class Node:
    """A node of the graph: `arrays` are the operands (or stand-ins of their type), `parents` the nodes that made them.

    `pull(g, wanted)` gives one cotangent (or None) per parent; `wanted` says which are needed.  An integer is on a tape
    only if it depends on an integer variable of the tape, or on the cotangent of one.
    """

    __slots__ = ("arrays", "mask", "order", "parents")

    mask: int
    order: int
    parents: tuple[Node | None, ...]
    arrays: tuple[Any, ...]

    def pull(self, g: Any, wanted: tuple[bool, ...]) -> Sequence[Any]:
        raise NotImplementedError


class Source(Node):
    """A variable of the tape with `bit`, whose cotangents end here; the identity for outer tapes."""

    __slots__ = ("bit", "whole")

    def __init__(self, bit: int, array: Array, parent: Node | None, whole: bool = False) -> None:
        #: whether its cotangent has its shape, even if a user's rule gave a number
        self.whole = whole
        active = thread.state.active
        if parent is not None and not parent.mask & active:
            parent = None
        self.bit, self.arrays, self.parents = bit, (array,), (parent,)
        self.mask = bit * PAIR if array.dtype.kind in "biu" else bit
        if parent is not None:
            self.mask |= parent.mask & active
        self.order = next_order()

    def pull(self, g: Any, wanted: tuple[bool, ...]) -> Sequence[Any]:
        return (g,)


class Applied(Node):
    """An application of a primitive."""

    __slots__ = ("attrs", "outs", "plan")

    def __init__(
        self,
        mask: int,
        plan: Any,
        attrs: Attrs,
        arrays: tuple[Any, ...],
        parents: tuple[Node | None, ...],
        outs: tuple[Array, ...],
    ) -> None:
        self.mask, self.plan, self.attrs = mask, plan, attrs
        self.arrays, self.parents, self.outs = arrays, parents, outs
        self.order = next_order()

    @property
    def count(self) -> int:
        return len(self.outs)

    def pull(self, g: Any, wanted: tuple[bool, ...]) -> Sequence[Any]:
        plan, active = self.plan, thread.state.active
        if plan.vjp is None:
            if not any(w and array.dtype.kind not in "biu" for w, array in zip(wanted, self.arrays, strict=True)):
                return (None,) * len(wanted)  # as for all that is counted: places, sizes, bits
            raise NotDifferentiableError(
                f"{plan.defn.name} has no derivative", hint="use stop_gradient on its operands if none is meant"
            )
        operands = []
        for array, parent in zip(self.arrays, self.parents, strict=True):
            if array.__class__ not in _NUMBERS:
                array = wrap(array, parent if active and parent is not None and parent.mask & active else None)
                array._held = SHARED
            operands.append(array)
        found = plan.vjp(plan.context(self, wanted), g, *operands)
        return found if found.__class__ is tuple else (found,)

    def results(self) -> list[Tensor]:
        """The results as Tensors; on the tapes that are active now and that this node lies on."""
        node = self if self.mask & thread.state.active else None
        tensors = []
        for i, out in enumerate(self.outs):
            place: Node | None = node
            if node is not None and self.plan.defn.multiple:
                place = element(node, i, out)
            tensor = wrap(out, place)
            tensor._held = SHARED
            tensors.append(tensor)
        return tensors


class Element(Node):
    """Result number `index` of a node with several results; its cotangent joins theirs."""

    __slots__ = ("index", "owner")

    def __init__(self, owner: Applied | Opaque, index: int, mask: int) -> None:
        self.owner, self.index, self.mask = owner, index, mask
        self.order = next_order()


def element(owner: Applied | Opaque, index: int, array: Array) -> Element | None:
    """The node of one of several results; None if that carries no derivative."""
    kind, mask = array.dtype.kind, owner.mask
    if kind in "biu":
        mask = 0 if kind == "b" else holders.of_integers(mask)
    return Element(owner, index, mask) if mask else None


class Opaque(Node):
    """A computation whose derivative is a function: a call of compiled code, or a user's `bprop`."""

    __slots__ = ("count", "pullback")

    def __init__(
        self, mask: int, parents: tuple[Node | None, ...], arrays: tuple[Array, ...], pullback: Any, count: int
    ) -> None:
        self.mask, self.parents, self.arrays, self.pullback, self.count = mask, parents, arrays, pullback, count
        self.order = next_order()

    def pull(self, g: Any, wanted: tuple[bool, ...]) -> Sequence[Any]:
        return self.pullback(g)


class Selective(Opaque):
    """A computation whose pullback gets `wanted`, too."""

    __slots__ = ()

    def pull(self, g: Any, wanted: tuple[bool, ...]) -> Sequence[Any]:
        found: Sequence[Any] = self.pullback(g, wanted)
        return found


class Rule(Opaque):
    """A computation whose pullback is a user's rule, which may be nonlinear."""

    __slots__ = ()


class SelectiveRule(Selective, Rule):
    """A call of compiled code that holds users' rules."""

    __slots__ = ()


class Custom(Rule):
    """A computation with a user's rule that gets the results (on the tapes) and `wanted`, too."""

    __slots__ = ("outs",)
    outs: tuple[Array, ...]

    def pull(self, g: Any, wanted: tuple[bool, ...]) -> Sequence[Any]:
        node = self if self.mask & thread.state.active else None
        results = []
        for i, out in enumerate(self.outs):
            result = wrap(out, None if node is None else element(node, i, out))
            result._held = SHARED
            results.append(result)
        lost = holders.lost
        found: Sequence[Any] = self.pullback(g, results, wanted)
        thread.state.cut |= holders.lost & ~lost & thread.state.active != 0
        return found


def tracked(tensor: Tensor) -> bool:
    """Whether ops on a Tensor are recorded now."""
    node = tensor._node
    return node is not None and node.mask & thread.state.active != 0


def place(
    plan: Any, attrs: Attrs, operands: Sequence[Any], arrays: tuple[Any, ...], results: Sequence[Tensor], active: int
) -> None:
    """Records an application of a primitive on the active tapes of its operands; marks the buffers that it saves.

    `arrays` are the operands as the derivative rule will see them.
    """
    mask = 0
    parents: list[Node | None] = []
    for x in operands:
        node = x._node if isinstance(x, Tensor) else None
        if node is not None:
            on = node.mask & active
            if on:
                mask |= on
            else:
                node = None
        parents.append(node)
    collective = plan.defn.collective and any(t._data.dtype.kind not in "biu" for t in results)
    if collective:  # another process may have a variable among its operands
        mask |= active & ~holders.integers
    if not mask:
        return
    outs = tuple([t._data for t in results])
    for out in outs:
        if out.dtype.kind not in "biu":
            break
    else:
        led, mask = mask, _of_integers(plan, attrs, outs, mask)
        if not mask:
            holders.lost |= led
            return
    for x in operands:
        if isinstance(x, Tensor):
            x._held |= mask
    node = Applied(mask, plan, attrs, arrays, tuple(parents), outs)
    if collective:
        thread.state.met.append(node)
    if not plan.defn.multiple:
        tensor = results[0]
        tensor._held |= mask
        tensor._node = node
        return
    for i, tensor in enumerate(results):
        tensor._held |= mask
        tensor._node = element(node, i, tensor._data)


def _of_integers(plan: Any, attrs: Attrs, outs: tuple[Array, ...], mask: int) -> int:
    """The tapes on which a result that is no float has a derivative.

    An integer that depends on no integer variable is a position, a count or a rounded float, without a derivative.  A
    linear `cast` of a cotangent to integers has one: the next derivative goes through integers from there on.
    """
    if plan.vjp is None or all(out.dtype.kind == "b" for out in outs):
        return 0
    if plan.defn.name == "cast" and attrs[plan.defn.schema.index("linear")]:
        mask |= (mask & ~holders.integers) << 1
    return holders.of_integers(mask)


def record(
    operands: Sequence[Tensor],
    results: Sequence[Tensor],
    pullback: Callable[..., Sequence[Any]],
    kind: type[Opaque] = Opaque,
    always: bool = False,
    meets: bool = False,
) -> Opaque | None:
    """Records one computation as a whole; returns its node, None if it is on no tape.

    `results` are new Tensors.  `pullback` maps their cotangents (None where there is none) to one cotangent per
    operand: a Tensor, a number, or None.  It runs with the outer tapes active, so that it is differentiated again; the
    tape itself keeps no buffers, only types.  That of a `Custom` node gets the cotangents, the results and one bool per
    operand: whether its cotangent is wanted; that of a `Selective` one, cotangents and bools.  `always`: on all active
    tapes, even if no operand is on one.  `meets`: the pullback holds collectives, so that it runs in any case.
    """
    active = thread.state.active
    nodes = [x._node for x in operands]
    parents = tuple([n if n is not None and n.mask & active else None for n in nodes])
    mask = active & ~holders.integers if always or meets else 0
    for node in parents:
        if node is not None:
            mask |= node.mask & active
    if not mask:
        return None
    types = tuple([np.broadcast_to(np.empty((), x._data.dtype), x._data.shape) for x in operands])
    node = kind(mask, parents, types, pullback, len(results))
    if meets:
        thread.state.met.append(node)
    if isinstance(node, Custom):
        node.outs = tuple([t._data for t in results])
        for t in results:
            t._held |= SHARED
    for i, t in enumerate(results):
        t._node = element(node, i, t._data)
    return node
