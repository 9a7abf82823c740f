"""Gradients of eager functions: the backward pass over a tape, and `vjp` and `differentiate` on top of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..dtypes import from_numpy
from ..errors import NOTHING_RETURNED, ZERO_GRADIENT, GradientError, GradientWarning, warn_once
from ..ir.primitive import F
from ..primitives.family import cotangent_in, sum_to
from ..primitives.index import Slice
from ..runtime.device_array import residence
from ..runtime.hooks import Registered
from ..runtime.parameter import Parameter, versions
from ..runtime.rules import check_shape
from ..runtime.storage import PAIR, SHARED, holders
from ..runtime.tensor import Array, Tensor, wrap
from ..runtime.trees import leaves, replaced
from ..source import warned_place
from .hooks import passed, place_of_value, variable_hooks
from .tape import Applied, Element, Node, Source, next_order, quietly, thread


# ------------------------------------------------------------------------------------------------ backward
def _backward(
    bit: int,
    start: int,
    seeds: list[tuple[Node, Tensor]],
    only: set[Node] | None = None,
    ends: set[Node] | None = None,
    met: Sequence[Node] = (),
) -> dict[Any, Tensor]:
    """Cotangents of the sources of one tape, visiting its nodes from the newest to the oldest.

    Nodes older than the tape (`order > start`) belong to an earlier owner of the bit.  `seeds` is consumed, so that the
    graph is freed on the way.  Nodes that are not in `only` are skipped; those in `ends` count as sources.  Those of
    collectives, `met`, are visited in any case.
    """
    cotangents: dict[Node, Any] = {}
    heap: list[tuple[int, Node]] = []
    parts: set[Node] = set()
    in_place = not thread.state.active and residence.bring is None
    found: dict[Any, Tensor] = {}
    for each in met:
        cotangents[each] = _nothing_yet(each)
        heappush(heap, (each.order, each))
    while seeds:
        _add(cotangents, heap, *seeds.pop())
    node: Any
    while heap:
        node = heappop(heap)[1]
        g = cotangents.pop(node)
        if node.__class__ is Source and node.bit == bit:
            found[node] = g
            continue
        if ends is not None and node in ends:
            found[node] = g
            continue
        if node.__class__ is Element:
            _add_element(cotangents, heap, node, g)
            continue
        wanted = tuple([p is not None and p.mask & bit != 0 and p.order <= start for p in node.parents])
        if only is not None:
            wanted = tuple([w and p in only for w, p in zip(wanted, node.parents, strict=True)])
        if in_place and node.__class__ is Applied and node.plan.defn is Slice:
            if wanted[0]:
                _add_part(cotangents, heap, parts, node, np.asarray(g._data))
            continue
        pulled = node.pull(g, wanted)
        for parent, want, array, h in zip(node.parents, wanted, node.arrays, pulled, strict=True):
            if not want or h is None:
                continue
            if h.__class__ is not Tensor or h._data.shape != array.shape or h._data.dtype is not array.dtype:
                h = _fitted(h, array, parent.__class__ is Source and parent.bit == bit and not parent.whole)
            _add(cotangents, heap, parent, h)
    return found


def _nothing_yet(node: Any) -> Any:
    """The cotangents of a node before any has arrived."""
    if node.__class__ is not Applied or node.plan.defn.multiple:
        return [None] * node.count
    (out,) = node.outs
    return wrap(np.zeros(out.shape, out.dtype))


def backward(
    bit: int, seeds: list[tuple[Node, Tensor]], ends: set[Node], met: Sequence[Node] = ()
) -> dict[Node, Tensor]:
    """Cotangents of the nodes in `ends` of a part of a tape that is still being computed."""
    return _backward(bit, 0, seeds, None, ends, met)


def leading_to(asked: set[Node], ends: Sequence[Node]) -> set[Node]:
    """The nodes between `asked` and `ends`, `asked` included: those that depend on `asked`."""
    seen: set[Node] = set()
    stack: list[Any] = list(ends)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(p for p in _before(node) if p is not None)
    found = set(asked)
    for node in sorted(seen, key=lambda n: n.order, reverse=True):  # the oldest first
        if any(p in found for p in _before(node)):
            found.add(node)
    return found


def _before(node: Any) -> Sequence[Node | None]:
    return (node.owner,) if node.__class__ is Element else node.parents


def _add(cotangents: dict[Node, Any], heap: list[tuple[int, Node]], node: Node, g: Tensor) -> None:
    old = cotangents.get(node)
    if old is None:
        cotangents[node] = g
        heappush(heap, (node.order, node))
    else:
        total = old + g
        if node.__class__ is Source and not total._data.shape:  # a number stays one only if it is the whole gradient
            total = F.broadcast_to(total, shape=node.arrays[0].shape)
        cotangents[node] = total


def _add_part(cotangents: dict[Node, Any], heap: list[tuple[int, Node]], parts: set[Node], node: Any, g: Array) -> None:
    """Adds the cotangent of a slice to that of its operand in place, so the work is proportional to the slice.

    Reading a sequence step by step would else take quadratic time.  The buffers of nodes in `parts` are not shared
    until these are visited, which is after the last of their slices.
    """
    source, array = node.parents[0], node.arrays[0]
    where = functools.partial(node.plan.kernel, **dict(zip(Slice.schema, node.attrs, strict=True)))
    old = cotangents.get(source)
    if old is None:
        cotangents[source] = fresh = wrap(np.zeros(array.shape, array.dtype))
        where(fresh._data)[...] = g
        heappush(heap, (source.order, source))
    else:
        if source not in parts:
            cotangents[source] = old = wrap(np.broadcast_to(np.asarray(old._data), array.shape).copy())
        part = where(old._data)
        quietly(np.add, part, g, part)
    parts.add(source)


def _add_element(cotangents: dict[Node, Any], heap: list[tuple[int, Node]], node: Element, g: Tensor) -> None:
    owner = node.owner
    gs = cotangents.get(owner)
    if gs is None:
        cotangents[owner] = gs = [None] * owner.count
        heappush(heap, (owner.order, owner))
    gs[node.index] = g if gs[node.index] is None else gs[node.index] + g


def _fitted(g: Any, array: Array, ends: bool) -> Tensor:
    """A cotangent in the dtype and shape of its operand.

    Kernels broadcast by themselves, so a rule's cotangent may be larger than the operand: it is summed.  A smaller one
    is a number that a user's rule returned: it stays a number if it `ends` here, else it is broadcast.
    """
    if not isinstance(g, Tensor):
        if not isinstance(g, bool | int | float):
            raise GradientError(f"a cotangent must be a Tensor, a number or None, not {type(g).__name__}")
        g = wrap(np.asarray(g).astype(array.dtype))
    if g._data.dtype != array.dtype:
        g = cotangent_in(g, from_numpy(array.dtype))
    shape, wanted = g._data.shape, array.shape
    if shape == wanted:
        return g
    if not shape:
        return g if ends else F.broadcast_to(g, shape=wanted)
    if len(shape) < len(wanted) or any(n not in (1, m) for m, n in zip(shape[::-1], wanted[::-1], strict=False)):
        raise GradientError(f"a cotangent of shape {list(shape)} does not fit an operand of shape {list(wanted)}")
    return sum_to(g, wanted)


# ------------------------------------------------------------------------------------------------ forward
class Tape:
    """One differentiated call: runs `fn` on its own variables and remembers what led to the outputs.

    `fn` gets a fresh Tensor for every input, so that a variable captured from outside is a constant even if it is the
    same object.  Parameters in `weights` are variables wherever they are read.  What `fn` writes into its arguments is
    written to the caller's Tensors when it ends.
    """

    __slots__ = ("_bit", "_met", "_start", "_variables", "outputs", "sources", "targets")

    def __init__(
        self,
        fn: Callable[..., Any],
        inputs: Sequence[Tensor],
        weights: Sequence[Parameter] = (),
        of: Callable[[Any], Any] | None = None,
        hooks: bool = True,
    ) -> None:
        #: the variables whose hooks see their gradients
        self._variables = (*inputs, *weights) if hooks else ()
        self._bit = holders.take()
        try:
            self._run(fn, inputs, weights, of)
        except BaseException:
            self.close()
            raise

    def _run(self, fn: Any, inputs: Sequence[Tensor], weights: Sequence[Parameter], of: Any) -> None:
        bit, outer, self._start = self._bit, thread.state.active, next_order()
        if residence.bring is not None:  # before the tape holds their arrays, too
            for x in leaves([*inputs, *weights]):
                residence.bring(x)
        of_inputs = [_source(bit, x, Tensor) for x in inputs]
        of_weights = {p: _source(bit, p, Parameter) for p in weights}
        self.sources = of_inputs + [of_weights[p] for p in weights]
        aliases = [_variable(source) for source in of_inputs]
        before = {p: p._node for p in of_weights}
        for p, source in of_weights.items():
            p._node = source
        thread.state.active = outer | bit * PAIR
        met, first = thread.state.met, len(thread.state.met)
        try:
            outputs = fn(*aliases)
            differentiated = outputs if of is None else of(outputs)
            #: dtype and shape of every output Tensor that is differentiated, and the node that made it.
            self.targets = [(t._data.dtype, t._data.shape, t._node) for t in leaves(differentiated)]
        finally:
            thread.state.active = outer
            #: the nodes of collectives, which are visited in any case
            self._met = [node for node in met[first:] if node.mask & bit]
            if not outer:
                del met[first:]
            _restore_weights(of_weights, before, outer)
            for x, alias, source in zip(inputs, aliases, of_inputs, strict=True):
                if place_of_value(alias) is not source:  # every write gives a Tensor a new place on the tapes
                    x._data, x._held, x._node = alias._data, alias._held, _on(place_of_value(alias), outer)
        self.outputs = _released(outputs, aliases, inputs, outer)

    def close(self) -> None:
        """Gives the tape's bit back; the tape cannot be used again."""
        if self._bit:
            holders.give(self._bit)
            self._bit = 0

    __del__ = close

    def pull(self, seeds: Sequence[Any] | None, once: bool = False, only: Sequence[int] | None = None) -> list[Tensor]:
        """Gradients for all sources; `seeds` are cotangents of the outputs, ones for every number by default.

        With `once` the graph is dropped on the way, so that its memory is free as soon as it is used up.  `only`: for
        the sources with these numbers, in this order.
        """
        sources = self.sources if only is None else [self.sources[i] for i in only]
        targets = self.targets
        if once:
            self.targets = []
        if seeds is None:
            seeds = [
                wrap(np.ones(shape, dtype)) if self._reaches(node, dtype) else None for dtype, shape, node in targets
            ]
        if len(seeds) != len(targets):
            raise GradientError(f"there are {len(targets)} output tensors, but {len(seeds)} cotangents")
        pairs = [
            (node, _as_seed(seed, dtype, shape))
            for (dtype, shape, node), seed in zip(targets, seeds, strict=True)
            if seed is not None and self._reaches(node, dtype)
        ]
        empty = not targets
        del targets
        met = self._met
        if once:
            self._met = []
        lost, active, pulled = holders.lost, thread.state.active, thread.state.pulled
        leading = None if only is None else leading_to({*sources, *met}, [*(node for node, _ in pairs), *met])
        unreached = not met and (not pairs or (leading is not None and leading.isdisjoint(n for n, _ in pairs)))
        # A derivative of a derivative is zero where the function is linear, whatever else it does.
        known = bool(holders.inner & self._bit)
        if unreached and sources and not known:
            text = NOTHING_RETURNED if empty and not lost & self._bit else ZERO_GRADIENT
            warn_once(GradientWarning(text), warned_place())
        floats: set[Node] = {s for s in sources if s.arrays[0].dtype.kind not in "biu"}
        # Only integers may lead there, and only by steps: the ends are kept to find out.
        ends = [node for node, _ in pairs] if len(floats) < len(sources) and not (unreached or known) else []
        thread.state.active, thread.state.pulled = active & ~(self._bit * PAIR), self._bit
        holders.inner |= thread.state.active
        try:
            found = _backward(self._bit, self._start, pairs, leading, met=met)
            for source, x in zip(self.sources, self._variables, strict=False):
                if source in found and (hooks := variable_hooks(x)) and (only is None or source in sources):
                    found[source] = _passed(hooks, found[source], source)
        finally:
            thread.state.cut |= holders.lost & ~lost & thread.state.active != 0
            thread.state.active, thread.state.pulled, holders.lost = active, pulled, lost
        if ends and found.keys().isdisjoint(sources) and leading_to(floats, ends).isdisjoint(ends):
            warn_once(GradientWarning(ZERO_GRADIENT), warned_place())
        return _distinct([found.get(source) for source in sources], sources, seeds)

    def _reaches(self, node: Node | None, dtype: Any) -> bool:
        """Whether what a node made has a derivative on this tape."""
        if node is None or dtype.kind == "b" or node.order > self._start:
            return False
        return node.mask & self._bit << (dtype.kind in "iu") != 0


def _passed(hooks: tuple[Registered, ...], g: Tensor, source: Source) -> Tensor:
    """The gradient of a variable after its hooks."""
    array = source.arrays[0]
    full = g if g._data.shape == array.shape else F.broadcast_to(g, shape=array.shape)
    found = passed(hooks, full)
    if not isinstance(found, Tensor):
        return wrap(np.full(array.shape, found, array.dtype))
    check_shape(hooks[-1].what, "AC1707", array.shape, found._data.shape)
    return found if found._data.dtype == array.dtype else F.cast(found, dtype=from_numpy(array.dtype))


def _source(bit: int, x: Any, kind: type[Tensor]) -> Source:
    if not isinstance(x, kind):
        raise GradientError(f"a gradient is taken with respect to {kind.__name__}s, not {type(x).__name__}")
    x._held |= bit
    return Source(bit, x._data, x._node, whole=kind is Parameter)


def _variable(source: Source) -> Tensor:
    alias = wrap(source.arrays[0], source)
    alias._held = source.bit
    return alias


def _on(node: Node | None, active: int) -> Node | None:
    return node if node is not None and node.mask & active else None


def _restore_weights(sources: dict[Parameter, Source], before: dict[Parameter, Node | None], outer: int) -> None:
    """Parameters that `fn` assigned keep their new place on the outer tapes, the others go back to their old one."""
    nodes = versions.nodes
    for p, source in sources.items():
        if nodes.get(p) is source:
            p._node = before[p]
    for p, node in list(nodes.items()):
        if not node.mask & outer:
            del nodes[p]


def _as_seed(seed: Any, dtype: Any, shape: tuple[int, ...]) -> Tensor:
    if isinstance(seed, bool | int | float):
        return wrap(np.full(shape, seed, dtype))
    if not isinstance(seed, Tensor):
        raise GradientError(f"the cotangent of an output must be a Tensor, not {type(seed).__name__}")
    if seed._data.shape != shape:
        raise GradientError(f"the output has shape {list(shape)}, but its cotangent has {list(seed._data.shape)}")
    return seed if seed._data.dtype == dtype else F.cast(seed, dtype=from_numpy(dtype))


def _distinct(gradients: Sequence[Tensor | None], sources: Sequence[Source], seeds: Sequence[Any]) -> list[Tensor]:
    """The gradients as distinct Tensors: zeros for unused sources, and copy on write where two share a buffer."""
    seen = {id(s._data) for s in seeds if isinstance(s, Tensor)}
    out = []
    for g, source in zip(gradients, sources, strict=True):
        if g is None:
            g = wrap(np.zeros_like(source.arrays[0]))
        elif id(g._data) in seen:
            g = wrap(g._data, g._node)
            g._held = SHARED
        seen.add(id(g._data))
        out.append(g)
    return out


# ------------------------------------------------------------------------------------------------ outputs
def _released(outputs: Any, aliases: Sequence[Tensor], inputs: Sequence[Tensor], outer: int) -> Any:
    """The outputs off the ended tape, with the caller's own Tensors where `fn` returned an argument."""
    originals = {id(a): x for a, x in zip(aliases, inputs, strict=True)}
    passed_through = False
    for t in leaves(outputs):
        if id(t) in originals:
            passed_through = True
        elif not isinstance(t, Parameter):
            t._node = _on(t._node, outer)
    return replaced(outputs, lambda t: originals.get(id(t), t)) if passed_through else outputs


# ------------------------------------------------------------------------------------------------ gradients
def differentiate(
    fn: Callable[..., Any],
    inputs: Sequence[Tensor],
    weights: Sequence[Parameter] = (),
    seeds: Sequence[Any] | None = None,
    of: Callable[[Any], Any] | None = None,
) -> tuple[Any, list[Tensor], list[Tensor]]:
    """``fn(*inputs)`` and the gradients with respect to the inputs and to the Parameters in `weights`.

    `of` picks the part of the outputs that is differentiated: all by default, ``lambda out: out[0]`` with auxiliary
    outputs.  Seeds are cotangents of its Tensors in the order of `leaves`: Tensors of the outputs' shapes, numbers, or
    None for an output that is not differentiated.  By default every output is seeded with ones, but integers only as
    far as integer variables lead there.  What is unused has a gradient of zeros; an integer variable has an integer
    gradient.

    GradientError: an input that is no Tensor, a weight that is no Parameter, a seed of another shape.

    >>> y, (dx,), () = differentiate(lambda x: x * x, [Tensor([1.0, 2.0])])
    >>> y.tolist(), dx.tolist()
    ([1.0, 4.0], [2.0, 4.0])
    """
    tape = Tape(fn, inputs, weights, of)
    try:
        gradients = tape.pull(seeds, once=True)
    finally:
        tape.close()
    return tape.outputs, gradients[: len(inputs)], gradients[len(inputs) :]


def vjp(
    fn: Callable[..., Any], inputs: Sequence[Tensor], weights: Sequence[Parameter] = (), hooks: bool = False
) -> tuple[Any, Callable[[Sequence[Any] | None], list[Tensor]]]:
    """``fn(*inputs)`` and its pullback: cotangents of the output Tensors to those of inputs and weights.

    The pullback may be called any number of times; what it computes is differentiable itself.  With `hooks` what it
    gives passes the hooks of the variables.

    >>> y, pullback = vjp(lambda x: x * x, [Tensor([1.0, 2.0])])
    >>> pullback([Tensor([10.0, 1.0])])[0].tolist()
    [20.0, 4.0]
    """
    tape = Tape(fn, inputs, weights, hooks=hooks)
    outputs, tape.outputs = tape.outputs, None
    return outputs, tape.pull
