"""Checks of the engine: what collectives give is compared with NumPy over the arrays of all processes.

Every process makes the arrays of all of them from their numbers, so that nothing has to be sent to know what is right.
"""

from __future__ import annotations

import functools
import gc
import os
import threading

import ml_dtypes
import numpy as np

from autodiff_compiler import communication
from autodiff_compiler.collectives import Group, create_group, destroy_group, group, local_ranks, messages
from autodiff_compiler.collectives import transfer as T

DTYPES = [np.dtype(n) for n in "bool u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8".split()] + [np.dtype(ml_dtypes.bfloat16)]
OPS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
HALF = ("float16", "bfloat16")


def world() -> Group:
    communication.init()
    return group("hccl_world_group")


def array(rank: int, dtype: np.dtype, shape: tuple[int, ...], salt: int = 0) -> np.ndarray:
    """The array of one process: small numbers, of which sums and products are exact."""
    numbers = np.random.default_rng((rank, salt)).integers(0, 2 if dtype.name == "bool" else 5, shape)
    return np.asarray(numbers.astype(dtype), order="C")


def reduced(arrays: list[np.ndarray], op: str) -> np.ndarray:
    return np.asarray(functools.reduce(OPS[op], arrays))


def same(found: np.ndarray, wanted: np.ndarray, what: object = "") -> None:
    assert found.dtype == wanted.dtype, (what, found.dtype, wanted.dtype)
    assert found.shape == wanted.shape, (what, found.shape, wanted.shape)
    assert (found.astype("f8") == wanted.astype("f8")).all(), (what, found, wanted)


def every_collective(g: Group, dtype: np.dtype, tail: tuple[int, ...], salt: int) -> None:
    """All collectives of a group for arrays of one dtype, (2 * size, *tail)."""
    n, me = g.size, g.rank
    xs = [array(rank, dtype, (2 * n, *tail), salt) for rank in g.ranks]
    x, mine = xs[me], slice(2 * me, 2 * me + 2)
    root = salt % n
    for op in OPS:
        wanted = reduced(xs, op)
        same(T.all_reduce(x, op, g), wanted, op)
        same(T.reduce_scatter(x, op, g), wanted[mine], op)
        same(T.reduce(x, op, root, g), wanted if me == root else np.zeros_like(wanted), op)
        y = x.copy()
        assert T.all_reduce(y, op, g, out=y) is y
        same(y, wanted, op)
    whole = np.concatenate(xs)
    same(T.all_gather(x, g), whole)
    same(T.gather(x, root, g), whole if me == root else np.zeros_like(whole))
    same(T.scatter(x, root, g), xs[root][mine])
    same(T.broadcast(x, root, g), xs[root])
    same(T.all_to_all(x, g), np.concatenate([y[mine] for y in xs]))
    y = x.copy()
    same(T.all_to_all(y, g, out=y), np.concatenate([y[mine] for y in xs]))
    out = np.empty_like(whole)
    assert T.all_gather(x, g, out=out) is out
    same(out, whole)


def check_every_dtype() -> None:
    some = DTYPES if world().size == 2 else DTYPES[::3]  # four processes share two cores
    for salt, dtype in enumerate(some):
        every_collective(world(), dtype, (3,), salt)


def check_shapes() -> None:
    for tail in ((), (1,), (0,), (2, 0, 3), (7, 1, 2)):
        every_collective(world(), np.dtype("f4"), tail, 1)
    w = world()
    number = np.asarray(np.float64(w.rank))
    same(T.all_reduce(number, "sum", w), np.asarray(float(sum(range(w.size)))))
    turned = np.arange(6.0).reshape(2, 3).T  # what is not C-contiguous is copied
    same(T.all_reduce(turned, "max", w), np.ascontiguousarray(turned))


def check_halves_are_rounded_once() -> None:
    """The sum of halves is that of NumPy in float32, rounded: 2048 + 1 + 1 is 2050, and not 2048 as step by step."""
    w = world()
    for dtype, large in ((np.dtype("f2"), 2048), (np.dtype(ml_dtypes.bfloat16), 256)):
        xs = [np.array([large if rank == 0 else 1], dtype) for rank in range(w.size)]
        wide = sum(x.astype("f4") for x in xs)
        same(T.all_reduce(xs[w.rank], "sum", w), wide.astype(dtype))
        parts = [np.repeat(x, w.size) for x in xs]
        same(T.reduce_scatter(parts[w.rank], "sum", w), wide.astype(dtype))


def check_all_to_all_of_unequal_parts() -> None:
    w = world()
    rng = np.random.default_rng(5)
    for _ in range(5):
        counts = rng.integers(0, 4, (w.size, w.size))  # row: who sends
        xs = [array(r, np.dtype("i4"), (int(counts[r].sum()), 3)) for r in range(w.size)]
        starts = [np.concatenate([[0], np.cumsum(counts[r])]) for r in range(w.size)]
        wanted = [xs[r][starts[r][w.rank] : starts[r][w.rank + 1]] for r in range(w.size)]
        found = T.all_to_all_v(xs[w.rank], counts[w.rank], counts[:, w.rank], w)
        same(found, np.concatenate(wanted))


def check_send_and_receive() -> None:
    w = world()
    after, before = (w.rank + 1) % w.size, (w.rank - 1) % w.size
    for dtype in DTYPES:
        handle = T.start_send(array(w.rank, dtype, (4, 2)), after, 3, w)
        same(T.receive((4, 2), dtype, before, 3, w), array(before, dtype, (4, 2)))
        handle.wait()
    handles = [T.start_send(np.full(2, tag), after, tag, w) for tag in (1, 2)]
    found = [T.start_receive((2,), np.int64, before, tag, w) for tag in (2, 1)]
    assert [h.wait().tolist() for h in found] == [[2, 2], [1, 1]]
    for h in handles:
        h.wait()
    large = np.arange(1 << 20, dtype="f4")  # more than MPI sends without asking
    handle = T.start_send(large, after, 0, w)
    same(T.receive(large.shape, large.dtype, before, 0, w), large)
    handle.wait()


def check_what_is_started_and_waited_for_later() -> None:
    w = world()
    xs = [array(r, np.dtype("f4"), (2 * w.size, 3)) for r in range(w.size)]
    x, part = xs[w.rank], slice(2 * w.rank, 2 * w.rank + 2)
    total, whole = reduced(xs, "sum"), np.concatenate(xs)
    handles = [
        (T.start_all_reduce(x, "sum", w), total),
        (T.start_all_gather(x, w), whole),
        (T.start_reduce_scatter(x, "sum", w), total[part]),
        (T.start_broadcast(x, 1, w), xs[1]),
        (T.start_reduce(x, "max", 0, w), reduced(xs, "max") if w.rank == 0 else np.zeros_like(x)),
        (T.start_all_to_all(x, w), np.concatenate([y[part] for y in xs])),
        (T.start_all_to_all_v(x, [2] * w.size, [2] * w.size, w), np.concatenate([y[part] for y in xs])),
        (T.start_gather(x, 0, w), whole if w.rank == 0 else np.zeros_like(whole)),
        (T.start_scatter(x, 0, w), xs[0][part]),
        (T.start_all_reduce(x.astype("f2"), "sum", w), total.astype("f2")),
    ]
    ready = T.start_barrier(w)
    for handle, wanted in reversed(handles):  # in any order
        same(handle.wait(), wanted)
        same(handle.wait(), wanted)
        assert handle.is_completed()
    ready.wait()
    handle = T.start_all_reduce(x, "sum", w)
    while not handle.is_completed():
        pass
    same(handle.wait(), total)


def check_long_arrays_go_in_pieces() -> None:
    """What has more elements than MPI counts in 32 bits, with a smaller number in the place of that."""
    most, messages.most_at_once = messages.most_at_once, 5
    try:
        for dtype in (np.dtype("f4"), np.dtype("f2"), np.dtype("u1")):
            every_collective(world(), dtype, (3,), 1)
        check_all_to_all_of_unequal_parts()
        check_send_and_receive()
    finally:
        messages.most_at_once = most


def check_random_groups() -> None:
    """Groups of random processes in random order, several of them alive, which come and go."""
    w = world()
    rng = np.random.default_rng(11)
    alive: dict[str, tuple[int, ...]] = {}
    for step in range(12):
        ranks = tuple(map(int, rng.permutation(w.size)[: rng.integers(1, w.size + 1)]))
        alive[f"g{step}"] = ranks
        made = create_group(f"g{step}", ranks)
        assert (made.ranks, made.size) == (ranks, len(ranks))
        assert made.rank == (ranks.index(w.rank) if w.rank in ranks else -1)
        for name in [str(n) for n in rng.permutation(sorted(alive))[:2]]:
            g, dtype = group(name), DTYPES[int(rng.integers(len(DTYPES)))]
            if g.rank >= 0:
                every_collective(g, dtype, (2,), step)
        if len(alive) > 4:
            gone = str(rng.permutation(sorted(alive))[0])
            del alive[gone]
            destroy_group(gone)
    for name in alive:
        destroy_group(name)


def check_groups_overlap() -> None:
    """Collectives of two groups that share processes, begun in different orders."""
    w = world()
    pairs = [tuple(sorted({r, (r + 1) % w.size})) for r in range(w.size)]
    made = [create_group(f"pair{i}", ranks) for i, ranks in enumerate(pairs)]
    mine = [g for g in made if w.rank in g.ranks]
    order = mine if w.rank % 2 else mine[::-1]
    handles = [(g, T.start_all_reduce(np.array([w.rank]), "sum", g)) for g in order]
    for g, handle in handles:
        assert handle.wait().tolist() == [sum(g.ranks)]
    for i in range(len(pairs)):
        destroy_group(f"pair{i}")


def check_management() -> None:
    w = world()
    c = communication
    assert (c.get_rank(), c.get_group_size()) == (w.rank, w.size)
    assert (c.get_local_rank(), c.get_local_rank_size()) == (w.rank, w.size)
    assert local_ranks(w) == tuple(range(w.size))
    others = list(range(w.size))[::-1]
    c.create_group("turned", others)
    assert c.get_rank("turned") == w.size - 1 - w.rank
    assert c.get_process_group_ranks("turned") == others
    assert c.get_world_rank_from_group_rank("turned", 0) == w.size - 1
    assert c.get_group_rank_from_world_rank(0, "turned") == w.size - 1
    c.release()
    for name in ("turned", "none"):
        try:
            c.get_rank(name)
        except ValueError as error:
            assert name in str(error)  # noqa: PT017  (a check has no pytest)
        else:
            raise AssertionError(name)


def check_compiled_code_branches_on_the_rank() -> None:
    import autodiff_compiler as ms

    w = world()
    f = ms.jit(lambda x: x * 2 if communication.get_rank() == 0 else x * communication.get_group_size())
    assert f(ms.Tensor(3.0)).item() == (6.0 if w.rank == 0 else 3.0 * w.size)


def check_threads_that_do_other_things() -> None:
    """Threads that compute while the main one waits for others."""
    w = world()
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            np.dot(np.ones((50, 50)), np.ones((50, 50)))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for step in range(20):
        same(T.all_reduce(np.array([step]), "max", w), np.array([step]))
    ended.set()
    for thread in threads:
        thread.join()


def check_nothing_is_kept() -> None:
    """After many collectives there are no more objects, and no more memory is taken."""
    w = world()
    x, out = np.ones(1000, "f4"), np.empty(1000, "f4")

    def some(number: int) -> tuple[int, int]:
        for _ in range(number):
            T.all_reduce(x, "sum", w, out=out)
            T.start_all_gather(x, w).wait()
        create_group("kept", range(w.size))
        destroy_group("kept")
        gc.collect()
        with open("/proc/self/statm") as file:
            return len(gc.get_objects()), int(file.read().split()[1])

    steps = int(os.environ.get("STEPS", "300"))  # the long form of the tests sets more
    some(steps // 10)
    before = some(steps // 10)
    after = some(steps)
    assert after[0] - before[0] < 200, (before, after)
    assert (after[1] - before[1]) * 4096 < 4 << 20, (before, after)
