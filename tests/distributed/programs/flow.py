"""Collectives where programs branch, loop and batch, and where processes do not do the same with what they get."""

import numpy as np
from measured import RANK, RNG, WORLD, N, agrees, modes, operand, total, verify_derivatives, weighed

import autodiff_compiler as ac
from autodiff_compiler import ops
from autodiff_compiler.ops import communication as comm

LAST = N - 1


def check_read_in_one_process():
    def loss(x):
        y = ops.AllReduce()(x * x)
        return weighed(y) if RANK == LAST else (x * 0.5).sum()

    verify_derivatives("read in one process", loss, operand((3,)))


def check_given_by_one_process():
    def loss(x):
        given = x * x if RANK == 0 else ac.Tensor(np.zeros(3))
        return weighed(ops.Broadcast(0)((given,))[0])

    verify_derivatives("given by one process", loss, operand((3,)), orders=1)


def check_read_by_nobody_here():
    def loss(x):
        whole = ops.CollectiveGather(0)(x)
        return weighed(whole) if RANK == 0 else ac.Tensor(0.0, ac.float64)

    verify_derivatives("read by nobody here", loss, operand((2, 2)))


def check_read_on_a_condition_of_data():
    """Where the condition does not hold in a process, it still takes part in the way back."""

    def loss(x):
        y = ops.AllReduce()(ops.sqrt(x))
        if x.sum() > float(LIMIT):
            return weighed(y)
        return (x * x).sum()

    x = operand((3,))
    LIMIT = np.mean(WORLD.allgather(x.sum()))
    verify_derivatives("read on a condition", loss, x)


def check_in_an_arm():
    def loss(x):
        if ops.AllReduce("max")(x.max()) > 0.0:  # the same everywhere
            y = ops.AllReduce()(x * x)
        else:
            y = x
        return weighed(y)

    verify_derivatives("in an arm", loss, operand((3,)), orders=1)


def check_in_an_arm_that_nobody_reads_here():
    def loss(x):
        y = x
        if ops.AllReduce("max")(x.max()) > 0.0:
            y = ops.AllReduce()(x * x)
        return weighed(y) if RANK == LAST else x.sum()

    verify_derivatives("in an arm nobody reads", loss, operand((3,)), orders=1)


def check_in_a_loop():
    def loss(x):
        for _ in range(30):
            x = ops.tanh(x + 0.1 * ops.AllReduce()(x))
        return weighed(x)

    verify_derivatives("in a loop", loss, operand((3,)), orders=1)


def check_in_a_while():
    def loss(x):
        i = ops.AllReduce("max")(ac.Tensor(0.0, ac.float64))
        while i < 3.0:
            x = ops.sin(x) + 0.2 * ops.AllReduce()(x * x)
            i = i + 1.0
        return weighed(x) if RANK == 0 else x.sum()

    verify_derivatives("in a while", loss, operand((2,)), orders=1)


def check_collected_in_a_loop():
    def loss(x):
        found = []
        for i in range(30):
            found.append(ops.AllReduce()(x * float(i)))
        return weighed(ops.stack(found)[3:5])

    verify_derivatives("collected", loss, operand((2,)), orders=1)


def check_messages():
    """Process r gives its result to the next one, as in a pipeline; only the last has a loss."""

    def loss(x):
        h = x if RANK == 0 else comm.recv(x, RANK - 1)
        h = ops.sin(h) * x
        if RANK < LAST:
            comm.send(h, RANK + 1)
            return ac.Tensor(0.0, ac.float64)
        return weighed(h)

    verify_derivatives("messages", loss, operand((3,)))


def check_classes_of_messages():
    """Each process sends to the next one and receives from the one before, the first one after the others."""
    x = operand((2, 3))
    before, after = (RANK - 1) % N, (RANK + 1) % N

    def around(x):
        if RANK == 0:
            ops.Send(sr_tag=0, dest_rank=after)(x)
        came = ops.Receive(sr_tag=0, src_rank=before, shape=[2, 3], dtype=ac.float64)(x)
        if RANK != 0:
            ops.Send(sr_tag=0, dest_rank=after)(x)
        ops.Barrier()()
        return came

    for mode, f in modes(around).items():
        agrees(f"Send and Receive {mode}", f(ac.Tensor(x)).asnumpy(), WORLD.allgather(x)[before], 0)
    messages = [ops.P2POp("isend", ac.Tensor(x), after), ops.P2POp("irecv", ac.Tensor(x), before)]
    _, came = comm.batch_isend_irecv(messages)
    agrees("batch_isend_irecv", came.asnumpy(), WORLD.allgather(x)[before], 0)
    found = ops.AllReduce(ops.ReduceOp.MAX)(ac.Tensor(x)).asnumpy()
    agrees("ReduceOp", found, np.max(WORLD.allgather(x), axis=0), 0)


def check_batched():
    def one(x):
        y = ops.AllGather()(x * x)
        return (y * y).sum() + ops.AllReduce("prod")(x).sum()

    x = operand((4, 3))
    each = [one(ac.Tensor(row)).asnumpy() for row in x]
    for mode, f in modes(ac.vmap(one)).items():
        agrees(f"vmap {mode}", f(ac.Tensor(x)).asnumpy(), each, 1e-12)
    gradients = [ac.grad(one)(ac.Tensor(row)).asnumpy() for row in x]
    for mode, f in modes(ac.vmap(ac.grad(one))).items():
        agrees(f"vmap grad {mode}", f(ac.Tensor(x)).asnumpy(), gradients, 1e-12)
    verify_derivatives("vmap", lambda t: weighed(ac.vmap(one)(t)), x, orders=1)


def check_batched_where_one_process_has_examples():
    def one(x):
        given = x if RANK == 0 else ac.Tensor(np.zeros(3))
        return ops.Broadcast(0)((given,))[0] * 2.0

    x = operand((4, 3))
    wanted = 2 * WORLD.bcast(x)
    for mode, f in modes(ac.vmap(one)).items():
        agrees(f"vmap of a constant {mode}", f(ac.Tensor(x)).asnumpy(), wanted, 0)


def check_own_rule():
    """The user's rule of a function holds collectives, and its result is read in one process only."""

    @ops.custom_vjp
    def f(x):
        return ops.AllReduce()(x)

    @f.defbwd
    def f_bwd(x, out, g):
        return (ops.AllReduce()(g),)

    def loss(x):
        y = f(x * x)
        return weighed(y) if RANK == LAST else x.sum()

    verify_derivatives("own rule", loss, operand((3,)), orders=1, forward=False)
    verify_derivatives("own rule read by all", lambda x: weighed(f(x * x)), operand((3,)), orders=1)


def check_weights_of_a_cell():
    class Net(ac.nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = ac.nn.Dense(3, 2)

        def construct(self, x):
            y = self.dense(x)
            mean = ops.AllReduce()(y.mean(0)) / N
            return ops.tanh(y - mean)

    ac.set_seed(1)
    net = Net()
    x = ac.Tensor(RNG.standard_normal((4, 3)).astype(np.float32))
    weights = net.trainable_params()
    loss = lambda t: (net(t) ** 2).sum()
    want = ac.value_and_grad(loss, None, weights)(x)
    for mode, f in modes(ac.value_and_grad(loss, None, weights)).items():
        value, gradients = f(x)
        agrees(f"cell {mode}", value.asnumpy(), want[0].asnumpy(), 1e-6)
        for a, b in zip(gradients, want[1], strict=True):
            agrees(f"cell {mode}", a.asnumpy(), b.asnumpy(), 1e-5)
    w = weights[0].asnumpy().astype(np.float64)
    v = np.random.default_rng(3).standard_normal(w.shape)  # the weights are the same, and move together

    def at(step):
        weights[0].set_data(ac.Tensor((w + step * v).astype(np.float32)))
        return total(loss(x).asnumpy())

    moved = (at(3e-3) - at(-3e-3)) / 6e-3
    agrees("cell", total((want[1][0].asnumpy() * v).sum()), moved, 3e-3)


def check_symbolic_sizes():
    f = ac.jit(lambda x: ops.AllGather()(x * 2.0), dynamic=True)
    for rows in (2, 3, 5, 4, 7):
        x = operand((rows, 2))
        agrees(f"{rows} rows", f(ac.Tensor(x)).asnumpy(), 2 * np.concatenate(WORLD.allgather(x)), 0)


def check_every_dtype():
    for dtype in (ac.float16, ac.bfloat16, ac.float32, ac.float64, ac.int8, ac.int32, ac.int64, ac.uint8, ac.bool_):
        x = ac.Tensor(np.arange(2 * N) % 2 + RANK, dtype)
        xs = np.stack(WORLD.allgather(x.asnumpy()))
        for op, of in (("sum", np.sum), ("max", np.max), ("min", np.min), ("prod", np.prod)):
            if dtype is ac.bool_:
                of = {"sum": np.any, "max": np.any, "min": np.all, "prod": np.all}[op]
            for mode, f in modes(ops.AllReduce(op)).items():
                agrees(f"{op} {dtype} {mode}", f(x).asnumpy().astype(float), of(xs, 0).astype(float), 0)
        for mode, f in modes(ops.AllGather()).items():
            agrees(f"gather {dtype} {mode}", f(x).asnumpy().astype(float), np.concatenate(xs).astype(float), 0)


def check_handles():
    x = ac.Tensor(operand((2 * N, 3)))
    xs = np.stack(WORLD.allgather(x.asnumpy()))
    begun = [
        (comm.all_reduce(x, async_op=True), xs.sum(0)),
        (comm.all_gather_into_tensor(x, async_op=True), np.concatenate(xs)),
        (comm.reduce_scatter_tensor(x, async_op=True), np.split(xs.sum(0), N)[RANK]),
        (comm.broadcast(x, LAST, async_op=True), xs[LAST]),
    ]
    for (found, handle), wanted in begun:
        handle.wait()
        assert handle.is_completed()
        agrees("handles", found.asnumpy(), wanted, 1e-12)
    others = [
        comm.P2POp("isend", x, (RANK + 1) % N),
        comm.P2POp(comm.irecv, x.shape, (RANK - 1) % N, recv_dtype=x.dtype),
    ]
    agrees("batch", comm.batch_isend_irecv(others)[1].asnumpy(), xs[RANK - 1], 0)


def check_computed_again():
    def part(x):
        return ops.tanh(ops.AllReduce()(x * x))

    def loss(x):
        y = ac.recompute(part, x)
        return weighed(y) if RANK == LAST else x.sum()

    verify_derivatives("recompute", loss, operand((3,)), orders=1)


def check_written_into_tensors():
    from autodiff_compiler.mint import distributed as dist

    rng = np.random.default_rng(11)
    xs = rng.standard_normal((N, 2 * N, 3))
    make = lambda *shape: ac.Tensor(np.zeros(shape))
    dist.init_process_group(world_size=N, rank=RANK)
    assert (dist.get_rank(), dist.get_world_size(), dist.is_initialized()) == (RANK, N, True)
    for async_op in (False, True):
        x = ac.Tensor(xs[RANK])
        done = lambda handle: handle.wait() if async_op else None
        done(dist.all_reduce(x, async_op=async_op))
        agrees("all_reduce", x.asnumpy(), xs.sum(0), 1e-12)
        x = ac.Tensor(xs[RANK])
        out = make(2 * N * N, 3)
        done(dist.all_gather_into_tensor(out, x, async_op=async_op))
        agrees("all_gather_into_tensor", out.asnumpy(), np.concatenate(xs), 0)
        outs = [make(2 * N, 3) for _ in range(N)]
        done(dist.all_gather(outs, x, async_op=async_op))
        agrees("all_gather", np.stack([o.asnumpy() for o in outs]), xs, 0)
        out = make(2, 3)
        done(dist.reduce_scatter_tensor(out, x, async_op=async_op))
        agrees("reduce_scatter_tensor", out.asnumpy(), np.split(xs.sum(0), N)[RANK], 1e-12)
        done(dist.reduce_scatter(out, list(x.split(2)), "max", async_op=async_op))
        agrees("reduce_scatter", out.asnumpy(), np.split(xs.max(0), N)[RANK], 0)
        out = make(2 * N, 3)
        done(dist.all_to_all_single(out, x, async_op=async_op))
        agrees("all_to_all_single", out.asnumpy(), np.concatenate([np.split(a, N)[RANK] for a in xs]), 0)
        outs = [make(2, 3) for _ in range(N)]
        done(dist.all_to_all(outs, list(x.split(2)), async_op=async_op))
        agrees("all_to_all", np.stack([o.asnumpy() for o in outs]), [np.split(a, N)[RANK] for a in xs], 0)
        y = ac.Tensor(xs[RANK])
        done(dist.broadcast(y, LAST, async_op=async_op))
        agrees("broadcast", y.asnumpy(), xs[LAST], 0)
        y = ac.Tensor(xs[RANK])
        done(dist.reduce(y, 0, async_op=async_op))
        agrees("reduce", y.asnumpy(), xs.sum(0) if RANK == 0 else xs[RANK], 1e-12)
        outs = [make(2 * N, 3) for _ in range(N)]
        done(dist.gather(x, outs if RANK == 0 else None, async_op=async_op))
        agrees("gather", np.stack([o.asnumpy() for o in outs]), xs if RANK == 0 else 0 * xs, 0)
        out = make(2, 3)
        done(dist.scatter(out, list(x.split(2)) if RANK == 0 else None, async_op=async_op))
        agrees("scatter", out.asnumpy(), np.split(xs[0], N)[RANK], 0)
        done(dist.scatter_tensor(out, x, LAST, async_op=async_op))
        agrees("scatter_tensor", out.asnumpy(), np.split(xs[LAST], N)[RANK], 0)
        out = make(2 * N, 3)
        dist.isend(x, (RANK + 1) % N)
        dist.irecv(out, (RANK - 1) % N).wait()
        agrees("irecv", out.asnumpy(), xs[RANK - 1], 0)


def check_vectors_of_own_lengths():
    lengths = [3, 1, 2, 4][:N]
    whole = np.arange(sum(lengths), dtype=float)
    start = sum(lengths[:RANK])
    mine = whole[start : start + lengths[RANK]]
    for mode, f in modes(lambda x: ops.AllGatherV()(x, lengths)).items():
        agrees(f"AllGatherV {mode}", f(ac.Tensor(mine)).asnumpy(), whole, 0)
    for mode, f in modes(lambda x: ops.ReduceScatterV()(x, lengths)).items():
        agrees(f"ReduceScatterV {mode}", f(ac.Tensor(whole)).asnumpy(), N * mine, 0)
    counts = [[1 + (i + j) % 2 for j in range(N)] for i in range(N)]
    x = np.arange(2.0 * sum(counts[RANK])) + 100 * RANK
    xs = WORLD.allgather(x)
    wanted = [np.split(a, np.cumsum(c)[:-1] * 2)[RANK] for a, c in zip(xs, counts, strict=True)]
    flat = [n for row in counts for n in row]
    for mode, f in modes(lambda x: ops.AlltoAllVC(block_size=2)(x, flat)).items():
        agrees(f"AlltoAllVC {mode}", f(ac.Tensor(x)).asnumpy(), np.concatenate(wanted), 0)
    column = [row[RANK] for row in counts]
    for mode, f in modes(lambda x: ops.AlltoAllV(block_size=2)(x, counts[RANK], column)).items():
        agrees(f"AlltoAllV {mode}", f(ac.Tensor(x)).asnumpy(), np.concatenate(wanted), 0)


def check_profile_counts_what_was_moved():
    add = ops.AllReduce()

    @ac.jit
    def f(x):
        return add(x) * 2.0

    x = ac.Tensor(np.ones(1000, np.float32))
    f(x)
    with ac.profile(f) as measured:
        for _ in range(3):
            f(x)
    ((call, found),) = measured.communication.items()
    assert call.startswith("all_reduce(sum) of float32[1000] at "), call
    assert (found.calls, found.bytes) == (3, 3 * 4000)
    assert found.seconds > 0.0
    assert "communication: all_reduce(sum)" in str(measured)
