"""A program of several processes with a device each, which MPI starts: collectives on the device against NumPy and CPU.

`test_collectives.py` runs it; the first argument names what is checked.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.backends.ascend.device import current, shutdown
from autodiff_compiler.backends.ascend.library import LIBRARY_VARIABLE
from autodiff_compiler.collectives import create_group, destroy_group, group, init
from autodiff_compiler.dtypes import DType, bfloat16, bool_, dtype_of, float16, float32, float64, int64, uint8, uint64
from autodiff_compiler.errors import AscendError, UnsupportedCallError
from autodiff_compiler.ir.primitive import F
from autodiff_compiler.ops import communication as comm_func

init()
WORLD = "hccl_world_group"
RANK, SIZE = group(WORLD).rank, group(WORLD).size
OF: dict[str, Any] = {"group": WORLD, "size": SIZE}
DTYPES = (float32, float16, bfloat16, *map(dtype_of, ("int8", "int16", "int32")), int64, uint8, bool_)
MOVED = (float64, *map(dtype_of, ("uint16", "uint32")), uint64)
REDUCE: dict[str, Any] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
NEXT, BEFORE = (RANK + 1) % SIZE, (RANK - 1) % SIZE


@contextmanager
def on_cpu() -> Iterator[None]:
    """The same by the host, over MPI."""
    ms.set_context(device_target="CPU", device_id=0)
    try:
        yield
    finally:
        ms.set_device("Ascend", RANK)


def data(rank: int, dtype: DType, *shape: int) -> Any:
    """What a rank has: small numbers, whose sums and products are exact in every dtype."""
    low = 0 if dtype.short.startswith("u") or dtype is bool_ else -3
    return (
        np.random.default_rng([rank, len(shape)]).integers(low, 2 if dtype is bool_ else 4, shape).astype(dtype.numpy)
    )


def same(found: Any, expected: Any, what: object) -> None:
    found = found.asnumpy()
    assert found.dtype == expected.dtype, (what, found.dtype, expected.dtype)
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    assert np.array_equal(found, expected), (what, found, expected)


def refusal(kind: type[Exception], call: Callable[[], Any]) -> str:
    """What a call that is refused says."""
    try:
        call()
    except kind as error:
        return "\n".join([str(error), *getattr(error, "__notes__", ())])
    raise AssertionError("it was not refused")


# ------------------------------------------------------------------------------------------------ values
def expected_values(dtype: DType) -> dict[str, tuple[Callable[[Any], Any], Any, Any]]:
    """By name: a collective, what this rank gives, and what it gets."""
    shape = (SIZE, 3)
    every = np.stack([data(r, dtype, *shape) for r in range(SIZE)])
    mine, root, zeros = every[RANK], SIZE - 1, np.zeros(shape, dtype.numpy)
    square = np.stack([data(r, dtype, 2, SIZE) for r in range(SIZE)])
    rows = [data(r, dtype, 3 * SIZE, 2) for r in range(SIZE)]
    counts = [[i + j for j in range(SIZE)] for i in range(SIZE)]
    cuts = [np.split(rows[r][: sum(counts[r])], np.cumsum(counts[r])[:-1]) for r in range(SIZE)]
    sent, received = tuple(counts[RANK]), tuple(row[RANK] for row in counts)
    return {
        "all_gather": (lambda x: F.all_gather(x, axis=-3, **OF), mine, every),
        "all_gather last": (lambda x: F.all_gather(x, axis=-1, **OF), mine, np.stack(list(every), -1)),
        "all_to_all": (lambda x: F.all_to_all(x, axis=-2, **OF), mine, np.stack([e[RANK] for e in every])),
        "all_to_all last": (
            lambda x: F.all_to_all(x, axis=-1, **OF), square[RANK], np.stack([e[:, RANK] for e in square], -1),
        ),
        "all_to_all_v": (
            lambda x: F.all_to_all_v(x, axis=-2, sent=sent, received=received, **OF), rows[RANK][: sum(sent)],
            np.concatenate([cuts[r][RANK] for r in range(SIZE)]),
        ),
        "broadcast_from": (lambda x: F.broadcast_from(x, root=root, **OF), mine, every[root]),
        "scatter_from": (lambda x: F.scatter_from(x, axis=-2, root=root, **OF), mine, every[root][RANK]),
        "gather_to": (
            lambda x: F.gather_to(x, axis=-1, root=root, **OF), mine,
            np.stack(list(every if RANK == root else 0 * every), -1).astype(dtype.numpy),
        ),
        "at_root": (lambda x: F.at_root(x, root=root, **OF), mine, mine if RANK == root else zeros),
        "ring": (ring, mine, every[BEFORE]),
        "neighbors": (lambda x: neighbors(x, dtype), mine, np.stack([every[BEFORE], every[BEFORE], mine])),
    }  # fmt: skip


def ring(x: Any) -> Any:
    """The tensor of the rank before this one: even ranks send first."""
    coming = {"source": BEFORE, "tag": 0, "dtype": x.dtype, "shape": x.shape, **OF}
    if RANK % 2 == 0:
        F.send_to(x, to=NEXT, tag=0, **OF)
        return F.receive_from(**coming)
    found = F.receive_from(**coming)
    F.send_to(x, to=NEXT, tag=0, **OF)
    return found


def neighbors(x: Any, dtype: DType) -> Any:
    """Two messages to the next rank and one to this one, at the same time."""
    sizes = x.shape * 3
    found = F.exchange(
        x,
        x,
        x,
        to=(NEXT, NEXT, RANK),
        sources=(BEFORE, BEFORE, RANK),
        dtype=dtype,
        ranks=(x.ndim,) * 3,
        sizes=sizes,
        **OF,
    )
    return ops.stack(found)


def values() -> None:
    for dtype in (*DTYPES, *MOVED):
        for name, (run, x, expected) in expected_values(dtype).items():
            if dtype in MOVED and name == "neighbors":
                continue  # what stacks them does not take these dtypes
            same(run(Tensor(x)), expected, (name, dtype.name, "eager"))
            if dtype in (float32, bfloat16, int64):
                same(ms.jit(run)(Tensor(x)), expected, (name, dtype.name, "compiled"))
    reductions()
    no_elements()
    begun()
    groups()


def reductions() -> None:
    for dtype, op in itertools.product((*DTYPES, uint64), REDUCE):
        every = np.stack([data(r, dtype, SIZE, 3) for r in range(SIZE)])
        of_bools = {"sum": np.logical_or, "prod": np.logical_and}
        ufunc = of_bools.get(op, REDUCE[op]) if dtype is bool_ else REDUCE[op]
        expected = ufunc.reduce(every).astype(dtype.numpy)
        if dtype is uint64 and op in ("max", "min"):
            continue  # refused, below
        same(F.all_reduce(Tensor(every[RANK]), op=op, **OF), expected, ("all_reduce", op, dtype.name))
        if op == "sum":
            part = F.reduce_scatter(Tensor(every[RANK]), axis=-2, **OF)
            same(part, expected[RANK], ("reduce_scatter", dtype.name))
            at = np.zeros_like(expected) if RANK else expected
            same(F.reduce_to(Tensor(every[RANK]), root=0, **OF), at, ("reduce_to", dtype.name))
    for dtype, op in ((float64, "sum"), (uint64, "max")):
        x = Tensor(data(RANK, dtype, 2))
        said = refusal(UnsupportedCallError, lambda x=x, op=op: F.all_reduce(x, op=op, **OF))
        assert f"HCCL does not reduce {dtype.name} by {op}" in said, said
        assert "collectives_program.py" in said, said
        ms.set_context(ascend_fallback="host")  # over MPI, then
        expected = REDUCE[op].reduce([data(r, dtype, 2) for r in range(SIZE)])
        same(ms.jit(lambda x, op=op: F.all_reduce(x, op=op, **OF))(x), expected, "by the host")
        ms.set_context(ascend_fallback="")


def no_elements() -> None:
    empty = Tensor(np.zeros((SIZE, 0), np.float32))
    assert F.all_reduce(empty, op="sum", **OF).shape == (SIZE, 0)
    assert F.all_gather(empty, axis=-1, **OF).shape == (SIZE, 0, SIZE)
    mine = tuple(2 if r == NEXT and RANK == 0 else 0 for r in range(SIZE))  # only rank 0 sends
    come = tuple(2 if r == 0 and RANK == 1 else 0 for r in range(SIZE))
    x = Tensor(np.ones((sum(mine), 3), np.float32))
    found = F.all_to_all_v(x, axis=-2, sent=mine, received=come, **OF)
    same(found, np.ones((sum(come), 3), np.float32), "all_to_all_v")
    F.barrier(**OF)


def begun() -> None:
    """MindSpore's functions with handles: what they begin is on the stream, and the Tensor on the device."""
    x = Tensor(np.full(3, RANK + 1, np.float32))
    found, handle = comm_func.all_reduce(x, async_op=True)
    assert type(found._data).__name__ == "AscendArray"
    handle.wait()
    assert handle.is_completed()
    same(found, np.full(3, sum(range(1, SIZE + 1)), np.float32), "begun")
    if RANK < 2:
        side = 1 - RANK
        messages = [comm_func.P2POp("isend", x, side), comm_func.P2POp("irecv", x, side)]
        same(comm_func.batch_isend_irecv(messages)[1], np.full(3, side + 1, np.float32), "both ways at once")
        if RANK == 0:
            comm_func.isend(x, side).wait()
        else:
            found, handle = comm_func.irecv(x, side)
            handle.wait()
            same(found, np.ones(3, np.float32), "irecv")
    comm_func.barrier()


def groups() -> None:
    """Groups with ranks in another order, alone, made again under one name."""
    x = Tensor(np.array([RANK + 1], np.float32))
    for ranks in ([1, 0], list(range(SIZE))):
        made = create_group("some", ranks)
        if made.rank >= 0:
            found = F.all_gather(x, axis=-1, group="some", size=len(ranks))
            same(found, np.array([[r + 1.0 for r in ranks]], np.float32), "ranks in the order of the group")
        destroy_group("some")
    alone = create_group(f"alone {RANK}", [RANK])
    same(F.all_reduce(x, op="prod", group=alone.name, size=1), x.asnumpy(), "alone")
    same(F.all_gather(x, axis=-2, group=alone.name, size=1), x.asnumpy()[None], "alone")
    create_group("last", list(range(SIZE)))
    F.all_reduce(x, op="sum", group="last", size=SIZE)
    assert len(current().held) == 2, "communicators of groups that are no more are closed"


# ------------------------------------------------------------------------------------------------ derivatives
def collectives_of(dtype: DType) -> dict[str, Callable[[Any], Any]]:
    made = {name: run for name, (run, x, _) in expected_values(dtype).items() if x.shape == (SIZE, 3)}
    for op in REDUCE:
        made[f"all_reduce {op}"] = lambda x, op=op: F.all_reduce(x, op=op, **OF)
    made["reduce_scatter"] = lambda x: F.reduce_scatter(x, axis=-2, **OF)
    made["reduce_to"] = lambda x: F.reduce_to(x, root=0, **OF)
    return made


def derivatives() -> None:
    """Of first and second order, and forwards, compiled for the device, as on the CPU."""
    x = Tensor(np.random.default_rng(RANK).uniform(0.5, 1.5, (SIZE, 3)).astype(np.float32))
    v = Tensor(np.random.default_rng(RANK + 9).uniform(0.5, 1.5, (SIZE, 3)).astype(np.float32))
    for name, run in collectives_of(float32).items():

        def loss(x: Any, run: Any = run) -> Any:
            y = ops.sin(run(x * x))
            return (y * (1.0 + RANK)).sum()

        def twice(x: Any, loss: Any = loss) -> Any:
            return (ms.grad(loss)(x) * 0.5).sum()

        of = {
            "gradient": ms.grad(loss),
            "second": ms.grad(twice),
            "forward": lambda x, loss=loss: ms.jvp(loss, (x,), (v,))[1],
        }
        for order, derivative in of.items():
            with on_cpu():
                expected = derivative(Tensor(x.asnumpy())).asnumpy()
            for way, found in (("eager", derivative), ("compiled", ms.jit(derivative))):
                got = found(x).asnumpy()
                assert np.allclose(got, expected, rtol=2e-4, atol=2e-4), (name, order, way, got, expected)


# ------------------------------------------------------------------------------------------------ programs
class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(3)
        self.w = Parameter(Tensor(rng.standard_normal((4, 3)).astype(np.float32) * 0.3), name="w")
        self.b = Parameter(Tensor(np.zeros(3, np.float32)), name="b")

    def construct(self, x: Any) -> Any:
        return ops.tanh(ops.matmul(x, self.w) + self.b)


def trained(x: Any, y: Any, together: bool) -> tuple[list[float], list[Any]]:
    """Losses and weights of some steps; `together`: gradients are means over the processes."""
    net = Net()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=0.05)
    gradient = ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None, optimizer.parameters)

    @ms.jit
    def step(x: Any, y: Any) -> Any:
        loss, gradients = gradient(x, y)
        if together:
            gradients = tuple([F.all_reduce(g, op="sum", **OF) / SIZE for g in gradients])
            loss = F.all_reduce(loss, op="sum", **OF) / SIZE
        optimizer(gradients)
        return loss

    losses = [step(x, y).item() for _ in range(6)]
    return losses, [p.asnumpy() for p in net.trainable_params()]


def programs() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4 * SIZE, 4)).astype(np.float32), rng.standard_normal((4 * SIZE, 3)).astype(np.float32)
    part = slice(4 * RANK, 4 * RANK + 4)
    with on_cpu():
        expected, weights = trained(Tensor(x), Tensor(y), together=False)
    for mode in ("per_call", "cached", "captured"):
        ms.set_context(ascend_mode=mode)
        losses, found = trained(Tensor(x[part]), Tensor(y[part]), together=True)
        assert np.allclose(losses, expected, rtol=1e-3), (mode, losses, expected)
        for a, b in zip(found, weights, strict=True):
            assert np.allclose(a, b, rtol=1e-3, atol=1e-4), (mode, a, b)
            everywhere = F.all_gather(Tensor(a), axis=-a.ndim - 1, **OF).asnumpy()
            assert (everywhere == everywhere[0]).all(), "weights are equal bit for bit"
    ms.set_context(ascend_mode="per_call")
    buckets()
    control_flow()


def buckets() -> None:
    """Sums of one line are one collective; of float64 they are the host's."""

    @ms.jit
    def added(*xs: Any) -> Any:
        ys = [F.all_reduce(x * 2, op="sum", **OF) for x in xs]
        return [y + 1 for y in ys]

    xs = [np.full(shape, RANK + i, np.float32) for i, shape in enumerate(((2, 3), (), (5,), (0, 2)))]
    for dtype in (np.float32, np.float16):
        given = [x.astype(dtype) for x in xs]
        expected = [sum((g - RANK + r) * 2 for r in range(SIZE)) + 1 for g in given]
        for found, x in zip(added(*map(Tensor, given)), expected, strict=True):
            same(found, np.asarray(x, dtype), "a bucket")
    code = added.lower(*map(Tensor, xs)).code()
    assert code.count("together") == code.count("together begin_all_reduce(") == 1, code
    wide = [Tensor(x.astype(np.float64)) for x in xs]
    assert "HCCL does not reduce float64" in refusal(UnsupportedCallError, lambda: added(*wide))
    ms.set_context(ascend_fallback="host")
    assert added(*wide)[2].asnumpy().tolist() == [sum((r + 2) * 2 for r in range(SIZE)) + 1.0] * 5
    ms.set_context(ascend_fallback="")


def control_flow() -> None:
    """Collectives in loops and branches, and behind sizes that differ between calls."""

    @ms.jit
    def power(x: Any, n: Any) -> Any:
        i = 0
        while i < n:
            x = F.all_reduce(x, op="sum", **OF) / SIZE + x * 0.5
            i += 1
        if (F.all_reduce(x, op="max", **OF) > 0).all():
            x = F.broadcast_from(x, root=1, **OF)
        return (x * x).sum()

    x, n = np.full(3, RANK + 1.0, np.float32), Tensor(3)
    with on_cpu():
        expected = [power(Tensor(x), n).item(), ms.grad(power)(Tensor(x), n).asnumpy()]
    found = [power(Tensor(x), n).item(), ms.jit(ms.grad(power))(Tensor(x), n).asnumpy()]
    assert np.allclose(found[0], expected[0], rtol=1e-5), (found, expected)
    assert np.allclose(found[1], expected[1], rtol=1e-4), (found, expected)
    code = power.lower(Tensor(x), n).code()
    assert "together all_reduce(" in code, code
    assert "collectives_program.py:" in code, code


# ------------------------------------------------------------------------------------------------ faults
def differing() -> None:
    """Other shapes on the ranks, in eager mode: nobody compares programs there."""
    x = Tensor(np.ones(3 + RANK, np.float32))
    said = refusal(AscendError, lambda: F.all_reduce(x, op="sum", **OF).asnumpy())
    assert "EI0005" in said, said
    assert "HcclAllReduce at collectives_program.py:" in said, said
    print("differing was told")


def refused() -> None:
    """A tag that HCCL does not have, a communicator that cannot begin on one rank."""
    x = Tensor(np.ones(3, np.float32))
    said = refusal(UnsupportedCallError, lambda: F.send_to(x, to=NEXT, tag=5, **OF))
    assert "by their order, not by tags: use tag 0" in said, said
    if RANK == 0:
        core = ctypes.CDLL(os.path.join(os.environ[LIBRARY_VARIABLE], "libaclsim.so"))
        core.aclsim_fail_call(b"HcclGetRootInfo", 1, 4)
    said = refusal(AscendError, lambda: F.all_reduce(x, op="sum", **OF))
    assert ("process 0 could not begin the communicator" if RANK else "HcclGetRootInfo failed with 4") in said, said
    same(F.all_reduce(x, op="sum", **OF), np.full(3, SIZE, np.float32), "the next time")


def lacking() -> None:
    """CANN without HCCL: the error names the line, on rank 0 why, on the others where to look."""
    x = Tensor(np.ones(3, np.float32))
    said = refusal(AscendError, lambda: ms.jit(lambda x: F.all_reduce(x, op="sum", **OF))(x))
    assert ("process 0 could not begin" if RANK else "no library of CANN for hccl could be loaded") in said, said
    assert RANK or "HcclGetRootInfo is needed at collectives_program.py:" in said, said


def tables() -> None:
    """The group of all processes by a table of ranks, another group by root info."""
    x = Tensor(np.ones(3, np.float32))
    same(F.all_reduce(x, op="sum", **OF), np.full(3, SIZE, np.float32), "by a table")
    create_group("again", list(range(SIZE)))
    same(F.all_reduce(x, op="max", group="again", size=SIZE), np.ones(3, np.float32), "by root info")


if __name__ == "__main__":
    ms.set_device("Ascend", RANK)
    for word in sys.argv[1:]:
        globals()[word]()
        print(f"{word} done")
    shutdown()
