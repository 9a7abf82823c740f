"""Containers from outside that hold Tensors, and others that stand in their place at the next call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops

BACKENDS = ("native", "numpy")


class Pair(NamedTuple):
    a: Any
    b: Any


class Holder:
    held: Any


def t(x: float) -> Tensor:
    return Tensor(x)


def by_loop(o: Holder, x: Any) -> Any:
    for v in o.held:
        x = x * 2 + v
    return x


def by_key(o: Holder, x: Any) -> Any:
    for k in o.held:
        x = x * 2 + o.held[k]
    return x


def by_values(o: Holder, x: Any) -> Any:
    for a, b in o.held.values():
        x = x * a + b
    return x


def unpacked(o: Holder, x: Any) -> Any:
    a, (b, c) = o.held
    return x * a + b * c


def rebound_tuple(o: Holder, x: Any) -> Any:
    o.held = (o.held[0] + x, o.held[1])
    return o.held[0]


def rebound_list(o: Holder, x: Any) -> Any:
    o.held = [0.5 * a + x for a in o.held]
    return o.held[0] - 2 * o.held[1]


def rebound_dict(o: Holder, x: Any) -> Any:
    o.held = {k: 0.5 * a + x for k, a in o.held.items()}
    return o.held["a"]


def pair(v: float) -> tuple[Tensor, Tensor]:
    return t(v), t(2 * v + 1)


def listed(v: float) -> list[Tensor]:
    return [*pair(v)]


def keyed(v: float) -> dict[str, Tensor]:
    return dict(zip("ab", pair(v), strict=True))


#: What makes the container of a number, and what reads it.
READS: dict[str, tuple[Any, Any]] = {
    "tuple": (pair, lambda o, x: x + o.held[0] * o.held[1]),
    "list": (listed, lambda o, x: x + o.held[0] * o.held[-1]),
    "dict": (keyed, lambda o, x: x + o.held["a"] * o.held["b"]),
    "named tuple": (lambda v: Pair(*pair(v)), lambda o, x: x * o.held.a + o.held[1]),
    "get": (keyed, lambda o, x: x + o.held.get("a") * o.held.get("b")),
    "items": (keyed, lambda o, x: x + sum([v for k, v in o.held.items()])),
    "sum of values": (keyed, lambda o, x: x + sum(o.held.values())),
    "greatest value": (keyed, lambda o, x: x + max(o.held.values())),
    "squares of values": (keyed, lambda o, x: x + sum([v * v for v in o.held.values()])),
    "nested values": (lambda v: {"p": pair(v), "q": pair(v + 1)}, by_values),
    "merged": (keyed, lambda o, x: x + (o.held | {"c": x})["a"] * (o.held | {})["b"]),
    "copied dict": (keyed, lambda o, x: x + o.held.copy()["a"] * dict(o.held)["b"]),
    "copied list": (listed, lambda o, x: x + o.held.copy()[0] * list(o.held)[1]),
    "joined": (listed, lambda o, x: x + (o.held + [x])[0] * (o.held * 2)[3]),
    "turned": (listed, lambda o, x: x + o.held[::-1][0] * 2 + sum(o.held[:1])),
    "zipped": (listed, lambda o, x: x + sum([a * b for a, b in zip(o.held, o.held, strict=True)])),
    "numbered": (listed, lambda o, x: x + sum([i * a for i, a in enumerate(o.held)])),
    "stacked": (pair, lambda o, x: ops.stack(o.held).sum() * x),
    "starred": (listed, lambda o, x: ops.stack([*o.held, x]).sum()),
    "keywords": (keyed, lambda o, x: (lambda a, b: x * a + b)(**o.held)),
    "method": (listed, lambda o, x: x + o.held[0].exp() + o.held.copy()[1].exp()),
    "negated": (keyed, lambda o, x: x + (-o.held.get("a"))),
    "compared": (keyed, lambda o, x: x + (2 * x if o.held.get("a") > 1.5 else x)),
    "loop": (listed, by_loop),
    "keys": (keyed, by_key),
    "unpacked": (lambda v: (t(v), pair(v)), unpacked),
    "deep": (lambda v: {"a": [(t(v),)]}, lambda o, x: x + o.held["a"][0][0]),
    "gradient": (pair, lambda o, x: ms.grad(lambda y: y * y * o.held[0])(x)),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", READS)
def test_another_container_is_read(name: str, backend: str) -> None:
    make, read = READS[name]
    holder = Holder()
    compiled = ms.jit(lambda x: read(holder, x), backend=backend)
    for v in (0.0, 1.0, 2.0, 5.0):
        holder.held = make(v)
        assert compiled(t(3.0)).item() == pytest.approx(read(holder, t(3.0)).item(), rel=1e-6), v


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("make", "step"),
    [(pair, rebound_tuple), (listed, rebound_list), (keyed, rebound_dict)],
    ids=["tuple", "list", "dict"],
)
def test_a_container_that_compiled_code_replaces_is_the_next_call_s(make: Any, step: Any, backend: str) -> None:
    mine, theirs = Holder(), Holder()
    mine.held, theirs.held = make(0.5), make(0.5)
    compiled = ms.jit(lambda x: step(mine, x), backend=backend)
    for k in range(5):
        assert compiled(t(k + 1.0)).item() == pytest.approx(step(theirs, t(k + 1.0)).item(), rel=1e-6), k


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_container_at_two_places_may_become_two(backend: str) -> None:
    a, b = Holder(), Holder()
    a.held = b.held = (t(1.0),)
    compiled = ms.jit(lambda x: x * a.held[0] + b.held[0], backend=backend)
    assert compiled(t(2.0)).item() == 3.0
    b.held = (t(5.0),)
    assert compiled(t(2.0)).item() == 7.0
    a.held = (t(3.0),)
    assert compiled(t(2.0)).item() == 11.0
    shared = t(7.0)
    a.held, b.held = (shared,), (shared,)
    assert compiled(t(2.0)).item() == 21.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_inner_container_that_is_replaced_in_place(backend: str) -> None:
    rows = [(t(1.0),)]
    compiled = ms.jit(lambda x: x * rows[0][0], backend=backend)
    assert compiled(t(2.0)).item() == 2.0
    rows[0] = (t(5.0),)
    assert compiled(t(2.0)).item() == 10.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_recurrent_cell_carries_its_pair_of_states(backend: str) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTMCell(2, 3)
            self.state = Tensor(np.zeros((1, 3), np.float32)), Tensor(np.zeros((1, 3), np.float32))

        def construct(self, x: Any) -> Any:
            self.state = self.cell(x, self.state)
            return self.state[0]

    eager, net = Net(), Net()
    ms.load_param_into_net(net, eager.parameters_dict())
    compiled = ms.jit(lambda x: net(x), backend=backend)
    x = Tensor([[1.0, -2.0]])
    seen = []
    for _ in range(4):
        seen.append(compiled(x).asnumpy())
        np.testing.assert_allclose(seen[-1], eager(x).asnumpy(), rtol=1e-5, atol=1e-6)
    assert not np.allclose(seen[0], seen[1]), "the states change the result"
