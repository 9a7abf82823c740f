"""A compiled train step is one call of one program, which writes Parameters where they are."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.backends.numpy.scratch import BLOCKS
from autodiff_compiler.eager.tape import thread
from tests.agreement import bits

SIZE = 128  # 64 KiB of weights: from 4 KiB on they are written in place


def network() -> nn.Cell:
    rng = np.random.default_rng(3)
    weight = Tensor(rng.standard_normal((SIZE, SIZE), np.float32) / 12)
    return nn.SequentialCell(nn.Dense(SIZE, SIZE, weight, "zeros"), nn.Tanh())


def batch(seed: int) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(seed)
    return Tensor(rng.standard_normal((16, SIZE), np.float32)), Tensor(rng.standard_normal((16, SIZE), np.float32))


def plain(net: nn.Cell, optimizer: nn.Cell, change: Any = None) -> Any:
    loss = nn.MSELoss()
    derivative = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

    def step(x: Any, y: Any) -> Any:
        value, gradients = derivative(x, y)
        optimizer(gradients if change is None else change(gradients))
        return value

    return step


def accumulated(net: nn.Cell, optimizer: nn.Cell) -> Any:
    """Gradients of two batches add up in Parameters before a step."""
    sums = optimizer.parameters.clone("sums", "zeros")
    count = Parameter(Tensor(0, ms.int32), "count", requires_grad=False)
    loss = nn.MSELoss()
    derivative = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

    def step(x: Any, y: Any) -> Any:
        value, gradients = derivative(x, y)
        for total, g in zip(sums, gradients, strict=True):
            ops.assign_add(total, g)
        ops.assign_add(count, 1)
        if count % 2 == 0:
            optimizer(tuple(total / 2 for total in sums))
            for total in sums:
                ops.assign(total, ops.zeros_like(total))
        return value

    return step


def cell(kind: Any, *args: Any) -> Any:
    return lambda net, optimizer: kind(nn.WithLossCell(net, nn.MSELoss()), optimizer, *args)


STEPS: dict[str, Any] = {
    "value_and_grad": plain,
    "clip_by_global_norm": lambda n, o: plain(n, o, lambda g: ops.clip_by_global_norm(g, 0.1)),
    "clip_by_value": lambda n, o: plain(n, o, lambda g: tuple(ops.clip_by_value(x, -1e-3, 1e-3) for x in g)),
    "accumulation": accumulated,
    "TrainOneStepCell": cell(nn.TrainOneStepCell),
    "TrainOneStepWithLossScaleCell": lambda n, o: cell(
        nn.TrainOneStepWithLossScaleCell, nn.DynamicLossScaleUpdateCell(1024.0, 2, 3)
    )(n, o),
}
OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda ps: nn.SGD(ps, 0.1),
    "Momentum": lambda ps: nn.Momentum(ps, 0.1, 0.9),
    "Adam": lambda ps: nn.Adam(ps, 0.01),
    "Lamb": lambda ps: nn.Lamb(ps, 0.01),
}


def made(step: str, optimizer: str, compiled: bool) -> tuple[Any, nn.Cell]:
    net = network()
    update = OPTIMIZERS[optimizer](net.trainable_params())
    run = STEPS[step](net, update)
    if compiled:
        run = ms.jit(run) if not isinstance(run, nn.Cell) else run._as_compiled()
    return run, update


def calls_of(run: Any) -> int:
    """How often kernels or programs run: one by `quiet`, the other by `silently`, once per eager op or program."""
    state, count = thread.state, [0]
    ways = {name: getattr(state, name) for name in ("quiet", "silently")}

    def counting(way: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            count[0] += 1
            return way(*args, **kwargs)

        return call

    for name, way in ways.items():
        setattr(state, name, counting(way))
    try:
        run()
    finally:
        for name, way in ways.items():
            setattr(state, name, way)
    return count[0]


@pytest.mark.some(3)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_one_call_and_writes_parameters_where_they_are(step: str, optimizer: str) -> None:
    run, update = made(step, optimizer, compiled=True)
    eager, reference = made(step, optimizer, compiled=False)
    places = [p.data_ptr() for p in update.get_parameters()]
    for seed in range(3):
        x, y = batch(seed)
        eager(x, y)
        run(x, y)
    assert [p.data_ptr() for p in update.get_parameters()] == places
    for p, q in zip(update.get_parameters(), reference.get_parameters(), strict=True):
        # where a gradient is next to nothing, Adam divides what it was rounded to by its own size
        atol = 1e-7 if bits() else 1e-5
        np.testing.assert_allclose(p.asnumpy(), q.asnumpy(), rtol=2e-5, atol=atol, err_msg=p.name)
    assert calls_of(lambda: run(x, y)) == (1 if bits() else 0)  # machine code calls no kernels
    assert calls_of(lambda: eager(x, y)) > 10


def peak(run: Any) -> int:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("optimizer", "temporary"), [("SGD", 1), ("Momentum", 2), ("Adam", 3)])
@pytest.mark.parametrize("step", ["value_and_grad", "TrainOneStepCell", "TrainOneStepWithLossScaleCell"])
def test_a_step_takes_no_copies_of_parameters(step: str, optimizer: str, temporary: int) -> None:
    """Of the weights' size it needs the gradient and what one formula has in its hands; and they stay for next time."""
    run, _ = made(step, optimizer, compiled=True)
    x, y = batch(0)
    for _ in range(4):
        run(x, y)  # the shorter ways into a program are made in its first calls
    weights, small = 4 * SIZE * SIZE, 2**16
    BLOCKS.clear()
    assert peak(lambda: run(x, y)) <= temporary * weights + small
    assert peak(lambda: run(x, y)) <= small


def test_an_overflow_leaves_parameters_as_they_were() -> None:
    run, update = made("TrainOneStepWithLossScaleCell", "Adam", compiled=True)
    x, y = batch(0)
    run(x, y)
    before = [p.asnumpy().copy() for p in update.get_parameters()]
    _, overflow, scale = run(x, Tensor(np.full((16, SIZE), np.inf, np.float32)))
    assert overflow.item()
    assert scale.item() == 512.0
    for p, old in zip(update.get_parameters(), before, strict=True):
        np.testing.assert_array_equal(p.asnumpy(), old)


# ------------------------------------------------------------------------------------------------ who else looks
def parameter(name: str = "p", start: float = 1.0) -> Parameter:
    return Parameter(Tensor(np.full((64, 64), start, np.float32)), name=name)


def test_an_argument_that_shares_a_parameters_memory_keeps_its_value_during_the_call(mode: str) -> None:
    p = parameter()
    shown = Tensor.from_numpy(p.asnumpy())

    def f(x: Any) -> Any:
        ops.assign(p, p * 2.0)
        return x.sum() if mode == "graph" else Tensor(4096.0)

    found = (ms.jit(f) if mode == "graph" else f)(shown)
    assert found.item() == 4096.0
    assert p.sum().item() == 8192.0


def test_a_parameter_that_is_an_argument_too(mode: str) -> None:
    p = parameter()

    def f(x: Any) -> Any:
        before = x * 3.0
        ops.assign(p, p * 2.0)
        return before.sum() + x.sum()

    found = (ms.jit(f) if mode == "graph" else f)(p)
    assert found.item() == 4096 * (3.0 + 2.0)


def test_the_value_before_an_assignment_can_be_returned(mode: str) -> None:
    p = parameter()

    def f() -> Any:
        old = p + 0.0
        flat = ops.reshape(p * 1.0, (-1,))
        ops.assign(p, p * 2.0)
        return old, flat, p * 1.0, p

    run = ms.jit(f) if mode == "graph" else f
    first, second = run(), run()
    assert [t.sum().item() / 4096 for t in first] == [1.0, 1.0, 2.0, 4.0]
    assert [t.sum().item() / 4096 for t in second] == [2.0, 2.0, 4.0, 4.0]


def test_parameters_that_change_places(mode: str) -> None:
    p, q = parameter("p", 1.0), parameter("q", 2.0)

    def f() -> None:
        a, b = p * 1.0, q * 1.0
        ops.assign(p, b)
        ops.assign(q, a + p)

    run = ms.jit(f) if mode == "graph" else f
    for expected in ((2.0, 3.0), (3.0, 5.0), (5.0, 8.0)):
        run()
        assert (p[0, 0].item(), q[0, 0].item()) == expected


def test_a_parameter_that_a_loop_changes(mode: str) -> None:
    p = parameter()

    def f(n: Any) -> Any:
        for _ in range(int(n)):
            ops.assign(p, p * 0.5 + p.mean())
        return p.sum()

    run = ms.jit(f) if mode == "graph" else f
    assert run(Tensor(20)).item() == pytest.approx(4096 * 1.5**20, rel=1e-5)
    assert p[3, 3].item() == pytest.approx(1.5**20, rel=1e-5)


def test_an_exception_keeps_what_was_assigned_before_it_and_nothing_else(mode: str) -> None:
    p, q = parameter("p"), parameter("q")
    table = Tensor(np.zeros((4, 4), np.float32))

    def f(i: Any) -> Any:
        ops.assign(p, p * 2.0)
        row = ops.gather(table, i, 0)
        ops.assign(q, q * 2.0)
        return row.sum()

    run = ms.jit(f) if mode == "graph" else f
    run(Tensor([1]))
    with pytest.raises(IndexError):
        run(Tensor([7]))
    assert (p[0, 0].item(), q[0, 0].item()) == (4.0, 2.0)


def test_a_tape_keeps_the_value_it_recorded() -> None:
    """Eager code differentiates through a compiled call that changes the Parameter: d(p * p) at the old p."""
    p = parameter("p", 3.0)

    @ms.jit
    def f() -> Any:
        y = (p * p).sum()
        ops.assign(p, p * 2.0)
        return y

    gradient = ms.grad(lambda: f(), None, ms.ParameterTuple([p]))()
    np.testing.assert_array_equal(gradient[0].asnumpy(), np.full((64, 64), 6.0, np.float32))
    assert p[0, 0].item() == 6.0


def test_threads_do_not_share_scratch_memory() -> None:
    @ms.jit
    def f(x: Any) -> Any:
        y = x @ x
        for _ in range(4):
            y = (y @ x).tanh()
        return y.sum()

    inputs = [Tensor(np.random.default_rng(i).standard_normal((128, 128), np.float32)) for i in range(4)]
    expected = [f(x).item() for x in inputs]
    found: list[list[float]] = [[] for _ in inputs]

    def work(i: int) -> None:
        for _ in range(30):
            found[i].append(f(inputs[i]).item())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    # a product has as many threads as are free, so its last bits may differ
    np.testing.assert_allclose(found, [[e] * 30 for e in expected], rtol=1e-3)
    assert len(BLOCKS) <= 4
