"""Checks that users' derivative rules are linear in the cotangent: forward mode transposes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import BpropError
from ..runtime.rules import only_in_reverse
from ..runtime.tensor import Tensor, wrap
from ..runtime.trees import leaves
from ..source import calling_place
from .grad import Tape, leading_to, vjp
from .tape import Applied, Element, Rule, Selective, thread


def has_rules(pullback: Any) -> bool:
    """Whether users' rules are part of a pullback."""
    tape: Tape = pullback.__self__
    seen: set[Any] = set()
    stack: list[Any] = [node for _, _, node in tape.targets]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(node, Rule):
            return True
        stack.extend((node.owner,) if node.__class__ is Element else node.parents)
    return False


def transposed(backward: Callable[..., Any], at: Sequence[Tensor]) -> Callable[[Sequence[Any]], list[Tensor]]:
    """The pullback (transpose) of a linear map of cotangents; `at` are zeros.

    BpropError (AC1705): it is not linear, as its value at zero is not zero or its pullback depends on the place.
    """
    made: list[Any] = []

    def probe(*cotangents: Tensor) -> Any:
        found, pullback = vjp(backward, cotangents)
        if any(np.any((t._data != 0) & (t._data == t._data)) for t in leaves(found)):  # 0 / 0 says nothing
            raise _refusal()
        made.append(pullback)
        return tuple(pullback([None if t.dtype.is_bool else wrap(np.ones_like(t._data)) for t in leaves(found)]))

    cut, thread.state.cut = thread.state.cut, False
    thread.state.reverse_only = ""
    try:
        tape = Tape(probe, at)
        ends = [node for _, _, node in tape.targets if node is not None]
        leading = leading_to(set(tape.sources), ends)
        compiled = any(isinstance(node, Selective) for node in leading)  # which may depend on less than it is said to
        if (not compiled and not leading.isdisjoint(ends)) or _has_steps(made[0]):
            raise _refusal()
        suspicious = compiled or thread.state.cut  # perhaps by a node on an older tape with the same bit
        tape.close()
    finally:
        thread.state.cut = cut
    if suspicious and _bends(backward, at):
        raise _refusal()
    pullback: Callable[[Sequence[Any]], list[Tensor]] = made[0]
    return pullback


def _has_steps(pullback: Any) -> bool:
    """Whether a function whose derivative is zero (`sign`, `floor`) takes part in a pullback."""
    tape: Tape = pullback.__self__
    ends = [node for _, _, node in tape.targets if node is not None]
    on_the_way = leading_to(set(tape.sources), ends).difference(tape.sources)
    return any(isinstance(n, Applied) and n.plan.defn.scalar is not None and _is_step(n) for n in on_the_way)


def _is_step(node: Applied) -> bool:
    if len(node.parents) != 1 or node.parents[0] is None or node.outs[0].dtype.kind != "f":
        return False
    return node.pull(wrap(np.ones_like(node.outs[0])), (True,))[0] is None


def _bends(backward: Callable[..., Any], at: Sequence[Tensor]) -> bool:
    """Whether a map of cotangents is nonlinear, by its values at two points."""
    rng = np.random.default_rng(0)
    there = [wrap(np.asarray(3 * rng.standard_normal(x.shape), x._data.dtype)) for x in at]
    back = [wrap(np.asarray(-1000 * x._data, x._data.dtype)) for x in there]
    first, second = ([t._data.astype(np.float64) for t in leaves(backward(*c))] for c in (there, back))
    same = [np.isclose(-1000 * a, b, rtol=1e-2, atol=1e-3) for a, b in zip(first, second, strict=True)]
    overflowed = [~np.isfinite(b) for b in second]
    return not all(np.all(s | o) for s, o in zip(same, overflowed, strict=True))


def _refusal() -> BpropError:
    if thread.state.reverse_only:
        return only_in_reverse(thread.state.reverse_only, calling_place())
    return BpropError(
        "a `bprop` is not linear in the cotangent, so forward mode cannot use it",
        code="AC1705",
        loc=calling_place(),
        hint="use `dout` linearly, or ask for the derivative in reverse mode",
    )
